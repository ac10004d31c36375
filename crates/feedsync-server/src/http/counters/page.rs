//! A page of metrics in Prometheus format, and histograms.

use std::fmt::{Display, Write as _};
use std::time::Duration;

/// Upper bounds of the buckets, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// A page while it is written.
#[derive(Default)]
pub(crate) struct Page(pub(super) String);

impl Page {
    /// Its text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    pub(crate) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.line(name, "", value);
    }
}

/// Number of durations in each bucket.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    pub(super) fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum += time;
    }

    pub(super) fn render(&self, page: &mut Page, name: &str, labels: &str) {
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(self.buckets) {
            below += count;
            page.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), below);
        }
        page.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), self.count);
        page.line(&format!("{name}_sum"), labels, self.sum.as_secs_f64());
        page.line(&format!("{name}_count"), labels, self.count);
    }
}
