//! Many documents at once: written, and asked what of them is missing (6.1, 6.2).

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, DocumentId, Json, Refusal, Revision, Submission, asked_revisions, bulk_documents,
    quoted,
};
use feedsync_endpoint::documents::difference::Difference;
use feedsync_endpoint::documents::{Edits, NewDocument, write_documents};
use http::{Method, StatusCode};

use super::failure::text as failed;
use super::rights::Need;
use super::server::new_id;
use super::{AT_ONCE, Asked, Failure, aside, json, local};

/// `_bulk_docs`.
pub(super) async fn write(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_turn, sent) = asked.json_around(body).await?;
    let database = asked.still(&database, Need::Use).await?;
    let Read { edits, sent } = match sent.root().raw().len() < AT_ONCE {
        true => Read::of(&sent)?,
        false => aside(move || Read::of(&sent)).await??,
    };
    let (mut documents, mut local) = (Vec::with_capacity(sent.len()), Vec::new());
    let mut named = Vec::with_capacity(sent.len());
    for one in sent {
        match one {
            One::Local(sent) => {
                named.push(None);
                local.push(sent);
            }
            One::Document(sent) => {
                let id = match sent.id.clone() {
                    Some(id) => id,
                    None => new_id(asked).parse()?,
                };
                let newest = sent.replicated().ok().map(|path| path.newest());
                named.push(Some((id.clone(), newest)));
                documents.push(NewDocument { id, sent, followed: BTreeMap::new() });
            }
        }
    }
    let written = write_documents(&*asked.databases, &database, documents, edits).await?;
    let here = named.iter().flatten().zip(&written);
    let here = here.filter_map(|((id, _), done)| Some((id.as_str(), done.as_ref().ok()?)));
    asked.hub.revisions.learn(&database, here);
    let (mut written, mut local) = (written.into_iter(), local.into_iter());
    let mut rows = Vec::new();
    for named in named {
        // What vouches for other documents is written behind them.
        let Some((id, named)) = named else {
            let Some(sent) = local.next() else { continue };
            let id = sent.id.clone();
            let revision = sent.write(asked, &database).await?;
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

/// What a body says.
struct Read {
    edits: Edits,
    sent: Vec<One>,
}

/// One of the documents that were sent.
enum One {
    Document(Submission),
    Local(local::Sent),
}

impl Read {
    fn of(sent: &Json) -> Result<Self, Refusal> {
        let (nodes, new_edits) = bulk_documents(sent.root())?;
        let read = |node| {
            Json::check_document(node)?;
            Ok(match local::Sent::names(node)? {
                Some(id) => One::Local(local::Sent::read(id, node, None)?),
                None => One::Document(Submission::read(node)?),
            })
        };
        let sent = nodes.into_iter().map(read).collect::<Result<_, Refusal>>()?;
        Ok(Self { edits: if new_edits { Edits::New } else { Edits::Replicated }, sent })
    }
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
