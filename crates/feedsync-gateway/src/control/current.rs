//! Fetches the current version of a resource whose server refused an edit. If the server is unreachable, the
//! stored version is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use feedsync_bitsy::event::SyncError;
use feedsync_bitsy::interceptor::{Content, Representation};
use feedsync_bitsy::time::Time;
use feedsync_http::Problem;
use tokio::time::sleep;

use super::Control;
use super::answer::failed;
use super::view::is_edit;

/// Number and interval of checks for the response; a person who opens an error waits no longer than that.
const MAX_POLLS: u32 = 40;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Current version at the server that refused an edit, as far as it is known.
pub(crate) struct Current {
    /// The version.
    pub(crate) representation: Representation,
    /// Whether the version was fetched just now.
    pub(crate) is_new: bool,
}

impl Control {
    /// Returns the current version at the server of a refused edit. The result is `None` if no version is known
    /// or if the error does not concern an edit.
    pub(crate) async fn current(
        &self,
        error: &SyncError<Option<Content>>,
    ) -> Result<Option<Current>, Problem> {
        if !is_edit(error) {
            return Ok(None);
        }
        let (id, location) = (error.id, error.interaction.location.clone());
        let requested = Arc::new(AtomicU64::new(u64::MAX));
        let at = Arc::clone(&requested);
        let change = self.change(Box::new(move |it, now| {
            let step = it.fetcher().fetch_current(id)?;
            if it.is_online(&location) {
                at.store(now.millis(), Ordering::Relaxed);
            }
            Ok(step)
        }));
        // If no request can be made, the stored version is shown.
        let looks = if change.await.is_ok() { MAX_POLLS } else { 0 };
        let requested = requested.load(Ordering::Relaxed);
        let looks = if requested == u64::MAX { 0 } else { looks };
        for _ in 0..looks {
            if let Some(current) = self.stored(error, requested).await?.filter(|found| found.is_new)
            {
                return Ok(Some(current));
            }
            sleep(POLL_INTERVAL).await;
        }
        self.stored(error, requested).await
    }

    async fn stored(
        &self,
        error: &SyncError<Option<Content>>,
        requested: u64,
    ) -> Result<Option<Current>, Problem> {
        let location = &error.interaction.location;
        let found = self.0.interceptor_handle.representation(error.partition, location).await;
        let found = found.map_err(|error| failed(&error))?;
        Ok(found.map(|representation| {
            let is_new = representation.fetched >= Time::from_millis(requested);
            Current { representation, is_new }
        }))
    }
}
