//! Sources of the current time and of random numbers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use feedsync_bitsy::time::Time;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// Clock and random number generator of a driver.
pub struct Environment {
    /// Returns the current time.
    pub now: Box<dyn Fn() -> Time + Send + Sync>,
    /// Returns a unique random number.
    pub random: Box<dyn Fn() -> u128 + Send + Sync>,
}

impl Default for Environment {
    /// The system clock, and a generator that the operating system seeds.
    fn default() -> Self {
        let now = || {
            let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time::default().after(since)
        };
        let numbers = Mutex::new(SmallRng::from_os_rng());
        let random = move || numbers.lock().unwrap_or_else(PoisonError::into_inner).random();
        Self { now: Box::new(now), random: Box::new(random) }
    }
}
