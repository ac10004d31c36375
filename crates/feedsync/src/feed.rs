//! A feed as the protocol sees it: what the publisher says of it, and its items.

use crate::item::Item;
use crate::payload::Payload;
use crate::timestamp::Timestamp;

/// What a publisher says to this one consumer: `sx:sharing` (2.2). It is never republished (F29).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// What the feed holds; both bounds or neither (2.2).
    pub window: Option<Window>,
    /// The feed should be read again before this (2.2).
    pub expires: Option<Timestamp>,
    /// Related feeds in document order (2.3).
    pub related: Vec<Related>,
}

impl Sharing {
    /// The link of the first related feed that is complete (4.1.1 step 2).
    pub fn complete(&self) -> Option<&str> {
        self.related
            .iter()
            .find(|related| related.kind == RelatedKind::Complete)
            .map(|related| related.link.as_str())
    }
}

/// The bounds of what a feed holds: opaque texts compared by code point, `since` exclusive, `until`
/// inclusive (2.2, 4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// Every item changed after this is in the feed.
    pub since: String,
    /// The last change the feed holds.
    pub until: String,
}

/// A related feed: `sx:related` (2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Related {
    /// An absolute URI without a fragment.
    pub link: String,
    /// A name for people.
    pub title: Option<String>,
    /// How it is related.
    pub kind: RelatedKind,
}

/// `sx:related/@type` (2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelatedKind {
    /// The complete collection of this feed's items.
    Complete,
    /// A feed whose items the publisher incorporates.
    Aggregated,
}

/// A feed that was read: its sharing and the items that take part. Items without `sx:sync` do not
/// take part (2.4) and are counted only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// What the publisher says, if anything.
    pub sharing: Option<Sharing>,
    /// Items with `sx:sync`, in document order.
    pub items: Vec<Item<Payload>>,
    /// How many items had no `sx:sync`.
    pub plain_items: usize,
}
