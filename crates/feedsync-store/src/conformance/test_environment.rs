//! Time and randomness under the control of a test.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::environment::Environment;
use crate::order::Moment;

/// A clock that stands still until it is set, and random numbers that are the same in every run.
#[derive(Debug)]
pub struct TestEnvironment {
    now: AtomicU64,
    drawn: AtomicU64,
}

impl TestEnvironment {
    /// Starts the clock at 2025-11-20, and the random numbers at the seed.
    pub fn new(seed: u64) -> Self {
        Self { now: AtomicU64::new(1_763_668_000_000_000), drawn: AtomicU64::new(seed << 32) }
    }

    /// Sets the clock.
    pub fn set(&self, now: Moment) {
        self.now.store(now.micros(), Ordering::SeqCst);
    }
}

impl Environment for TestEnvironment {
    fn now(&self) -> Moment {
        Moment::from_micros(self.now.load(Ordering::SeqCst))
    }

    fn random(&self) -> u64 {
        // SplitMix64: every count gives another number.
        let mut bits =
            self.drawn.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
