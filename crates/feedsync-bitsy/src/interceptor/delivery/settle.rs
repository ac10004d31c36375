//! Edits that are settled: carried out, or errors (BITSY 3.5).

use crate::interceptor::context::Draft;
use crate::interceptor::delivery::Delivery;
use crate::interceptor::delivery::forward::CompletedEdit;
use crate::interceptor::exchange::Exchange;
use crate::interceptor::step::Change;
use crate::interceptor::stored::Entity;
use crate::outbox::{Edit, Settlement};
use crate::propagation;
use crate::propagation::Done;

impl Delivery<'_> {
    /// Settles an edit that was carried out.
    pub(super) fn done(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        done: Done,
        exchange: &Exchange<'_>,
    ) {
        let requested = &edit.requested;
        let out = CompletedEdit {
            partition: requested.partition,
            feed: &requested.feed,
            method: requested.method,
            resource: &requested.resource,
            entity: requested.body.as_ref(),
            generation: requested.generation,
            was_queued: true,
        };
        let (place, tag) = self.record_completed(draft, out, &done, exchange.response());
        let member = (place != requested.resource).then_some(place);
        let settlement = Settlement::Done { member, tag };
        let ended = self.state.outbox.settle(edit.id, settlement, draft.now, draft.random);
        self.state.clear_attempts(draft, requested.partition, &requested.location);
        self.state.delivery_states.remove(&edit.id);
        self.state.is_ahead |= !draft.is_durable;
        draft.changes.push(Change::EditRemoved(edit.id));
        ended.changed.into_iter().for_each(|id| self.state.store_edit(draft, id));
        self.event(draft, edit, exchange);
        self.state.refresh(draft, requested.partition, &requested.feed, &requested.queue);
        self.state.remove_drained(draft);
    }

    /// Turns an edit and those that build on it into errors. Applications see the server's version again.
    pub(super) fn refused(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) {
        let refused = Settlement::Refused;
        let ended = self.state.outbox.settle(edit.id, refused, draft.now, 0);
        self.state.delivery_states.remove(&edit.id);
        let requested = &edit.requested;
        self.state.clear_attempts(draft, requested.partition, &requested.location);
        if requested.method == propagation::Method::Post {
            self.state.name(draft, requested.partition, &requested.resource, None);
        }
        draft.changes.push(Change::EditRemoved(edit.id));
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let interaction = self.state.interaction_of(edit, exchange.response(), draft.now);
        self.state.interacted(
            draft,
            (requested.partition, &requested.feed),
            interaction,
            Some(previous),
        );
        ended.dependents.iter().for_each(|dependent| self.state.dropped(draft, dependent));
        // The server's version is requested, to be shown next to the error.
        if requested.method != propagation::Method::Post {
            let id = self
                .state
                .stored_subscription_of(requested.partition, &requested.feed)
                .map(|stored_subscription| stored_subscription.id);
            self.state.requested.extend(id.map(|id| (id, requested.location.clone())));
        }
        self.state.refresh(draft, requested.partition, &requested.feed, &requested.queue);
        self.state.remove_drained(draft);
    }

    pub(super) fn event(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) {
        let interaction = self.state.interaction_of(edit, exchange.response(), draft.now);
        self.state.interacted(
            draft,
            (edit.requested.partition, &edit.requested.feed),
            interaction,
            None,
        );
    }
}
