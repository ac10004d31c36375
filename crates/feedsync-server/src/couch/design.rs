//! Functions of design documents that have resources of their own. Of these, views are executed, and others are refused. A
//! missing one is refused as CouchDB refuses it.

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{DocumentId, FunctionKind, Refusal, RefusalKind};
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_endpoint::documents::validation::has_validation;
use feedsync_formats::json::Node;
use feedsync_store::Database;
use http::Method;

use super::document::find;
use super::{CouchRequest, Failure, view};

/// Answers a request below `/{db}/_design/{design}/` whose next segment begins with `_`.
pub(super) async fn answer(
    asked: &CouchRequest,
    database: Database,
    id: DocumentId,
    path: &str,
    body: Body,
) -> Result<Response, Failure> {
    let mut segments = path.splitn(3, '/');
    let (part, name) = (segments.next().unwrap_or_default(), segments.next());
    let rest = segments.next();
    let kind = match part {
        "_view" => FunctionKind::View,
        "_info" if name.is_none() => return view::information(asked, &database, id).await,
        "_show" => FunctionKind::Show,
        "_list" => FunctionKind::List,
        "_update" => FunctionKind::Update,
        "_rewrite" | "_search" | "_search_info" | "_nouveau" | "_nouveau_info" => {
            let reason = format!("{part} of design documents is not supported here");
            let found = winner(asked, &database, id).await.map(drop);
            return Err(found
                .err()
                .unwrap_or(RefusalKind::NotImplemented.with_reason(reason).into()));
        }
        _ => return Err(RefusalKind::NotFound.with_reason("missing handler").into()),
    };
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| RefusalKind::NotFound.with_reason("missing handler"))?;
    match (kind, rest) {
        (FunctionKind::View, None) => view::answer(asked, database, (id, name), body).await,
        (FunctionKind::View, Some("queries")) => {
            view::answer_queries(asked, database, (id, name), body).await
        }
        _ => {
            asked.method_of(&[Method::GET, Method::POST, Method::PUT, Method::DELETE])?;
            Err(refuse(asked, &database, id, (kind, name)).await)
        }
    }
}

/// Refuses a function: 404 if the design document or the function is missing, otherwise 501.
async fn refuse(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
    (kind, name): (FunctionKind, &str),
) -> Failure {
    match winner(asked, database, id).await {
        Err(failure) => failure,
        Ok(text) => kind.refuse(Node::root(&text), name).into(),
    }
}

/// Body of the winning revision of a design document.
pub(super) async fn winner(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
) -> Result<String, Failure> {
    let found = find(asked, database, id, Leaves::Winner).await?;
    let winner = found.document.tree.winner().ok_or_else(Refusal::missing)?;
    if winner.content.is_deleted {
        return Err(Refusal::deleted().into());
    }
    let body = found.bodies.get(winner.revision).ok_or_else(Refusal::missing)?;
    Ok(body.text.to_string())
}

/// Member of the response to a design document whose function validates documents, if functions are not executed here. It
/// begins with a comma. The log has a warning, too.
pub(super) fn unenforced(asked: &CouchRequest, id: &DocumentId, body: Node<'_>) -> &'static str {
    if asked.hub.endpoint.functions().is_some() || !id.is_design() || !has_validation(body) {
        return "";
    }
    tracing::warn!(
        design = id.as_str(),
        "validate_doc_update does not protect documents: this hub does not execute functions"
    );
    ",\"unenforced\":[\"validate_doc_update\"]"
}
