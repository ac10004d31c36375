//! Counts of traffic, for reports.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests and the bytes of their bodies, compressed if they were sent so.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Returns the number of requests, including redirected ones.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes of bodies that were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes of bodies that were received, before decompression.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) fn asked(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
