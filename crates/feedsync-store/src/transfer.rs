//! Moving a whole store into another one, of whatever kind.

use async_trait::async_trait;
use feedsync::{By, ItemId, Update};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::contract::Store;
use crate::error::StoreError;
use crate::identity::{Identity, Issued};
use crate::log::{Keyed, Log, LogPlace};
use crate::name::CollectionName;
use crate::order::{Moment, Number};
use crate::people::{ActSelection, Grant, GrantsOf, Recorded, Token, User};
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, PageLimit, StoredItem};

/// So much is moved at once.
const AT_ONCE: usize = 200;

/// So many bytes of a log are.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Why a store is not moved.
const WRITTEN_TO: StoreError = StoreError::Transfer(
    "somebody wrote to it meanwhile; throw the new store away, stop the hub, and try again",
);

/// What a store can show and take in beyond its contract, so that it can be moved.
#[async_trait]
pub trait Transfer: Store {
    /// Up to where it has given out what it never gives out twice.
    async fn marks(&self) -> Result<Marks, StoreError>;

    /// Whether it keeps databases of documents.
    async fn has_databases(&self) -> Result<bool, StoreError>;

    /// The ledger, ascending by item, after an item; so many items at most.
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError>;

    /// The vectors of a collection's purged items, ascending by item, after an item.
    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError>;

    /// The appends of a collection's log that are known by their keys, oldest first.
    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<Keyed>, StoreError>;

    /// The blobs that are here, ascending, after one.
    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError>;

    /// Takes in a part of another store as it is. Only a store that nobody uses yet may be asked. From
    /// [`Part::Begin`] to [`Part::End`] nobody else can open it, and whoever is killed between them leaves
    /// it so: [`StoreError::Unfinished`].
    async fn load(&self, part: Part) -> Result<(), StoreError>;
}

/// Up to where a store has given out what it never gives out twice, also where nothing is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The next remote's: items tell by it where they came from, and how far they went.
    pub next_remote: RemoteId,
    /// The next place in a recoverable list.
    pub next_discarded: DiscardedId,
    /// When the latest epoch of any collection, dropped or not, began.
    pub last_epoch: Option<Moment>,
    /// The greatest number of a generation of logs that went with their collections.
    pub last_dropped_generation: u64,
}

/// A part of a store that is moved.
#[derive(Debug, Clone)]
pub enum Part {
    /// The first part.
    Begin {
        /// Incarnations of before, oldest first: own, retired.
        retired: Vec<By>,
        /// What comes after is given out from here on.
        marks: Marks,
    },
    /// Rows of the ledger.
    Ledger(Vec<(ItemId, Vec<Issued>)>),
    /// A collection without what it holds, in a new epoch, later than its own.
    Collection(Collection),
    /// Items of a collection, under their numbers.
    Items(CollectionName, Vec<StoredItem>),
    /// Vectors of purged items.
    Purged(CollectionName, Vec<(ItemId, Vec<Update>)>),
    /// The recoverable lists of a collection, places and all.
    Discarded(Vec<Discarded>),
    /// The log of a collection, one that was removed too, without its bytes: it begins a new generation.
    Log(CollectionName, MovedLog),
    /// What its last generation held, piece by piece.
    LogBytes(CollectionName, Vec<u8>),
    /// Remotes, ids and state too: items name them.
    Remotes(Vec<Remote>),
    /// The record, oldest first, under new places.
    Acts(Vec<Recorded>),
    /// The last part: the store is whole.
    End,
}

/// A log that is moved.
#[derive(Debug, Clone)]
pub struct MovedLog {
    /// As it stood.
    pub log: Log,
    /// Appends that are known by their keys, oldest first.
    pub keys: Vec<Keyed>,
    /// The bytes of its snapshot.
    pub snapshot: Option<Vec<u8>>,
}

/// What has been moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Collections.
    pub collections: u64,
    /// Items, tombstones too.
    pub items: u64,
    /// Items of which only the vector is kept, since they were purged.
    pub purged: u64,
    /// Items of the recoverable lists.
    pub discarded: u64,
    /// Items that this endpoint has signed.
    pub signed: u64,
    /// Logs, also those that were removed.
    pub logs: u64,
    /// Remotes.
    pub remotes: u64,
    /// Blobs.
    pub blobs: u64,
    /// Users.
    pub users: u64,
    /// Tokens of users.
    pub tokens: u64,
    /// Acts of the record.
    pub acts: u64,
}

/// Moves everything into an empty store that was founded with the same name: identity, ledger,
/// collections with items, histories, origins, purged vectors, recoverable lists, logs and settings, remotes
/// with their state, blobs, users, roles, tokens and the record. `progress` is told after each part.
///
/// What is moved goes on as a new incarnation in new epochs, as a restored backup does. If this ends
/// with an error, or not at all, the new store is to be thrown away, and cannot be opened; what was written to
/// the old one meanwhile is such an error. The old one must not be used any more afterwards.
pub async fn transfer(
    from: &dyn Transfer,
    to: &dyn Transfer,
    progress: &(dyn Fn(&Moved) + Send + Sync),
) -> Result<Moved, StoreError> {
    let before = state(from).await?;
    if from.has_databases().await? || to.has_databases().await? {
        return Err(StoreError::Transfer(
            "databases of documents cannot be moved yet: replicate them",
        ));
    }
    if !to.collections().await?.is_empty() || !to.users().await?.is_empty() {
        return Err(StoreError::Transfer("the store to move into is not empty"));
    }
    let identity = &before.identity;
    if to.identity().await?.name != identity.name {
        return Err(StoreError::Transfer("the store to move into has another endpoint's name"));
    }
    let retired = identity.retired.iter().chain([&identity.by]).cloned().collect();
    to.load(Part::Begin { retired, marks: before.marks }).await?;
    let mut run = Run { from, to, moved: Moved::default(), progress };
    run.ledger().await?;
    for collection in &before.collections {
        run.collection(collection).await?;
    }
    run.moved.remotes = before.remotes.len() as u64;
    to.load(Part::Remotes(before.remotes.clone())).await?;
    run.blobs().await?;
    run.people().await?;
    if state(from).await? != before {
        return Err(WRITTEN_TO);
    }
    to.load(Part::End).await?;
    Ok(run.moved)
}

/// What shows that somebody wrote to a store.
#[derive(PartialEq, Eq)]
struct State {
    identity: Identity,
    marks: Marks,
    collections: Vec<Collection>,
    logs: Vec<Option<Log>>,
    remotes: Vec<Remote>,
    users: Vec<User>,
    tokens: Vec<Token>,
    grants: Vec<Grant>,
    last_act: Vec<Recorded>,
}

async fn state(store: &dyn Transfer) -> Result<State, StoreError> {
    let users = store.users().await?;
    let (mut tokens, mut grants) = (Vec::new(), Vec::new());
    for user in &users {
        tokens.extend(store.tokens(&user.name).await?);
        grants.extend(store.grants(GrantsOf::User(&user.name)).await?);
    }
    // Sent marks come and go with every reader, and are no change; they are moved as they are seen first.
    let collections = store.collections().await?;
    let mut logs = Vec::new();
    for collection in &collections {
        logs.push(store.log(&collection.name).await?);
    }
    Ok(State {
        identity: store.identity().await?,
        marks: store.marks().await?,
        collections: collections.iter().map(Collection::unsent).collect(),
        logs,
        remotes: store.remotes(None).await?,
        users,
        tokens,
        grants,
        last_act: store.acts(ActSelection { limit: 1, ..Default::default() }).await?,
    })
}

/// A store that is being moved.
struct Run<'a> {
    from: &'a dyn Transfer,
    to: &'a dyn Transfer,
    moved: Moved,
    progress: &'a (dyn Fn(&Moved) + Send + Sync),
}

impl Run<'_> {
    fn tell(&self) {
        (self.progress)(&self.moved);
    }

    async fn ledger(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let rows = self.from.ledger(after.as_ref(), AT_ONCE).await?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = Some(last.clone());
            self.moved.signed += rows.len() as u64;
            self.to.load(Part::Ledger(rows)).await?;
            self.tell();
        }
    }

    async fn collection(&mut self, seen: &Collection) -> Result<(), StoreError> {
        let name = &seen.name;
        let now = self.from.collection(name).await?;
        let collection = now.ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        self.to.load(Part::Collection(collection)).await?;
        let mut through = Number::ZERO;
        loop {
            let page = self.from.changes(name, through, None, PageLimit::items(AT_ONCE)).await?;
            through = page.through;
            self.moved.items += page.items.len() as u64;
            self.to.load(Part::Items(name.clone(), page.items)).await?;
            self.tell();
            if !page.more {
                break;
            }
        }
        let mut after = None;
        loop {
            let rows = self.from.purged(name, after.as_ref(), AT_ONCE).await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            self.moved.purged += rows.len() as u64;
            self.to.load(Part::Purged(name.clone(), rows)).await?;
        }
        let discarded = self.from.discarded(name).await?;
        self.moved.discarded += discarded.len() as u64;
        self.to.load(Part::Discarded(discarded)).await?;
        self.log(name).await?;
        self.moved.collections += 1;
        Ok(())
    }

    async fn log(&mut self, name: &CollectionName) -> Result<(), StoreError> {
        let Some(log) = self.from.log(name).await? else { return Ok(()) };
        let (LogPlace { generation, length }, removed) = (log.place, log.removed);
        let keys = self.from.log_keys(name).await?;
        let snapshot = self.from.log_snapshot(name).await?.map(|(_, bytes)| bytes);
        self.to.load(Part::Log(name.clone(), MovedLog { log, keys, snapshot })).await?;
        let mut moved = 0;
        while !removed && moved < length {
            let piece = self.from.read_log(name, generation, moved, BYTES_AT_ONCE).await?;
            let piece = piece.filter(|piece| !piece.is_empty()).ok_or(WRITTEN_TO)?;
            moved += piece.len() as u64;
            self.to.load(Part::LogBytes(name.clone(), piece)).await?;
            self.tell();
        }
        self.moved.logs += 1;
        Ok(())
    }

    async fn blobs(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let digests = self.from.blobs(after, AT_ONCE).await?;
            let Some(last) = digests.last() else { return Ok(()) };
            after = Some(*last);
            for digest in digests {
                if let Some(bytes) = self.from.blob(digest).await? {
                    self.to.put_blob(bytes).await?;
                    self.moved.blobs += 1;
                    self.tell();
                }
            }
        }
    }

    async fn people(&mut self) -> Result<(), StoreError> {
        for user in self.from.users().await? {
            let name = user.name.clone();
            self.to.add_user(user).await?;
            self.moved.users += 1;
            for grant in self.from.grants(GrantsOf::User(&name)).await? {
                self.to.grant(grant).await?;
            }
            for token in self.from.tokens(&name).await? {
                self.to.add_token(token).await?;
                self.moved.tokens += 1;
            }
        }
        // The record is read backwards, and written forwards: first where its pages begin.
        let page = |before| ActSelection { before, limit: AT_ONCE, ..Default::default() };
        let mut begins = Vec::new();
        let mut before = None;
        loop {
            let acts = self.from.acts(page(before)).await?;
            let Some(oldest) = acts.last() else { break };
            begins.push(before);
            before = Some(oldest.place);
        }
        for before in begins.into_iter().rev() {
            let mut acts = self.from.acts(page(before)).await?;
            acts.reverse();
            self.moved.acts += acts.len() as u64;
            self.to.load(Part::Acts(acts)).await?;
            self.tell();
        }
        Ok(())
    }
}
