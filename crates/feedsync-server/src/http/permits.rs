//! Waiting for scarce permits: a request waits briefly, or gets a response that says when to retry
//! (AH27).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::problem::Problem;

/// Maximum time that a request waits for a permit.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Maximum wait for requests that are expensive to repeat, or whose client treats a refusal as the end.
pub(crate) const MAX_LONG_WAIT: Duration = Duration::from_secs(60);

/// Waits for a permit that is usually held briefly. It is held until it is dropped.
pub(crate) async fn acquire(
    room: &Arc<Semaphore>,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    acquire_within(MAX_WAIT, room, 1, full).await
}

/// The same with a maximum wait, for so many permits.
pub(crate) async fn acquire_within(
    patience: Duration,
    room: &Arc<Semaphore>,
    permits: u32,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    match timeout(patience, Arc::clone(room).acquire_many_owned(permits)).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Problem::unavailable(full)),
    }
}

/// Takes a permit that may be held for long, without waiting.
pub(crate) fn try_acquire(
    room: &Arc<Semaphore>,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(room).try_acquire_owned().map_err(|_| Problem::unavailable(full))
}

/// Memory budget for bodies of unusual size. It has a fixed number of bytes; a body larger than that is
/// processed alone.
pub(crate) struct LargeBodyBudget {
    room: Arc<Semaphore>,
    all: u32,
}

impl LargeBodyBudget {
    /// Number of bytes that one permit stands for.
    const PERMIT_BYTES: usize = 64 << 10;

    /// Number of bodies of the usual size that fit into the budget.
    const USUAL_BODIES: usize = 8;

    /// Creates a budget based on the usual size.
    pub(crate) fn new(usual: usize) -> Self {
        let all = Self::permits(usual.saturating_mul(Self::USUAL_BODIES));
        Self { room: Arc::new(Semaphore::new(all as usize)), all }
    }

    fn permits(bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(Self::PERMIT_BYTES)).unwrap_or(u32::MAX).max(1)
    }

    /// Waits for so many bytes of the budget.
    pub(crate) async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let permits = Self::permits(bytes).min(self.all);
        acquire_within(
            MAX_LONG_WAIT,
            &self.room,
            permits,
            "other large request bodies are being received; try again later",
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_permit_times_out() {
        let room = Arc::new(Semaphore::new(1));
        let held = acquire(&room, "full").await.unwrap();
        assert!(try_acquire(&room, "full").is_err());
        let began = Instant::now();
        assert!(acquire(&room, "full").await.is_err());
        assert_eq!(began.elapsed(), MAX_WAIT);
        let leaving = async {
            sleep(MAX_WAIT / 2).await;
            drop(held);
        };
        let (found, ()) = tokio::join!(acquire(&room, "full"), leaving);
        assert!(found.is_ok());
    }
}
