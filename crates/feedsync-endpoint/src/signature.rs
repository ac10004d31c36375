//! The authoring line that signs an edit.

use feedsync_core::{By, History, ItemId, Sequence, Stamp, line};
use feedsync_store::{Snapshot, Write};

use crate::error::EndpointError;

/// A stamp for an edit, and the line it is of.
pub(crate) struct Signature {
    pub(crate) stamp: Stamp,
    pub(crate) by: By,
}

impl Signature {
    /// Signs an edit on these histories together: with the first line of the current incarnation that may be
    /// extended.
    ///
    /// A copy of this store that nobody has noticed could extend the same lines. So all lines of the current
    /// incarnation are watched for updates of somebody else.
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

    /// Signs with a line that nobody has ever used.
    pub(crate) fn fresh(snapshot: &Snapshot) -> Result<Self, EndpointError> {
        Self::with(snapshot, snapshot.mint(), None)
    }

    fn with(snapshot: &Snapshot, by: By, issued: Option<Sequence>) -> Result<Self, EndpointError> {
        let when = snapshot.now().timestamp().ok_or(EndpointError::Clock)?;
        Ok(Self { stamp: Stamp::new(when, by.clone()).above(issued), by })
    }

    /// The entry in the ledger that this signature makes on an item.
    pub(crate) fn issue<P>(&self, item: &feedsync_core::Item<P>) -> Option<Write> {
        let sequence = item.highest(&self.by)?;
        Some(Write::Issue { item: item.id.clone(), by: self.by.clone(), sequence })
    }
}
