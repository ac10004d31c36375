//! Failed sign-ins in the audit record, within limits.
//!
//! An entry names the address and the user of the attempt. It never contains a submitted password or an
//! unknown user name, because people type passwords into the wrong field. One address fills at most 20
//! entries at once and one more in ten minutes. All addresses together fill 1,000 at once and six more in a
//! minute. An entry counts the preceding failures that have no entry of their own.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use feedsync_endpoint::{Actor, Endpoint};
use feedsync_store::AuditAction;

use super::recent::ExpiringCache;
use crate::http::bucket::Bucket;
use crate::http::clients::Key;

/// Name of the action in the record.
const ACTION: &str = "failed sign-in";

/// Number of entries at once, and the time until one more may be written.
const ADDRESS_RATE: (f64, Duration) = (20.0, Duration::from_secs(600));
const TOTAL_RATE: (f64, Duration) = (1_000.0, Duration::from_secs(10));

/// Maximum number of addresses in memory.
const MAX_ADDRESSES: usize = 20_000;

/// Remaining entries, and the number of failures without an entry.
#[derive(Debug, Clone, Copy)]
struct RemainingEntries {
    bucket: Bucket,
    unrecorded: u64,
}

pub(super) struct Failures {
    addresses: ExpiringCache<Option<Key>, RemainingEntries>,
    /// Locked during a decision, so that reading and writing the remaining entries is one step.
    all: Mutex<Bucket>,
}

impl Failures {
    pub(super) fn new() -> Self {
        let life = ADDRESS_RATE.1.mul_f64(ADDRESS_RATE.0);
        Self {
            addresses: ExpiringCache::new(MAX_ADDRESSES, life),
            all: Mutex::new(Bucket::full(TOTAL_RATE.0)),
        }
    }

    /// Records a failure if the limits allow an entry. A failing store does not change the refusal.
    pub(super) async fn record(&self, endpoint: &Endpoint, address: Option<IpAddr>, why: &str) {
        let Some(unrecorded) = self.admit(address) else { return };
        let detail = match unrecorded {
            0 => why.to_owned(),
            unrecorded => format!("{why}; {unrecorded} more from this address were not recorded"),
        };
        let actor = Actor { user: None, address: address.map(|address| address.to_string()) };
        let act = AuditAction { detail, ..actor.act(ACTION) };
        if let Err(error) = endpoint.record(act).await {
            tracing::warn!(%error, "cannot record a failed sign-in");
        }
    }

    /// Returns the number of failures without an entry since the last one, if an entry may be written now.
    fn admit(&self, address: Option<IpAddr>) -> Option<u64> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let key = address.map(Key::address);
        let fresh = || RemainingEntries { bucket: Bucket::full(ADDRESS_RATE.0), unrecorded: 0 };
        let mut left = self.addresses.get(&key).unwrap_or_else(fresh);
        all.fill(1.0 / TOTAL_RATE.1.as_secs_f64(), TOTAL_RATE.0);
        left.bucket.fill(1.0 / ADDRESS_RATE.1.as_secs_f64(), ADDRESS_RATE.0);
        let admitted = all.tokens >= 1.0 && left.bucket.tokens >= 1.0;
        let unrecorded = left.unrecorded;
        if admitted {
            all.tokens -= 1.0;
            left.bucket.tokens -= 1.0;
            left.unrecorded = 0;
        } else {
            left.unrecorded += 1;
        }
        self.addresses.insert(key, left);
        admitted.then_some(unrecorded)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_address_fills_the_record_slowly_and_its_failures_are_counted() {
        let failures = Failures::new();
        let admitted = |address: &str| failures.admit(Some(address.parse().unwrap()));
        assert_eq!((0..50).filter(|_| admitted("192.0.2.1").is_some()).count(), 20);
        assert_eq!(admitted("192.0.2.2"), Some(0), "others have entries of their own");
        advance(Duration::from_secs(600)).await;
        assert_eq!(admitted("192.0.2.1"), Some(30));
        assert_eq!(admitted("192.0.2.1"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn many_addresses_fill_a_bounded_record() {
        let failures = Failures::new();
        let admitted = (0..100_000_u32)
            .filter(|number| failures.admit(Some(IpAddr::V4((*number).into()))).is_some())
            .count();
        assert_eq!(admitted, 1_000);
    }
}
