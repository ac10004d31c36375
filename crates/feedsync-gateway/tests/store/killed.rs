//! Tests of a killed process: acknowledged steps are stored, and stored steps are complete.
//!
//! The child process is this test binary, run with the ignored test below.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use feedsync_bitsy::interceptor::Stored as _;
use feedsync_gateway::store::{Quota, Store};
use tempfile::TempDir;

use crate::samples::{LARGE, bytes, durable, edit, open, pin};

const THREADS: u64 = 4;

/// Stores edits until it is killed, and prints what is stored.
#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let (store, rows) = Store::open(Path::new(&directory), Quota::default()).unwrap();
    let first = rows.edits.last().map_or(0, |edit| edit.id.0 / THREADS + 1);
    let store = Arc::new(store);
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                for round in first.. {
                    let number = round * THREADS + thread;
                    let body = pin(&store, number, length(number));
                    let change = edit(number, &number.to_string(), body.content());
                    store.apply(&[durable(vec![change])]).unwrap();
                    println!("\nacknowledged {number}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn length(number: u64) -> usize {
    if number.is_multiple_of(7) { LARGE } else { 100 }
}

#[test]
fn acknowledged_steps_survive_a_kill() {
    let directory = TempDir::new().unwrap();
    let mut acknowledged: Vec<u64> = Vec::new();
    for _ in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["killed::child", "--exact", "--ignored", "--nocapture"])
            .env("FEEDSYNC_CHILD_STORE", directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut seen = 0;
        for line in output.lines() {
            let line = line.unwrap();
            let Some(number) = line.strip_prefix("acknowledged ") else { continue };
            acknowledged.push(number.parse().unwrap());
            seen += 1;
            // The child may have written more by then.
            if seen == 60 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let (store, rows) = open(&directory);
        let reader = store.reader();
        let there: Vec<u64> = rows.edits.iter().map(|edit| edit.id.0).collect();
        for number in &acknowledged {
            assert!(there.contains(number), "{number} was acknowledged");
        }
        for edit in rows.edits {
            let body = edit.requested.body.unwrap().content;
            let number = edit.id.0;
            assert_eq!(reader.content(&body).unwrap(), bytes(number, length(number)));
        }
    }
}
