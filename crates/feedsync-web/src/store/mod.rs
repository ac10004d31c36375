//! Stored data as rows of text by key, and contents by digest: the shape of two object stores of IndexedDB.
//!
//! Everything is decided on loaded rows. A decision that needs another row fails with [`ReadError::Missing`] and has
//! changed nothing. The caller loads the row and decides again. A step becomes a list of [`Writes`], which is
//! committed in one transaction.
//!
//! | key | row |
//! |---|---|
//! | `s/…` | a row of the state in memory: a subscription, an edit, an error |
//! | `a/URL` | roles and representations of an address |
//! | `f/PARTITION FEED URL` | relation of an address to a feed |
//! | `p/PARTITION URL` | an address that has data of a partition |
//! | `u/DIGEST KEY` | the row of this key refers to the content |
//! | `c/DIGEST` | the content may be unused, and is looked at by the next sweep |
//!
//! Rows with data have a checksum ([`seal`]). Rows that cannot be read are set aside before anything else is decided.

mod key;
mod loaded;
mod row;
mod set_aside;
mod state_rows;
mod sweep;
mod writes;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::{Content, Digest, Representation, Resource, Rows, Stored};
use feedsync_bitsy::location::Location;

pub use key::{Needed, Range};
pub(crate) use key::{address_of, kind_of, number_of, numbered, relation_of};
pub use loaded::{Found, ReadError};
pub use row::{CANDIDATES, STATE, USES, migrated, seal, unseal};
pub(crate) use row::{read, remains, text_of};
pub(crate) use set_aside::SetAside;
pub use sweep::{Swept, candidate, uses};
pub use writes::{PendingStep, Writes};

use loaded::Loaded;
use state_rows::StateRows;

/// The loaded part of the stored data. It includes the changes of all steps that were turned into writes.
#[derive(Debug, Default)]
pub struct Store {
    loaded: Loaded,
    state_rows: StateRows,
}

impl Store {
    /// Reads the rows whose keys begin with [`STATE`]. Nothing else is loaded. Rows that cannot be read are
    /// [`damaged`](Self::damaged).
    pub fn restored(rows: &SortedMap<String, String>) -> (Self, Rows) {
        let rows = rows.iter().map(|(key, text)| (key.as_str(), text.as_str()));
        let (state_rows, all, damaged) = StateRows::read(rows);
        let mut loaded = Loaded::default();
        loaded.damaged = damaged;
        (Self { loaded, state_rows }, all)
    }

    /// Takes over which rows of another instance are damaged, except those of the state.
    pub(crate) fn take_over(&mut self, before: Self) {
        let damaged = before.loaded.damaged.into_iter();
        self.loaded.damaged.extend(damaged.filter(|(key, _)| !key.starts_with(STATE)));
    }

    /// Adds data that were missing. Rows that cannot be read are [`damaged`](Self::damaged).
    pub fn add(&mut self, needed: Needed, found: Found) {
        self.loaded.add(needed, found);
    }

    /// Keys of rows that cannot be read. They are to be set aside before the next decision.
    pub fn damaged(&self) -> impl Iterator<Item = &str> {
        self.loaded.damaged.keys().map(String::as_str)
    }

    /// Applies a step, and returns the rows to write. `is_edited` tells whether an edit of an address waits, so that
    /// its representation is kept.
    ///
    /// If data are missing, they are added, and the call is repeated with the same pending step.
    pub fn write(
        &mut self,
        pending: &mut PendingStep,
        is_edited: impl Fn(Partition, &Location) -> bool,
    ) -> Result<Writes, ReadError> {
        let Self { loaded, state_rows } = self;
        writes::Writer { loaded, state_rows, is_edited: &is_edited }.write(pending)
    }

    /// Contents of the stored representations of an address, by partition.
    pub fn representations(
        &self,
        location: &Location,
    ) -> Result<Vec<(Partition, Content)>, ReadError> {
        let row = self.loaded.address(location)?;
        Ok(row.representations.iter().map(|(partition, it)| (*partition, it.content)).collect())
    }

    /// Removes rows and contents from memory if there are many. To be called between decisions.
    pub fn trim(&mut self) {
        self.loaded.trim();
    }

    /// Removes everything from memory that can be loaded again.
    pub fn unload(&mut self) {
        self.loaded = Loaded::default();
    }

    /// Keeps bytes in memory, for example those that were just received.
    pub fn keep_content(&mut self, digest: Digest, bytes: Vec<u8>) {
        self.loaded.add_content(digest, Some(bytes));
    }
}

impl Stored for Store {
    type Error = ReadError;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, ReadError> {
        self.loaded.resources(location)
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, ReadError> {
        self.loaded.representation(partition, location)
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, ReadError> {
        self.loaded.content(content)
    }
}
