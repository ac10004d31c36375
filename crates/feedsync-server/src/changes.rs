//! `GET /collections/{c}/changes`: the FeedSync feed of a collection (FeedSync 4.2, F134 to F138).
//!
//! Changes after `since`, tombstones and conflicts included, oldest change first, under a window
//! whose `until` was read first (R-F27). With `limit` the answer is one page that ends at its own
//! `until`, with the next behind a link; without, it is one streamed document (AD12, AD15). A `since`
//! that is too old, ahead of us or nobody's is never an error: the window tells (AD13).

use axum::extract::State;
use axum::response::Response;
use feedsync::Window;
use feedsync_endpoint::Publication;
use feedsync_store::PageLimit;

use crate::address::View;
use crate::call::Call;
use crate::document::{Document, Pages};
use crate::hub::Hub;
use crate::negotiation::Representation;
use crate::problem::Problem;
use crate::query::encoded;
use crate::span::{Span, shown};
use crate::writing::Items;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let limit = call.query.number("limit", 1)?;
    let name = call.collection_name()?;
    let suffix = call.suffix()?;
    let publication = hub.endpoint.publish(&name, call.query.text("since")).await?;
    let collection = publication.collection.clone();
    let prepared = Document::prepare(&hub, &call, View::Changes, collection, publication.expires);
    let document = match prepared.await? {
        Ok(document) => document,
        Err(not_modified) => return Ok(not_modified),
    };
    let Some(limit) = limit else {
        let window = window(&publication, publication.window.until.clone());
        let after = publication.after;
        let span = Span::Changes { publication: Box::new(publication), after };
        return document
            .answer(&hub.endpoint, Items::Span(span), Some(window), Pages::default())
            .await;
    };
    let page = PageLimit::items(clamp(limit, hub.config.limits.page_items));
    let page = hub.endpoint.page(&publication, publication.after, page).await?;
    if page.collection.epoch != publication.collection.epoch {
        return Err(Problem::unavailable("the collection began anew meanwhile"));
    }
    let until = if page.more {
        publication.collection.until(page.through).to_string()
    } else {
        publication.window.until.clone()
    };
    let next = page.more.then(|| call.base.url(&next(&publication, suffix, &until, limit)));
    let items = Items::Page {
        shown: shown(&publication, page.through),
        items: page.items.into_iter().map(|stored| stored.item.into()).collect(),
    };
    let window = window(&publication, until);
    let document = document.read_of(&page.collection);
    document.answer(&hub.endpoint, items, Some(window), Pages::before(next)).await
}

/// So many, within a bound of ours.
pub(crate) fn clamp(asked: u64, bound: usize) -> usize {
    usize::try_from(asked).unwrap_or(bound).min(bound)
}

/// The window up to a change. A `since` that we never wrote may lie above it in text order; then the
/// place from which the changes were read stands for it.
fn window(publication: &Publication, until: String) -> Window {
    let asked = publication.window.since.clone();
    let read = || publication.collection.until(publication.after).to_string();
    Window { since: if asked > until { read() } else { asked }, until }
}

fn next(
    publication: &Publication,
    suffix: Option<Representation>,
    until: &str,
    limit: u64,
) -> String {
    let path = View::Changes.path(&publication.collection.name, suffix);
    format!("{path}?since={}&limit={limit}", encoded(until))
}
