//! Several nodes on one PostgreSQL database, and a server that is restarted, moved or unreachable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_core::ItemId;
use feedsync_store::conformance::change_order::follow;
use feedsync_store::conformance::samples::{
    all, by, create, id, item, named, put, sequence, store_each,
};
use feedsync_store::conformance::wait;
use feedsync_store::{
    ChangeNumber, CollectionChange, EndpointName, Environment as _, ItemStore, PostgresStore,
    Snapshot, Store, StoreError, SystemEnvironment, Write,
};
use feedsync_test::postgres::Cluster;

fn init(url: &str) -> Result<PostgresStore, StoreError> {
    let name = EndpointName::new("tester").unwrap();
    wait(PostgresStore::init(url, &name, Arc::new(SystemEnvironment)))
}

fn open(url: &str) -> Result<PostgresStore, StoreError> {
    wait(PostgresStore::open(url, Arc::new(SystemEnvironment)))
}

/// A store with a collection of notes, opened by several nodes.
fn nodes(cluster: &Cluster, count: usize) -> (String, Vec<Arc<PostgresStore>>) {
    let url = cluster.database();
    let first = init(&url).unwrap();
    create(&first, "notes");
    let others = (1..count).map(|_| open(&url).unwrap());
    let nodes = std::iter::once(first).chain(others).map(Arc::new).collect();
    (url, nodes)
}

/// Reads and changes an item that all share, and creates one of its own.
fn edit(store: &dyn Store, number: u64) -> Result<(ItemId, ChangeNumber), StoreError> {
    let own = id(&format!("own-{:016x}", SystemEnvironment.random()));
    let shared = id(&format!("shared-{}", number % 5));
    let (named_own, named_shared) = (own.clone(), shared.clone());
    let decide = move |snapshot: &Snapshot| {
        let before = snapshot.item(&named_shared).map_or(0, |item| item.item.winner.updates.get());
        vec![
            put(item(named_shared.as_str(), "A", before + 1)),
            put(item(named_own.as_str(), "A", 1)),
            Write::Issue { item: named_own.clone(), by: by("tester.x"), sequence: sequence(1) },
        ]
    };
    let keys = vec![own.clone(), shared];
    let after = wait(store.update(&named("notes"), keys, Box::new(decide)))?;
    Ok((own, after.last))
}

/// Checks that there is no gap, no partial update, and no lost edit of a shared item; returns the unshared
/// items.
fn check(store: &dyn Store) -> BTreeMap<ItemId, ChangeNumber> {
    let collection = wait(store.collection(&named("notes"))).unwrap().unwrap();
    let items = all(store, &named("notes"));
    assert_eq!(collection.live, items.len() as u64);
    let mut edits = 0;
    let mut own = BTreeMap::new();
    for stored in items {
        if stored.item.id.as_str().starts_with("shared") {
            edits += u64::from(stored.item.winner.updates.get());
        } else {
            own.insert(stored.item.id, stored.number);
        }
    }
    let mut numbers: Vec<u64> = own.values().map(|number| number.get()).collect();
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..=collection.last.get() / 2).map(|update| update * 2).collect();
    assert_eq!(numbers, expected, "no gap and no half of an update");
    assert_eq!(edits, own.len() as u64, "each edit of a shared item was made on the one before");
    for id in own.keys() {
        assert_eq!(wait(store.issued(id)).unwrap().len(), 1, "the ledger is of the same commit");
    }
    own
}

fn own(items: BTreeMap<ItemId, ChangeNumber>) -> BTreeMap<ItemId, ChangeNumber> {
    items.into_iter().filter(|(id, _)| id.as_str().starts_with("own")).collect()
}

#[test]
fn nodes_that_share_a_database_write_one_order() {
    let (_, nodes) = nodes(Cluster::shared(), 3);
    let writing = Arc::new(AtomicUsize::new(1));
    let followers: Vec<_> = (0..4)
        .map(|number| {
            let (store, writing) = (nodes[number % 3].clone(), writing.clone());
            thread::spawn(move || follow(&*store, &named("notes"), &writing, number % 2 == 0))
        })
        .collect();
    let writers: Vec<_> = (0..24)
        .map(|number| {
            let store = nodes[number % 3].clone();
            thread::spawn(move || {
                let edits = (0..20).map(|number| edit(&*store, number).unwrap());
                edits.collect::<BTreeMap<ItemId, ChangeNumber>>()
            })
        })
        .collect();
    let mut said = BTreeMap::new();
    writers.into_iter().for_each(|writer| said.append(&mut writer.join().unwrap()));
    writing.store(0, Ordering::SeqCst);
    assert_eq!(said.len(), 24 * 20);
    for follower in followers {
        assert_eq!(own(follower.join().unwrap()), said, "no follower misses or repeats a change");
    }
    assert_eq!(check(&*nodes[1]), said);
}

/// One item in two collections, signed on two nodes: the ledger never issues a sequence twice.
#[test]
fn a_sequence_is_issued_once_over_all_collections_and_nodes() {
    let (_, nodes) = nodes(Cluster::shared(), 2);
    create(&*nodes[0], "books");
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let store = nodes[number % 2].clone();
            let name = named(if number % 4 < 2 { "notes" } else { "books" });
            thread::spawn(move || {
                let mut issued = Vec::new();
                for _ in 0..20 {
                    let given = Arc::new(std::sync::Mutex::new(0));
                    let gives = given.clone();
                    let decide = move |snapshot: &Snapshot| {
                        let line = by("tester.x");
                        let next = snapshot
                            .issued(&id("a"), &line)
                            .map_or(1, |row| row.sequence.get() + 1);
                        *gives.lock().unwrap() = next;
                        vec![Write::Issue { item: id("a"), by: line, sequence: sequence(next) }]
                    };
                    wait(store.update(&name, vec![id("a"), id("b")], Box::new(decide))).unwrap();
                    issued.push(*given.lock().unwrap());
                }
                issued
            })
        })
        .collect();
    let mut issued: Vec<u32> =
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    issued.sort_unstable();
    assert_eq!(issued, (1..=160).collect::<Vec<u32>>());
}

/// A change of settings only is noticed on another node by its notification, because polling does not detect
/// it.
#[test]
fn commits_of_another_node_are_noticed() {
    let (_, nodes) = nodes(Cluster::shared(), 2);
    let mut notices = nodes[0].subscribe(&named("notes"));
    thread::sleep(Duration::from_millis(1_500));
    while wait(async { tokio::time::timeout(Duration::ZERO, notices.next()).await }).is_ok() {}
    let settings = Some([("public".to_owned(), "yes".to_owned())].into());
    let change = CollectionChange { settings, ..Default::default() };
    let begin = Instant::now();
    wait(nodes[1].change_collection(&named("notes"), change)).unwrap();
    let heard = async { tokio::time::timeout(Duration::from_secs(5), notices.next()).await };
    assert_eq!(wait(heard), Ok(true));
    println!("noticed after {:?}", begin.elapsed());
}

/// A copy of the database signs anew in new epochs, and so does a restored dump of the original. The original
/// continues unchanged.
#[test]
fn a_copied_database_is_another_incarnation() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 1);
    let before = wait(nodes[0].identity()).unwrap();
    let epoch = wait(nodes[0].collection(&named("notes"))).unwrap().unwrap().epoch;
    store_each(&*nodes[0], &named("notes"), &["a"]);
    drop(nodes);
    let name = url.rsplit('=').next().unwrap();
    let copy = format!("{name}_copy");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10)
        && cluster.sql(
            "postgres",
            &format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"),
        ) != "0"
    {
        thread::sleep(Duration::from_millis(20));
    }
    cluster.sql("postgres", &format!("CREATE DATABASE {copy} TEMPLATE {name}"));

    let copied = open(&cluster.url(&copy)).unwrap();
    let after = wait(copied.identity()).unwrap();
    assert_ne!(after.by, before.by);
    assert_eq!(after.retired, std::slice::from_ref(&before.by));
    assert!(wait(copied.collection(&named("notes"))).unwrap().unwrap().epoch > epoch);
    assert_eq!(all(&copied, &named("notes")).len(), 1);
    drop(copied);
    assert_eq!(wait(open(&cluster.url(&copy)).unwrap().identity()).unwrap(), after, "settled once");

    let original = open(&url).unwrap();
    assert_eq!(wait(original.identity()).unwrap(), before);
    assert_eq!(wait(original.collection(&named("notes"))).unwrap().unwrap().epoch, epoch);
}

/// The server crashes repeatedly while eight threads on two nodes write. All acknowledged writes are present,
/// and the stores continue without intervention. Only a commit that was in progress has an unknown outcome.
#[test]
fn a_crash_of_the_server_loses_nothing_that_was_acknowledged() {
    let cluster = Cluster::start();
    let (url, nodes) = nodes(&cluster, 2);
    let identity = wait(nodes[0].identity()).unwrap();
    let writing = Arc::new(AtomicBool::new(true));
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let (store, writing) = (nodes[number % 2].clone(), writing.clone());
            thread::spawn(move || {
                let (mut said, mut failed, mut unknown) = (BTreeMap::new(), 0, 0);
                let mut number = 0;
                while writing.load(Ordering::SeqCst) {
                    match edit(&*store, number) {
                        Ok((id, number)) => drop(said.insert(id, number)),
                        Err(StoreError::Unknown(_)) => unknown += 1,
                        Err(StoreError::Database(_)) => {
                            failed += 1;
                            thread::sleep(Duration::from_millis(5));
                        }
                        Err(error) => panic!("{error}"),
                    }
                    number += 1;
                }
                (said, failed, unknown)
            })
        })
        .collect();
    let rounds = if std::env::var_os("FEEDSYNC_LONG").is_some() { 20 } else { 3 };
    for _ in 0..rounds {
        thread::sleep(Duration::from_millis(300 + SystemEnvironment.random() % 200));
        cluster.crash();
    }
    thread::sleep(Duration::from_millis(300));
    let recovered = Instant::now();
    for store in &nodes {
        while edit(&**store, 0).is_err() {
            assert!(
                recovered.elapsed() < Duration::from_secs(20),
                "the store comes back by itself"
            );
        }
    }
    writing.store(false, Ordering::SeqCst);
    let (mut said, mut failed, mut unknown) = (BTreeMap::new(), 0, 0);
    for writer in writers {
        let (mut own, others, unsure) = writer.join().unwrap();
        said.append(&mut own);
        failed += others;
        unknown += unsure;
    }
    println!("{} acknowledged, {failed} refused, {unknown} of unknown outcome", said.len());
    assert!(failed + unknown > 0, "the crashes were felt");
    let found = check(&open(&url).unwrap());
    for (id, number) in &said {
        assert_eq!(found.get(id), Some(number), "{id} was acknowledged");
    }
    assert_eq!(wait(nodes[0].identity()).unwrap(), identity, "a crash is no copy");
}

/// While the server is unreachable, every method returns an error soon, and none hangs.
#[test]
fn unreachable_server_is_an_error_soon() {
    let cluster = Cluster::start();
    let (url, nodes) = nodes(&cluster, 1);
    cluster.control(&["-m", "immediate", "stop"]);
    let begin = Instant::now();
    for _ in 0..3 {
        let read = wait(nodes[0].collection(&named("notes")));
        assert!(matches!(read, Err(StoreError::Database(_))), "{read:?}");
        let written = edit(&*nodes[0], 0);
        assert!(matches!(written, Err(StoreError::Database(_))), "{written:?}");
    }
    let opened = open(&url);
    assert!(matches!(opened, Err(StoreError::Database(_))), "{opened:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    cluster.control(&["-l", "server.log", "start"]);
    edit(&*nodes[0], 0).unwrap();
    check(&*nodes[0]);
}

/// Concurrent commits are batched: 64 writers reach at least five times the rate of one.
#[test]
fn many_writers_share_commits() {
    let (_, nodes) = nodes(Cluster::shared(), 1);
    let rate = |writers: usize, duration: Duration| {
        let until = Instant::now() + duration;
        let begin = Instant::now();
        let threads: Vec<_> = (0..writers)
            .map(|_| {
                let store = nodes[0].clone();
                thread::spawn(move || {
                    let mut count = 0_u32;
                    while Instant::now() < until {
                        let name = format!("own-{:016x}", SystemEnvironment.random());
                        store_each(&*store, &named("notes"), &[&name]);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let count: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        f64::from(count) / begin.elapsed().as_secs_f64()
    };
    rate(1, Duration::from_millis(200));
    let one = rate(1, Duration::from_secs(2));
    let many = rate(64, Duration::from_secs(2));
    println!("one writer {one:.0} edits/s, 64 writers {many:.0} edits/s, {:.1} times", many / one);
    // The exact factor requires a quiet machine; a rate that is not higher would mean that no commit is
    // shared.
    assert!(many > one, "{one:.0} and {many:.0} edits a second");
}

/// A dump that is restored in place of the current state is an earlier state, and becomes another
/// incarnation.
#[test]
fn a_restored_dump_is_another_incarnation() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 1);
    let before = wait(nodes[0].identity()).unwrap();
    store_each(&*nodes[0], &named("notes"), &["a"]);
    let name = url.rsplit('=').next().unwrap();
    let dump = cluster.dump(name);
    store_each(&*nodes[0], &named("notes"), &["b"]);
    drop(nodes);
    cluster.sql(name, "DROP SCHEMA feedsync CASCADE");
    cluster.sql(name, &dump);
    let store = open(&url).unwrap();
    let after = wait(store.identity()).unwrap();
    assert_eq!(after.retired, [before.by]);
    assert_eq!(all(&store, &named("notes")).len(), 1);
    store_each(&store, &named("notes"), &["c"]);
}

/// A standby that took over has the store's identification except for the timeline. Running nodes detect that
/// at their next commit.
#[test]
fn a_server_on_another_timeline_is_another_incarnation() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 2);
    let before = wait(nodes[0].identity()).unwrap();
    let epoch = wait(nodes[0].collection(&named("notes"))).unwrap().unwrap().epoch;
    store_each(&*nodes[0], &named("notes"), &["a"]);
    // As if it had been written on the previous timeline.
    let name = url.rsplit('=').next().unwrap();
    let former = "UPDATE feedsync.endpoint SET place = regexp_replace(place, '.{8}$', '00000000')";
    cluster.sql(name, former);
    let writers: Vec<_> = nodes
        .iter()
        .map(|node| {
            let node = node.clone();
            thread::spawn(move || edit(&*node, 0).unwrap())
        })
        .collect();
    writers.into_iter().for_each(|writer| drop(writer.join().unwrap()));
    let after = wait(nodes[1].identity()).unwrap();
    assert_eq!(after.retired, [before.by], "settled once");
    assert!(wait(nodes[0].collection(&named("notes"))).unwrap().unwrap().epoch > epoch);
}
