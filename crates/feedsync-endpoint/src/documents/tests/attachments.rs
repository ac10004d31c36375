//! Attachments of a revision exist wherever it is replicated to, with or without stubs.

use proptest::sample::Index;

use super::*;
use crate::documents::difference::{MissingRevisions, find_missing};
use crate::documents::leaves::{Leaves, chosen};
use crate::documents::show::{DocumentOptions, held};

impl Room {
    /// Returns documents as a replicator sends them for missing revisions, with stubs for known attachments
    /// if `stubs` is set.
    fn given(&self, missing: &MissingRevisions, stubs: bool) -> Vec<String> {
        let asks = Leaves::Named { revisions: missing.missing.clone(), latest: true };
        let ids = [missing.id.parse().unwrap()];
        let choose = chosen(asks.clone());
        let page = wait(self.databases.documents(&self.name, &ids, choose, u64::MAX)).unwrap();
        let read = page.documents[0].as_ref().unwrap();
        let held = wait(held(&*self.databases, &self.name, read, u64::MAX)).unwrap();
        let had = if stubs { &missing.ancestors[..] } else { &[] };
        let give = |revision: Result<Revision, Revision>| {
            let (tree, revision) = (&read.document.tree, revision.unwrap());
            let show =
                DocumentOptions { revs: true, attachments: true, ..DocumentOptions::default() };
            let show = show.since(had, tree, &revision);
            let mut text = String::new();
            show.push(&mut text, read, &revision, &held, &page.database).unwrap();
            text
        };
        asks.of(&read.document.tree).into_iter().map(give).collect()
    }

    /// Replicates all documents from another database as a replicator does: documents that are refused
    /// because of stubs are sent again without.
    pub(super) fn take(&self, from: &Self) {
        let leaves = |read: &LoadedDocument| {
            let leaves = read.document.tree.leaves().into_iter();
            let leaves = leaves.map(|leaf| leaf.revision.clone()).collect();
            (read.document.id.as_str().to_owned(), leaves)
        };
        let wanted = from.changes().iter().map(leaves).collect();
        for missing in wait(find_missing(&*self.databases, &self.name, wanted)).unwrap() {
            let (given, whole) = (from.given(&missing, true), from.given(&missing, false));
            for (given, whole) in given.iter().zip(&whole) {
                match self.write(&[given], Edits::Replicated) {
                    Err(refusal) => {
                        assert_eq!(refusal.kind, RefusalKind::MissingStub);
                        self.write(&[whole], Edits::Replicated).unwrap();
                    }
                    Ok(written) => assert!(written[0].contains('-'), "{written:?}"),
                }
            }
        }
    }

    /// Returns the digests of all attachments of all leaves, by revision and name.
    fn attached(&self) -> BTreeMap<(Revision, String), String> {
        let all = self.changes();
        let all = all.iter().flat_map(|read| &read.bodies).flat_map(|(revision, body)| {
            let of = |it: &Attachment| ((revision.clone(), it.name.clone()), it.digest.to_string());
            body.attachments.iter().map(of)
        });
        all.collect()
    }
}

/// Returns a revision of `a` by its path, newest first, with an attachment `f`.
fn revision(path: &[&str], attachment: &str) -> String {
    let ids: Vec<String> = path.iter().map(|id| format!("{id:?}")).collect();
    format!(
        r#"{{"_id":"a","_revisions":{{"start":{},"ids":[{}]}},"_attachments":{{"f":{attachment}}}}}"#,
        path.len(),
        ids.join(",")
    )
}

/// A client may omit the generation of an attachment, or state that of the former one.
#[test]
fn an_attachment_that_is_new_is_never_taken_for_the_one_before() {
    for said in ["", r#","revpos":0"#, r#","revpos":1"#] {
        let (one, other) = (Room::new(), Room::new());
        let write = |path: &[&str], data: &str| {
            let attachment = format!(r#"{{"data":"{data}"{said}}}"#);
            one.write(&[&revision(path, &attachment)], Edits::Replicated).unwrap();
            other.take(&one);
            assert_eq!(one.attached(), other.attached(), "{said}");
        };
        write(&["x"], "b2xk");
        write(&["y", "x"], "bmV3");
        assert_eq!(one.attachments(0)[0].generation, 2, "{said}");
        write(&["z", "y", "x"], "b2xk");
        assert_eq!(one.attachments(0)[0].generation, 3, "{said}");
    }
}

/// A possible generation is stored as stated, and a missing one as 0.
#[test]
fn a_generation_is_kept_where_it_can_be() {
    for (said, generation) in [("", 0), (r#","revpos":1"#, 1), (r#","revpos":2"#, 2)] {
        let room = Room::new();
        for path in [&["x"][..], &["y", "x"]] {
            let attachment = format!(r#"{{"data":"b2xk"{said}}}"#);
            room.write(&[&revision(path, &attachment)], Edits::Replicated).unwrap();
            assert_eq!(room.attachments(0)[0].generation, generation);
        }
    }
}

#[test]
fn a_stub_stands_for_nothing_else_than_it_says() {
    let room = Room::new();
    let old = r#"{"data":"b2xk","revpos":1}"#;
    room.write(&[&revision(&["x"], old)], Edits::Replicated).unwrap();
    let digest = room.attachments(0)[0].digest.clone();
    let stub = r#"{"stub":true,"revpos":1,"digest":"md5-OTHER"}"#;
    for (text, edits) in [
        (revision(&["y", "x"], stub), Edits::Replicated),
        (format!(r#"{{"_id":"a","_rev":"1-x","_attachments":{{"f":{stub}}}}}"#), Edits::New),
    ] {
        assert_eq!(room.write(&[&text], edits).unwrap_err().kind, RefusalKind::MissingStub);
    }
    let same = format!(r#"{{"stub":true,"revpos":9,"digest":"{digest}"}}"#);
    for (path, stub) in [(["y", "x"], &*same), (["z", "x"], r#"{"stub":true}"#)] {
        room.write(&[&revision(&path, stub)], Edits::Replicated).unwrap();
        assert_eq!(room.attachments(0)[0].digest, digest);
    }
}

/// An attachment that a stub brings under another name is as new there as one with content.
#[test]
fn a_stub_under_another_name_is_of_the_revision_that_brings_it() {
    let facts = |room: &Room| -> Vec<(String, u64)> {
        room.attachments(0).iter().map(|it| (it.name.clone(), it.generation)).collect()
    };
    for (said, edits, generation) in [
        ("", Edits::New, 2),
        (r#","revpos":1"#, Edits::New, 2),
        ("", Edits::Replicated, 0),
        (r#","revpos":2"#, Edits::Replicated, 2),
    ] {
        let room = Room::new();
        room.write(&[&revision(&["x"], r#"{"data":"b2xk","revpos":1}"#)], Edits::Replicated)
            .unwrap();
        let digest = room.attachments(0)[0].digest.clone();
        let stubs = format!(
            r#""_attachments":{{"f":{{"stub":true,"revpos":1}},"g":{{"stub":true{said},"digest":"{digest}"}}}}"#
        );
        let path = match edits {
            Edits::New => r#""_rev":"1-x""#,
            Edits::Replicated => r#""_revisions":{"start":2,"ids":["y","x"]}"#,
        };
        room.write(&[&format!(r#"{{"_id":"a",{path},{stubs}}}"#)], edits).unwrap();
        assert_eq!(facts(&room), [("f".to_owned(), 1), ("g".to_owned(), generation)], "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// For any stated generations and any times of replication, all databases end with the same attachments.
    #[test]
    fn attachments_are_equal_after_replication(
        steps in prop::collection::vec(
            (
                any::<Index>(),
                prop::collection::btree_map(0..2_u8, (0..3_u8, prop::option::weighted(0.8, 0..4_u8)), 1..3),
                any::<bool>(),
            ),
            1..12,
        ),
    ) {
        let (one, other) = (Room::new(), Room::new());
        let mut paths: Vec<Vec<usize>> = Vec::new();
        let mut written = BTreeMap::new();
        for (number, (parent, attached, is_replicated)) in steps.iter().enumerate() {
            // Most revisions follow the one before.
            let parent = parent.index(2 * paths.len() + 1);
            let parent = paths.get(parent).or_else(|| paths.last());
            let path: Vec<usize> = std::iter::once(number).chain(parent.into_iter().flatten().copied()).collect();
            let attachments: Vec<String> = attached.iter().map(|(name, (holds, said))| {
                let said = said.map(|said| format!(r#","revpos":{said}"#)).unwrap_or_default();
                let holds = ["b2xk", "bmV3", "b25l"][usize::from(*holds)];
                format!(r#""f{name}":{{"data":"{holds}"{said}}}"#)
            }).collect();
            let ids: Vec<String> = path.iter().map(|id| format!("\"r{id}\"")).collect();
            let text = format!(
                r#"{{"_id":"a","_revisions":{{"start":{},"ids":[{}]}},"_attachments":{{{}}}}}"#,
                path.len(),
                ids.join(","),
                attachments.join(","),
            );
            let revisions = one.write(&[&text], Edits::Replicated).unwrap();
            for (name, (holds, _)) in attached {
                let holds = [&b"old"[..], b"new", b"one"][usize::from(*holds)];
                let digest = AttachmentDigest::of(holds).to_string();
                written.insert((revisions[0].parse::<Revision>().unwrap(), format!("f{name}")), digest);
            }
            paths.push(path);
            if *is_replicated {
                other.take(&one);
            }
        }
        other.take(&one);
        prop_assert_eq!(one.attached(), other.attached());
        let is_so = one.attached().into_iter().all(|(key, digest)| written[&key] == digest);
        prop_assert!(is_so, "it is what was written");
    }
}

/// A stub may name an attachment of another document of the database, but nothing that is not stored.
#[test]
fn a_stub_stands_for_what_another_document_has() {
    let room = Room::new();
    room.write(&[r#"{"_id":"a","_attachments":{"f":{"data":"QUFB"}}}"#], Edits::New).unwrap();
    let digest = AttachmentDigest::of(b"AAA");
    let stub = |id: &str, digest: &AttachmentDigest| {
        format!(
            r#"{{"_id":"{id}","_rev":"1-a","_attachments":{{"g":{{"stub":true,"digest":"{digest}","revpos":1}}}}}}"#
        )
    };
    let nowhere = stub("c", &AttachmentDigest::of(b"B"));
    let written = room.write(&[&nowhere, &stub("b", &digest)], Edits::Replicated).unwrap();
    assert_eq!(written, ["missing_stub", "1-a"]);
    let [attachment] = &room.attachments(1)[..] else { panic!("one") };
    assert_eq!((&*attachment.name, attachment.length), ("g", 3));
    assert_eq!(attachment.digest, digest);
}

/// A stub never stands for content that no stored revision names, even if it is not swept yet.
#[test]
fn a_stub_of_an_attachment_that_compaction_dropped_is_refused() {
    let room = Room::new();
    let one =
        room.write(&[r#"{"_id":"a","_attachments":{"f":{"data":"QUFB"}}}"#], Edits::New).unwrap();
    let digest = AttachmentDigest::of(b"AAA");
    let stub = |id: &str| {
        format!(r#"{{"_id":"{id}","_attachments":{{"g":{{"stub":true,"digest":"{digest}"}}}}}}"#)
    };
    let without = format!(r#"{{"_id":"a","_rev":"{}"}}"#, one[0]);
    room.write(&[&without], Edits::New).unwrap();
    room.write(&[&stub("b")], Edits::New).unwrap();
    let last = room.write(&[r#"{"_id":"c","_attachments":{"h":{"data":"QkJC"}}}"#], Edits::New);
    let other = AttachmentDigest::of(b"BBB");
    room.write(
        &[&format!(r#"{{"_id":"c","_rev":"{}","_deleted":true}}"#, last.unwrap()[0])],
        Edits::New,
    )
    .unwrap();
    wait(room.databases.compact_documents(&room.name, None, 99)).unwrap();
    assert!(wait(room.databases.attachment(&room.name, &other)).unwrap().is_some(), "not swept");
    room.write(&[&stub("d")], Edits::New).unwrap();
    let gone =
        format!(r#"{{"_id":"e","_attachments":{{"g":{{"stub":true,"digest":"{other}"}}}}}}"#);
    let refused = room.write(&[&gone], Edits::New).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::MissingStub);
    // Content of another document of the same request can be named.
    let brings = r#"{"_id":"f","_rev":"1-a","_attachments":{"h":{"data":"QkJC"}}}"#;
    let names = gone.replace("\"e\"", "\"e\",\"_rev\":\"1-a\"");
    assert_eq!(room.write(&[&names, brings], Edits::Replicated).unwrap(), ["1-a", "1-a"]);
}
