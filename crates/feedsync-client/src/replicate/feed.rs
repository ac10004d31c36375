//! Changes of a source, read page by page ahead of the transfer.

use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::replication::{ChangesPage, InvalidResponse, UpdateSequence};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{ChangesQuery, Replica, ReplicationError, ReplicationFilter};

/// Pause before the next request to a source that returned immediately without a change.
const PAUSE: Duration = Duration::from_secs(1);

/// The pages of changes of a source.
pub(super) struct Feed {
    pages: mpsc::Receiver<Result<ChangesPage, ReplicationError>>,
    /// Task that requests the pages; it ends with this value.
    _asking: JoinSet<()>,
}

impl Feed {
    /// Requests the changes after a position, with a maximum number of documents at once; never ends if
    /// `is_endless`.
    pub(super) fn follow(
        source: Arc<dyn Replica>,
        filter: Arc<ReplicationFilter>,
        after: UpdateSequence,
        most: usize,
        is_endless: bool,
    ) -> Self {
        let (sender, pages) = mpsc::channel(1);
        let mut asking = JoinSet::new();
        asking.spawn(async move {
            let mut after = after;
            let mut waits = false;
            loop {
                let asked = ChangesQuery { after: &after, most, filter: &filter, waits };
                let began = Instant::now();
                let mut page = source.changes(asked).await;
                let (mut is_last, mut is_empty) = (true, false);
                if let Ok(read) = &page {
                    let is_further = read.last != after;
                    is_empty = read.documents.is_empty();
                    // Some servers return fewer than requested.
                    let has_more = is_further && read.pending.is_some_and(|pending| pending > 0);
                    is_last = read.documents.len() < most && !has_more;
                    after = read.last.clone();
                    if !is_empty && !is_further {
                        let bad = InvalidResponse("last_seq did not advance");
                        let database = source.shown();
                        page = Err(ReplicationError::Answer { database, source: bad });
                    }
                }
                let is_over = page.is_err() || (is_last && !is_endless);
                if sender.send(page).await.is_err() || is_over {
                    return;
                }
                if waits && is_empty && began.elapsed() < PAUSE {
                    sleep(PAUSE).await;
                }
                waits = is_last;
            }
        });
        Self { pages, _asking: asking }
    }

    /// Returns the next page; `None` at the end. The future may be dropped at any moment.
    pub(super) async fn next(&mut self) -> Result<Option<ChangesPage>, ReplicationError> {
        self.pages.recv().await.transpose()
    }
}
