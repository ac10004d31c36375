//! Newsreaders of three nodes on one PostgreSQL database behind a balancer, while nodes are killed: an article has the same
//! number on each node, a mark hits the article that was meant, no mark is lost, and a feed is fetched by one node.
//!
//! `FEEDSYNC_SEED` repeats the requests and the kills; their exact interleaving depends on the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_aggregator::SqliteLibrary;
use feedsync_test::postgres::Cluster;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::nodes::fleet::Fleet;
use crate::nodes::http::ask;
use crate::nodes::world;
use crate::support::database::database;
use crate::support::web::WebServer;
use crate::support::{Hub, TestDirectory, until};

const FEEDS: usize = 12;
const ARTICLES: usize = 15;

fn feed(number: usize) -> String {
    let item = |place: usize| {
        format!(
            "<item><title>{number} and {place}</title><guid isPermaLink=\"false\">urn:x:{number}:{place}</guid>\
             <pubDate>Sat, 21 Nov 2026 10:{place:02}:{number:02} GMT</pubDate></item>"
        )
    };
    let items: String = (0..ARTICLES).map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>Feed {number}</title>{items}</channel></rss>")
}

/// Sends a request of a Miniflux client; `None` if the node or the balancer did not answer it.
fn miniflux(address: SocketAddr, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let kind = [("Content-Type", "application/json")];
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let answer = ask(address, method, &format!("/reader/miniflux/v1/{path}"), &kind, &body).ok()?;
    // A node that stops, or whose connections were cut, answers like this.
    let is_answer = !matches!(answer.status, 500 | 502 | 503);
    is_answer.then(|| (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default()))
}

/// Repeats a request until it is answered.
fn certainly(fleet: &Fleet, method: &str, path: &str, body: &Value) -> (u16, Value) {
    until(&format!("{method} {path} is answered"), || {
        miniflux(fleet.balancer.address, method, path, body).ok_or_else(|| "no answer".to_owned())
    })
}

/// Titles and states of all articles by number, and the titles of feeds by number, as one node shows them.
fn shown(node: SocketAddr) -> (BTreeMap<i64, (String, String)>, BTreeMap<i64, String>) {
    let get = |path: &str| miniflux(node, "GET", path, &Value::Null).expect("the node serves").1;
    let entries = get("entries?limit=1000");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let entries = entries["entries"].as_array().expect("entries").iter();
    let entries = entries.map(|entry| {
        (entry["id"].as_i64().expect("a number"), (text(&entry["title"]), text(&entry["status"])))
    });
    let feeds = get("feeds");
    let feeds = feeds.as_array().expect("feeds").iter();
    let feeds = feeds.map(|feed| (feed["id"].as_i64().expect("a number"), text(&feed["title"])));
    (entries.collect(), feeds.collect())
}

#[test]
fn newsreaders_see_the_same_articles_on_all_nodes_while_nodes_are_killed() {
    let mut random = SmallRng::seed_from_u64(world::seed());
    let cluster = Cluster::start();
    let fleet = Fleet::start(&database(&cluster), 3);
    let place = TestDirectory::new();
    let web = WebServer::nginx(&place, "", "default_type application/rss+xml;");
    let Some(mut web) = web else { return };
    for number in 0..FEEDS {
        place.write(&format!("www/{number}.xml"), &feed(number));
    }
    // Each subscription is made at another node.
    for number in 0..FEEDS {
        let node = fleet.balancer.nodes()[number % 3];
        let body = json!({ "feed_url": web.url(&format!("{number}.xml")), "category_id": 1 });
        let made = miniflux(node, "POST", "feeds", &body).expect("an answer");
        assert_eq!(made.0, 201, "{}", made.1);
    }
    let all = until("all feeds are fetched", || {
        let (entries, _) = shown(fleet.balancer.nodes()[0]);
        let is_all = entries.len() == FEEDS * ARTICLES;
        is_all.then_some(entries).ok_or_else(|| "some articles are missing".to_owned())
    });
    let first = shown(fleet.balancer.nodes()[0]);
    assert_eq!(first.1.len(), FEEDS);
    for node in fleet.balancer.nodes() {
        assert_eq!(shown(node), first, "all nodes show the same numbers");
    }
    let asked = web.asked().into_iter().filter(|asked| asked.path.ends_with(".xml"));
    let mut fetched: BTreeMap<String, usize> = BTreeMap::new();
    asked.for_each(|asked| *fetched.entry(asked.path).or_default() += 1);
    // Once to find the feed at the address, and once to fetch its articles.
    assert!(fetched.len() == FEEDS && fetched.values().all(|times| *times <= 2), "{fetched:?}");

    let numbers: Vec<i64> = all.keys().copied().collect();
    let mut marked = BTreeSet::new();
    let is_over = AtomicBool::new(false);
    let harm_seed = random.random();
    let long = std::env::var_os("FEEDSYNC_LONG").is_some();
    let end = Instant::now() + Duration::from_secs(if long { 300 } else { 8 });
    let kills = thread::scope(|scope| {
        let harm = scope.spawn(|| {
            let (mut random, mut kills) = (SmallRng::seed_from_u64(harm_seed), 0);
            while !is_over.load(Ordering::Relaxed) {
                let node = random.random_range(0..fleet.count());
                fleet.kill(node);
                thread::sleep(Duration::from_millis(random.random_range(50..400)));
                fleet.wake(node);
                kills += 1;
                thread::sleep(Duration::from_millis(random.random_range(50..400)));
            }
            kills
        });
        while Instant::now() < end {
            let number = numbers[random.random_range(0..numbers.len())];
            let is_read = random.random_bool(0.7);
            let status = if is_read { "read" } else { "unread" };
            let body = json!({ "entry_ids": [number], "status": status });
            let (answered, told) = certainly(&fleet, "PUT", "entries", &body);
            assert_eq!(answered, 204, "{told}");
            if is_read {
                marked.insert(number)
            } else {
                marked.remove(&number)
            };
            let (_, entry) = certainly(&fleet, "GET", &format!("entries/{number}"), &Value::Null);
            assert_eq!(entry["title"], Value::from(all[&number].0.clone()), "another article");
            assert_eq!(entry["status"], status, "the mark is not shown by another node");
        }
        is_over.store(true, Ordering::Relaxed);
        harm.join().expect("the kills")
    });
    assert!(kills > 3, "{kills} kills");
    for node in fleet.balancer.nodes() {
        let (entries, feeds) = shown(node);
        assert_eq!(feeds, first.1);
        let titles = |entries: &BTreeMap<i64, (String, String)>| -> BTreeMap<i64, String> {
            entries.iter().map(|(number, (title, _))| (*number, title.clone())).collect()
        };
        assert_eq!(titles(&entries), titles(&all));
        let read = entries.iter().filter(|(_, (_, status))| status == "read");
        assert_eq!(read.map(|(number, _)| *number).collect::<BTreeSet<_>>(), marked);
    }
    let asked = web.asked().into_iter().filter(|asked| asked.path.ends_with(".xml"));
    assert_eq!(asked.count(), 0, "no feed is fetched again before its time");
}

/// A hub that goes from a data directory to a database keeps its articles and their numbers.
#[test]
fn articles_move_into_the_database() {
    let cluster = Cluster::start();
    let place = TestDirectory::new();
    let web = WebServer::nginx(&place, "", "default_type application/rss+xml;");
    let Some(web) = web else { return };
    for number in 0..3 {
        place.write(&format!("www/{number}.xml"), &feed(number));
    }
    place.bare("node-0");
    let before = {
        let hub = Hub::start(&place, "node-0");
        let node: SocketAddr = hub.url.trim_start_matches("http://").parse().unwrap();
        for number in 0..3 {
            let body = json!({ "feed_url": web.url(&format!("{number}.xml")), "category_id": 1 });
            assert_eq!(miniflux(node, "POST", "feeds", &body).expect("an answer").0, 201);
        }
        until("all feeds are fetched", || {
            let shown = shown(node);
            let is_all = shown.0.len() == 3 * ARTICLES;
            is_all.then_some(shown).ok_or_else(|| "some articles are missing".to_owned())
        })
    };
    // Feeds no longer contain their articles.
    for number in 0..3 {
        place.write(
            &format!("www/{number}.xml"),
            "<rss version=\"2.0\"><channel><title>Empty</title></channel></rss>",
        );
    }
    let url = database(&cluster);
    let moved =
        place.command(&["--data", "node-0", "store", "migrate", "--to", &url]).output().unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let fleet = Fleet::start_in(place, &url, 2);
    for node in fleet.balancer.nodes() {
        assert_eq!(shown(node), before);
    }
}

/// A file of articles that is damaged is left where it is. One that cannot be copied now is not passed over, since nothing is
/// copied once the database has feeds.
#[test]
fn hub_does_not_start_without_articles_that_it_could_copy_later() {
    let cluster = Cluster::start();
    let url = database(&cluster);
    let place = TestDirectory::new();
    place.bare("node-0");
    let file = "node-0/articles.sqlite3";
    drop(SqliteLibrary::open(&place.path("node-0")).unwrap());
    let newer = rusqlite::Connection::open(place.path(file)).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let arguments = ["--data", "node-0", "--endpoint", "hub", "serve", "--listen", "127.0.0.1:0"];
    let refused = place.command(&arguments).env("FEEDSYNC_STORE", &url).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("newer version"), "{told}");

    place.write(file, &"a diary, and no database at all\n".repeat(100));
    let fleet = Fleet::start_in(place, &url, 1);
    let log = fleet.log(0);
    assert!(log.contains("were not copied into the database"), "{log}");
    assert!(fleet.place.read(file).starts_with("a diary"));
}
