//! Progress of long operations on standard error; nothing if that is not a terminal.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Progress line that is shown until it is dropped.
pub(crate) struct Progress(ProgressBar);

/// Progress line that is shown now.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes to standard error without overwriting part of the progress line.
pub(crate) fn above(write: impl FnOnce()) {
    let shown = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn show(bar: Option<ProgressBar>) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

impl Progress {
    /// Shows an operation of unknown length.
    pub(crate) fn spinner(what: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        show(Some(bar.clone()));
        Self(bar)
    }

    /// Shows an operation on `length` things.
    pub(crate) fn bar(what: &str, length: u64) -> Self {
        let bar = ProgressBar::new(length).with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        show(Some(bar.clone()));
        Self(bar)
    }

    /// Changes the text of the line.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Sets the number of finished things.
    pub(crate) fn reach(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Adds to the number of finished things.
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
