//! Limits on sign-in attempts, by address and by user (AH27).
//!
//! An attempt is counted before credentials are compared, and is given back on success. Credentials
//! that succeeded recently do not count as attempts, so guessing does not lock out signed-in users.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use feedsync_store::UserName;
use http::{HeaderValue, StatusCode, header};

use super::recent::ExpiringCache;
use crate::http::bucket::Bucket;
use crate::http::clients::Key;
use crate::http::problem::Problem;

/// Burst size, and the time until one more attempt is allowed.
#[derive(Clone, Copy)]
struct Rate {
    most: f64,
    each: Duration,
}

const ADDRESS_RATE: Rate = Rate { most: 20.0, each: Duration::from_secs(3) };
const USER_RATE: Rate = Rate { most: 10.0, each: Duration::from_secs(6) };

/// Remaining attempts. At most 100,000 keys are stored; the keys idle longest are evicted. An evicted
/// key has all its attempts again, as it would have by then.
pub(super) struct Attempts {
    left: ExpiringCache<Option<Key>, Bucket>,
    /// Makes reading and writing the remaining attempts one step.
    turn: Mutex<()>,
}

fn rate(key: &Option<Key>) -> Rate {
    match key {
        Some(Key::Person(_)) => USER_RATE,
        Some(Key::Address(_)) | None => ADDRESS_RATE,
    }
}

/// Keys that an attempt counts for: the address, if it is known, and the user, if a password is
/// compared.
fn keys(address: Option<IpAddr>, user: Option<&UserName>) -> impl Iterator<Item = Option<Key>> {
    let user = user.map(|user| Some(Key::Person(user.as_str().into())));
    [Some(address.map(Key::address)), user].into_iter().flatten()
}

impl Attempts {
    pub(super) fn new() -> Self {
        Self { left: ExpiringCache::new(100_000, Duration::from_secs(120)), turn: Mutex::new(()) }
    }

    /// Counts an attempt, or returns the time of the next one (429).
    pub(super) fn begin(
        &self,
        address: Option<IpAddr>,
        user: Option<&UserName>,
    ) -> Result<(), Problem> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(address, user) {
            let left = self.left(&key).tokens;
            if left < 1.0 {
                return Err(refused(rate(&key).each.mul_f64(1.0 - left)));
            }
        }
        keys(address, user).for_each(|key| self.add(key, -1.0));
        Ok(())
    }

    /// Gives back a successful attempt.
    pub(super) fn succeeded(&self, address: Option<IpAddr>, user: Option<&UserName>) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        keys(address, user).for_each(|key| self.add(key, 1.0));
    }

    fn left(&self, key: &Option<Key>) -> Bucket {
        let Rate { most, each } = rate(key);
        let mut left = self.left.get(key).unwrap_or_else(|| Bucket::full(most));
        left.fill(1.0 / each.as_secs_f64(), most);
        left
    }

    fn add(&self, key: Option<Key>, more: f64) {
        let mut left = self.left(&key);
        left.tokens = (left.tokens + more).min(rate(&key).most);
        self.left.insert(key, left);
    }
}

fn refused(wait: Duration) -> Problem {
    let seconds = (wait.as_secs_f64().ceil() as u64).max(1);
    let detail = "too many failed sign-ins; wait before you try again";
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too-many-attempts",
        "Too many sign-in attempts",
        detail,
    )
    .header(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn guesses_run_dry_by_address_and_by_user_and_come_back() {
        let attempts = Attempts::new();
        let at = |text: &str| Some(text.parse().unwrap());
        let anna = UserName::new("anna").unwrap();
        let guesses = |address: &str, user| {
            (0..100).filter(|_| attempts.begin(at(address), user).is_ok()).count()
        };
        assert_eq!(guesses("192.0.2.1", None), 20);
        assert_eq!(guesses("192.0.2.1", Some(&anna)), 0);
        assert_eq!(guesses("192.0.2.2", Some(&anna)), 10, "whoever guesses");
        assert_eq!(guesses("192.0.2.3", Some(&anna)), 0);
        assert_eq!(guesses("2001:db8::1", None), 20);
        assert_eq!(guesses("2001:db8::2", None), 0, "one subscriber has both");
        assert_eq!(guesses("2001:db8:0:1::1", None), 20);
        advance(Duration::from_secs(7)).await;
        assert_eq!(guesses("192.0.2.1", None), 2);
        assert_eq!(guesses("192.0.2.3", Some(&anna)), 1);
        advance(Duration::from_secs(3_600)).await;
        for _ in 0..1_000 {
            attempts.begin(at("192.0.2.1"), Some(&anna)).unwrap();
            attempts.succeeded(at("192.0.2.1"), Some(&anna));
        }
        assert_eq!(guesses("192.0.2.1", None), 20, "success takes none, and adds none");
    }
}
