//! `GET /collections/{c}/complete`: the complete FeedSync feed (FeedSync 2.3, 4.1.1, F135).
//!
//! All items by id, under the window from the purge horizon to the change that was the last when the
//! reading began (R-F26, C-D3). An item that changes meanwhile may already be there as it is now;
//! whoever goes on from `until` is told of it again.
//!
//! Without `limit` it is one streamed document. With `limit` it comes in parts of so many items at
//! most after the id `after`, each with the next behind a link and with a window of its own; whoever
//! reads them all goes on from the `until` of the first. An item never moves among the ids, so that
//! the parts hold each once, and what is added behind the reader lies after that `until`. The links
//! carry the place where the walk began, to tell that the collection began anew under the reader,
//! and how far it has been shown once the last part is sent.

use axum::extract::State;
use axum::response::Response;
use feedsync::ItemId;
use feedsync_endpoint::Publication;
use feedsync_store::{Collection, PageLimit, Until};

use crate::address::View;
use crate::call::Call;
use crate::changes::clamp;
use crate::document::{Document, Pages};
use crate::hub::Hub;
use crate::negotiation::Representation;
use crate::problem::Problem;
use crate::query::encoded;
use crate::span::Span;
use crate::writing::Items;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let limit = call.query.number("limit", 1)?;
    let after = parsed(&call, "after", ItemId::new)?;
    let began = parsed(&call, "until", str::parse::<Until>)?;
    let collection = call.collection(&hub).await?;
    let suffix = call.suffix()?;
    let publication = hub.endpoint.publish(&collection.name, None).await?;
    let Publication { window, collection, expires, .. } = publication;
    let began = match after {
        Some(_) => began,
        None => Some(collection.until(collection.last)),
    };
    if began.is_some_and(|began| began.epoch != collection.epoch) {
        let detail = "the collection began anew since: read it from the start";
        return Err(Problem::parameter("until", detail));
    }
    let prepared = Document::prepare(&hub, &call, View::Complete, collection.clone(), expires);
    let document = match prepared.await? {
        Ok(document) => document,
        Err(not_modified) => return Ok(not_modified),
    };
    let shown = began.map(|began| began.number);
    let Some(limit) = limit else {
        let span = Span::Complete { after, shown };
        return document
            .answer(&hub.endpoint, Items::Span(span), Some(window), Pages::default())
            .await;
    };
    let page = PageLimit::items(clamp(limit, hub.config.limits.page_items));
    let page = hub.endpoint.store().items_by_id(&collection.name, after.as_ref(), page).await?;
    if page.collection.epoch != collection.epoch {
        return Err(Problem::unavailable("the collection began anew meanwhile"));
    }
    let items: Vec<_> = page.items.into_iter().map(|stored| stored.item).collect();
    let next = items
        .last()
        .filter(|_| page.more)
        .map(|last| call.base.url(&next(&collection, suffix, limit, &last.id, began)));
    let items = items.into_iter().map(Into::into).collect();
    let items = Items::Page { items, shown: shown.filter(|_| !page.more) };
    let document = document.read_of(&page.collection);
    document.answer(&hub.endpoint, items, Some(window), Pages::before(next)).await
}

/// A parameter that is there and reads as what it should be.
fn parsed<'a, T, E: std::fmt::Display>(
    call: &'a Call,
    name: &str,
    parse: impl FnOnce(&'a str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    let value = call.query.text(name).map(parse).transpose();
    value.map_err(|error| Problem::parameter(name, error.to_string()))
}

fn next(
    collection: &Collection,
    suffix: Option<Representation>,
    limit: u64,
    after: &ItemId,
    began: Option<Until>,
) -> String {
    let path = View::Complete.path(&collection.name, suffix);
    let after = encoded(after.as_str());
    let began = began.map(|began| format!("&until={began}")).unwrap_or_default();
    format!("{path}?limit={limit}&after={after}{began}")
}
