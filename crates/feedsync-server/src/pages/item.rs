//! `/pages/collections/{c}/items/{id}`: the content of an item, its conflicts side by side, its
//! history, and the forms that change it.

use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_core::{Base, Item, ItemId, Payload};
use feedsync_formats::{ContentType, Entry, entry};
use feedsync_store::{Collection, Role, StoredItem};
use http::StatusCode;

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::http::html::Ticket;
use crate::http::html::content::{RenderedContent, short, web};
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page};
use crate::pages::base_version;
use crate::pages::form::{events, item_page, typed};
use crate::pages::graph::Graph;
use crate::pages::versions::{Pair, Signed, author};

/// Maximum time for comparing the versions of one page.
const MAX_COMPARISON_TIME: Duration = Duration::from_millis(300);

/// Maximum number of conflicts on one page; the others are shown once those are resolved.
const MAX_PAIRS: usize = 16;

#[derive(Template)]
#[template(path = "item.html")]
struct ItemPage {
    frame: Frame,
    collection: String,
    collection_page: String,
    page: String,
    events: String,
    id: String,
    heading: String,
    deleted: bool,
    /// Whether restoring it requires new content.
    is_blank: bool,
    noconflicts: bool,
    signed: Signed,
    shown: RenderedContent,
    /// Whether the content was truncated or lost its markup.
    reduced: bool,
    facts: Facts,
    /// Number of all conflicts; the pairs are the displayed ones.
    conflicts: usize,
    pairs: Vec<Pair>,
    graph: Graph,
    seen: String,
    base: String,
    /// Whether the user may change it.
    edits: bool,
    said: &'static str,
    edit: Fields,
    merge: Fields,
}

/// Other properties of an item.
struct Facts {
    summary: Option<String>,
    author: Option<String>,
    published: Option<Time>,
    updated: Option<Time>,
    categories: Vec<String>,
    links: Vec<Link>,
}

struct Link {
    rel: String,
    href: String,
    name: String,
    is_web: bool,
}

/// Title and content in a form.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub(super) title: String,
    pub(super) content: String,
    /// Name of the content's type for its label; none if it cannot be edited as text.
    pub(super) kind: Option<String>,
    /// The same type as a value of `content/@type`.
    pub(super) content_type: String,
    pub(super) title_error: String,
    pub(super) content_error: String,
    /// Error that concerns the form as a whole.
    pub(super) error: String,
}

impl Fields {
    /// The fields of a payload, as a browser returns them unchanged.
    pub(super) fn of(payload: &Payload) -> Self {
        Self::showing(&entry(payload))
    }

    fn showing(entry: &Entry) -> Self {
        let is_text = match &entry.content_type {
            ContentType::Other(_) => entry.plain_content().is_some(),
            _ => true,
        };
        let kind = is_text.then(|| label(&entry.content_type));
        let content = kind.as_ref().and(entry.content.as_deref()).unwrap_or_default();
        Self {
            // A single-line field contains no line ends.
            title: typed(entry.title.as_deref().unwrap_or_default()).replace('\n', ""),
            content: typed(content),
            kind,
            content_type: entry.content_type.name().to_owned(),
            ..Self::default()
        }
    }

    fn is_refused(&self) -> bool {
        [&self.title_error, &self.content_error, &self.error].iter().any(|error| !error.is_empty())
    }
}

/// Label for the type of a text content.
pub(super) fn label(content_type: &ContentType) -> String {
    match content_type {
        ContentType::Text => String::new(),
        ContentType::Html => "HTML".to_owned(),
        ContentType::Xhtml => "XHTML".to_owned(),
        ContentType::Other(kind) => kind.clone(),
    }
}

/// Refused forms, to be shown again.
#[derive(Default)]
pub(super) struct Refused {
    pub(super) edit: Option<Fields>,
    pub(super) merge: Option<Fields>,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let (collection, stored) = found(&hub, &call).await?;
    shown(&hub, &call, &collection, &stored, Refused::default(), StatusCode::OK).await
}

/// The item that the path names.
pub(super) async fn found(hub: &Hub, call: &Call) -> Result<(Collection, StoredItem), Problem> {
    let collection = call.collection(hub).await?;
    let id =
        ItemId::new(call.segment("id")).map_err(|error| Problem::not_found(error.to_string()))?;
    let stored = hub.endpoint.item(&collection.name, &id).await?;
    let audience = Audience::of(&call.principal, &collection)?;
    let stored = audience.sees(stored).ok_or_else(|| Problem::no_item(&id))?;
    Ok((collection, stored))
}

pub(super) async fn shown(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    stored: &StoredItem,
    refused: Refused,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(hub, call).await?;
    let given = ItemPageData {
        events: events(&frame.root, call, collection)?,
        edits: call.principal.role(&collection.name) >= Some(Role::Editor),
        said: said(call.query.text("said")),
        collection: collection.clone(),
        item: stored.item.clone(),
        refused,
        frame,
        ticket: hub.cleaning.admit().await?,
    };
    page(permit, call, status, move || given.page()).await
}

/// Data for the page of an item.
struct ItemPageData {
    frame: Frame,
    collection: Collection,
    item: Item<Payload>,
    events: String,
    edits: bool,
    said: &'static str,
    refused: Refused,
    ticket: Ticket,
}

impl ItemPageData {
    fn page(self) -> ItemPage {
        let Self { frame, collection, item, events, edits, said, refused, ticket } = self;
        let winner = &item.winner;
        let entry = entry(&winner.payload);
        let (shown, reduced) = RenderedContent::of(&entry, &ticket);
        drop(ticket);
        let deadline = Instant::now() + MAX_COMPARISON_TIME;
        let pair = |(index, (place, conflict)): (usize, _)| {
            Pair::of(index + 1, place, winner, conflict, deadline)
        };
        let now = if edits { Fields::showing(&entry) } else { Fields::default() };
        let Refused { mut edit, mut merge } = refused;
        if item.conflicts.is_empty() {
            // Without conflicts there is no merge form: its input becomes an edit.
            edit = edit.or(merge.take());
        }
        ItemPage {
            collection: collection.title.clone(),
            collection_page: collection_page(&frame.root, &collection.name),
            page: item_page(&frame.root, &collection.name, &item.id),
            events,
            id: item.id.to_string(),
            heading: short(&entry.heading().unwrap_or_default(), 200),
            deleted: winner.deleted,
            is_blank: entry.is_blank(),
            noconflicts: item.noconflicts(),
            signed: Signed::of(winner),
            shown,
            reduced,
            conflicts: item.conflicts.len(),
            pairs: item
                .ranked_conflicts()
                .into_iter()
                .take(MAX_PAIRS)
                .enumerate()
                .map(pair)
                .collect(),
            graph: Graph::of(&item),
            seen: base_version::versions(&item),
            base: base_version::written(&Base::from(winner)),
            edits,
            said,
            edit: edit.unwrap_or_else(|| now.clone()),
            merge: merge.unwrap_or(now),
            facts: Facts::of(entry),
            frame,
        }
    }
}

/// Message about a processed form.
fn said(word: Option<&str>) -> &'static str {
    match word.unwrap_or_default() {
        "created" => "The item was created.",
        "edited" => "The item was saved.",
        "deleted" => "The item was deleted. You can restore it.",
        "restored" => "The item was restored.",
        "resolved" => "The conflicts were resolved.",
        "beside" => {
            "Somebody else changed the item while you were editing it. Both versions were kept as \
             a conflict."
        }
        _ => "",
    }
}

impl Facts {
    fn of(entry: Entry) -> Self {
        let author = author(&entry);
        let link = |link: feedsync_formats::Link| Link {
            is_web: web(&link.href).is_some(),
            name: link.title.unwrap_or_else(|| short(&link.href, 80)),
            href: link.href,
            rel: link.rel,
        };
        let time = |when: feedsync_core::Timestamp| Time::text(when.to_string());
        Self {
            // Without content the summary is all there is.
            summary: entry.summary,
            author,
            published: entry.published.map(time),
            updated: entry.updated.map(time),
            categories: entry
                .categories
                .into_iter()
                .take(100)
                .map(|category| category.label.unwrap_or(category.term))
                .collect(),
            links: entry.links.into_iter().take(100).map(link).collect(),
        }
    }
}
