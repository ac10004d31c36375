//! Loaded rows.

use std::collections::HashMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::{Belonging, Content, Digest, Representation, Resource, Stored};
use feedsync_bitsy::location::Location;
use serde_json::Value;

use super::key::Needed;
use crate::codec::{AddressRow, Damaged, belonging};

/// Maximum number of addresses that stay loaded after a decision.
const MAX_ADDRESSES: usize = 4_096;

/// Maximum size of the contents that stay loaded after a decision, in bytes.
const MAX_CONTENT_BYTES: usize = 16 << 20;

/// Error of a read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The data are not loaded.
    #[error("the data are not loaded")]
    Missing(Needed),
    /// A row cannot be read.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The bytes of a content are gone, because the browser deleted them or a person did.
    #[error("the stored bytes {} are gone", .0.digest)]
    Lost(Content),
}

/// Loaded rows. They include the changes of all earlier steps.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) addresses: HashMap<Location, AddressRow>,
    pub(super) feeds: HashMap<(Partition, Location), SortedMap<Location, Belonging>>,
    pub(super) partitions: HashMap<Partition, Vec<Location>>,
    /// Loaded contents; none for those whose bytes are gone.
    contents: HashMap<Digest, Option<Vec<u8>>>,
    content_bytes: usize,
}

/// Data that were loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Keys and texts of rows: all that were asked for and exist.
    Rows(Vec<(String, String)>),
    /// Bytes of a content; none if they are gone.
    Content(Option<Vec<u8>>),
}

impl Loaded {
    /// Adds data that were missing.
    pub(super) fn add(&mut self, needed: Needed, found: Found) -> Result<(), ReadError> {
        match (needed, found) {
            (Needed::Address(location), Found::Rows(rows)) => {
                let row = rows.first().map(|(_, text)| AddressRow::read(&parse(text)?));
                // A row that was changed meanwhile is newer than the one that was found.
                let row = row.transpose()?.unwrap_or_default();
                self.addresses.entry(location).or_insert(row);
            }
            (Needed::Feed(partition, feed), Found::Rows(rows)) => {
                let row = |(key, text): &(String, String)| {
                    Ok((last_part(key)?, belonging(&parse(text)?)?))
                };
                let all: Result<_, Damaged> = rows.iter().map(row).collect();
                self.feeds.entry((partition, feed)).or_insert(all?);
            }
            (Needed::Partition(partition), Found::Rows(rows)) => {
                let all: Result<_, Damaged> = rows.iter().map(|(key, _)| last_part(key)).collect();
                self.partitions.entry(partition).or_insert(all?);
            }
            (Needed::Content(content), Found::Content(bytes)) => {
                self.add_content(content.digest, bytes);
            }
            (Needed::Content(content), Found::Rows(_)) => self.add_content(content.digest, None),
            // What was asked for is no content, so that nothing was found.
            (needed, Found::Content(_)) => self.add(needed, Found::Rows(Vec::new()))?,
        }
        Ok(())
    }

    /// Adds the bytes of a content; none if they are gone.
    pub(super) fn add_content(&mut self, digest: Digest, bytes: Option<Vec<u8>>) {
        if bytes.is_none() && matches!(self.contents.get(&digest), Some(Some(_))) {
            return;
        }
        self.content_bytes += bytes.as_ref().map_or(0, Vec::len);
        if let Some(Some(before)) = self.contents.insert(digest, bytes) {
            self.content_bytes -= before.len();
        }
    }

    /// Removes rows and contents from memory if there are many. To be called between decisions.
    pub(super) fn trim(&mut self) {
        if self.addresses.len() > MAX_ADDRESSES {
            self.addresses.clear();
        }
        if self.feeds.values().map(SortedMap::len).sum::<usize>() > MAX_ADDRESSES {
            self.feeds.clear();
        }
        self.partitions.clear();
        if self.content_bytes > MAX_CONTENT_BYTES {
            self.contents.clear();
            self.content_bytes = 0;
        }
        self.contents.retain(|_, bytes| bytes.is_some());
    }

    pub(super) fn address(&self, location: &Location) -> Result<&AddressRow, ReadError> {
        let row = self.addresses.get(location);
        row.ok_or_else(|| ReadError::Missing(Needed::Address(location.clone())))
    }
}

impl Stored for Loaded {
    type Error = ReadError;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, ReadError> {
        self.address(location).map(AddressRow::resources)
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, ReadError> {
        Ok(self.address(location)?.representations.get(&partition).cloned())
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, ReadError> {
        match self.contents.get(&content.digest) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) => Err(ReadError::Lost(*content)),
            None => Err(ReadError::Missing(Needed::Content(*content))),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Value, Damaged> {
    serde_json::from_str(text).map_err(|error| Damaged::new("row", error))
}

/// The address at the end of a key.
fn last_part(key: &str) -> Result<Location, Damaged> {
    let part = key.rsplit(' ').next().unwrap_or_default();
    part.parse().map_err(|error| Damaged::new("key", error))
}
