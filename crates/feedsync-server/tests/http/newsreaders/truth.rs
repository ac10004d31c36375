//! What somebody did, one deed after the other, and what is so after those that are known somewhere: the model that
//! hubs and devices are compared with.

use std::collections::BTreeSet;

/// Something that was done to a feed or an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// An article was marked as read, or as unread.
    Mark { article: usize, is_read: bool },
    /// An article was given a star, or lost it.
    Star { article: usize, is_starred: bool },
    /// All that stands in a feed until then was marked as read.
    UpTo { feed: usize, shown: u64 },
    /// A feed was subscribed to, or left.
    Subscribe { feed: usize, is_in: bool },
}

/// An article as the model knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Article {
    pub(crate) feed: usize,
    /// Where it stands, in milliseconds.
    pub(crate) shown: u64,
}

/// All that one person did, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    deeds: Vec<Deed>,
}

/// Which deeds are known somewhere, by their places.
pub(crate) type Known = BTreeSet<usize>;

impl Truth {
    /// Something is done where so much is known.
    pub(crate) fn add(&mut self, known: &mut Known, deed: Deed) {
        known.insert(self.deeds.len());
        self.deeds.push(deed);
    }

    /// The last of the deeds that says something, the latest first.
    fn last<T>(&self, known: &Known, says: impl Fn(&Deed) -> Option<T>) -> Option<T> {
        known.iter().rev().find_map(|place| says(&self.deeds[*place]))
    }

    pub(crate) fn is_read(&self, known: &Known, number: usize, of: Article) -> bool {
        let says = |deed: &Deed| match *deed {
            Deed::Mark { article, is_read } if article == number => Some(is_read),
            Deed::UpTo { feed, shown } if feed == of.feed && of.shown <= shown => Some(true),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }

    pub(crate) fn is_starred(&self, known: &Known, number: usize) -> bool {
        let says = |deed: &Deed| match *deed {
            Deed::Star { article, is_starred } if article == number => Some(is_starred),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }

    pub(crate) fn is_subscribed(&self, known: &Known, number: usize) -> bool {
        let says = |deed: &Deed| match *deed {
            Deed::Subscribe { feed, is_in } if feed == number => Some(is_in),
            _ => None,
        };
        self.last(known, says).unwrap_or(false)
    }
}
