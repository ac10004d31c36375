//! One endpoint of the simulation, and the edits of its users.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use feedsync_core::{
    Base, Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved, Version,
};
use feedsync_endpoint::Endpoint;
use feedsync_formats::{Entry, compose};
use feedsync_store::{
    ChangeNumber, CollectionChange, CollectionName, EndpointName, Image, ItemStore as _,
    MemoryStore, NewCollection, NewRemote, PageLimit, Remote, RemoteId, StoredItem,
};

use super::clock::Surroundings;
use super::truth::{EditNumber, Truth};

/// Runs a future that is ready at once, as all of a [`MemoryStore`]'s are.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a store in memory never waits"),
    }
}

/// The one collection of the simulation.
pub(crate) fn list() -> CollectionName {
    CollectionName::new("list").expect("a valid name")
}

/// A version that a user opened in an editor some time ago.
struct Opened {
    item: ItemId,
    base: Base,
    seen: EditNumber,
}

/// One endpoint.
pub(crate) struct Peer {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) endpoint: Endpoint,
    surroundings: Arc<Surroundings>,
    /// Format of the payloads that are written here.
    pub(crate) format: Format,
    /// Whether this peer stores everything in that format.
    pub(crate) knows_one_format: bool,
    /// Whether others may push items; a file on a web server accepts none.
    pub(crate) takes_pushes: bool,
    opened: Option<Opened>,
    /// Remotes by the address of the other peer.
    remotes: BTreeMap<usize, RemoteId>,
}

impl Peer {
    pub(crate) fn new(name: &str, surroundings: Arc<Surroundings>, format: Format) -> Self {
        let name = EndpointName::new(name).expect("a valid name");
        let store = Arc::new(MemoryStore::new(&name, surroundings.clone()));
        let peer = Self::over(store, surroundings, format);
        let new =
            NewCollection { name: list(), title: "List".into(), format, settings: BTreeMap::new() };
        now(feedsync_store::ItemStore::create_collection(&*peer.store, new)).expect("a new store");
        peer
    }

    /// Publishes only files: a partial feed of the latest changes, and the complete feed.
    pub(crate) fn publish_files(&mut self) {
        self.takes_pushes = false;
        self.bound_partial_feed(3);
    }

    /// Sets the maximum number of changes in the partial feed.
    pub(crate) fn bound_partial_feed(&self, count: u64) {
        let settings = BTreeMap::from([("partial".to_owned(), format!("{{\"count\":{count}}}"))]);
        let change = CollectionChange { settings: Some(settings), ..CollectionChange::default() };
        now(self.store.change_collection(&list(), change)).expect("a collection");
    }

    fn over(store: Arc<MemoryStore>, surroundings: Arc<Surroundings>, format: Format) -> Self {
        let endpoint = Endpoint::new(store.clone(), surroundings.clone());
        Self {
            store,
            endpoint,
            surroundings,
            format,
            knows_one_format: false,
            takes_pushes: true,
            opened: None,
            remotes: BTreeMap::new(),
        }
    }

    /// Returns a second endpoint over an unnoticed copy of this one's store.
    pub(crate) fn copied(&self, surroundings: Arc<Surroundings>) -> Self {
        let store = MemoryStore::reopened(self.store.image(), surroundings.clone());
        let mut copy = Self::over(Arc::new(store), surroundings, self.format);
        copy.remotes = self.remotes.clone();
        copy
    }

    /// Restarts the process after a crash: acknowledged changes are stored, versions open in an editor are
    /// lost.
    pub(crate) fn crash(&mut self) {
        self.become_store(MemoryStore::reopened(self.store.image(), self.surroundings.clone()));
    }

    /// Restores a backup, which starts a new incarnation.
    pub(crate) fn restore(&mut self, backup: Image) {
        self.become_store(MemoryStore::restored(backup, self.surroundings.clone()));
        let remotes = now(self.endpoint.store().remotes(None)).expect("remotes");
        let other = |remote: &Remote| {
            let (_, index) = remote.url.split_once("peer-").expect("an address of this world");
            index.trim_end_matches(".example/list").parse().expect("an address of this world")
        };
        self.remotes = remotes.iter().map(|remote| (other(remote), remote.id)).collect();
    }

    fn become_store(&mut self, store: MemoryStore) {
        self.store = Arc::new(store);
        self.endpoint = Endpoint::new(self.store.clone(), self.surroundings.clone());
        self.opened = None;
    }

    /// Returns the remote for another peer, which is added if needed.
    pub(crate) fn remote(&mut self, other: usize) -> Remote {
        let store = self.endpoint.store();
        let id = *self.remotes.entry(other).or_insert_with(|| {
            let url = format!("http://peer-{other}.example/list");
            let new = NewRemote { collection: list(), name: None, url, subscription: None };
            now(store.add_remote(new)).expect("a new remote").id
        });
        let remotes = now(store.remotes(None)).expect("remotes");
        remotes.into_iter().find(|remote| remote.id == id).expect("a remote that was added")
    }

    pub(crate) fn stored(&self) -> Vec<StoredItem> {
        let (mut items, mut after) = (Vec::new(), ChangeNumber::ZERO);
        loop {
            let limit = PageLimit::items(1_000);
            let page = now(self.endpoint.store().changes(&list(), after, None, limit));
            let page = page.expect("changes");
            items.extend(page.items);
            if !page.more {
                return items;
            }
            after = page.through;
        }
    }

    pub(crate) fn item(&self, id: &ItemId) -> Option<StoredItem> {
        now(self.endpoint.store().item(&list(), id)).expect("a store that works")
    }

    pub(crate) fn create(&self, truth: &mut Truth) {
        let (id, edit) = (self.endpoint.new_id(), truth.next());
        let payload = content(self.format, edit);
        now(self.endpoint.add(&list(), id.clone(), Creation::default(), payload)).expect("room");
        truth.made(&id, edit, [], false);
    }

    pub(crate) fn edit(&self, id: &ItemId, deleted: Option<bool>, truth: &mut Truth) {
        let Some(stored) = self.item(id) else { return };
        let (edit, winner) = (truth.next(), &stored.item.winner);
        let payload = Some(content(self.format, edit));
        let change = Edit { payload, deleted };
        now(self.endpoint.edit(&list(), id, None, change)).expect("room");
        let deleted = deleted.unwrap_or(winner.deleted);
        truth.made(id, edit, [number(&winner.payload)], deleted);
    }

    pub(crate) fn open(&mut self, id: &ItemId) {
        let Some(stored) = self.item(id) else { return };
        let version = stored.item.winner;
        let seen = number(&version.payload);
        let Version { updates, noconflicts, history, .. } = version;
        let base = Base { updates, noconflicts, history };
        self.opened = Some(Opened { item: id.clone(), base, seen });
    }

    pub(crate) fn save_what_was_opened(&mut self, truth: &mut Truth) {
        let Some(Opened { item, base, seen }) = self.opened.take() else { return };
        if self.item(&item).is_none() {
            return;
        }
        let edit = truth.next();
        let change = Edit { payload: Some(content(self.format, edit)), deleted: Some(false) };
        now(self.endpoint.edit(&list(), &item, Some(base), change)).expect("room");
        truth.made(&item, edit, [seen], false);
    }

    pub(crate) fn resolve(&self, id: &ItemId, only_first: bool, truth: &mut Truth) {
        let Some(StoredItem { item, .. }) = self.item(id) else { return };
        if item.conflicts.is_empty() {
            return;
        }
        let edit = truth.next();
        let resolved = if only_first { Resolved::Some(vec![0]) } else { Resolved::All };
        let keep = Keep::Content { payload: content(self.format, edit), deleted: Some(false) };
        let resolution = Resolution { resolved, keep };
        let resolved_indices =
            item.resolved_indices(&resolution).expect("conflicts that are there");
        let seen: Vec<_> = std::iter::once(&item.winner)
            .chain(resolved_indices.iter().map(|&index| &item.conflicts[index]))
            .map(|version| number(&version.payload))
            .collect();
        now(self.endpoint.resolve(&list(), &item, resolution)).expect("room");
        truth.made(id, edit, seen, false);
    }
}

/// Returns content that names the edit that wrote it.
pub(crate) fn content(format: Format, edit: EditNumber) -> Payload {
    let entry = Entry { title: Some(format!("edit {edit}")), ..Entry::default() };
    compose(format, &entry)
}

/// Returns the edit that wrote a payload.
pub(crate) fn number(payload: &Payload) -> EditNumber {
    let (_, after) = payload.text().split_once("edit ").expect("every edit writes a title");
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after[..digits].parse().expect("a title has the number of its edit")
}

/// Returns the edits that an item's versions hold.
pub(crate) fn numbers(item: &Item<Payload>) -> std::collections::BTreeSet<EditNumber> {
    item.versions().map(|version| number(&version.payload)).collect()
}
