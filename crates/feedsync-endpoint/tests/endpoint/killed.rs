//! A process is killed 200 times while it edits and merges. All acknowledged changes are stored, to the byte;
//! the change order has no gap; no operation is stored in part; the file is intact.
//!
//! The child process is this test binary, run again with the one ignored test below.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::support::{notes, titled};
use feedsync_core::{
    By, Creation, Format, Item, ItemId, Keep, Payload, Resolution, Resolved, Sequence, Stamp,
};
use feedsync_endpoint::{Endpoint, EndpointError, Source};
use feedsync_store::{
    Digest, EndpointName, Environment as _, ItemStore as _, NewCollection, PageLimit, SqliteStore,
    StoredItem, SystemEnvironment,
};
use tempfile::TempDir;
use tokio::task::JoinSet;

const KILLS: usize = 200;
/// Number of kills of each store.
const KILLS_OF_A_STORE: usize = 20;
const WORKERS: usize = 4;
/// Maximum number of items that an operation changes.
const CHANGES_AT_ONCE: usize = 2;

/// Edits and merges in the store in `FEEDSYNC_CHILD_STORE` until it is killed; prints each acknowledged
/// change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run as a child process by the other test"]
async fn child() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let endpoint = endpoint(open(Path::new(&directory)));
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let kept = ItemId::new(&format!("kept-{worker}")).unwrap();
        workers.spawn(work(endpoint.clone(), kept));
    }
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
}

/// Makes conflicts, in new items and in one that exists as long as the store. Only this worker changes that
/// item, so an unacknowledged change is still its last one after the kill.
async fn work(endpoint: Endpoint, kept: ItemId) {
    if let Err(EndpointError::NoItem { .. }) = endpoint.item(&notes(), &kept).await {
        add(&endpoint, &kept).await;
    }
    loop {
        let fresh = ItemId::new(&format!("fresh-{}", endpoint.new_id())).unwrap();
        add(&endpoint, &fresh).await;
        let mut theirs = Vec::new();
        // Each merge has its own authoring line, which shows the changes that belong together.
        let peer = By::new(&format!("peer.{:x}", SystemEnvironment.random())).unwrap();
        let stamp = Stamp::new(SystemEnvironment.now().timestamp().unwrap(), peer);
        for id in [&kept, &fresh] {
            let mut item = endpoint.item(&notes(), id).await.unwrap().item;
            item.update(&stamp, titled("theirs").into()).unwrap();
            theirs.push(item);
            let edited = endpoint.edit(&notes(), id, None, titled("ours").into()).await.unwrap();
            say(edited.collection.last.get(), &edited.item, edited.item.winner.dot().by());
        }
        let report = endpoint.incorporate(&notes(), Source::Offered, theirs, None).await.unwrap();
        assert_eq!(report.counts.conflict, 2, "{report:?}");
        let last = report.collection.last.get();
        let merged = endpoint.item(&notes(), &kept).await.unwrap().item;
        say(last - 1, &merged, stamp.by());
        say(last, &endpoint.item(&notes(), &fresh).await.unwrap().item, stamp.by());
        let resolution = Resolution {
            resolved: Resolved::All,
            keep: Keep::Content { payload: titled("both"), deleted: None },
        };
        let resolved = endpoint.resolve(&notes(), &merged, resolution).await.unwrap();
        say(resolved.collection.last.get(), &resolved.item, resolved.item.winner.dot().by());
    }
}

async fn add(endpoint: &Endpoint, id: &ItemId) {
    let (notes, creation) = (notes(), Creation::default());
    let created = endpoint.add(&notes, id.clone(), creation, titled("new")).await.unwrap();
    say(created.collection.last.get(), &created.item, created.item.winner.dot().by());
}

/// Prints an acknowledged change: its number, and the item's state with the sequence of a line.
fn say(number: u64, item: &Item<Payload>, line: Option<&By>) {
    let line = line.unwrap();
    let sequence = item.highest(line).unwrap().get();
    println!("\nacknowledged {number} {} {line} {sequence} {}", item.id, digest(item));
}

/// Digest of everything in an item.
fn digest(item: &Item<Payload>) -> Digest {
    Digest::of(format!("{item:?}").as_bytes())
}

#[tokio::test]
async fn a_killed_process_loses_nothing_of_its_edits_and_merges() {
    let mut changes = 0;
    for _ in 0..KILLS / KILLS_OF_A_STORE {
        let directory = TempDir::new().unwrap();
        let name = EndpointName::new("tester").unwrap();
        let store =
            SqliteStore::init(directory.path(), &name, Arc::new(SystemEnvironment)).unwrap();
        let (title, settings) = ("Notes".to_owned(), Default::default());
        let new = NewCollection { name: notes(), title, format: Format::Atom, settings };
        store.create_collection(new).await.unwrap();
        let mut by = store.identity().await.unwrap().by;
        drop(store);
        let mut witness = Witness::default();
        for _ in 0..KILLS_OF_A_STORE {
            let heard = witness.hear(&run_and_kill(directory.path()));
            let store = open(directory.path());
            assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
            let now = store.identity().await.unwrap().by;
            // A process killed before its first commit may leave one of the two marks by which a copy is
            // detected.
            assert!(now == by || heard == 0, "a crash is no copy");
            by = now;
            witness.examine(&endpoint(store)).await;
        }
        assert!(witness.said.len() > KILLS_OF_A_STORE, "the children did something");
        changes += witness.said.len();
    }
    println!("{KILLS} kills, {changes} acknowledged changes");
}

/// Returns the output of a child process that is killed at a random moment.
fn run_and_kill(directory: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed::child", "--exact", "--ignored", "--nocapture"])
        .env("FEEDSYNC_CHILD_STORE", directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    let while_it_opens_the_store = SystemEnvironment.random().is_multiple_of(8);
    while !while_it_opens_the_store && !said.contains("acknowledged") {
        assert_ne!(output.read_line(&mut said).unwrap(), 0, "the child ended by itself");
    }
    std::thread::sleep(Duration::from_micros(SystemEnvironment.random() % 50_000));
    child.kill().unwrap();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "the child ended by itself");
    said
}

/// State of a store as known from acknowledgements.
#[derive(Default)]
struct Witness {
    said: Vec<Said>,
    /// Numbers of changes that were acknowledged or found after a kill.
    numbers: BTreeSet<u64>,
}

/// An acknowledged change.
struct Said {
    number: u64,
    id: ItemId,
    line: By,
    sequence: Sequence,
    digest: String,
}

impl Witness {
    /// Stores the acknowledged changes; returns their number.
    fn hear(&mut self, output: &str) -> usize {
        let heard = self.said.len();
        let before = self.numbers.last().copied().unwrap_or(0);
        for line in output.split_inclusive('\n') {
            // A line that was cut off is not an acknowledgement.
            let line = line.strip_prefix("acknowledged ").and_then(|line| line.strip_suffix('\n'));
            let Some(line) = line else { continue };
            let [number, id, line, sequence, digest] = line.split(' ').collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            let said = Said {
                number: number.parse().unwrap(),
                id: ItemId::new(id).unwrap(),
                line: By::new(line).unwrap(),
                sequence: Sequence::new(sequence.parse().unwrap()).unwrap(),
                digest: digest.to_owned(),
            };
            assert!(said.number > before, "{} is a number of a change before", said.number);
            assert!(self.numbers.insert(said.number), "{} was given twice", said.number);
            self.said.push(said);
        }
        self.said.len() - heard
    }

    async fn examine(&mut self, endpoint: &Endpoint) {
        let (last, found) = everything(endpoint).await;
        for said in &self.said {
            let Said { number, id, line, sequence, digest: expected } = said;
            let stored = found.get(id).unwrap_or_else(|| panic!("{id} was acknowledged"));
            let covered = stored.item.highest(line) >= Some(*sequence);
            assert!(covered, "{id}: {line} {sequence} was acknowledged");
            match stored.number.get() {
                now if now == *number => assert_eq!(digest(&stored.item).to_string(), *expected),
                now => assert!(now > *number, "{id}: change {number} was acknowledged, not {now}"),
            }
        }
        let said = self.numbers.len();
        self.numbers.extend(found.values().map(|stored| stored.number.get()));
        assert!(self.numbers.iter().copied().eq(1..=last), "no gap up to {last}");
        let unsaid = self.numbers.len() - said;
        assert!(unsaid <= WORKERS * CHANGES_AT_ONCE, "{unsaid} changes that nobody made");

        let merges = |kind: &str| {
            let items = found.values().filter(|stored| stored.item.id.as_str().starts_with(kind));
            items.flat_map(|stored| lines(&stored.item, "peer.")).collect::<BTreeSet<_>>()
        };
        assert_eq!(merges("kept"), merges("fresh"), "no half of a merge");
        for stored in found.values() {
            let issued = endpoint.store().issued(&stored.item.id).await.unwrap();
            for line in lines(&stored.item, "tester.") {
                let issued = issued.iter().find(|issued| issued.by == line);
                let issued = issued.map(|issued| issued.sequence);
                assert_eq!(issued, stored.item.highest(&line), "the ledger is of the same commit");
            }
        }
    }
}

/// Returns the authoring lines in an item's histories that have this prefix.
fn lines(item: &Item<Payload>, start: &str) -> BTreeSet<By> {
    let updates = item.versions().flat_map(|version| version.history.updates());
    let lines = updates.filter_map(|update| update.by());
    lines.filter(|line| line.as_str().starts_with(start)).cloned().collect()
}

/// Returns the number of the last change, and all items, read in change order.
async fn everything(endpoint: &Endpoint) -> (u64, BTreeMap<ItemId, StoredItem>) {
    let publication = endpoint.publish(&notes(), None).await.unwrap();
    let mut found = BTreeMap::new();
    let mut after = publication.after;
    loop {
        let page = endpoint.page(&publication, after, PageLimit::items(1_000)).await.unwrap();
        for stored in page.items {
            assert!(stored.number > after, "ascending");
            after = stored.number;
            found.insert(stored.item.id.clone(), stored);
        }
        after = page.through;
        if !page.more {
            return (publication.up_to.get(), found);
        }
    }
}

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, Arc::new(SystemEnvironment)).unwrap()
}

fn endpoint(store: SqliteStore) -> Endpoint {
    Endpoint::new(Arc::new(store), Arc::new(SystemEnvironment))
}
