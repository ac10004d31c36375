//! Edits that are sent to their server while the application waits, and results of edits (BITSY 3.5, R-B35).

use std::collections::BTreeSet;

use http::header::{self, HeaderMap};
use http::{HeaderValue, StatusCode};

use super::decide::Proposed;
use super::document::is_page;
use super::reply::Reply;
use super::step::{Change, OverlayEdit, Step};
use super::stored::{Content, Entity, Representation, Stored};
use super::{Attempt, Interceptor, SubscriptionId};
use crate::authentication::Partition;
use crate::cache_headers::{self, Timing};
use crate::interception::local_tag;
use crate::location::Location;
use crate::outbox::Settlement;
use crate::profile::Profile;
use crate::propagation::{self, Done, Method, Verdict};
use crate::time::Time;

/// Result of an edit that was sent while its application waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardOutcome {
    /// The server responded.
    ServerResponse {
        /// Status of the response.
        status: StatusCode,
        /// Headers of the response.
        headers: HeaderMap,
        /// Body of the response, which is stored.
        content: Content,
    },
    /// The connection failed, before anything was sent or possibly after everything was.
    Lost {
        /// Whether the edit may have arrived.
        perhaps_arrived: bool,
    },
}

/// An edit that was carried out.
pub(super) struct CompletedEdit<'a> {
    pub(super) partition: Partition,
    pub(super) feed: &'a Location,
    pub(super) method: Method,
    /// The edited resource; for a POST, its temporary address.
    pub(super) resource: &'a Location,
    pub(super) entity: Option<&'a Entity>,
    pub(super) generation: u64,
    /// Whether the edit waited here, so that applications may know a temporary address.
    pub(super) was_queued: bool,
}

/// Response of a server.
#[derive(Clone, Copy)]
pub(super) struct ServerResponse<'a> {
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) content: Content,
}

impl Interceptor {
    /// Applies the result of an edit that was sent while its application waited. An edit that never arrived
    /// is queued and acknowledged as without a network. Otherwise the application gets its server's response.
    #[expect(
        clippy::too_many_arguments,
        reason = "a request, its bytes, its answer, time and chance"
    )]
    pub fn forwarded<S: Stored>(
        &mut self,
        stored: &S,
        proposed: &Proposed,
        headers: &HeaderMap,
        entity: Option<Entity>,
        forwarded: &ForwardOutcome,
        random: u128,
        now: Time,
    ) -> Result<(Option<Reply>, Step), S::Error> {
        let attempt = entity.as_ref().map(|entity| Attempt {
            partition: proposed.partition,
            location: proposed.location.clone(),
            content: entity.content,
        });
        let ForwardOutcome::ServerResponse { status, headers: answer, content } = forwarded else {
            let candidates = *forwarded == ForwardOutcome::Lost { perhaps_arrived: true };
            self.reachability.lost(&proposed.location, now, random as u64);
            let (reply, mut step, new) =
                self.add(stored, proposed, headers, entity, random, now)?;
            if let Some(id) = new.filter(|_| candidates) {
                self.outbox.mark_sending(id);
                let lost = Settlement::Lost { perhaps_arrived: true };
                self.outbox.settle(id, lost, now, random as u64);
                self.store_edit(&mut step, id);
            }
            attempt.iter().for_each(|attempt| self.remove_attempt(&mut step, attempt));
            return Ok((Some(reply), step));
        };
        self.reachability.answered(&proposed.location);
        let mut step = Step::default();
        // A 5xx or 408 may come from an intermediary or a failing server, which leaves the result of the edit
        // unknown.
        let is_known = !status.is_server_error() && *status != StatusCode::REQUEST_TIMEOUT;
        let known = attempt.iter().filter(|_| is_known);
        known.for_each(|attempt| self.remove_attempt(&mut step, attempt));
        let answered = ServerResponse { status: *status, headers: answer, content: *content };
        let verdict = self.verdict(stored, proposed.method, &proposed.location, answered, now)?;
        // The page may come from a captive portal. The application gets it, and the feed is fetched to learn
        // the result.
        let is_page = status.is_success() && is_page(answer);
        let is_kept = self.stored_subscription_of(proposed.partition, &proposed.feed).is_some();
        if !is_kept {
            // The subscription ended meanwhile, so nothing is stored.
        } else if is_page && self.settings.profile == Profile::Resilient {
            self.refresh(&mut step, proposed.partition, &proposed.feed, &proposed.queue, now);
        } else if let Verdict::Done(done) = &verdict {
            let resource = match proposed.method {
                Method::Post => {
                    super::decide::pending(&proposed.location, &format!("{random:032x}"))
                }
                _ => proposed.location.clone(),
            };
            let out = CompletedEdit {
                partition: proposed.partition,
                feed: &proposed.feed,
                method: proposed.method,
                resource: &resource,
                entity: entity.as_ref(),
                generation: proposed.generation,
                was_queued: false,
            };
            self.record_completed(&mut step, out, done, answered, now);
            self.refresh(&mut step, proposed.partition, &proposed.feed, &proposed.queue, now);
        }
        if status.is_success() || status.is_redirection() {
            let known = match &verdict {
                Verdict::Done(done) => &*done.stored,
                _ => &[],
            };
            self.invalidate_named(stored, &mut step, &proposed.location, answer, known, now)?;
        }
        self.count(&mut step);
        Ok((None, step))
    }

    /// Meaning of the response to an edit.
    pub(super) fn verdict<S: Stored>(
        &self,
        stored: &S,
        method: Method,
        location: &Location,
        answered: ServerResponse<'_>,
        now: Time,
    ) -> Result<Verdict, S::Error> {
        let ServerResponse { status, headers, content } = answered;
        let is_representation = status.is_success()
            && content.length > 0
            && super::document::can_be(stored, headers, content)?;
        let answer = propagation::Answer { status, headers, is_representation };
        Ok(Verdict::of(method, location, answer, self.settings.profile, now))
    }

    /// Stores the result of an edit that was carried out, and shows it until the feed does. Returns the
    /// address of the resource, and its entity tag if known.
    pub(super) fn record_completed(
        &mut self,
        step: &mut Step,
        out: CompletedEdit<'_>,
        done: &Done,
        answered: ServerResponse<'_>,
        now: Time,
    ) -> (Location, Option<String>) {
        let CompletedEdit { partition, feed, method, resource, entity, generation, was_queued } =
            out;
        let member = done.member.as_ref().filter(|_| method == Method::Post);
        let place = member.unwrap_or(resource).clone();
        let representation = |headers, content, alias_tag| Representation {
            status: StatusCode::OK,
            headers,
            content,
            fetched: now,
            alias_tag,
        };
        let ours = entity.map(|entity| local_tag(entity.content));
        for location in &done.stored {
            let mut headers = cache_headers::stored_headers(answered.headers, Timing::at(now));
            headers.remove(header::LOCATION);
            let stored = representation(headers, answered.content, ours.clone());
            self.represent(step, partition, location, Some(stored));
        }
        let tag = answered.headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        // The tag in a response to PUT is that of the content, if it was stored unchanged (RFC 9110 9.3.4).
        let is_reported = done.stored.contains(&place) || method == Method::Put;
        let tag = tag.filter(|tag| is_reported && tag.starts_with('"'));
        let mut shown = match done.stored.contains(&place) {
            true => Some(Entity {
                headers: cache_headers::stored_headers(answered.headers, Timing::at(now)),
                content: answered.content,
            }),
            false => entity
                .map(|entity| Entity { headers: entity.shown_headers(), content: entity.content }),
        };
        if let Some(shown) = &mut shown {
            shown.headers.remove(header::LOCATION);
            shown.headers.remove(header::ETAG);
            let value = tag.and_then(|tag| HeaderValue::from_str(tag).ok());
            shown.headers.extend(value.map(|value| (header::ETAG, value)));
        }
        match method {
            Method::Delete => self.represent(step, partition, &place, None),
            Method::Put if !done.stored.contains(&place) => {
                let stored = shown
                    .clone()
                    .map(|Entity { headers, content }| representation(headers, content, ours));
                self.represent(step, partition, &place, stored);
            }
            _ => {}
        }
        // No application knows a temporary address of an edit that it waited for.
        if let Some(member) = member.filter(|_| was_queued) {
            self.name(step, partition, resource, Some(member));
        }
        if let Some(stored_subscription) = self
            .stored_subscription_of(partition, feed)
            .map(|stored_subscription| stored_subscription.id)
        {
            let asks = done.asks && (method != Method::Post || member.is_some());
            if asks {
                self.requested.insert((stored_subscription, place.clone()));
            }
        }
        self.show(
            step,
            OverlayEdit {
                place: 0,
                partition,
                feed: feed.clone(),
                resource: place.clone(),
                pending: (method == Method::Post).then(|| resource.clone()),
                entity: shown.filter(|_| method != Method::Delete),
                generation,
            },
        );
        (place, tag.map(str::to_owned))
    }

    /// Stores the server's representation of an address.
    pub(super) fn represent(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
        representation: Option<Representation>,
    ) {
        self.clear_attempts(step, partition, location);
        self.represent_keeping_attempts(step, partition, location, representation);
    }

    /// Stores the server's representation, but keeps the attempts for the address, which may still arrive.
    pub(super) fn represent_keeping_attempts(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
        representation: Option<Representation>,
    ) {
        let representation = representation.map(Box::new);
        self.stale.remove(&(partition, location.clone()));
        let location = location.clone();
        step.changes.push(Change::Representation { partition, location, representation });
    }

    fn show(&mut self, step: &mut Step, shown: OverlayEdit) {
        // Only the last edit of an address is shown. A member that was created here stays marked so.
        let before = self
            .shown
            .at(&shown.resource)
            .filter(|other| other.partition == shown.partition && other.resource == shown.resource);
        let before: Vec<u64> = before.map(|other| other.place).collect();
        let mut pending = shown.pending.clone();
        for place in before {
            let gone = self.shown.remove(place);
            pending = pending.or(gone.and_then(|gone| gone.pending));
            step.changes.push(Change::OverlayEditRemoved(place));
        }
        let place = self.counters.shown;
        self.counters.shown += 1;
        self.shows_now(step, OverlayEdit { place, pending, ..shown });
    }

    /// Replaces the shown edit with this number.
    pub(super) fn shows_now(&mut self, step: &mut Step, shown: OverlayEdit) {
        step.changes.push(Change::OverlayEdit(Box::new(shown.clone())));
        self.shown.remove(shown.place);
        self.shown.insert(shown);
    }

    /// Refreshes a feed and others of its collection, unless edits wait that will change it again.
    pub(super) fn refresh(
        &mut self,
        step: &mut Step,
        partition: Partition,
        feed: &Location,
        queue: &Location,
        now: Time,
    ) {
        // Members without an address wait for the feed, so it is fetched although edits wait.
        if self.outbox.moves(partition, queue) && self.unnamed(partition, feed).is_empty() {
            return;
        }
        let here = self.addresses.get(queue).into_iter().chain(self.addresses.get(feed)).flatten();
        let ids: BTreeSet<SubscriptionId> = here.copied().collect();
        for id in ids {
            let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else {
                continue;
            };
            if stored_subscription.subscription.partition() != partition {
                continue;
            }
            let state = stored_subscription.subscription.refresh();
            self.store(step, id);
            self.state_event(step, id, state, now);
        }
    }
}
