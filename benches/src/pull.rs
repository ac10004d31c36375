//! A first pull, durable on both sides, compared to a plain insertion of the same rows.

use std::path::Path;
use std::time::{Duration, Instant};

use feedsync_server::Config;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tempfile::TempDir;

use crate::measure::{ROUNDS, Times, ratio};
use crate::memory::{pull_once, subscriber};
use crate::process::processor_time;
use crate::sample;

/// Number of items, unless `FEEDSYNC_BENCH_ITEMS` is lower.
const ITEMS: usize = 100_000;

/// Number of rows in one transaction, as in the pull.
const BATCH: usize = 1_000;

const COLUMNS: usize = 15;

pub(crate) fn run() {
    let count = ITEMS.min(sample::max_items());
    let runtime = sample::runtime();
    let hub = TempDir::new().expect("a directory");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = runtime.block_on(async {
        let endpoint = sample::create(hub.path(), "hub").await;
        sample::fill(&endpoint, &sample::ids(&endpoint, count)).await;
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
        let stop = async {
            // An error also means that the sender is gone.
            let _ = stopped.await;
        };
        feedsync_server::serve(endpoint, config, stop).await.expect("a port")
    });
    let url = format!("http://{}/collections/notes", serving.address());
    let mut pulls = [Vec::new(), Vec::new()];
    let mut inserts = [Vec::new(), Vec::new()];
    let mut rows = Vec::new();
    for round in 0..=ROUNDS {
        let directory = TempDir::new().expect("a directory");
        let session = runtime.block_on(subscriber(directory.path()));
        let pulled = timed(|| runtime.block_on(pull_once(&session, &url)));
        assert_eq!(pulled.outcome, count as u64);
        drop(session);
        if rows.is_empty() {
            rows = read_rows(directory.path());
        }
        let directory = TempDir::new().expect("a directory");
        drop(runtime.block_on(sample::create(directory.path(), "bare")));
        let mut connection = connect(directory.path());
        let inserted = timed(|| insert(&mut connection, &rows));
        if round > 0 {
            for (times, time) in [(&mut pulls, pulled.times), (&mut inserts, inserted.times)] {
                times[0].push(time[0]);
                times[1].push(time[1]);
            }
        }
    }
    let _ = stop.send(());
    runtime.block_on(serving.finished()).expect("a hub that ends in order");
    let [pulls, inserts] = [pulls, inserts].map(|times| times.map(Times::new));
    println!("## A first pull of {count} items of about {} bytes\n", sample::PAYLOAD_BYTES);
    println!(
        "| | time | items a second | ratio | processor time, hub included | ratio |\n\
         |---|---|---|---|---|---|"
    );
    for (name, times) in [("pulled from the hub", &pulls), ("bare insert", &inserts)] {
        println!(
            "| {name}, transactions of {BATCH} | {} | {:.0} | {:.2} | {} | {:.2} |",
            times[0],
            times[0].rate(count),
            ratio(&times[0], &inserts[0]),
            times[1],
            ratio(&times[1], &inserts[1]),
        );
    }
    println!();
}

struct Timed<T> {
    outcome: T,
    /// Elapsed time, and processor time of the whole process.
    times: [Duration; 2],
}

fn timed<T>(work: impl FnOnce() -> T) -> Timed<T> {
    let (began, before) = (Instant::now(), processor_time());
    let outcome = work();
    Timed { outcome, times: [began.elapsed(), processor_time() - before] }
}

/// Reads all rows that a pull has stored in `items`, in order; there are no conflicts and blobs.
fn read_rows(directory: &Path) -> Vec<[Value; COLUMNS]> {
    let connection = connect(directory);
    let sql = "SELECT change_key, collection, id, edited, created_here, origin, conflicts, blobs,
                      updates, deleted, noconflicts, history, format, payload, sync_foreign
                 FROM items ORDER BY change_key";
    let mut statement = connection.prepare(sql).expect("our schema");
    let mut found = statement.query([]).expect("rows");
    let mut rows = Vec::new();
    while let Some(row) = found.next().expect("a row") {
        rows.push(std::array::from_fn(|column| row.get(column).expect("a value")));
    }
    rows
}

/// Opens a connection with the settings of a store's writer.
fn connect(directory: &Path) -> Connection {
    let connection = Connection::open(directory.join("feedsync.db")).expect("a database");
    let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000;";
    connection.execute_batch(settings).expect("settings");
    connection
}

fn insert(connection: &mut Connection, rows: &[[Value; COLUMNS]]) {
    let sql = "INSERT INTO items (change_key, collection, id, edited, created_here, origin,
                                  conflicts, blobs, updates, deleted, noconflicts, history, format,
                                  payload, sync_foreign)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    for batch in rows.chunks(BATCH) {
        let transaction = connection.transaction().expect("a transaction");
        let mut statement = transaction.prepare_cached(sql).expect("our schema");
        for row in batch {
            statement.execute(params_from_iter(row)).expect("a row");
        }
        drop(statement);
        transaction.commit().expect("durable");
    }
}
