//! Creation, update, deletion and un-deletion (3.1, 3.2), and edits on a version that is no longer
//! the current one.

use crate::counter::{Sequence, Updates};
use crate::history::History;
use crate::identifier::{By, ItemId};
use crate::incorporate::MAX_INCOMING_UPDATES;
use crate::item::{Item, Unsigned, Update, Version};
use crate::merge::unite;
use crate::timestamp::Timestamp;

/// How an edit is signed: when, by which line of edits, and above which sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    when: Option<Timestamp>,
    by: Option<By>,
    issued: Option<Sequence>,
}

impl Stamp {
    /// Signed with both, as the text recommends and as our endpoints always do.
    pub fn new(when: Timestamp, by: By) -> Self {
        Self { when: Some(when), by: Some(by), issued: None }
    }

    /// Signed with one or both (3.2 step 2.1).
    pub fn partial(when: Option<Timestamp>, by: Option<By>) -> Result<Self, Unsigned> {
        if when.is_none() && by.is_none() {
            return Err(Unsigned);
        }
        Ok(Self { when, by, issued: None })
    }

    /// The same stamp, at a sequence above everything this line ever issued for the item, whatever
    /// its histories still show (3.2 step 2.3.2, the MAY).
    #[must_use]
    pub fn above(mut self, issued: Option<Sequence>) -> Self {
        self.issued = issued;
        self
    }

    /// The same stamp, dated to another time: for a resolution that only repeats an edit of that time.
    #[must_use]
    pub fn dated(self, when: Timestamp) -> Self {
        Self { when: Some(when), ..self }
    }

    /// The line of edits it extends.
    pub fn by(&self) -> Option<&By> {
        self.by.as_ref()
    }

    /// The next update of this line (3.2 step 2): S1 is `updates`, unless the line is already there
    /// or beyond, and then the next after it.
    fn sign(&self, updates: Updates, known: Option<Sequence>) -> Result<Update, EditError> {
        let mut sequence = Sequence::from(updates);
        if self.by.is_some()
            && let Some(greatest) = known.max(self.issued)
            && sequence <= greatest
        {
            sequence = greatest.next().ok_or(EditError::SequenceSpent)?;
        }
        Update::new(sequence, self.when, self.by.clone()).map_err(EditError::from)
    }
}

/// Why an edit cannot be made; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// `updates` is at [`MAX_INCOMING_UPDATES`] or above: peers refuse more.
    #[error(
        "this item has had all {MAX_INCOMING_UPDATES} updates that other endpoints accept; copy it under a new id and \
         edit the copy"
    )]
    UpdatesSpent,
    /// `sequence` of this line of edits is at 2^31-1.
    #[error("this line of edits is spent for this item; a new line is needed")]
    SequenceSpent,
    /// The stamp has neither `when` nor `by`.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
}

/// How an item begins (3.1 steps 1.3 and 1.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Creation {
    /// `noconflicts`, for the item's whole life; absent is a third state.
    pub noconflicts: Option<bool>,
    /// Whether it is a tombstone from birth.
    pub deleted: bool,
}

/// What an update changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit<P> {
    /// The new payload, or the present one.
    pub payload: Option<P>,
    /// `true` deletes, `false` un-deletes, absent leaves it as it is (reading 13).
    pub deleted: Option<bool>,
}

impl<P> Edit<P> {
    /// A deletion that keeps the payload.
    pub fn delete() -> Self {
        Self { payload: None, deleted: Some(true) }
    }

    /// An un-deletion that brings back the payload.
    pub fn undelete() -> Self {
        Self { payload: None, deleted: Some(false) }
    }
}

impl<P> From<P> for Edit<P> {
    /// New content, deleted state as it is.
    fn from(payload: P) -> Self {
        Self { payload: Some(payload), deleted: None }
    }
}

/// The version an edit starts from: what the editor had seen.
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
    /// Conflicts whose topmost update is of the same line are folded in (step 4); endpoints that keep
    /// one line of edits to one `by` never have such a conflict (see [`crate::line`]).
    pub fn update(&mut self, stamp: &Stamp, edit: Edit<P>) -> Result<(), EditError> {
        let updates = match next_updates(self.winner.updates) {
            Err(_) if edit.deleted == Some(true) => self.winner.updates,
            updates => updates?,
        };
        self.update_at(updates, stamp, edit)?;
        self.shorten_histories();
        Ok(())
    }

    /// Updates the item, its counter given. The caller shortens the histories.
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

    /// An edit on a version that is known but not current: a version beside those that superseded
    /// it, merged in by 3.3. The stamp must be of a line that nothing outside the base belongs to.
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

    /// Merging Conflict Items (3.4): takes conflicts out and folds their histories into the winner's.
    pub(crate) fn fold_conflicts(&mut self, mut resolved: impl FnMut(&Version<P>) -> bool) {
        let (folded, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.conflicts).into_iter().partition(&mut resolved);
        self.conflicts = left;
        if !folded.is_empty() {
            self.winner.history.fold(folded.iter().map(|conflict| &conflict.history));
        }
    }
}

/// The counter of an edit on a version with this one.
pub(crate) fn next_updates(updates: Updates) -> Result<Updates, EditError> {
    updates.next().filter(|next| next.get() <= MAX_INCOMING_UPDATES).ok_or(EditError::UpdatesSpent)
}
