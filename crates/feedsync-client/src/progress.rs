//! Progress reports of long operations.

/// One step of a synchronisation; numbers count from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A document is being requested.
    Reading {
        /// Address without credentials.
        url: &'a str,
    },
    /// Items have been received and are being stored.
    Pulled {
        /// Number of items.
        items: u64,
    },
    /// Local changes have been processed.
    Pushed {
        /// Number of changes, whether they were sent or originally came from the remote.
        changes: u64,
        /// Total number of changes.
        of: u64,
    },
    /// Items that the remote no longer has were discarded (4.1.2).
    Discarded {
        /// Number of items.
        items: u64,
    },
}

/// Receives progress reports.
pub trait Progress: Send + Sync {
    /// Reports a step. It is called between waits, and should return at once.
    fn step(&self, step: Step<'_>);
}

/// Ignores all reports.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&self, _step: Step<'_>) {}
}
