//! Authorities that the gateway may reach because one of their feeds is subscribed to.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use feedsync_bitsy::interceptor::{self, Change, Step, StoredSubscription, SubscriptionId};

use crate::target::{Authority, Reachable};

/// Authorities by subscription.
#[derive(Debug)]
pub(super) struct SubscribedAuthorities {
    reachable: Reachable,
    authorities: Mutex<HashMap<SubscriptionId, Authority>>,
}

impl SubscribedAuthorities {
    /// Creates the registry with the existing subscriptions.
    pub(super) fn new(reachable: Reachable, state: &interceptor::State) -> Self {
        let subscribed = Self { reachable, authorities: Mutex::default() };
        state
            .stored_subscriptions()
            .for_each(|stored_subscription| subscribed.add(stored_subscription));
        subscribed
    }

    /// Applies the subscriptions that a step added and removed.
    pub(super) fn follow(&self, step: &Step) {
        for change in &step.changes {
            match change {
                Change::StoredSubscription(stored_subscription) => self.add(stored_subscription),
                Change::SubscriptionRemoved(id) => {
                    let mut known = self.authorities.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(authority) = known.remove(id) {
                        self.reachable.unsubscribe(&authority);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&self, stored_subscription: &StoredSubscription) {
        let mut known = self.authorities.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(stored_subscription.id).or_insert_with(|| {
            let authority = Authority::of(stored_subscription.subscription.feed());
            self.reachable.subscribe(authority.clone());
            authority
        });
    }
}
