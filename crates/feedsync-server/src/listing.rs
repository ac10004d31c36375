//! `GET /collections/{c}`: what a collection holds, for people's readers (RFC 4287, RFC 5005 3).
//!
//! Live items, newest change first, without their conflicts, in pages behind `next` links that carry
//! a key, not an offset (D4): nothing is lost or doubled when the collection changes meanwhile. It is
//! not the way to keep in step: for that it names the FeedSync feed and the complete one.

use axum::extract::State;
use axum::response::Response;
use feedsync::Item;
use feedsync_store::{Number, PageLimit, Selection};

use crate::address::View;
use crate::call::Call;
use crate::changes::clamp;
use crate::document::Document;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::writing::Items;

/// Items of a page if nothing was asked (A20).
const PAGE: u64 = 100;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let limit = call.query.number("limit", 1)?.unwrap_or(PAGE);
    let before = call.query.number("before", 0)?.map(Number::new);
    let collection = call.collection(&hub).await?;
    let suffix = call.suffix()?;
    let name = collection.name.clone();
    let document = match Document::prepare(&hub, &call, View::Listing, collection).await? {
        Ok(document) => document,
        Err(not_modified) => return Ok(not_modified),
    };
    let selection = Selection { before, ..Selection::default() };
    let page = PageLimit::items(clamp(limit, hub.config.limits.page_items));
    let page = hub.endpoint.store().listing(&name, &selection, page).await?;
    let next = page.items.last().filter(|_| page.more).map(|last| {
        let path = View::Listing.path(&name, suffix);
        call.base.url(&format!("{path}?before={}&limit={limit}", last.number))
    });
    let items = page
        .items
        .into_iter()
        .map(|stored| Item { conflicts: Vec::new(), ..stored.item })
        .collect();
    document.answer(&hub.endpoint, Items::Page { items, shown: None }, None, next).await
}
