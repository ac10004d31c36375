//! Authorities that the gateway may reach because one of their feeds is subscribed to.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use feedsync_bitsy::interceptor::{Change, Interceptor, Keeping, KeepingId, Step};

use crate::target::{Authority, Reachable};

/// Authorities by subscription.
#[derive(Debug)]
pub(super) struct Subscribed {
    reachable: Reachable,
    authorities: Mutex<HashMap<KeepingId, Authority>>,
}

impl Subscribed {
    /// Creates the registry with the existing subscriptions.
    pub(super) fn new(reachable: Reachable, interceptor: &Interceptor) -> Self {
        let subscribed = Self { reachable, authorities: Mutex::default() };
        interceptor.keepings().for_each(|keeping| subscribed.add(keeping));
        subscribed
    }

    /// Applies the subscriptions that a step added and removed.
    pub(super) fn follow(&self, step: &Step) {
        for change in &step.changes {
            match change {
                Change::Keeping(keeping) => self.add(keeping),
                Change::KeepingGone(id) => {
                    let mut known = self.authorities.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(authority) = known.remove(id) {
                        self.reachable.unsubscribe(&authority);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&self, keeping: &Keeping) {
        let mut known = self.authorities.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(keeping.id).or_insert_with(|| {
            let authority = Authority::of(keeping.subscription.feed());
            self.reachable.subscribe(authority.clone());
            authority
        });
    }
}
