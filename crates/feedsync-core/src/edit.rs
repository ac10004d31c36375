//! Creation, update, deletion and un-deletion (3.1, 3.2), and edits on a version that is not the current one.

use crate::bounds::MAX_INCOMING_UPDATES;
use crate::counter::{Sequence, Updates};
use crate::history::History;
use crate::identifier::{By, ItemId};
use crate::item::{Item, Unsigned, Update, Version};
use crate::merge::unite;
use crate::timestamp::Timestamp;

/// Signature of an edit: its time, its authoring line, and a lower bound of its sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    when: Option<Timestamp>,
    by: Option<By>,
    issued: Option<Sequence>,
}

impl Stamp {
    /// A stamp with both, as the specification recommends and this project's endpoints always use.
    pub fn new(when: Timestamp, by: By) -> Self {
        Self { when: Some(when), by: Some(by), issued: None }
    }

    /// A stamp with one or both (3.2 step 2.1).
    pub fn partial(when: Option<Timestamp>, by: Option<By>) -> Result<Self, Unsigned> {
        if when.is_none() && by.is_none() {
            return Err(Unsigned);
        }
        Ok(Self { when, by, issued: None })
    }

    /// The same stamp, with a sequence above all that this line ever issued for the item, whatever its
    /// histories still contain (3.2 step 2.3.2, the MAY).
    #[must_use]
    pub fn above(mut self, issued: Option<Sequence>) -> Self {
        self.issued = issued;
        self
    }

    /// The same stamp with another time, for a resolution that only repeats an edit of that time.
    #[must_use]
    pub fn dated(self, when: Timestamp) -> Self {
        Self { when: Some(when), ..self }
    }

    /// The authoring line that it extends.
    pub fn by(&self) -> Option<&By> {
        self.by.as_ref()
    }

    /// The next update of this line (3.2 step 2): S1 is `updates`, unless the line has reached it; then it is
    /// the next after the line's last.
    fn sign(&self, updates: Updates, known: Option<Sequence>) -> Result<Update, EditError> {
        let mut sequence = Sequence::from(updates);
        if self.by.is_some()
            && let Some(greatest) = known.max(self.issued)
            && sequence <= greatest
        {
            sequence = greatest.next().ok_or(EditError::SequenceExhausted)?;
        }
        Update::new(sequence, self.when, self.by.clone()).map_err(EditError::from)
    }
}

/// Reason why an edit is not possible; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// `updates` is at least [`MAX_INCOMING_UPDATES`]: peers refuse more.
    #[error(
        "the item already has {MAX_INCOMING_UPDATES} updates, the most that others \
         accept; copy it under a new id and edit the copy"
    )]
    UpdatesExhausted,
    /// The `sequence` of this authoring line is 2^31-1.
    #[error(
        "no sequence numbers are left for this item on this authoring line; a new authoring line \
         is needed"
    )]
    SequenceExhausted,
    /// The stamp has neither `when` nor `by`.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
}

/// Initial state of an item (3.1 steps 1.3 and 1.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Creation {
    /// `noconflicts`, which never changes; absent is a third state.
    pub noconflicts: Option<bool>,
    /// Whether the item begins as a tombstone.
    pub deleted: bool,
}

/// Changes that an update makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit<P> {
    /// The new payload; absent keeps the current one.
    pub payload: Option<P>,
    /// `true` deletes, `false` un-deletes, absent changes nothing (reading 13).
    pub deleted: Option<bool>,
}

impl<P> Edit<P> {
    /// A deletion that keeps the payload.
    pub fn delete() -> Self {
        Self { payload: None, deleted: Some(true) }
    }

    /// An un-deletion that restores the payload.
    pub fn undelete() -> Self {
        Self { payload: None, deleted: Some(false) }
    }
}

impl<P> From<P> for Edit<P> {
    /// New content; the deleted state is unchanged.
    fn from(payload: P) -> Self {
        Self { payload: Some(payload), deleted: None }
    }
}

/// The version that an edit starts from, as the editor saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Its `updates`.
    pub updates: Updates,
    /// Its `noconflicts`.
    pub noconflicts: Option<bool>,
    /// Its history.
    pub history: History,
}

impl<P> From<&Version<P>> for Base {
    fn from(version: &Version<P>) -> Self {
        Self {
            updates: version.updates,
            noconflicts: version.noconflicts,
            history: version.history.clone(),
        }
    }
}

impl<P> Item<P> {
    /// Creates an item (3.1).
    pub fn create(
        id: ItemId,
        creation: Creation,
        stamp: &Stamp,
        payload: P,
    ) -> Result<Self, EditError> {
        let updates = Updates::FIRST;
        let winner = Version {
            updates,
            deleted: creation.deleted,
            noconflicts: creation.noconflicts,
            history: History::new(stamp.sign(updates, None)?),
            payload,
        };
        Ok(Self { id, winner, conflicts: Vec::new() })
    }

    /// Updates, deletes or un-deletes the item (3.2): one more update on the winner.
    ///
    /// At [`MAX_INCOMING_UPDATES`] an edit is refused. A deletion is not: `updates` stays as it is, and the new
    /// version covers the old one by its history.
    ///
    /// Conflicts whose topmost update has the same authoring line are folded in (step 4). Endpoints that use
    /// one line for one `by` never have such a conflict (see [`crate::line`]).
    pub fn update(&mut self, stamp: &Stamp, edit: Edit<P>) -> Result<(), EditError> {
        let updates = match next_updates(self.winner.updates) {
            Err(_) if edit.deleted == Some(true) => self.winner.updates,
            updates => updates?,
        };
        self.update_at(updates, stamp, edit)?;
        self.shorten_histories();
        Ok(())
    }

    /// Updates the item with a given counter. The caller shortens the histories.
    pub(crate) fn update_at(
        &mut self,
        updates: Updates,
        stamp: &Stamp,
        edit: Edit<P>,
    ) -> Result<(), EditError> {
        let update = stamp.sign(updates, stamp.by().and_then(|by| self.highest(by)))?;
        self.winner.updates = updates;
        self.winner.history.push(update);
        if stamp.by.is_some() {
            self.fold_conflicts(|conflict| conflict.dot().by() == stamp.by());
        }
        if let Some(payload) = edit.payload {
            self.winner.payload = payload;
        }
        if let Some(deleted) = edit.deleted {
            self.winner.deleted = deleted;
        }
        Ok(())
    }

    /// An edit on a version that is known but not current. It creates a version beside those that superseded
    /// its base, merged in by 3.3. The authoring line of the stamp must have no update outside the base.
    pub fn branch(
        self,
        base: Base,
        stamp: &Stamp,
        payload: P,
        deleted: bool,
    ) -> Result<Self, EditError> {
        let updates = next_updates(base.updates)?;
        let update = stamp.sign(updates, stamp.by().and_then(|by| self.highest(by)))?;
        let mut history = base.history;
        history.push(update);
        let winner = Version { updates, deleted, noconflicts: base.noconflicts, history, payload };
        let branched = Item { id: self.id.clone(), winner, conflicts: Vec::new() };
        let mut united = unite(self, branched);
        united.shorten_histories();
        Ok(united)
    }

    /// Merging Conflict Items (3.4): removes conflicts and folds their histories into the winner's.
    pub(crate) fn fold_conflicts(&mut self, mut resolved: impl FnMut(&Version<P>) -> bool) {
        let (folded, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.conflicts).into_iter().partition(&mut resolved);
        self.conflicts = left;
        if !folded.is_empty() {
            self.winner.history.fold(folded.iter().map(|conflict| &conflict.history));
        }
    }
}

/// Counter of an edit on a version with this counter.
pub(crate) fn next_updates(updates: Updates) -> Result<Updates, EditError> {
    updates
        .next()
        .filter(|next| next.get() <= MAX_INCOMING_UPDATES)
        .ok_or(EditError::UpdatesExhausted)
}
