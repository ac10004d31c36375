//! `/pages/document?name=N&id=ID`: a document with its attachments, revisions and conflicts, and the forms that edit
//! and delete it, and that resolve its conflicts.
//!
//! Each form names the leaves that its author saw. If they are others now, nothing is changed, and the page shows the
//! input again.

use std::time::{Duration, Instant};

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_couch::{DatabaseName, DocumentId, Json, RefusalKind, Resource, Revision, Submission};
use feedsync_endpoint::documents::NewDocument;
use feedsync_endpoint::documents::leaves::{Leaves, chosen};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument};
use http::StatusCode;

use super::leaves::{Pair, live, seen};
use super::request::{DatabasesRequest, WriteFailure};
use super::{database_page, json_text, size};
use crate::access::call::Call;
use crate::http::html::content::cut;
use crate::http::paths::DATABASES;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, see_other};
use crate::pages::form::{Form, Posted, typed};
use crate::pages::form_token::{self, STALE};

/// Maximum time for comparing the leaves of one page.
const MAX_COMPARISON_TIME: Duration = Duration::from_millis(300);

/// Maximum number of conflicts on one page.
const MAX_PAIRS: usize = 16;

/// Maximum number of revisions that are listed.
const MAX_REVISIONS: usize = 100;

/// Maximum size of a document that a form can edit, in bytes.
const MAX_EDITED_BYTES: usize = 1 << 20;

/// Maximum size of the bodies that are read for one page, in bytes.
const MAX_BYTES: u64 = 8 << 20;

const CHANGED: &str = "The document has changed since you opened this page, and nothing was saved. The page shows the \
current version: check it and try again.";

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    frame: Frame,
    database: String,
    database_page: String,
    page: String,
    id: String,
    is_deleted: bool,
    revision: String,
    text: String,
    is_cut: bool,
    attachments: Vec<AttachmentRow>,
    revisions: Vec<RevisionRow>,
    /// Number of all conflicts; the pairs are the displayed ones.
    conflicts: usize,
    pairs: Vec<Pair>,
    seen: String,
    /// The document in the form; `None` if it is too large.
    edited: Option<String>,
    error: String,
    said: &'static str,
}

struct AttachmentRow {
    name: String,
    address: String,
    media_type: String,
    size: String,
}

struct RevisionRow {
    revision: String,
    is_stored: bool,
}

/// A document of a database that the principal may use.
struct Found {
    asked: DatabasesRequest,
    database: Database,
    document: LoadedDocument,
}

/// A form that was refused: its status, the error, and the text that was typed.
struct Refused {
    status: StatusCode,
    error: String,
    text: Option<String>,
}

/// Address of the page of a document.
pub(super) fn document_page(root: &str, name: &DatabaseName, id: &DocumentId) -> String {
    let (name, id) = (encoded(name.as_str()), encoded(id.as_str()));
    format!("{root}/pages/document?name={name}&id={id}")
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    Found::of(DatabasesRequest::new(hub, call)).await?.shown(None).await
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let (form, is_genuine) = match Posted::read(&hub, &call, body).await? {
        Posted::Genuine(form) => (form, true),
        Posted::Foreign(form) => (form, false),
    };
    let found = match Found::of(DatabasesRequest::new(hub, call)).await {
        Err(_) if !is_genuine => return Err(form_token::refused()),
        found => found?,
    };
    let text = form.has("document").then(|| form.lines("document"));
    if !is_genuine {
        let (status, error) = (StatusCode::FORBIDDEN, STALE.to_owned());
        return found.shown(Some(Refused { status, error, text })).await;
    }
    if form.text("seen") != seen(&found.document) {
        let (status, error) = (StatusCode::CONFLICT, CHANGED.to_owned());
        return found.shown(Some(Refused { status, error, text })).await;
    }
    match found.carry_out(&form).await {
        Ok(address) => see_other(&address),
        Err(WriteFailure::Refused(refusal)) => {
            let status = StatusCode::from_u16(refusal.kind.status());
            let status = match status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR) {
                // A browser would ask for a password.
                StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
                status => status,
            };
            let error = format!("Nothing was saved: {}", refusal.reason);
            found.shown(Some(Refused { status, error, text })).await
        }
        Err(WriteFailure::Problem(problem)) => Err(problem),
    }
}

impl Found {
    /// The document that the address names.
    async fn of(asked: DatabasesRequest) -> Result<Self, Problem> {
        let database = asked.database().await?;
        let name = database.name.clone();
        let id = asked.call.query.text("id").unwrap_or_default();
        let missing = || Problem::not_found(format!("{name} has no document {id:?}"));
        let id: DocumentId = id.parse().map_err(|_| missing())?;
        let ids = std::slice::from_ref(&id);
        let page = asked.databases.documents(&name, ids, chosen(Leaves::All), MAX_BYTES).await?;
        let document = page.documents.into_iter().next().flatten().ok_or_else(missing)?;
        Ok(Self { asked, database, document })
    }

    fn winner(&self) -> Option<Revision> {
        self.document.document.tree.winner().map(|leaf| leaf.revision.clone())
    }

    /// Makes the change of a form. Returns the address of the next page.
    async fn carry_out(&self, form: &Form) -> Result<String, WriteFailure> {
        let root = self.asked.call.base.path();
        let here = document_page(root, &self.database.name, &self.document.document.id);
        match form.text("action") {
            "edit" => {
                self.edit(&form.lines("document")).await?;
                Ok(format!("{here}&said=edited"))
            }
            "delete" => {
                let leaves = live(&self.document);
                self.delete(&leaves).await?;
                let database = database_page(root, &self.database.name);
                Ok(format!("{database}&said=deleted"))
            }
            "keep" => {
                let kept = form.text("keep");
                let leaves = live(&self.document);
                let (kept, others): (Vec<_>, Vec<_>) =
                    leaves.into_iter().partition(|leaf| leaf.to_string() == kept);
                if kept.is_empty() {
                    return Err(RefusalKind::Conflict.with_reason(CHANGED).into());
                }
                self.delete(&others).await?;
                Ok(format!("{here}&said=resolved"))
            }
            _ => Err(Problem::bad_request("the form has no known action").into()),
        }
    }

    /// Writes a new revision of the winner.
    async fn edit(&self, text: &str) -> Result<(), WriteFailure> {
        let json = Json::read(text.as_bytes().to_vec())?;
        let mut sent = Submission::read(json.root())?;
        sent.revision = self.winner();
        self.write(vec![sent]).await
    }

    /// Deletes leaves.
    async fn delete(&self, leaves: &[Revision]) -> Result<(), WriteFailure> {
        let deletion = |leaf: &Revision| Submission {
            revision: Some(leaf.clone()),
            is_deleted: true,
            ..Submission::default()
        };
        self.write(leaves.iter().map(deletion).collect()).await
    }

    async fn write(&self, sent: Vec<Submission>) -> Result<(), WriteFailure> {
        let id = &self.document.document.id;
        let new = |sent| NewDocument { id: id.clone(), sent, followed: Default::default() };
        self.asked.write(&self.database, sent.into_iter().map(new).collect()).await
    }

    async fn shown(self, refused: Option<Refused>) -> Result<Response, Problem> {
        let asked = self.asked.clone();
        let permit = asked.hub.response_budget.permit().await?;
        let frame = Frame::of(&asked.hub, &asked.call).await?;
        let status = refused.as_ref().map_or(StatusCode::OK, |refused| refused.status);
        page(permit, &asked.call, status, move || self.page(frame, refused)).await
    }

    fn page(self, frame: Frame, refused: Option<Refused>) -> DocumentPage {
        let Self { asked, database, document } = self;
        let (name, id) = (&database.name, &document.document.id);
        let winner = document.document.tree.winner();
        let is_deleted = winner.is_none_or(|leaf| leaf.content.is_deleted);
        let winner = winner.map(|leaf| leaf.revision.clone());
        let whole = winner.as_ref().map(|it| whole(&document, it, &database)).unwrap_or_default();
        let (text, is_cut) = cut(&whole);
        let conflicts: Vec<Revision> = live(&document).into_iter().skip(1).collect();
        let deadline = Instant::now() + MAX_COMPARISON_TIME;
        let pairs = winner.iter().flat_map(|winner| {
            let shown = conflicts.iter().take(MAX_PAIRS).enumerate();
            let document = &document;
            shown.map(move |(at, it)| Pair::of(at + 1, document, (winner, it), deadline))
        });
        let pairs = pairs.collect();
        let edited = (whole.len() <= MAX_EDITED_BYTES).then(|| typed(&whole));
        let (error, written) = refused.map_or((String::new(), None), |it| (it.error, it.text));
        DocumentPage {
            database: name.to_string(),
            database_page: database_page(&frame.root, name),
            page: document_page(&frame.root, name, id),
            id: id.to_string(),
            is_deleted,
            revision: winner.as_ref().map(ToString::to_string).unwrap_or_default(),
            text,
            is_cut,
            attachments: attachments(&frame.root, &document, &database),
            revisions: revisions(&document),
            conflicts: conflicts.len(),
            pairs,
            seen: seen(&document),
            edited: written.or(edited),
            error,
            said: match asked.call.query.text("said").unwrap_or_default() {
                "edited" => "The document was saved.",
                "resolved" => "The conflicts were resolved.",
                _ => "",
            },
            frame,
        }
    }
}

/// A document with its attachments as stubs, without the members that the page shows elsewhere.
fn whole(document: &LoadedDocument, revision: &Revision, database: &Database) -> String {
    let mut json = String::new();
    let options = DocumentOptions::default();
    let pushed = options.push(&mut json, document, revision, &AttachmentContents::new(), database);
    let is_hidden = |name: &str| matches!(name, "_id" | "_rev" | "_deleted");
    pushed.map(|()| json_text::object(Node::root(&json), is_hidden)).unwrap_or_default()
}

fn attachments(root: &str, document: &LoadedDocument, database: &Database) -> Vec<AttachmentRow> {
    let winner = document.document.tree.winner().map(|leaf| leaf.revision);
    let body = winner.and_then(|winner| document.bodies.get(winner));
    let all = body.into_iter().flat_map(|body| body.attachments.iter());
    let row = |attachment: &feedsync_couch::Attachment| {
        let id = &document.document.id;
        let path = Resource::path_of_attachment(&database.name, id, &attachment.name);
        AttachmentRow {
            name: attachment.name.clone(),
            address: format!("{root}{DATABASES}{path}"),
            media_type: attachment.content_type.clone(),
            size: size(attachment.length),
        }
    };
    all.map(row).collect()
}

/// The winner and its ancestors.
fn revisions(document: &LoadedDocument) -> Vec<RevisionRow> {
    let tree = &document.document.tree;
    let path = tree.winner().and_then(|leaf| tree.path(leaf.revision));
    let all = path.iter().flat_map(|path| path.revisions()).take(MAX_REVISIONS);
    let row = |revision: Revision| RevisionRow {
        is_stored: tree.content(&revision).is_some(),
        revision: revision.to_string(),
    };
    all.map(row).collect()
}
