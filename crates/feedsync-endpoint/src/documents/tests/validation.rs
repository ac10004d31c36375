//! Functions that validate documents.

use std::sync::Mutex;

use feedsync_couch::{AttachmentDigest, DEFAULT_SECURITY, quoted};

use super::super::functions::{Call, CallError, DesignFunctions, DesignSource};
use super::*;

/// Refuses documents whose text contains the `refused` member of the design document. It fails if that is `fail`.
#[derive(Default)]
pub(super) struct Judge {
    asked: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl DesignFunctions for Judge {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        let Call::Validate { updates, user, security } = call else { unreachable!("{call:?}") };
        let source = Json::read(design.source.as_bytes().to_vec()).unwrap();
        let word = source.root().member("validate_doc_update").unwrap().value;
        let word = feedsync_couch::text(word).unwrap().into_owned();
        if word == "fail" {
            return Err(CallError::TimeLimit);
        }
        let mut asked = self.asked.lock().unwrap();
        asked.push(format!("{user} {security}"));
        let said = updates.iter().map(|(document, before)| {
            asked.push(format!("{document} {before:?}"));
            let is_refused = document.contains(&word);
            if is_refused {
                format!("{{\"forbidden\":{}}}", quoted(&word))
            } else {
                "null".to_owned()
            }
        });
        Ok(format!("[{}]", said.collect::<Vec<_>>().join(",")))
    }
}

pub(super) fn room() -> (Room, Arc<Judge>) {
    let (room, judge) = (Room::new(), Arc::new(Judge::default()));
    let endpoint = room.endpoint.clone().with_functions(Arc::clone(&judge) as _);
    (Room { endpoint, ..room }, judge)
}

pub(super) fn design(word: &str) -> String {
    format!(r#"{{"_id":"_design/{word}","validate_doc_update":"{word}"}}"#)
}

const FORBIDDEN: &str = "forbidden";

#[test]
fn each_new_revision_is_validated() {
    let (room, judge) = room();
    assert_eq!(room.write(&[r#"{"_id":"a","n":"bad"}"#], Edits::New).unwrap().len(), 1);
    room.write(&[&design("bad")], Edits::New).unwrap();
    assert!(judge.asked.lock().unwrap().is_empty());
    let written = room.write(&[r#"{"_id":"b","n":"bad"}"#, r#"{"_id":"c","n":1}"#], Edits::New);
    let written = written.unwrap();
    assert_eq!(written[0], FORBIDDEN);
    assert!(written[1].starts_with("1-"), "{written:?}");
    let replicated = [
        r#"{"_id":"b","_rev":"1-a","n":"bad"}"#,
        r#"{"_id":"c","_revisions":{"start":2,"ids":["b","a"]},"_deleted":true}"#,
    ];
    assert_eq!(room.write(&replicated, Edits::Replicated).unwrap(), [FORBIDDEN, "2-b"]);
    let ids: Vec<_> = room.changes().iter().map(|it| it.document.id.to_string()).collect();
    assert_eq!(ids, ["a", "_design/bad", "c"]);
    // All functions are asked. One that another endpoint has written is asked at once.
    let elsewhere = Endpoint::new(Arc::clone(room.endpoint.store()), Arc::new(SystemEnvironment));
    let elsewhere = Room {
        endpoint: elsewhere,
        databases: Arc::clone(&room.databases),
        name: room.name.clone(),
    };
    elsewhere.write(&[&design("worse")], Edits::New).unwrap();
    for (text, result) in [("bad", FORBIDDEN), ("worse", FORBIDDEN), ("good", "1-")] {
        let written = room.write(&[&format!(r#"{{"_id":"d","n":"{text}"}}"#)], Edits::New).unwrap();
        assert!(written[0].starts_with(result), "{text} {written:?}");
    }
    // A deleted design document, and one in another language, validate nothing.
    let of = |id: &str| {
        let changes = room.changes();
        let found = changes.iter().find(|it| it.document.id.as_str() == id).unwrap();
        found.document.tree.winner().unwrap().revision.to_string()
    };
    let (bad, worse) = (of("_design/bad"), of("_design/worse"));
    room.write(
        &[
            &format!(r#"{{"_id":"_design/bad","_rev":"{bad}","_deleted":true}}"#),
            &format!(r#"{{"_id":"_design/worse","_rev":"{worse}","language":"query","validate_doc_update":"worse"}}"#),
        ],
        Edits::New,
    )
    .unwrap();
    let written = room.write(&[r#"{"_id":"e","n":"bad worse"}"#], Edits::New).unwrap();
    assert!(written[0].starts_with("1-"), "{written:?}");
}

#[test]
fn functions_see_the_document_before_and_the_user() {
    let (room, judge) = room();
    room.write(
        &[r#"{"_id":"a","n":1,"_attachments":{"t":{"data":"eA==","content_type":"text/plain"}}}"#],
        Edits::New,
    )
    .unwrap();
    room.write(&[&design("none")], Edits::New).unwrap();
    let stored = room.changes()[0].document.tree.winner().unwrap().revision.to_string();
    let edit =
        format!(r#"{{"_id":"a","_rev":"{stored}","n":2,"_attachments":{{"t":{{"stub":true}}}}}}"#);
    room.write(&[&edit], Edits::New).unwrap();
    let later = format!(
        r#"{{"_id":"a","_revisions":{{"start":3,"ids":["x","y","{}"]}},"n":3}}"#,
        &stored[2..]
    );
    room.write(&[&later], Edits::Replicated).unwrap();
    room.write(&[r#"{"_id":"a","_rev":"9-z","n":9}"#], Edits::New).unwrap();
    let digest = AttachmentDigest::of(b"x");
    let hash = &stored[2..];
    let before = format!(
        r#"{{"_id":"a","_rev":"{stored}","n":1,"_attachments":{{"t":{{"content_type":"text/plain","revpos":1,"digest":"{digest}","length":1,"stub":true}}}},"_revisions":{{"start":1,"ids":["{hash}"]}}}}"#
    );
    let user = format!(r#"{{"db":"notes","name":null,"roles":["_admin"]}} {DEFAULT_SECURITY}"#);
    let asked = judge.asked.lock().unwrap();
    assert_eq!(
        *asked,
        [
            user.clone(),
            format!(
                r#"{{"_id":"a","_rev":"{stored}","_attachments":{{"t":{{"stub":true}}}},"n":2}} {:?}"#,
                Some(&before)
            ),
            user.clone(),
            format!(
                r#"{{"_id":"a","_rev":"3-x","_revisions":{{"start":3,"ids":["x","y","{hash}"]}},"n":3}} {:?}"#,
                Some(&before)
            ),
            user.clone(),
            r#"{"_id":"a","_rev":"9-z","n":9} None"#.to_owned(),
        ]
    );
}

#[test]
fn a_function_that_cannot_be_executed_blocks_all_writes() {
    let (room, _) = room();
    room.write(&[&design("fail")], Edits::New).unwrap();
    for edits in [Edits::New, Edits::Replicated] {
        let refused = room.write(&[r#"{"_id":"a","_rev":"1-a"}"#], edits).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::FunctionProcess);
    }
    assert_eq!(room.changes().len(), 1);
    // A design document can be written, so that the function can be replaced.
    room.write(&[&design("other")], Edits::New).unwrap();
}

#[test]
fn many_and_large_documents_are_asked_about_in_pieces() {
    let (room, judge) = room();
    room.write(&[&design("bad")], Edits::New).unwrap();
    let large = "x".repeat(900_000);
    let document = |at: usize| {
        let text = if at.is_multiple_of(50) { &large } else { "" };
        let word = if at.is_multiple_of(3) { "bad" } else { "good" };
        format!(r#"{{"_id":"{at}","_rev":"1-a","n":"{word}","t":"{text}"}}"#)
    };
    let documents: Vec<_> = (0..700).map(document).collect();
    let documents: Vec<_> = documents.iter().map(String::as_str).collect();
    let written = room.write(&documents, Edits::Replicated).unwrap();
    for (at, one) in written.iter().enumerate() {
        assert_eq!(one, if at.is_multiple_of(3) { FORBIDDEN } else { "1-a" }, "{at}");
    }
    let asked = judge.asked.lock().unwrap();
    assert_eq!(asked.iter().filter(|line| line.contains("\"db\"")).count(), 7);
    assert_eq!(asked.len(), 707);
}

/// The functions of a design document decide for all users, so only administrators of the database write it.
#[test]
fn members_of_a_database_write_no_design_documents() {
    let room = Room::new();
    let author = Author {
        name: Some("anna".into()),
        is_administrator: false,
        roles: Vec::new(),
        may_design: false,
    };
    let writer = room.endpoint.documents_writer(author);
    let database = wait(room.databases.database(&room.name)).unwrap().unwrap();
    let new = |text: &str| {
        let sent = Submission::read(Json::read(text.as_bytes().to_vec()).unwrap().root()).unwrap();
        NewDocument { id: sent.id.clone().unwrap(), sent, followed: BTreeMap::new() }
    };
    for edits in [Edits::New, Edits::Replicated] {
        let documents = vec![
            new(r#"{"_id":"_design/x","_rev":"1-a"}"#),
            new(r#"{"_id":"_design/x","_rev":"1-a","_deleted":true}"#),
        ];
        let written = wait(writer.write(&database, documents, edits)).unwrap();
        for one in written {
            assert_eq!(one.unwrap_err().kind, RefusalKind::Forbidden);
        }
    }
    let written = wait(writer.write(&database, vec![new(r#"{"_id":"x"}"#)], Edits::New));
    assert!(written.unwrap()[0].is_ok());
    assert_eq!(room.changes().len(), 1);
}
