//! Feeds on their way out: written page by page from short reads, so that memory stays flat and a
//! slow reader holds nobody up.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use feedsync_core::{Format, Related, RelatedKind, Sharing, Timestamp, Window};
use feedsync_endpoint::{Endpoint, Settings, aggregated, aggregated_text};
use feedsync_formats::{CHANGES_RELATION, FeedHead, HeadLink, SERVICE_TYPE, media_type};
use feedsync_store::Collection;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::access::settings;
use crate::collections::service;
use crate::collections::writing::{FeedBody, Items, Writer};
use crate::http::address::{PublicBase, View};
use crate::http::caching::Caching;
use crate::http::negotiation::Representation;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::http::response::{append_link, insert, nothing};
use crate::http::response_budget::{MAX_UNCOUNTED_BYTES, ResponsePermit};
use crate::http::response_cache::ResponseCache;
use crate::http::validators::{Condition, EntityTag, failed, last_modified, set_last_modified};
use crate::hub::Hub;

/// A feed that is about to be answered.
pub(crate) struct Document {
    view: View,
    shown: Representation,
    /// The representation that the address names by its suffix.
    suffix: Option<Representation>,
    collection: Collection,
    settings: Settings,
    dated: TimeDependentParts,
    audience: Audience,
    author: String,
    base: PublicBase,
    address: String,
    /// None where what was read is not what the tag names.
    tag: Option<EntityTag>,
    headers: HeaderMap,
    response_cache: ResponseCache,
    permit: ResponsePermit,
}

/// Parts of an answer that change with time, while the collection stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeDependentParts {
    /// When subscribers should have asked again.
    pub(crate) expires: Option<Timestamp>,
    /// `since` of a feed that the settings of the collection bound.
    pub(crate) since: Option<String>,
}

impl TimeDependentParts {
    fn is_nothing(&self) -> bool {
        self.expires.is_none() && self.since.is_none()
    }
}

/// Other parts of what one answer is a part of (RFC 5005 3).
#[derive(Debug, Default)]
pub(crate) struct PageLinks {
    pub(crate) first: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) last: Option<String>,
}

impl PageLinks {
    /// The pages whose paths these are, below an address.
    pub(crate) fn at(self, base: &PublicBase) -> Self {
        let url = |path: Option<String>| path.map(|path| base.url(&path));
        let Self { first, previous, next, last } = self;
        Self { first: url(first), previous: url(previous), next: url(next), last: url(last) }
    }

    /// Whether there are no other parts.
    fn is_only_page(&self) -> bool {
        [&self.first, &self.previous, &self.next, &self.last].iter().all(|page| page.is_none())
    }
}

impl Document {
    /// Prepares the response to a request, and waits for its permit. It depends on the collection's state, the
    /// address, what changes with time, and whether whoever asks sees drafts. Ready early if the client has it
    /// already, or if it was sent lately.
    pub(crate) async fn prepare(
        hub: &Hub,
        call: &Call,
        view: View,
        collection: Collection,
        dated: TimeDependentParts,
    ) -> Result<Result<Self, Response>, Problem> {
        let shown = call.representation(view, collection.format)?;
        let settings = settings(&collection)?;
        let author = hub.name().await?.to_string();
        let address = call.address();
        let audience = Audience::by(&call.principal, &collection.name, &settings);
        let tag = tag_of(shown, &address, &author, &dated, audience, &collection);
        let query = call.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, tag.value());
        let suffix = call.suffix()?;
        let depends_on = &["Accept", "Accept-Encoding"];
        let depends_on = &depends_on[usize::from(suffix.is_some())..];
        Caching::of(&settings).set_headers(&mut headers, depends_on);
        let place = call.base.url(&view.path(&collection.name, Some(shown)));
        let place = format!("{place}{query}");
        insert(&mut headers, header::CONTENT_LOCATION, &place);
        // Where the document says what changes with time, its bytes change without a change of the collection.
        let now = hub.endpoint.environment().now();
        let modified = last_modified(collection.edited, now).filter(|_| dated.is_nothing());
        set_last_modified(&mut headers, modified);
        match tag.evaluate_dated(&call.headers, modified, now) {
            Condition::Proceed => {}
            Condition::Failed => return Err(failed(&tag)),
            Condition::NotModified(held) => {
                headers.insert(header::ETAG, held);
                return Ok(Err((StatusCode::NOT_MODIFIED, headers, nothing()).into_response()));
            }
        }
        if let Some(answer) = hub.response_cache.get(&tag) {
            return Ok(Err(answer.again(&call.headers, headers)));
        }
        let permit = hub.response_budget.permit().await?;
        Ok(Ok(Self {
            view,
            shown,
            suffix,
            collection,
            settings,
            dated,
            audience,
            author,
            base: call.base.clone(),
            address,
            tag: Some(tag),
            headers,
            response_cache: hub.response_cache.clone(),
            permit,
        }))
    }

    /// Audience of the response.
    pub(crate) fn audience(&self) -> Audience {
        self.audience
    }

    /// Whether a collection is in the state that the answer's tag names.
    pub(crate) fn is_of(&self, collection: &Collection) -> bool {
        let tag = |of: &Self| {
            tag_of(of.shown, &of.address, &of.author, &of.dated, of.audience, collection)
        };
        self.tag.as_ref() == Some(&tag(self))
    }

    /// The answer with items that were read of a collection in this state. If it is another than the
    /// one that was prepared for, the answer has no tag: one tag never names two contents.
    pub(crate) fn read_of(mut self, collection: &Collection) -> Self {
        if !self.is_of(collection) {
            self.tag = None;
            self.headers.remove(header::ETAG);
            self.headers.remove(header::LAST_MODIFIED);
        }
        self
    }

    /// Representation that the response contains.
    pub(crate) fn shown(&self) -> Representation {
        self.shown
    }

    /// The answer: these items under this window, and the addresses of the other parts.
    pub(crate) async fn answer(
        mut self,
        endpoint: &Endpoint,
        items: Items,
        window: Option<Window>,
        pages: PageLinks,
    ) -> Result<Response, Problem> {
        self.headers.insert(header::CONTENT_TYPE, self.shown.content_type());
        self.headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
        // A request for one format by its suffix gets links to feeds of that format, where the format has feeds.
        let suffix =
            |view: View| self.suffix.filter(|suffix| Representation::of(view).contains(suffix));
        let url = |view: View| self.base.url(&view.path(&self.collection.name, suffix(view)));
        let (changes, complete) = (url(View::Changes), url(View::Complete));
        let service = self.base.url(service::PATH);
        append_link(&mut self.headers, &self.address, "self");
        append_link(&mut self.headers, &changes, CHANGES_RELATION);
        let parts = [
            ("first", &pages.first),
            ("previous", &pages.previous),
            ("next", &pages.next),
            ("last", &pages.last),
        ];
        for (relation, target) in parts {
            if let Some(target) = target {
                append_link(&mut self.headers, target, relation);
            }
        }
        let link = |rel, href, media_type| HeadLink { rel, href, media_type };
        let mut links: Vec<_> = parts
            .into_iter()
            .filter(|(relation, _)| *relation != "next")
            .filter_map(|(relation, target)| Some(link(relation, target.as_deref()?, None)))
            .collect();
        // What readers alone are shown is not there as a feed that keeps in step.
        let changes_type = match self.shown {
            Representation::Feed(format) => media_type(format),
            Representation::JsonFeed => media_type(Format::Json),
        };
        let mut writer = Writer::new(self.shown);
        let page = collection_page(self.base.path(), &self.collection.name);
        let page = format!("{}{page}", self.base.origin());
        let details = self.settings.details();
        if self.view == View::Listing {
            self.announce();
            links.push(link("alternate", &page, Some("text/html")));
            append_link(&mut self.headers, &service, "service");
            links.push(link("service", &service, Some(SERVICE_TYPE)));
            links.push(link(CHANGES_RELATION, &changes, Some(changes_type)));
            let told = service::app_collection(&self.base, &self.collection, self.settings);
            insert(
                &mut self.headers,
                HeaderName::from_static("accept-post"),
                &told.accept.join(", "),
            );
            writer = writer.of_collection(&told);
        }
        let complete = (self.view != View::Complete).then_some(Related {
            link: complete,
            title: None,
            kind: RelatedKind::Complete,
        });
        // Of what the collection incorporates only the addresses are told, never what its publishers
        // say of it (F29, F40).
        let related = complete.into_iter().chain(aggregated(&self.collection)).collect();
        let sharing = Sharing { window, expires: self.dated.expires, related };
        // A JSON Feed is known by its address, which is that of the first page on all of them.
        let own = match self.shown {
            Representation::Feed(_) => self.address.clone(),
            known => self.base.url(&self.view.path(&self.collection.name, Some(known))),
        };
        let mut out = String::new();
        let head = FeedHead {
            id: &self.collection.feed_id,
            title: &self.collection.title,
            updated: self.collection.edited.timestamp().ok_or_else(Problem::internal)?,
            author: &self.author,
            details: Some(&details),
            self_link: Some(&own),
            next: pages.next.as_deref(),
            links: &links,
            complete: self.view != View::Changes && pages.is_only_page(),
            sharing: Some(&sharing),
        };
        writer.begin(&mut out, &head);
        // What is shown is recorded with each answer, so that such an answer is made anew.
        let keeps = matches!(items, Items::Page { shown: None, .. });
        let headers = self.headers;
        let begun = (writer, out);
        let mut writing = FeedBody::new(endpoint.clone(), self.collection, self.base, begun, items);
        // The first part is made before the status is sent, so that a failing store has its own.
        let first = writing.first().await?;
        let place = self.permit.end(first.len() > MAX_UNCOUNTED_BYTES || !writing.is_written())?;
        let first = place.hold(first);
        if keeps && writing.is_written() {
            if let Some(tag) = self.tag {
                self.response_cache.keep(tag, &headers, &first);
            }
            return Ok((headers, Body::from(first)).into_response());
        }
        writing.hold(place);
        let rest = stream::try_unfold(writing, |mut writing| async move {
            match writing.next().await {
                Ok(part) => Ok(part.map(|part| (part, writing))),
                Err(error) => {
                    tracing::error!(%error, "the response with a feed was interrupted");
                    Err(error)
                }
            }
        });
        let parts = stream::StreamExt::chain(stream::iter([Ok(first)]), rest);
        Ok((headers, Body::from_stream(parts)).into_response())
    }

    /// Names what else the listing comes in, as headers (AH35).
    fn announce(&mut self) {
        for other in Representation::of(self.view).iter().filter(|other| **other != self.shown) {
            let target = self.base.url(&self.view.path(&self.collection.name, Some(*other)));
            let kind = other.media_type();
            let value = format!("<{target}>; rel=\"alternate\"; type=\"{kind}\"");
            if let Ok(value) = HeaderValue::from_str(&value) {
                self.headers.append(header::LINK, value);
            }
        }
    }
}

/// The tag of an answer about a collection in this state: of all that its bytes depend on.
fn tag_of(
    shown: Representation,
    address: &str,
    author: &str,
    dated: &TimeDependentParts,
    audience: Audience,
    collection: &Collection,
) -> EntityTag {
    let until = collection.until(collection.last).to_string();
    let horizon = collection.until(collection.horizon).to_string();
    // A purge below the horizon moves neither bound.
    let counts = format!("{} {}", collection.live, collection.deleted);
    let dated = format!("{dated:?}");
    let mut parts = vec![
        shown.name(),
        address,
        &collection.feed_id,
        &collection.title,
        collection.name.as_str(),
        author,
        &until,
        &horizon,
        &counts,
        &dated,
        aggregated_text(collection),
        audience.name(),
    ];
    for (name, value) in &collection.settings {
        parts.extend([&**name, value]);
    }
    EntityTag::of(&parts)
}
