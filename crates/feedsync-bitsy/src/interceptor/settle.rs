//! Edits that are settled: carried out, or errors (BITSY 3.5).

use http::header::HeaderMap;
use http::{Method, StatusCode};

use super::Interceptor;
use super::forward::{CompletedEdit, ServerResponse};
use super::round_response::Exchange;
use super::step::{Change, Step};
use super::stored::{Content, Entity};
use crate::authentication::Partition;
use crate::event::Interaction;
use crate::headers::AUTHORIZATION;
use crate::location::Location;
use crate::outbox::{Edit, Settlement};
use crate::propagation::{self, Done};
use crate::time::Time;

impl Interceptor {
    /// Settles an edit that was carried out.
    pub(super) fn done(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        done: Done,
        exchange: &Exchange<'_>,
        now: Time,
        random: u64,
    ) {
        let requested = &edit.requested;
        let answered = ServerResponse {
            status: exchange.status,
            headers: exchange.headers,
            content: exchange.content,
        };
        let out = CompletedEdit {
            partition: requested.partition,
            feed: &requested.feed,
            method: requested.method,
            resource: &requested.resource,
            entity: requested.body.as_ref(),
            generation: requested.generation,
            was_queued: true,
        };
        let (place, tag) = self.record_completed(step, out, &done, answered, now);
        let member = (place != requested.resource).then_some(place);
        let settlement = Settlement::Done { member, tag };
        let ended = self.outbox.settle(edit.id, settlement, now, random);
        self.clear_attempts(step, requested.partition, &requested.location);
        self.delivery_states.remove(&edit.id);
        self.is_ahead |= !step.is_durable;
        step.changes.push(Change::EditRemoved(edit.id));
        ended.changed.into_iter().for_each(|id| self.store_edit(step, id));
        self.event(step, edit, exchange.interaction(now));
        self.refresh(step, requested.partition, &requested.feed, &requested.queue, now);
        self.remove_drained(step);
    }

    /// Turns an edit and those that build on it into errors. Applications see the server's version again.
    pub(super) fn refused(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        now: Time,
    ) {
        let interaction = exchange.interaction(now);
        let refused = Settlement::Refused;
        let ended = self.outbox.settle(edit.id, refused, now, 0);
        self.delivery_states.remove(&edit.id);
        let requested = &edit.requested;
        self.clear_attempts(step, requested.partition, &requested.location);
        if requested.method == propagation::Method::Post {
            self.name(step, requested.partition, &requested.resource, None);
        }
        step.changes.push(Change::EditRemoved(edit.id));
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let interaction = of_edit(edit, interaction);
        self.interacted(step, (requested.partition, &requested.feed), interaction, Some(previous));
        ended.dependents.iter().for_each(|dependent| self.dropped(step, dependent, now));
        // The server's version is requested, to be shown next to the error.
        if requested.method != propagation::Method::Post {
            let stored_subscription = self
                .stored_subscription_of(requested.partition, &requested.feed)
                .map(|stored_subscription| stored_subscription.id);
            self.requested.extend(
                stored_subscription
                    .map(|stored_subscription| (stored_subscription, requested.location.clone())),
            );
        }
        self.refresh(step, requested.partition, &requested.feed, &requested.queue, now);
        self.remove_drained(step);
    }

    /// Turns an edit into an error because the edit that it builds on failed (RFC 4918 11.4). It was not
    /// sent.
    pub(super) fn dropped(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time) {
        step.changes.push(Change::EditRemoved(edit.id));
        self.delivery_states.remove(&edit.id);
        self.clear_held_error(step, edit);
        let requested = &edit.requested;
        let request = self.sending(edit, requested.location.clone());
        let interaction = Interaction {
            status: StatusCode::FAILED_DEPENDENCY,
            time: now,
            location: requested.location.clone(),
            method: request.method.to_string(),
            request_headers: without_secrets(&request.headers),
            request_body: body(edit),
            response_headers: HeaderMap::new(),
            response_body: None,
        };
        self.record(step, (requested.partition, &requested.feed), interaction, None);
    }

    /// Turns the edits of a missing member into errors.
    pub(super) fn orphaned(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        now: Time,
    ) {
        while let Some(id) = self.outbox.last(partition, pending).map(|edit| edit.id) {
            let ended = self.outbox.discard(id);
            ended.edit.iter().for_each(|edit| self.dropped(step, edit, now));
        }
    }

    pub(super) fn event(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        interaction: Interaction<Option<Content>>,
    ) {
        let interaction = of_edit(edit, interaction);
        self.interacted(step, (edit.requested.partition, &edit.requested.feed), interaction, None);
    }
}

pub(super) fn body(edit: &Edit<Entity>) -> Option<Content> {
    edit.requested.body.as_ref().map(|body| body.content)
}

/// Returns an interaction with the request of the edit itself, whatever request found out its result (R-B33).
pub(super) fn of_edit(
    edit: &Edit<Entity>,
    interaction: Interaction<Option<Content>>,
) -> Interaction<Option<Content>> {
    let (location, method) =
        (edit.requested.location.clone(), method(edit.requested.method).to_string());
    Interaction { location, method, request_body: body(edit), ..interaction }
}

pub(super) const fn method(method: propagation::Method) -> Method {
    match method {
        propagation::Method::Post => Method::POST,
        propagation::Method::Put => Method::PUT,
        propagation::Method::Delete => Method::DELETE,
    }
}

/// Request headers without those that identify an application.
pub(super) fn without_secrets(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in AUTHORIZATION {
        headers.remove(name);
    }
    headers
}
