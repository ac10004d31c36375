//! Damaged contents: stored bytes that the disk has changed or lost. They are treated as if they had never
//! been stored. Representations of a server are fetched again. An edit with a damaged body becomes an error
//! and is never sent.

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::authentication::Partition;
use crate::collections::SortedSet;
use crate::event::Interaction;
use crate::interceptor::attempts::Attempt;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored::{Content, Digest, Entity, Stored};
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::outbox::{Edit, EditId};
use crate::propagation;

/// Text of the error that reports a damaged edit.
const NOT_SENT: HeaderValue = HeaderValue::from_static(
    "299 feedsync \"the stored body of this edit is damaged, so it was not sent\"",
);

impl State {
    /// Removes references to damaged contents. `addresses` are the addresses whose representations are
    /// damaged.
    pub fn damaged<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        is_damaged: impl Fn(&Digest) -> bool,
        addresses: Vec<(Partition, Location)>,
    ) -> Result<Step, S::Error> {
        let mut lost = Vec::with_capacity(addresses.len());
        for (partition, location) in addresses {
            let resources = cx.stored.resources(&location)?.into_iter();
            let of = resources.filter(|resource| resource.partition == partition);
            let of = of.filter_map(|resource| {
                let id = self.stored_subscription_of(partition, &resource.feed)?.id;
                Some((id, resource.feed == location))
            });
            let of: Vec<(SubscriptionId, bool)> = of.collect();
            lost.push((partition, location, of));
        }
        let mut draft = Draft::durable(cx.now);
        for (partition, location, of) in lost {
            self.represent_keeping_attempts(&mut draft, partition, &location, None);
            for (id, is_feed) in of {
                match is_feed {
                    true => self.start_round_soon(&mut draft, id),
                    false => drop(self.requested.insert((id, location.clone()))),
                }
            }
        }
        let is_it = |content: &Content| is_damaged(&content.digest);
        self.damaged_edits(&mut draft, &is_it);
        self.damaged_shown(&mut draft, &is_it);
        self.damaged_errors(&mut draft, &is_it);
        for (partition, location, content) in self.attempts.all().collect::<Vec<_>>() {
            if is_it(&content) {
                self.remove_attempt(&mut draft, &Attempt { partition, location, content });
            }
        }
        draft.changes.extend(self.accounts.damaged(&is_it));
        // A round with damaged documents begins again.
        let in_progress =
            self.in_progress.iter().filter(|(_, it)| it.contents().any(|it| is_it(&it)));
        for id in in_progress.map(|(id, _)| *id).collect::<Vec<SubscriptionId>>() {
            self.in_progress.remove(&id);
            if let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) {
                stored_subscription.subscription.interrupted();
            }
            self.store(&mut draft, id);
        }
        self.remove_drained(&mut draft);
        self.count(&mut draft);
        Ok(draft.step)
    }

    fn damaged_edits(&mut self, draft: &mut Draft, is_it: &impl Fn(&Content) -> bool) {
        let is_of = |entity: &Option<Entity>| entity.as_ref().is_some_and(|it| is_it(&it.content));
        let of = |is: &dyn Fn(&Edit<Entity>) -> bool| -> SortedSet<EditId> {
            self.outbox.edits().filter(|edit| is(edit)).map(|edit| edit.id).collect()
        };
        let bodies = of(&|edit| is_of(&edit.requested.body));
        for id in bodies.into_iter().filter(|id| !self.is_busy(*id)).collect::<Vec<_>>() {
            let ended = self.outbox.discard(id);
            for (place, edit) in ended.edit.iter().chain(&ended.dependents).enumerate() {
                let status = match place {
                    0 => StatusCode::INTERNAL_SERVER_ERROR,
                    _ => StatusCode::FAILED_DEPENDENCY,
                };
                self.unsent(draft, edit, status, is_it);
            }
        }
        let is_of = |entity: &Option<Entity>| entity.as_ref().is_some_and(|it| is_it(&it.content));
        let previous =
            self.outbox.edits().filter(|edit| is_of(&edit.requested.previous)).map(|edit| edit.id);
        for id in previous.collect::<Vec<_>>() {
            self.outbox.forget_previous(id);
            self.store_edit(draft, id);
        }
    }

    /// Turns an edit into an error without sending it.
    fn unsent(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        status: StatusCode,
        is_it: &impl Fn(&Content) -> bool,
    ) {
        let interaction = self.remove_unsent(draft, edit, status);
        let requested = &edit.requested;
        if requested.method == propagation::Method::Post {
            self.name(draft, requested.partition, &requested.resource, None);
        }
        let whole = |entity: &Option<Entity>| {
            entity.as_ref().map(|entity| entity.content).filter(|content| !is_it(content))
        };
        let interaction = Interaction {
            request_body: whole(&requested.body),
            response_headers: HeaderMap::from_iter([(header::WARNING, NOT_SENT)]),
            ..interaction
        };
        let previous = whole(&requested.previous);
        self.interacted(draft, (requested.partition, &requested.feed), interaction, Some(previous));
        self.refresh(draft, requested.partition, &requested.feed, &requested.queue);
    }

    /// Requests the feed of each overlay whose bytes are damaged.
    fn damaged_shown(&mut self, draft: &mut Draft, is_it: &impl Fn(&Content) -> bool) {
        let shown = self
            .shown
            .all()
            .filter(|shown| shown.entity.as_ref().is_some_and(|entity| is_it(&entity.content)));
        let shown: Vec<_> = shown
            .map(|it| (it.place, it.partition, it.feed.clone(), it.resource.clone()))
            .collect();
        for (place, partition, feed, resource) in shown {
            self.shown.remove(place);
            draft.changes.push(Change::OverlayEditRemoved(place));
            if let Some(id) = self
                .stored_subscription_of(partition, &feed)
                .map(|stored_subscription| stored_subscription.id)
            {
                self.requested.insert((id, resource));
                self.start_round_soon(draft, id);
            }
        }
    }

    /// Removes damaged contents from errors, whose other parts stay.
    fn damaged_errors(&mut self, step: &mut Step, is_it: &impl Fn(&Content) -> bool) {
        for error in self.errors.all_mut() {
            let interaction = &mut error.interaction;
            let parts = [
                &mut interaction.request_body,
                &mut interaction.response_body,
                &mut error.previous,
            ];
            let mut is_changed = false;
            for part in parts {
                is_changed |= part.take_if(|content| is_it(content)).is_some();
            }
            if is_changed {
                step.changes.push(Change::Error(Box::new(error.clone())));
            }
        }
    }
}
