//! Errors, and the events of interactions with servers.

use http::{HeaderMap, StatusCode};

use crate::authentication::Partition;
use crate::event::{ErrorId, Interaction};
use crate::interceptor::context::Draft;
use crate::interceptor::exchange::{ServerResponse, without_secrets};
use crate::interceptor::state::State;
use crate::interceptor::state::control::ControlError;
use crate::interceptor::step::{Change, Counters, Event, EventKind, Step};
use crate::interceptor::stored::{Content, Entity};
use crate::location::Location;
use crate::outbox::{Edit, EditId, Progress};
use crate::time::Time;

impl State {
    /// Creates the event for an interaction, and records it if it is an error.
    pub(crate) fn interacted(
        &mut self,
        step: &mut Step,
        whose: (Partition, &Location),
        interaction: Interaction<Option<Content>>,
        is_error: Option<Option<Content>>,
    ) -> Option<ErrorId> {
        let (partition, feed) = whose;
        let kind = EventKind::Sync(Box::new(interaction.clone()));
        step.events.push(Event { partition, feed: feed.clone(), kind });
        is_error.map(|previous| self.record(step, whose, interaction, previous))
    }

    /// Records an error, with the content of the edit.
    fn record(
        &mut self,
        step: &mut Step,
        (partition, feed): (Partition, &Location),
        interaction: Interaction<Option<Content>>,
        previous: Option<Content>,
    ) -> ErrorId {
        let error = self.errors.record(partition, feed.clone(), interaction, previous);
        let id = error.id;
        step.changes.push(Change::Error(Box::new(error.clone())));
        step.is_durable = true;
        id
    }

    /// Stores the counters, if they changed.
    pub(crate) fn count(&mut self, step: &mut Step) {
        let counters =
            Counters { edit: self.outbox.next().0, error: self.errors.next().0, ..self.counters };
        if counters != self.counters || step.changes.iter().any(is_counted) {
            self.counters = counters;
            step.changes.push(Change::Counters(counters));
        }
    }

    /// Clears an error (`clear`).
    pub fn clear(&mut self, id: ErrorId) -> Result<Step, ControlError> {
        self.errors.clear(id).ok_or(ControlError::NoError)?;
        Ok(Step { changes: vec![Change::ErrorRemoved(id)], is_durable: true, ..Step::default() })
    }

    /// Removes the error that reports an edit as held.
    pub(crate) fn clear_held_error(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        let error = edit.stall.and_then(|stall| stall.error);
        let cleared = error.and_then(|error| self.errors.clear(error));
        step.changes.extend(cleared.map(|error| Change::ErrorRemoved(error.id)));
    }

    /// The held edit that an error reports.
    pub(crate) fn held_by(&self, error: ErrorId) -> Option<EditId> {
        let of = |edit: &&Edit<Entity>| {
            edit.progress == Progress::Held
                && edit.stall.is_some_and(|stall| stall.error == Some(error))
        };
        self.outbox.edits().find(of).map(|edit| edit.id)
    }

    /// Turns an edit into an error because the edit that it builds on failed (RFC 4918 11.4). It was not
    /// sent.
    pub(crate) fn dropped(&mut self, draft: &mut Draft, edit: &Edit<Entity>) {
        let interaction = self.remove_unsent(draft, edit, StatusCode::FAILED_DEPENDENCY);
        let requested = &edit.requested;
        self.record(draft, (requested.partition, &requested.feed), interaction, None);
    }

    /// Removes an edit that is not sent, and returns the interaction that reports it in an error.
    pub(super) fn remove_unsent(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        status: StatusCode,
    ) -> Interaction<Option<Content>> {
        draft.changes.push(Change::EditRemoved(edit.id));
        self.delivery_states.remove(&edit.id);
        self.clear_held_error(draft, edit);
        self.unanswered(edit, status, draft.now)
    }

    /// The interaction of an edit with the response that decided on it.
    pub(crate) fn interaction_of(
        &self,
        edit: &Edit<Entity>,
        response: ServerResponse<'_>,
        now: Time,
    ) -> Interaction<Option<Content>> {
        Interaction {
            response_headers: response.headers.clone(),
            response_body: Some(response.content),
            ..self.unanswered(edit, response.status, now)
        }
    }

    /// The interaction of an edit without a response. The request is that of the edit itself, whatever request found out
    /// the result (R-B33). An application that retries the edit repeats this request.
    fn unanswered(
        &self,
        edit: &Edit<Entity>,
        status: StatusCode,
        time: Time,
    ) -> Interaction<Option<Content>> {
        let request = self.sending(edit, edit.requested.location.clone());
        Interaction {
            status,
            time,
            location: request.location,
            method: request.method.to_string(),
            request_headers: without_secrets(&request.headers),
            request_body: request.body,
            response_headers: HeaderMap::new(),
            response_body: None,
        }
    }

    /// Turns the edits of a missing member into errors.
    pub(crate) fn orphaned(&mut self, draft: &mut Draft, partition: Partition, pending: &Location) {
        while let Some(id) = self.outbox.last(partition, pending).map(|edit| edit.id) {
            let ended = self.outbox.discard(id);
            ended.edit.iter().for_each(|edit| self.dropped(draft, edit));
        }
    }
}

/// Whether a change uses a number from the counters.
fn is_counted(change: &Change) -> bool {
    matches!(change, Change::StoredSubscription(_) | Change::OverlayEdit(_))
}
