//! What a person sees of long work while it is done.

/// One step of a synchronisation; numbers count from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A document is asked for.
    Reading {
        /// Where; without credentials.
        url: &'a str,
    },
    /// So many items have been received and are stored.
    Pulled {
        /// Items.
        items: u64,
    },
    /// So many of our changes have been looked at.
    Pushed {
        /// Changes, whether they were sent or came from there.
        changes: u64,
        /// All that there are.
        of: u64,
    },
    /// Items that the remote no longer has were discarded (4.1.2).
    Discarded {
        /// Items.
        items: u64,
    },
}

/// Is told of each step.
pub trait Progress: Send + Sync {
    /// Called between waits; should return at once.
    fn step(&self, step: Step<'_>);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _step: Step<'_>) {}
}
