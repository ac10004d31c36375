//! Time and chance, as they come from outside.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use feedsync_offline::time::Time;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// Time and chance.
pub struct Ambient {
    /// What time it is.
    pub now: Box<dyn Fn() -> Time + Send + Sync>,
    /// A number that nobody else has.
    pub random: Box<dyn Fn() -> u128 + Send + Sync>,
}

impl Default for Ambient {
    /// The system's.
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
