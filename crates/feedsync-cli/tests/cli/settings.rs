//! Settings of collections: the commands `collection create`, `collection set`, `collection settings` and `store purge`.

use crate::support::TestDirectory;

#[test]
fn a_collection_is_created_with_settings() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    place.write(
        "topics.xml",
        "<app:categories xmlns:app=\"http://www.w3.org/2007/app\" scheme=\"urn:s\" \
         xmlns=\"http://www.w3.org/2005/Atom\"><category term=\"sea\" label=\"The sea\"/>\
         <category term=\"hill\" scheme=\"urn:t\"/></app:categories>",
    );
    place.write("topics.json", "{\"fixed\": false, \"list\": [{\"term\": \"sea\"}]}");
    desk.ok(&[
        "collection",
        "create",
        "photos",
        "--accept",
        "image/*",
        "--accept",
        "video/mp4",
        "--categories",
        "topics.xml",
        "--set",
        "public=true",
        "--set",
        "keep.age=365d",
    ]);
    let settings = desk.json(&["collection", "settings", "photos"]);
    assert_eq!(settings["accept"], serde_json::json!(["image/*", "video/mp4"]));
    assert_eq!(
        settings["categories"],
        serde_json::json!({ "fixed": true, "scheme": "urn:s", "list": [
            { "term": "sea", "label": "The sea" }, { "term": "hill", "scheme": "urn:t" }
        ] })
    );
    assert_eq!((&settings["public"], &settings["keep"]["age"]), (&true.into(), &"365d".into()));
    desk.ok(&["collection", "create", "open", "--categories", "topics.json"]);
    assert_eq!(desk.json(&["collection", "settings", "open"])["categories"]["fixed"], false);
    desk.run(&["collection", "create", "a", "--accept", "image"]).fails(2, "media range");
    desk.run(&["collection", "create", "a", "--categories", "none.xml"]).fails(3, "no such file");
    place.write("wrong.xml", "<feed/>");
    desk.run(&["collection", "create", "a", "--categories", "wrong.xml"]).fails(1, "wrong.xml:1:1");
    place.write("wrong.json", "{\"list\": [{}]}");
    desk.run(&["collection", "create", "a", "--categories", "wrong.json"]).fails(1, "term");
    desk.run(&["collection", "create", "a", "--set", "public"]).fails(2, "NAME=VALUE");
    desk.run(&["collection", "settings", "a"]).fails(3, "no collection a");
}

#[test]
fn settings_are_changed_all_or_none() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let fresh = desk.json(&["collection", "settings", "notes"]);
    assert_eq!(fresh["accept"], serde_json::json!(["application/atom+xml;type=entry"]));
    let all = [
        "accept=image/*, text/plain",
        "drafts=true",
        "preconditions=true",
        "keep_stale_edits=true",
        "conflicts=latest",
        "keep.age=90d",
        "keep.count=5",
        "keep.tombstones=36h",
        "partial.age=30d",
        "partial.count=50",
        "expires=15m",
        "public=true",
        "documents=true",
        "subtitle=Notes, and more",
        "rights=Nobody's",
        "author=Ann",
    ];
    let shown = desk.ok(&[&["collection", "set", "notes"][..], &all].concat());
    for (name, value) in [("keep.tombstones", "36h"), ("accept", "image/*,text/plain")] {
        let said = shown.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(said.ends_with(value), "{said}");
    }
    let settings = desk.json(&["collection", "settings", "notes"]);
    assert_eq!(
        settings["keep"],
        serde_json::json!({"age": "90d", "count": 5, "tombstones": "36h"})
    );
    assert_eq!(settings["partial"], serde_json::json!({"age": "30d", "count": 50}));
    for (wrong, code, said) in [
        ("colour=blue", 1, "unknown setting colour\n"),
        ("pubilc=true", 1, "unknown setting pubilc; did you mean public?"),
        (
            "partial.age=soon",
            1,
            "invalid value \"soon\" for the setting partial.age: \"soon\" is not a period",
        ),
        ("partial.count=x", 1, "a whole number"),
        ("partial.agee=3d", 1, "unknown setting partial.agee; did you mean partial.age?"),
        ("partial=3", 2, "unknown setting partial"),
        ("keep.years=3", 1, "unknown setting keep.years\n"),
        ("keep.ages=3d", 1, "unknown setting keep.ages; did you mean keep.age?"),
        ("keep=3", 2, "unknown setting keep"),
        ("drafts.x=true", 2, "unknown setting"),
        ("keep.count=-1", 1, "a whole number"),
        ("keep.age=90", 1, "invalid value \"90\" for the setting keep.age: \"90\" is not a period"),
        (
            "drafts=maybe",
            1,
            "invalid value \"maybe\" for the setting drafts: must be true or false",
        ),
        (
            "conflicts=mine",
            1,
            "invalid value \"mine\" for the setting conflicts: must be one of keep, latest, \
             undeleted",
        ),
        ("drafts", 2, "NAME=VALUE"),
        ("categories=none.xml", 3, "no such file"),
    ] {
        let run = desk.run(&["collection", "set", "notes", "public=false", wrong]);
        run.fails(code, said);
        assert!(!run.err.contains(['{', '[']), "{}", run.err);
        assert_eq!(desk.json(&["collection", "settings", "notes"]), settings, "{wrong}");
    }
    let names = [
        "accept",
        "drafts",
        "preconditions",
        "keep_stale_edits",
        "conflicts",
        "keep.age",
        "keep.count",
        "keep.tombstones",
        "partial.age",
        "partial.count",
        "expires",
        "public",
        "documents",
        "categories",
        "subtitle",
        "rights",
        "author",
        "markup",
    ];
    let taken_back: Vec<_> = names.iter().map(|name| format!("{name}=default")).collect();
    let mut arguments = vec!["collection", "set", "notes"];
    arguments.extend(taken_back.iter().map(String::as_str));
    desk.ok(&arguments);
    assert_eq!(desk.json(&["collection", "settings", "notes"]), fresh);
    desk.ok(&["collection", "set", "notes", "accept=none"]);
    assert_eq!(desk.json(&["collection", "settings", "notes"])["accept"], serde_json::json!([]));
}

#[test]
fn items_past_the_retention_limit_are_purged() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for title in ["one", "two", "three"] {
        desk.add(title, "x");
    }
    assert_eq!(desk.json(&["store", "purge", "notes"])["purged"], 0);
    desk.ok(&["collection", "set", "notes", "keep.count=1"]);
    // Items that were never shown to others stay.
    assert_eq!(desk.json(&["store", "purge", "notes"])["purged"], 0);
    desk.ok(&["export", "notes", "--to", "atom", "--output", "notes.atom"]);
    assert_eq!(desk.json(&["store", "purge", "notes"])["purged"], 2);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "three");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 1);
    desk.run(&["store", "purge", "none"]).fails(3, "no collection none");
}
