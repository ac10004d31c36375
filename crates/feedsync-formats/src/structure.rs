//! Structure of a feed: the roles that a format gives to its elements, and the position for new items.

use crate::xml::Namespace;

/// Role of an element in a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// An element whose children are visited one by one.
    Container,
    /// Like a container, and new items are appended at its end.
    Items,
    /// An item, whether or not it takes part in sharing.
    Item,
    /// An item if it has an `sx:sync`.
    Candidate,
    /// The element that contains the outlines of OPML.
    Outlines,
    /// `sx:sharing`.
    Sharing,
    /// The title of the feed.
    Title,
    /// Any other element.
    Other,
}

/// A start tag with its position among the open elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TagContext<'a> {
    /// Local names of the open elements, the root first.
    pub(crate) path: &'a [&'a str],
    /// The namespace of the root. If the tag is the root, this is its own namespace.
    pub(crate) root: Namespace,
    /// The element's namespace.
    pub(crate) namespace: Namespace,
    /// The element's local name.
    pub(crate) local: &'a str,
}

/// The position after the last item.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    /// Offset of the end tag of the element that holds the items, or of `/>`.
    pub(crate) offset: usize,
    /// Qualified name of that element if it has no end tag yet.
    pub(crate) empty: Option<String>,
    /// Default namespace in scope.
    pub(crate) default: Option<String>,
    /// Prefix of the FeedSync namespace in scope.
    pub(crate) prefix: Option<String>,
    /// Whether the document states that its items are self-contained.
    pub(crate) self_contained: bool,
}
