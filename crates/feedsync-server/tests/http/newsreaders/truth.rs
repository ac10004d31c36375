//! Model of the actions of a user: the state that results from the actions known at a place, to compare hubs
//! and devices with.

use std::collections::BTreeSet;

/// An action on a feed or an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserAction {
    /// An article was marked as read or as unread.
    Mark { article: usize, is_read: bool },
    /// An article was starred or unstarred.
    Star { article: usize, is_starred: bool },
    /// All articles of a feed up to a moment were marked as read.
    UpTo { feed: usize, shown: u64 },
    /// A feed was subscribed to or unsubscribed from.
    Subscribe { feed: usize, is_in: bool },
}

/// An article of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Article {
    pub(crate) feed: usize,
    /// Its time in lists, in milliseconds.
    pub(crate) shown: u64,
}

/// All actions of one user, in chronological order.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    deeds: Vec<UserAction>,
}

/// Indices of the actions that a replica knows.
pub(crate) type KnownActions = BTreeSet<usize>;

impl Truth {
    /// Adds an action at a replica with this knowledge.
    pub(crate) fn add(&mut self, known: &mut KnownActions, deed: UserAction) {
        known.insert(self.deeds.len());
        self.deeds.push(deed);
    }

    /// The result of the latest known action that sets a value.
    fn last<T>(&self, known: &KnownActions, says: impl Fn(&UserAction) -> Option<T>) -> Option<T> {
        known.iter().rev().find_map(|place| says(&self.deeds[*place]))
    }

    pub(crate) fn is_read(&self, known: &KnownActions, number: usize, of: Article) -> bool {
        let says = |deed: &UserAction| match *deed {
            UserAction::Mark { article, is_read } if article == number => Some(is_read),
            UserAction::UpTo { feed, shown } if feed == of.feed && of.shown <= shown => Some(true),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }

    pub(crate) fn is_starred(&self, known: &KnownActions, number: usize) -> bool {
        let says = |deed: &UserAction| match *deed {
            UserAction::Star { article, is_starred } if article == number => Some(is_starred),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }

    pub(crate) fn is_subscribed(&self, known: &KnownActions, number: usize) -> bool {
        let says = |deed: &UserAction| match *deed {
            UserAction::Subscribe { feed, is_in } if feed == number => Some(is_in),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }
}
