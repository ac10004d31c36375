//! A gateway of a real process, origins that come and go, and applications that know nothing of either.

pub(crate) mod application;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod listing;
pub(crate) mod nginx;
pub(crate) mod writer;

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take that has to come right by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let begin = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(instead) => assert!(begin.elapsed() < PATIENCE, "{what}: {instead}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}
