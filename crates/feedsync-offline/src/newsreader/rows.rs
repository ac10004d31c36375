//! What is stored of newsreaders, to go on from.

use super::account::Account;
use super::key::Key;
use super::known::Facts;
use super::written::{Written, WrittenId};
use crate::authentication::Partition;
use crate::interceptor::{Change, Content};
use crate::time::Time;

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Whose.
    pub partition: Partition,
    /// Under what.
    pub key: Key,
    /// What its articles are written like, if it has any.
    pub kind: u8,
    /// The last change that is in it.
    pub stamp: WrittenId,
    /// When it came.
    pub fetched: Time,
    /// What it is.
    pub media_type: String,
    /// Its bytes.
    pub content: Content,
    /// What it says.
    pub facts: Facts,
}

/// What was stored, to go on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Who was answered.
    pub accounts: Vec<Account>,
    /// What was answered.
    pub kept: Vec<Kept>,
    /// What was changed.
    pub written: Vec<Written>,
}

impl Rows {
    /// Makes a change, as a store does.
    pub fn make(&mut self, change: &Change) {
        match change {
            Change::Account(account) => {
                self.accounts.retain(|other| other.partition != account.partition);
                self.accounts.push((**account).clone());
                self.accounts.sort_by_key(|account| account.partition);
            }
            Change::AccountGone(partition) => {
                self.accounts.retain(|other| other.partition != *partition);
            }
            Change::Kept(kept) => {
                let is_it =
                    |other: &Kept| (other.partition, other.key) == (kept.partition, kept.key);
                self.kept.retain(|other| !is_it(other));
                self.kept.push((**kept).clone());
                self.kept.sort_by_key(|kept| (kept.partition, kept.key));
            }
            Change::KeptGone { partition, key } => {
                self.kept.retain(|other| (other.partition, other.key) != (*partition, *key));
            }
            Change::Written(written) => {
                self.written.retain(|other| other.id != written.id);
                self.written.push((**written).clone());
                self.written.sort_by_key(|written| written.id);
            }
            Change::WrittenGone(id) => self.written.retain(|other| other.id != *id),
            _ => {}
        }
    }
}
