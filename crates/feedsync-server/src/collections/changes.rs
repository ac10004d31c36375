//! `GET /collections/{c}/changes`: the FeedSync feed of a collection (FeedSync 4.2, F134 to F138).
//!
//! It contains changes after `since`, with tombstones and conflicts, oldest change first, under a window
//! whose `until` was read first (R-F27). Without `limit` it is one streamed document (AD12, AD15). With
//! `limit` it is paged (RFC 5005 3): each page ends at its own `until` and links to the first, previous, next
//! and last page; `from` in the links is the `since` of the first. The previous page may repeat changes of
//! this one. Without `since` it begins where the settings of the collection say (`partial.age`,
//! `partial.count`). A `since` that is too old, too new or unknown is never an error: the window shows which
//! changes the feed covers (AD13).

use std::num::NonZeroUsize;

use axum::extract::State;
use axum::response::Response;
use feedsync_core::Window;
use feedsync_endpoint::Publication;
use feedsync_store::{ChangeNumber, PageLimit, Until};

use crate::access::call::Call;
use crate::collections::document::{Document, PageLinks, TimeDependentParts};
use crate::collections::span::{Span, shown};
use crate::collections::writing::Items;
use crate::http::address::View;
use crate::http::negotiation::Representation;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let limit = call.query.number("limit", 1)?;
    let name = call.collection_name()?;
    let publication = hub.endpoint.publish(&name, call.query.text("since")).await?;
    let collection = publication.collection.clone();
    let since = bounded(&call, &publication).map(str::to_owned);
    let dated = TimeDependentParts { expires: publication.expires, since };
    let prepared = Document::prepare(&hub, &call, View::Changes, collection, dated);
    let document = match prepared.await? {
        Ok(document) => document,
        Err(not_modified) => return Ok(not_modified),
    };
    let Some(limit) = limit else {
        let window = window(&publication, publication.window.until.clone());
        let after = publication.after;
        let span = Span::Changes { publication: Box::new(publication), after };
        return document
            .answer(&hub.endpoint, Items::Span(span), Some(window), PageLinks::default())
            .await;
    };
    let limit = clamp(limit, hub.config.limits.page_items);
    let page = PageLimit::items(limit.get());
    let page = hub.endpoint.page(&publication, publication.after, page).await?;
    let until = if page.more {
        publication.collection.until(page.through).to_string()
    } else {
        publication.window.until.clone()
    };
    let links = Links::of(&call, &publication, limit)?;
    let pages = links.pages(page.more.then_some(page.through)).at(&call.base);
    let items = Items::Page {
        shown: shown(&publication, page.through),
        items: page.items.into_iter().map(|stored| stored.item.into()).collect(),
    };
    let window = window(&publication, until);
    let document = document.read_of(&page.collection);
    document.answer(&hub.endpoint, items, Some(window), pages).await
}

/// Returns the `since` of a feed that the settings of the collection bound; `None` if the request has a `since`, or if
/// nothing is left out.
fn bounded<'a>(call: &Call, publication: &'a Publication) -> Option<&'a str> {
    let is_bounded = publication.after > publication.collection.horizon;
    let is_asked = call.query.text("since").is_some();
    (is_bounded && !is_asked).then_some(&*publication.window.since)
}

/// Clamps a requested number to a limit of the hub.
pub(crate) fn clamp(asked: u64, bound: usize) -> NonZeroUsize {
    let size = usize::try_from(asked).unwrap_or(bound).min(bound);
    NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN)
}

/// Window up to a change. An unknown `since` may sort after it as text; then the number from which the
/// changes were read replaces it.
fn window(publication: &Publication, until: String) -> Window {
    let asked = publication.window.since.clone();
    let read = || publication.collection.until(publication.after).to_string();
    Window { since: if asked > until { read() } else { asked }, until }
}

/// Links between the pages of one publication.
struct Links<'a> {
    publication: &'a Publication,
    suffix: Option<Representation>,
    /// Number of changes of a page.
    limit: NonZeroUsize,
    /// `since` of the first page; empty if it has none.
    from: &'a str,
    /// Change after which the first page begins.
    begin: ChangeNumber,
}

impl<'a> Links<'a> {
    fn of(
        call: &'a Call,
        publication: &'a Publication,
        limit: NonZeroUsize,
    ) -> Result<Self, Problem> {
        let Publication { collection, after, .. } = publication;
        let (from, begin) = match call.query.text("from") {
            None => {
                let asked = call.query.text("since").or_else(|| bounded(call, publication));
                (asked.unwrap_or_default(), *after)
            }
            Some(from) => {
                let until = from.parse::<Until>().ok().filter(|it| it.epoch == collection.epoch);
                let number = until.map_or(collection.horizon, |until| until.number);
                (from, number.min(*after))
            }
        };
        Ok(Self { publication, suffix: call.suffix()?, limit, from, begin })
    }

    /// Paths of the other pages; `through` is the last change of this one if more follow. A single page with
    /// all changes has none.
    fn pages(&self, through: Option<ChangeNumber>) -> PageLinks {
        let Publication { after, up_to, .. } = *self.publication;
        let is_first = after == self.begin;
        if is_first && through.is_none() {
            return PageLinks::default();
        }
        let last = through.map_or(after, |_| self.page_before(up_to).max(after));
        PageLinks {
            first: Some(self.path(self.begin)),
            previous: (!is_first).then(|| self.path(self.page_before(after))),
            next: through.map(|through| self.path(through)),
            last: Some(self.path(last)),
        }
    }

    /// Change after which the page before this one begins.
    fn page_before(&self, number: ChangeNumber) -> ChangeNumber {
        let limit = u64::try_from(self.limit.get()).unwrap_or(u64::MAX);
        self.begin.max(ChangeNumber::new(number.get().saturating_sub(limit)))
    }

    /// Path of the page after a change.
    fn path(&self, after: ChangeNumber) -> String {
        let collection = &self.publication.collection;
        let path = View::Changes.path(&collection.name, self.suffix);
        let place = match (after == self.begin, self.from) {
            (true, "") => String::new(),
            (true, from) => format!("since={}&", encoded(from)),
            (false, from) => {
                let since = collection.until(after).to_string();
                format!("since={}&from={}&", encoded(&since), encoded(from))
            }
        };
        format!("{path}?{place}limit={}", self.limit)
    }
}
