//! Marks many articles as read so that this can be undone, and undoes it.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use feedsync_log::Millis;
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::{Action, FeedAddress};

use crate::library::{MAX_LOADED, NamedArticle};
use crate::reading::person::{Person, ReadingError};
use crate::reading::subscription_view::FeedView;
use crate::reading::undo::{PackedNumbers, UndoResult, UndoState, UndoableAction, UndoableActions};

impl Person {
    /// Marks articles as read so that this can be undone. Feeds with a date get a mark up to that date; it must
    /// cover no unread article besides the given ones. The other given articles are marked individually. Returns the id of the action, or
    /// `None` if it cannot be undone, because it changed nothing or too many articles.
    pub async fn mark_undoably(
        &self,
        articles: &[ArticleNumber],
        up_to: Option<(&[&FeedView], Millis)>,
    ) -> Result<Option<u64>, ReadingError> {
        let articles = self.by_feed(articles).await?;
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let (mut actions, mut numbers) = (Vec::new(), Vec::new());
        if let Some((feeds, until)) = up_to {
            actions.extend(feeds.iter().filter_map(|feed| {
                let at = until.min(feed.kept.newest?);
                Some((feed.subscription.address.clone(), Action::ReadUpTo { at }))
            }));
        }
        {
            let view = loaded.replica.state().view();
            for (address, articles) in articles {
                let state = view.feed(&address);
                for NamedArticle { name, listed } in articles {
                    let at = Some(listed.sort_date);
                    // Another device may have marked it since it was listed.
                    if state.is_read(&name, at) {
                        continue;
                    }
                    numbers.push(listed.number);
                    if up_to.is_none_or(|(_, until)| listed.sort_date > until) {
                        actions.push((address.clone(), Action::Read { article: name, at }));
                    }
                }
            }
        }
        let (now, count) = (self.now(), numbers.len());
        let after = loaded.replica.latest_tick();
        for (feed, action) in &actions {
            loaded.replica.act(feed, action, now);
        }
        let action = UndoableAction {
            id: self.endpoint.environment().random(),
            made: now,
            after,
            until: loaded.replica.latest_tick(),
            state: UndoState::Possible(count),
            articles: PackedNumbers::of(numbers),
        };
        let id = action.id;
        let is_stored = count > 0 && self.undoable_actions().insert(action);
        if loaded.replica.waiting_count() > 0 {
            self.synchronise(&mut loaded).await?;
        }
        Ok(is_stored.then_some(id))
    }

    /// State of an action of [`Person::mark_undoably`]. `None` if it expired or the user made no such action.
    pub fn undo_state(&self, id: u64) -> Option<UndoState> {
        self.undoable_actions().get(id, self.now()).map(|action| action.state)
    }

    /// Makes the articles unread that an action of [`Person::mark_undoably`] marked. Articles with a later mark
    /// stay as they are.
    pub async fn undo(&self, id: u64) -> Result<UndoResult, ReadingError> {
        let numbers =
            self.undoable_actions().get(id, self.now()).map(|action| action.articles.numbers());
        let Some(numbers) = numbers else { return Ok(UndoResult::Expired) };
        let articles = self.by_feed(&numbers).await?;
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let now = self.now();
        let mut actions = Vec::new();
        {
            let view = loaded.replica.state().view();
            let mut undoable = self.undoable_actions();
            match undoable.get(id, now).map(|action| action.state) {
                None => return Ok(UndoResult::Expired),
                Some(UndoState::Done(_)) => return Ok(UndoResult::AlreadyUndone),
                Some(UndoState::Possible(_)) => {}
            }
            let undoable = &*undoable;
            let Some(undone) = undoable.find(id) else { return Ok(UndoResult::Expired) };
            // Articles may have been marked individually while their names were looked up.
            let numbers = undone.articles.numbers();
            for (address, articles) in articles {
                let state = view.feed(&address);
                for NamedArticle { name, listed } in articles {
                    let at = Some(listed.sort_date);
                    let mark = state.read_mark(&name, at);
                    let is_own = numbers.binary_search(&listed.number).is_ok()
                        && mark.is_some_and(|(is_read, tick)| {
                            is_read && undoable.may_undo(undone, tick)
                        });
                    if is_own {
                        actions.push((address.clone(), Action::Unread { article: name, at }));
                    }
                }
            }
        }
        for (feed, action) in &actions {
            loaded.replica.act(feed, action, now);
        }
        // If the log fails now, these changes are appended with the next one.
        self.undoable_actions().set_done(id, actions.len());
        if loaded.replica.waiting_count() > 0 {
            self.synchronise(&mut loaded).await?;
        }
        Ok(UndoResult::Undone(actions.len()))
    }

    /// The actions of this user that can be undone.
    pub(super) fn undoable_actions(&self) -> MutexGuard<'_, UndoableActions> {
        self.undoable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up articles that the user may see, by the address of their subscription.
    async fn by_feed(
        &self,
        articles: &[ArticleNumber],
    ) -> Result<BTreeMap<FeedAddress, Vec<NamedArticle>>, ReadingError> {
        let subscription_view = self.subscription_view().await?;
        let mut by_feed: BTreeMap<FeedAddress, Vec<NamedArticle>> = BTreeMap::new();
        for numbers in articles.chunks(MAX_LOADED) {
            for article in self.library.named(numbers).await? {
                let listed = article.listed;
                if let Some(feed) = subscription_view.feed_of(listed.feed, listed.number) {
                    by_feed.entry(feed.subscription.address.clone()).or_default().push(article);
                }
            }
        }
        Ok(by_feed)
    }
}
