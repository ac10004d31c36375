//! Stored rows of newsreader data.

use super::account::Account;
use super::change::{ChangeId, StoredChange};
use super::facts::Facts;
use super::key::Key;
use crate::authentication::Partition;
use crate::interceptor::{Change, Content};
use crate::time::Time;

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedResponse {
    /// Partition of the account.
    pub partition: Partition,
    /// Key of the request.
    pub key: Key,
    /// Kind of its list of articles, if it has one.
    pub kind: u8,
    /// Number of the last change that it includes.
    pub stamp: ChangeId,
    /// Time at which it was fetched.
    pub fetched: Time,
    /// Media type.
    pub media_type: String,
    /// Reference to its bytes.
    pub content: Content,
    /// Facts about articles and feeds in it.
    pub facts: Facts,
}

/// All stored rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The accounts.
    pub accounts: Vec<Account>,
    /// The responses.
    pub kept: Vec<CachedResponse>,
    /// The changes.
    pub written: Vec<StoredChange>,
}

impl Rows {
    /// Applies a change, in the way a store does.
    pub fn make(&mut self, change: &Change) {
        match change {
            Change::Account(account) => {
                self.accounts.retain(|other| other.partition != account.partition);
                self.accounts.push((**account).clone());
                self.accounts.sort_by_key(|account| account.partition);
            }
            Change::AccountRemoved(partition) => {
                self.accounts.retain(|other| other.partition != *partition);
            }
            Change::CachedResponse(kept) => {
                let is_it = |other: &CachedResponse| {
                    (other.partition, other.key) == (kept.partition, kept.key)
                };
                self.kept.retain(|other| !is_it(other));
                self.kept.push((**kept).clone());
                self.kept.sort_by_key(|kept| (kept.partition, kept.key));
            }
            Change::CachedResponseRemoved { partition, key } => {
                self.kept.retain(|other| (other.partition, other.key) != (*partition, *key));
            }
            Change::StoredChange(written) => {
                self.written.retain(|other| other.id != written.id);
                self.written.push((**written).clone());
                self.written.sort_by_key(|written| written.id);
            }
            Change::StoredChangeRemoved(id) => self.written.retain(|other| other.id != *id),
            _ => {}
        }
    }
}
