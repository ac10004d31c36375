//! The head of a feed that is written.

use feedsync_core::{Sharing, Timestamp};

use crate::details::FeedDetails;

/// A publisher's description of its feed. Each format writes the parts that it can hold.
#[derive(Debug, Clone, Copy)]
pub struct FeedHead<'a> {
    /// Permanent, absolute IRI of the feed.
    pub id: &'a str,
    /// Title shown to people.
    pub title: &'a str,
    /// Date of the feed's last change.
    pub updated: Timestamp,
    /// Placeholder for an author, used if the details have none and the format requires one. It is marked, so that it
    /// is not read as a detail of the feed. RSS and POX do not contain it.
    pub author: &'a str,
    /// Details in addition to the title, if any.
    pub details: Option<&'a FeedDetails>,
    /// Address of this document.
    pub self_link: Option<&'a str>,
    /// Address of the next part, if the feed is split.
    pub next: Option<&'a str>,
    /// Other links.
    pub links: &'a [HeadLink<'a>],
    /// Whether this document contains the whole feed. Atom and RSS write this as `fh:complete` (RFC 5005 2).
    pub complete: bool,
    /// `sx:sharing` of this publication, created for each publication (2.2).
    pub sharing: Option<&'a Sharing>,
}

/// A link of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLink<'a> {
    /// Relation of the target.
    pub rel: &'a str,
    /// Address of the target.
    pub href: &'a str,
    /// Media type of the target, if known.
    pub media_type: Option<&'a str>,
}
