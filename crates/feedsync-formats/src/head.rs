//! What stands at the head of a feed that is written.

use feedsync::{Sharing, Timestamp};

/// What a publisher says of its feed. Every format writes what it has a place for.
#[derive(Debug, Clone, Copy)]
pub struct FeedHead<'a> {
    /// A permanent, absolute IRI.
    pub id: &'a str,
    /// The name for people.
    pub title: &'a str,
    /// When the feed last changed.
    pub updated: Timestamp,
    /// Who publishes it, for items that name no author. RSS and POX have no place for it.
    pub author: &'a str,
    /// The address of this very document.
    pub self_link: Option<&'a str>,
    /// The address of the next part, if the answer is limited.
    pub next: Option<&'a str>,
    /// Other links.
    pub links: &'a [HeadLink<'a>],
    /// Whether this one document holds all that the feed has, which Atom and RSS say as `fh:complete` (RFC 5005 2).
    pub complete: bool,
    /// `sx:sharing` of this publication, made anew each time (2.2).
    pub sharing: Option<&'a Sharing>,
}

/// A link of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLink<'a> {
    /// How the target is related.
    pub rel: &'a str,
    /// Its address.
    pub href: &'a str,
    /// Its media type, if known.
    pub media_type: Option<&'a str>,
}
