//! `/pages/collections/{c}`: the items of a collection, newest change first, with search, filters
//! and paging by key; and a form for a new item.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_core::Creation;
use feedsync_endpoint::EndpointError;
use feedsync_formats::{ReviseError, Revision, entry};
use feedsync_store::{ChangeNumber, Collection, Role, Selection, StoredItem};
use http::StatusCode;

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::http::address::View;
use crate::http::html::content::short;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other, sentence};
use crate::pages::form::{Form, Posted, events, item_page};
use crate::pages::form_token::STALE;

/// Number of items of a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "collection.html")]
struct CollectionPage {
    frame: Frame,
    title: String,
    name: String,
    page: String,
    items: u64,
    deleted: u64,
    conflicts: u64,
    events: String,
    feed: String,
    rows: Vec<Row>,
    filter: Filter,
    /// Address of the next page.
    older: Option<String>,
    draft: Draft,
    /// Whether the user may create an item.
    edits: bool,
    /// Whether the user may grant roles.
    owns: bool,
}

struct Row {
    page: String,
    title: String,
    excerpt: String,
    deleted: bool,
    conflicts: usize,
    edited: Time,
}

/// Filter of the list.
#[derive(Default)]
struct Filter {
    containing: String,
    conflicted: bool,
    deleted: bool,
    before: Option<u64>,
}

/// Input for a new item.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) title: String,
    pub(super) content: String,
    pub(super) title_error: String,
    pub(super) content_error: String,
    /// Error that concerns neither field.
    pub(super) error: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let flag = |name| matches!(call.query.text(name), Some("1" | "on"));
    let filter = Filter {
        containing: call.query.text("q").unwrap_or_default().trim().to_owned(),
        conflicted: flag("conflicts"),
        deleted: flag("deleted"),
        before: call.query.number("before", 0)?,
    };
    shown(&hub, &call, filter, Draft::default(), StatusCode::OK).await
}

/// `POST`: creates an item.
pub(crate) async fn create(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let collection = call.collection(&hub).await?;
    let typed = |form: &Form| Draft {
        title: form.text("title").trim().to_owned(),
        content: form.lines("content"),
        ..Draft::default()
    };
    let draft = match &posted {
        Posted::Genuine(form) => typed(form),
        Posted::Foreign(form) => {
            let draft = Draft { error: STALE.to_owned(), ..typed(form) };
            return with_draft(&hub, &call, draft, StatusCode::FORBIDDEN).await;
        }
    };
    if draft.title.is_empty() && draft.content.trim().is_empty() {
        let title_error = "Enter a title or a content.".to_owned();
        let draft = Draft { title_error, ..draft };
        return again(&hub, &call, draft).await;
    }
    let endpoint = &call.growing_endpoint(&hub).await?;
    let id = endpoint.new_id();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // A character that XML cannot contain would be replaced, so its author must confirm the change.
    let empty = endpoint.compose(collection.format, &id, Some(String::new()), None);
    let typed = Revision {
        title: some(&draft.title),
        content: some(&draft.content),
        ..Revision::default()
    };
    if let Err(error @ ReviseError::Character { .. }) = feedsync_formats::revise(&empty, &typed) {
        let draft = match error {
            ReviseError::Character { field: "title", .. } => {
                Draft { title_error: error.to_string(), ..draft }
            }
            _ => Draft { content_error: error.to_string(), ..draft },
        };
        return again(&hub, &call, draft).await;
    }
    let payload =
        endpoint.compose(collection.format, &id, some(&draft.title), some(&draft.content));
    match endpoint.add(&collection.name, id.clone(), Creation::default(), payload).await {
        Ok(_) => {}
        Err(error @ (EndpointError::Full { .. } | EndpointError::NoRoom { .. })) => {
            let draft = Draft { error: sentence(error), ..draft };
            return with_draft(&hub, &call, draft, StatusCode::INSUFFICIENT_STORAGE).await;
        }
        Err(error) => return Err(error.into()),
    }
    see_other(&format!("{}?said=created", item_page(call.base.path(), &collection.name, &id)))
}

async fn again(hub: &Hub, call: &Call, draft: Draft) -> Result<Response, Problem> {
    shown(hub, call, Filter::default(), draft, StatusCode::UNPROCESSABLE_ENTITY).await
}

/// Shows the page with a draft in its form.
pub(super) async fn with_draft(
    hub: &Hub,
    call: &Call,
    draft: Draft,
    status: StatusCode,
) -> Result<Response, Problem> {
    shown(hub, call, Filter::default(), draft, status).await
}

async fn shown(
    hub: &Hub,
    call: &Call,
    filter: Filter,
    draft: Draft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let collection = call.collection(hub).await?;
    let selection = Selection {
        before: filter.before.map(ChangeNumber::new),
        deleted: filter.deleted || filter.conflicted,
        conflicted: filter.conflicted,
        containing: Some(filter.containing.clone()).filter(|text| !text.is_empty()),
    };
    let audience = Audience::of(&call.principal, &collection)?;
    let found = audience.listing(&hub.endpoint, &collection.name, selection, PAGE).await?;
    let frame = Frame::of(hub, call).await?;
    let name = &collection.name;
    let address = collection_page(&frame.root, name);
    let older = found.older.map(|number| format!("{address}{}", filter.query(Some(number.get()))));
    let events = events(&frame.root, call, &collection)?;
    let feed = call.base.url(&View::Listing.path(name, None));
    let role = call.principal.role(name);
    page(permit, call, status, move || CollectionPage {
        title: collection.title.clone(),
        name: collection.name.to_string(),
        items: collection.live,
        deleted: collection.deleted,
        conflicts: collection.conflicted,
        events,
        feed,
        page: address,
        rows: found.items.iter().map(|stored| row(&frame.root, &collection, stored)).collect(),
        older,
        filter,
        draft,
        edits: role >= Some(Role::Editor),
        owns: role >= Some(Role::Owner),
        frame,
    })
    .await
}

fn row(root: &str, collection: &Collection, stored: &StoredItem) -> Row {
    let entry = entry(&stored.item.winner.payload);
    let title = entry.heading().unwrap_or_default();
    let said = entry.plain_content().or(entry.summary).unwrap_or_default();
    let excerpt = if entry.title.is_some() { short(&said, 160) } else { String::new() };
    Row {
        page: item_page(root, &collection.name, &stored.item.id),
        title: short(&title, 120),
        excerpt,
        deleted: stored.item.winner.deleted,
        conflicts: stored.item.conflicts.len(),
        edited: Time::of(stored.edited),
    }
}

impl Filter {
    /// Whether the list differs from the newest live items.
    fn is_set(&self) -> bool {
        !self.containing.is_empty() || self.conflicted || self.deleted || self.before.is_some()
    }

    fn query(&self, before: Option<u64>) -> String {
        let mut parameters = Vec::new();
        if !self.containing.is_empty() {
            parameters.push(format!("q={}", encoded(&self.containing)));
        }
        if self.conflicted {
            parameters.push("conflicts=1".to_owned());
        }
        if self.deleted {
            parameters.push("deleted=1".to_owned());
        }
        parameters.extend(before.map(|number| format!("before={number}")));
        format!("?{}", parameters.join("&"))
    }
}

impl Draft {
    /// Whether there is any input to keep.
    fn is_begun(&self) -> bool {
        [&self.title, &self.content, &self.title_error, &self.content_error, &self.error]
            .iter()
            .any(|text| !text.is_empty())
    }
}
