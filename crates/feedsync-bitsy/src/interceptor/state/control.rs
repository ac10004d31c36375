//! Operations of applications and of the administrator (BITSY 2.1, 2.2).

use crate::interceptor::context::Draft;
use crate::interceptor::settings::Policy;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored_subscription::{StoredSubscription, SubscriptionId};
use crate::location::Location;
use crate::proxy::{Mapping, Style};
use crate::relation::Relation;
use crate::subscription::builder::SubscriptionRequest;
use crate::subscription::state::State as SubscriptionState;
use crate::subscription::{ClosedError, Holder, Subscription};
use crate::time::Time;

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
    /// The edit is not known as it was made.
    #[error("what is stored of the edit is damaged: make it again, and clear the error")]
    Damaged,
}

impl State {
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

    /// Notes whether a request of an application reached its server.
    pub fn reached(&mut self, location: &Location, did: bool, now: Time, random: u64) {
        match did {
            true => drop(self.reachability.answered(location)),
            false => self.reachability.lost(location, now, random),
        }
    }

    /// Whether the server of an address is considered reachable.
    pub fn is_reached(&self, location: &Location) -> bool {
        self.reachability.is_reachable(location)
    }

    /// Subscribes for one application (`build`, 2.1.1).
    pub fn subscribe(
        &mut self,
        wanted: SubscriptionRequest,
        now: Time,
    ) -> (SubscriptionId, Holder, Step) {
        let mut draft = Draft::durable(now);
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
                    self.state_event(&mut draft, id, (before != after).then_some(after));
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
        self.released(&mut draft, id);
        self.store(&mut draft, id);
        self.count(&mut draft);
        (id, holder, draft.step)
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

    /// Fetches these subscriptions now, unless they are paused, and retries waiting edits.
    pub fn refresh_all(
        &mut self,
        ids: impl IntoIterator<Item = SubscriptionId>,
        now: Time,
    ) -> Step {
        self.retry_all();
        let mut all = Step::default();
        for id in ids {
            let stored = self.stored_subscriptions.get(&id);
            let state = stored.map(|stored| stored.subscription.state());
            if matches!(state, Some(SubscriptionState::Waiting | SubscriptionState::Ready))
                && let Ok(step) = self.resume(id, now)
            {
                all.append(Step { is_durable: true, ..step });
            }
        }
        all
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

    /// Mapping for requests to an address, if a proxy that forwards them is emulated there (2.3).
    pub fn mapping_of(&self, location: &Location) -> Option<&Mapping> {
        self.proxies.values().find_map(|proxy| proxy.mapping_of(location))
    }

    fn change(
        &mut self,
        id: SubscriptionId,
        now: Time,
        change: impl FnOnce(&mut Subscription) -> Result<Option<SubscriptionState>, ClosedError>,
    ) -> Result<Step, ControlError> {
        let stored_subscription =
            self.stored_subscriptions.get_mut(&id).ok_or(ControlError::NoSubscription)?;
        let state = change(&mut stored_subscription.subscription)?;
        let mut draft = Draft::durable(now);
        self.store(&mut draft, id);
        self.state_event(&mut draft, id, state);
        Ok(draft.step)
    }

    fn closed(&mut self, id: SubscriptionId, mut step: Step) -> Step {
        let stored_subscription = self.stored_subscriptions.get(&id);
        if stored_subscription.is_some_and(|stored_subscription| {
            stored_subscription.subscription.state() == SubscriptionState::Closed
        }) {
            self.in_progress.remove(&id);
            self.proxies.remove(&id);
            self.remove_drained(&mut step);
        }
        step
    }
}
