//! Members as an editing client creates, replaces and deletes them (RFC 5023 9), each in one transaction
//! with the check of what the client had seen (AH10).
//!
//! An edit that names a version says what it is based on. If that is the winner, it is an ordinary
//! update (AP46). If it is another version of which the item still knows, the edit is stale: refused, or
//! kept beside the winner as a conflict where the collection wishes so. What the item does not know
//! proves nothing and is refused (AP39).

use feedsync_core::{
    Base, Creation, Edit, History, Item, ItemId, Payload, Sequence, Update, Updates,
};
use feedsync_store::{
    Collection, CollectionName, Moment, Number, Snapshot, StoreExt, StoredItem, Write,
};

use crate::edit::Change;
use crate::endpoint::{Endpoint, cleaned};
use crate::error::EndpointError;

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
    /// The id that an earlier release gave the same member. Where an item has it, it stays.
    pub former: ItemId,
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
pub enum MemberEdit<R, M = Member> {
    /// It is done.
    Done(M),
    /// There was nothing to do.
    Unchanged(M),
    /// It is kept as a conflict: it started from a version that is not the winner.
    Beside(M),
    /// It started from a version that is not the winner; nothing was changed.
    Stale(M),
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
        let keys = vec![new.id.clone(), new.former.clone(), new.spare.clone()];
        let endpoint = self.clone();
        let decide = move |snapshot: &Snapshot| {
            let now = snapshot.now();
            let compose = |id: &ItemId, like| cleaned((new.compose)(id, now, like));
            let fresh = |id: &ItemId| {
                let change = Change::created(snapshot, id, Creation::default(), compose(id, None))?;
                endpoint.put(snapshot, "create", change)
            };
            let id = [&new.former, &new.id].into_iter().find(|id| snapshot.item(id).is_some());
            let id = id.unwrap_or(&new.id);
            match snapshot.item(id) {
                None => fresh(id),
                Some(stored) if stored.item.winner.deleted => {
                    let payload = Some(compose(id, None));
                    let edit = Edit { payload, deleted: Some(false) };
                    let change = Change::of_winner(snapshot, stored, &edit)?;
                    endpoint.put(snapshot, "undelete", change)
                }
                Some(stored)
                    if new.repeats || compose(id, Some(stored)) == stored.item.winner.payload =>
                {
                    Ok((Vec::new(), stored.clone()))
                }
                Some(_) => fresh(&new.spare),
            }
        };
        let (collection, stored) = self.decided(collection, keys, decide).await?;
        Ok(Member::after(collection, stored))
    }

    /// Replaces or deletes a member (3.2).
    pub async fn edit_member<R: Send + 'static>(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        guard: Guard,
        change: MemberChange<R>,
    ) -> Result<MemberEdit<R>, EndpointError> {
        let (endpoint, key) = (self.clone(), id.clone());
        let decide = move |snapshot: &Snapshot| -> Result<_, EndpointError> {
            let nothing = |edit| Ok((Vec::new(), edit));
            let Some(stored) = snapshot.item(&key) else { return nothing(MemberEdit::Missing) };
            if stored.item.winner.deleted {
                return nothing(MemberEdit::Gone);
            }
            let stale = || MemberEdit::Stale(stored.clone());
            let base = match (guard.judge)(stored) {
                Standing::Current => None,
                Standing::Known(base)
                    if guard.keep_stale && matches!(change, MemberChange::Replace(_)) =>
                {
                    Some(base)
                }
                Standing::Known(_) | Standing::Unknown => return nothing(stale()),
            };
            let payload = match &change {
                MemberChange::Delete => None,
                MemberChange::Replace(compose) => match compose(stored, snapshot.now()) {
                    Ok(Some(payload)) => Some(cleaned(payload)),
                    Ok(None) => return nothing(MemberEdit::Unchanged(stored.clone())),
                    Err(refused) => return nothing(MemberEdit::Refused(refused)),
                },
            };
            let action = if payload.is_none() { "delete" } else { "edit" };
            let Some(base) = base else {
                let deleted = payload.is_none().then_some(true);
                let change = Change::of_winner(snapshot, stored, &Edit { payload, deleted })?;
                let (writes, stored) = endpoint.put(snapshot, action, change)?;
                return Ok((writes, MemberEdit::Done(stored)));
            };
            let payload = payload.unwrap_or_else(|| stored.item.winner.payload.clone());
            match Change::beside(snapshot, stored, base, payload, false)? {
                Some(change) => {
                    let (writes, stored) = endpoint.put(snapshot, action, change)?;
                    Ok((writes, MemberEdit::Beside(stored)))
                }
                None => nothing(stale()),
            }
        };
        let (after, edit) = self.decided(collection, vec![id.clone()], decide).await?;
        Ok(edit.map(|stored| Member::after(after, stored)))
    }

    /// Carries out what a decision says, and gives back what it comes to.
    async fn decided<T: Send + 'static>(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: impl FnMut(&Snapshot) -> Result<(Vec<Write>, T), EndpointError> + Send + 'static,
    ) -> Result<(Collection, T), EndpointError> {
        let (after, decided) = self
            .store
            .decide(collection, keys, move |snapshot| match decide(snapshot) {
                Ok((writes, decided)) => (writes, Ok(decided)),
                Err(error) => (Vec::new(), Err(error)),
            })
            .await?;
        Ok((after, decided?))
    }
}

impl Member {
    /// One that was put has the collection's last number and moment.
    fn after(collection: Collection, mut stored: StoredItem) -> Self {
        if stored.number == Number::ZERO {
            (stored.number, stored.edited) = (collection.last, collection.edited);
        }
        Self { collection, stored }
    }
}

impl<R, M> MemberEdit<R, M> {
    fn map<N>(self, change: impl FnOnce(M) -> N) -> MemberEdit<R, N> {
        match self {
            Self::Done(member) => MemberEdit::Done(change(member)),
            Self::Unchanged(member) => MemberEdit::Unchanged(change(member)),
            Self::Beside(member) => MemberEdit::Beside(change(member)),
            Self::Stale(member) => MemberEdit::Stale(change(member)),
            Self::Refused(reason) => MemberEdit::Refused(reason),
            Self::Gone => MemberEdit::Gone,
            Self::Missing => MemberEdit::Missing,
        }
    }
}
