//! `GET /collections/{c}/sse.rss` and `.opml`, `/sse-complete.rss` and `.opml`: a collection for those who know SSE 0.91
//! alone. `POST` to the first two takes in what they publish.
//!
//! A document is made whole, since outlines nest, so that its size is bounded. It says where it ends (`until`) once the
//! second of the last change is over: a request in that second waits for its end.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_core::{Format, Payload, Related, RelatedKind, Sharing};
use feedsync_endpoint::{Endpoint, SsePublication, aggregated};
use feedsync_formats::{FeedHead, HeadLink, sse};
use feedsync_store::{CollectionName, PageLimit, StoredItem};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::sleep;

use crate::access::call::Call;
use crate::access::settings;
use crate::collections::span::PAGE;
use crate::http::caching::Caching;
use crate::http::negotiation::Representation;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::http::response::{append_link, nothing};
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

/// Bytes of the items of one document at most.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

/// How often the end of a second is waited for, while others go on changing the collection.
const MAX_WAITS: usize = 2;

/// The formats of SSE, with the ends of their addresses.
pub(crate) const FORMATS: [(Format, &str); 2] = [(Format::Rss, ".rss"), (Format::Opml, ".opml")];

/// The path of a document of a collection.
fn path(collection: &CollectionName, format: Format, is_complete: bool) -> String {
    let kind = if is_complete { "sse-complete" } else { "sse" };
    let suffix = Representation::Feed(format).suffix();
    format!("/collections/{collection}/{kind}{suffix}")
}

/// The partial feed: items that the settings of the collection bound it to.
pub(crate) async fn partial(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    read(&hub, &call, false).await
}

/// The complete feed.
pub(crate) async fn complete(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    read(&hub, &call, true).await
}

async fn read(hub: &Hub, call: &Call, is_complete: bool) -> Result<Response, Problem> {
    let is_rss = call.uri.path().ends_with(".rss");
    let format = if is_rss { Format::Rss } else { Format::Opml };
    let publication = settled_publication(hub, &call.collection_name()?, is_complete).await?;
    let collection = &publication.collection;
    let author = hub.name().await?.to_string();
    let address = call.base.url(&path(&collection.name, format, is_complete));
    let tag = EntityTag::of(&[
        "sse",
        &address,
        &collection.feed_id,
        &collection.title,
        &author,
        &collection.until(collection.last).to_string(),
        &collection.until(collection.horizon).to_string(),
        &format!("{:?} {}", publication.dates, publication.after.get()),
        &format!("{:?}", publication.details),
        feedsync_endpoint::aggregated_text(collection),
    ]);
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag.value());
    Caching::of(&settings(collection)?).set_headers(&mut headers, &["Accept-Encoding"]);
    append_link(&mut headers, &address, "self");
    match tag.evaluate(&call.headers) {
        Condition::Proceed => {}
        Condition::Failed => return Err(failed(&tag)),
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            return Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response());
        }
    }
    let permit = hub.response_budget.permit().await?;
    let items = items(&hub.endpoint, &publication).await?;
    let complete = (!is_complete).then(|| Related {
        link: call.base.url(&path(&collection.name, format, true)),
        title: None,
        kind: RelatedKind::Complete,
    });
    let related = complete.into_iter().chain(aggregated(collection)).collect();
    let sharing = Sharing { window: None, expires: None, related };
    let page = call.base.url(&collection_page("", &collection.name));
    let links = [HeadLink { rel: "alternate", href: &page, media_type: Some("text/html") }];
    let head = FeedHead {
        id: &collection.feed_id,
        title: &collection.title,
        updated: collection.edited.timestamp().ok_or_else(Problem::internal)?,
        author: &author,
        details: Some(&publication.details),
        self_link: Some(&address),
        next: None,
        links: &links,
        complete: is_complete,
        sharing: Some(&sharing),
    };
    let text = sse::export(format, &head, &publication.dates, &items).text;
    let shown = publication.after <= collection.sent.max(collection.horizon);
    if shown {
        hub.endpoint.mark_sent(&collection.name, publication.up_to).await?;
    }
    headers.insert(header::CONTENT_TYPE, Representation::Feed(format).content_type());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
    let place = permit.end(text.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((headers, Body::from(place.hold(text.into_bytes()))).into_response())
}

/// Publication that says where it ends, once it can.
async fn settled_publication(
    hub: &Hub,
    name: &CollectionName,
    is_complete: bool,
) -> Result<SsePublication, Problem> {
    let mut publication = hub.endpoint.publish_sse(name, is_complete).await?;
    for _ in 0..MAX_WAITS {
        let Some(time) = publication.stable_in else { break };
        sleep(time).await;
        publication = hub.endpoint.publish_sse(name, is_complete).await?;
    }
    Ok(publication)
}

/// The items of a publication, oldest change first.
async fn items(
    endpoint: &Endpoint,
    publication: &SsePublication,
) -> Result<Vec<feedsync_core::Item<Payload>>, Problem> {
    let (mut items, mut bytes, mut after) = (Vec::new(), 0, publication.after);
    loop {
        let page = endpoint.sse_page(publication, after, PageLimit { ..PAGE }).await?;
        bytes += page.items.iter().map(StoredItem::weight).sum::<usize>();
        if bytes > MAX_DOCUMENT_BYTES {
            return Err(Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "too-large",
                "Too large for an SSE document",
                format!(
                    "an SSE document has at most {MAX_DOCUMENT_BYTES} bytes: set partial.age or \
                     partial.count, or read the collection as FeedSync (/changes, /complete)"
                ),
            ));
        }
        items.extend(page.items.into_iter().map(|stored| stored.item));
        if !page.more {
            return Ok(items);
        }
        after = page.through;
    }
}
