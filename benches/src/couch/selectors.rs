//! A changes feed with a selector that starts at the beginning, and that matches only the last document.

use std::time::{Duration, Instant};

use super::BATCH;
use super::server::{Server, count, expect};
use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times};
use crate::sample;

/// Number of documents that do not match.
const NON_MATCHING: usize = 100_000;

/// Time after which a feed has skipped all of them and waits.
const IDLE_TIME: Duration = Duration::from_secs(1);

const FEED: &str = "vault/_changes?feed=longpoll&filter=_selector&since=0&timeout=30000";

pub(super) async fn run(hub: Server) {
    let leaves = NON_MATCHING.min(sample::max_items());
    fill(&hub, leaves).await;
    let by_type = hub.request("POST", FEED, "{\"selector\":{\"type\":\"note\"}}");
    let by_member = hub.request("POST", FEED, "{\"selector\":{\"author\":\"anna\"}}");
    let (mut waited, mut found, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        // No document matches until the note is written.
        let following = tokio::spawn(reported_at(hub.connect().await, by_type.clone()));
        tokio::time::sleep(IDLE_TIME).await;
        assert!(!following.is_finished(), "there is nothing to be told");
        let written = Instant::now();
        let note = "{\"type\":\"note\",\"author\":\"anna\"}";
        let note = hub.ask("PUT", "vault/note", note, 201).await;
        let arrived = following.await.expect("a feed");
        let connection = hub.connect().await;
        let asked = Instant::now();
        let first = reported_at(connection, by_type.clone()).await - asked;
        let connection = hub.connect().await;
        let asked = Instant::now();
        let second = reported_at(connection, by_member.clone()).await - asked;
        let text = String::from_utf8(note.body).expect("UTF-8");
        let revision = text.split_once("\"rev\":\"").expect("a revision").1;
        let revision = revision.split_once('"').expect("a revision").0;
        hub.ask("DELETE", &format!("vault/note?rev={revision}"), "", 200).await;
        if round > 0 {
            waited.push(arrived - written);
            found.push(first);
            read.push(second);
        }
    }
    println!("### A feed with a selector, behind by {leaves} documents that are not meant\n");
    println!("| | after |\n|---|---|");
    for (what, times) in [
        ("the one that is meant is there: its row, from the request on", found),
        ("it is written while the feed waits: its row, from the edit on", waited),
        ("the same as the first, by a member for which each document is read", read),
    ] {
        println!("| {what} | {} |", Times::new(times));
    }
    println!();
}

/// Returns the time at which a feed has reported the matching document.
async fn reported_at(mut connection: Connection, request: Vec<u8>) -> Instant {
    let answer = expect(&mut connection, &request, 200).await;
    let at = Instant::now();
    assert_eq!(count(&answer, "\"id\":\"note\""), 1);
    assert_eq!(count(&answer, "\"seq\":"), 1);
    at
}

async fn fill(hub: &Server, leaves: usize) {
    hub.ask("PUT", "vault", "", 201).await;
    let mut connection = hub.connect().await;
    let numbers: Vec<usize> = (0..leaves).collect();
    for batch in numbers.chunks(BATCH) {
        let leaf = |number: &usize| {
            let text = "Nothing of note happened. More about it tomorrow. ".repeat(3);
            format!("{{\"_id\":\"leaf-{number:06}\",\"type\":\"leaf\",\"text\":\"{text}\"}}")
        };
        let rows: Vec<String> = batch.iter().map(leaf).collect();
        let body = format!("{{\"docs\":[{}]}}", rows.join(","));
        let answer =
            expect(&mut connection, &hub.request("POST", "vault/_bulk_docs", &body), 201).await;
        assert_eq!(count(&answer, "\"ok\":true"), batch.len());
    }
}
