//! Loaded rows.

use std::collections::HashMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::{Belonging, Content, Digest, Representation, Resource, Stored};
use feedsync_bitsy::location::Location;

use super::key::Needed;
use super::row;
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
    /// Rows that cannot be read. They are set aside before anything else is decided.
    pub(super) damaged: DamagedRows,
}

/// Texts of rows that cannot be read, by key.
pub(crate) type DamagedRows = SortedMap<String, String>;

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
    pub(super) fn add(&mut self, needed: Needed, found: Found) {
        match (needed, found) {
            // Rows that were changed meanwhile are newer than those that were found.
            (Needed::Address(location), _) if self.addresses.contains_key(&location) => {}
            (Needed::Feed(partition, feed), _)
                if self.feeds.contains_key(&(partition, feed.clone())) => {}
            (Needed::Address(location), Found::Rows(rows)) => {
                let read = |key: &str, text: &str| AddressRow::read(&row::read(key, text)?);
                let row = self.readable(rows, read).pop().unwrap_or_default();
                self.addresses.insert(location, row);
            }
            (Needed::Feed(partition, feed), Found::Rows(rows)) => {
                let read = |key: &str, text: &str| {
                    Ok((last_part(key)?, belonging(&row::read(key, text)?)?))
                };
                let all = self.readable(rows, read).into_iter().collect();
                self.feeds.insert((partition, feed), all);
            }
            (Needed::Partition(partition), Found::Rows(rows)) => {
                let all = self.readable(rows, |key, _| last_part(key));
                self.partitions.entry(partition).or_insert(all);
            }
            (Needed::Content(content), Found::Content(bytes)) => {
                self.add_content(content.digest, bytes);
            }
            (Needed::Content(content), Found::Rows(_)) => self.add_content(content.digest, None),
            // What was asked for is no content, so that nothing was found.
            (needed, Found::Content(_)) => self.add(needed, Found::Rows(Vec::new())),
        }
    }

    /// The rows that can be read. The others are noted as damaged, and taken as if they were not stored.
    fn readable<R>(
        &mut self,
        rows: Vec<(String, String)>,
        read: impl Fn(&str, &str) -> Result<R, Damaged>,
    ) -> Vec<R> {
        let mut all = Vec::with_capacity(rows.len());
        for (key, text) in rows {
            match read(&key, &text) {
                Ok(row) => all.push(row),
                Err(_) => drop(self.damaged.insert(key, text)),
            }
        }
        all
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

/// The address at the end of a key.
fn last_part(key: &str) -> Result<Location, Damaged> {
    let part = key.rsplit(' ').next().unwrap_or_default();
    part.parse().map_err(|error| Damaged::new("key", error))
}
