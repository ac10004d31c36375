//! Interleaved rounds and their statistics.

use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Number of rounds for long work; each round runs every candidate once, in turn.
pub(crate) const ROUNDS: usize = 9;

/// Number of rounds for short work.
pub(crate) const SHORT_ROUNDS: usize = 51;

/// Sorted times of one candidate.
#[derive(Debug, Clone)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Creates statistics of at least one time.
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    fn spread(&self) -> (Duration, Duration) {
        (self.0[0], self.0[self.0.len() - 1])
    }

    /// Median rate per second of `count` operations.
    pub(crate) fn rate(&self, count: usize) -> f64 {
        count as f64 / self.median().as_secs_f64()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.spread();
        write!(f, "{:.2?} ({least:.2?} to {most:.2?})", self.median())
    }
}

/// Sorted amounts of one candidate, in bytes or pages.
#[derive(Debug, Clone)]
pub(crate) struct Amounts(Vec<u64>);

impl Amounts {
    /// Creates statistics of at least one amount.
    pub(crate) fn new(mut amounts: Vec<u64>) -> Self {
        amounts.sort_unstable();
        Self(amounts)
    }

    pub(crate) fn median(&self) -> u64 {
        self.0[self.0.len() / 2]
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} to {})", self.median(), self.0[0], self.0[self.0.len() - 1])
    }
}

/// A candidate: a function that prepares the input, and the measured function.
pub(crate) type Candidate<'a, T> = (&'a mut dyn FnMut() -> T, &'a mut dyn FnMut(T));

/// Runs the candidates in turn, [`SHORT_ROUNDS`] times after a warm-up round. `prepare` runs outside of the
/// measured time. The processor time of this thread is measured, since other load on the machine affects it
/// least.
pub(crate) fn interleaved<T>(candidates: &mut [Candidate<'_, T>]) -> Vec<Times> {
    let mut times = vec![Vec::with_capacity(SHORT_ROUNDS); candidates.len()];
    for round in 0..=SHORT_ROUNDS {
        for (index, (prepare, run)) in candidates.iter_mut().enumerate() {
            let prepared = prepare();
            let began = thread_time();
            run(prepared);
            let took = thread_time() - began;
            if round > 0 {
                times[index].push(took);
            }
        }
    }
    times.into_iter().map(Times::new).collect()
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ratio of the medians of two candidates.
pub(crate) fn ratio(this: &Times, that: &Times) -> f64 {
    this.median().as_secs_f64() / that.median().as_secs_f64()
}
