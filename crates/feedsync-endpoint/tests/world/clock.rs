//! Time and randomness of the simulation.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use feedsync_store::{Environment, Moment};

/// The common clock; each endpoint reads it with its own skew.
#[derive(Debug, Default)]
pub(crate) struct Time(AtomicI64);

impl Time {
    /// Creates a clock that starts in 2023.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_700_000_000)))
    }

    /// Advances the clock by some seconds.
    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// The clock of one endpoint with its skew, and its own random numbers.
#[derive(Debug)]
pub(crate) struct Surroundings {
    time: Arc<Time>,
    skew: i64,
    random: AtomicU64,
}

impl Surroundings {
    pub(crate) fn new(time: &Arc<Time>, skew: i64, seed: u64) -> Arc<Self> {
        Arc::new(Self { time: Arc::clone(time), skew, random: AtomicU64::new(seed) })
    }
}

impl Environment for Surroundings {
    fn now(&self) -> Moment {
        let seconds = self.time.0.load(Ordering::Relaxed) + self.skew;
        Moment::from_micros(seconds.unsigned_abs() * 1_000_000)
    }

    fn random(&self) -> u64 {
        // A counter is run through a mixing function: the number differs each time, and is the same for each
        // seed.
        let mut state = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }
}
