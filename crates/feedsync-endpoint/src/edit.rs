//! Local edits: add, update, delete, un-delete, resolve (3.1, 3.2, 3.4). The parts of an entry that a server
//! owns are never signed.

use feedsync_core::{
    Base, Creation, Edit, EditError, Item, ItemId, Keep, Payload, Resolution, ResolveError, Stamp,
    Timestamp, Version, bounded,
};
use feedsync_formats::{truncate, with_entry_id};
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, ItemStoreExt, Moment, Origin, Put, Snapshot,
    StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of, cleaned};
use crate::error::{EditFailure, EndpointError};
use crate::signature::Signature;

/// Result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The collection after the edit.
    pub collection: Collection,
    /// The item after the edit.
    pub item: Item<Payload>,
    /// Effect of the edit.
    pub outcome: EditOutcome,
}

/// Effect of an edit. FeedSync's rule chooses which of several versions is shown (3.3 step 7): the one with more
/// updates, then the later one by the clocks of its authors, and not the edit that arrived last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditOutcome {
    /// The edit replaced the version that its author had seen. The item shows it.
    Applied,
    /// The item already was as the edit would make it; nothing was changed.
    Unchanged,
    /// The item had changed since its author had seen it. Both versions are kept as a conflict, and the item shows
    /// the edit.
    ConflictShown,
    /// The item had changed since its author had seen it. Both versions are kept as a conflict, and the item shows
    /// another version than the edit.
    ConflictHidden,
}

impl EditOutcome {
    /// Whether the edit is kept beside a version that its author had not seen.
    pub const fn is_conflict(self) -> bool {
        matches!(self, Self::ConflictShown | Self::ConflictHidden)
    }
}

impl Endpoint {
    /// Adds an item (3.1).
    pub async fn add(
        &self,
        collection: &CollectionName,
        id: ItemId,
        creation: Creation,
        payload: Payload,
    ) -> Result<Edited, EndpointError> {
        let (name, payload) = (collection.clone(), cleaned(payload));
        self.decide_edit(collection, id.clone(), "create", move |snapshot| {
            if snapshot.item(&id).is_some() {
                return Err(EndpointError::ItemExists { collection: name.clone(), id: id.clone() });
            }
            Change::created(snapshot, &id, creation, payload.clone()).map(Decision::Change)
        })
        .await
    }

    /// Copies an item's winner under a new id, with a new history. This allows further edits of an item that
    /// has used up its updates. The copy does not keep the name in the item's content (an Atom id, a `guid`).
    pub async fn copy(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Edited, EndpointError> {
        let winner = self.item(collection, id).await?.item.winner;
        let new = self.new_id();
        let payload = with_entry_id(&winner.payload, &format!("urn:uuid:{new}"));
        let creation = Creation { noconflicts: winner.noconflicts, deleted: false };
        self.add(collection, new, creation, payload).await
    }

    /// Updates, deletes or un-deletes an item (3.2), starting from the version that the editor had seen. If
    /// that version is no longer the winner, the edit is kept as a conflict beside it. Without a base the
    /// edit starts from the winner. An edit that an earlier one has already made changes nothing.
    pub async fn edit(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        base: Option<Base>,
        edit: Edit<Payload>,
    ) -> Result<Edited, EndpointError> {
        let edit = Edit { payload: edit.payload.map(cleaned), ..edit };
        let action = match edit.deleted {
            Some(true) => "delete",
            Some(false) => "undelete",
            None => "edit",
        };
        self.change(collection, id, action, move |snapshot, stored| {
            let winner = &stored.item.winner;
            let stale = base.clone().filter(|base| !base.history.topmost().is_same(winner.dot()));
            if let Some(outcome) = made_before(&stored.item, stale.as_ref(), &edit) {
                return Ok(Decision::Unchanged(stored.item.clone(), outcome));
            }
            let Some(base) = stale else {
                return Change::of_winner(snapshot, stored, &edit).map(Decision::Change);
            };
            let payload = edit.payload.clone().unwrap_or_else(|| winner.payload.clone());
            let deleted = edit.deleted.unwrap_or(false);
            let beside = Change::beside(snapshot, stored, base, payload, deleted)?;
            beside.map(Decision::Change).ok_or_else(|| {
                let nothing =
                    "the item was changed in the meantime, and it does not keep conflicts";
                EditFailure::Nothing(nothing).into()
            })
        })
        .await
    }

    /// Deletes an item and drops its data. The deletion carries only what its format requires, and all
    /// histories stay (3.2, the second MAY; R-F16). It is refused while conflicts are open, since the dropped
    /// version could be the one that a person would choose.
    pub async fn delete_truncated(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Edited, EndpointError> {
        self.change(collection, id, "delete", |snapshot, stored| {
            if !stored.item.conflicts.is_empty() {
                return Err(EditFailure::Nothing(
                    "the item has conflicts: resolve them before you drop its data",
                )
                .into());
            }
            let payload = Some(truncate(&stored.item.winner.payload));
            let edit = Edit { payload, deleted: Some(true) };
            Change::of_winner(snapshot, stored, &edit).map(Decision::Change)
        })
        .await
    }

    /// Resolves conflicts (3.4). Indexes of conflicts refer to the item that the resolver saw: `seen` holds
    /// its versions' topmost updates, winner first. If the item has changed since, nothing is done.
    pub async fn resolve(
        &self,
        collection: &CollectionName,
        seen: &Item<Payload>,
        mut resolution: Resolution<Payload>,
    ) -> Result<Edited, EndpointError> {
        if let Keep::Content { payload, .. } = &mut resolution.keep {
            *payload = cleaned(payload.clone());
        }
        let seen = seen.clone();
        self.change(collection, &seen.id.clone(), "resolve", move |snapshot, stored| {
            let item = &stored.item;
            let same = item.versions().count() == seen.versions().count()
                && item.versions().zip(seen.versions()).all(|(now, then)| now.dot() == then.dot());
            if !same {
                return Err(EditFailure::Nothing("the item has changed since you saw it").into());
            }
            if item.conflicts.is_empty() {
                return Err(EditFailure::Nothing("the item has no conflicts").into());
            }
            let (item, signature) = resolved(snapshot, item, &resolution, None)?;
            Ok(Decision::Change(Change::of(stored, item, signature)))
        })
        .await
    }

    async fn change(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        action: &'static str,
        mut change: impl FnMut(&Snapshot, &StoredItem) -> Result<Decision, EndpointError>
        + Send
        + 'static,
    ) -> Result<Edited, EndpointError> {
        let (name, key) = (collection.clone(), id.clone());
        self.decide_edit(collection, id.clone(), action, move |snapshot| {
            match snapshot.item(&key) {
                Some(stored) => change(snapshot, stored),
                None => Err(EndpointError::NoItem { collection: name.clone(), id: key.clone() }),
            }
        })
        .await
    }

    async fn decide_edit(
        &self,
        collection: &CollectionName,
        id: ItemId,
        action: &'static str,
        mut decide: impl FnMut(&Snapshot) -> Result<Decision, EndpointError> + Send + 'static,
    ) -> Result<Edited, EndpointError> {
        let endpoint = self.clone();
        let (collection, edited) = self
            .store
            .decide(collection, vec![id], move |snapshot| {
                let decided = decide(snapshot).and_then(|decision| match decision {
                    Decision::Unchanged(item, outcome) => Ok((Vec::new(), (item, outcome))),
                    Decision::Change(change) => {
                        let outcome = change.outcome;
                        let (writes, stored) = endpoint.put(snapshot, action, change)?;
                        Ok((writes, (stored.item, outcome)))
                    }
                });
                match decided {
                    Ok((writes, edited)) => (writes, Ok(edited)),
                    Err(error) => (Vec::new(), Err(error)),
                }
            })
            .await?;
        let (item, outcome) = edited?;
        Ok(Edited { collection, item, outcome })
    }

    /// Returns the writes of a change, and the resulting item, whose number and moment are not known yet.
    pub(crate) fn put(
        &self,
        snapshot: &Snapshot,
        action: &str,
        change: Change,
    ) -> Result<(Vec<Write>, StoredItem), EndpointError> {
        let Change { item, signature, created_here, origin, .. } = change;
        let before = snapshot.item(&item.id).map(|stored| &stored.item);
        let item = bounded(item, before).map_err(EditFailure::from)?;
        let blobs = blobs_of(&item);
        let mut writes = Vec::with_capacity(3);
        writes.extend(signature.issue(&item));
        let put = Put { item: item.clone(), created_here, origin, blobs: blobs.clone() };
        writes.push(Write::Put(put));
        self.check_limits(snapshot, &writes)?;
        let name = &snapshot.collection().name;
        writes.extend(self.audit_entry(action, name, Some(&item.id), String::new()));
        let (number, edited) = (ChangeNumber::ZERO, Moment::default());
        Ok((writes, StoredItem { item, number, edited, created_here, origin, blobs }))
    }
}

/// Returns the outcome of an edit that an earlier one has made, so that it changes nothing: a form that was sent
/// twice, a repeated deletion, or the same edit by two people. `stale` is the base of an edit whose base is not
/// the winner. Such an edit was made if a version that knows its base has the content, or is deleted as it says.
fn made_before(
    item: &Item<Payload>,
    stale: Option<&Base>,
    edit: &Edit<Payload>,
) -> Option<EditOutcome> {
    let deletes = edit.deleted == Some(true);
    let winner = &item.winner;
    let Some(base) = stale else {
        let is_same = edit.payload.is_none() && edit.deleted == Some(winner.deleted);
        return is_same.then_some(EditOutcome::Unchanged);
    };
    let is_made = |version: &Version<Payload>| {
        let is_same = edit.payload.as_ref() == Some(&version.payload) || deletes;
        let knows_base = version.history.covers(base.history.topmost());
        is_same && version.deleted == deletes && knows_base
    };
    if is_made(winner) || (deletes && winner.deleted) {
        return Some(EditOutcome::Unchanged);
    }
    item.conflicts.iter().any(is_made).then_some(EditOutcome::ConflictHidden)
}

/// The result of deciding on an edit.
enum Decision {
    Change(Change),
    /// Nothing is to be stored, since the item is as the edit would make it.
    Unchanged(Item<Payload>, EditOutcome),
}

/// An edited item that is about to be stored.
pub(crate) struct Change {
    item: Item<Payload>,
    signature: Signature,
    created_here: bool,
    origin: Origin,
    outcome: EditOutcome,
}

impl Change {
    /// A new item (3.1).
    pub(crate) fn created(
        snapshot: &Snapshot,
        id: &ItemId,
        creation: Creation,
        payload: Payload,
    ) -> Result<Self, EndpointError> {
        let signature = Signature::for_edit(snapshot, id, [])?;
        let item = Item::create(id.clone(), creation, &signature.stamp, payload)
            .map_err(EditFailure::from)?;
        let (origin, outcome) = (Origin::Here, EditOutcome::Applied);
        Ok(Self { item, signature, created_here: true, origin, outcome })
    }

    /// Returns the change of a stored item. Without conflicts the item counts as made here, whatever version
    /// it follows.
    fn of(stored: &StoredItem, item: Item<Payload>, signature: Signature) -> Self {
        let is_ours = item.conflicts.is_empty() || stored.origin == Origin::Here;
        let origin = if is_ours { Origin::Here } else { Origin::Mixed };
        let (created_here, outcome) = (stored.created_here, EditOutcome::Applied);
        Self { item, signature, created_here, origin, outcome }
    }

    /// An update of the winner (3.2).
    pub(crate) fn of_winner(
        snapshot: &Snapshot,
        stored: &StoredItem,
        edit: &Edit<Payload>,
    ) -> Result<Self, EndpointError> {
        let mut item = stored.item.clone();
        let signature = Signature::for_edit(snapshot, &item.id, [&stored.item.winner.history])?;
        let signature = apply(snapshot, &mut item, signature, |item, signature| {
            item.update(&signature.stamp, edit.clone())
        })?;
        Ok(Self::of(stored, item, signature))
    }

    /// Returns an edit of a version that is not the winner, to be kept beside the winner. `None` for an item
    /// that keeps no conflicts, since one of the two versions would be lost (3.3 step 10).
    pub(crate) fn beside(
        snapshot: &Snapshot,
        stored: &StoredItem,
        base: Base,
        payload: Payload,
        deleted: bool,
    ) -> Result<Option<Self>, EndpointError> {
        let item = stored.item.clone();
        let signature = Signature::for_edit(snapshot, &item.id, [&base.history])?;
        let item =
            item.branch(base, &signature.stamp, payload, deleted).map_err(EditFailure::from)?;
        let keeps = !item.noconflicts();
        let outcome = match item.winner.dot().by() == Some(&signature.by) {
            true => EditOutcome::ConflictShown,
            false => EditOutcome::ConflictHidden,
        };
        Ok(keeps.then(|| Self { outcome, ..Self::of(stored, item, signature) }))
    }
}

/// Resolves conflicts of an item (3.4), with the current time or a given one.
pub(crate) fn resolved(
    snapshot: &Snapshot,
    item: &Item<Payload>,
    resolution: &Resolution<Payload>,
    when: Option<Timestamp>,
) -> Result<(Item<Payload>, Signature), EndpointError> {
    let mut item = item.clone();
    let resolved_indices = item.resolved_indices(resolution).map_err(EditFailure::from)?;
    let folded: Vec<_> =
        resolved_indices.iter().map(|&index| item.conflicts[index].history.clone()).collect();
    let base = std::iter::once(&item.winner.history).chain(&folded);
    let signature = Signature::for_edit(snapshot, &item.id, base)?;
    let signature = apply(snapshot, &mut item, signature, |item, signature| {
        let stamp = signature.stamp.clone();
        let stamp = when.into_iter().fold(stamp, Stamp::dated);
        item.resolve(&stamp, resolution.clone())
    })?;
    folded.iter().for_each(|history| item.winner.history.remember(history));
    Ok((item, signature))
}

/// Applies an edit. If its authoring line is used up for this item, a fresh line is taken.
fn apply<E>(
    snapshot: &Snapshot,
    item: &mut Item<Payload>,
    signature: Signature,
    edit: impl Fn(&mut Item<Payload>, &Signature) -> Result<(), E>,
) -> Result<Signature, EndpointError>
where
    EditFailure: From<E>,
{
    match edit(item, &signature).map_err(EditFailure::from) {
        Ok(()) => Ok(signature),
        Err(
            EditFailure::Edit(EditError::SequenceExhausted)
            | EditFailure::Resolve(ResolveError::Edit(EditError::SequenceExhausted)),
        ) => {
            let fresh = Signature::fresh(snapshot)?;
            edit(item, &fresh).map_err(EditFailure::from)?;
            Ok(fresh)
        }
        Err(failure) => Err(failure.into()),
    }
}
