//! Keys of rows. The parts of a key are separated by spaces, which no address contains.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Digest};
use feedsync_bitsy::location::Location;

use super::row::STATE;
use crate::codec::{bytes_of, partition_text};

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

/// First characters of the keys of rows of addresses.
const ADDRESSES: &str = "a/";

/// First characters of the keys of relations of addresses to feeds.
const FEEDS: &str = "f/";

/// Address that a row is about, from its key; none for rows of other kinds.
pub(crate) fn address_of(key: &str) -> Option<Location> {
    key.strip_prefix(ADDRESSES)?.parse().ok()
}

/// Partition, feed and address of a row that relates an address to a feed.
pub(crate) fn relation_of(key: &str) -> Option<(Partition, Location, Location)> {
    let mut parts = key.strip_prefix(FEEDS)?.split(' ');
    let partition = Partition::of_bytes(bytes_of(parts.next()?)?);
    Some((partition, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Number of a row of the state, from its key.
pub(crate) fn number_of(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit(' ').next()?, 16).ok()
}

/// Kind of a row of the state, from its key.
pub(crate) fn kind_of(key: &str) -> Option<&str> {
    key.strip_prefix(STATE)?.split(' ').next()
}

pub(super) fn address(location: &Location) -> String {
    format!("{ADDRESSES}{location}")
}

pub(super) fn feed_prefix(partition: Partition, feed: &Location) -> String {
    format!("{FEEDS}{} {feed} ", partition_text(partition))
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
pub(crate) fn numbered(kind: &str, number: u64) -> String {
    format!("{STATE}{kind} {number:016x}")
}
