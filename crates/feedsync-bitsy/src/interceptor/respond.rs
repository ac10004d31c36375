//! Responses that need no server.

use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::decide::ResourceState;
use super::reply::{Composed, ComposedEdit, Reply, ReplyBody};
use super::stored::{Content, Entity, Representation};
use super::{Interceptor, StoredSubscription};
use crate::authentication::UnknownCredentials;
use crate::cache_headers::{self, Hit};
use crate::interception::{Role, local_tag};
use crate::location::Location;
use crate::outbox::AddOutcome;
use crate::overlay;
use crate::propagation;
use crate::time::Time;

/// The `Accept-Post` header (Linked Data Platform 7.1).
const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");

/// Media type that every collection accepts (RFC 5023 8.3.4).
const ENTRY: HeaderValue = HeaderValue::from_static("application/atom+xml;type=entry");

/// Media type of error texts for people.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Media type of error documents for programs (RFC 9457).
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Header of responses that may change until the next request. Without it a browser would store a 410 or a
/// redirection for good (RFC 9111 4.2.2).
const NOT_STORED: (HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// Digests of the bytes of a document. They are wrong for another document that is made of it (RFC 9530).
const DIGESTS: [HeaderName; 4] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

impl Interceptor {
    /// Response for a resource: the content that an application put there last, else the stored
    /// representation (3.1).
    pub(super) fn shows(
        &self,
        found: ResourceState<'_>,
        location: &Location,
        is_online: bool,
        now: Time,
    ) -> Reply {
        let stored_subscription = self.stored_subscriptions.get(&found.stored_subscription);
        let hit = |fetched, is_pending| Hit {
            fetched,
            due: stored_subscription
                .and_then(|stored_subscription| stored_subscription.subscription.due()),
            is_pending,
            is_online,
        };
        let profile = self.settings.profile;
        let waiting = found.edit.and_then(|edit| edit.requested.body.as_ref());
        let edited = waiting.or(found.shown.and_then(|shown| shown.entity.as_ref()));
        if let Some(entity) = edited {
            let hit = hit(now, found.edit.is_some());
            let mut headers = cache_headers::answered(entity.shown_headers(), hit, profile, now);
            if found.edit.is_some() || !headers.contains_key(header::ETAG) {
                tagged(&mut headers, &local_tag(entity.content));
            }
            let shows = ReplyBody::Content(entity.content);
            return Reply { status: StatusCode::OK, headers, shows };
        }
        let is_feed = matches!(found.role, Role::Feed | Role::FeedAndCollection);
        let is_success = found.representation.as_ref().is_some_and(Representation::is_success);
        let edits = match is_feed && is_success {
            true => self.edits_of(&found, stored_subscription, location),
            false => Vec::new(),
        };
        let Some(stored) = found.representation else { return Reply::unreachable(location) };
        let hit = hit(stored.fetched, !edits.is_empty());
        let mut headers = cache_headers::answered(stored.headers, hit, profile, now);
        let (status, content) = (stored.status, stored.content);
        if edits.is_empty() {
            return Reply { status, headers, shows: ReplyBody::Content(content) };
        }
        let composed = Composed {
            document: content,
            address: location.clone(),
            updated: stored.fetched.after(Duration::from_secs(edits.len() as u64)).date_time(),
            edits,
            profile,
        };
        tagged(&mut headers, &format!("\"{}\"", composed.tag()));
        for name in DIGESTS.into_iter().chain([header::LAST_MODIFIED]) {
            headers.remove(name);
        }
        Reply { status, headers, shows: ReplyBody::Composed(Box::new(composed)) }
    }

    /// Edits that a feed or a page of it does not show yet, in their order. New members show on the first
    /// page (R-B30).
    fn edits_of(
        &self,
        found: &ResourceState<'_>,
        stored_subscription: Option<&StoredSubscription>,
        location: &Location,
    ) -> Vec<ComposedEdit> {
        let is_first = stored_subscription
            .is_some_and(|stored_subscription| stored_subscription.subscription.feed() == location);
        let shown = self.shown.of_feed(found.partition, &found.feed);
        let shown = shown.map(|shown| ComposedEdit {
            member: shown.resource.clone(),
            made: shown.pending.is_some() && is_first,
            content: shown.entity.as_ref().map(|entity| entity.content),
            media_type: shown.entity.as_ref().and_then(media_type),
            slug: None,
        });
        let queue = stored_subscription
            .and_then(|stored_subscription| stored_subscription.collection.as_ref())
            .unwrap_or(&found.feed);
        let edits = self.outbox.on(found.partition, queue).map(|edit| &edit.requested);
        let edits = edits.map(|requested| ComposedEdit {
            member: requested.resource.clone(),
            made: requested.method == propagation::Method::Post && is_first,
            content: requested.body.as_ref().map(|body| body.content),
            media_type: requested.body.as_ref().and_then(media_type),
            slug: requested.slug.clone(),
        });
        shown.chain(edits).collect()
    }

    /// Acknowledgement of an edit, with its content (3.2 to 3.4).
    pub(super) fn acknowledged(
        &self,
        method: propagation::Method,
        added: &AddOutcome,
        resource: &Location,
        entity: Option<&Entity>,
        now: Time,
    ) -> Reply {
        let status = crate::interception::acknowledged(method, added);
        let entity = entity.filter(|_| !matches!(added, AddOutcome::Gone));
        let Some(entity) = entity.filter(|_| status != StatusCode::NO_CONTENT) else {
            return Reply { status, headers: HeaderMap::new(), shows: ReplyBody::Nothing };
        };
        let hit = Hit { fetched: now, due: None, is_pending: true, is_online: false };
        let mut headers =
            cache_headers::answered(entity.shown_headers(), hit, self.settings.profile, now);
        headers.remove(header::AGE);
        tagged(&mut headers, &local_tag(entity.content));
        let is_reported = crate::interception::names_location(self.settings.profile);
        if method == propagation::Method::Post && is_reported {
            let location = HeaderValue::from_str(resource.as_str());
            headers.extend(location.ok().map(|location| (header::LOCATION, location)));
        }
        Reply { status, headers, shows: ReplyBody::Content(entity.content) }
    }
}

impl Reply {
    /// 410 without a body (3.1.2).
    pub(super) fn gone() -> Self {
        let headers = HeaderMap::from_iter([NOT_STORED]);
        Self { status: StatusCode::GONE, headers, shows: ReplyBody::Nothing }
    }

    /// Redirection from a temporary address to the member.
    pub(super) fn moved(member: &Location) -> Self {
        let location = HeaderValue::from_str(member.as_str());
        let mut headers = HeaderMap::from_iter([NOT_STORED]);
        headers.extend(location.ok().map(|location| (header::LOCATION, location)));
        Self { status: StatusCode::PERMANENT_REDIRECT, headers, shows: ReplyBody::Nothing }
    }

    /// 504: there is no network, and nothing is stored (R-B6).
    pub fn unreachable(location: &Location) -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, PROBLEM), NOT_STORED]);
        cache_headers::mark_unreachable(&mut headers);
        let text = format!(
            "{{\"type\":\"urn:feedsync:1:offline\",\"title\":\"Offline and not stored\",\
             \"status\":504,\"detail\":\"{}\"}}",
            format_args!(
                "{} cannot be reached, and the requested resource is not stored here",
                location.origin()
            )
        );
        Self { status: StatusCode::GATEWAY_TIMEOUT, headers, shows: ReplyBody::Text(text) }
    }

    /// 401, with a challenge for the credentials of the subscription (4.3).
    pub(super) fn unknown(unknown: &UnknownCredentials, feed: &Location) -> Self {
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, TEXT),
            (header::WWW_AUTHENTICATE, unknown.challenge(feed)),
            NOT_STORED,
        ]);
        let shows = ReplyBody::Text(unknown.explanation().to_owned());
        Self { status: StatusCode::UNAUTHORIZED, headers, shows }
    }

    /// Response to OPTIONS (R-B1).
    pub(super) fn options(allow: &'static str) -> Self {
        let mut headers = HeaderMap::from_iter([(header::ALLOW, HeaderValue::from_static(allow))]);
        if allow.contains(Method::POST.as_str()) {
            headers.insert(ACCEPT_POST, ENTRY);
        }
        let warning = "112 bitsy \"Disconnected operation\"";
        headers.insert(header::WARNING, HeaderValue::from_static(warning));
        Self { status: StatusCode::NO_CONTENT, headers, shows: ReplyBody::Nothing }
    }

    /// 406: the stored representation is not one that the request accepts (3).
    pub(super) fn not_acceptable() -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, TEXT), NOT_STORED]);
        crate::coding::vary(&mut headers);
        let text = "The stored response has a media type that the request does not accept.\n";
        let shows = ReplyBody::Text(text.to_owned());
        Self { status: StatusCode::NOT_ACCEPTABLE, headers, shows }
    }

    /// 412: the representation is not the one that the application named.
    pub(super) fn stale(tag: Option<&str>) -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, TEXT), NOT_STORED]);
        tag.into_iter().for_each(|tag| tagged(&mut headers, tag));
        let text = "The resource is not in the state that the request requires.\n";
        let shows = ReplyBody::Text(text.to_owned());
        Self { status: StatusCode::PRECONDITION_FAILED, headers, shows }
    }

    /// Reference to the stored bytes that the reply shows, if any.
    pub fn content(&self) -> Option<Content> {
        match &self.shows {
            ReplyBody::Content(content) => Some(*content),
            _ => None,
        }
    }
}

fn media_type(entity: &Entity) -> Option<String> {
    Some(entity.headers.get(header::CONTENT_TYPE)?.to_str().ok()?.to_owned())
}

fn tagged(headers: &mut HeaderMap, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
}

/// Addresses at which a member and its media are edited. The address of media comes with that of the entry.
pub(super) fn edited_at<'m>(
    member: &'m feedsync_formats::Member,
    address: &'m Location,
) -> impl Iterator<Item = (Location, Option<Location>)> + 'm {
    let entry = overlay::edit_links(member, address).next();
    let edits = overlay::edit_links(member, address).map(|location| (location, None));
    let media = overlay::edit_media_links(member, address);
    edits.chain(media.map(move |location| (location, entry.clone())))
}
