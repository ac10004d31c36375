//! Changes of the indexes in a design document, which are writes of that document.

use std::collections::BTreeMap;

use feedsync_couch::{DocumentId, Json, Refusal, RefusalKind, Revision, Submission, quoted};
use feedsync_endpoint::documents::Edits;
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::Node;
use feedsync_store::Database;

use super::document::{find, written};
use super::{CouchRequest, Failure};

/// Number of attempts if other clients write the document at the same time.
const MAX_ATTEMPTS: usize = 10;

/// A change of a design document.
pub(super) enum Change {
    /// Writes a body.
    Write(String),
    /// Deletes the document.
    Delete,
}

/// The stored state of a design document.
struct Stored {
    revision: Revision,
    body: String,
    /// The member `_attachments`, with stubs.
    attachments: Option<String>,
}

/// Decides a change from the body of a design document and writes it, with the rights and limits of any document. If
/// the document was written meanwhile, the change is decided again. Returns whether there was anything to change.
pub(super) async fn change_design_document(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    decide: impl Fn(Option<Node<'_>>) -> Result<Option<Change>, Refusal>,
) -> Result<bool, Failure> {
    for _ in 0..MAX_ATTEMPTS {
        let stored = Stored::read(asked, database, &id).await?;
        let body = stored.as_ref().map(|stored| Node::root(&stored.body));
        let Some(change) = decide(body)? else { return Ok(false) };
        let sent = submission(stored.as_ref(), change)?;
        let written = written(asked, database, id.clone(), sent, BTreeMap::new(), Edits::New).await;
        match written {
            Ok(_) => return Ok(true),
            Err(Failure::Refused(refusal)) if refusal.kind == RefusalKind::Conflict => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Refusal::conflict().into())
}

/// The document with a changed body. It keeps its attachments.
fn submission(stored: Option<&Stored>, change: Change) -> Result<Submission, Refusal> {
    let Change::Write(body) = change else {
        let revision = stored.map(|stored| stored.revision.clone());
        return Ok(Submission { revision, is_deleted: true, ..Submission::default() });
    };
    let mut text = String::from("{");
    if let Some(Stored { revision, attachments, .. }) = stored {
        text.push_str(&format!("\"_rev\":{},", quoted(&revision.to_string())));
        if let Some(attachments) = attachments {
            text.push_str(&format!("\"_attachments\":{attachments},"));
        }
    }
    // The body has members: its language at least.
    text.push_str(body.trim_start().trim_start_matches('{'));
    Submission::read(Json::read(text.into_bytes())?.root())
}

impl Stored {
    /// The winning revision of a document; `None` if there is none that is not deleted.
    async fn read(
        asked: &CouchRequest,
        database: &Database,
        id: &DocumentId,
    ) -> Result<Option<Self>, Failure> {
        let found = match find(asked, database, id.clone(), Leaves::Winner).await {
            Ok(found) => found,
            Err(Failure::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => {
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        let winner = found.document.tree.winner().filter(|winner| !winner.content.is_deleted);
        let Some(winner) = winner else { return Ok(None) };
        let body = found.bodies.get(winner.revision).ok_or_else(Refusal::missing)?;
        let mut shown = String::new();
        let pushed = DocumentOptions::default().push(
            &mut shown,
            &found,
            winner.revision,
            &AttachmentContents::new(),
            database,
        );
        pushed.ok_or_else(Refusal::missing)?;
        let attachments = Node::root(&shown).member("_attachments");
        let attachments = attachments.map(|member| member.value.raw().to_owned());
        let (revision, body) = (winner.revision.clone(), body.text.to_string());
        Ok(Some(Self { revision, body, attachments }))
    }
}
