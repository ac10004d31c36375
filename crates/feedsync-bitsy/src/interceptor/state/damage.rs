//! Damaged contents: stored bytes that the disk has changed or lost. They are treated as if they had never
//! been stored. Representations of a server are fetched again. An edit with a damaged body becomes an error
//! and is never sent.

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::authentication::Partition;
use crate::collections::SortedSet;
use crate::event::Interaction;
use crate::interceptor::attempts::Attempt;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::pending::is_pending;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored::{Content, Digest, Entity, Stored};
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::outbox::{Edit, EditId};
use crate::propagation;

/// A representation that is lost, and the subscriptions that use its address: for which of them it is the feed.
struct LostRepresentation {
    partition: Partition,
    location: Location,
    of: Vec<(SubscriptionId, bool)>,
}

/// Text of the error that reports an edit with a damaged body.
const NOT_SENT: HeaderValue = HeaderValue::from_static(
    "299 feedsync \"the stored body of this edit is damaged, so it was not sent\"",
);

/// Text of the error that reports an edit whose stored record is damaged.
const UNREADABLE: HeaderValue = HeaderValue::from_static(
    "299 feedsync \"the stored record of this edit is damaged, so it was not sent, and its address and content may be wrong\"",
);

/// Whether an error reports an edit that is not known as it was made, so that it must not be sent again.
pub(crate) fn is_beyond_repair(error: &Interaction<Option<Content>>) -> bool {
    let warning = error.response_headers.get(header::WARNING);
    let has_lost_its_body =
        error.status == StatusCode::INTERNAL_SERVER_ERROR && error.request_body.is_none();
    warning == Some(&UNREADABLE) || (warning == Some(&NOT_SENT) && has_lost_its_body)
}

impl State {
    /// Removes edits whose stored records were damaged, and representations that were lost with the records of these
    /// addresses. The edits are never sent: they become errors with what is left of them, and so do the edits that build
    /// on them.
    pub fn set_aside<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edits: &[EditId],
        addresses: Vec<(Partition, Location)>,
    ) -> Result<Step, S::Error> {
        let lost = self.uses_of(cx, addresses)?;
        let mut draft = Draft::durable(cx.now);
        self.lost(&mut draft, lost);
        for id in edits {
            self.discard_damaged(&mut draft, *id, UNREADABLE, &|_| false);
        }
        let is_created = |edit: &Edit<Entity>| {
            let (partition, pending) = (edit.requested.partition, &edit.requested.resource);
            let creates = |other: &Edit<Entity>| {
                other.requested.method == propagation::Method::Post
                    && (other.requested.partition, &other.requested.resource)
                        == (partition, pending)
            };
            let is_named = self.named.get(partition, pending).flatten().is_some();
            is_named || self.outbox.edits().any(creates)
        };
        let orphans = self.outbox.edits().filter(|edit| is_pending(&edit.requested.resource));
        let orphans: Vec<(Partition, Location)> = orphans
            .filter(|edit| !edits.is_empty() && !is_created(edit))
            .map(|edit| (edit.requested.partition, edit.requested.resource.clone()))
            .collect();
        for (partition, pending) in orphans {
            self.orphaned(&mut draft, partition, &pending);
        }
        self.remove_drained(&mut draft);
        self.count(&mut draft);
        if !draft.changes.iter().any(|change| matches!(change, Change::Counters(_))) {
            // The record of the counters may be among the damaged ones.
            let counters = self.counters;
            draft.changes.push(Change::Counters(counters));
        }
        Ok(draft.step)
    }

    /// Removes references to damaged contents. `addresses` are the addresses whose representations are
    /// damaged.
    pub fn damaged<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        is_damaged: impl Fn(&Digest) -> bool,
        addresses: Vec<(Partition, Location)>,
    ) -> Result<Step, S::Error> {
        let lost = self.uses_of(cx, addresses)?;
        let mut draft = Draft::durable(cx.now);
        self.lost(&mut draft, lost);
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

    /// Subscriptions that use each of these addresses, and whether it is their feed.
    fn uses_of<S: Stored>(
        &self,
        cx: Context<'_, S>,
        addresses: Vec<(Partition, Location)>,
    ) -> Result<Vec<LostRepresentation>, S::Error> {
        let mut lost = Vec::with_capacity(addresses.len());
        for (partition, location) in addresses {
            let resources = cx.stored.resources(&location)?.into_iter();
            let of = resources.filter(|resource| resource.partition == partition);
            let of = of.filter_map(|resource| {
                let id = self.stored_subscription_of(partition, &resource.feed)?.id;
                Some((id, resource.feed == location))
            });
            let mut of: Vec<(SubscriptionId, bool)> = of.collect();
            if of.is_empty() {
                // Not even its own relation to the feed is left.
                let feed = self.stored_subscription_of(partition, &location);
                of.extend(feed.map(|stored| (stored.id, true)));
            }
            lost.push(LostRepresentation { partition, location, of });
        }
        Ok(lost)
    }

    /// Removes representations, which are fetched again.
    fn lost(&mut self, draft: &mut Draft, lost: Vec<LostRepresentation>) {
        for LostRepresentation { partition, location, of } in lost {
            self.represent_keeping_attempts(draft, partition, &location, None);
            for (id, is_feed) in of {
                match is_feed {
                    true => self.start_round_soon(draft, id),
                    false => drop(self.requested.insert((id, location.clone()))),
                }
            }
        }
    }

    fn damaged_edits(&mut self, draft: &mut Draft, is_it: &impl Fn(&Content) -> bool) {
        let is_of = |entity: &Option<Entity>| entity.as_ref().is_some_and(|it| is_it(&it.content));
        let of = |is: &dyn Fn(&Edit<Entity>) -> bool| -> SortedSet<EditId> {
            self.outbox.edits().filter(|edit| is(edit)).map(|edit| edit.id).collect()
        };
        let bodies = of(&|edit| is_of(&edit.requested.body));
        for id in bodies.into_iter().filter(|id| !self.is_busy(*id)).collect::<Vec<_>>() {
            self.discard_damaged(draft, id, NOT_SENT, is_it);
        }
        let is_of = |entity: &Option<Entity>| entity.as_ref().is_some_and(|it| is_it(&it.content));
        let previous =
            self.outbox.edits().filter(|edit| is_of(&edit.requested.previous)).map(|edit| edit.id);
        for id in previous.collect::<Vec<_>>() {
            self.outbox.forget_previous(id);
            self.store_edit(draft, id);
        }
    }

    /// Turns an edit and those that build on it into errors. The warning is that of the edit itself.
    fn discard_damaged(
        &mut self,
        draft: &mut Draft,
        id: EditId,
        warning: HeaderValue,
        is_it: &impl Fn(&Content) -> bool,
    ) {
        let ended = self.outbox.discard(id);
        if let Some(edit) = &ended.edit {
            let why = (StatusCode::INTERNAL_SERVER_ERROR, warning);
            self.unsent(draft, edit, why, is_it);
        }
        for edit in &ended.dependents {
            self.unsent(draft, edit, (StatusCode::FAILED_DEPENDENCY, NOT_SENT), is_it);
        }
    }

    /// Turns an edit into an error without sending it.
    fn unsent(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        (status, warning): (StatusCode, HeaderValue),
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
            response_headers: HeaderMap::from_iter([(header::WARNING, warning)]),
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
