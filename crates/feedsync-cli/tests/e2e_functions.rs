//! Functions of design documents: `validate_doc_update` on every way into a database, filters, and views, also while the
//! processes that execute them are killed.

mod support;
#[path = "functions/totals.rs"]
mod totals;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Hub, TestDirectory, output};
use totals::Documents;

const PASSWORD: &str = "correct horse battery";

/// Maximum duration of a request, in seconds. A request that takes longer fails the test.
const REQUEST_SECONDS: &str = "40";

/// A function that refuses documents without an author, edits by others, and deletions by all but administrators.
const VALIDATE: &str = "function (newDoc, oldDoc, userCtx, secObj) {
  if (userCtx.roles.indexOf('_admin') >= 0) return;
  if (newDoc._deleted) throw({unauthorized: 'only administrators delete'});
  if (newDoc.author !== userCtx.name) throw({forbidden: 'the author must be ' + userCtx.name});
  if (oldDoc && oldDoc.author !== newDoc.author) throw({forbidden: 'by ' + oldDoc.author});
  if (!secObj.members) throw({forbidden: 'no members'});
}";

/// A client of a hub with a user.
struct Client<'p> {
    directory: &'p Path,
    url: String,
    login: String,
}

impl Client<'_> {
    /// Sends a request; returns the status and the JSON of the response.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (url, body) = (format!("{}/couch/{path}", self.url), body.to_string());
        let said = output(
            "curl",
            &[
                "-s",
                "-m",
                REQUEST_SECONDS,
                "-w",
                "%{http_code}",
                "-u",
                &self.login,
                "-X",
                method,
                "-H",
                "Content-Type: application/json",
                "--data-binary",
                &body,
                &url,
            ],
            self.directory,
        );
        let (text, status) = said.split_at(said.len() - 3);
        (status.parse().unwrap(), serde_json::from_str(text).unwrap_or(Value::Null))
    }

    /// Begins a request whose response does not matter.
    fn begin(&self, path: &str) -> Child {
        let url = format!("{}/couch/{path}", self.url);
        let arguments = ["-s", "-m", REQUEST_SECONDS, "-o", "/dev/null", "-u", &self.login, &url];
        Command::new("curl").args(arguments).spawn().unwrap()
    }
}

/// A hub with the administrator `anna` and the user `bert`, who may use the database `notes`.
fn hub(place: &TestDirectory, settings: &[&str]) -> Hub {
    place.desk("hub");
    for (user, rest) in [("anna", &["--administrator"][..]), ("bert", &[])] {
        let mut add = vec!["--data", "hub", "user", "add", user, "--password-stdin"];
        add.extend(rest);
        let added = place.run_with(&add, PASSWORD);
        assert_eq!(added.code, 0, "{}", added.err);
    }
    let log = std::fs::File::create(place.path("log")).unwrap();
    let hub = Hub::start_with(place, "hub", |command| {
        command.args(settings).stderr(Stdio::from(log));
    });
    let directory = place.path("");
    let anna = client(&hub, &directory, "anna");
    assert_eq!(anna.ask("PUT", "notes", &json!({})).0, 201);
    let security = json!({"members": {"names": ["bert"]}, "admins": {"names": ["anna"]}});
    assert_eq!(anna.ask("PUT", "notes/_security", &security).0, 200);
    hub
}

fn client<'p>(hub: &Hub, directory: &'p Path, user: &str) -> Client<'p> {
    Client { directory, url: hub.url.clone(), login: format!("{user}:{PASSWORD}") }
}

/// Kills the processes that execute functions for a hub; returns whether there was one.
fn kill_processes(hub: u32) -> bool {
    let killed = Command::new("pkill").args(["-9", "-P", &hub.to_string()]).status();
    killed.is_ok_and(|status| status.success())
}

fn design(function: &str) -> Value {
    json!({"language": "javascript", "validate_doc_update": function})
}

#[test]
fn documents_are_validated_on_every_way_in() {
    let place = TestDirectory::new();
    let hub = hub(&place, &[]);
    let directory = place.path("");
    let (anna, bert) = (client(&hub, &directory, "anna"), client(&hub, &directory, "bert"));
    let (status, told) = bert.ask("PUT", "notes/_design/rules", &design(VALIDATE));
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));
    let (status, told) = anna.ask("PUT", "notes/_design/rules", &design(VALIDATE));
    assert_eq!((status, told.get("unenforced")), (201, None));

    let mine = json!({"author": "bert"});
    let (status, first) = bert.ask("PUT", "notes/a", &mine);
    assert_eq!(status, 201, "{first}");
    let (status, told) = bert.ask("PUT", "notes/b", &json!({"author": "carl"}));
    assert_eq!(
        (status, told),
        (403, json!({"error": "forbidden", "reason": "the author must be bert"}))
    );
    let (status, told) = bert.ask("POST", "notes", &json!({"_id": "c"}));
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));
    let revision = first["rev"].as_str().unwrap();
    let (status, told) = bert.ask("DELETE", &format!("notes/a?rev={revision}"), &json!({}));
    assert_eq!((status, &told["reason"]), (401, &json!("only administrators delete")));
    let (status, told) = bert.ask("PUT", "notes/b?new_edits=false", &json!({"_rev": "1-a"}));
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));

    let documents = json!({"docs": [{"_id": "d", "author": "bert"}, {"_id": "e"}]});
    let (status, told) = bert.ask("POST", "notes/_bulk_docs", &documents);
    assert_eq!(
        (status, &told[0]["ok"], &told[1]["error"]),
        (201, &json!(true), &json!("forbidden"))
    );
    let documents = json!({"new_edits": false, "docs": [
        {"_id": "f", "_rev": "1-a", "author": "bert"}, {"_id": "g", "_rev": "1-a"},
        {"_id": "_design/more", "_rev": "1-a"},
    ]});
    let (status, told) = bert.ask("POST", "notes/_bulk_docs", &documents);
    let refused = json!([
        {"id": "g", "rev": "1-a", "error": "forbidden", "reason": "the author must be bert"},
        {"id": "_design/more", "rev": "1-a", "error": "forbidden", "reason": "You are not a db or server admin."},
    ]);
    assert_eq!((status, told), (201, refused));

    // Edits of another author's document.
    assert_eq!(anna.ask("PUT", "notes/h", &json!({"author": "anna"})).0, 201);
    let (_, read) = bert.ask("GET", "notes/h", &json!({}));
    let edit = json!({"_rev": read["_rev"], "author": "bert"});
    let (status, told) = bert.ask("PUT", "notes/h", &edit);
    assert_eq!((status, &told["reason"]), (403, &json!("by anna")));

    let (_, all) = bert.ask("GET", "notes/_all_docs", &json!({}));
    let ids: Vec<_> =
        all["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["_design/rules", "a", "d", "f", "h"]);
}

#[test]
fn faulty_functions_refuse_all_documents_and_can_be_replaced() {
    let place = TestDirectory::new();
    let hub = hub(&place, &[]);
    let directory = place.path("");
    let (anna, bert) = (client(&hub, &directory, "anna"), client(&hub, &directory, "bert"));
    let mut revision = Value::Null;
    for (function, status, error) in [
        ("function (newDoc", 500, "compilation_error"),
        ("function () { for (;;); }", 500, "os_process_error"),
        ("function () { const a = []; for (;;) a.push([a]); }", 500, "os_process_error"),
        ("function (newDoc) { newDoc.none.x; }", 403, "forbidden"),
        ("function () {}", 201, ""),
    ] {
        let mut rules = design(function);
        if revision != Value::Null {
            rules["_rev"] = revision;
        }
        let (written, told) = anna.ask("PUT", "notes/_design/rules", &rules);
        assert_eq!(written, 201, "{told}");
        revision = told["rev"].clone();
        let (got, told) = bert.ask("PUT", "notes/a", &json!({}));
        assert_eq!(
            (got, told["error"].as_str().unwrap_or_default()),
            (status, error),
            "{function}"
        );
    }
}

#[test]
fn filter_functions_select_changes() {
    let place = TestDirectory::new();
    let hub = hub(&place, &[]);
    let directory = place.path("");
    let (anna, bert) = (client(&hub, &directory, "anna"), client(&hub, &directory, "bert"));
    let filters = json!({
        "by": "function (doc, req) { return doc._deleted || doc.author === (req.query.author || req.userCtx.name); }",
        "broken": "function (doc) { return doc.none.x; }",
        "private": "function (doc, req) { throw({forbidden: 'not for ' + req.userCtx.name}); }",
        "syntax": "function (",
        "endless": "function () { for (;;); }",
    });
    let views = json!({"b": {"map": "function (doc) { if (doc._id > 'b') emit(doc._id); }"}});
    let design = json!({"filters": filters, "views": views});
    assert_eq!(anna.ask("PUT", "notes/_design/d", &design).0, 201);
    for (id, author) in [("a", "anna"), ("b", "bert"), ("c", "bert")] {
        let path = format!("notes/{id}");
        assert_eq!(bert.ask("PUT", &path, &json!({"author": author})).0, 201);
    }
    let ids = |query: &str| -> Vec<String> {
        let (status, said) = bert.ask("GET", &format!("notes/_changes?{query}"), &json!({}));
        assert_eq!(status, 200, "{said}");
        let rows = said["results"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("filter=d/by"), ["b", "c"]);
    assert_eq!(ids("filter=d/by&author=anna"), ["a"]);
    assert_eq!(ids("filter=_view&view=d/b"), ["c"]);
    let (_, read) = bert.ask("GET", "notes/c", &json!({}));
    let path = format!("notes/c?rev={}", read["_rev"].as_str().unwrap());
    assert_eq!(bert.ask("DELETE", &path, &json!({})).0, 200);
    assert_eq!(ids("filter=d/by&author=anna"), ["a", "c"]);
    for (name, status, error) in [
        ("broken", 500, "os_process_error"),
        ("private", 403, "forbidden"),
        ("syntax", 500, "compilation_error"),
        ("endless", 500, "os_process_error"),
        ("none", 404, "not_found"),
    ] {
        let path = format!("notes/_changes?filter=d/{name}");
        let (found, said) = bert.ask("GET", &path, &json!({}));
        assert_eq!((found, said["error"].as_str()), (status, Some(error)), "{said}");
    }
}

/// Without functions, a hub tells that documents are not protected.
#[test]
fn a_hub_without_functions_tells_so() {
    let place = TestDirectory::new();
    let hub = hub(&place, &["--functions", "off"]);
    let directory = place.path("");
    let (anna, bert) = (client(&hub, &directory, "anna"), client(&hub, &directory, "bert"));
    let (status, told) = anna.ask("PUT", "notes/_design/rules", &design(VALIDATE));
    assert_eq!((status, &told["unenforced"]), (201, &json!(["validate_doc_update"])));
    let mut again = design(VALIDATE);
    again["_id"] = json!("_design/more");
    let (_, told) = anna.ask("POST", "notes/_bulk_docs", &json!({"docs": [again, {"_id": "x"}]}));
    assert_eq!(told[0]["unenforced"], json!(["validate_doc_update"]));
    assert_eq!(told[1].get("unenforced"), None);
    assert_eq!(bert.ask("PUT", "notes/a", &json!({})).0, 201);
    drop(hub);
    let log = place.read("log");
    assert_eq!(log.matches("validate_doc_update does not protect documents").count(), 2, "{log}");
}

/// A document that a function refuses is never written, whenever its process is killed.
#[test]
fn kills_of_the_process_let_nothing_pass() {
    let place = TestDirectory::new();
    let hub = hub(&place, &[]);
    let directory = place.path("");
    let (anna, bert) = (client(&hub, &directory, "anna"), client(&hub, &directory, "bert"));
    assert_eq!(anna.ask("PUT", "notes/_design/rules", &design(VALIDATE)).0, 201);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // There may be no process.
                kill_processes(hub.id());
                thread::sleep(Duration::from_millis(7));
            }
        });
        let (mut written, mut refused) = (0, 0);
        for number in 0..150 {
            let author = if number & 1 == 0 { "bert" } else { "carl" };
            let (status, told) =
                bert.ask("PUT", &format!("notes/{author}-{number}"), &json!({"author": author}));
            match status {
                201 => written += 1,
                403 => refused += 1,
                500 => assert_eq!(told["error"], "os_process_error"),
                other => panic!("{other} {told}"),
            }
            assert!(status != 201 || author == "bert", "{told}");
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(written > 10 && refused > 10, "{written} {refused}");
    });
    let (_, all) = bert.ask("GET", "notes/_all_docs", &json!({}));
    let rows = all["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| !row["id"].as_str().unwrap().starts_with("carl")));
}

/// The rows and reductions of a view are those of all documents, whenever the processes of functions are killed, and the hub
/// itself. A request whose functions could not be executed is refused. `FEEDSYNC_LONG` kills 1,000 times.
#[test]
fn kills_leave_no_wrong_rows_in_a_view() {
    let place = TestDirectory::new();
    let mut hub = hub(&place, &[]);
    let directory = place.path("");
    let anna = client(&hub, &directory, "anna");
    let most_kills = if std::env::var_os("FEEDSYNC_LONG").is_some() { 1_000 } else { 100 };
    let (is_over, kills, process) =
        (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(hub.id()));
    let (mut documents, mut revision) = (Documents::default(), None);
    let (mut right, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                if kill_processes(process.load(Ordering::Relaxed)) {
                    kills.fetch_add(1, Ordering::Relaxed);
                }
                // For half of the time no process lives long enough to map all documents.
                let is_calm = (begin.elapsed().as_millis() / 400).is_multiple_of(2);
                let pause = if is_calm { 30 + number * 37 % 170 } else { 0 };
                thread::sleep(Duration::from_millis(pause));
            }
        });
        let _stop = Stop(&is_over);
        for round in 0.. {
            if kills.load(Ordering::Relaxed) >= most_kills && right >= 10 && refused >= 3 {
                break;
            }
            assert!(round < 3_000, "{kills:?} kills, {right} results, {refused} refused requests");
            if round % 6 == 0 {
                // All rows are computed again.
                let design = totals::design(round, revision.as_deref());
                let (status, told) = anna.ask("PUT", "notes/_design/d", &design);
                assert_eq!(status, 201, "{told}");
                revision = told["rev"].as_str().map(str::to_owned);
            }
            documents.write(&anna, if round == 0 { 300 } else { 20 });
            if round == 6 || round % 24 == 18 {
                let mut asking = anna.begin("notes/_design/d/_view/totals");
                thread::sleep(Duration::from_millis(5 + round));
                hub.again(&place, "hub", || {});
                process.store(hub.id(), Ordering::Relaxed);
                let _ = asking.wait();
            }
            let query = totals::QUERIES[round as usize % totals::QUERIES.len()];
            let path = format!("notes/_design/d/_view/totals?{query}");
            let (status, told) = anna.ask("GET", &path, &json!({}));
            match status {
                200 => {
                    assert_eq!(told["rows"], documents.rows(query), "{query} in round {round}");
                    right += 1;
                }
                500 => {
                    assert_eq!(told["error"], "os_process_error", "{told}");
                    refused += 1;
                }
                other => panic!("{other} {told}"),
            }
        }
    });
    println!("{kills:?} kills, {right} results, {refused} refused requests");
    // A refused update is tried again after a change.
    documents.write(&anna, 20);
    for query in totals::QUERIES {
        let path = format!("notes/_design/d/_view/totals?{query}");
        let (status, told) = anna.ask("GET", &path, &json!({}));
        assert_eq!((status, &told["rows"]), (200, &documents.rows(query)), "{query}");
    }
}

/// Ends a thread when a test ends or fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
