//! Requests about many documents: writing them, and comparing their revisions (6.1, 6.2).

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, DocumentId, Json, Refusal, Revision, Submission, bulk_documents, quoted,
    requested_revisions,
};
use feedsync_endpoint::documents::difference::MissingRevisions;
use feedsync_endpoint::documents::{Edits, NewDocument};
use feedsync_formats::json::Node;
use http::{Method, StatusCode};

use super::document::is_plain_deletion;
use super::server::new_id;
use super::{CouchRequest, Failure, MAX_INLINE_JSON_BYTES, design, json, local, run_blocking};
use crate::access::databases::Need;
use crate::access::quotas;
use crate::http::couch_errors::text as failed;

/// `_bulk_docs`.
pub(super) async fn write(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_permit, sent) = asked.json_with_documents(body).await?;
    let database = asked.recheck(&database, Need::Use).await?;
    let bytes = sent.root().raw().len() as u64;
    let ParsedBody { edits, sent } = match sent.root().raw().len() < MAX_INLINE_JSON_BYTES {
        true => ParsedBody::of(&sent)?,
        false => run_blocking(move || ParsedBody::of(&sent)).await??,
    };
    let (mut documents, mut named) = (Vec::with_capacity(sent.len()), Vec::new());
    for one in sent {
        named.push(match one {
            SubmittedDocument::Local(sent) => DocumentResult::Local(sent),
            SubmittedDocument::Refused(row) => DocumentResult::Refused(row),
            SubmittedDocument::Document(sent) => {
                let id = match sent.id.clone() {
                    Some(id) => id,
                    None => new_id(asked).parse()?,
                };
                let newest = sent.replicated().ok().map(|path| path.newest());
                let notice = design::unenforced(asked, &id, sent.body.root());
                documents.push(NewDocument { id: id.clone(), sent, followed: BTreeMap::new() });
                DocumentResult::Document { id, newest, notice }
            }
        });
    }
    let (mut local, mut more) = (0, 0);
    for one in &named {
        if let DocumentResult::Local(sent) = one {
            local += sent.length();
            more += sent.growth(asked, name).await?;
        }
    }
    if !documents.iter().all(|document| is_plain_deletion(&document.sent)) {
        more += bytes.saturating_sub(local);
    }
    let begins = |sent: &Submission| sent.base().is_none_or(|base| base.generation() <= 1);
    let new = documents.iter().filter(|it| match edits {
        _ if is_plain_deletion(&it.sent) => false,
        Edits::New => it.sent.base().is_none(),
        Edits::Replicated => begins(&it.sent),
    });
    quotas::documents(&asked.hub, name, new.count() as u64, more).await?;
    let written = asked.write_documents(&database, documents, edits).await?;
    let documents = named.iter().filter_map(|named| match named {
        DocumentResult::Document { id, .. } => Some(id),
        _ => None,
    });
    let here = documents.zip(&written);
    let here = here.filter_map(|(id, done)| Some((id.as_str(), done.as_ref().ok()?)));
    asked.hub.revisions.learn(&database, here);
    let mut written = written.into_iter();
    let mut rows = Vec::new();
    for named in named {
        let (id, named, notice) = match named {
            DocumentResult::Document { id, newest, notice } => (id, newest, notice),
            DocumentResult::Refused(row) => {
                rows.push(row);
                continue;
            }
            // Checkpoints refer to other documents and are written after them.
            DocumentResult::Local(sent) => {
                let id = sent.id.clone();
                let revision = sent.write(asked, &database).await?;
                if edits == Edits::New {
                    rows.push(format!("{{{}}}", local::done(&id, revision)));
                }
                continue;
            }
        };
        match (written.next(), edits) {
            // For replicated documents only failures are reported.
            (Some(Ok(_)), Edits::Replicated) | (None, _) => {}
            (Some(Ok(revision)), Edits::New) => {
                let revision = quoted(&revision.to_string());
                rows.push(format!(
                    "{{\"ok\":true,\"id\":{},\"rev\":{revision}{notice}}}",
                    quoted(id.as_str())
                ));
            }
            (Some(Err(refusal)), edits) => {
                let revision = named.filter(|_| edits == Edits::Replicated);
                let revision = revision.map(|it| quoted(&it.to_string()));
                rows.push(refused(&quoted(id.as_str()), revision.as_deref(), &refusal));
            }
        }
    }
    Ok(json(StatusCode::CREATED, format!("[{}]\n", rows.join(","))))
}

/// One document of the response.
enum DocumentResult {
    Document {
        id: DocumentId,
        /// Its revision, if it names one.
        newest: Option<Revision>,
        /// Further member of its row, which begins with a comma.
        notice: &'static str,
    },
    Local(local::LocalSubmission),
    /// A document that was refused before anything was written, with its row.
    Refused(String),
}

/// A parsed body.
struct ParsedBody {
    edits: Edits,
    sent: Vec<SubmittedDocument>,
}

/// One of the submitted documents.
enum SubmittedDocument {
    Document(Submission),
    Local(local::LocalSubmission),
    /// A document that cannot be parsed, with its row.
    Refused(String),
}

impl ParsedBody {
    /// Reads the documents. An invalid replicated document is refused by itself.
    fn of(sent: &Json) -> Result<Self, Refusal> {
        let (nodes, new_edits) = bulk_documents(sent.root())?;
        let read = |node| {
            Json::check_document(node)?;
            Ok(match local::LocalSubmission::names(node)? {
                Some(id) => SubmittedDocument::Local(local::LocalSubmission::read(id, node, None)?),
                None => SubmittedDocument::Document(Submission::read(node)?),
            })
        };
        let row = |node: Node<'_>, refusal: &Refusal| {
            let text = |name: &str| {
                node.member(name)
                    .and_then(|it| feedsync_couch::text(it.value))
                    .map(|it| quoted(&it))
            };
            refused(text("_id").as_deref().unwrap_or("null"), text("_rev").as_deref(), refusal)
        };
        let sent = nodes.into_iter().map(|node| match read(node) {
            Err(refusal) if !new_edits => Ok(SubmittedDocument::Refused(row(node, &refusal))),
            read => read,
        });
        let sent = sent.collect::<Result<_, Refusal>>()?;
        Ok(Self { edits: if new_edits { Edits::New } else { Edits::Replicated }, sent })
    }
}

/// Row of a refused document; its id and its revision are JSON.
fn refused(id: &str, revision: Option<&str>, refusal: &Refusal) -> String {
    let revision = revision.map_or(String::new(), |it| format!(",\"rev\":{it}"));
    let why = failed(refusal.kind.error(), &refusal.reason);
    let why = why.trim_end().trim_start_matches('{');
    format!("{{\"id\":{id}{revision},{why}")
}

/// Computes the result of `_revs_diff` and `_missing_revs`.
async fn compared(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Vec<MissingRevisions>, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_permit, sent) = asked.json(body).await?;
    let database = asked.recheck(&database, Need::Use).await?;
    let wanted = requested_revisions(sent.root())?;
    Ok(asked.hub.revisions.find_missing(&*asked.databases, &database, wanted).await?)
}

fn listed(revisions: &[Revision]) -> String {
    let revisions: Vec<String> = revisions.iter().map(|it| quoted(&it.to_string())).collect();
    format!("[{}]", revisions.join(","))
}

/// `_revs_diff`.
pub(super) async fn differences(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let mut text = String::from("{");
    for MissingRevisions { id, missing, ancestors } in compared(asked, name, body).await? {
        text.push_str(if text.len() > 1 { "," } else { "" });
        text.push_str(&quoted(&id));
        text.push_str(":{\"missing\":");
        text.push_str(&listed(&missing));
        if !ancestors.is_empty() {
            text.push_str(",\"possible_ancestors\":");
            text.push_str(&listed(&ancestors));
        }
        text.push('}');
    }
    text.push_str("}\n");
    Ok(json(StatusCode::OK, text))
}

/// `_missing_revs`.
pub(super) async fn missing(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let of = |it: MissingRevisions| format!("{}:{}", quoted(&it.id), listed(&it.missing));
    let all: Vec<String> = compared(asked, name, body).await?.into_iter().map(of).collect();
    Ok(json(StatusCode::OK, format!("{{\"missing_revs\":{{{}}}}}\n", all.join(","))))
}
