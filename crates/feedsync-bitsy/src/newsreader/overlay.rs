//! Sum of the changes since a response.

use std::collections::{HashMap, HashSet};

use super::change::{Change, Mark};
use super::facts::{Fact, Subject};

/// Changes since a response.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    states: HashMap<i64, State>,
    /// Known facts of the changed articles, including the changes.
    facts: HashMap<i64, Fact>,
    filed: HashSet<(Subject, Subject)>,
    /// Growth of the number of unread articles for each feed; none stands for an unknown feed.
    unread: HashMap<Option<Subject>, i64>,
    starred: i64,
}

/// Changed state of an article. Unchanged parts are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) read: Option<bool>,
    pub(super) starred: Option<bool>,
    pub(super) tags: Vec<(String, bool)>,
}

impl Overlay {
    /// Sums up changes in their order.
    pub(super) fn new<'c>(
        changes: impl IntoIterator<Item = &'c Change>,
        filed: HashSet<(Subject, Subject)>,
    ) -> Self {
        let mut overlay = Self { filed, ..Self::default() };
        for change in changes {
            for mark in &change.marks {
                overlay.mark(mark, &change.tags);
            }
        }
        overlay
    }

    fn mark(&mut self, mark: &Mark, tags: &[(String, bool)]) {
        let state = self.states.entry(mark.article).or_default();
        if let Some(turn) = mark.read {
            state.read = Some(turn.now);
            *self.unread.entry(mark.feed).or_default() -= turn.step();
        }
        if let Some(turn) = mark.starred {
            state.starred = Some(turn.now);
            self.starred += turn.step();
        }
        for (tag, is_added) in tags {
            state.tags.retain(|(known, _)| known != tag);
            state.tags.push((tag.clone(), *is_added));
        }
    }

    /// Adds known facts of a changed article.
    pub(super) fn learn(&mut self, fact: Fact) {
        self.facts.insert(fact.article, fact);
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The changed articles.
    pub(super) fn articles(&self) -> impl Iterator<Item = i64> {
        self.states.keys().copied()
    }

    pub(super) fn state(&self, article: i64) -> Option<&State> {
        self.states.get(&article)
    }

    /// All that is known of a changed article.
    pub(super) fn whole(&self, article: i64) -> State {
        let mut state = self.states.get(&article).cloned().unwrap_or_default();
        if let Some(fact) = self.facts.get(&article) {
            state.read = fact.is_read.or(state.read);
            state.starred = fact.is_starred.or(state.starred);
        }
        state
    }

    /// Known facts of the changed articles.
    pub(super) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts.values()
    }

    pub(super) fn is_filed(&self, feed: Subject, folder: Subject) -> bool {
        self.filed.contains(&(feed, folder))
    }

    /// Number of unread articles of a feed after the changes, for a number before.
    pub(super) fn of_feed(&self, feed: Subject, before: i64) -> i64 {
        grown(before, self.unread.get(&Some(feed)).copied().unwrap_or_default())
    }

    /// Number of unread articles of a folder after the changes.
    pub(super) fn of_folder(&self, folder: Subject, before: i64) -> i64 {
        let inside = self
            .unread
            .iter()
            .filter(|(feed, _)| feed.is_some_and(|feed| self.is_filed(feed, folder)));
        grown(before, inside.map(|(_, more)| more).sum())
    }

    /// Number of all unread articles after the changes.
    pub(super) fn of_all(&self, before: i64) -> i64 {
        grown(before, self.unread.values().sum())
    }

    /// Number of starred articles after the changes.
    pub(super) fn starred(&self, before: i64) -> i64 {
        grown(before, self.starred)
    }
}

fn grown(before: i64, more: i64) -> i64 {
    before.saturating_add(more).max(0)
}
