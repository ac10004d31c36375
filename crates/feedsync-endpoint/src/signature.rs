//! Which line of edits signs an edit.

use feedsync::{By, History, ItemId, Sequence, Stamp, line};
use feedsync_store::{Snapshot, Write};

use crate::error::EndpointError;

/// A stamp for an edit, and the line it is of.
pub(crate) struct Signature {
    pub(crate) stamp: Stamp,
    pub(crate) by: By,
}

impl Signature {
    /// Signs an edit on these histories together: with the current incarnation where it may be
    /// extended, else with a fresh one-off.
    ///
    /// One-offs are never extended: a copy of this store that nobody has noticed could extend them
    /// too, and only the current incarnation is watched for that.
    pub(crate) fn for_edit<'a>(
        snapshot: &Snapshot,
        id: &ItemId,
        base: impl IntoIterator<Item = &'a History>,
    ) -> Result<Self, EndpointError> {
        let current = &snapshot.identity().by;
        let issued = snapshot.issued(id, current).map(|issued| issued.sequence);
        if line::may_extend(current, issued, base) {
            Self::with(snapshot, current.clone(), issued)
        } else {
            Self::fresh(snapshot)
        }
    }

    /// Signs with a line that nobody has ever used.
    pub(crate) fn fresh(snapshot: &Snapshot) -> Result<Self, EndpointError> {
        Self::with(snapshot, snapshot.mint(), None)
    }

    fn with(snapshot: &Snapshot, by: By, issued: Option<Sequence>) -> Result<Self, EndpointError> {
        let when = snapshot.now().timestamp().ok_or(EndpointError::Clock)?;
        Ok(Self { stamp: Stamp::new(when, by.clone()).above(issued), by })
    }

    /// The entry in the ledger that this signature makes on an item.
    pub(crate) fn issue<P>(&self, item: &feedsync::Item<P>) -> Option<Write> {
        let sequence = item.highest(&self.by)?;
        Some(Write::Issue { item: item.id.clone(), by: self.by.clone(), sequence })
    }
}
