//! Unmodified PouchDB in a page of another origin than the hub's, with its documents in IndexedDB.

mod support;

#[path = "support/pouchdb.rs"]
mod pouchdb;

use std::time::Instant;

use pouchdb::{modules, scenarios};
use serde_json::json;
use support::browser::Browser;
use support::origin::Origin;
use support::{Hub, TestDirectory};

const USER: &str = "ann";
const PASSWORD: &str = "correct-horse-battery";

/// Minimum number of scenarios.
const SCENARIOS: usize = 100;

/// Starts a hub with a user, which allows pages of these origins.
fn hub(place: &TestDirectory, origins: &[&str]) -> Hub {
    place.bare("hub");
    let add = ["--data", "hub", "user", "add", USER, "--administrator", "--password-stdin"];
    let added = place.run_with(&add, &format!("{PASSWORD}\n"));
    assert_eq!(added.code, 0, "{added:?}");
    place.write("hub/feedsync.toml", &format!("origins = {}\n", json!(origins)));
    Hub::start(place, "hub")
}

/// Starts a server for the page, which does not know the hub.
fn pages() -> Origin {
    let server = Origin::start();
    let script = "Content-Type: text/javascript\r\n";
    let serve = |name: &str, text: String| {
        server.answers("GET", &format!("/{name}"), 200, script, &text);
    };
    for name in ["pouchdb.min.js", "pouchdb.indexeddb.min.js"] {
        let file = modules().join("node_modules/pouchdb/dist").join(name);
        serve(name, std::fs::read_to_string(file).unwrap());
    }
    // Files for browsers take precedence over those of the same name for Node.
    for directory in [scenarios(), scenarios().join("browser")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|kind| kind == "mjs") {
                let name = file.file_name().unwrap().to_str().unwrap().to_owned();
                serve(&name, std::fs::read_to_string(file).unwrap());
            }
        }
    }
    server.answers("GET", "/favicon.ico", 204, "", "");
    server
}

/// Opens the page with the address and the credentials of the hub.
fn open(browser: &Browser, pages: &Origin, origin: &str, hub: &Hub) {
    let path = format!("/notes?hub={}&user={USER}&password={PASSWORD}", hub.url);
    let page = std::fs::read_to_string(scenarios().join("browser/page.html")).unwrap();
    pages.answers("GET", &path, 200, "Content-Type: text/html\r\n", &page);
    browser.go(&format!("{origin}{path}"));
    assert_eq!(browser.ask("typeof page"), "object", "{:?}", browser.complaints());
}

#[test]
fn scenarios_for_node_pass_with_indexeddb() {
    let Some(browser) = Browser::start() else { return };
    let (place, pages) = (TestDirectory::new(), pages());
    let origin = format!("http://127.0.0.1:{}", pages.port);
    let hub = hub(&place, &[&origin]);
    open(&browser, &pages, &origin, &hub);
    let names = browser.ask("page.names");
    let names = names.as_array().unwrap();
    let mut failures = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let began = Instant::now();
        let error = browser.ask(&format!("page.run({index})"));
        let took = began.elapsed().as_millis();
        println!("{} {name} # {took} ms", if error.is_null() { "ok" } else { "not ok" });
        if let Some(error) = error.as_str() {
            println!("{error}");
            failures.push(name);
        }
    }
    assert!(failures.is_empty(), "not all scenarios hold: {failures:?}");
    assert!(names.len() >= SCENARIOS, "{} scenarios hold, and there were more", names.len());
}

#[test]
fn a_page_that_is_loaded_again_goes_on_where_it_was_also_after_the_hub_was_killed() {
    let Some(browser) = Browser::start() else { return };
    let (place, pages) = (TestDirectory::new(), pages());
    let origin = format!("http://127.0.0.1:{}", pages.port);
    let mut hub = hub(&place, &[&origin]);
    let moved = |pushed: usize, pulled: usize| {
        let told = browser.ask("page.sync()");
        assert_eq!((&told["pushed"], &told["pulled"]), (&json!(pushed), &json!(pulled)), "{told}");
        if pushed + pulled == 0 {
            assert_eq!(told["moves"], 0, "{told}");
        }
        told["since"].as_str().unwrap().to_owned()
    };
    open(&browser, &pages, &origin, &hub);
    browser.ask("page.here.bulkDocs([{ _id: 'mine' }, { _id: 'mine, too' }])");
    browser.ask("page.there().put({ _id: 'yours' })");
    assert_eq!(moved(2, 1), "0");
    open(&browser, &pages, &origin, &hub);
    assert_ne!(moved(0, 0), "0", "it begins anew");
    hub.again(&place, "hub", || {});
    assert_ne!(moved(0, 0), "0", "it begins anew");
    open(&browser, &pages, &origin, &hub);
    assert_ne!(moved(0, 0), "0", "it begins anew");
    browser.ask("page.here.put({ _id: 'new' })");
    assert_ne!(moved(1, 0), "0", "it begins anew");

    // A live replication continues by itself.
    browser.ask("page.live()");
    for round in ["first", "second"] {
        browser.ask(&format!("page.there().put({{ _id: '{round} of yours' }})"));
        browser.ask(&format!("page.comes(page.here, '{round} of yours')"));
        hub.again(&place, "hub", || {
            browser.ask(&format!("page.here.put({{ _id: '{round} of mine' }})"));
        });
        browser.ask(&format!("page.comes(page.there(), '{round} of mine')"));
    }
}

#[test]
fn a_page_of_an_origin_that_was_not_named_replicates_nothing() {
    let Some(browser) = Browser::start() else { return };
    let (place, pages) = (TestDirectory::new(), pages());
    let named = format!("http://127.0.0.1:{}", pages.port);
    let hub = hub(&place, &[&named]);
    open(&browser, &pages, &format!("http://localhost:{}", pages.port), &hub);
    browser.ask("page.here.put({ _id: 'mine' })");
    let told = browser.ask("page.sync().then(() => 'done', (error) => error.message)");
    assert_eq!(told, "Failed to fetch");
    open(&browser, &pages, &named, &hub);
    let told = browser.ask("page.there().allDocs().then(({ rows }) => rows)");
    assert_eq!(told, json!([]), "nothing has come to the hub");
}

/// On a phone, the page of an application has an origin that is not a web site's.
#[test]
fn the_page_of_an_application_replicates_without_a_setting() {
    let pages = pages();
    let authority = format!("127.0.0.1:{}", pages.port);
    let Some(browser) = Browser::knowing("localhost", &authority) else { return };
    let place = TestDirectory::new();
    let hub = hub(&place, &[]);
    open(&browser, &pages, "http://localhost", &hub);
    assert_eq!(browser.ask("location.origin"), "http://localhost");
    browser.ask("page.here.put({ _id: 'mine' })");
    browser.ask("page.there().put({ _id: 'yours' })");
    let told = browser.ask("page.sync()");
    assert_eq!((&told["pushed"], &told["pulled"]), (&json!(1), &json!(1)));
}
