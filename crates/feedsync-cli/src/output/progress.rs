//! Progress of long work on standard error; nothing where that is no terminal.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says what is being done until it is dropped.
pub(crate) struct Progress(ProgressBar);

/// The line that is shown now.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes to standard error without spoiling the line that is shown now.
pub(crate) fn above(write: impl FnOnce()) {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn show(bar: Option<ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

impl Progress {
    /// Work of unknown length.
    pub(crate) fn spinner(what: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        show(Some(bar.clone()));
        Self(bar)
    }

    /// Work on so many things.
    pub(crate) fn bar(what: &str, length: u64) -> Self {
        let bar = ProgressBar::new(length).with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        show(Some(bar.clone()));
        Self(bar)
    }

    /// Says something else.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// So many are done.
    pub(crate) fn reach(&self, done: u64) {
        self.0.set_position(done);
    }

    /// So many more are done.
    pub(crate) fn advance(&self, done: u64) {
        self.0.inc(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        show(None);
    }
}
