//! What may still be used: so much at once, and so much more with time.

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

    /// Adds what has come since, so much in a second.
    pub(crate) fn fill(&mut self, rate: f64, most: f64) {
        let now = Instant::now();
        self.tokens = (self.tokens + (now - self.filled).as_secs_f64() * rate).min(most);
        self.filled = now;
    }
}
