//! Rules for documents of the database `_replicator`, each of which is a replication.

use feedsync_couch::replicate::ReplicateRequest;
use feedsync_couch::{Body, Refusal, RefusalKind, quoted, text};
use feedsync_formats::json::Node;

use super::validation::Author;
use super::{Edits, NewDocument};

/// Member with the name of the user on whose behalf a replication is carried out.
pub const OWNER: &str = "owner";

/// Member with the state of a replication that has ended.
pub const STATE: &str = "_replication_state";

/// States of replications that have ended, and that the hub does not carry out again.
pub const COMPLETED: &str = "completed";
/// See [`COMPLETED`].
pub const FAILED: &str = "failed";

/// The state of a replication that has ended; `None` for one that is to be carried out.
pub fn final_state(document: Node<'_>) -> Option<&'static str> {
    let state = text(document.member(STATE)?.value)?;
    [COMPLETED, FAILED].into_iter().find(|known| *known == state)
}

/// Refuses a document that cannot be a replication, and sets the owner of an edited one: the author, if it is a user. A
/// replicated document keeps its owner, since its revision stands for this content.
pub(super) fn prepare(
    author: &Author,
    document: &mut NewDocument,
    edits: Edits,
) -> Result<(), Refusal> {
    if !author.is_administrator {
        let reason = "You are not a server admin.";
        return Err(RefusalKind::Forbidden.with_reason(reason));
    }
    if document.id.is_design() || document.sent.is_deleted {
        return Ok(());
    }
    let body = &mut document.sent.body;
    if final_state(body.root()).is_none() {
        let read = ReplicateRequest::of_document(body.root());
        read.map_err(|refusal| RefusalKind::Forbidden.with_reason(refusal.reason))?;
    }
    if let (Edits::New, Some(name)) = (edits, &author.name) {
        *body = Body::with_members(body.root(), |it| it == OWNER, &[(OWNER, &quoted(name))]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use feedsync_couch::{Json, Submission};

    use super::*;

    fn document(id: &str, body: &str) -> NewDocument {
        let sent = Submission::read(Json::read(body.as_bytes().to_vec()).unwrap().root()).unwrap();
        NewDocument { id: id.parse().unwrap(), sent, followed: BTreeMap::new() }
    }

    fn anna(is_administrator: bool) -> Author {
        Author {
            name: Some("anna".to_owned()),
            is_administrator,
            roles: Vec::new(),
            may_design: true,
        }
    }

    #[test]
    fn an_edit_is_owned_by_its_author() {
        let text = r#"{"owner":"bert","source":"a","target":"b"}"#;
        for (author, edits, expected) in [
            (anna(true), Edits::New, r#"{"source":"a","target":"b","owner":"anna"}"#),
            (anna(true), Edits::Replicated, text),
            (Author::SERVER, Edits::New, text),
        ] {
            let mut document = document("x", text);
            prepare(&author, &mut document, edits).unwrap();
            assert_eq!(document.sent.body.as_str(), expected);
        }
    }

    #[test]
    fn documents_that_cannot_be_replications_are_forbidden() {
        let refused = |author: &Author, id: &str, body: &str| {
            let document = &mut document(id, body);
            let refusal = prepare(author, document, Edits::Replicated).err()?;
            assert_eq!(refusal.kind, RefusalKind::Forbidden);
            Some(refusal.reason)
        };
        let root = anna(true);
        let reason = "Missing required parameter: target";
        assert_eq!(refused(&root, "x", r#"{"source":"a"}"#).as_deref(), Some(reason));
        for (id, body) in [
            ("x", r#"{"source":"a","target":"b"}"#),
            ("x", r#"{"_deleted":true}"#),
            ("x", r#"{"_replication_state":"failed"}"#),
            ("_design/x", "{}"),
        ] {
            assert_eq!(refused(&root, id, body), None, "{id} {body}");
            assert!(refused(&anna(false), id, body).is_some(), "{id} {body}");
        }
        assert!(refused(&root, "x", r#"{"_replication_state":"error"}"#).is_some());
    }
}
