//! Subscriptions with their feeds and collections.

use crate::authentication::{Credentials, Partition};
use crate::collections::{SortedMap, SortedSet};
use crate::event::StateChange;
use crate::interceptor::context::Draft;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Event, EventKind, Step};
use crate::interceptor::stored_subscription::{StoredSubscription, SubscriptionId};
use crate::location::Location;
use crate::subscription::state::State as SubscriptionState;

impl State {
    pub(super) fn keep(&mut self, stored_subscription: StoredSubscription) {
        let subscription = &stored_subscription.subscription;
        self.credentials
            .entry(subscription.partition())
            .or_insert_with(|| Credentials::of(subscription.registered()));
        let addresses = [Some(subscription.feed()), stored_subscription.collection.as_ref()];
        for address in addresses.into_iter().flatten() {
            self.addresses.entry(address.clone()).or_default().insert(stored_subscription.id);
        }
        self.stored_subscriptions.insert(stored_subscription.id, stored_subscription);
    }

    /// The subscription of a feed in a partition, preferably an open one.
    pub(crate) fn stored_subscription_of(
        &self,
        partition: Partition,
        feed: &Location,
    ) -> Option<&StoredSubscription> {
        let at =
            self.addresses.get(feed)?.iter().filter_map(|id| self.stored_subscriptions.get(id));
        let of = at.filter(|stored_subscription| {
            let subscription = &stored_subscription.subscription;
            subscription.partition() == partition && subscription.feed() == feed
        });
        of.min_by_key(|stored_subscription| {
            stored_subscription.subscription.state() == SubscriptionState::Closed
        })
    }

    /// Stores the present state of a subscription.
    pub(crate) fn store(&self, step: &mut Step, id: SubscriptionId) {
        if let Some(stored_subscription) = self.stored_subscriptions.get(&id) {
            step.changes.push(Change::StoredSubscription(Box::new(stored_subscription.clone())));
        }
    }

    /// Creates the event for a change of state, if there is one.
    pub(crate) fn state_event(
        &self,
        draft: &mut Draft,
        id: SubscriptionId,
        state: Option<SubscriptionState>,
    ) {
        let Some((state, stored_subscription)) = state.zip(self.stored_subscriptions.get(&id))
        else {
            return;
        };
        let subscription = &stored_subscription.subscription;
        let feed = subscription.feed().clone();
        let change = StateChange { state, time: draft.now, location: feed.clone() };
        let partition = subscription.partition();
        draft.events.push(Event { partition, feed, kind: EventKind::State(change) });
    }

    /// Refreshes a feed and others of its collection, unless edits wait that will change it again.
    pub(crate) fn refresh(
        &mut self,
        draft: &mut Draft,
        partition: Partition,
        feed: &Location,
        queue: &Location,
    ) {
        // Members without an address wait for the feed, so it is fetched although edits wait.
        if self.outbox.moves(partition, queue) && self.unnamed(partition, feed).is_empty() {
            return;
        }
        let here = self.addresses.get(queue).into_iter().chain(self.addresses.get(feed)).flatten();
        let ids: SortedSet<SubscriptionId> = here.copied().collect();
        for id in ids {
            let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else {
                continue;
            };
            if stored_subscription.subscription.partition() != partition {
                continue;
            }
            let state = stored_subscription.subscription.refresh();
            self.store(draft, id);
            self.state_event(draft, id, state);
        }
    }

    /// Begins a round of a feed as soon as possible.
    pub(super) fn start_round_soon(&mut self, draft: &mut Draft, id: SubscriptionId) {
        let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else { return };
        let state = stored_subscription.subscription.refresh();
        self.store(draft, id);
        self.state_event(draft, id, state);
    }

    /// Removes closed subscriptions that have no waiting edits.
    pub(crate) fn remove_drained(&mut self, step: &mut Step) {
        let closed = self.stored_subscriptions.values().filter(|stored_subscription| {
            let subscription = &stored_subscription.subscription;
            let of = (subscription.partition(), subscription.feed());
            let waits =
                || self.outbox.edits().any(|it| (it.requested.partition, &it.requested.feed) == of);
            subscription.state() == SubscriptionState::Closed && !waits()
        });
        let closed: Vec<SubscriptionId> =
            closed.map(|stored_subscription| stored_subscription.id).collect();
        for id in closed {
            let Some(stored_subscription) = self.stored_subscriptions.remove(&id) else { continue };
            for ids in self.addresses.values_mut() {
                ids.remove(&id);
            }
            self.addresses.retain(|_, ids| !ids.is_empty());
            let subscription = stored_subscription.subscription;
            let (partition, feed) = (subscription.partition(), subscription.feed().clone());
            step.changes.push(Change::SubscriptionRemoved(id));
            if self.stored_subscription_of(partition, &feed).is_some() {
                continue;
            }
            self.forget(step, partition, &feed);
        }
    }

    /// Removes the stored data of a feed.
    fn forget(&mut self, step: &mut Step, partition: Partition, feed: &Location) {
        let resources = SortedMap::new();
        step.changes.push(Change::Generation {
            partition,
            feed: feed.clone(),
            resources,
            is_whole: true,
        });
        let shown = self.shown.of_feed(partition, feed).map(|shown| shown.place);
        for place in shown.collect::<Vec<_>>() {
            self.shown.remove(place);
            step.changes.push(Change::OverlayEditRemoved(place));
        }
        let others =
            self.stored_subscriptions.values().any(|it| it.subscription.partition() == partition);
        if !others {
            self.credentials.remove(&partition);
            self.named.forget_all(partition);
            self.attempts.forget_all(partition);
            step.changes.push(Change::PartitionRemoved(partition));
        }
    }
}
