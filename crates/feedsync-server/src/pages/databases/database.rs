//! `GET /pages/database?name=N`: what a database has: documents, members, indexes and functions.

use std::ops::Bound;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Json, texts};
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::validation::has_validation;
use feedsync_formats::json::Node;
use feedsync_store::{Database, DocumentRange, LoadedDocument};
use http::StatusCode;

use super::request::DatabasesRequest;
use super::{database_page, document, history, size};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page};

/// Number of documents on one page.
const PAGE: usize = 50;

/// Maximum number of documents that are examined for one page of conflicts.
const MAX_EXAMINED: usize = 5_000;

/// Maximum number of design documents that are described.
const MAX_DESIGNS: usize = 100;

/// Maximum size of the bodies that are read at once, in bytes.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Template)]
#[template(path = "database.html")]
struct DatabasePage {
    frame: Frame,
    name: String,
    page: String,
    documents: u64,
    deleted: u64,
    size: String,
    superseded: String,
    created: Time,
    /// Collection that the database mirrors.
    collection: Option<String>,
    /// Names and roles of members and administrators; empty if everybody may use the database.
    members: Vec<String>,
    administrators: Vec<String>,
    designs: Vec<Design>,
    indexes: Vec<String>,
    /// Whether functions that validate documents exist and are not executed.
    is_unenforced: bool,
    rows: Vec<Row>,
    from: String,
    only_conflicts: bool,
    next: Option<String>,
    history_page: String,
    /// Text for a mass loss within the last hour: how many documents of how many.
    loss: Option<(u64, u64)>,
    said: &'static str,
}

struct Design {
    name: String,
    page: String,
    views: Vec<String>,
    validates: bool,
}

struct Row {
    id: String,
    page: String,
    conflicts: usize,
    excerpt: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(&hub, &call).await?;
    let asked = DatabasesRequest::new(hub, call);
    let database = asked.database().await?;
    let name = database.name.clone();
    let from = asked.call.query.text("from").unwrap_or_default().to_owned();
    let only_conflicts = asked.call.query.text("conflicts").is_some();
    let (found, next) = documents(&asked, &name, &from, only_conflicts).await?;
    let here = database_page(&frame.root, &name);
    let next = next.map(|next| {
        let conflicts = if only_conflicts { "&conflicts=1" } else { "" };
        format!("{here}&from={}{conflicts}", encoded(&next))
    });
    let rows = found.iter().map(|found| Row::of(&frame.root, &name, found)).collect();
    let designs = designs(&asked, &frame.root, &name).await?;
    let indexes = asked.databases.indexes(&name).await?;
    let indexes = indexes.indexes.iter().map(|index| index.definition.name.clone()).collect();
    let collection = match asked.hub.endpoint.bridge_status(&database).await? {
        BridgeStatus::Collection(collection) => Some(collection.to_string()),
        BridgeStatus::Nothing | BridgeStatus::Closed => None,
    };
    let loss = asked.hub.mass_losses.of(&asked.hub.endpoint, &database).await?;
    let validates = designs.iter().any(|design| design.validates);
    let shown = DatabasePage {
        name: name.to_string(),
        page: here,
        documents: database.documents,
        deleted: database.deleted,
        size: size(database.bytes),
        superseded: size(database.superseded),
        created: Time::of(database.created),
        collection,
        members: people(&database, "members"),
        administrators: people(&database, "admins"),
        is_unenforced: validates && asked.hub.endpoint.functions().is_none(),
        designs,
        indexes,
        rows,
        from,
        only_conflicts,
        next,
        history_page: history::history_page(&frame.root, &name),
        loss: loss.map(|loss| (loss.lost, loss.existed)),
        said: match asked.call.query.text("said").unwrap_or_default() {
            "deleted" => "The document was deleted.",
            _ => "",
        },
        frame,
    };
    page(permit, &asked.call, StatusCode::OK, move || shown).await
}

/// The documents of a page, and the id from which the next page begins.
async fn documents(
    asked: &DatabasesRequest,
    name: &DatabaseName,
    from: &str,
    only_conflicts: bool,
) -> Result<(Vec<LoadedDocument>, Option<String>), Problem> {
    let (mut found, mut examined) = (Vec::new(), 0);
    let mut begin = Bound::Included(from.to_owned());
    loop {
        let most = if only_conflicts { 500 } else { PAGE + 1 };
        let range = DocumentRange {
            from: begin,
            to: Bound::Unbounded,
            is_descending: false,
            live_only: true,
            skip: 0,
            most,
        };
        let page =
            asked.databases.documents_by_id(name, range, leaves::winner(), MAX_BYTES).await?;
        let read: Vec<LoadedDocument> = page.documents.into_iter().flatten().collect();
        let Some(last) = read.last().map(|last| last.document.id.as_str().to_owned()) else {
            return Ok((found, None));
        };
        examined += read.len();
        for one in read {
            if only_conflicts && live_conflicts(&one) == 0 {
                continue;
            }
            if found.len() == PAGE {
                let next = one.document.id.as_str().to_owned();
                return Ok((found, Some(next)));
            }
            found.push(one);
        }
        if examined >= MAX_EXAMINED {
            // The least text after the last id.
            return Ok((found, Some(format!("{last}\0"))));
        }
        begin = Bound::Excluded(last);
    }
}

/// Number of leaves that lost and are not deleted.
fn live_conflicts(found: &LoadedDocument) -> usize {
    let leaves = found.document.tree.leaves();
    leaves.iter().skip(1).filter(|leaf| !leaf.content.is_deleted).count()
}

async fn designs(
    asked: &DatabasesRequest,
    root: &str,
    name: &DatabaseName,
) -> Result<Vec<Design>, Problem> {
    let range = DocumentRange {
        from: Bound::Included("_design/".to_owned()),
        to: Bound::Excluded("_design0".to_owned()),
        is_descending: false,
        live_only: true,
        skip: 0,
        most: MAX_DESIGNS,
    };
    let page = asked.databases.documents_by_id(name, range, leaves::winner(), MAX_BYTES).await?;
    let design = |found: &LoadedDocument| {
        let body = found.bodies.values().next()?;
        let body = Node::root(&body.text);
        let views = body.member("views").map(|views| views.value);
        let views = views.into_iter().flat_map(Node::members);
        Some(Design {
            name: found.document.id.to_string(),
            page: document::document_page(root, name, &found.document.id),
            views: views.map(|view| short(&view.name, 80)).take(100).collect(),
            validates: has_validation(body),
        })
    };
    Ok(page.documents.iter().flatten().filter_map(design).collect())
}

/// The names and roles of a part of `_security`.
fn people(database: &Database, part: &str) -> Vec<String> {
    let Some(security) = &database.security else {
        return vec!["administrators of the hub".to_owned()];
    };
    let Ok(json) = Json::read(security.clone().into_bytes()) else { return Vec::new() };
    let list = |name: &str| -> Vec<String> {
        let list = json.root().member(part).and_then(|part| part.value.member(name));
        list.and_then(|list| texts(list.value).ok()).unwrap_or_default()
    };
    let roles = list("roles").into_iter().map(|role| match role.as_str() {
        "_admin" => "administrators of the hub".to_owned(),
        role => format!("role {role}"),
    });
    list("names").into_iter().chain(roles).take(100).collect()
}

impl Row {
    fn of(root: &str, name: &DatabaseName, found: &LoadedDocument) -> Self {
        let body = found.bodies.values().next();
        Self {
            id: found.document.id.to_string(),
            page: document::document_page(root, name, &found.document.id),
            conflicts: live_conflicts(found),
            excerpt: body.map(|body| short(&body.text, 200)).unwrap_or_default(),
        }
    }
}
