//! A feed in the protocol: the publisher's sharing information, and the items.

use crate::item::Item;
use crate::payload::Payload;
use crate::timestamp::Timestamp;

/// Information from a publisher for this one consumer: `sx:sharing` (2.2). It is never republished
/// (F29).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Range of changes in the feed; both bounds or neither (2.2).
    pub window: Option<Window>,
    /// Time before which the feed should be read again (2.2).
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

/// Bounds of the changes in a feed: opaque texts compared by code point, `since` exclusive, `until`
/// inclusive (2.2, 4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// Change after which the feed contains every changed item.
    pub since: String,
    /// Last change in the feed.
    pub until: String,
}

/// A related feed: `sx:related` (2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Related {
    /// An absolute URI without a fragment.
    pub link: String,
    /// Readable name.
    pub title: Option<String>,
    /// Kind of relation.
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

/// A parsed feed: its sharing and its items. Items without `sx:sync` do not take part (2.4) and are
/// only counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// Sharing information, if the publisher gives any.
    pub sharing: Option<Sharing>,
    /// Items with `sx:sync`, in document order.
    pub items: Vec<Item<Payload>>,
    /// Number of items without `sx:sync`.
    pub plain_items: usize,
}
