//! Members as an editing client creates, replaces and deletes them (RFC 5023 9), each in one transaction
//! with the check of what the client had seen (H10).
//!
//! An edit that names a version says what it is based on. If that is the winner, it is an ordinary
//! update (A46). If it is another version of which the item still knows, the edit is stale: refused, or
//! kept beside the winner as a conflict where the collection wishes so. What the item does not know
//! proves nothing and is refused (C-A11).

use feedsync::{Base, Creation, Edit, History, Item, ItemId, Payload, Sequence, Update, Updates};
use feedsync_store::{
    Collection, CollectionName, Moment, Number, Origin, Snapshot, StoreExt, StoredItem, Write,
};

use crate::edit::{Change, apply};
use crate::endpoint::{Endpoint, cleaned};
use crate::error::{EditFailure, EndpointError};
use crate::signature::Signature;

/// A member and the collection, both after the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The collection.
    pub collection: Collection,
    /// The item.
    pub stored: StoredItem,
}

/// Makes a new member's payload: for this id, at this moment, beside what is there.
pub type Compose = dyn Fn(&ItemId, Moment, Option<&StoredItem>) -> Payload + Send;

/// Makes a member's next payload of what is there, at this moment.
pub type Replace<R> = dyn Fn(&StoredItem, Moment) -> Result<Option<Payload>, R> + Send;

/// A member to be created.
pub struct NewMember {
    /// The id that it is to have.
    pub id: ItemId,
    /// Whether a live item of this id is this very member, created by an earlier call.
    pub repeats: bool,
    /// The id that it gets if another item has that one.
    pub spare: ItemId,
    /// Its payload under one of these ids; the moment is now. With an item, it is compared with that
    /// one, and so has the item's dates where it has none of its own.
    pub compose: Box<Compose>,
}

/// What an edit must find, or it is stale.
pub struct Guard {
    /// How the version that the editor had seen stands to the item.
    pub judge: Box<dyn Fn(&StoredItem) -> Standing + Send>,
    /// Whether a replacement that is stale is kept beside the winner.
    pub keep_stale: bool,
}

/// How a version that an editor had seen stands to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is the winner, or whatever the winner is.
    Current,
    /// The item knows of it, but it is not the winner.
    Known(Base),
    /// The item knows nothing of it.
    Unknown,
}

/// What an edit makes of a member.
pub enum MemberChange<R> {
    /// Another payload, given the item and the moment; `None` if it is what the winner holds. Or the
    /// reason why it cannot be.
    Replace(Box<Replace<R>>),
    /// A tombstone (3.2).
    Delete,
}

/// What became of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEdit<R> {
    /// It is done.
    Done(Member),
    /// There was nothing to do.
    Unchanged(Member),
    /// It is kept as a conflict: it started from a version that is not the winner.
    Beside(Member),
    /// It started from a version that is not the winner; nothing was changed.
    Stale(Member),
    /// What it asked for cannot be; nothing was changed.
    Refused(R),
    /// The item is a tombstone.
    Gone,
    /// There is no such item.
    Missing,
}

/// How the version that a test recognises by its topmost update stands to an item.
///
/// The base of a version that a conflict still holds is that version. Of one that was superseded only
/// its topmost update is certain: a history that others were folded into does not tell which of its
/// entries that version knew. So the base is that update alone, which covers its own line up to there:
/// covering too little costs a conflict, and there is one anyway; covering too much would cost an edit.
pub fn standing(item: &Item<Payload>, is_it: impl Fn(&Update) -> bool) -> Standing {
    if is_it(item.winner.dot()) {
        return Standing::Current;
    }
    if let Some(conflict) = item.conflicts.iter().find(|conflict| is_it(conflict.dot())) {
        return Standing::Known(conflict.into());
    }
    let superseded =
        item.versions().flat_map(|version| version.history.updates()).find(|update| is_it(update));
    superseded.map_or(Standing::Unknown, |update| {
        Standing::Known(Base {
            updates: updates_at(update.sequence()),
            noconflicts: item.winner.noconflicts,
            history: History::new(update.clone()),
        })
    })
}

fn updates_at(sequence: Sequence) -> Updates {
    // Both counters have the same bounds.
    Updates::new(sequence.get()).unwrap_or(Updates::FIRST)
}

impl Endpoint {
    /// Creates a member (3.1). A tombstone of its id is un-deleted (3.2); an item that was created from
    /// the same is found again; one that holds something else keeps the id.
    pub async fn create_member(
        &self,
        collection: &CollectionName,
        new: NewMember,
    ) -> Result<Member, EndpointError> {
        let keys = vec![new.id.clone(), new.spare.clone()];
        let (endpoint, name) = (self.clone(), collection.clone());
        self.decided(collection, keys, move |snapshot| {
            let now = snapshot.now();
            let compose = |id: &ItemId, like| cleaned((new.compose)(id, now, like));
            let fresh = |id: &ItemId| {
                let signature = Signature::for_edit(snapshot, id, [])?;
                let payload = compose(id, None);
                let item = Item::create(id.clone(), Creation::default(), &signature.stamp, payload)
                    .map_err(EditFailure::from)?;
                let change = Change { item, signature, created_here: true, origin: Origin::Here };
                endpoint.put(&name, "create", change).map(Decided::Put)
            };
            match snapshot.item(&new.id) {
                None => fresh(&new.id),
                Some(stored) if stored.item.winner.deleted => {
                    let payload = Some(compose(&new.id, None));
                    let edit = Edit { payload, deleted: Some(false) };
                    let change = updated(snapshot, stored, &edit)?;
                    endpoint.put(&name, "undelete", change).map(Decided::Put)
                }
                Some(stored)
                    if new.repeats
                        || compose(&new.id, Some(stored)) == stored.item.winner.payload =>
                {
                    Ok(Decided::Found(stored.clone()))
                }
                Some(_) => fresh(&new.spare),
            }
        })
        .await
    }

    /// Replaces or deletes a member (3.2).
    pub async fn edit_member<R: Send + 'static>(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        guard: Guard,
        change: MemberChange<R>,
    ) -> Result<MemberEdit<R>, EndpointError> {
        let (endpoint, name, key) = (self.clone(), collection.clone(), id.clone());
        let decide = move |snapshot: &Snapshot| -> Result<_, EndpointError> {
            let Some(stored) = snapshot.item(&key) else { return Ok(Err(MemberEdit::Missing)) };
            if stored.item.winner.deleted {
                return Ok(Err(MemberEdit::Gone));
            }
            let base = match (guard.judge)(stored) {
                Standing::Current => None,
                Standing::Known(base)
                    if guard.keep_stale && matches!(change, MemberChange::Replace(_)) =>
                {
                    Some(base)
                }
                Standing::Known(_) | Standing::Unknown => {
                    return Ok(Ok((Decided::Found(stored.clone()), Became::Stale)));
                }
            };
            let payload = match &change {
                MemberChange::Delete => None,
                MemberChange::Replace(compose) => match compose(stored, snapshot.now()) {
                    Ok(Some(payload)) => Some(cleaned(payload)),
                    Ok(None) => {
                        return Ok(Ok((Decided::Found(stored.clone()), Became::Unchanged)));
                    }
                    Err(refused) => return Ok(Err(MemberEdit::Refused(refused))),
                },
            };
            let Some(base) = base else {
                let deleted = payload.is_none().then_some(true);
                let action = if payload.is_none() { "delete" } else { "edit" };
                let change = updated(snapshot, stored, &Edit { payload, deleted })?;
                let put = endpoint.put(&name, action, change)?;
                return Ok(Ok((Decided::Put(put), Became::Done)));
            };
            let signature = Signature::for_edit(snapshot, &key, [&base.history])?;
            let payload = payload.unwrap_or_else(|| stored.item.winner.payload.clone());
            let item = stored
                .item
                .clone()
                .branch(base, &signature.stamp, payload, false)
                .map_err(EditFailure::from)?;
            // Of an item that keeps no conflicts one of the two would vanish (3.3 step 10).
            if item.noconflicts() {
                return Ok(Ok((Decided::Found(stored.clone()), Became::Stale)));
            }
            let origin = if stored.origin == Origin::Here { Origin::Here } else { Origin::Mixed };
            let created_here = stored.created_here;
            let change = Change { item, signature, created_here, origin };
            let put = endpoint.put(&name, "edit", change)?;
            Ok(Ok((Decided::Put(put), Became::Beside)))
        };
        let keys = vec![id.clone()];
        let (after, decided) = self
            .store
            .decide(collection, keys, move |snapshot| match decide(snapshot) {
                Ok(Ok((decided, became))) => {
                    let (writes, stored) = decided.parts();
                    (writes, Ok(Ok((stored, became))))
                }
                Ok(Err(edit)) => (Vec::new(), Ok(Err(edit))),
                Err(error) => (Vec::new(), Err(error)),
            })
            .await?;
        Ok(match decided? {
            Err(edit) => edit,
            Ok((stored, became)) => {
                let member = member(after, stored);
                match became {
                    Became::Done => MemberEdit::Done(member),
                    Became::Unchanged => MemberEdit::Unchanged(member),
                    Became::Beside => MemberEdit::Beside(member),
                    Became::Stale => MemberEdit::Stale(member),
                }
            }
        })
    }

    async fn decided(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: impl FnMut(&Snapshot) -> Result<Decided, EndpointError> + Send + 'static,
    ) -> Result<Member, EndpointError> {
        let (after, stored) = self
            .store
            .decide(collection, keys, move |snapshot| match decide(snapshot) {
                Ok(decided) => {
                    let (writes, stored) = decided.parts();
                    (writes, Ok(stored))
                }
                Err(error) => (Vec::new(), Err(error)),
            })
            .await?;
        Ok(member(after, stored?))
    }

    /// The writes of a change, and what they leave; its number and moment are not known yet.
    fn put(
        &self,
        collection: &CollectionName,
        action: &str,
        change: Change,
    ) -> Result<Writes, EndpointError> {
        let (created_here, origin) = (change.created_here, change.origin);
        let (mut writes, item) = change.writes()?;
        writes.extend(self.recorded(action, collection, Some(&item.id), String::new()));
        let blobs = crate::endpoint::blobs_of(&item);
        let (number, edited) = (Number::ZERO, Moment::default());
        Ok((writes, StoredItem { item, number, edited, created_here, origin, blobs }))
    }
}

type Writes = (Vec<Write>, StoredItem);

/// What a decision comes to.
enum Decided {
    Put(Writes),
    Found(StoredItem),
}

enum Became {
    Done,
    Unchanged,
    Beside,
    Stale,
}

impl Decided {
    fn parts(self) -> Writes {
        match self {
            Self::Put(writes) => writes,
            Self::Found(stored) => (Vec::new(), stored),
        }
    }
}

/// One that was put has the collection's last number and moment.
fn member(collection: Collection, mut stored: StoredItem) -> Member {
    if stored.number == Number::ZERO {
        (stored.number, stored.edited) = (collection.last, collection.edited);
    }
    Member { collection, stored }
}

/// The item after an update of its winner.
fn updated(
    snapshot: &Snapshot,
    stored: &StoredItem,
    edit: &Edit<Payload>,
) -> Result<Change, EndpointError> {
    let mut item = stored.item.clone();
    let signature = Signature::for_edit(snapshot, &item.id, [&stored.item.winner.history])?;
    let signature = apply(snapshot, &mut item, signature, |item, signature| {
        item.update(&signature.stamp, edit.clone())
    })?;
    let is_ours = item.conflicts.is_empty() || stored.origin == Origin::Here;
    let origin = if is_ours { Origin::Here } else { Origin::Mixed };
    Ok(Change { item, signature, created_here: stored.created_here, origin })
}
