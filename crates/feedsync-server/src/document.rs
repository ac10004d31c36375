//! Feeds on their way out: written page by page from short reads, so that memory stays flat and a
//! slow reader holds nobody up.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use feedsync::{Format, Related, RelatedKind, Sharing, Window};
use feedsync_endpoint::Endpoint;
use feedsync_formats::{CHANGES_RELATION, FeedHead, FeedWriter, HeadLink, media_type};
use feedsync_store::Collection;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::address::View;
use crate::answers::{SMALL, Turn};
use crate::call::Call;
use crate::hub::Hub;
use crate::negotiation::content_type;
use crate::problem::Problem;
use crate::validators::{Condition, EntityTag, failed};
use crate::writing::{Items, Writing};

/// A feed that is about to be answered.
pub(crate) struct Document {
    view: View,
    format: Format,
    collection: Collection,
    author: String,
    address: String,
    changes: String,
    complete: String,
    headers: HeaderMap,
    turn: Turn,
}

impl Document {
    /// Prepares the answer to a call, and waits for its turn; `window` is what else it depends
    /// on besides the collection's state and the address. Ready early if the client has it already.
    pub(crate) async fn prepare(
        hub: &Hub,
        call: &Call,
        view: View,
        collection: Collection,
    ) -> Result<Result<Self, Response>, Problem> {
        let format = call.format(collection.format)?;
        let author = hub.endpoint.identity().await?.name.to_string();
        let address = call.address();
        let (until, horizon) =
            (collection.until(collection.last), collection.until(collection.horizon));
        let tag = EntityTag::of(&[
            format.name(),
            &address,
            &collection.feed_id,
            &collection.title,
            collection.name.as_str(),
            &author,
            &until.to_string(),
            &horizon.to_string(),
            // A purge below the horizon moves neither bound.
            &format!("{} {}", collection.live, collection.deleted),
        ]);
        let url = |view: View, format| call.base.url(&view.path(&collection.name, format));
        let query = call.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, tag.value());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        let vary =
            if call.suffix()?.is_some() { "Accept-Encoding" } else { "Accept, Accept-Encoding" };
        headers.insert(header::VARY, HeaderValue::from_static(vary));
        let place = format!("{}{query}", url(view, Some(format)));
        insert(&mut headers, header::CONTENT_LOCATION, &place);
        match tag.weigh(&call.headers) {
            Condition::Proceed => {}
            Condition::Failed => return Err(failed(&tag)),
            Condition::NotModified(held) => {
                headers.insert(header::ETAG, held);
                return Ok(Err((StatusCode::NOT_MODIFIED, headers, nothing()).into_response()));
            }
        }
        let changes = url(View::Changes, None);
        let complete = url(View::Complete, None);
        let turn = hub.answers.turn().await?;
        Ok(Ok(Self { view, format, collection, author, address, changes, complete, headers, turn }))
    }

    /// The answer: these items under this window, and the address of the next part.
    pub(crate) async fn answer(
        mut self,
        endpoint: &Endpoint,
        items: Items,
        window: Option<Window>,
        next: Option<String>,
    ) -> Result<Response, Problem> {
        self.headers.insert(header::CONTENT_TYPE, content_type(self.format));
        self.headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
        append_link(&mut self.headers, &self.address, "self");
        append_link(&mut self.headers, &self.changes, CHANGES_RELATION);
        if let Some(next) = &next {
            append_link(&mut self.headers, next, "next");
        }
        let related = match self.view {
            View::Complete => Vec::new(),
            View::Listing | View::Changes => vec![Related {
                link: self.complete.clone(),
                title: None,
                kind: RelatedKind::Complete,
            }],
        };
        let follow = [HeadLink {
            rel: CHANGES_RELATION,
            href: &self.changes,
            media_type: Some(media_type(self.format)),
        }];
        let links: &[HeadLink<'_>] = if self.view == View::Listing { &follow } else { &[] };
        let sharing = Sharing { window, expires: None, related };
        let mut writer = FeedWriter::new(self.format);
        let mut out = String::new();
        let head = FeedHead {
            id: &self.collection.feed_id,
            title: &self.collection.title,
            updated: self.collection.edited.timestamp().ok_or_else(Problem::internal)?,
            author: &self.author,
            self_link: Some(&self.address),
            next: next.as_deref(),
            links,
            sharing: Some(&sharing),
        };
        writer.begin(&mut out, &head);
        let headers = self.headers;
        let begun = (writer, out);
        let mut writing =
            Writing::new(endpoint.clone(), self.collection, self.format, begun, items);
        // The first part is made before the status is sent, so that a failing store has its own.
        let first = writing.first().await?;
        let place = self.turn.end(first.len() > SMALL || !writing.is_written())?;
        let first = place.hold(first);
        writing.hold(place);
        let rest = stream::try_unfold(writing, |mut writing| async move {
            match writing.next().await {
                Ok(part) => Ok(part.map(|part| (part, writing))),
                Err(error) => {
                    tracing::error!(%error, "a feed broke off while it was sent");
                    Err(error)
                }
            }
        });
        let parts = stream::StreamExt::chain(stream::iter([Ok(first)]), rest);
        Ok((headers, Body::from_stream(parts)).into_response())
    }
}

/// A body that no `Content-Length` is made for: that of a 304 would have to be that of the 200.
pub(crate) fn nothing() -> Body {
    Body::from_stream(stream::empty::<Result<Bytes, std::io::Error>>())
}

/// Adds an absolute link (RFC 8288 3).
pub(crate) fn append_link(headers: &mut HeaderMap, target: &str, relation: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("<{target}>; rel=\"{relation}\"")) {
        headers.append(header::LINK, value);
    }
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
