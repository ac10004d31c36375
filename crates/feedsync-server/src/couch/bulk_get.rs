//! `_bulk_get`: many revisions at once, an answer for each that is asked for, in that order (6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    AskedDocument, DatabaseName, DocumentId, Refusal, RefusalKind, Revision, asked_documents,
    quoted,
};
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_endpoint::documents::show::{Held, Show, held};
use feedsync_store::{Choose, Database, KeptBody, ReadDocument};
use http::{Method, StatusCode};

use super::rights::Need;
use super::{Asked, Failure, document, json};

/// The most bytes of documents in an answer.
const MOST_BYTES: u64 = 256 << 20;

/// So many are read at once.
const PAGE_BYTES: u64 = 16 << 20;

pub(super) async fn read(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (_turn, sent) = asked.json(body).await?;
    let says = |option: &str| -> Result<bool, Refusal> {
        Ok(asked.parameters.flag(option)? || document::says(sent.root(), option))
    };
    let (latest, attachments) = (says("latest")?, says("attachments")?);
    let show = Show { revs: says("revs")?, attachments, ..Show::default() };
    let wanted = asked_documents(sent.root())?;
    let meant: Vec<Result<(DocumentId, Leaves), Refusal>> = wanted
        .iter()
        .map(|one| {
            let (id, revision) = one.asked()?;
            let revisions = revision.map(|it| Leaves::Named { revisions: vec![it], latest });
            Ok((id, revisions.unwrap_or(Leaves::All)))
        })
        .collect();
    let found = find(asked, &database, meant.iter().flatten()).await?;
    let mut text = String::from("{\"results\":[");
    for (at, (one, meant)) in wanted.iter().zip(&meant).enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        let said = one.id.as_deref().map_or("null".to_owned(), quoted);
        text.push_str(&format!("{{\"id\":{said},\"docs\":["));
        match meant {
            Err(refusal) => push_error(&mut text, one, refusal),
            Ok((id, asks)) => {
                push(asked, &database, &mut text, (one, asks), found.get(id), &show).await?;
                if text.len() as u64 > MOST_BYTES {
                    return Err(too_much().into());
                }
            }
        }
        text.push_str("]}");
    }
    text.push_str("]}\n");
    Ok(json(StatusCode::OK, text))
}

fn too_much() -> Refusal {
    RefusalKind::TooLarge.because("so many documents do not fit into one answer; ask for fewer")
}

/// What is asked for of each document, each document once.
async fn find(
    asked: &Asked,
    database: &Database,
    meant: impl Iterator<Item = &(DocumentId, Leaves)>,
) -> Result<BTreeMap<DocumentId, ReadDocument>, Failure> {
    let mut wanted: BTreeMap<DocumentId, Vec<Leaves>> = BTreeMap::new();
    for (id, asks) in meant {
        wanted.entry(id.clone()).or_default().push(asks.clone());
    }
    let ids: Vec<DocumentId> = wanted.keys().cloned().collect();
    let wanted = Arc::new(wanted);
    let (mut found, mut bytes, mut next) = (BTreeMap::new(), 0, 0);
    while next < ids.len() {
        let wanted = Arc::clone(&wanted);
        let choose: Choose = Box::new(move |document| {
            let asks = wanted.get(&document.id).into_iter().flatten();
            let all = asks.flat_map(|asks| asks.of(&document.tree)).flatten();
            all.collect::<BTreeSet<_>>().into_iter().collect()
        });
        let page =
            asked.databases.documents(&database.name, &ids[next..], choose, PAGE_BYTES).await?;
        next += page.documents.len();
        for document in page.documents.into_iter().flatten() {
            bytes += document.bodies.values().map(KeptBody::length).sum::<u64>();
            found.insert(document.document.id.clone(), document);
        }
        if bytes > MOST_BYTES {
            return Err(too_much().into());
        }
    }
    Ok(found)
}

async fn push(
    asked: &Asked,
    database: &Database,
    text: &mut String,
    (one, asks): (&AskedDocument, &Leaves),
    found: Option<&ReadDocument>,
    show: &Show,
) -> Result<(), Failure> {
    let meant = match found {
        Some(found) => asks.of(&found.document.tree),
        None => Vec::new(),
    };
    let there: Vec<&Revision> = meant.iter().flatten().collect();
    let Some(found) = found.filter(|_| !there.is_empty()) else {
        push_error(text, one, &Refusal::missing());
        return Ok(());
    };
    let held = match show.attachments {
        true => held(&*asked.databases, &database.name, std::iter::once(found)).await?,
        false => Held::new(),
    };
    for (at, revision) in there.into_iter().enumerate() {
        text.push_str(if at > 0 { ",{\"ok\":" } else { "{\"ok\":" });
        let show = show.since(&one.had, &found.document.tree, revision);
        show.push(text, found, revision, &held, database).ok_or_else(Refusal::missing)?;
        text.push('}');
    }
    Ok(())
}

fn push_error(text: &mut String, one: &AskedDocument, refusal: &Refusal) {
    let id = one.id.as_deref().map_or("null".to_owned(), quoted);
    let revision = match (&one.id, &one.revision) {
        (None, _) => "null".to_owned(),
        (_, None) => "\"undefined\"".to_owned(),
        (_, Some(revision)) => quoted(revision),
    };
    let (error, reason) = (refusal.kind.error(), quoted(&refusal.reason));
    text.push_str(&format!(
        "{{\"error\":{{\"id\":{id},\"rev\":{revision},\"error\":\"{error}\",\"reason\":{reason}}}}}"
    ));
}
