//! What was moved, for reports.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests and the bytes of bodies as they travelled.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Requests, each redirect counted.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Bytes of bodies sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes of bodies received, compressed as they were.
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
