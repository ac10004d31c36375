//! Edits that are settled: carried out, or errors (BITSY 3.5).

use http::header::HeaderMap;
use http::{Method, StatusCode};

use super::Interceptor;
use super::answers::Exchange;
use super::carrying::{Answered, CarriedOut};
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
        let asked = &edit.asked;
        let answered = Answered {
            status: exchange.status,
            headers: exchange.headers,
            content: exchange.content,
        };
        let out = CarriedOut {
            partition: asked.partition,
            feed: &asked.feed,
            method: asked.method,
            resource: &asked.resource,
            entity: asked.body.as_ref(),
            generation: asked.generation,
            was_taken: true,
        };
        let (place, tag) = self.carried_out(step, out, &done, answered, now);
        let member = (place != asked.resource).then_some(place);
        let settlement = Settlement::Done { member, tag };
        let ended = self.outbox.settle(edit.id, settlement, now, random);
        self.there(step, asked.partition, &asked.location);
        self.trails.remove(&edit.id);
        self.is_ahead |= !step.is_durable;
        step.changes.push(Change::EditGone(edit.id));
        ended.changed.into_iter().for_each(|id| self.store_edit(step, id));
        self.event(step, edit, exchange.interaction(now));
        self.refresh(step, asked.partition, &asked.feed, &asked.line, now);
        self.drained(step);
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
        self.trails.remove(&edit.id);
        let asked = &edit.asked;
        self.there(step, asked.partition, &asked.location);
        if asked.method == propagation::Method::Post {
            self.name(step, asked.partition, &asked.resource, None);
        }
        step.changes.push(Change::EditGone(edit.id));
        let was = asked.was.as_ref().map(|was| was.content);
        let interaction = of_edit(edit, interaction);
        self.interacted(step, (asked.partition, &asked.feed), interaction, Some(was));
        ended.dependents.iter().for_each(|dependent| self.dropped(step, dependent, now));
        // The server's version is requested, to be shown next to the error.
        if asked.method != propagation::Method::Post {
            let keeping = self.keeping_of(asked.partition, &asked.feed).map(|keeping| keeping.id);
            self.asked.extend(keeping.map(|keeping| (keeping, asked.location.clone())));
        }
        self.refresh(step, asked.partition, &asked.feed, &asked.line, now);
        self.drained(step);
    }

    /// Turns an edit into an error because the edit that it builds on failed (RFC 4918 11.4). It was not
    /// sent.
    pub(super) fn dropped(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time) {
        step.changes.push(Change::EditGone(edit.id));
        self.trails.remove(&edit.id);
        self.told_no_more(step, edit);
        let asked = &edit.asked;
        let request = self.sending(edit, asked.location.clone());
        let interaction = Interaction {
            status: StatusCode::FAILED_DEPENDENCY,
            time: now,
            location: asked.location.clone(),
            method: request.method.to_string(),
            request_headers: without_secrets(&request.headers),
            request_body: body(edit),
            response_headers: HeaderMap::new(),
            response_body: None,
        };
        self.record(step, (asked.partition, &asked.feed), interaction, None);
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
        self.interacted(step, (edit.asked.partition, &edit.asked.feed), interaction, None);
    }
}

pub(super) fn body(edit: &Edit<Entity>) -> Option<Content> {
    edit.asked.body.as_ref().map(|body| body.content)
}

/// Returns an interaction with the request of the edit itself, whatever request found out its result (R-B33).
pub(super) fn of_edit(
    edit: &Edit<Entity>,
    interaction: Interaction<Option<Content>>,
) -> Interaction<Option<Content>> {
    let (location, method) = (edit.asked.location.clone(), method(edit.asked.method).to_string());
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
