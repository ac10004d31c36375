//! Tests that damaged bytes are neither served nor sent.

use std::path::Path;

use feedsync_gateway::Config;
use http::Method;
use rusqlite::Connection;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::kept::{ATOM, Kept, Site, entry};
use crate::support::{DEADLINE, config};

/// A feed with a member, and with a linked page that is too large for the database.
const LINKED: &str = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>\
    <id>urn:feed</id><title>f</title><updated>2008-05-21T00:00:00Z</updated>\
    <app:collection href='/members'/><link rel='related' href='/large'/>\
    <entry><id>urn:E</id><title>E</title><link rel='edit' href='/entry'/></entry></feed>";

fn large() -> String {
    "large ".repeat(20_000)
}

async fn keeping() -> (Site, Kept, Config) {
    let site = Site::start().await;
    site.answers("GET /feed", 200, ATOM, LINKED);
    site.answers("GET /entry", 200, ATOM, &entry("E"));
    site.answers("GET /large", 200, "Content-Type: text/plain\r\n", &large());
    site.answers("PUT /entry", 200, "", "");
    let config = config(&[], &[&site.address.to_string()]);
    let kept = Kept::of(config.clone()).await;
    kept.subscribe(json!({ "feed": site.url("/feed"), "follows": ["edit", "related"] })).await;
    (site, kept, config)
}

/// Flips one bit in the middle of each stored content.
fn flip_all(directory: &Path) {
    let connection = Connection::open(directory.join("gateway.db")).unwrap();
    let mut statement = connection.prepare("SELECT rowid, bytes FROM content").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(i64, Option<Vec<u8>>)> = rows.collect::<Result<_, _>>().unwrap();
    assert!(rows.len() >= 3, "feed, entry and page");
    for (id, bytes) in rows {
        let Some(mut bytes) = bytes else { continue };
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let sql = "UPDATE content SET bytes = ?1 WHERE rowid = ?2";
        connection.execute(sql, (bytes, id)).unwrap();
    }
    let mut files = 0;
    for entry in std::fs::read_dir(directory.join("contents")).unwrap() {
        let entry = entry.unwrap().path();
        for file in std::fs::read_dir(entry).unwrap() {
            let file = file.unwrap().path();
            let mut bytes = std::fs::read(&file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(file, bytes).unwrap();
            files += 1;
        }
    }
    assert!(files >= 1, "the page is in a file");
}

#[tokio::test]
async fn damaged_bytes_are_fetched_again_with_a_network() {
    let (site, kept, config) = keeping().await;
    let kept = kept.again_after(&config, flip_all).await;
    for (path, true_body) in
        [("/feed", LINKED.to_owned()), ("/entry", entry("E")), ("/large", large())]
    {
        let answer = kept.send("GET", &site.url(path), &[], "").await;
        assert_eq!((answer.status(), answer.text()), (200, true_body), "{path}");
    }
}

#[tokio::test]
async fn damaged_bytes_are_a_clear_504_without_a_network() {
    let (site, kept, config) = keeping().await;
    kept.network("offline").await;
    let kept = kept.again_after(&config, flip_all).await;
    for path in ["/feed", "/entry", "/large"] {
        let answer = kept.send("GET", &site.url(path), &[], "").await;
        assert_eq!(answer.status(), 504, "{path}");
        assert!(answer.text().contains("damaged"), "{path}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_damaged_edit_is_an_error_and_is_never_sent() {
    let (site, kept, config) = keeping().await;
    kept.network("offline").await;
    let answer = kept.send("PUT", &site.url("/entry"), &[], &entry("mine")).await;
    assert_eq!(answer.status(), 200);
    let kept = kept.again_after(&config, flip_all).await;
    kept.network("online").await;
    let ended = async {
        while !kept.told(Method::GET, "/outbox", None).await.as_array().unwrap().is_empty() {
            sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, ended).await.unwrap();
    assert_eq!(site.received("PUT /entry"), [""; 0]);
    let errors = kept.told(Method::GET, "/errors", None).await;
    let error = &errors[0];
    assert_eq!((&error["status"], &error["method"]), (&json!(500), &json!("PUT")));
    assert!(error["responseHeaders"].as_str().unwrap().contains("damaged"), "{error}");
}
