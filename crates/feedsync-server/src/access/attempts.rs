//! Limits on sign-in attempts, by address and by user (AH27).
//!
//! An attempt is counted before credentials are compared, and is given back on success. Credentials
//! that succeeded recently do not count as attempts, so guessing does not lock out signed-in users.

use std::net::IpAddr;
use std::time::Duration;

use feedsync_store::UserName;
use http::{HeaderValue, StatusCode, header};

use super::rate_limits::{Rate, RateLimits};
use crate::http::clients::Key;
use crate::http::problem::Problem;

const ADDRESS_RATE: Rate = Rate { most: 20.0, each: Duration::from_secs(3) };
const USER_RATE: Rate = Rate { most: 10.0, each: Duration::from_secs(6) };

/// Remaining attempts. A key that was idle for two minutes has all of them again.
pub(super) struct Attempts(RateLimits<Option<Key>>);

fn rate(key: &Option<Key>) -> Rate {
    match key {
        Some(Key::Person(_)) => USER_RATE,
        Some(Key::Address(_)) | None => ADDRESS_RATE,
    }
}

/// Keys that an attempt counts for: the address, if it is known, and the user, if a password is
/// compared.
fn keys(address: Option<IpAddr>, user: Option<&UserName>) -> Vec<Option<Key>> {
    let user = user.map(|user| Some(Key::Person(user.as_str().into())));
    [Some(address.map(Key::address)), user].into_iter().flatten().collect()
}

impl Attempts {
    pub(super) fn new() -> Self {
        Self(RateLimits::new(rate, Duration::from_secs(120)))
    }

    /// Counts an attempt, or returns the time of the next one (429).
    pub(super) fn begin(
        &self,
        address: Option<IpAddr>,
        user: Option<&UserName>,
    ) -> Result<(), Problem> {
        self.0.take(&keys(address, user)).map_err(refused)
    }

    /// Gives back a successful attempt.
    pub(super) fn succeeded(&self, address: Option<IpAddr>, user: Option<&UserName>) {
        self.0.give_back(&keys(address, user));
    }
}

fn refused(wait: Duration) -> Problem {
    let detail = "too many failed sign-ins; wait before you try again";
    too_many(wait, "Too many sign-in attempts", detail)
}

/// The response to one too many, with the time to wait.
pub(super) fn too_many(wait: Duration, title: &'static str, detail: &'static str) -> Problem {
    let seconds = (wait.as_secs_f64().ceil() as u64).max(1);
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", title, detail)
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
