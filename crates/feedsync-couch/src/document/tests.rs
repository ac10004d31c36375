//! Documents are returned as they were sent, and edits are distinguished from conflicts.

use proptest::prelude::*;

use super::*;
use crate::json::Json;
use crate::refusal::{Refusal, RefusalKind};
use crate::tree::{Content, Tree};

fn read(text: &str) -> Result<Submission, Refusal> {
    Submission::read(Json::read(text.as_bytes().to_vec()).unwrap().root())
}

fn revision(text: &str) -> Revision {
    text.parse().unwrap()
}

/// Values are forwarded unchanged, byte for byte (CG16).
#[test]
fn values_pass_through_unmodified() {
    let members = r#""n":1.0,"big":9007199254740993,"e":1E400,"a":1,"a":2,"s":"\ud83d\u0041\/ \\\" ","deep":{"_id":[]}"#;
    let spaced = members.replace("[]", "[ \n\t]").replace(":1,", " :\r\n1 ,");
    let sent = format!(r#"{{ "_id":"x", {spaced} ,"_rev":"1-a", "_conflicts":["2-b"] }}"#);
    let read = read(&sent).unwrap();
    assert_eq!(read.body.as_str(), format!("{{{members}}}"));
    assert_eq!((read.id.unwrap().as_str(), read.revision), ("x", Some(revision("1-a"))));
    let mut out = String::new();
    DocumentWriter::begin(&mut out, "x", "1-a", false, read.body.as_str()).end();
    assert_eq!(out, format!(r#"{{"_id":"x","_rev":"1-a",{members}}}"#));
}

#[test]
fn special_members_are_read_rejected_or_ignored() {
    let read_text = |text: &str| read(text).map(|read| read.body.into_text());
    assert_eq!(
        read_text(r#"{"_revs_info":1,"_local_seq":2,"_deleted_conflicts":3}"#).unwrap(),
        "{}"
    );
    let kept = r#"{"_access":[],"_replication_state":"x"}"#;
    assert_eq!(read_text(kept).unwrap(), kept);
    let tombstone = read(r#"{"_deleted":true,"why":"x"}"#).unwrap();
    assert_eq!((tombstone.is_deleted, tombstone.body.as_str()), (true, r#"{"why":"x"}"#));
    for (text, kind) in [
        ("[]", RefusalKind::BadRequest),
        (r#"{"_x":1}"#, RefusalKind::DocumentValidation),
        (r#"{"_":1}"#, RefusalKind::DocumentValidation),
        (r#"{"_id":1}"#, RefusalKind::IllegalDocumentId),
        (r#"{"_id":""}"#, RefusalKind::IllegalDocumentId),
        (r#"{"_id":"_x"}"#, RefusalKind::IllegalDocumentId),
        (r#"{"_id":"\ud800"}"#, RefusalKind::IllegalDocumentId),
        (r#"{"_rev":1}"#, RefusalKind::BadRequest),
        (r#"{"_rev":"x"}"#, RefusalKind::BadRequest),
        (r#"{"_deleted":1}"#, RefusalKind::DocumentValidation),
        (r#"{"_revisions":1}"#, RefusalKind::DocumentValidation),
        (r#"{"_revisions":{"start":1,"ids":[]}}"#, RefusalKind::DocumentValidation),
        (r#"{"_revisions":{"start":1,"ids":["a","b"]}}"#, RefusalKind::DocumentValidation),
        (r#"{"_revisions":{"start":-1,"ids":["a"]}}"#, RefusalKind::DocumentValidation),
        (r#"{"_revisions":{"start":1,"ids":[1]}}"#, RefusalKind::DocumentValidation),
        (r#"{"_attachments":[]}"#, RefusalKind::BadRequest),
        (r#"{"_attachments":{"a":1}}"#, RefusalKind::BadRequest),
        (r#"{"_attachments":{"a":{"data":"?"}}}"#, RefusalKind::BadRequest),
        (r#"{"_attachments":{"a":{"stub":true,"digest":"\n"}}}"#, RefusalKind::BadRequest),
        (r#"{"_attachments":{"_a":{"stub":true}}}"#, RefusalKind::BadRequest),
    ] {
        assert_eq!(read(text).unwrap_err().kind, kind, "{text}");
    }
}

/// Excessive depth and numbers of attachments are rejected.
#[test]
fn depth_and_attachments_are_bounded() {
    let nested = |levels: usize| {
        let text = format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        Json::read(text.into_bytes())
    };
    assert!(nested(512).is_ok() && nested(513).is_err());
    let attached = |count: usize| {
        let all: Vec<_> =
            (0..count).map(|number| format!("\"{number}\":{{\"stub\":true}}")).collect();
        read(&format!("{{\"_attachments\":{{{}}}}}", all.join(",")))
    };
    assert_eq!(attached(1_000).unwrap().attachments.len(), 1_000);
    assert_eq!(attached(1_001).unwrap_err().kind, RefusalKind::BadRequest);
}

#[test]
fn a_replicated_document_says_which_revision_it_is() {
    let path = |text: &str| read(text).unwrap().replicated();
    let whole = path(r#"{"_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]}}"#).unwrap();
    assert_eq!((whole.newest(), whole.signatures().len()), (revision("2-b"), 2));
    assert_eq!(path(r#"{"_rev":"2-b"}"#).unwrap().signatures().len(), 1);
    assert_eq!(path("{}").unwrap_err().kind, RefusalKind::BadRequest);
}

/// The rules of section 5, one after another.
#[test]
fn edits_are_distinguished_from_conflicts() {
    let sign = |_: Option<&Revision>| "new".parse().unwrap();
    let mut tree = Tree::default();
    let newest = |path: crate::tree::Path| path.newest().to_string();
    let edit = |tree: &Tree<()>, base: Option<&str>, is_deleted| {
        let base = base.map(revision);
        edited(tree, base.as_ref(), is_deleted, sign).map(newest).map_err(|refusal| refusal.kind)
    };
    assert_eq!(edit(&tree, None, false), Ok("1-new".to_owned()));
    assert_eq!(edit(&tree, Some("4-x"), false), Ok("5-new".to_owned()));
    let put = |tree: &mut Tree<()>, text: &str, is_deleted| {
        tree.graft(&crate::tree::Path::root(&revision(text)), Content { is_deleted, body: () })
    };
    put(&mut tree, "1-dead", true);
    assert_eq!(edit(&tree, None, false), Ok("2-new".to_owned()), "it is made again");
    for (base, is_deleted) in [(None, true), (Some("1-dead"), false), (Some("1-dead"), true)] {
        assert_eq!(edit(&tree, base, is_deleted), Err(RefusalKind::Conflict));
    }
    put(&mut tree, "1-a", false);
    put(&mut tree, "3-b", false);
    assert_eq!(edit(&tree, None, false), Err(RefusalKind::Conflict));
    for leaf in ["1-dead", "1-a", "3-b"] {
        let generation = revision(leaf).generation() + 1;
        assert_eq!(edit(&tree, Some(leaf), false), Ok(format!("{generation}-new")));
    }
    assert_eq!(edit(&tree, Some("2-b"), false), Err(RefusalKind::Conflict));
    assert_eq!(
        edit(&Tree::default(), Some("18446744073709551614-a"), false),
        Err(RefusalKind::Conflict)
    );
}

#[test]
fn one_edit_has_one_signature() {
    let of = |parent: Option<&str>, is_deleted, text: &str, content_type: &str| {
        let attachment = Attachment {
            name: "a".to_owned(),
            content_type: content_type.to_owned(),
            generation: 1,
            digest: crate::attachment::AttachmentDigest::of(b"x"),
            length: 1,
        };
        let parent = parent.map(revision);
        signature(
            parent.as_ref(),
            is_deleted,
            read(text).unwrap().body.fingerprint(),
            &[attachment],
        )
    };
    let one = of(Some("1-a"), false, r#"{"a":1,"b":"c"}"#, "text/plain");
    assert_eq!(
        one,
        of(Some("1-a"), false, r#"{ "b":"\u0063", "a": 1, "_rev":"1-a"}"#, "text/plain")
    );
    for other in [
        of(None, false, r#"{"a":1,"b":"c"}"#, "text/plain"),
        of(Some("1-b"), false, r#"{"a":1,"b":"c"}"#, "text/plain"),
        of(Some("1-a"), true, r#"{"a":1,"b":"c"}"#, "text/plain"),
        of(Some("1-a"), false, r#"{"a":1,"b":"d"}"#, "text/plain"),
        of(Some("1-a"), false, r#"{"a":1,"b":"c"}"#, "text/html"),
    ] {
        assert_ne!(one, other);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// A document that was written is parsed as the same.
    #[test]
    fn written_document_round_trips(
        id in "[^_]\\PC{0,9}",
        is_deleted in any::<bool>(),
        members in prop::collection::vec(("[a-z]{1,3}", "\\PC{0,5}"), 0..4),
        names in prop::collection::btree_set("[a-z\"\u{e4}]{1,3}", 0..3),
    ) {
        let mut body = String::from("{");
        for (at, (name, value)) in members.iter().enumerate() {
            body.push_str(if at > 0 { ", " } else { "" });
            feedsync_formats::json::push_string(&mut body, name);
            body.push_str(" : ");
            feedsync_formats::json::push_string(&mut body, value);
        }
        body.push('}');
        let attachments: Vec<_> = names
            .iter()
            .map(|name| Attachment {
                name: name.clone(),
                content_type: "text/x; a=\"b\"".to_owned(),
                generation: 3,
                digest: crate::attachment::AttachmentDigest::of(name.as_bytes()),
                length: name.len() as u64,
            })
            .collect();
        let path = crate::tree::Path::child(&revision("1-a"), "b".parse().unwrap()).unwrap();
        let body = read(&body).unwrap().body;
        let write = |is_whole: bool| {
            let mut out = String::new();
            DocumentWriter::begin(&mut out, &id, "2-b", is_deleted, body.as_str())
                .attachments(&attachments, |it| match is_whole {
                    true => crate::attachment::AttachmentForm::Data(it.name.as_bytes()),
                    false => crate::attachment::AttachmentForm::Stub,
                })
                .revisions(&path)
                .end();
            read(&out).unwrap()
        };
        let (stubs, whole) = (write(false), write(true));
        prop_assert_eq!(stubs.id.as_ref().unwrap().as_str(), &id);
        prop_assert_eq!(stubs.is_deleted, is_deleted);
        prop_assert_eq!(stubs.replicated().unwrap(), path);
        prop_assert_eq!(&stubs.body, &body);
        prop_assert_eq!(&whole.body, &body);
        for (attachment, (stub, data)) in
            attachments.iter().zip(stubs.attachments.iter().zip(&whole.attachments))
        {
            prop_assert_eq!(&stub.form, &crate::attachment::SentForm::Stub);
            let expected = crate::attachment::SentForm::Data(attachment.name.as_bytes().to_vec());
            prop_assert_eq!(&data.form, &expected);
            for sent in [stub, data] {
                prop_assert_eq!(&sent.name, &attachment.name);
                prop_assert_eq!(sent.content_type.as_ref(), Some(&attachment.content_type));
                prop_assert_eq!(sent.digest.as_ref(), Some(&attachment.digest));
                prop_assert_eq!(sent.generation, Some(3));
            }
        }
    }
}
