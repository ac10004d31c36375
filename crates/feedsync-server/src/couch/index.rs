//! Indexes of a database: `_index` and `_explain`.

use std::collections::HashSet;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::index::{
    IndexDefinition, Listing, bulk_deletion, design_id, without_index, without_indexes,
};
use feedsync_couch::plan::explain;
use feedsync_couch::{DatabaseName, FindRequest, Refusal, RefusalKind, quoted};
use feedsync_store::MAX_INDEXES;
use http::{Method, StatusCode};

use super::failure::not_allowed;
use super::index_builds::known;
use super::index_edit::{Change, change_design_document};
use super::{CouchRequest, Failure, done, json};
use crate::access::databases::Need;

/// Handles a request below `/{db}/_index`.
pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match *rest {
        [] => match *asked.method_of(&[Method::GET, Method::POST])? {
            Method::POST => create(asked, name, body).await,
            _ => list(asked, name).await,
        },
        ["_bulk_delete"] => {
            asked.method_of(&[Method::POST])?;
            delete_many(asked, name, body).await
        }
        ["_design", design, kind, index] | [design, kind, index] => {
            asked.method_of(&[Method::DELETE])?;
            let database = asked.database(name, Need::Use).await?;
            if kind != "json" {
                return Err(Refusal::missing().into());
            }
            let design = design_id(design).map_err(|_| Refusal::missing())?;
            change_design_document(asked, &database, design, |body| {
                let body = body.ok_or_else(Refusal::missing)?;
                Ok(Some(without_index(body, index)?.map_or(Change::Delete, Change::Write)))
            })
            .await?;
            Ok(done(StatusCode::OK))
        }
        _ => {
            asked.database(name, Need::Use).await?;
            Err(not_allowed(&[Method::DELETE]))
        }
    }
}

/// Handles a request to `/{db}/_explain`.
pub(super) async fn answer_explain(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let request = {
        let (_permit, sent) = asked.json(body).await?;
        FindRequest::parse(sent.root())?
    };
    asked.recheck(&database, Need::Use).await?;
    let definitions = definitions(asked, name).await?;
    Ok(json(StatusCode::OK, explain(name.as_str(), &request, &definitions)?))
}

async fn list(asked: &CouchRequest, name: &DatabaseName) -> Result<Response, Failure> {
    asked.database(name, Need::Use).await?;
    let number = |parameter: &str, least: u64, default: u64| {
        let Some(text) = asked.parameters.text(parameter) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| *number >= least);
        let reason = "Index parameter ranges: limit > 1, skip > 0";
        number.ok_or_else(|| RefusalKind::InvalidListParameters.with_reason(reason))
    };
    let (limit, skip) = (number("limit", 1, u64::MAX)?, number("skip", 0, 0)?);
    let definitions = definitions(asked, name).await?;
    Ok(json(StatusCode::OK, format!("{}\n", Listing(&definitions).written(skip, limit))))
}

/// Creates an index, which is then built in the background.
async fn create(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let database = asked.database(name, Need::Use).await?;
    let index = {
        let (_permit, sent) = asked.json(body).await?;
        IndexDefinition::read(sent.root())?
    };
    let database = asked.recheck(&database, Need::Use).await?;
    // Serializes counting and creating on this node.
    let permit = asked.hub.index_creation.lock().await;
    let known: HashSet<_> =
        definitions(asked, name).await?.iter().map(IndexDefinition::full_name).collect();
    let is_full = known.len() >= MAX_INDEXES && !known.contains(&index.full_name());
    let is_changed = change_design_document(asked, &database, index.design.clone(), |body| {
        match index.added_to(body)? {
            Some(_) if is_full => {
                let reason = format!(
                    "a database can have at most {MAX_INDEXES} indexes: delete one of {name} first"
                );
                Err(RefusalKind::Forbidden.with_reason(reason))
            }
            changed => Ok(changed.map(Change::Write)),
        }
    })
    .await?;
    drop(permit);
    if is_changed {
        asked.hub.index_builds.begin(&asked.databases, name);
    }
    let result = if is_changed { "created" } else { "exists" };
    let (id, index) = (quoted(index.design.as_str()), quoted(&index.name));
    let text = format!("{{\"result\":\"{result}\",\"id\":{id},\"name\":{index}}}\n");
    Ok(json(StatusCode::OK, text))
}

/// Deletes all indexes of several design documents.
async fn delete_many(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let database = asked.database(name, Need::Use).await?;
    let designs = {
        let (_permit, sent) = asked.json(body).await?;
        bulk_deletion(sent.root())?
    };
    let database = asked.recheck(&database, Need::Use).await?;
    let (mut success, mut fail) = (Vec::new(), Vec::new());
    for design in designs {
        let id = quoted(design.as_str());
        let deleted = change_design_document(asked, &database, design.clone(), |body| {
            let body = body.ok_or_else(Refusal::missing)?;
            let left = without_indexes(&design, body)?;
            Ok(Some(left.map_or(Change::Delete, Change::Write)))
        });
        match deleted.await {
            Ok(_) => success.push(format!("{{\"id\":{id},\"ok\":true}}")),
            Err(Failure::Refused(refusal)) => {
                let error = refusal.kind.error();
                fail.push(format!("{{\"id\":{id},\"error\":\"{error}\"}}"));
            }
            Err(failure) => return Err(failure),
        }
    }
    let (success, fail) = (success.join(","), fail.join(","));
    Ok(json(StatusCode::OK, format!("{{\"success\":[{success}],\"fail\":[{fail}]}}\n")))
}

/// The definitions of all indexes, also of those that do not contain all documents yet.
async fn definitions(
    asked: &CouchRequest,
    name: &DatabaseName,
) -> Result<Vec<IndexDefinition>, Failure> {
    let indexes = known(&*asked.databases, name).await?;
    Ok(indexes.into_iter().map(|index| index.definition).collect())
}
