//! Laws: documents and items that are mapped to the other side and back are unchanged.

use feedsync_core::{
    By, Format, History, ItemId, Payload, Sequence, Timestamp, Update, Updates, Version,
};
use feedsync_formats::Blob;
use proptest::prelude::*;

use super::signature::revision_of_update;
use super::*;
use crate::name::DocumentId;
use crate::revision::Revision;
use crate::tree::Path;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) }
}

/// Texts that resemble encoded ids.
fn id_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("fs:item/".to_owned()),
        Just("%41".to_owned()),
        Just("%2f".to_owned()),
        Just("%5F".to_owned()),
        Just("_".to_owned()),
        Just("_design/".to_owned()),
        Just("%".to_owned()),
        Just("\u{e4}\u{1f600}".to_owned()),
        "[a-z /+?#]{1,2}",
    ];
    proptest::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

fn by() -> impl Strategy<Value = By> {
    prop_oneof![
        "[a-z]{1,9}",
        "[a-z]{1,3}\\.[a-z0-9]{1,9}",
        "couch\\.[1-3]-[a-c0-9]{1,2}",
        "couch\\.[1-3]-[0-9a-f]{32}",
        Just("couch.2-20000101T000000Z~a~2".to_owned()),
        Just("couch.2-~a~2".to_owned()),
        "[a-z_:=@;$!*'(),+%~ \u{e4}]{1,8}",
    ]
    .prop_map(|text| By::encoded(&text).unwrap())
}

fn update() -> impl Strategy<Value = Update> {
    (1..5_u32, proptest::option::of(0..3_i64), proptest::option::of(by())).prop_filter_map(
        "unsigned",
        |(sequence, when, by)| {
            let when = when.and_then(Timestamp::from_unix_seconds);
            Update::new(Sequence::new(sequence).unwrap(), when, by).ok()
        },
    )
}

fn revision() -> impl Strategy<Value = Revision> {
    let signature = prop_oneof![
        "[0-9a-f]{32}",
        "[a-c~_]{1,6}",
        "20000101[Tt]000000Z~[a-c]{1,2}~[0-9]{1,2}",
        "~[a-c_]{1,3}~[0-9]{0,1}~{0,2}",
        "\u{e4}[ %/]{1,3}",
    ];
    (1..5_u64, signature)
        .prop_filter_map("a revision", |(at, it)| format!("{at}-{it}").parse().ok())
}

fn path() -> impl Strategy<Value = Path> {
    proptest::collection::vec(revision(), 1..5).prop_map(|revisions| {
        let signatures: Vec<_> = revisions.iter().map(|it| it.signature().clone()).collect();
        Path::new(signatures.len() as u64 + 1, signatures).unwrap()
    })
}

/// The members of an object, with names that have a meaning on either side.
fn members() -> impl Strategy<Value = String> {
    let name = "(fs:){0,3}(sync|document|version|blobs|native|title|_access|_x|_replication_a)";
    let value = prop_oneof![
        Just("1.0"),
        Just("\"a \\n\\u00e4\""),
        Just("{\"sync\":[]}"),
        Just("[1e400]"),
        Just("\"\\ud800\""),
        Just("\"{}\""),
    ];
    proptest::collection::btree_map(name, value, 0..4).prop_map(|members| {
        let member = |(name, value): (&String, &&str)| format!("\"{name}\":{value}");
        members.iter().map(member).collect::<Vec<_>>().join(",")
    })
}

fn payload() -> impl Strategy<Value = Payload> {
    let json =
        members().prop_map(|members| Payload::from_parsed(Format::Json, format!("{{{members}}}")));
    let atom = "[a-z]{0,5}".prop_map(|title| {
        let text =
            format!("<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{title}</title></entry>");
        Payload::from_parsed(Format::Atom, text)
    });
    prop_oneof![3 => json, 1 => atom]
}

fn version() -> impl Strategy<Value = Version<Payload>> {
    let history = proptest::collection::vec(update(), 1..5);
    (1..6_u32, any::<bool>(), proptest::option::of(any::<bool>()), history, payload()).prop_map(
        |(updates, deleted, noconflicts, history, payload)| Version {
            updates: Updates::new(updates).unwrap(),
            deleted,
            noconflicts,
            history: History::from_updates(history).unwrap(),
            payload,
        },
    )
}

fn item() -> ItemId {
    ItemId::new("a").unwrap()
}

fn blob(name: &str) -> Blob {
    Blob { name: name.to_owned(), media_type: "text/plain".to_owned(), length: 3, sha256: [7; 32] }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn document_ids_and_item_ids_map_both_ways(text in id_text()) {
        if let Ok(document) = text.parse::<DocumentId>() {
            match item_id(&document) {
                Some(item) => prop_assert_eq!(document_id(&item), Some(document)),
                None => prop_assert!(document.is_design()),
            }
        }
        if let Ok(item) = ItemId::new(&text) {
            let document = document_id(&item).unwrap();
            prop_assert_eq!(item_id(&document), Some(item));
        }
    }

    #[test]
    fn update_round_trips_through_a_revision(update in update(), updates in 1..5_u64) {
        let revision = revision_of_update(&update, updates).unwrap();
        let back = update_of(&revision).unwrap();
        prop_assert!(back.is_same(&update), "{revision}: {back:?}");
        // An update that was not made as a revision is encoded completely, and in a form that PouchDB
        // accepts.
        let is_made = update.by().is_some_and(|by| by.as_str().starts_with("couch."));
        prop_assert!(is_made || back.when() == update.when());
        prop_assert!(is_made || !revision.signature().to_string().contains('-'), "{revision}");
        let text = revision.to_string();
        prop_assert_eq!(text.parse::<Revision>().unwrap(), revision);
    }

    #[test]
    fn revision_round_trips_through_an_update(revision in revision()) {
        let update = update_of(&revision).unwrap();
        let back = revision_of_update(&update, revision.generation());
        prop_assert_eq!(back, Some(revision));
    }

    /// Two different revisions that were made as such never map to one update; nor do a revision and an
    /// encoded update.
    #[test]
    fn different_revisions_map_to_different_updates(one in revision(), two in revision()) {
        let is_same = update_of(&one).unwrap().is_same(&update_of(&two).unwrap());
        let are_told = signature::encodes_update(&one) && signature::encodes_update(&two);
        prop_assert!(!is_same || one == two || are_told);
    }

    #[test]
    fn version_round_trips_through_a_document(version in version()) {
        let Ok(mapped) = revision_of(&item(), &version) else {
            // Only a payload with invalid members of our own cannot be mapped.
            prop_assert!(version.payload.text().contains("\"fs:document\"") || version.payload.text().contains("\"fs:blobs\""));
            return Ok(());
        };
        // No payload contains text that feeds cannot represent, and versions that were made as revisions are
        // JSON.
        let is_clean = |text: &str| !text.contains("fs:native") && !text.contains("ud800");
        let is_made = !signature::encodes_update(&mapped.path.newest());
        if !is_clean(version.payload.text()) || is_made && version.payload.format() != Format::Json {
            return Ok(());
        }
        let sync_is_payload = version.payload.format() == Format::Json
            && feedsync_formats::json::Node::root(version.payload.text()).member("sync").is_some();
        let back = version_of(&item(), &mapped.path, mapped.is_deleted, &mapped.body, &mapped.attachments);
        let back = back.unwrap();
        prop_assert!(back.dot().is_same(version.dot()));
        if !sync_is_payload {
            prop_assert_eq!(&back.payload, &version.payload, "{}", mapped.body);
        }
        if update_of(&mapped.path.newest()).and_then(|it| it.by().cloned()).is_none_or(|by| !by.as_str().starts_with("couch.")) {
            prop_assert_eq!((back.updates, back.deleted, back.noconflicts), (version.updates, version.deleted, version.noconflicts));
            prop_assert!(back.history.covers_all(&version.history) && version.history.covers_all(&back.history));
        }
    }

    #[test]
    fn document_round_trips_through_a_version(
        path in path(), is_deleted in any::<bool>(), members in members(), with_attachment in any::<bool>(),
    ) {
        let body = format!("{{{members}}}");
        let attachments = if with_attachment { vec![blob("a"), blob("b.txt")] } else { Vec::new() };
        let version = version_of(&item(), &path, is_deleted, &body, &attachments).unwrap();
        let back = revision_of(&item(), &version).unwrap();
        prop_assert_eq!(back.path.newest(), path.newest());
        prop_assert_eq!(back.is_deleted, is_deleted);
        prop_assert_eq!(back.attachments, attachments);
        // Our own members about a history or a native text are not valid here.
        if !body.contains("\"fs:version\"") && !body.contains("\"fs:native\"") && !back.body.contains("\"fs:version\"") {
            prop_assert_eq!(back.body, body);
        }
        // Every ancestor is covered, and nothing else.
        for revision in path.revisions() {
            prop_assert!(version.history.covers(&update_of(&revision).unwrap()));
        }
    }
}

#[test]
fn path_round_trips_through_a_history() {
    let path = Path::new(
        3,
        ["20260102T030405Z~desk.x1~3", "c3", "967a00dff5e02add41819138abb3284d"]
            .map(|text| text.parse().unwrap())
            .into(),
    )
    .unwrap();
    let version = version_of(&item(), &path, false, "{\"title\":\"milk\"}", &[]).unwrap();
    let told: Vec<String> = version
        .history
        .updates()
        .iter()
        .map(|update| {
            let when = update.when().map_or_else(String::new, |when| when.to_string());
            format!("{} {} {when}", update.sequence(), update.by().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "3 desk.x1 2026-01-02T03:04:05Z",
            "2 couch.2-c3 ",
            "1 couch.1-967a00dff5e02add41819138abb3284d ",
        ]
    );
    assert_eq!(version.payload.text(), "{\"title\":\"milk\"}");
    let back = revision_of(&item(), &version).unwrap();
    assert_eq!((back.path, &*back.body), (path, "{\"title\":\"milk\"}"));
}

#[test]
fn deletion_of_a_document_loses_to_other_versions() {
    let path = Path::new(7, vec!["a".parse().unwrap()]).unwrap();
    let deleted = version_of(&item(), &path, true, "{}", &[]).unwrap();
    let first = Path::new(1, vec!["0".parse().unwrap()]).unwrap();
    let live = version_of(&item(), &first, false, "{}", &[]).unwrap();
    assert!(live.beats(&deleted) && !deleted.beats(&live));
}

#[test]
fn history_that_no_path_can_represent_is_stored_in_the_document() {
    let by = |name: &str, sequence| {
        let when = Timestamp::from_unix_seconds(0).unwrap();
        Update::signed(Sequence::new(sequence).unwrap(), when, By::new(name).unwrap())
    };
    let mut version = Version {
        updates: Updates::new(4).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(vec![by("a", 4), by("b", 3), by("c", 3), by("a", 2)])
            .unwrap(),
        payload: Payload::from_parsed(Format::Json, "{\"x\":1}"),
    };
    let mapped = revision_of(&item(), &version).unwrap();
    assert!(
        mapped.body.starts_with("{\"x\":1,\"fs:version\":{\"id\":\"a\",\"updates\":\"4\""),
        "{}",
        mapped.body
    );
    assert_eq!(version_of(&item(), &mapped.path, false, &mapped.body, &[]), Ok(version.clone()));
    // History members of another revision are ignored.
    let child = Path::new(5, vec!["x".parse().unwrap()]).unwrap();
    let void = version_of(&item(), &child, false, &mapped.body, &[]).unwrap();
    assert_eq!((void.history.updates().len(), void.payload.text()), (1, "{\"x\":1}"));
    version.history = History::from_updates(vec![by("a", 4), by("b", 3)]).unwrap();
    assert_eq!(revision_of(&item(), &version).unwrap().body, "{\"x\":1}");
    // Foreign markup on an earlier update is preserved, too.
    let marked = by("b", 3).with_foreign("<x xmlns=\"urn:x\"/>");
    version.history = History::from_updates(vec![by("a", 4), marked]).unwrap();
    let mapped = revision_of(&item(), &version).unwrap();
    assert!(mapped.body.contains("fs:version"), "{}", mapped.body);
}

#[test]
fn revision_without_an_update_is_an_error() {
    for revision in ["9007199254740991-a", &format!("1-{}", "\u{e4}".repeat(200))] {
        let path = Path::root(&revision.parse().unwrap());
        let refused = version_of(&item(), &path, false, "{}", &[]);
        assert!(matches!(refused, Err(MappingError::Revision(_))), "{refused:?}");
    }
    let version = Version {
        updates: Updates::new(1).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::new(
            Update::new(Sequence::new(1).unwrap(), None, By::new(&"b".repeat(600)).ok()).unwrap(),
        ),
        payload: Payload::from_parsed(Format::Json, "{}"),
    };
    assert_eq!(revision_of(&item(), &version), Err(MappingError::Update(item())));
}
