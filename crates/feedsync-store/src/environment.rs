//! Time and randomness, injected so that simulations control them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::order::Moment;

/// A clock and a source of random numbers.
pub trait Environment: Send + Sync + 'static {
    /// Current time; the clock may jump and run backwards.
    fn now(&self) -> Moment;

    /// Returns sixty-four random bits; two endpoints must not draw the same ones.
    fn random(&self) -> u64;

    /// A random UUID (RFC 9562, version 4).
    fn uuid(&self) -> String {
        let high = (self.random() & !0xf000) | 0x4000;
        let low = (self.random() & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// The system's clock and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Moment {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment::from_micros(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX))
    }

    fn random(&self) -> u64 {
        // Without random numbers two endpoints could sign with one `by`, which loses edits, so there is no
        // safe way to continue. The supported systems have random numbers once they have started.
        let mut bytes = [0; 8];
        getrandom::getrandom(&mut bytes)
            .unwrap_or_else(|error| panic!("the system has no random numbers: {error}"));
        u64::from_ne_bytes(bytes)
    }
}
