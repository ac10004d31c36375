//! The authoring line that signs an edit.

use feedsync_core::{By, History, ItemId, Sequence, Stamp, line};
use feedsync_store::{Snapshot, Write};

use crate::error::EndpointError;

/// A stamp for an edit, and its authoring line.
pub(crate) struct Signature {
    pub(crate) stamp: Stamp,
    pub(crate) by: By,
}

impl Signature {
    /// Signs an edit that is based on all these histories, with the first authoring line of the current
    /// incarnation that may be extended.
    ///
    /// An unnoticed copy of this store could extend the same lines. So all lines of the current incarnation
    /// are watched for updates of another endpoint.
    pub(crate) fn for_edit<'a>(
        snapshot: &Snapshot,
        id: &ItemId,
        base: impl IntoIterator<Item = &'a History> + Clone,
    ) -> Result<Self, EndpointError> {
        let issued = |by: &By| snapshot.issued(id, by).map(|issued| issued.sequence);
        match line::line_for(&snapshot.identity().by, issued, base) {
            Some((by, issued)) => Self::with(snapshot, by, issued),
            None => Self::fresh(snapshot),
        }
    }

    /// Signs with an authoring line that was never used.
    pub(crate) fn fresh(snapshot: &Snapshot) -> Result<Self, EndpointError> {
        Self::with(snapshot, snapshot.mint(), None)
    }

    fn with(snapshot: &Snapshot, by: By, issued: Option<Sequence>) -> Result<Self, EndpointError> {
        let when = snapshot.now().timestamp().ok_or(EndpointError::Clock)?;
        Ok(Self { stamp: Stamp::new(when, by.clone()).above(issued), by })
    }

    /// Returns the ledger entry that this signature makes for an item.
    pub(crate) fn issue<P>(&self, item: &feedsync_core::Item<P>) -> Option<Write> {
        let sequence = item.highest(&self.by)?;
        Some(Write::Issue { item: item.id.clone(), by: self.by.clone(), sequence })
    }
}
