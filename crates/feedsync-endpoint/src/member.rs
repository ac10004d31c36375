//! Members that an editing client creates, replaces and deletes (RFC 5023 9). Each edit is made in one
//! transaction with the check of the version that the client had seen (AH10).
//!
//! An edit that names a version states its base. If that version is the winner, the edit is an ordinary
//! update (AP46). If it is another version that the item knows, the edit is stale. A stale edit is refused,
//! or kept beside the winner as a conflict where the collection is set so. A version that the item does not
//! know proves nothing, and the edit is refused (AP39).

use feedsync_core::{
    Base, Creation, Edit, History, Item, ItemId, Payload, Sequence, Update, Updates,
};
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, ItemStoreExt, Moment, Snapshot, StoredItem, Write,
};

use crate::edit::Change;
use crate::endpoint::{Endpoint, cleaned};
use crate::error::EndpointError;

/// A member and its collection, both after the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The collection.
    pub collection: Collection,
    /// The item.
    pub stored: StoredItem,
}

/// Makes a new member's payload for an id at a moment. If an item is given, the payload is to be compared
/// with it.
pub type Compose = dyn Fn(&ItemId, Moment, Option<&StoredItem>) -> Payload + Send;

/// Makes a member's next payload from the stored item, at a moment.
pub type Replace<R> = dyn Fn(&StoredItem, Moment) -> Result<Option<Payload>, R> + Send;

/// A member to be created.
pub struct NewMember {
    /// The requested id.
    pub id: ItemId,
    /// The id that an earlier release gave the same member. An item that has this id keeps it.
    pub former: ItemId,
    /// Whether a live item of this id is the same member, created by an earlier call.
    pub repeats: bool,
    /// The id to use if another item has the requested one.
    pub spare: ItemId,
    /// Makes the payload under one of these ids at the current moment. If an item is given, the payload is
    /// compared with it. Such a payload takes the item's dates where it has none of its own.
    pub compose: Box<Compose>,
}

/// Precondition of an edit; an edit that fails it is stale.
pub struct Guard {
    /// Relation of the version that the editor had seen to the item.
    pub judge: Box<dyn Fn(&StoredItem) -> BaseStatus + Send>,
    /// Whether a stale replacement is kept beside the winner.
    pub keep_stale: bool,
}

/// Relation of a version that an editor had seen to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseStatus {
    /// It is the winner, or the edit applies to any winner.
    Current,
    /// The item knows the version, but it is not the winner.
    Known(Base),
    /// The item does not know the version.
    Unknown,
}

/// Change of a member by an edit.
pub enum MemberChange<R> {
    /// Replaces the payload. The function gets the item and the moment, and returns `None` if the winner
    /// already has this payload, or the reason why it is refused.
    Replace(Box<Replace<R>>),
    /// Makes the member a tombstone (3.2).
    Delete,
}

/// Outcome of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEdit<R, M = Member> {
    /// The edit was made.
    Done(M),
    /// The edit would not have changed anything.
    Unchanged(M),
    /// The edit is kept as a conflict: it started from a version that is not the winner.
    Beside(M),
    /// The edit started from a version that is not the winner; nothing was changed.
    Stale(M),
    /// The edit was refused; nothing was changed.
    Refused(R),
    /// The item is a tombstone.
    Gone,
    /// The item does not exist.
    Missing,
}

/// Returns the relation to an item of the version whose topmost update satisfies a test.
///
/// For a version that is still a conflict, the base is that version. For one that was superseded, only its
/// topmost update is certain. A merged history does not show which of its entries that version knew. So the
/// base is that update alone, which covers its own authoring line up to there. A base that covers too little
/// costs a conflict, which there is anyway. A base that covers too much would lose an edit.
pub fn base_status(item: &Item<Payload>, is_it: impl Fn(&Update) -> bool) -> BaseStatus {
    if is_it(item.winner.dot()) {
        return BaseStatus::Current;
    }
    if let Some(conflict) = item.conflicts.iter().find(|conflict| is_it(conflict.dot())) {
        return BaseStatus::Known(conflict.into());
    }
    let superseded =
        item.versions().flat_map(|version| version.history.updates()).find(|update| is_it(update));
    superseded.map_or(BaseStatus::Unknown, |update| {
        BaseStatus::Known(Base {
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
    /// Creates a member (3.1). A tombstone of its id is un-deleted (3.2). An item that was created from the
    /// same member is returned as it is. If another item has the id, the member gets the spare one.
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
                BaseStatus::Current => None,
                BaseStatus::Known(base)
                    if guard.keep_stale && matches!(change, MemberChange::Replace(_)) =>
                {
                    Some(base)
                }
                BaseStatus::Known(_) | BaseStatus::Unknown => return nothing(stale()),
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

    /// Executes the writes of a decision, and returns its result.
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
    /// Sets the number and moment of a member that was just written to the collection's last ones.
    fn after(collection: Collection, mut stored: StoredItem) -> Self {
        if stored.number == ChangeNumber::ZERO {
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
