//! `GET /collections/{c}`: the items of a collection, for feed readers and for AtomPub clients (RFC 4287,
//! RFC 5005 3, RFC 5023 10).
//!
//! It contains live items, newest change first (AP16), without their conflicts. In Atom each is the member
//! at its `edit` link (AP15). Drafts are left out for clients that may not see them (AP60). JSON Feed is
//! offered for readers only.
//!
//! The page links carry the number of a change, not an offset (AD4): nothing is lost or doubled when the
//! collection changes meanwhile. It is not meant for synchronization: it links to the FeedSync feed and
//! the complete one (AD3).

use std::collections::HashSet;

use axum::extract::State;
use axum::response::Response;
use feedsync_core::{Format, Item};
use feedsync_endpoint::Endpoint;
use feedsync_store::{ChangeNumber, Collection, CollectionName, PageLimit, Selection, StoredItem};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::collections::changes::clamp;
use crate::collections::document::{Document, PageLinks, TimeDependentParts};
use crate::collections::member;
use crate::collections::writing::{Items, PageItem};
use crate::http::address::View;
use crate::http::negotiation::Representation;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Number of items of a page unless the request asks for another (AP20).
const PAGE: u64 = 100;

/// Maximum number of changes that are read for a page in ascending order. If more of them are tombstones
/// or hidden drafts, the page has fewer items than requested.
const MAX_CHANGES: usize = 1_000;

/// Number of changes per read, unless the page is larger.
const READ_CHANGES: usize = 50;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let asked = call.query.number("limit", 1)?;
    let limit = clamp(asked.unwrap_or(PAGE), hub.config.limits.page_items).get();
    let place = PageStart::from_request(&call)?;
    let collection = call.collection(&hub).await?;
    let path = View::Listing.path(&collection.name, call.suffix()?);
    let name = collection.name.clone();
    let mut state = collection;
    let mut rounds = 0;
    let (document, page) = loop {
        let prepared =
            Document::prepare(&hub, &call, View::Listing, state, TimeDependentParts::default());
        let document = match prepared.await? {
            Ok(document) => document,
            Err(not_modified) => return Ok(not_modified),
        };
        let page = Page::read(&hub.endpoint, &name, document.audience(), place, limit).await?;
        rounds += 1;
        if document.is_of(&page.collection) || rounds == MAX_ATTEMPTS {
            break (document.read_of(&page.collection), page);
        }
        state = page.collection;
    };
    let member = |stored: StoredItem| match document.shown() {
        Representation::Feed(Format::Atom) => member::shown(&call.base, &name, &stored).into(),
        Representation::Feed(_) => Item { conflicts: Vec::new(), ..stored.item }.into(),
        Representation::JsonFeed => {
            let links = member::links(&call.base, &name, &stored.item);
            PageItem::with_links(stored.item, links)
        }
    };
    let items = page.items.into_iter().map(member).collect();
    let pages = paths(&page.neighbours, |place| {
        let limit = asked.map(|limit| format!("limit={limit}"));
        let query: Vec<String> = place.parameter().into_iter().chain(limit).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{path}{mark}{}", query.join("&"))
    })
    .at(&call.base);
    document.answer(&hub.endpoint, Items::Page { items, shown: None }, None, pages).await
}

/// Maximum number of attempts to read a page of a collection that changes meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// Beginning of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageStart {
    /// The newest change.
    First,
    /// The newest change before this one; the page continues to older ones.
    Before(ChangeNumber),
    /// The oldest change after this one; the page continues to newer ones. It is shown newest first, too.
    After(ChangeNumber),
}

impl PageStart {
    fn from_request(call: &Call) -> Result<Self, Problem> {
        let number = |name| Ok::<_, Problem>(call.query.number(name, 0)?.map(ChangeNumber::new));
        match (number("before")?, number("after")?) {
            (None, None) => Ok(Self::First),
            (Some(number), None) => Ok(Self::Before(number)),
            (None, Some(number)) => Ok(Self::After(number)),
            (Some(_), Some(_)) => {
                Err(Problem::parameter("after", "cannot be combined with before"))
            }
        }
    }

    fn parameter(self) -> Option<String> {
        match self {
            Self::First => None,
            Self::Before(number) => Some(format!("before={number}")),
            Self::After(number) => Some(format!("after={number}")),
        }
    }
}

/// A page and its neighbours.
struct Page {
    /// The collection when the last item was read. If it equals the one read first, it was unchanged in
    /// between.
    collection: Collection,
    /// Newest change first.
    items: Vec<StoredItem>,
    neighbours: Neighbours,
}

/// Pages with newer and with older changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Neighbours {
    previous: Option<PageStart>,
    next: Option<PageStart>,
}

impl Page {
    async fn read(
        endpoint: &Endpoint,
        name: &CollectionName,
        audience: Audience,
        place: PageStart,
        limit: usize,
    ) -> Result<Self, Problem> {
        let before = match place {
            PageStart::First => None,
            PageStart::Before(number) => Some(number),
            PageStart::After(number) => {
                if let Some(page) =
                    Self::read_ascending(endpoint, name, audience, number, limit).await?
                {
                    return Ok(page);
                }
                // All newer items fit into one page, the first.
                None
            }
        };
        let selection = Selection { before, ..Selection::default() };
        let page = audience.listing(endpoint, name, selection, limit).await?;
        let previous = before.filter(|before| *before <= page.collection.last).map(|before| {
            let below = ChangeNumber::new(before.get().saturating_sub(1));
            PageStart::After(page.items.first().map_or(below, |first| first.number))
        });
        let next = page.older.map(PageStart::Before);
        let neighbours = Neighbours { previous, next };
        Ok(Self { collection: page.collection, items: page.items, neighbours })
    }

    /// The page that begins after a change; none if nothing is newer than its content.
    async fn read_ascending(
        endpoint: &Endpoint,
        name: &CollectionName,
        audience: Audience,
        after: ChangeNumber,
        limit: usize,
    ) -> Result<Option<Self>, Problem> {
        let mut items: Vec<StoredItem> = Vec::new();
        let (mut through, mut looked) = (after, 0);
        let (mut collection, mut more) = loop {
            let some = (limit + 1).max(READ_CHANGES).min(MAX_CHANGES - looked);
            let page = endpoint.changes(name, through, None, PageLimit::items(some)).await?;
            looked += page.items.len();
            through = page.through;
            // An item that changes during the read appears later, or not at all.
            let again: HashSet<_> = page.items.iter().map(|stored| &stored.item.id).collect();
            items.retain(|stored| !again.contains(&stored.item.id));
            let live = page.items.into_iter().filter(|stored| !stored.item.winner.deleted);
            items.extend(live.filter_map(|stored| audience.sees(stored)));
            if !page.more || items.len() > limit || looked >= MAX_CHANGES {
                break (page.collection, page.more);
            }
        };
        if items.len() > limit {
            items.truncate(limit);
            through = items.last().map_or(through, |last| last.number);
            more = true;
        }
        if !more {
            return Ok(None);
        }
        items.reverse();
        let from_here = after.next().filter(|_| after > ChangeNumber::ZERO);
        let next = match from_here {
            Some(number) => {
                let selection = Selection { before: Some(number), ..Selection::default() };
                let older = audience.listing(endpoint, name, selection, 1).await?;
                let any = !older.items.is_empty() || older.older.is_some();
                collection = older.collection;
                any.then_some(PageStart::Before(number))
            }
            None => None,
        };
        let neighbours = Neighbours { previous: Some(PageStart::After(through)), next };
        Ok(Some(Self { collection, items, neighbours }))
    }
}

/// Paths of the other pages; none if all is on one (AD2).
fn paths(neighbours: &Neighbours, path: impl Fn(PageStart) -> String) -> PageLinks {
    let Neighbours { previous, next } = *neighbours;
    if previous.is_none() && next.is_none() {
        return PageLinks::default();
    }
    PageLinks {
        first: Some(path(PageStart::First)),
        previous: previous.map(&path),
        next: next.map(&path),
        last: Some(path(PageStart::After(ChangeNumber::ZERO))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::{Body, to_bytes};
    use feedsync_core::{Creation, ItemId, Payload};
    use feedsync_store::{EndpointName, MemoryStore, NewCollection, SystemEnvironment};
    use http::{Request, header};
    use tokio::sync::watch;
    use tower::ServiceExt as _;

    use super::*;
    use crate::config::Config;
    use crate::router::application;

    #[tokio::test]
    async fn a_page_of_a_collection_that_changed_meanwhile_has_the_tag_of_what_it_holds() {
        let environment = Arc::new(SystemEnvironment);
        let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), environment.clone());
        let endpoint = Endpoint::new(Arc::new(store), environment);
        let name = CollectionName::new("notes").unwrap();
        let (title, settings) = (String::new(), Default::default());
        let new = NewCollection { name: name.clone(), title, format: Format::Atom, settings };
        endpoint.create_collection(new).await.unwrap();
        let mut config = Config::default();
        config.limits.answers = 1;
        let hub = Hub::new(endpoint.clone().into(), config, watch::channel(false).1);
        let ask = {
            let hub = hub.clone();
            move || {
                let request = Request::get("/collections/notes").header(header::HOST, "localhost");
                application(hub.clone()).oneshot(request.body(Body::empty()).unwrap())
            }
        };
        let tag = |response: &Response| response.headers()[header::ETAG].clone();
        // The request has read the collection, and waits for its permit to read the items.
        let permit = hub.response_budget.permit().await.unwrap();
        let late = tokio::spawn(ask());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>new</title></entry>";
        let (id, payload) = (ItemId::new("a").unwrap(), Payload::from_parsed(Format::Atom, entry));
        endpoint.add(&name, id, Creation::default(), payload).await.unwrap();
        drop(permit);
        let late = late.await.unwrap().unwrap();
        let (told, now) = (tag(&late), ask().await.unwrap());
        assert_eq!(told, tag(&now));
        let body =
            async |response: Response| to_bytes(response.into_body(), 1 << 20).await.unwrap();
        assert_eq!(body(late).await, body(now).await);
    }
}
