//! `GET /`: the collections and their item counts.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use feedsync_store::Collection;
use http::StatusCode;

use crate::access::call::Call;
use crate::http::address::View;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page};
use crate::pages::form::events;

/// Maximum number of collections whose changes the page follows; a browser has six connections to a
/// host.
const MAX_FOLLOWED: usize = 3;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    rows: Vec<Row>,
    /// Addresses of event streams, separated by spaces.
    events: String,
}

struct Row {
    name: String,
    title: String,
    page: String,
    format: &'static str,
    items: u64,
    deleted: u64,
    conflicts: u64,
    edited: Time,
    /// Address for programs that synchronize with it.
    url: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let frame = Frame::of(&hub, &call).await?;
    let mut collections = call.readable_collections(&hub).await?;
    let row = |collection: &Collection| Row {
        name: collection.name.to_string(),
        title: collection.title.clone(),
        page: collection_page(&frame.root, &collection.name),
        format: collection.format.name(),
        items: collection.live,
        deleted: collection.deleted,
        conflicts: collection.conflicted,
        edited: Time::of(collection.edited),
        url: call.base.url(&View::Listing.path(&collection.name, None)),
    };
    let rows = collections.iter().map(row).collect();
    collections.sort_by_key(|collection| std::cmp::Reverse(collection.edited));
    let events: Result<Vec<_>, _> =
        collections.iter().map(|collection| events(&frame.root, &call, collection)).collect();
    let events = events?.into_iter().filter(|address| !address.is_empty()).take(MAX_FOLLOWED);
    let events: Vec<_> = events.collect();
    let home = HomePage { frame, rows, events: events.join(" ") };
    page(permit, &call, StatusCode::OK, move || home).await
}
