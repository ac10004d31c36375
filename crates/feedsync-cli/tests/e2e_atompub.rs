//! An independent AtomPub client: Debian's `libatompub-perl`, driven by `atompub.pl`.

mod support;

use std::process::Command;

#[cfg(unix)]
use feedsync_test::postgres::Cluster;
#[cfg(unix)]
use support::database::database;
use support::{Hub, TestDirectory, has, lacks, output};

const PASSWORD: &str = "correct horse";

/// Collections that the script expects, with their settings as described over HTTP.
const COLLECTIONS: [(&str, &str); 4] = [
    ("notes", "{}"),
    ("photos", r#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#),
    (
        "topics",
        r#"{"categories": {"fixed": true, "scheme": "urn:topics",
            "list": [{"term": "bread"}, {"term": "cheese"}]}}"#,
    ),
    ("open", r#"{"categories": {"scheme": "urn:topics", "list": [{"term": "bread"}]}}"#),
];

/// Whether the client is installed.
fn has_client() -> bool {
    let asked = || Command::new("perl").args(["-MAtompub::Client", "-e", "1"]).output().unwrap();
    has("perl") && (asked().status.success() || lacks("libatompub-perl"))
}

/// Runs all operations of the client against a hub over a store, by default in its data directory. If `user`
/// is given, the client signs in as that user.
fn drive(store: Option<&str>, user: Option<&str>) {
    if !has_client() {
        return;
    }
    let place = TestDirectory::new();
    let at: Vec<&str> = store.into_iter().flat_map(|store| ["--store", store]).collect();
    let base = [&["--data", "hub"], &at[..]].concat();
    let run = |arguments: &[&str]| {
        let run = place.run_with(&[&base, arguments].concat(), PASSWORD);
        assert_eq!(run.code, 0, "{}", run.err);
    };
    run(&["store", "init", "--endpoint", "hub"]);
    if let Some(user) = user {
        run(&["user", "add", user, "--administrator", "--password-stdin"]);
    }
    let hub = Hub::start_with(&place, "hub", |command| {
        command.args(&at);
    });
    let login = user.map(|user| format!("{user}:{PASSWORD}"));
    for (name, description) in COLLECTIONS {
        let url = format!("{}/collections/{name}", hub.url);
        let kind = "Content-Type: application/json";
        let mut put = vec!["-sS", "--fail-with-body", "-X", "PUT", "-H", kind, "-d", description];
        put.extend(login.iter().flat_map(|login| ["-u", login.as_str()]));
        put.push(&url);
        output("curl", &put, &place.path(""));
    }
    let mut script = Command::new("perl");
    script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/atompub.pl")).arg(&hub.url);
    if let Some(user) = user {
        script.env("ATOMPUB_USER", user).env("ATOMPUB_PASSWORD", PASSWORD);
    }
    let done = script.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}{}", said(&done.stdout), said(&done.stderr));
    assert!(said(&done.stdout).contains("the client finds nothing odd"));
}

/// Covers AP1 to AP62 from the view of that client.
#[test]
fn a_client_of_atompub_creates_edits_and_deletes() {
    drive(None, None);
}

/// AP62: the client sends WSSE first, and Basic after a challenge.
#[test]
fn a_client_of_atompub_signs_in_and_does_the_same() {
    drive(None, Some("anna"));
}

/// Runs the same tests over a database.
#[cfg(unix)]
#[test]
fn a_client_of_atompub_does_the_same_over_postgresql() {
    let database = || database(Cluster::shared());
    drive(Some(&database()), None);
    drive(Some(&database()), Some("anna"));
}
