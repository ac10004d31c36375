//! Endpoints in memory, hubs that serve them, and their content.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use feedsync_client::{Direction, NoProgress, Session, SyncError, SyncReport};
use feedsync_core::{Base, Creation, Edit, Format, Item, ItemId, Payload};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_formats::{Entry, Revision, compose, revise};
use feedsync_server::{Config, serve};
use feedsync_store::{
    CollectionName, EndpointName, MemoryStore, NewCollection, NewRemote, PageLimit, Remote,
    RemoteState, StoredItem, SystemEnvironment,
};

pub(crate) struct Peer {
    pub(crate) session: Session,
    pub(crate) store: Arc<MemoryStore>,
}

pub(crate) fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

impl Peer {
    /// Creates an endpoint with an empty collection `notes` of Atom entries.
    pub(crate) async fn new(name: &str) -> Self {
        Self::of_format(name, Format::Atom).await
    }

    pub(crate) async fn of_format(name: &str, format: Format) -> Self {
        let name = EndpointName::new(name).unwrap();
        let store = Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)));
        let peer = Self::over(store);
        peer.create_notes(format).await;
        peer
    }

    pub(crate) fn over(store: Arc<MemoryStore>) -> Self {
        let policy = Policy { idle: Duration::from_secs(5), ..Policy::new(Private::Allowed) };
        let endpoint = Endpoint::new(Arc::clone(&store) as _, Arc::new(SystemEnvironment));
        Self { session: Session::new(endpoint, Fetcher::new(policy).unwrap()), store }
    }

    pub(crate) async fn create_notes(&self, format: Format) {
        let settings = BTreeMap::new();
        let new = NewCollection { name: notes(), title: "Notes".into(), format, settings };
        self.endpoint().store().create_collection(new).await.unwrap();
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        self.session.endpoint()
    }

    pub(crate) async fn add(&self, title: &str) -> ItemId {
        let format = self.endpoint().collection(&notes()).await.unwrap().format;
        self.add_payload(compose(format, &entry(title))).await
    }

    pub(crate) async fn add_payload(&self, payload: Payload) -> ItemId {
        let id = self.endpoint().new_id();
        let creation = Creation::default();
        self.endpoint().add(&notes(), id.clone(), creation, payload).await.unwrap();
        id
    }

    pub(crate) async fn edit(&self, id: &ItemId, title: &str) {
        let winner = self.item(id).await.winner;
        let change = Revision { title: Some(title.to_owned()), ..Revision::default() };
        let payload = revise(&winner.payload, &change).unwrap();
        self.edit_as(id, Edit { payload: Some(payload), deleted: None }).await;
    }

    pub(crate) async fn delete(&self, id: &ItemId) {
        self.edit_as(id, Edit::delete()).await;
    }

    async fn edit_as(&self, id: &ItemId, edit: Edit<Payload>) {
        self.endpoint().edit(&notes(), id, None::<Base>, edit).await.unwrap();
    }

    pub(crate) async fn item(&self, id: &ItemId) -> Item<Payload> {
        self.endpoint().item(&notes(), id).await.unwrap().item
    }

    pub(crate) async fn stored(&self) -> Vec<StoredItem> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let store = self.endpoint().store();
            let limit = PageLimit::items(10_000);
            let page = store.items_by_id(&notes(), after.as_ref(), limit).await.unwrap();
            all.extend(page.items);
            after = all.last().map(|stored| stored.item.id.clone());
            if !page.more {
                return all;
            }
        }
    }

    /// Returns all items by id, with conflicts in a fixed order.
    pub(crate) async fn state(&self) -> BTreeMap<String, Item<Payload>> {
        let sorted = |mut item: Item<Payload>| {
            item.conflicts.sort_by_key(|version| format!("{:?}", version.dot()));
            item
        };
        let items = self.stored().await.into_iter().map(|stored| sorted(stored.item));
        items.map(|item| (item.id.to_string(), item)).collect()
    }

    pub(crate) async fn ids(&self) -> Vec<String> {
        self.state().await.into_keys().collect()
    }

    pub(crate) async fn remote(&self, url: &str) -> Remote {
        let remotes = self.endpoint().store().remotes(Some(&notes())).await.unwrap();
        if let Some(known) = remotes.into_iter().find(|remote| remote.url == url) {
            return known;
        }
        let new =
            NewRemote { collection: notes(), name: None, url: url.to_owned(), subscription: None };
        self.endpoint().store().add_remote(new).await.unwrap()
    }

    pub(crate) async fn store_remote(&self, remote: &Remote) {
        self.endpoint().store().change_remote(remote.clone()).await.unwrap();
    }

    pub(crate) async fn remembered(&self, url: &str) -> RemoteState {
        self.remote(url).await.state
    }

    pub(crate) async fn try_sync(
        &self,
        url: &str,
        direction: Direction,
    ) -> Result<SyncReport, SyncError> {
        let remote = self.remote(url).await;
        self.session.sync(&remote, direction, &NoProgress, false).await
    }

    pub(crate) async fn sync(&self, url: &str) -> SyncReport {
        self.try_sync(url, Direction::BOTH).await.unwrap()
    }

    pub(crate) async fn pull(&self, url: &str) -> SyncReport {
        self.try_sync(url, Direction { pull: true, push: false }).await.unwrap()
    }
}

pub(crate) fn entry(title: &str) -> Entry {
    Entry { title: Some(title.to_owned()), ..Entry::default() }
}

/// A hub over an endpoint.
pub(crate) struct Hub {
    pub(crate) peer: Peer,
    pub(crate) address: SocketAddr,
}

impl Hub {
    pub(crate) async fn new(name: &str) -> Self {
        Self::over(Peer::new(name).await).await
    }

    pub(crate) async fn over(peer: Peer) -> Self {
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
        let serving = serve(peer.endpoint().clone(), config, std::future::pending()).await;
        Self { address: serving.unwrap().address(), peer }
    }

    /// Returns the address of the listing.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/collections/notes", self.address)
    }
}
