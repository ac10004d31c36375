//! Responses that show stored data and edits.

use std::time::Duration;

use http::{HeaderName, StatusCode, header};

use crate::cache_headers::Hit;
use crate::interception;
use crate::interception::{Role, local_tag};
use crate::interceptor::reply::tagged;
use crate::interceptor::reply::{Composed, ComposedEdit, Reply, ReplyBody};
use crate::interceptor::responder::{ResourceState, Responder};
use crate::interceptor::stored::{Entity, Representation};
use crate::interceptor::stored_subscription::StoredSubscription;
use crate::location::Location;
use crate::outbox::AddOutcome;
use crate::time::Time;
use crate::{cache_headers, propagation};
use http::{HeaderMap, HeaderValue};

/// Digests of the bytes of a document. They are wrong for another document that is made of it (RFC 9530).
const DIGESTS: [HeaderName; 4] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// An edit that is acknowledged.
pub(crate) struct Acknowledged<'a> {
    pub(crate) method: propagation::Method,
    /// Result of adding the edit to the outbox.
    pub(crate) added: &'a AddOutcome,
    pub(crate) resource: &'a Location,
}

impl Responder<'_> {
    /// Response for a resource: the content that an application put there last, else the stored
    /// representation (3.1).
    pub(super) fn shows(
        &self,
        found: ResourceState<'_>,
        location: &Location,
        is_online: bool,
        now: Time,
    ) -> Reply {
        let stored_subscription = self.state.stored_subscriptions.get(&found.stored_subscription);
        let hit = |fetched, is_pending| Hit {
            fetched,
            due: stored_subscription
                .and_then(|stored_subscription| stored_subscription.subscription.due()),
            is_pending,
            is_online,
        };
        let profile = self.state.settings.profile;
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
        let shown = self.state.shown.of_feed(found.partition, &found.feed);
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
        let edits = self.state.outbox.on(found.partition, queue).map(|edit| &edit.requested);
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
    pub(crate) fn acknowledged(
        self,
        edit: Acknowledged<'_>,
        entity: Option<&Entity>,
        now: Time,
    ) -> Reply {
        let Acknowledged { method, added, resource } = edit;
        let status = interception::acknowledged(method, added);
        let entity = entity.filter(|_| !matches!(added, AddOutcome::Gone));
        let Some(entity) = entity.filter(|_| status != StatusCode::NO_CONTENT) else {
            return Reply { status, headers: HeaderMap::new(), shows: ReplyBody::Nothing };
        };
        let hit = Hit { fetched: now, due: None, is_pending: true, is_online: false };
        let mut headers =
            cache_headers::answered(entity.shown_headers(), hit, self.state.settings.profile, now);
        headers.remove(header::AGE);
        tagged(&mut headers, &local_tag(entity.content));
        let is_reported = interception::names_location(self.state.settings.profile);
        if method == propagation::Method::Post && is_reported {
            let location = HeaderValue::from_str(resource.as_str());
            headers.extend(location.ok().map(|location| (header::LOCATION, location)));
        }
        Reply { status, headers, shows: ReplyBody::Content(entity.content) }
    }
}

fn media_type(entity: &Entity) -> Option<String> {
    Some(entity.headers.get(header::CONTENT_TYPE)?.to_str().ok()?.to_owned())
}
