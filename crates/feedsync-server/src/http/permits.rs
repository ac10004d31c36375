//! Waiting for scarce permits: a request waits briefly, or gets a response that says when to retry
//! (AH27).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::problem::Problem;

/// Maximum time that a request waits for a permit.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum wait for requests that are expensive to repeat, or whose client treats a refusal as the end.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Waits for a permit that is usually held briefly. It is held until it is dropped.
pub(crate) async fn soon(
    room: &Arc<Semaphore>,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    within(PATIENCE, room, 1, full).await
}

/// The same with a maximum wait, for so many permits.
pub(crate) async fn within(
    patience: Duration,
    room: &Arc<Semaphore>,
    places: u32,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    match timeout(patience, Arc::clone(room).acquire_many_owned(places)).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Problem::unavailable(full)),
    }
}

/// Takes a permit that may be held for long, without waiting.
pub(crate) fn now(room: &Arc<Semaphore>, full: &str) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(room).try_acquire_owned().map_err(|_| Problem::unavailable(full))
}

/// Memory budget for bodies of unusual size. It has a fixed number of bytes; a body larger than that is
/// processed alone.
pub(crate) struct LargeBodies {
    room: Arc<Semaphore>,
    all: u32,
}

impl LargeBodies {
    /// Number of bytes that one permit stands for.
    const PLACE: usize = 64 << 10;

    /// Number of bodies of the usual size that fit into the budget.
    const USUAL: usize = 8;

    /// Creates a budget based on the usual size.
    pub(crate) fn new(usual: usize) -> Self {
        let all = Self::places(usual.saturating_mul(Self::USUAL));
        Self { room: Arc::new(Semaphore::new(all as usize)), all }
    }

    fn places(bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(Self::PLACE)).unwrap_or(u32::MAX).max(1)
    }

    /// Waits for so many bytes of the budget.
    pub(crate) async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let places = Self::places(bytes).min(self.all);
        within(LONG, &self.room, places, "other large bodies are being sent").await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_permit_times_out() {
        let room = Arc::new(Semaphore::new(1));
        let held = soon(&room, "full").await.unwrap();
        assert!(now(&room, "full").is_err());
        let began = Instant::now();
        assert!(soon(&room, "full").await.is_err());
        assert_eq!(began.elapsed(), PATIENCE);
        let leaving = async {
            sleep(PATIENCE / 2).await;
            drop(held);
        };
        let (found, ()) = tokio::join!(soon(&room, "full"), leaving);
        assert!(found.is_ok());
    }
}
