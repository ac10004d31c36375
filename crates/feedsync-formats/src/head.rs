//! What stands at the head of a feed that is written.

use feedsync_core::{Sharing, Timestamp};

use crate::details::FeedDetails;

/// What a publisher says of its feed. Every format writes what it has a place for.
#[derive(Debug, Clone, Copy)]
pub struct FeedHead<'a> {
    /// A permanent, absolute IRI.
    pub id: &'a str,
    /// The name for people.
    pub title: &'a str,
    /// When the feed last changed.
    pub updated: Timestamp,
    /// Stands in for an author where the details name none and the format wants one. It is marked, so that
    /// nobody takes it for a detail of the feed. RSS and POX do not have it.
    pub author: &'a str,
    /// Details beside the title, if there are any.
    pub details: Option<&'a FeedDetails>,
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
