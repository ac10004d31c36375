//! Room for what is scarce: who finds none waits a little or is told to come back (AH27).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::Problem;

/// How long a request waits for room.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long one waits that would be sent again with all that it brings, or takes a refusal for the end.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Room that others soon leave; kept until it is dropped.
pub(crate) async fn soon(
    room: &Arc<Semaphore>,
    full: &str,
) -> Result<OwnedSemaphorePermit, Problem> {
    within(PATIENCE, room, 1, full).await
}

/// The same for who waits so long, of so many places.
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

/// Room that others may keep for long.
pub(crate) fn now(room: &Arc<Semaphore>, full: &str) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(room).try_acquire_owned().map_err(|_| Problem::unavailable(full))
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_a_little_and_not_for_ever() {
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
