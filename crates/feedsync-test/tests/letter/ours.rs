//! An endpoint of ours, and its two ways of exchange with a peer: files, and a hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::letter::document;
use axum::Router;
use axum::body::{Body, to_bytes};
use feedsync_core::{
    Creation, Edit, Format, ItemId, Keep, Related, RelatedKind, Resolution, Resolved, Sharing,
};
use feedsync_endpoint::{Endpoint, Publication, Source};
use feedsync_formats::{Entry, FeedHead, FeedWriter, ReadOptions, compose, entry, read};
use feedsync_server::{Config, router};
use feedsync_store::{
    CollectionName, EndpointName, Environment, MemoryStore, Moment, NewCollection, PageLimit,
    StoredItem,
};
use http::{Method, Request, StatusCode};
use tower::ServiceExt as _;

use crate::ledger::Ledger;

/// The clock of both sides, and separate random numbers.
struct Clockwork {
    minutes: Arc<AtomicU64>,
    random: AtomicU64,
    seed: u64,
}

impl Environment for Clockwork {
    fn now(&self) -> Moment {
        let seconds = 1_772_323_200 + self.minutes.load(Ordering::Relaxed) * 60;
        Moment::from_micros(seconds * 1_000_000)
    }

    fn random(&self) -> u64 {
        let count = self.random.fetch_add(1, Ordering::Relaxed);
        (count + (self.seed << 20)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
    }
}

pub(crate) fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

/// Returns the format of the same name in our library.
pub(crate) fn of_ours(format: document::Format) -> Format {
    match format {
        document::Format::Atom => Format::Atom,
        document::Format::Rss => Format::Rss,
        document::Format::Opml => Format::Opml,
        document::Format::Pox => Format::Pox,
        document::Format::Json => Format::Json,
    }
}

/// Ways of exchanging documents.
pub(crate) enum Way {
    /// Both sides publish files and read those of the other one.
    Files,
    /// The peer reads from a hub, and sends to it.
    Hub(Box<Router>),
}

/// An endpoint of ours.
pub(crate) struct Ours {
    pub(crate) endpoint: Endpoint,
    native: Format,
    pub(crate) way: Way,
}

impl Ours {
    /// Creates an endpoint with an empty collection, and with a maximum number of items in its partial feed.
    pub(crate) async fn new(
        seed: u64,
        ledger: &Ledger,
        native: Format,
        window: usize,
        is_hub: bool,
    ) -> Self {
        let environment: Arc<dyn Environment> =
            Arc::new(Clockwork { minutes: ledger.time(), random: AtomicU64::new(0), seed });
        let name = EndpointName::new("ours").unwrap();
        let store = MemoryStore::new(&name, Arc::clone(&environment));
        let endpoint = Endpoint::new(Arc::new(store), environment);
        let partial = ("partial".to_owned(), format!("{{\"count\":{window}}}"));
        let new = NewCollection {
            name: notes(),
            title: "Notes".into(),
            format: native,
            settings: BTreeMap::from([partial]),
        };
        endpoint.store().create_collection(new).await.unwrap();
        let way = match is_hub {
            true => Way::Hub(Box::new(router(endpoint.clone(), Config::default()))),
            false => Way::Files,
        };
        Self { endpoint, native, way }
    }

    fn titled(&self, title: &str) -> feedsync_core::Payload {
        compose(self.native, &Entry { title: Some(title.to_owned()), ..Entry::default() })
    }

    pub(crate) async fn create(&self, ledger: &mut Ledger) {
        let (id, title) = (self.endpoint.new_id(), ledger.next());
        let (creation, payload) = (Creation::default(), self.titled(&title));
        self.endpoint.add(&notes(), id.clone(), creation, payload).await.unwrap();
        ledger.made(id.as_str(), &title, false, Vec::new());
    }

    pub(crate) async fn edit(&self, id: &str, deleted: Option<bool>, ledger: &mut Ledger) {
        let (id, title) = (ItemId::new(id).unwrap(), ledger.next());
        let Ok(stored) = self.endpoint.item(&notes(), &id).await else { return };
        let superseded = vec![title_of(&stored.item.winner)];
        let is_deleted = deleted.unwrap_or(stored.item.winner.deleted);
        let edit = Edit { payload: Some(self.titled(&title)), deleted };
        self.endpoint.edit(&notes(), &id, None, edit).await.unwrap();
        ledger.made(id.as_str(), &title, is_deleted, superseded);
    }

    pub(crate) async fn resolve(&self, id: &str, which: Resolved, ledger: &mut Ledger) {
        let id = ItemId::new(id).unwrap();
        let Ok(StoredItem { item, .. }) = self.endpoint.item(&notes(), &id).await else { return };
        if item.conflicts.is_empty() {
            return;
        }
        let title = ledger.next();
        let keep = Keep::Content { payload: self.titled(&title), deleted: Some(false) };
        let resolution = Resolution { resolved: which, keep };
        let resolved_indices = item.resolved_indices(&resolution).unwrap();
        let conflicts = resolved_indices.into_iter().map(|index| &item.conflicts[index]);
        let superseded = std::iter::once(&item.winner).chain(conflicts).map(title_of).collect();
        self.endpoint.resolve(&notes(), &item, resolution).await.unwrap();
        ledger.made(id.as_str(), &title, false, superseded);
    }

    pub(crate) async fn stored(&self) -> Vec<StoredItem> {
        let limit = PageLimit::items(10_000);
        self.endpoint.store().items_by_id(&notes(), None, limit).await.unwrap().items
    }

    /// Returns our partial or complete feed.
    pub(crate) async fn feed(&self, format: document::Format, is_complete: bool) -> String {
        let format = of_ours(format);
        if let Way::Hub(_) = self.way {
            let path = if is_complete { "complete" } else { "changes" };
            return self.get(&format!("{path}{}", feedsync_formats::suffix(format))).await;
        }
        let publication = match is_complete {
            true => self.endpoint.publish_complete(&notes()).await.unwrap(),
            false => self.endpoint.publish(&notes(), None).await.unwrap(),
        };
        let items = match is_complete {
            true => self.stored().await,
            false => {
                let limit = PageLimit::items(10_000);
                self.endpoint.page(&publication, publication.after, limit).await.unwrap().items
            }
        };
        document_of(&publication, format, &items)
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        self.ask(Method::GET, path, "text/plain", String::new()).await
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: String) -> String {
        let Way::Hub(router) = &self.way else { panic!("{path}: there is no hub") };
        let request = Request::builder()
            .method(method)
            .uri(format!("/collections/notes/{path}"))
            .header("host", "localhost:4287")
            .header("content-type", kind)
            .body(Body::from(body))
            .unwrap();
        let response = (**router).clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 16 << 20).await.unwrap();
        let text = String::from_utf8(bytes.into()).unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    /// Incorporates a document of a peer; nothing in it may be refused or faulty.
    pub(crate) async fn take(&self, document: &str, kind: &str) {
        let reading = read(document.as_bytes(), None, &ReadOptions::strict())
            .unwrap_or_else(|error| panic!("{error}: {document}"));
        assert!(reading.refused.is_empty(), "{:?}: {document}", reading.refused);
        assert!(reading.diagnostics.is_empty(), "{:?}: {document}", reading.diagnostics);
        if let Way::Hub(_) = self.way {
            let report = self.ask(Method::POST, "changes", kind, document.to_owned()).await;
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            let items = report["items"].as_array().expect("what became of each item");
            assert!(items.iter().all(|item| item["outcome"] != "refused"), "{report}");
            return;
        }
        let items = reading.feed.items;
        let report = self.endpoint.incorporate(&notes(), Source::Offered, items, None).await;
        assert_eq!(report.unwrap().counts.refused, 0);
    }

    /// Incorporates a document of SSE in the same way.
    pub(crate) async fn take_sse(&self, document: &str, kind: &str) {
        let read = feedsync_formats::sse::read_as_feed(document.as_bytes(), &ReadOptions::strict())
            .unwrap_or_else(|error| panic!("{error}: {document}"));
        let reading = read.reading;
        assert!(reading.refused.is_empty(), "{:?}: {document}", reading.refused);
        if let Way::Hub(_) = self.way {
            let _ = self.ask(Method::POST, "changes", kind, document.to_owned()).await;
            return;
        }
        let items = reading.feed.items;
        let report = self.endpoint.incorporate_sse(&notes(), Source::Offered, items, None).await;
        assert_eq!(report.unwrap().counts.refused, 0);
    }
}

fn title_of(version: &feedsync_core::Version<feedsync_core::Payload>) -> String {
    entry(&version.payload).title.expect("every edit writes a title")
}

fn document_of(publication: &Publication, format: Format, items: &[StoredItem]) -> String {
    let link = "http://ours.example/complete".to_owned();
    let complete = Related { link, title: None, kind: RelatedKind::Complete };
    let window = Some(publication.window.clone());
    let sharing = Sharing { window, expires: None, related: vec![complete] };
    let head = FeedHead {
        id: "urn:x:ours",
        title: "Notes",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "ours",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: Some(&sharing),
    };
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    items.iter().for_each(|stored| writer.item(&mut out, &stored.item));
    writer.end(&mut out);
    out
}
