//! Edits that wait here (BITSY 3.2 to 3.4).

use http::header::{self, HeaderMap, HeaderName};

use super::Interceptor;
use super::asking::{self, Proposed};
use super::reply::Reply;
use super::step::{Change, Step};
use super::stored::{Entity, Resource, Stored};
use crate::interception::Role;
use crate::location::Location;
use crate::outbox::{Added, EditId, NewEdit};
use crate::propagation::Method;
use crate::time::Time;

/// What a server is to call a new member (RFC 5023 9.7).
const SLUG: HeaderName = HeaderName::from_static("slug");

/// What is no part of an edit: who makes it, under which conditions, by which way.
const NOT_SENT: [HeaderName; 23] = [
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

/// What is told of bytes to whoever reads them: the rest of a request is between who made it and the server.
const TOLD: [HeaderName; 5] = [
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::ETAG,
];

impl Entity {
    /// The same as it is shown to whoever reads it.
    pub(super) fn told(&self) -> HeaderMap {
        let told = self.headers.iter().filter(|(name, _)| TOLD.contains(name));
        told.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What an application sends: bytes, and of its headers those that are about them.
    pub fn sent(headers: &HeaderMap, content: super::Content) -> Self {
        let about = headers.iter().filter(|(name, _)| {
            let is_of_a_page = name.as_str().starts_with("sec-");
            !NOT_SENT.contains(name) && **name != SLUG && !is_of_a_page
        });
        let headers = about.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { headers, content }
    }
}

impl Interceptor {
    /// Takes an edit: it is acknowledged once the step is stored, and sent later. `headers` are those of the
    /// request; its bytes are stored. `random` becomes part of a name that nobody else has.
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

    /// The same, and which edit it is if it is a new one.
    pub(super) fn add<S: Stored>(
        &mut self,
        stored: &S,
        proposed: &Proposed,
        headers: &HeaderMap,
        entity: Option<Entity>,
        random: u128,
        now: Time,
    ) -> Result<(Reply, Step, Option<EditId>), S::Error> {
        let Proposed { partition, feed, line, method, location, generation, .. } = proposed.clone();
        let mut step = Step { is_durable: true, ..Step::default() };
        let key = format!("{random:032x}");
        if self.keeping_of(partition, &feed).is_none() {
            // It was unsubscribed from meanwhile, and nobody would know by what to send it.
            return Ok((Reply::unreachable(&location), Step::default(), None));
        }
        // Its address may have become known since it was asked for.
        let location = match self.named.get(partition, &location) {
            Some(Some(member)) => member.clone(),
            Some(None) => return Ok((Reply::gone(), Step::default(), None)),
            None => location,
        };
        let resource = match method {
            Method::Post => asking::pending(&location, &key),
            Method::Put | Method::Delete => location.clone(),
        };
        let (mut base, mut was) = (None, None);
        if method != Method::Post {
            let role = Role::Synchronizable;
            let at = Resource { partition, feed: feed.clone(), role, entry: None, seen: 0 };
            if let Some(found) = self.found(stored, at, &resource)? {
                let tags = self.tag_of(&found);
                if !is_met(headers, &tags) {
                    let tag = tags.first().map(String::as_str);
                    return Ok((Reply::stale(tag), Step::default(), None));
                }
                let good = found.representation.as_ref().filter(|stored| stored.is_good());
                was = good.map(|stored| Entity {
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
            line,
            base,
            is_conditional: headers.contains_key(header::IF_MATCH),
            was,
            body,
            slug,
            key,
            generation,
            resource: resource.clone(),
        };
        let added = self.outbox.add(new);
        // What was never sent and is deleted, or deleted anew, is not on its way any more.
        if let Some(before) = before.filter(|before| self.outbox.edit(*before).is_none()) {
            step.changes.push(Change::EditGone(before));
            self.trails.remove(&before);
        }
        let mut new = None;
        match added {
            Added::Queued(id) | Added::Folded(id) => {
                new = matches!(added, Added::Queued(_)).then_some(id);
                self.store_edit(&mut step, id);
            }
            Added::Vanished(_) => self.name(&mut step, partition, &resource, None),
            Added::Nothing | Added::Gone => {}
        }
        self.count(&mut step);
        let reply = self.acknowledged(method, &added, &resource, entity.as_ref(), now);
        Ok((reply, step, new))
    }

    /// Gives up an edit that nobody wants any more, with what was made on it. What it carried is gone.
    pub fn discard(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        // What is being sent may be carried out all the same: it is settled by its answer.
        if self.is_busy(id) {
            return step;
        }
        let ended = self.outbox.discard(id);
        for edit in ended.edit.iter().chain(&ended.dependents) {
            step.changes.push(Change::EditGone(edit.id));
            self.trails.remove(&edit.id);
            self.told_no_more(&mut step, edit);
            self.given_up(&mut step, edit);
            if edit.asked.method == Method::Post {
                self.name(&mut step, edit.asked.partition, &edit.asked.resource, None);
            }
        }
        self.drained(&mut step);
        step
    }

    pub(super) fn store_edit(&mut self, step: &mut Step, id: EditId) {
        self.ahead.remove(&id);
        if let Some(edit) = self.outbox.edit(id) {
            step.changes.push(Change::Edit(Box::new(edit.clone())));
        }
    }

    /// Notes where a member is that had an address of ours.
    pub(super) fn name(
        &mut self,
        step: &mut Step,
        partition: crate::authentication::Partition,
        pending: &Location,
        member: Option<&Location>,
    ) {
        let forgotten = self.named.insert(partition, pending.clone(), member.cloned());
        let (pending, member) = (pending.clone(), member.cloned());
        step.changes.push(Change::Named { partition, pending, member });
        if let Some((partition, pending)) = forgotten {
            step.changes.push(Change::NamedGone { partition, pending });
        }
    }
}

/// Whether what a request demands of what it edits is so (RFC 9110 13.1): a date demands nothing, since two
/// edits can lie within its second.
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
