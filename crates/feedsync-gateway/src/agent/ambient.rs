//! Time and chance, as they come from outside.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use feedsync_offline::time::Time;

/// Time and chance.
pub struct Ambient {
    /// What time it is.
    pub now: Box<dyn Fn() -> Time + Send + Sync>,
    /// A number that nobody can guess.
    pub random: Box<dyn Fn() -> u128 + Send + Sync>,
}

impl Default for Ambient {
    /// The system's.
    fn default() -> Self {
        let now = || {
            let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time::default().after(since)
        };
        Self { now: Box::new(now), random: Box::new(rand::random) }
    }
}
