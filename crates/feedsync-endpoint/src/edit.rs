//! Local edits: add, update, delete, un-delete, resolve (3.1, 3.2, 3.4). What a server owns in an
//! entry is never signed.

use feedsync::{
    Base, Creation, Edit, EditError, Item, ItemId, Keep, Payload, Resolution, ResolveError,
    check_conflicts,
};
use feedsync_formats::truncate;
use feedsync_store::{
    Collection, CollectionName, Entry, Origin, Put, Snapshot, StoreExt, StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of, check_bytes, cleaned};
use crate::error::{EditFailure, EndpointError};
use crate::signature::Signature;

/// What an edit left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The collection after it.
    pub collection: Collection,
    /// The item after it.
    pub item: Item<Payload>,
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
        self.decide_edit(collection, id.clone(), "create", move |snapshot, entry| {
            if entry.item.is_some() {
                return Err(EndpointError::ItemExists { collection: name.clone(), id: id.clone() });
            }
            let signature = Signature::for_edit(snapshot, &id, [])?;
            let item = Item::create(id.clone(), creation, &signature.stamp, payload.clone())
                .map_err(EditFailure::from)?;
            Ok(Change { item, signature, created_here: true, origin: Origin::Here })
        })
        .await
    }

    /// Updates, deletes or un-deletes an item (3.2), starting from the version that the editor had
    /// seen. If that is no longer the winner, the edit is kept as a conflict beside it. Without a
    /// base it starts from the winner.
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
            let mut item = stored.item.clone();
            let Some(base) = stale else {
                let signature = Signature::for_edit(snapshot, &item.id, [&winner.history])?;
                let signature = apply(snapshot, &mut item, signature, |item, signature| {
                    item.update(&signature.stamp, edit.clone())
                })?;
                return Ok((item, signature));
            };
            let payload = edit.payload.clone().unwrap_or_else(|| winner.payload.clone());
            let deleted = edit.deleted.unwrap_or(false);
            let signature = Signature::for_edit(snapshot, &item.id, [&base.history])?;
            let item =
                item.branch(base, &signature.stamp, payload, deleted).map_err(EditFailure::from)?;
            // Of an item that keeps no conflicts, the loser vanishes (3.3 step 10).
            if item.winner.dot().is_same(winner.dot()) && item.noconflicts() {
                return Err(EditFailure::Nothing(
                    "somebody changed the item meanwhile, and it keeps no conflicts",
                )
                .into());
            }
            Ok((item, signature))
        })
        .await
    }

    /// Deletes an item and drops its data: the deletion carries what its format needs and no more, all
    /// histories stay (3.2, the second MAY; R-F16). Refused while conflicts are open: what was dropped
    /// could be what somebody would have chosen.
    pub async fn delete_truncated(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Edited, EndpointError> {
        self.change(collection, id, "delete", |snapshot, stored| {
            let mut item = stored.item.clone();
            if !item.conflicts.is_empty() {
                return Err(
                    EditFailure::Nothing("resolve its conflicts before you drop its data").into()
                );
            }
            let edit = Edit { payload: Some(truncate(&item.winner.payload)), deleted: Some(true) };
            let signature = Signature::for_edit(snapshot, &stored.item.id, [&item.winner.history])?;
            let signature = apply(snapshot, &mut item, signature, |item, signature| {
                item.update(&signature.stamp, edit.clone())
            })?;
            Ok((item, signature))
        })
        .await
    }

    /// Resolves conflicts (3.4). The places of the conflicts are those of the item that the resolver
    /// saw: `seen` are its versions' topmost updates, winner first, and if the item has changed since,
    /// nothing is done.
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
            let mut item = stored.item.clone();
            let same = item.versions().count() == seen.versions().count()
                && item.versions().zip(seen.versions()).all(|(now, then)| now.dot() == then.dot());
            if !same {
                return Err(EditFailure::Nothing("the item has changed since you saw it").into());
            }
            if item.conflicts.is_empty() {
                return Err(EditFailure::Nothing("the item has no conflicts").into());
            }
            let weighed = item.weighed(&resolution).map_err(EditFailure::from)?;
            let folded: Vec<_> =
                weighed.iter().map(|&index| item.conflicts[index].history.clone()).collect();
            let base = std::iter::once(&item.winner.history).chain(&folded);
            let signature = Signature::for_edit(snapshot, &item.id, base)?;
            let signature = apply(snapshot, &mut item, signature, |item, signature| {
                item.resolve(&signature.stamp, resolution.clone())
            })?;
            folded.iter().for_each(|history| item.winner.history.remember(history));
            Ok((item, signature))
        })
        .await
    }

    async fn change(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        action: &str,
        mut change: impl FnMut(
            &Snapshot,
            &StoredItem,
        ) -> Result<(Item<Payload>, Signature), EndpointError>
        + Send
        + 'static,
    ) -> Result<Edited, EndpointError> {
        let (name, key) = (collection.clone(), id.clone());
        self.decide_edit(collection, id.clone(), action, move |snapshot, entry| {
            let stored = entry.item.as_ref().ok_or_else(|| EndpointError::NoItem {
                collection: name.clone(),
                id: key.clone(),
            })?;
            let (item, signature) = change(snapshot, stored)?;
            let origin = if item.conflicts.is_empty() || stored.origin == Origin::Here {
                Origin::Here
            } else {
                Origin::Mixed
            };
            Ok(Change { item, signature, created_here: stored.created_here, origin })
        })
        .await
    }

    async fn decide_edit(
        &self,
        collection: &CollectionName,
        id: ItemId,
        action: &str,
        mut decide: impl FnMut(&Snapshot, &Entry) -> Result<Change, EndpointError> + Send + 'static,
    ) -> Result<Edited, EndpointError> {
        let key = id.clone();
        let recorded = self.recorded(action, collection, Some(&id), String::new());
        let (collection, item) = self
            .store
            .decide(collection, vec![id], move |snapshot| {
                let entry = snapshot.entry(&key).cloned().unwrap_or_default();
                match decide(snapshot, &entry).and_then(Change::writes) {
                    Ok((mut writes, item)) => {
                        writes.extend(recorded.clone());
                        (writes, Ok(item))
                    }
                    Err(error) => (Vec::new(), Err(error)),
                }
            })
            .await?;
        Ok(Edited { collection, item: item? })
    }
}

/// An edited item on its way into the store.
pub(crate) struct Change {
    pub(crate) item: Item<Payload>,
    pub(crate) signature: Signature,
    pub(crate) created_here: bool,
    pub(crate) origin: Origin,
}

impl Change {
    pub(crate) fn writes(self) -> Result<(Vec<Write>, Item<Payload>), EndpointError> {
        check_conflicts(&self.item).map_err(EditFailure::from)?;
        check_bytes(&self.item).map_err(EditFailure::from)?;
        let mut writes = Vec::with_capacity(2);
        writes.extend(self.signature.issue(&self.item));
        writes.push(Write::Put(Put {
            blobs: blobs_of(&self.item),
            item: self.item.clone(),
            created_here: self.created_here,
            origin: self.origin,
        }));
        Ok((writes, self.item))
    }
}

/// Applies an edit; where its line is spent for this item, with a fresh line.
pub(crate) fn apply<E>(
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
            EditFailure::Edit(EditError::SequenceSpent)
            | EditFailure::Resolve(ResolveError::Edit(EditError::SequenceSpent)),
        ) => {
            let fresh = Signature::fresh(snapshot)?;
            edit(item, &fresh).map_err(EditFailure::from)?;
            Ok(fresh)
        }
        Err(failure) => Err(failure.into()),
    }
}
