//! Operations of applications and of the administrator (BITSY 2.1, 2.2).

use http::header;

use super::decide::{self, Proposed};
use super::step::{Change, Step};
use super::stored::{Content, Entity, Stored};
use super::{Interceptor, StoredSubscription, SubscriptionId};
use crate::authentication::Partition;
use crate::event::ErrorId;
use crate::location::Location;
use crate::propagation::Method;
use crate::proxy::Style;
use crate::relation::Relation;
use crate::subscription::builder::SubscriptionRequest;
use crate::subscription::state::State;
use crate::subscription::{ClosedError, Holder, Subscription};
use crate::time::Time;

/// Use of the network (1.3). The owner of the device decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The network is used whenever there is one.
    #[default]
    Auto,
    /// The network is not used.
    Offline,
}

/// Reason why an operation fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The subscription does not exist.
    #[error("there is no such subscription")]
    NoSubscription,
    /// The subscription has ended.
    #[error(transparent)]
    Closed(#[from] ClosedError),
    /// The error does not exist.
    #[error("there is no such error; it may have been cleared")]
    NoError,
    /// The error is not about an edit that can be repeated.
    #[error("the error does not belong to an edit: resume the subscription instead")]
    NoEdit,
    /// The edit would replace a later one.
    #[error("another edit of the same resource is waiting: discard it first, or clear the error")]
    Waits,
}

impl Interceptor {
    /// The policy for the use of the network.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Sets the policy for the use of the network, and removes delays between attempts.
    pub fn set_policy(&mut self, policy: Policy) -> Step {
        self.policy = policy;
        self.reachability.clear();
        Step { changes: vec![Change::Policy(policy)], is_durable: true, ..Step::default() }
    }

    /// Retries all servers that were not reached, since there may be a network.
    pub fn retry_all(&mut self) {
        self.reachability.clear();
    }

    /// Whether the server of an address is considered reachable and the use of the network is permitted.
    pub fn is_online(&self, location: &Location) -> bool {
        self.policy != Policy::Offline && self.reachability.is_reachable(location)
    }

    /// Subscribes for one application (`build`, 2.1.1).
    pub fn subscribe(
        &mut self,
        wanted: SubscriptionRequest,
        now: Time,
    ) -> (SubscriptionId, Holder, Step) {
        let mut step = Step { is_durable: true, ..Step::default() };
        let holder = Holder(self.counters.holder);
        self.counters.holder += 1;
        let serving =
            self.stored_subscriptions.values().find(|kept| kept.subscription.serves(&wanted));
        let id = match serving.map(|stored_subscription| stored_subscription.id) {
            Some(id) => {
                if let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) {
                    let before = stored_subscription.subscription.state();
                    stored_subscription.subscription.join(&wanted, holder);
                    let after = stored_subscription.subscription.state();
                    self.state_event(&mut step, id, (before != after).then_some(after), now);
                }
                id
            }
            None => {
                let id = SubscriptionId(self.counters.stored_subscription);
                self.counters.stored_subscription += 1;
                let subscription = Subscription::new(wanted, holder);
                let (collection, moved, followed) = (None, None, None);
                self.keep(StoredSubscription { id, subscription, collection, moved, followed });
                id
            }
        };
        self.released(&mut step, id);
        self.store(&mut step, id);
        self.count(&mut step);
        (id, holder, step)
    }

    /// Ends a subscription for one application (`unsubscribe`). Its edits are still sent.
    pub fn unsubscribe(
        &mut self,
        id: SubscriptionId,
        holder: Holder,
        now: Time,
    ) -> Result<Step, ControlError> {
        let step = self.change(id, now, |subscription| Ok(subscription.unsubscribe(holder)))?;
        Ok(self.closed(id, step))
    }

    /// Closes a subscription for all applications.
    pub fn close(&mut self, id: SubscriptionId, now: Time) -> Result<Step, ControlError> {
        let step = self.change(id, now, |subscription| Ok(subscription.close()))?;
        Ok(self.closed(id, step))
    }

    /// Pauses fetching until it is resumed (`pause`).
    pub fn pause(&mut self, id: SubscriptionId, now: Time) -> Result<Step, ControlError> {
        let step = self.change(id, now, |subscription| Ok(subscription.pause()))?;
        self.in_progress.remove(&id);
        Ok(step)
    }

    /// Resumes fetching at once (`resume`), and releases edits that were put off or held.
    pub fn resume(&mut self, id: SubscriptionId, now: Time) -> Result<Step, ControlError> {
        let mut step = self.change(id, now, |subscription| Ok(subscription.resume()))?;
        self.released(&mut step, id);
        self.reachability.clear();
        Ok(step)
    }

    /// Adds a relation to follow (`addFollow`).
    pub fn add_follow(
        &mut self,
        id: SubscriptionId,
        holder: Holder,
        relation: Relation,
        now: Time,
    ) -> Result<Step, ControlError> {
        self.change(id, now, |subscription| {
            let before = subscription.state();
            subscription.add_follow(holder, relation)?;
            let after = subscription.state();
            Ok((before != after).then_some(after))
        })
    }

    /// Removes a relation (`removeFollow`).
    pub fn remove_follow(
        &mut self,
        id: SubscriptionId,
        holder: Holder,
        relation: &Relation,
        now: Time,
    ) -> Result<Step, ControlError> {
        self.change(id, now, |it| it.remove_follow(holder, relation).map(|()| None))
    }

    /// Sets the minimum time between two rounds, in minutes (`interval`).
    pub fn set_interval(
        &mut self,
        id: SubscriptionId,
        holder: Holder,
        minutes: u16,
        now: Time,
    ) -> Result<Step, ControlError> {
        self.change(id, now, |it| it.set_interval(holder, minutes).map(|()| None))
    }

    /// Sets the proxy configuration (`proxy`).
    pub fn set_proxy(
        &mut self,
        id: SubscriptionId,
        proxy: Option<Location>,
        now: Time,
    ) -> Result<Step, ControlError> {
        let step = self.change(id, now, |it| it.set_proxy(proxy).map(|()| None))?;
        self.proxies.remove(&id);
        Ok(step)
    }

    /// Proxy style for requests to an address, if a proxy is emulated there (2.3).
    pub fn style_of(&self, location: &Location) -> Option<Style> {
        self.proxies.values().find_map(|proxy| proxy.style_of(location))
    }

    /// Clears an error (`clear`).
    pub fn clear(&mut self, id: ErrorId) -> Result<Step, ControlError> {
        self.errors.clear(id).ok_or(ControlError::NoError)?;
        Ok(Step { changes: vec![Change::ErrorRemoved(id)], is_durable: true, ..Step::default() })
    }

    /// Requests the present representation of a resource whose edit was refused.
    pub fn fetch_current(&mut self, id: ErrorId) -> Result<Step, ControlError> {
        let error = self.errors.all().find(|error| error.id == id).ok_or(ControlError::NoError)?;
        let interaction = &error.interaction;
        let location = interaction.location.clone();
        if !matches!(&*interaction.method, "PUT" | "DELETE") || decide::is_pending(&location) {
            return Err(ControlError::NoEdit);
        }
        let stored_subscription = self.stored_subscription_of(error.partition, &error.feed);
        let stored_subscription = stored_subscription.ok_or(ControlError::NoSubscription)?.id;
        self.requested.insert((stored_subscription, location));
        Ok(Step::default())
    }

    /// Repeats a refused edit on the server's present version, and clears the error. `random` becomes part of
    /// a unique name.
    pub fn retry<S: Stored>(
        &mut self,
        stored: &S,
        id: ErrorId,
        random: u128,
        now: Time,
    ) -> Result<Result<Step, ControlError>, S::Error> {
        let Some(error) = self.errors.all().find(|error| error.id == id).cloned() else {
            return Ok(Err(ControlError::NoError));
        };
        if let Some(edit) = self.held_by(id) {
            return Ok(Ok(self.retry_now(edit)));
        }
        let interaction = &error.interaction;
        let method = match &*interaction.method {
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            _ => return Ok(Err(ControlError::NoEdit)),
        };
        let Some(stored_subscription) = self.stored_subscription_of(error.partition, &error.feed)
        else {
            return Ok(Err(ControlError::NoSubscription));
        };
        let queue = stored_subscription.collection.clone();
        let mut location = interaction.location.clone();
        let mut method = method;
        if decide::is_pending(&location) {
            // The member that it edits was never created, so a PUT becomes a POST.
            let named = self.named.get(error.partition, &location).flatten();
            (method, location) = match (named, &queue) {
                (Some(member), _) => (method, member.clone()),
                (None, Some(queue)) if method == Method::Put => (Method::Post, queue.clone()),
                _ => return Ok(Err(ControlError::NoEdit)),
            };
        }
        if self.outbox.last(error.partition, &location).is_some() {
            return Ok(Err(ControlError::Waits));
        }
        let queue = queue.unwrap_or_else(|| location.clone());
        let (partition, feed) = (error.partition, error.feed.clone());
        let proposed = Proposed {
            partition,
            feed,
            queue,
            method,
            location,
            generation: self.counters.generation,
            needs_sync: false,
            tag: None,
        };
        let mut headers = interaction.request_headers.clone();
        for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
            headers.remove(name);
        }
        let entity =
            interaction.request_body.map(|content: Content| Entity::sent(&headers, content));
        let (_, mut step) = self.take(stored, &proposed, &headers, entity, random, now)?;
        self.errors.clear(id);
        step.changes.push(Change::ErrorRemoved(id));
        Ok(Ok(step))
    }

    fn change(
        &mut self,
        id: SubscriptionId,
        now: Time,
        change: impl FnOnce(&mut Subscription) -> Result<Option<State>, ClosedError>,
    ) -> Result<Step, ControlError> {
        let stored_subscription =
            self.stored_subscriptions.get_mut(&id).ok_or(ControlError::NoSubscription)?;
        let state = change(&mut stored_subscription.subscription)?;
        let mut step = Step { is_durable: true, ..Step::default() };
        self.store(&mut step, id);
        self.state_event(&mut step, id, state, now);
        Ok(step)
    }

    fn closed(&mut self, id: SubscriptionId, mut step: Step) -> Step {
        let stored_subscription = self.stored_subscriptions.get(&id);
        if stored_subscription.is_some_and(|stored_subscription| {
            stored_subscription.subscription.state() == State::Closed
        }) {
            self.in_progress.remove(&id);
            self.proxies.remove(&id);
            self.remove_drained(&mut step);
        }
        step
    }

    /// Removes closed subscriptions that have no waiting edits.
    pub(super) fn remove_drained(&mut self, step: &mut Step) {
        let closed = self.stored_subscriptions.values().filter(|stored_subscription| {
            let subscription = &stored_subscription.subscription;
            let of = (subscription.partition(), subscription.feed());
            let waits =
                || self.outbox.edits().any(|it| (it.requested.partition, &it.requested.feed) == of);
            subscription.state() == State::Closed && !waits()
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
        let resources = std::collections::BTreeMap::new();
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
