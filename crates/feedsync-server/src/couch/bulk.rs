//! Many documents at once: written, and asked what of them is missing (6.1, 6.2).

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, DocumentId, Refusal, Revision, Submission, asked_revisions, bulk_documents,
    quoted,
};
use feedsync_endpoint::documents::difference::Difference;
use feedsync_endpoint::documents::{Edits, NewDocument, write_documents};
use http::{Method, StatusCode};

use super::failure::text as failed;
use super::rights::Need;
use super::server::new_id;
use super::{Asked, Failure, json, local};

/// `_bulk_docs`.
pub(super) async fn write(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_turn, sent) = asked.json(body).await?;
    let database = asked.still(&database, Need::Use).await?;
    let (nodes, new_edits) = bulk_documents(sent.root())?;
    let edits = if new_edits { Edits::New } else { Edits::Replicated };
    let mut documents = Vec::with_capacity(nodes.len());
    let (mut sent, mut local) = (Vec::with_capacity(nodes.len()), Vec::new());
    for node in nodes {
        if let Some(id) = local::Sent::names(node)? {
            sent.push(None);
            local.push(local::Sent::read(id, node, None)?);
            continue;
        }
        let read = Submission::read(node)?;
        let id = match read.id.clone() {
            Some(id) => id,
            None => new_id(asked).parse()?,
        };
        sent.push(Some((id.clone(), read.replicated().ok().map(|path| path.newest()))));
        documents.push(NewDocument { id, sent: read, followed: BTreeMap::new() });
    }
    let written = write_documents(&*asked.databases, &database, documents, edits).await?;
    let here = sent.iter().flatten().zip(&written);
    let here = here.filter_map(|((id, _), done)| Some((id.as_str(), done.as_ref().ok()?)));
    asked.hub.revisions.learn(&database, here);
    let (mut written, mut local) = (written.into_iter(), local.into_iter());
    let mut rows = Vec::new();
    for sent in sent {
        // What vouches for other documents is written behind them.
        let Some((id, named)) = sent else {
            let Some(sent) = local.next() else { continue };
            let id = sent.id.clone();
            let revision = sent.write(asked, name).await?;
            if edits == Edits::New {
                rows.push(format!("{{{}}}", local::done(&id, revision)));
            }
            continue;
        };
        match (written.next(), edits) {
            // Of what was made elsewhere only failures are told.
            (Some(Ok(_)), Edits::Replicated) | (None, _) => {}
            (Some(Ok(revision)), Edits::New) => {
                let revision = quoted(&revision.to_string());
                rows.push(format!(
                    "{{\"ok\":true,\"id\":{},\"rev\":{revision}}}",
                    quoted(id.as_str())
                ));
            }
            (Some(Err(refusal)), edits) => {
                let revision = named.filter(|_| edits == Edits::Replicated);
                let revision = revision.map(|it| format!(",\"rev\":{}", quoted(&it.to_string())));
                rows.push(refused(&id, &revision.unwrap_or_default(), &refusal));
            }
        }
    }
    Ok(json(StatusCode::CREATED, format!("[{}]\n", rows.join(","))))
}

fn refused(id: &DocumentId, revision: &str, refusal: &Refusal) -> String {
    let why = failed(refusal.kind.error(), &refusal.reason);
    let why = why.trim_end().trim_start_matches('{');
    format!("{{\"id\":{}{revision},{why}", quoted(id.as_str()))
}

/// What `_revs_diff` and `_missing_revs` ask, answered.
async fn compared(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Vec<Difference>, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_turn, sent) = asked.json(body).await?;
    let database = asked.still(&database, Need::Use).await?;
    let wanted = asked_revisions(sent.root())?;
    Ok(asked.hub.revisions.compare(&*asked.databases, &database, wanted).await?)
}

fn listed(revisions: &[Revision]) -> String {
    let revisions: Vec<String> = revisions.iter().map(|it| quoted(&it.to_string())).collect();
    format!("[{}]", revisions.join(","))
}

/// `_revs_diff`.
pub(super) async fn differences(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let mut text = String::from("{");
    for Difference { id, missing, ancestors } in compared(asked, name, body).await? {
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
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let of = |it: Difference| format!("{}:{}", quoted(&it.id), listed(&it.missing));
    let all: Vec<String> = compared(asked, name, body).await?.into_iter().map(of).collect();
    Ok(json(StatusCode::OK, format!("{{\"missing_revs\":{{{}}}}}\n", all.join(","))))
}
