//! The contract as plain code over plain values.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use feedsync_library::{
    DueFeed, FeedHead, KeptArticle, KeptFeed, Listed, NewArticle, Poll, PollState, ReaderName,
    Selection, Settled,
};
use feedsync_log::Millis;
use feedsync_newsreader::{ArticleNumber, FeedNumber};
use feedsync_reader::{ArticleId, FeedAddress, Remembered};

#[derive(Debug, Default)]
pub(crate) struct Model {
    subscriptions: BTreeMap<ReaderName, BTreeSet<FeedAddress>>,
    feeds: BTreeMap<FeedNumber, Feed>,
    last_feed: i64,
    last_article: i64,
}

#[derive(Debug)]
struct Feed {
    address: FeedAddress,
    state: PollState,
    claimed: Option<Millis>,
    head: FeedHead,
    remembered: Remembered,
    articles: BTreeMap<ArticleId, Article>,
}

#[derive(Debug)]
struct Article {
    kept: KeptArticle,
    plain: String,
}

impl Feed {
    fn is_polled(&self, now: Millis) -> bool {
        self.claimed.is_some_and(|until| until > now)
    }
}

fn listed(article: &KeptArticle) -> Listed {
    let KeptArticle { number, feed, published, shown, .. } = *article;
    Listed { number, feed, published, shown }
}

impl Model {
    fn is_read(&self, feed: &Feed) -> bool {
        self.subscriptions.values().any(|feeds| feeds.contains(&feed.address))
    }

    pub(crate) fn set_subscriptions(
        &mut self,
        reader: &ReaderName,
        addresses: &BTreeSet<FeedAddress>,
        now: Millis,
    ) {
        for address in addresses {
            if !self.feeds.values().any(|feed| feed.address == *address) {
                self.last_feed += 1;
                let feed = Feed {
                    address: address.clone(),
                    state: PollState { due: now, ..PollState::default() },
                    claimed: None,
                    head: FeedHead::default(),
                    remembered: Remembered::default(),
                    articles: BTreeMap::new(),
                };
                self.feeds.insert(FeedNumber::new(self.last_feed), feed);
            }
        }
        let unread: Vec<FeedNumber> = self
            .feeds
            .iter()
            .filter(|(_, feed)| addresses.contains(&feed.address) && !self.is_read(feed))
            .map(|(number, _)| *number)
            .collect();
        for number in unread {
            let feed = self.feeds.get_mut(&number).unwrap();
            if !feed.is_polled(now) {
                feed.state.due = feed.state.due.min(now);
            }
        }
        self.subscriptions.insert(reader.clone(), addresses.clone());
        self.subscriptions.retain(|_, addresses| !addresses.is_empty());
    }

    pub(crate) fn readers(&self) -> Vec<ReaderName> {
        self.subscriptions.keys().cloned().collect()
    }

    pub(crate) fn subscriptions(&self, reader: &ReaderName) -> Vec<KeptFeed> {
        let addresses = self.subscriptions.get(reader).into_iter().flatten();
        addresses.map(|address| self.feed_at(address).unwrap()).collect()
    }

    pub(crate) fn feed(&self, number: FeedNumber) -> Option<KeptFeed> {
        let feed = self.feeds.get(&number)?;
        Some(KeptFeed {
            number,
            address: feed.address.clone(),
            state: feed.state.clone(),
            head: feed.head.clone(),
            articles: feed.articles.len() as u64,
            newest: feed.articles.values().map(|article| article.kept.shown).max(),
        })
    }

    pub(crate) fn feed_at(&self, address: &FeedAddress) -> Option<KeptFeed> {
        self.feeds.keys().filter_map(|number| self.feed(*number)).find(|it| it.address == *address)
    }

    pub(crate) fn claim(&mut self, now: Millis, until: Millis, most: usize) -> Vec<DueFeed> {
        let due = |(number, feed): (&FeedNumber, &Feed)| DueFeed {
            number: *number,
            address: feed.address.clone(),
            state: feed.state.clone(),
        };
        let mut claimed: Vec<DueFeed> = self
            .feeds
            .iter()
            .filter(|(_, feed)| feed.state.due <= now && self.is_read(feed))
            .map(due)
            .collect();
        claimed.sort_by_key(|feed| (feed.state.due, feed.number));
        claimed.truncate(most);
        for DueFeed { number, .. } in &claimed {
            let feed = self.feeds.get_mut(number).unwrap();
            feed.state.due = until;
            feed.claimed = Some(until);
        }
        claimed
    }

    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.feeds.values().filter(|feed| self.is_read(feed)).map(|feed| feed.state.due).min()
    }

    pub(crate) fn hasten(&mut self, feeds: &[FeedNumber], now: Millis) {
        for (_, feed) in self.feeds.iter_mut().filter(|(number, _)| feeds.contains(number)) {
            if !feed.is_polled(now) {
                feed.state.due = feed.state.due.min(now);
            }
        }
    }

    pub(crate) fn remembered(&self, feed: FeedNumber) -> Remembered {
        self.feeds.get(&feed).map_or_else(Remembered::default, |feed| feed.remembered.clone())
    }

    /// Nothing if there is no such feed.
    pub(crate) fn settle(
        &mut self,
        number: FeedNumber,
        poll: &Poll,
        now: Millis,
    ) -> Option<Settled> {
        let feed = self.feeds.get_mut(&number)?;
        feed.state = poll.state.clone();
        feed.claimed = None;
        let mut settled = Settled::default();
        let Some(document) = &poll.document else { return Some(settled) };
        feed.head = document.head.clone();
        feed.remembered = document.remembered.clone();
        let mut new: Vec<(Millis, Reverse<usize>, &NewArticle)> = Vec::new();
        let mut met = BTreeSet::new();
        for (place, first) in document.articles.iter().enumerate() {
            if !met.insert(&first.name) {
                continue;
            }
            let same = document.articles.iter().filter(|other| other.name == first.name);
            let dates = |article: &NewArticle| (article.published, article.text.updated);
            // Of several that are the latest, `max_by_key` would take the last.
            let told = same.rev().max_by_key(|article| dates(article)).unwrap();
            match feed.articles.get_mut(&told.name) {
                None => {
                    let shown = told.published.unwrap_or(now).min(now);
                    new.push((shown, Reverse(place), told));
                }
                Some(known) if known.kept.text != told.text || known.plain != told.plain => {
                    known.kept.text = told.text.clone();
                    known.kept.changed = Some(now);
                    known.plain = told.plain.clone();
                    settled.changed.push(known.kept.number);
                }
                Some(_) => {}
            }
        }
        new.sort_by_key(|(shown, place, _)| (*shown, *place));
        for (shown, _, told) in new {
            self.last_article += 1;
            let kept = KeptArticle {
                number: ArticleNumber::new(self.last_article),
                feed: number,
                name: told.name.clone(),
                published: told.published.unwrap_or(now),
                received: now,
                shown,
                changed: None,
                text: told.text.clone(),
            };
            settled.added.push(kept.number);
            feed.articles.insert(told.name.clone(), Article { kept, plain: told.plain.clone() });
        }
        Some(settled)
    }

    fn all(&self) -> impl Iterator<Item = &KeptArticle> {
        self.feeds.values().flat_map(|feed| feed.articles.values()).map(|article| &article.kept)
    }

    pub(crate) fn before(&self, received: Millis) -> Option<ArticleNumber> {
        let before = self.all().filter(|article| article.received < received);
        let last = before.max_by_key(|article| (article.received, article.number));
        last.map(|article| article.number)
    }

    pub(crate) fn list(&self, selection: &Selection) -> Vec<Listed> {
        let mut list: Vec<Listed> = self
            .all()
            .map(listed)
            .filter(|row| selection.feeds.contains(&row.feed))
            .filter(|row| selection.newer_than.is_none_or(|than| row.shown > than))
            .filter(|row| selection.older_than.is_none_or(|than| row.shown < than))
            .filter(|row| selection.keep.as_ref().is_none_or(|keep| keep(row)))
            .collect();
        list.sort_by_key(Listed::place);
        if !selection.oldest_first {
            list.reverse();
        }
        if let Some(from) = selection.from {
            let is_behind = |row: &Listed| {
                if selection.oldest_first { row.place() > from } else { row.place() < from }
            };
            list.retain(is_behind);
        }
        list.truncate(selection.most);
        list
    }

    pub(crate) fn articles(&self, numbers: &[ArticleNumber]) -> Vec<KeptArticle> {
        let find = |number| self.all().find(|article| article.number == number).cloned();
        numbers.iter().filter_map(|number| find(*number)).collect()
    }
}
