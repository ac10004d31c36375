//! Databases that were dropped, and that are kept under another name for their history.

use std::sync::Arc;

use feedsync_couch::{DatabaseName, MAX_DATABASE_NAME_BYTES, Refusal};

use super::Database;
use crate::error::StoreError;
use crate::order::{ChangeNumber, Epoch, Moment};

/// Stands between the name that a dropped database had and its epoch.
const MARK: &str = "$dropped-";

/// Number of bytes of an epoch's text.
const EPOCH_BYTES: usize = 25;

/// How a database was dropped. Its contents stay as they were, under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The name that it had.
    pub name: DatabaseName,
    /// When it was dropped: after its last write.
    pub moment: Moment,
    /// Name of the user who dropped it, if there is one.
    pub author: Option<Arc<str>>,
}

impl Dropped {
    /// Whether a name has the form of those under which dropped databases are kept. Clients cannot create databases with
    /// such names.
    pub fn is_kept_name(name: &DatabaseName) -> bool {
        let epoch = name.as_str().rsplit_once(MARK).map(|(_, epoch)| epoch);
        epoch.is_some_and(|epoch| epoch.parse::<Epoch>().is_ok())
    }
}

impl Database {
    /// Whether the database is kept when it is dropped: it keeps a history, was ever written to, and is not the database of
    /// users or of replications.
    pub fn is_kept_when_dropped(&self) -> bool {
        self.keeps_history() && self.last > ChangeNumber::ZERO && !self.name.is_system()
    }

    /// Gives the database the name under which it is kept from now on. No other database has its epoch.
    pub(crate) fn drop_now(
        &mut self,
        now: Moment,
        author: Option<Arc<str>>,
    ) -> Result<(), StoreError> {
        // Names are ASCII. Long ones are cut.
        let most = MAX_DATABASE_NAME_BYTES - MARK.len() - EPOCH_BYTES;
        let name = self.name.as_str();
        let kept = format!("{}{MARK}{}", &name[..name.len().min(most)], self.epoch);
        let kept = kept.parse().map_err(|error: Refusal| StoreError::Damaged(error.to_string()))?;
        let name = std::mem::replace(&mut self.name, kept);
        self.dropped = Some(Dropped { name, moment: self.past.last.followed_at(now), author });
        Ok(())
    }

    /// Gives the database the name back that it had when it was dropped. Returns whether it was dropped.
    pub(crate) fn undrop(&mut self, now: Moment) -> bool {
        let Some(dropped) = self.dropped.take() else { return false };
        self.name = dropped.name;
        self.named = dropped.moment.followed_at(now);
        true
    }
}
