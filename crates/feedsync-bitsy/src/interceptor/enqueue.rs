//! Edits that wait here (BITSY 3.2 to 3.4).

use http::header::{self, HeaderMap, HeaderName};

use super::Interceptor;
use super::decide::{self, Proposed};
use super::reply::Reply;
use super::step::{Change, Step};
use super::stored::{Entity, Resource, Stored};
use crate::interception::Role;
use crate::location::Location;
use crate::outbox::{AddOutcome, EditId, NewEdit};
use crate::propagation::Method;
use crate::time::Time;

/// Header with the requested name of a new member (RFC 5023 9.7).
const SLUG: HeaderName = HeaderName::from_static("slug");

/// Headers that are no part of an edit: they are about the client, about conditions, or about the connection.
const OMITTED_HEADERS: [HeaderName; 23] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::COOKIE,
    header::EXPECT,
    HeaderName::from_static("idempotency-key"),
    header::HOST,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::MAX_FORWARDS,
    header::ORIGIN,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::REFERER,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers of an edit that are shown to readers. The others are between the application and the server.
const SHOWN_HEADERS: [HeaderName; 5] = [
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::ETAG,
];

impl Entity {
    /// Headers that are shown to readers.
    pub(super) fn shown_headers(&self) -> HeaderMap {
        let told = self.headers.iter().filter(|(name, _)| SHOWN_HEADERS.contains(name));
        told.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The content of an edit: bytes, and the request headers that describe them.
    pub fn sent(headers: &HeaderMap, content: super::Content) -> Self {
        let about = headers.iter().filter(|(name, _)| {
            let is_of_a_page = name.as_str().starts_with("sec-");
            !OMITTED_HEADERS.contains(name) && **name != SLUG && !is_of_a_page
        });
        let headers = about.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { headers, content }
    }
}

impl Interceptor {
    /// Adds an edit to the outbox. It may be acknowledged when the step is stored, and is sent later.
    /// `headers` are those of the request, whose body is stored. `random` becomes part of a unique name.
    pub fn take<S: Stored>(
        &mut self,
        stored: &S,
        proposed: &Proposed,
        headers: &HeaderMap,
        entity: Option<Entity>,
        random: u128,
        now: Time,
    ) -> Result<(Reply, Step), S::Error> {
        self.add(stored, proposed, headers, entity, random, now)
            .map(|(reply, step, _)| (reply, step))
    }

    /// Adds an edit to the outbox. Returns its number, too, if it is new.
    pub(super) fn add<S: Stored>(
        &mut self,
        stored: &S,
        proposed: &Proposed,
        headers: &HeaderMap,
        entity: Option<Entity>,
        random: u128,
        now: Time,
    ) -> Result<(Reply, Step, Option<EditId>), S::Error> {
        let Proposed { partition, feed, queue, method, location, generation, .. } =
            proposed.clone();
        let mut step = Step { is_durable: true, ..Step::default() };
        let key = format!("{random:032x}");
        if self.stored_subscription_of(partition, &feed).is_none() {
            // The subscription ended meanwhile, so there are no credentials for the edit.
            return Ok((Reply::unreachable(&location), Step::default(), None));
        }
        // The address of the member may have become known since the request.
        let location = match self.named.get(partition, &location) {
            Some(Some(member)) => member.clone(),
            Some(None) => return Ok((Reply::gone(), Step::default(), None)),
            None => location,
        };
        let resource = match method {
            Method::Post => decide::pending(&location, &key),
            Method::Put | Method::Delete => location.clone(),
        };
        let (mut base, mut previous) = (None, None);
        if method != Method::Post {
            let role = Role::Synchronizable;
            let at = Resource { partition, feed: feed.clone(), role, entry: None, seen: 0 };
            if let Some(found) = self.found(stored, at, &resource)? {
                let tags = self.tag_of(&found);
                if !is_met(headers, &tags) {
                    let tag = tags.first().map(String::as_str);
                    return Ok((Reply::stale(tag), Step::default(), None));
                }
                let good = found.representation.as_ref().filter(|stored| stored.is_success());
                previous = good.map(|stored| Entity {
                    headers: stored.headers.clone(),
                    content: stored.content,
                });
                base = good.and_then(|stored| stored.strong_tag()).map(str::to_owned);
            }
        }
        let slug = headers.get(SLUG).filter(|_| method == Method::Post);
        let slug = slug.and_then(|slug| slug.to_str().ok()).map(str::to_owned);
        let before = self.outbox.last(partition, &resource).map(|edit| edit.id);
        let body = entity.clone();
        let new = NewEdit {
            partition,
            feed,
            method,
            location,
            queue,
            base,
            is_conditional: headers.contains_key(header::IF_MATCH),
            previous,
            body,
            slug,
            key,
            generation,
            resource: resource.clone(),
        };
        let added = self.outbox.add(new);
        // An unsent edit may have been replaced by a DELETE, or removed by it.
        if let Some(before) = before.filter(|before| self.outbox.edit(*before).is_none()) {
            step.changes.push(Change::EditRemoved(before));
            self.delivery_states.remove(&before);
        }
        let mut new = None;
        match added {
            AddOutcome::Queued(id) | AddOutcome::Replaced(id) => {
                new = matches!(added, AddOutcome::Queued(_)).then_some(id);
                self.store_edit(&mut step, id);
            }
            AddOutcome::Cancelled(_) => self.name(&mut step, partition, &resource, None),
            AddOutcome::Nothing | AddOutcome::Gone => {}
        }
        self.count(&mut step);
        let reply = self.acknowledged(method, &added, &resource, entity.as_ref(), now);
        Ok((reply, step, new))
    }

    /// Discards an edit that is no longer wanted, with the edits that build on it. Their contents are lost.
    pub fn discard(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        // An edit that is being sent may still be carried out. Its response settles it.
        if self.is_busy(id) {
            return step;
        }
        let ended = self.outbox.discard(id);
        for edit in ended.edit.iter().chain(&ended.dependents) {
            step.changes.push(Change::EditRemoved(edit.id));
            self.delivery_states.remove(&edit.id);
            self.clear_held_error(&mut step, edit);
            self.note_discarded(&mut step, edit);
            if edit.requested.method == Method::Post {
                self.name(&mut step, edit.requested.partition, &edit.requested.resource, None);
            }
        }
        self.remove_drained(&mut step);
        step
    }

    pub(super) fn store_edit(&mut self, step: &mut Step, id: EditId) {
        self.ahead.remove(&id);
        if let Some(edit) = self.outbox.edit(id) {
            step.changes.push(Change::Edit(Box::new(edit.clone())));
        }
    }

    /// Notes the server address of a member that had a temporary address.
    pub(super) fn name(
        &mut self,
        step: &mut Step,
        partition: crate::authentication::Partition,
        pending: &Location,
        member: Option<&Location>,
    ) {
        let forgotten = self.named.insert(partition, pending.clone(), member.cloned());
        let (pending, member) = (pending.clone(), member.cloned());
        step.changes.push(Change::MemberAddress { partition, pending, member });
        if let Some((partition, pending)) = forgotten {
            step.changes.push(Change::MemberAddressRemoved { partition, pending });
        }
    }
}

/// Whether the conditions of a request are met (RFC 9110 13.1). A date is no condition, since two edits may
/// happen within its second.
fn is_met(headers: &HeaderMap, tags: &[String]) -> bool {
    let listed = |name: HeaderName| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(|tag| tag.trim().to_owned())
    };
    let exists = !tags.is_empty();
    let is_now = |tag: &String| (tag == "*" && exists) || tags.contains(tag);
    let wanted =
        !headers.contains_key(header::IF_MATCH) || listed(header::IF_MATCH).any(|tag| is_now(&tag));
    wanted && !listed(header::IF_NONE_MATCH).any(|tag| is_now(&tag))
}
