//! Clauses that only several crates together can prove.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_core::window::{Step, after_reading};
use feedsync_core::{
    By, Creation, Edit, Format, History, Item, ItemId, Keep, MAX_COUNTER, Payload, Related,
    RelatedKind, Resolution, Resolved, Sequence, Sharing, Stamp, Timestamp, Update, Updates,
    Version, merge,
};
use feedsync_endpoint::{Endpoint, ItemOutcome, Retention, SeenVersions, Source};
use feedsync_formats::{Document, FeedHead, FeedWriter, ReadOptions, entry, read};
use feedsync_store::{
    CollectionName, EndpointName, Environment, ItemStoreExt, MemoryStore, Moment, NewCollection,
    NewRemote, Origin, Put, Store, Write,
};

const ATOM: &str =
    "xmlns='http://www.w3.org/2005/Atom' xmlns:sx='http://feedsync.org/2007/feedsync'";

fn feed(content: &str) -> String {
    format!("<feed {ATOM}>\n{content}\n</feed>")
}

fn atom(atom_id: &str, sync_id: &str, by: &str) -> String {
    format!(
        "<entry><id>{atom_id}</id><author><name>Ray</name></author>\
         <sx:sync id='{sync_id}' updates='1'><sx:history sequence='1' by='{by}'/></sx:sync></entry>"
    )
}

fn items(document: &str) -> Vec<Item<Payload>> {
    let reading = read(document.as_bytes(), None, &ReadOptions::strict()).unwrap();
    assert_eq!(reading.refused, []);
    reading.feed.items
}

#[test]
fn f48_f49_only_the_id_of_sync_tells_items_apart() {
    let same_atom_id = items(&feed(&(atom("urn:x", "one", "a") + &atom("urn:x", "two", "a"))));
    assert_eq!(same_atom_id.len(), 2);
    assert_ne!(same_atom_id[0].id, same_atom_id[1].id);

    let [local] = &items(&feed(&atom("urn:x", "one", "a")))[..] else { panic!() };
    let [incoming] = &items(&feed(&atom("urn:y", "one", "b")))[..] else { panic!() };
    let (merged, _) = merge(Some(local.clone()), incoming.clone()).unwrap();
    assert_eq!(merged.conflicts.len(), 1, "two versions of one item");

    let rss = |guid: &str, id: &str| {
        format!(
            "<item><guid>{guid}</guid><sx:sync id='{id}' updates='1'>\
             <sx:history sequence='1' by='a'/></sx:sync></item>"
        )
    };
    let channel = format!(
        "<rss version='2.0' xmlns:sx='http://feedsync.org/2007/feedsync'><channel>{}{}</channel></rss>",
        rss("http://h/1", "one"),
        rss("http://h/1", "two")
    );
    assert_eq!(items(&channel).len(), 2);
}

#[test]
fn f66_an_author_is_what_the_entry_says_and_not_by() {
    let [item] = &items(&feed(&atom("urn:x", "one", "Greg")))[..] else { panic!() };
    let author = entry(&item.winner.payload).author.and_then(|author| author.name);
    assert_eq!(author.as_deref(), Some("Ray"));
}

#[test]
fn f123_an_item_without_conflicts_is_written_without_their_element() {
    let [local] = &items(&feed(&atom("urn:x", "one", "a")))[..] else { panic!() };
    let [incoming] = &items(&feed(&atom("urn:x", "one", "b")))[..] else { panic!() };
    let (mut item, _) = merge(Some(local.clone()), incoming.clone()).unwrap();
    let written = |item: &Item<Payload>| {
        let head = FeedHead {
            id: "urn:feed",
            title: "",
            updated: Timestamp::from_unix_seconds(0).unwrap(),
            author: "me",
            details: None,
            self_link: None,
            next: None,
            links: &[],
            complete: false,
            sharing: None,
        };
        let (mut writer, mut out) = (FeedWriter::new(Format::Atom), String::new());
        writer.begin(&mut out, &head);
        writer.item(&mut out, item);
        writer.end(&mut out);
        out
    };
    assert!(written(&item).contains("sx:conflicts"));
    let stamp = Stamp::new(Timestamp::from_unix_seconds(9).unwrap(), By::new("a").unwrap());
    let resolution = Resolution { resolved: Resolved::All, keep: Keep::Winner };
    item.resolve(&stamp, resolution).unwrap();
    assert!(!written(&item).contains("conflicts"));
    let document = feed(&atom("urn:x", "one", "a"));
    let document = Document::read(document.as_bytes(), &ReadOptions::strict()).unwrap();
    let bytes = document.to_bytes_with(&[item]);
    assert!(!String::from_utf8(bytes).unwrap().contains("conflicts"));
}

#[test]
fn f127_documents_are_merged_whatever_their_windows_say() {
    let document = |window: &str, entry: &str| feed(&format!("<sx:sharing {window}/>{entry}"));
    let local = document("since='1' until='2'", &atom("urn:x", "one", "a"));
    let incoming = document("since='8' until='9'", &atom("urn:y", "two", "b"));
    let local = Document::read(local.as_bytes(), &ReadOptions::strict()).unwrap();
    let mut merged = local.feed().items.clone();
    merged.extend(items(&incoming));
    let bytes = String::from_utf8(local.to_bytes_with(&merged)).unwrap();
    assert_eq!(items(&bytes), merged);
    let sharing = read(bytes.as_bytes(), None, &ReadOptions::strict()).unwrap().feed.sharing;
    // Neither window is valid for the merged document (4.2.3).
    assert_eq!(sharing.unwrap().window, None);
}

#[test]
fn f41_aggregated_feeds_are_not_read_unasked() {
    let related = |kind| Related { link: "http://h/x".into(), title: None, kind };
    let read = |kind| {
        let sharing = Sharing { window: None, expires: None, related: vec![related(kind)] };
        after_reading(None, Some(&sharing), "http://h/feed")
    };
    assert!(matches!(read(RelatedKind::Aggregated), Step::Merge(_)));
    assert!(matches!(read(RelatedKind::Complete), Step::ReadComplete { .. }));
}

/// A clock that a test sets, and consecutive numbers instead of random ones.
struct Clock {
    seconds: AtomicU64,
    drawn: AtomicU64,
}

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.seconds.load(Ordering::SeqCst) * 1_000_000)
    }

    fn random(&self) -> u64 {
        self.drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst)
    }
}

fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

fn payload(title: &str) -> Payload {
    Payload::from_parsed(Format::Json, format!("{{\"title\":\"{title}\"}}"))
}

async fn endpoint() -> (Endpoint, Arc<Clock>) {
    let clock = Arc::new(Clock { seconds: AtomicU64::new(1_000), drawn: AtomicU64::new(7) });
    let name = EndpointName::new("anna").unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&name, clock.clone()));
    let endpoint = Endpoint::new(store, clock.clone());
    let (title, settings) = ("Notes".to_owned(), Default::default());
    let new = NewCollection { name: notes(), title, format: Format::Json, settings };
    endpoint.store().create_collection(new).await.unwrap();
    (endpoint, clock)
}

#[tokio::test]
async fn r_f20_t7_changing_the_oldest_item_does_not_move_since() {
    let (endpoint, _) = endpoint().await;
    for name in ["a", "b"] {
        endpoint.add(&notes(), id(name), Creation::default(), payload(name)).await.unwrap();
    }
    let before = endpoint.publish(&notes(), None).await.unwrap().window;
    let first = endpoint.store().item(&notes(), &id("a")).await.unwrap().unwrap().number;
    let seen = endpoint.collection(&notes()).await.unwrap().until(first).to_string();
    endpoint.edit(&notes(), &id("a"), None, Edit::from(payload("again"))).await.unwrap();
    let after = endpoint.publish(&notes(), None).await.unwrap().window;
    assert_eq!(after.since, before.since, "the least number present is the second now");
    assert!(after.until > before.until);
    let asked = endpoint.publish(&notes(), Some(&seen)).await.unwrap();
    assert_eq!(asked.window.since, seen, "who has seen the first change is in sync");
}

#[tokio::test]
async fn r_f45_when_is_what_the_clock_says_even_if_it_ran_backwards() {
    let (endpoint, clock) = endpoint().await;
    endpoint.add(&notes(), id("a"), Creation::default(), payload("a")).await.unwrap();
    clock.seconds.store(10, Ordering::SeqCst);
    let edited =
        endpoint.edit(&notes(), &id("a"), None, Edit::from(payload("b"))).await.unwrap().item;
    let seconds: Vec<_> = edited
        .winner
        .history
        .updates()
        .iter()
        .map(|update| update.when().unwrap().unix_seconds())
        .collect();
    assert_eq!(seconds, [10, 1_000]);
}

#[tokio::test]
async fn a3_a_spent_sequence_does_not_end_editing() {
    let (endpoint, _) = endpoint().await;
    let current = endpoint.identity().await.unwrap().by;
    let last = Sequence::new(MAX_COUNTER).unwrap();
    let when = Timestamp::from_unix_seconds(1_000).unwrap();
    let winner = Version {
        updates: Updates::new(3).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::new(Update::signed(last, when, current.clone())),
        payload: payload("spent"),
    };
    let item = Item { id: id("a"), winner, conflicts: Vec::new() };
    let writes = vec![
        Write::Issue { item: id("a"), by: current.clone(), sequence: last },
        Write::Put(Put { item, created_here: true, origin: Origin::Here, blobs: Vec::new() }),
    ];
    let write = move |_: &_| (writes.clone(), ());
    endpoint.store().decide(&notes(), vec![id("a")], write).await.unwrap();

    let edited =
        endpoint.edit(&notes(), &id("a"), None, Edit::from(payload("on"))).await.unwrap().item;
    let dot = edited.winner.dot();
    assert_eq!((dot.sequence().get(), edited.winner.updates.get()), (4, 4));
    assert_ne!(dot.by(), Some(&current));
    assert!(edited.winner.history.covers(&Update::signed(last, when, current)));
}

/// Returns an item `a` of one version, with the given history.
fn signed(content: &str, updates: u32, history: &[(u32, &By)]) -> Item<Payload> {
    let updates_of = history.iter().map(|(sequence, by)| {
        let when = Timestamp::from_unix_seconds(500).unwrap();
        Update::signed(Sequence::new(*sequence).unwrap(), when, (*by).clone())
    });
    let winner = Version {
        updates: Updates::new(updates).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(updates_of.collect()).unwrap(),
        payload: payload(content),
    };
    Item { id: id("a"), winner, conflicts: Vec::new() }
}

async fn incorporated(endpoint: &Endpoint, source: Source, item: Item<Payload>) -> ItemOutcome {
    let report = endpoint.incorporate(&notes(), source, vec![item], None).await.unwrap();
    report.items[0].outcome
}

async fn contents(endpoint: &Endpoint) -> Vec<String> {
    let stored = endpoint.item(&notes(), &id("a")).await.unwrap();
    let mut titles: Vec<_> = stored
        .item
        .versions()
        .map(|version| entry(&version.payload).title.unwrap_or_default())
        .collect();
    titles.sort();
    titles
}

#[tokio::test]
async fn b16_a_peer_that_uses_up_our_own_line_costs_no_edit() {
    let (endpoint, _) = endpoint().await;
    endpoint.add(&notes(), id("a"), Creation::default(), payload("ours")).await.unwrap();
    let ours = endpoint.identity().await.unwrap().by;
    let poison = signed("theirs", 2, &[(MAX_COUNTER, &ours)]);
    incorporated(&endpoint, Source::Offered, poison).await;
    let identity = endpoint.identity().await.unwrap();
    assert_ne!(identity.by, ours, "the line is given away");
    assert_eq!(identity.retired, [ours]);
    assert_eq!(contents(&endpoint).await, ["ours", "theirs"]);
    let edit = Edit::from(payload("on"));
    endpoint.edit(&notes(), &id("a"), None, edit).await.unwrap();
    assert!(contents(&endpoint).await.contains(&"on".to_owned()));
}

#[tokio::test]
async fn t10_an_own_edit_below_a_foreign_winner_is_not_discarded() {
    let (endpoint, _) = endpoint().await;
    let new = NewRemote {
        collection: notes(),
        name: None,
        url: "http://h/feed".to_owned(),
        subscription: None,
    };
    let remote = endpoint.store().add_remote(new).await.unwrap().id;
    let (ann, bob) = (By::new("ann").unwrap(), By::new("bob").unwrap());
    let created = signed("created", 1, &[(1, &ann)]);
    incorporated(&endpoint, Source::Remote(remote), created).await;
    endpoint.edit(&notes(), &id("a"), None, Edit::from(payload("mine"))).await.unwrap();
    let theirs = signed("theirs", 3, &[(3, &bob), (2, &bob), (1, &ann)]);
    let outcome = incorporated(&endpoint, Source::Remote(remote), theirs).await;
    assert_eq!(outcome, ItemOutcome::Conflict);
    let winner = endpoint.item(&notes(), &id("a")).await.unwrap().item.winner;
    assert_eq!(winner.dot().by(), Some(&bob));
    let discarded =
        endpoint.discard_absent(&notes(), remote, &SeenVersions::default()).await.unwrap();
    assert_eq!(discarded, 0);
    assert_eq!(contents(&endpoint).await, ["mine", "theirs"]);
}

#[tokio::test]
async fn r_f24_purging_takes_the_oldest_changes_and_moves_since_to_the_last_it_took() {
    let (endpoint, clock) = endpoint().await;
    for (name, second) in [("a", 1_000), ("b", 2_000), ("c", 3_000)] {
        clock.seconds.store(second, Ordering::SeqCst);
        endpoint.add(&notes(), id(name), Creation::default(), payload(name)).await.unwrap();
        endpoint.edit(&notes(), &id(name), None, Edit::delete()).await.unwrap();
    }
    let before = Moment::from_micros(2_500 * 1_000_000);
    let retention = Retention { changed_before: before, live: false };
    assert_eq!(endpoint.purge(&notes(), retention).await.unwrap(), 0, "nobody was shown them");
    let last = endpoint.collection(&notes()).await.unwrap().last;
    endpoint.mark_sent(&notes(), last).await.unwrap();
    let second = endpoint.item(&notes(), &id("b")).await.unwrap().number;
    assert_eq!(endpoint.purge(&notes(), retention).await.unwrap(), 2);
    let collection = endpoint.collection(&notes()).await.unwrap();
    assert_eq!((collection.horizon, collection.last), (second, last));
    assert!(endpoint.item(&notes(), &id("c")).await.is_ok());
    let gone = signed("a", 1, &[(1, &endpoint.identity().await.unwrap().by)]);
    assert_eq!(incorporated(&endpoint, Source::Offered, gone).await, ItemOutcome::Unchanged);
}
