//! Keys of rows. The parts of a key are separated by spaces, which no address contains.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Digest};
use feedsync_bitsy::location::Location;

use crate::codec::partition_text;

/// First characters of the keys of rows that are loaded at the start.
pub const STATE: &str = "s/";

/// Data that a decision needs and that is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Needed {
    /// The row of an address.
    Address(Location),
    /// The relations of all addresses to a feed.
    Feed(Partition, Location),
    /// The addresses that have data of a partition.
    Partition(Partition),
    /// Bytes of a content.
    Content(Content),
}

/// Rows or bytes to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// The row of this key, which may not exist.
    Row(String),
    /// All rows whose keys begin so.
    Prefix(String),
    /// The bytes of this content.
    Content(Digest),
}

impl Needed {
    /// Rows or bytes to load.
    pub fn range(&self) -> Range {
        match self {
            Self::Address(location) => Range::Row(address(location)),
            Self::Feed(partition, feed) => Range::Prefix(feed_prefix(*partition, feed)),
            Self::Partition(partition) => Range::Prefix(partition_prefix(*partition)),
            Self::Content(content) => Range::Content(content.digest),
        }
    }
}

pub(super) fn address(location: &Location) -> String {
    format!("a/{location}")
}

pub(super) fn feed_prefix(partition: Partition, feed: &Location) -> String {
    format!("f/{} {feed} ", partition_text(partition))
}

pub(super) fn feed_member(partition: Partition, feed: &Location, location: &Location) -> String {
    format!("{}{location}", feed_prefix(partition, feed))
}

pub(super) fn partition_prefix(partition: Partition) -> String {
    format!("p/{} ", partition_text(partition))
}

pub(super) fn partition_member(partition: Partition, location: &Location) -> String {
    format!("{}{location}", partition_prefix(partition))
}

pub(super) fn content_use(content: &Content, key: &str) -> String {
    format!("{}{key}", super::sweep::uses(&content.digest))
}

/// Key of a row of the state with a number.
pub(super) fn numbered(kind: &str, number: u64) -> String {
    format!("{STATE}{kind} {number:016x}")
}
