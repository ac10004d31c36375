//! An endpoint that synchronises with the hub (FeedSync 4.1), and edits items that others edit too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use feedsync_client::{Direction, NoProgress, Session};
use feedsync_core::{Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_formats::{Entry, compose};
use feedsync_store::{
    CollectionName, EndpointName, MemoryStore, NewCollection, NewRemote, PageLimit, Remote,
    RemoteState, SystemEnvironment,
};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::sleep;

use super::TIMEOUT;
use super::entry::seen;
use super::said::{AcknowledgedVersion, ResponseRecord};

pub(crate) struct Merger {
    name: String,
    session: Session,
    remote: Remote,
    notes: CollectionName,
    random: SmallRng,
    count: u64,
    shared: Vec<String>,
    own: Vec<ItemId>,
    /// Edits that the hub has not confirmed.
    pending: Vec<AcknowledgedVersion>,
    said: ResponseRecord,
}

impl Merger {
    pub(crate) async fn new(
        number: u64,
        seed: u64,
        address: SocketAddr,
        shared: Vec<String>,
    ) -> Self {
        let name = format!("m{number}");
        let environment = Arc::new(SystemEnvironment);
        let store = MemoryStore::new(&EndpointName::new(&name).unwrap(), environment.clone());
        let endpoint = Endpoint::new(Arc::new(store), environment);
        let notes = CollectionName::new("notes").unwrap();
        let (title, settings) = ("Notes".to_owned(), Default::default());
        let new = NewCollection { name: notes.clone(), title, format: Format::Atom, settings };
        endpoint.create_collection(new).await.unwrap();
        let url = format!("http://{address}/collections/notes");
        let new = NewRemote { collection: notes.clone(), name: None, url, subscription: None };
        let remote = endpoint.store().add_remote(new).await.unwrap();
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
        Self {
            name,
            session: Session::new(endpoint, fetcher),
            remote,
            notes,
            random: SmallRng::seed_from_u64(seed ^ (number << 40)),
            count: 0,
            shared,
            own: Vec::new(),
            pending: Vec::new(),
            said: ResponseRecord::default(),
        }
    }

    /// Edits and synchronises until `working` is false.
    pub(crate) async fn run(&mut self, working: &AtomicBool) {
        while working.load(Ordering::SeqCst) {
            for _ in 0..self.random.random_range(1..4) {
                self.edit().await;
            }
            self.sync().await;
            sleep(Duration::from_millis(self.random.random_range(0..200))).await;
        }
    }

    /// Synchronises until it succeeds.
    pub(crate) async fn settle(&mut self) {
        let begin = Instant::now();
        while !self.sync().await {
            assert!(begin.elapsed() < TIMEOUT, "{} cannot synchronise", self.name);
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns the record of acknowledgements, and all items of the endpoint.
    pub(crate) async fn end(self) -> (ResponseRecord, Vec<Item<Payload>>) {
        let store = self.session.endpoint().store();
        let mut items = Vec::new();
        let mut after = None;
        loop {
            let page = store.items_by_id(&self.notes, after.as_ref(), PageLimit::items(1_000));
            let page = page.await.unwrap();
            items.extend(page.items.into_iter().map(|stored| stored.item));
            after = items.last().map(|item| item.id.clone());
            if !page.more {
                return (self.said, items);
            }
        }
    }

    async fn edit(&mut self) {
        self.count += 1;
        let title = format!("{} {}", self.name, self.count);
        let payload = compose(Format::Atom, &Entry { title: Some(title), ..Entry::default() });
        let endpoint = self.session.endpoint();
        let chosen = match self.random.random_range(0..4) {
            0 if !self.own.is_empty() => {
                let id = &self.own[self.random.random_range(0..self.own.len())];
                Some(endpoint.item(&self.notes, id).await.unwrap())
            }
            1 | 2 => {
                let id = &self.shared[self.random.random_range(0..self.shared.len())];
                let id = ItemId::new(id).unwrap();
                endpoint.store().item(&self.notes, &id).await.unwrap()
            }
            _ => None,
        };
        let item = match chosen {
            // Unresolved conflicts would accumulate until the limit is reached.
            Some(stored) if stored.item.conflicts.len() > 1 => {
                let keep = Keep::Content { payload, deleted: None };
                let resolution = Resolution { resolved: Resolved::All, keep };
                endpoint.resolve(&self.notes, &stored.item, resolution).await.unwrap().item
            }
            Some(stored) => {
                let (id, edit) = (&stored.item.id, Edit::from(payload));
                endpoint.edit(&self.notes, id, None, edit).await.unwrap().item
            }
            None => {
                let (id, creation) = (endpoint.new_id(), Creation::default());
                self.own.push(id.clone());
                self.said.made.insert(id.to_string());
                endpoint.add(&self.notes, id, creation, payload).await.unwrap().item
            }
        };
        self.pending.push(seen(&item).written);
    }

    /// Synchronises; returns whether that succeeded. If so, the hub has all earlier edits.
    async fn sync(&mut self) -> bool {
        // This endpoint does not wait when the hub asks it to.
        let store = self.session.endpoint().store();
        let mut remote = store.remotes(None).await.unwrap().remove(0);
        remote.state = RemoteState { not_before: None, ..remote.state };
        store.change_remote(remote).await.unwrap();
        match self.session.sync(&self.remote, Direction::BOTH, &NoProgress, false).await {
            Ok(report) if report.refused.is_empty() => {
                self.said.written.append(&mut self.pending);
                true
            }
            Ok(report) => panic!("{}: {:?}", self.name, report.refused),
            Err(_) => {
                self.said.untold += 1;
                false
            }
        }
    }
}
