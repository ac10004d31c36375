//! The difference between two states as changes. A replica records it after it was offline, or when a
//! restored log lacks changes that the replica has (LR11, LR16).
//!
//! For a value that was set repeatedly, the difference contains the last change only. It omits everything
//! that the other state has in the same or a later version.

use feedsync_log::Stamp;

use crate::action::Action;
use crate::address::FeedAddress;
use crate::article::ArticleId;
use crate::change::Change;
use crate::feed::FeedState;
use crate::marks::{Marks, is_covered};
use crate::register::{Register, would_change};
use crate::state::ReaderState;

impl ReaderState {
    /// The changes that bring `other` to the union of both states, in the order of their stamps. Members of
    /// later versions are not included: no record can represent them, so they are only exchanged in
    /// documents.
    pub fn changes_missing_in(&self, other: &Self) -> Vec<Change> {
        let nothing = FeedState::default();
        let mut changes: Vec<Change> = self.kept.changes_missing_in(&other.kept).collect();
        for (feed, state) in &self.feeds {
            let known = other.feeds.get(feed).unwrap_or(&nothing);
            let actions = state.actions_missing_in(known);
            changes.extend(actions.map(|(action, stamp)| action.change(feed, stamp)));
        }
        changes.extend(self.settings.changes_missing_in(&other.settings));
        changes.sort_by(|one, other| one.stamp.cmp(&other.stamp));
        changes
    }
}

impl FeedState {
    /// The changes that bring another state of this feed to the union of both, in the order of their stamps.
    pub fn changes_missing_in(&self, other: &Self, feed: &FeedAddress) -> Vec<Change> {
        let mut actions: Vec<_> = self.actions_missing_in(other).collect();
        actions.sort_by(|(_, one), (_, other)| one.cmp(other));
        actions.into_iter().map(|(action, stamp)| action.change(feed, stamp)).collect()
    }

    fn actions_missing_in<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (Action, Stamp)> + use<'a> {
        let up_tos = self.up_tos().iter().filter(|up_to| other.up_tos.would_change(up_to));
        let up_tos = up_tos.map(|up_to| (Action::ReadUpTo { at: up_to.at }, up_to.stamp.clone()));
        let articles = self.articles.iter().flat_map(|(article, marks)| {
            marks_missing_in(article, marks, other.articles.get(article), other)
        });
        self.registers_missing_in(other).into_iter().chain(up_tos).chain(articles)
    }

    fn registers_missing_in(&self, other: &Self) -> Vec<(Action, Stamp)> {
        let mut found = Vec::new();
        let mut title = newer(&self.title, &other.title);
        let mut folder = newer(&self.folder, &other.folder);
        let mut position = newer(&self.position, &other.position);
        if let Some(subscribed) = newer(&self.subscribed, &other.subscribed) {
            let action = if subscribed.value {
                // Values that one action set together are recorded together again.
                let is_same = |stamp: &Stamp| *stamp == subscribed.stamp;
                let title = title.take_if(|title| is_same(&title.stamp) && title.value.is_some());
                let folder = folder.take_if(|folder| is_same(&folder.stamp));
                let position = position.take_if(|position| is_same(&position.stamp));
                Action::Subscribe {
                    title: title.and_then(|title| title.value.clone()),
                    folder: folder.map(|folder| folder.value.clone()),
                    position: position.map(|position| position.value.clone()),
                }
            } else {
                Action::Unsubscribe
            };
            found.push((action, subscribed.stamp.clone()));
        }
        found.extend(title.map(|register| {
            (Action::Rename { title: register.value.clone() }, register.stamp.clone())
        }));
        found.extend(folder.map(|register| {
            (Action::Move { folder: register.value.clone() }, register.stamp.clone())
        }));
        found.extend(position.map(|register| {
            (Action::Place { position: register.value.clone() }, register.stamp.clone())
        }));
        found.extend(newer(&self.moved_to, &other.moved_to).map(|register| {
            (Action::FeedMoved { to: register.value.clone() }, register.stamp.clone())
        }));
        found
    }
}

/// A register, if the other state lacks its value.
fn newer<'a, T: Ord>(
    mine: &'a Option<Register<T>>,
    theirs: &Option<Register<T>>,
) -> Option<&'a Register<T>> {
    mine.as_ref().filter(|mine| would_change(mine, theirs.as_ref()))
}

fn marks_missing_in(
    article: &ArticleId,
    marks: &Marks,
    known: Option<&Marks>,
    other: &FeedState,
) -> Vec<(Action, Stamp)> {
    let mut found = Vec::new();
    let article = || article.clone();
    for (at, register) in &marks.read {
        let is_known = is_covered(*at, register, &other.up_tos)
            || !would_change(register, known.and_then(|known| known.read.get(at)));
        if !is_known {
            let (article, at) = (article(), *at);
            let action = match register.value {
                true => Action::Read { article, at },
                false => Action::Unread { article, at },
            };
            found.push((action, register.stamp.clone()));
        }
    }
    if let Some(register) = &marks.starred
        && would_change(register, known.and_then(|known| known.starred.as_ref()))
    {
        let article = article();
        let action =
            if register.value { Action::Star { article } } else { Action::Unstar { article } };
        found.push((action, register.stamp.clone()));
    }
    if let Some(register) = &marks.hidden
        && would_change(register, known.and_then(|known| known.hidden.as_ref()))
    {
        let article = article();
        let action =
            if register.value { Action::Hide { article } } else { Action::Unhide { article } };
        found.push((action, register.stamp.clone()));
    }
    for (tag, register) in &marks.tags {
        if would_change(register, known.and_then(|known| known.tags.get(tag))) {
            let (article, tag) = (article(), tag.clone());
            let action = match register.value {
                true => Action::Tag { article, tag },
                false => Action::Untag { article, tag },
            };
            found.push((action, register.stamp.clone()));
        }
    }
    found
}
