//! Logs that several nodes share, on a server that crashes, is restored or fails over, and damage.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_store::conformance::logs::{append, begun, done, grown, read_all};
use feedsync_store::conformance::samples::{create, named};
use feedsync_store::conformance::wait;
use feedsync_store::{
    EndpointName, Environment as _, Expected, ItemStore as _, LogOutcome, LogPosition, Logs as _,
    Moment, NewGeneration, NewSnapshot, PostgresStore, StoreError, SystemEnvironment,
};
use feedsync_test::postgres::Cluster;

/// A store with a log, opened by several nodes.
fn nodes(cluster: &Cluster, count: usize) -> (String, Vec<Arc<PostgresStore>>) {
    let url = cluster.database();
    let name = EndpointName::new("tester").unwrap();
    let first = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    create(&first, "notes");
    begun(&first, &named("notes"), b"begun\n");
    let others = (1..count).map(|_| open(&url));
    let nodes = std::iter::once(first).chain(others).map(Arc::new).collect();
    (url, nodes)
}

fn open(url: &str) -> PostgresStore {
    wait(PostgresStore::open(url, Arc::new(SystemEnvironment))).unwrap()
}

fn place(store: &PostgresStore) -> LogPosition {
    wait(store.log(&named("notes"))).unwrap().unwrap().place
}

fn database(url: &str) -> &str {
    url.rsplit('=').next().unwrap()
}

/// Appends a record at the end of the log, or compacts the log without loss. Returns the record once it is
/// acknowledged, and nothing if another node was faster.
fn write(store: &PostgresStore, number: u64) -> Result<Option<String>, StoreError> {
    let notes = named("notes");
    let Some(log) = wait(store.log(&notes))? else { return Ok(None) };
    let expected = Expected::At(vec![log.place]);
    if number % 7 == 6 {
        let (generation, length) = (log.place.generation, log.place.length as usize);
        let bytes = wait(store.read_log(&notes, generation, 0, length))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let new = NewGeneration { expected, bytes, most: u64::MAX, act: None };
        wait(store.begin_log_generation(&notes, new))?;
        return Ok(None);
    }
    let record = format!("{:016x}\n", SystemEnvironment.random());
    match wait(store.append_to_log(&notes, append(expected, record.as_bytes())))? {
        LogOutcome::Done(_) => Ok(Some(record)),
        LogOutcome::PositionMismatch(_) => Ok(None),
        other => panic!("{other:?}"),
    }
}

/// Nodes append to one log and compact it while the server crashes repeatedly: every acknowledged record is
/// present, complete and once.
#[test]
fn nodes_that_share_a_log_lose_no_record_when_the_server_crashes() {
    let cluster = Cluster::start();
    let (url, nodes) = nodes(&cluster, 2);
    let writing = Arc::new(AtomicBool::new(true));
    let writers: Vec<_> = (0..6)
        .map(|number| {
            let (store, writing) = (nodes[number % 2].clone(), writing.clone());
            thread::spawn(move || {
                let mut said = Vec::new();
                for number in 0.. {
                    if !writing.load(Ordering::SeqCst) {
                        break;
                    }
                    match write(&store, number) {
                        Ok(record) => said.extend(record),
                        Err(StoreError::Database(_) | StoreError::Unknown(_)) => {
                            thread::sleep(Duration::from_millis(5));
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                said
            })
        })
        .collect();
    for _ in 0..3 {
        let before = place(&open(&url));
        cluster.crash();
        let begin = Instant::now();
        while wait(nodes[0].log(&named("notes"))).map(|log| log.unwrap().place).ok() <= Some(before)
        {
            assert!(begin.elapsed() < Duration::from_secs(30), "it goes on by itself");
            thread::sleep(Duration::from_millis(5));
        }
    }
    writing.store(false, Ordering::SeqCst);
    let said: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    let store = open(&url);
    let bytes = read_all(&store, &named("notes"), place(&store).generation).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let kept: BTreeSet<&str> = text.split_inclusive('\n').collect();
    assert_eq!(kept.len(), text.lines().count(), "each once");
    assert!(kept.iter().all(|record| record.len() == 17 || *record == "begun\n"), "none is torn");
    assert!(!said.is_empty() && said.iter().all(|record| kept.contains(&**record)), "none is lost");
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// Appends are noticed by a notification, or otherwise by polling once a second.
#[test]
fn appends_of_another_node_are_noticed() {
    let (_, nodes) = nodes(Cluster::shared(), 2);
    let mut notices = nodes[0].subscribe(&named("notes"));
    let mut heard = |most| {
        wait(async { tokio::time::timeout(Duration::from_millis(most), notices.next()).await })
    };
    while heard(1_500).is_ok() {}
    grown(&*nodes[1], &named("notes"), b"more\n");
    assert_eq!(heard(5_000), Ok(true));
}

/// A restored database, or a server that took over, may lack bytes that others have read. The log continues
/// in a new generation. Running nodes detect this at the next append, before anything is appended.
#[test]
fn a_log_that_was_put_back_or_taken_over_goes_on_in_a_new_generation() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 2);
    let notes = named("notes");
    let before = place(&nodes[0]);
    let (covers, bytes) = (before, b"{}".to_vec());
    let new = NewSnapshot { covers, media_type: "application/json".to_owned(), bytes };
    done(wait(nodes[0].put_log_snapshot(&notes, new)));
    let former = "UPDATE feedsync.endpoint SET place = regexp_replace(place, '.{8}$', '00000000')";
    cluster.sql(database(&url), former);
    let late = append(Expected::At(vec![before]), b"late\n");
    let late = wait(nodes[1].append_to_log(&notes, late)).unwrap();
    let taken_over = place(&nodes[0]);
    assert!(matches!(late, LogOutcome::PositionMismatch(log) if log.place == taken_over));
    assert!(taken_over.generation > before.generation);
    assert_eq!(taken_over.length, before.length);
    let bytes =
        |store: &PostgresStore, place: LogPosition| read_all(store, &notes, place.generation);
    assert_eq!(bytes(&nodes[0], before), None);
    assert_eq!(bytes(&nodes[0], taken_over), Some(b"begun\n".to_vec()));
    let (snapshot, _) = wait(nodes[0].log_snapshot(&notes)).unwrap().unwrap();
    assert_eq!(snapshot.covers, taken_over, "it stands for what it stood for");

    let dump = cluster.dump(database(&url));
    let lost = grown(&*nodes[0], &notes, b"lost\n").place;
    drop(nodes);
    cluster.sql(database(&url), "DROP SCHEMA feedsync CASCADE");
    cluster.sql(database(&url), &dump);
    let store = open(&url);
    let put_back = place(&store);
    assert!(put_back.generation > lost.generation && put_back.length == before.length);
    grown(&store, &notes, b"more\n");
    assert_eq!(bytes(&store, put_back), Some(b"begun\nmore\n".to_vec()));
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

fn rows(cluster: &Cluster, url: &str) -> u64 {
    cluster.sql(database(url), "SELECT count(*) FROM feedsync.log_bytes").trim().parse().unwrap()
}

/// Short appends are merged into few rows; a lost row is not replaced.
#[test]
fn a_log_of_short_appends_has_few_rows() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 1);
    let notes = named("notes");
    let mut all = b"begun\n".to_vec();
    let mut place = place(&nodes[0]);
    let mut grow = |all: &mut Vec<u8>, count| {
        for number in 0..count {
            let record = format!("{number:0>999}\n").into_bytes();
            place = grown(&*nodes[0], &notes, &record).place;
            all.extend(record);
        }
        place
    };
    let place = grow(&mut all, 150);
    let read = |from: usize, most| {
        wait(nodes[0].read_log(&notes, place.generation, from as u64, most)).unwrap().unwrap()
    };
    assert!(rows(cluster, &url) < 30, "{}", rows(cluster, &url));
    for (from, most) in [(0, 200_000), (64_999, 2_000), (65_536, 1), (131_070, 15_000), (7, 70_000)]
    {
        assert!(read(from, most) == all[from..all.len().min(from + most)], "{from} {most}");
    }
    cluster.sql(database(&url), "DELETE FROM feedsync.log_bytes WHERE start = 140006");
    grow(&mut all, 70);
    assert!(read(131_000, 9_006) == all[131_000..140_006]);
    assert!(read(141_006, 70_000) == all[141_006..211_006]);
    let lost = wait(nodes[0].read_log(&notes, place.generation, 140_000, 100));
    assert!(matches!(lost, Err(StoreError::Damaged(_))), "{lost:?}");
}

/// Bytes of a removed generation are removed immediately, or by the next sweep if the node did not finish.
#[test]
fn bytes_of_removed_generations_are_removed() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 1);
    let notes = named("notes");
    grown(&*nodes[0], &notes, &vec![b'x'; 10 << 20]);
    assert!(rows(cluster, &url) > 150, "more than go at once");
    done(wait(nodes[0].remove_log(&notes, Expected::Present, None)));
    assert_eq!(rows(cluster, &url), 0);
    let log = begun(&*nodes[0], &notes, b"again\n");
    for of in ["id, '1.0000000a'", "id, '7.0000000a'", "id + 1000, '1.0000000a'"] {
        let left = format!(
            "INSERT INTO feedsync.log_bytes (collection, generation, start, bytes)
             SELECT {of}, n, 'x' FROM feedsync.collections, generate_series(0, 199) n"
        );
        cluster.sql(database(&url), &left);
    }
    assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
    assert_eq!(wait(nodes[0].sweep_logs(Moment::default())).unwrap(), 0);
    assert_eq!(rows(cluster, &url), 1);
    let bytes = read_all(&*nodes[0], &notes, log.place.generation);
    assert_eq!(bytes, Some(b"again\n".to_vec()));
}

/// Missing bytes yield an error for reads and checks; a dropped log leaves none.
#[test]
fn a_log_whose_bytes_are_damaged_says_so() {
    let cluster = Cluster::shared();
    let (url, nodes) = nodes(cluster, 1);
    let notes = named("notes");
    let log = grown(&*nodes[0], &notes, b"more\n");
    cluster.sql(database(&url), "DELETE FROM feedsync.log_bytes WHERE start = 0");
    let read = wait(nodes[0].read_log(&notes, log.place.generation, 0, 100));
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    let faults = wait(nodes[0].check()).unwrap();
    assert_eq!(faults, ["logs with missing bytes: 1"]);
    wait(nodes[0].drop_collection(&notes)).unwrap();
    assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
    for table in ["logs", "log_bytes", "log_generations", "log_keys", "log_snapshots"] {
        let count = format!("SELECT count(*) FROM feedsync.{table}");
        assert_eq!(cluster.sql(database(&url), &count), "0", "{table}");
    }
}
