//! Token bucket: a burst, and a refill rate.

use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    pub(crate) tokens: f64,
    pub(crate) filled: Instant,
}

impl Bucket {
    pub(crate) fn full(most: f64) -> Self {
        Self { tokens: most, filled: Instant::now() }
    }

    /// Adds the tokens earned since the last call, at a rate per second.
    pub(crate) fn fill(&mut self, rate: f64, most: f64) {
        let now = Instant::now();
        self.tokens = (self.tokens + (now - self.filled).as_secs_f64() * rate).min(most);
        self.filled = now;
    }
}
