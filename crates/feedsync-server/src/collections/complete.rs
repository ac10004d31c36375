//! `GET /collections/{c}/complete`: the complete FeedSync feed (FeedSync 2.3, 4.1.1, F135).
//!
//! It contains all items by id, under the window from the purge horizon to the last change when reading began
//! (R-F26, AD5). An item that changes meanwhile may appear in its new state; a reader that continues from
//! `until` receives it again.
//!
//! Without `limit` it is one streamed document with `fh:complete` (RFC 5005 2). With `limit` it is paged (RFC
//! 5005 3): each part has at most so many items after the id `after`, its own window, and links to the first,
//! previous, next and last part. A reader of all parts continues from the `until` of the first. The id of an
//! item never changes, so the parts contain each item once, and items added behind the reader are later than
//! that `until`. The links carry the number at which the walk began. It shows whether the collection began
//! anew meanwhile, and how far it was covered once the last part is sent.

use std::num::NonZeroUsize;

use axum::extract::State;
use axum::response::Response;
use feedsync_core::ItemId;
use feedsync_endpoint::Publication;
use feedsync_store::{Collection, PageLimit, Until};

use crate::access::call::Call;
use crate::collections::changes::clamp;
use crate::collections::document::{Document, PageLinks, TimeDependentParts};
use crate::collections::span::Span;
use crate::collections::writing::Items;
use crate::http::address::View;
use crate::http::negotiation::Representation;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let limit = call.query.number("limit", 1)?;
    let after = parsed(&call, "after", ItemId::new)?;
    let began = parsed(&call, "until", str::parse::<Until>)?;
    let collection = call.collection(&hub).await?;
    let suffix = call.suffix()?;
    let publication = hub.endpoint.publish_complete(&collection.name).await?;
    let Publication { window, collection, expires, .. } = publication;
    let began = match after {
        Some(_) => began,
        None => Some(collection.until(collection.last)),
    };
    if began.is_some_and(|began| began.epoch != collection.epoch) {
        let detail = "the collection was recreated: read it from the start";
        return Err(Problem::parameter("until", detail));
    }
    let dated = TimeDependentParts { expires, since: None };
    let prepared = Document::prepare(&hub, &call, View::Complete, collection.clone(), dated);
    let document = match prepared.await? {
        Ok(document) => document,
        Err(not_modified) => return Ok(not_modified),
    };
    let shown = began.map(|began| began.number);
    let Some(limit) = limit else {
        let span = Span::Complete { after, shown };
        return document
            .answer(&hub.endpoint, Items::Span(span), Some(window), PageLinks::default())
            .await;
    };
    let limit = clamp(limit, hub.config.limits.page_items);
    let page = PageLimit::items(limit.get());
    let page = hub.endpoint.items_by_id(&collection.name, after.as_ref(), page).await?;
    if page.collection.epoch != collection.epoch {
        return Err(Problem::unavailable("the collection was recreated in the meantime"));
    }
    let items: Vec<_> = page.items.into_iter().map(|stored| stored.item).collect();
    let part = Part { collection: &collection, suffix, limit, after: after.as_ref() };
    let next = items.last().filter(|_| page.more).map(|last| &last.id);
    let pages = part.pages(&hub, next, began).await?.at(&call.base);
    let items = items.into_iter().map(Into::into).collect();
    let items = Items::Page { items, shown: shown.filter(|_| !page.more) };
    let document = document.read_of(&page.collection);
    document.answer(&hub.endpoint, items, Some(window), pages).await
}

/// Parses an optional parameter.
fn parsed<'a, T, E: std::fmt::Display>(
    call: &'a Call,
    name: &str,
    parse: impl FnOnce(&'a str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    let value = call.query.text(name).map(parse).transpose();
    value.map_err(|error| Problem::parameter(name, error.to_string()))
}

/// One part of a collection.
struct Part<'a> {
    collection: &'a Collection,
    suffix: Option<Representation>,
    /// Number of items of a part.
    limit: NonZeroUsize,
    /// Id after which it begins.
    after: Option<&'a ItemId>,
}

impl Part<'_> {
    /// Paths of the other parts; `next` is the last id of this one if more follow. A collection that fits
    /// into one part has none.
    async fn pages(
        &self,
        hub: &Hub,
        next: Option<&ItemId>,
        began: Option<Until>,
    ) -> Result<PageLinks, Problem> {
        if self.after.is_none() && next.is_none() {
            return Ok(PageLinks::default());
        }
        let (endpoint, name) = (&hub.endpoint, &self.collection.name);
        let previous = match self.after {
            Some(after) => Some(endpoint.id_before(name, Some(after), self.limit).await?),
            None => None,
        };
        let last = match next {
            Some(_) => endpoint.id_before(name, None, self.limit.saturating_add(1)).await?,
            None => self.after.cloned(),
        };
        // Only a walk from the first part to the last covers all items, and only `next` carries its
        // beginning.
        let began = began.map(|began| format!("&until={began}")).unwrap_or_default();
        Ok(PageLinks {
            first: Some(self.path(None)),
            previous: previous.map(|previous| self.path(previous.as_ref())),
            next: next.map(|next| self.path(Some(next)) + &began),
            last: Some(self.path(last.as_ref())),
        })
    }

    /// Path of the part after an id.
    fn path(&self, after: Option<&ItemId>) -> String {
        let path = View::Complete.path(&self.collection.name, self.suffix);
        let after = after.map(|after| format!("&after={}", encoded(after.as_str())));
        format!("{path}?limit={}{}", self.limit, after.unwrap_or_default())
    }
}
