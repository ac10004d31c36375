//! Limits on the users who register themselves, by address and for all together: each costs a hash of a password.

use std::net::IpAddr;
use std::time::Duration;

use super::attempts::too_many;
use super::rate_limits::{Rate, RateLimits};
use crate::http::clients::Key;
use crate::http::problem::Problem;

const ADDRESS_RATE: Rate = Rate { most: 10.0, each: Duration::from_secs(360) };
const COMMON_RATE: Rate = Rate { most: 100.0, each: Duration::from_secs(36) };

/// Time after which any key has all again.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Remaining registrations. The key `None` is that of everybody together.
pub(super) struct Registrations(RateLimits<Option<Key>>);

fn rate(key: &Option<Key>) -> Rate {
    if key.is_some() { ADDRESS_RATE } else { COMMON_RATE }
}

impl Registrations {
    pub(super) fn new() -> Self {
        Self(RateLimits::new(rate, LIFETIME))
    }

    /// Counts a registration, or returns the time of the next one (429).
    pub(super) fn begin(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        let keys: Vec<_> =
            address.map(|it| Some(Key::address(it))).into_iter().chain([None]).collect();
        self.0.take(&keys).map_err(|wait| {
            let detail = "too many users were added; wait before you try again";
            too_many(wait, "Too many registrations", detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn registrations_run_dry_by_address_and_for_all() {
        let registrations = Registrations::new();
        let added = |address: String, times: u32| {
            let address = Some(address.parse().unwrap());
            (0..times).filter(|_| registrations.begin(address).is_ok()).count()
        };
        assert_eq!(added("192.0.2.1".to_owned(), 100), 10);
        let others: usize = (2..100).map(|it| added(format!("192.0.2.{it}"), 2)).sum();
        assert_eq!(others, 90, "a hundred in all");
        assert!(registrations.begin(None).is_err());
        advance(Duration::from_secs(37)).await;
        assert_eq!(added("192.0.2.1".to_owned(), 5), 0);
        assert_eq!(added("198.51.100.1".to_owned(), 5), 1);
        advance(Duration::from_secs(7_200)).await;
        assert_eq!(added("192.0.2.1".to_owned(), 100), 10);
    }
}
