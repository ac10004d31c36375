//! A client of AtomPub that we did not write: Debian's `libatompub-perl`, in `atompub.pl`.

mod support;

use std::process::Command;

use support::{Hub, Place, output};

const PASSWORD: &str = "correct horse";

/// The collections that the script expects, as they are described over HTTP.
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

/// Makes the collections and lets the client do all it can; who signs in is `user` with [`PASSWORD`].
fn drive(place: &Place, hub: &Hub, user: Option<&str>) {
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

/// A1 to A62 as that client sees them.
#[test]
fn a_client_of_atompub_creates_edits_and_deletes() {
    let place = Place::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    drive(&place, &hub, None);
}

/// A62: it sends WSSE first, and Basic when it is asked to.
#[test]
fn a_client_of_atompub_signs_in_and_does_the_same() {
    let place = Place::new();
    let desk = place.bare("hub");
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    let added = place.run_with(&add, PASSWORD);
    assert_eq!(added.code, 0, "{}", added.err);
    let hub = Hub::start(&place, desk.name);
    drive(&place, &hub, Some("anna"));
}
