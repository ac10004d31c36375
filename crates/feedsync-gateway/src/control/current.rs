//! The version that a server has now where it refused an edit. The server is asked; if it is not reached, the stored
//! version counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use feedsync_offline::event::SyncError;
use feedsync_offline::interceptor::{Content, Representation};
use feedsync_offline::time::Time;
use feedsync_server::Problem;
use tokio::time::sleep;

use super::Control;
use super::answer::failed;
use super::view::is_edit;

/// How often, and how long each time, an answer is waited for: who looks at an error waits no longer than that.
const LOOKS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// The version that a server has where it refused an edit, as far as is known.
pub(crate) struct Current {
    /// The version.
    pub(crate) representation: Representation,
    /// Whether the server was asked for it just now.
    pub(crate) is_new: bool,
}

impl Control {
    /// The version that the server of a refused edit has now; none if nothing is known of it, or the error is of no edit.
    pub(crate) async fn current(
        &self,
        error: &SyncError<Option<Content>>,
    ) -> Result<Option<Current>, Problem> {
        if !is_edit(error) {
            return Ok(None);
        }
        let (id, location) = (error.id, error.interaction.location.clone());
        let asked = Arc::new(AtomicU64::new(u64::MAX));
        let at = Arc::clone(&asked);
        let change = self.change(Box::new(move |it, now| {
            let step = it.look_at(id)?;
            if it.is_online(&location) {
                at.store(now.millis(), Ordering::Relaxed);
            }
            Ok(step)
        }));
        // What cannot be asked for is shown as it is stored.
        let looks = if change.await.is_ok() { LOOKS } else { 0 };
        let asked = asked.load(Ordering::Relaxed);
        let looks = if asked == u64::MAX { 0 } else { looks };
        for _ in 0..looks {
            if let Some(current) = self.stored(error, asked).await?.filter(|found| found.is_new) {
                return Ok(Some(current));
            }
            sleep(PAUSE).await;
        }
        self.stored(error, asked).await
    }

    async fn stored(
        &self,
        error: &SyncError<Option<Content>>,
        asked: u64,
    ) -> Result<Option<Current>, Problem> {
        let location = &error.interaction.location;
        let found = self.0.decisions.representation(error.partition, location).await;
        let found = found.map_err(|error| failed(&error))?;
        Ok(found.map(|representation| {
            let is_new = representation.fetched >= Time::from_millis(asked);
            Current { representation, is_new }
        }))
    }
}
