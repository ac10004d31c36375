//! Commands on a PostgreSQL database, and migrations of stores between a directory and a database.

mod support;

use feedsync_test::postgres::Cluster;
use serde_json::{Value, json};

use support::database::{address, database, word};
use support::{Hub, Run, TestDirectory};

/// The endpoint of a store of any kind.
struct TestEndpoint<'p> {
    place: &'p TestDirectory,
    store: &'p str,
}

impl TestEndpoint<'_> {
    fn run(&self, arguments: &[&str]) -> Run {
        let mut all = vec!["--data", "data", "--store", self.store];
        all.extend(arguments);
        self.place.run(&all)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.out, run.err);
        run.out
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        serde_json::from_str(&self.ok(&all)).unwrap()
    }
}

#[test]
fn commands_work_on_a_database_as_on_a_directory() {
    let cluster = Cluster::start();
    let (place, url) = (TestDirectory::new(), database(&cluster));
    let desk = TestEndpoint { place: &place, store: &url };
    desk.run(&["collection", "list"]).fails(5, "there is no endpoint here yet");
    desk.ok(&["store", "init", "--endpoint", "hub"]);
    desk.run(&["store", "init"]).fails(1, "already a store");
    desk.ok(&["collection", "create", "notes", "--title", "Notes"]);
    let id = desk.ok(&["add", "notes", "--title", "Milk"]).trim().to_owned();
    desk.ok(&["edit", "notes", &id, "--title", "Oat milk"]);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "Oat milk");
    desk.ok(&["collection", "set", "notes", "keep.tombstones=90d"]);
    desk.ok(&["collection", "set", "notes", "keep.age=365d"]);
    assert_eq!(desk.json(&["collection", "settings", "notes"])["keep"]["tombstones"], "90d");
    desk.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    desk.ok(&["collection", "grant", "notes", "anna", "editor"]);
    desk.ok(&["user", "token", "create"]);
    assert_eq!(desk.json(&["collection", "grants", "notes"])[0]["user"], "anna");
    assert_eq!(desk.json(&["store", "audit", "--limit", "1"])[0]["action"], "issue token");
    let status = desk.json(&["status"]);
    assert_eq!((&status["data"], &status["name"]), (&json!(url), &json!("hub")));
    let report = desk.json(&["store", "doctor"]);
    assert_eq!(report["sound"], true, "{report}");
    desk.run(&["store", "backup", "file"]).fails(2, "a database is backed up by its own programs");
    assert!(!place.path("data").exists(), "nothing is kept beside the database");

    // The command `store doctor` finds damage.
    let name = url.rsplit('/').next().unwrap();
    cluster.sql(name, "UPDATE feedsync.items SET conflicts = 3");
    cluster.sql(name, "INSERT INTO feedsync.purged VALUES (99, 'x', '')");
    cluster.sql(name, "UPDATE feedsync.collections SET live = 7");
    let run = desk.run(&["store", "doctor", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let checks: Vec<_> = report["findings"].as_array().unwrap().iter().collect();
    let found = |check: &str, text: &str| {
        checks.iter().any(|found| {
            found["check"] == check && found["message"].as_str().unwrap().contains(text)
        })
    };
    assert!(found("database", "items with a wrong count of conflicts: 1"), "{report}");
    assert!(found("database", "purged items without a collection: 1"), "{report}");
    assert!(found("counts", "its stored counts are 7 items"), "{report}");
}

/// The address of the store may be in the environment or in the configuration, and then applies to every
/// command. A password appears neither on the command line nor in messages.
#[test]
fn a_store_is_named_once_and_its_password_stays_secret() {
    let cluster = Cluster::start();
    let words = cluster.database();
    let place = TestDirectory::new();
    // All privileges that the role needs.
    cluster.sql("postgres", "CREATE ROLE anna LOGIN PASSWORD 'ge:heim'");
    let grant = format!("GRANT CREATE ON DATABASE {} TO anna", word(&words, "dbname"));
    cluster.sql("postgres", &grant);
    let rules = format!("{}/data/pg_hba.conf", word(&words, "host"));
    std::fs::write(rules, "local all postgres trust\nlocal all all scram-sha-256\n").unwrap();
    cluster.control(&["reload"]);
    let url = address(&words, Some("anna"));
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("PGPASSFILE", place.path("passwords"));
        command.envs(variables.iter().copied());
        let run = Run::of(command.output().unwrap());
        assert!(!format!("{run:?}").contains("heim"), "{run:?}");
        run
    };
    let store = [("FEEDSYNC_STORE", url.as_str())];
    let refused = run(&store, &["store", "init"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    let secret = url.replacen("anna", "anna:ge%3Aheim", 1);
    run(&[], &["collection", "list", "--store", &secret]).fails(2, "--store holds a password");
    run(&[], &["store", "migrate", "--to", &secret]).fails(2, "--to holds a password");
    run(&[("FEEDSYNC_STORE", "mysql://anna:ge:heim@db/x")], &["collection", "list"])
        .fails(2, "not the address of a store");

    assert_eq!(
        run(&[("FEEDSYNC_STORE", &secret)], &["store", "init", "--endpoint", "hub"]).code,
        0
    );
    assert_eq!(
        run(&[store[0], ("PGPASSWORD", "ge:heim")], &["collection", "create", "notes"]).code,
        0
    );
    let line = format!("{}:5432:{}:anna:ge\\:heim\n", word(&words, "host"), word(&words, "dbname"));
    place.write("passwords", &line);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let open = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path("passwords"), open(0o644)).unwrap();
        run(&store, &["collection", "list"]).fails(5, "others can use this file of passwords");
        std::fs::set_permissions(place.path("passwords"), open(0o600)).unwrap();
    }
    assert!(run(&store, &["collection", "list"]).out.contains("notes"));
    // The configuration of the hub also applies to the other commands.
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/feedsync.toml", &format!("store = {url:?}\n"));
    assert!(run(&[], &["--data", "data", "collection", "list"]).out.contains("notes"));
    let shown = run(&[("FEEDSYNC_STORE", &secret)], &["serve", "--print-config"]);
    assert!(shown.out.contains(&format!("store = {url:?}")), "{shown:?}");
}

/// Everything in a store that the program can show, line by line with the command that shows it. Positions in
/// the change order are left out, because a migration begins a new epoch and renews them.
fn everything(desk: &TestEndpoint<'_>) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for arguments in [
        "collection list",
        "ls notes --all",
        "ls notes --discarded",
        "conflicts notes",
        "collection settings notes",
        "remote list",
        "user list",
        "user token list",
        "collection grants",
        "store audit --limit 1000",
        "export notes --to atom",
        "export notes --to rss",
        "export notes --to opml",
        "export notes --to json",
        "export notes --to pox",
    ] {
        let mut all: Vec<&str> = arguments.split(' ').collect();
        // As a table, the record omits the positions of acts, which a migration renews.
        if !matches!(all[..], ["export" | "store", ..]) {
            all.push("--json");
        }
        let text = without_places_in_the_order(&desk.ok(&all));
        shown.extend(text.lines().map(|line| (arguments.to_owned(), line.to_owned())));
    }
    shown
}

fn are_same(found: &[(String, String)], expected: &[(String, String)]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

/// Replaces positions, which are an epoch and a number: the longest sequences of hexadecimal digits and
/// dashes.
fn without_places_in_the_order(feed: &str) -> String {
    let (mut out, mut digits) = (String::new(), String::new());
    for letter in feed.chars().chain(['\0']) {
        if letter.is_ascii_hexdigit() || letter == '-' {
            digits.push(letter);
            continue;
        }
        out.push_str(if digits.len() > 40 { "PLACE" } else { &digits });
        digits.clear();
        out.push(letter);
    }
    out
}

#[test]
fn a_store_moves_into_a_database_and_back_and_loses_nothing() {
    let cluster = Cluster::start();
    let (place, url) = (TestDirectory::new(), database(&cluster));
    let first = TestEndpoint { place: &place, store: "sqlite:first" };
    first.ok(&["store", "init", "--endpoint", "hub"]);
    first.ok(&["collection", "create", "notes", "--title", "Notes"]);
    first.ok(&["collection", "create", "empty"]);
    let add = |title: &str| first.ok(&["add", "notes", "--title", title]).trim().to_owned();
    let (milk, bread) = (add("Milk"), add("Bread"));
    for number in 0..30 {
        add(&format!("item {number}"));
    }
    first.ok(&["edit", "notes", &milk, "--content", "two litres"]);
    first.ok(&["rm", "notes", &bread]);
    // Creates a conflict: another endpoint edits the same version.
    let other = TestEndpoint { place: &place, store: "sqlite:other" };
    other.ok(&["store", "init", "--endpoint", "other"]);
    other.ok(&["collection", "create", "notes"]);
    first.ok(&["export", "notes", "--output", "feed.atom"]);
    other.ok(&["import", "notes", "feed.atom"]);
    other.ok(&["edit", "notes", &milk, "--title", "Oat milk"]);
    first.ok(&["edit", "notes", &milk, "--content", "three litres"]);
    other.ok(&["export", "notes", "--output", "feed.atom"]);
    first.ok(&["import", "notes", "feed.atom"]);
    assert_eq!(first.json(&["conflicts", "notes"]).as_array().unwrap().len(), 1);
    first.ok(&["collection", "set", "notes", "keep.tombstones=90d"]);
    first.ok(&["collection", "set", "notes", "public=true"]);
    first.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    first.ok(&["user", "add", "otto", "--no-password"]);
    first.ok(&["collection", "grant", "notes", "otto", "editor"]);
    let token = first.json(&["user", "token", "create", "--user", "otto"])["token"].clone();
    // A hub provides a remote with its state, and a blob.
    let third = TestEndpoint { place: &place, store: "sqlite:hub/store" };
    third.ok(&["store", "init", "--endpoint", "third"]);
    third.ok(&["collection", "create", "notes"]);
    {
        let hub = Hub::start_on(&place, "hub", "sqlite:hub/store");
        first.ok(&["sync", "notes", &hub.notes()]);
    }
    let before = everything(&first);

    let report = first.json(&["store", "migrate", "--to", &url]);
    assert_eq!((&report["from"], &report["to"]), (&json!("first"), &json!(url)));
    assert_eq!((&report["collections"], &report["items"]), (&json!(2), &json!(32)));
    assert_eq!((&report["users"], &report["tokens"]), (&json!(2), &json!(1)));
    let database = TestEndpoint { place: &place, store: &url };
    are_same(&everything(&database), &before);
    are_same(&everything(&first), &before);
    first.run(&["store", "migrate", "--to", &url]).fails(1, "not empty");
    first.run(&["store", "migrate", "--to", "sqlite:first"]).fails(2, "the same store");
    first.run(&["store", "migrate", "--to", "first"]).fails(2, "not the address of a store");
    database
        .run(&["store", "migrate", "--from", "sqlite:none", "--to", "sqlite:x"])
        .fails(5, "no endpoint");
    are_same(&everything(&database), &before);

    let said = database.ok(&["store", "migrate", "--to", "sqlite:last"]);
    let all = "moved 2 collections with 32 items, 0 databases with 0 documents";
    assert!(said.contains(all), "{said}");
    let last = TestEndpoint { place: &place, store: "sqlite:last" };
    are_same(&everything(&last), &before);
    assert_eq!(last.json(&["store", "doctor"])["sound"], true);
    // The endpoint is in its third incarnation and signs with a new `by`. Its earlier tokens are still
    // accepted.
    let report = last.json(&["store", "doctor"]);
    assert_eq!(report["retired"], 2, "{report}");
    let hub = Hub::start_on(&place, "data", "sqlite:last");
    let header = format!("Authorization: Bearer {}", token.as_str().unwrap());
    if support::has("curl") {
        let url = format!("{}/service", hub.url);
        support::output("curl", &["-sSf", "-H", &header, &url], &place.path(""));
    }
}

/// Responses of a hub on a store about the database `papers`, without the parts that a migration renews.
fn answers(place: &TestDirectory, store: &str, since: &str) -> Vec<Value> {
    let hub = Hub::start_on(place, "hub", store);
    let ask = |path: &str| -> Value {
        let url = format!("{}/couch/{path}", hub.url);
        let arguments = ["-sSf", "-H", "Accept: application/json", &url];
        serde_json::from_str(&support::output("curl", &arguments, &place.path(""))).unwrap()
    };
    let mut changes = ask(&format!("papers/_changes?style=all_docs&since={since}"));
    for change in changes["results"].as_array_mut().unwrap() {
        change["seq"].take();
    }
    vec![
        ask("_all_dbs"),
        changes["results"].take(),
        ask("papers/_all_docs?include_docs=true&conflicts=true&attachments=true"),
        ask("papers/milk?revs=true&conflicts=true&attachments=true"),
        ask("papers/milk?open_revs=all&revs=true"),
        ask("papers/_local/place"),
        ask("papers/_security"),
        ask("papers/_revs_limit"),
    ]
}

#[test]
fn databases_are_moved_backed_up_and_put_back_with_their_store() {
    if !support::has("curl") {
        return;
    }
    let cluster = Cluster::start();
    let (place, url) = (TestDirectory::new(), database(&cluster));
    let first = TestEndpoint { place: &place, store: "sqlite:first" };
    first.ok(&["store", "init", "--endpoint", "hub"]);
    let place_before = {
        let hub = Hub::start_on(&place, "hub", first.store);
        let send = |method: &str, path: &str, body: Value| {
            let (body, url) = (body.to_string(), format!("{}/couch/papers{path}", hub.url));
            let json = "Content-Type: application/json";
            let arguments = ["-sSf", "-X", method, "-H", json, "--data-binary", &body, &url];
            let answer = support::output("curl", &arguments, &place.path(""));
            serde_json::from_str::<Value>(&answer).unwrap()
        };
        send("PUT", "", json!({}));
        send("PUT", "/milk", json!({ "litres": 2 }));
        let attached = json!({ "a.txt": { "content_type": "text/plain", "data": "aGVsbG8=" } });
        for (revision, litres) in [("2-aaaa", 3), ("2-bbbb", 4)] {
            let start = revision.split_once('-').unwrap().1;
            let revisions = json!({ "start": 2, "ids": [start, "1111"] });
            let document = json!({ "_id": "milk", "_rev": revision, "_revisions": revisions,
                                   "_attachments": attached, "litres": litres });
            send("POST", "/_bulk_docs", json!({ "docs": [document], "new_edits": false }));
        }
        let bread = send("PUT", "/bread", json!({}))["rev"].as_str().unwrap().to_owned();
        send("DELETE", &format!("/bread?rev={bread}"), json!({}));
        send("PUT", "/_local/place", json!({ "last_seq": 7 }));
        send("PUT", "/_security", json!({ "members": { "names": ["anna"], "roles": [] } }));
        send("PUT", "/_revs_limit", json!(50));
        send("POST", "/_all_docs", json!({}));
        send("GET", "", json!({}))["update_seq"].as_str().unwrap().to_owned()
    };
    let before = answers(&place, first.store, "0");
    assert_eq!(before[1].as_array().unwrap().len(), 2, "{before:?}");
    assert_eq!(before[3]["_attachments"]["a.txt"]["data"], "aGVsbG8=");
    assert_eq!(answers(&place, first.store, &place_before)[1], json!([]));

    let report = first.json(&["store", "migrate", "--to", &url]);
    let counts = ["databases", "documents", "attachments"].map(|name| report[name].as_u64());
    assert_eq!(counts, [Some(1), Some(2), Some(1)]);
    // A sequence from before the migration returns all changes again.
    assert_eq!(answers(&place, &url, &place_before), before);
    let second = TestEndpoint { place: &place, store: &url };
    assert_eq!(second.json(&["store", "doctor"])["sound"], true);
    let said = second.ok(&["store", "migrate", "--to", "sqlite:last"]);
    assert!(said.contains("1 database with 2 documents"), "{said}");
    assert_eq!(answers(&place, "sqlite:last", &place_before), before);

    let last = TestEndpoint { place: &place, store: "sqlite:last" };
    last.ok(&["store", "backup", "last.backup"]);
    let restored = place.run(&["--data", "back", "store", "restore", "--from", "last.backup"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    let back = TestEndpoint { place: &place, store: "sqlite:back" };
    assert_eq!(answers(&place, "sqlite:back", &place_before), before);
    assert_eq!(back.json(&["store", "doctor"])["sound"], true);
}
