//! Realistic collections: small entries with random ids, in a store on the disk.

use std::path::Path;
use std::sync::Arc;

use feedsync_core::{By, Creation, Format, Item, ItemId, Payload, Stamp, Timestamp};
use feedsync_endpoint::{Endpoint, NewToken, NewUser, Source};
use feedsync_formats::{Entry, compose};
use feedsync_store::{
    CollectionName, EndpointName, NewCollection, Scope, SqliteStore, SystemEnvironment, TokenKind,
    UserName,
};

/// Approximate size of the element of an entry, in bytes.
pub(crate) const PAYLOAD_BYTES: usize = 500;

/// Number of items in one transaction while a collection is filled.
const BATCH: usize = 5_000;

/// Number of items in the largest collection: a million, or fewer by `FEEDSYNC_BENCH_ITEMS`.
pub(crate) fn max_items() -> usize {
    let asked = std::env::var("FEEDSYNC_BENCH_ITEMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

/// Pseudorandom numbers that are the same in every run (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// An Atom entry of about [`PAYLOAD_BYTES`].
pub(crate) fn payload(random: &mut Random) -> Payload {
    const WORDS: [&str; 16] = [
        "bread",
        "meeting",
        "river",
        "Tuesday",
        "invoice",
        "garden",
        "letter",
        "window",
        "station",
        "recipe",
        "grandmother",
        "bicycle",
        "holiday",
        "library",
        "teacher",
        "morning",
    ];
    let word = |random: &mut Random| WORDS[random.below(WORDS.len())];
    let number = random.next();
    let entry = |content: &str, random: &mut Random| Entry {
        id: Some(format!("urn:example:{number:016x}")),
        title: Some(format!("{} {} {}", word(random), word(random), number % 1_000)),
        content: Some(content.to_owned()),
        updated: Timestamp::from_unix_seconds(1_700_000_000 + (number % 10_000_000) as i64),
        ..Entry::default()
    };
    let bare = compose(Format::Atom, &entry("", random)).text().len();
    let mut content = String::new();
    while bare + content.len() < PAYLOAD_BYTES {
        content.push_str(word(random));
        content.push(' ');
    }
    compose(Format::Atom, &entry(content.trim_end(), random))
}

/// New content of an entry, without its id, which the hub keeps.
pub(crate) fn change(random: &mut Random) -> String {
    let text = payload(random).shared_text();
    let (before, rest) = text.split_once("<id>").expect("an entry with an id");
    let (_, after) = rest.split_once("</id>").expect("an entry with an id");
    format!("{before}{after}")
}

/// An item that another endpoint created.
pub(crate) fn item(id: ItemId, random: &mut Random) -> Item<Payload> {
    let when = Timestamp::from_unix_seconds(1_700_000_000 + random.below(10_000_000) as i64);
    let by = By::new("phone.a1b2c3d4e5f60718").expect("a valid by");
    let stamp = Stamp::new(when.expect("a date"), by);
    Item::create(id, Creation::default(), &stamp, payload(random)).expect("a first edit")
}

/// Name of the collection in every benchmark.
pub(crate) fn name() -> CollectionName {
    CollectionName::new("notes").expect("a valid name")
}

/// Opens the endpoint of an existing store.
pub(crate) fn open(directory: &Path) -> Endpoint {
    let environment = Arc::new(SystemEnvironment);
    let store = SqliteStore::open(directory, environment.clone()).expect("a store");
    Endpoint::new(Arc::new(store), environment)
}

/// Creates an endpoint with one empty collection.
pub(crate) async fn create(directory: &Path, endpoint: &str) -> Endpoint {
    let environment = Arc::new(SystemEnvironment);
    let endpoint = EndpointName::new(endpoint).expect("a valid name");
    let store = SqliteStore::init(directory, &endpoint, environment.clone()).expect("a new store");
    set_up(Endpoint::new(Arc::new(store), environment)).await
}

/// Creates the collection of every benchmark.
pub(crate) async fn set_up(endpoint: Endpoint) -> Endpoint {
    let new = NewCollection {
        name: name(),
        title: "Notes".to_owned(),
        format: Format::Atom,
        settings: Default::default(),
    };
    endpoint.store().create_collection(new).await.expect("a new collection");
    endpoint
}

/// Creates an administrator; returns a token.
pub(crate) async fn token(endpoint: &Endpoint) -> String {
    let user = UserName::new("anna").expect("a valid name");
    let new =
        NewUser { name: user.clone(), password: None, administrator: true, databases_only: false };
    endpoint.add_user(new).await.expect("a new user");
    let new = NewToken {
        user,
        kind: TokenKind::Access,
        label: "bench".to_owned(),
        scope: Scope::default(),
        expires: None,
    };
    let (secret, _) = endpoint.issue_token(new).await.expect("a token");
    secret.as_str().to_owned()
}

/// Creates random ids with [`Endpoint::new_id`].
pub(crate) fn ids(endpoint: &Endpoint, count: usize) -> Vec<ItemId> {
    (0..count).map(|_| endpoint.new_id()).collect()
}

/// Fills the collection with items of another endpoint. Ascending ids make this much faster for a large
/// collection, since the index of ids then grows at its end.
pub(crate) async fn fill(endpoint: &Endpoint, ids: &[ItemId]) {
    let mut random = Random(ids.len() as u64);
    for batch in ids.chunks(BATCH) {
        let items: Vec<_> = batch.iter().map(|id| item(id.clone(), &mut random)).collect();
        let report = endpoint.incorporate(&name(), Source::Offered, items, None).await;
        assert_eq!(report.expect("stored").counts.added, batch.len() as u64);
    }
}

/// Runtime with the configuration of the hub and the command line.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads")
}
