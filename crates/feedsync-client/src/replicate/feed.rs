//! What changes at a source, page by page, ahead of those who carry it.

use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::replication::{BadAnswer, ChangesPage, Place};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Changes, Replica, ReplicationError, ReplicationFilter};

/// A source that answers at once that nothing has changed is asked again after so long.
const PAUSE: Duration = Duration::from_secs(1);

/// The pages of a source.
pub(super) struct Feed {
    pages: mpsc::Receiver<Result<ChangesPage, ReplicationError>>,
    /// Who asks for them; ends with this.
    _asking: JoinSet<()>,
}

impl Feed {
    /// Asks for what changed after a place, so many documents at once, and goes on for ever if `is_endless`.
    pub(super) fn follow(
        source: Arc<dyn Replica>,
        filter: Arc<ReplicationFilter>,
        after: Place,
        most: usize,
        is_endless: bool,
    ) -> Self {
        let (sender, pages) = mpsc::channel(1);
        let mut asking = JoinSet::new();
        asking.spawn(async move {
            let mut after = after;
            let mut waits = false;
            loop {
                let asked = Changes { after: &after, most, filter: &filter, waits };
                let began = Instant::now();
                let mut page = source.changes(asked).await;
                let (mut is_last, mut is_empty) = (true, false);
                if let Ok(read) = &page {
                    let is_further = read.last != after;
                    is_empty = read.documents.is_empty();
                    // Some give less at once than is asked for.
                    let has_more = is_further && read.pending.is_some_and(|pending| pending > 0);
                    is_last = read.documents.len() < most && !has_more;
                    after = read.last.clone();
                    if !is_empty && !is_further {
                        let bad = BadAnswer("the place of the last change is where it was");
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

    /// The next page; `None` at the end. May be dropped at any moment.
    pub(super) async fn next(&mut self) -> Result<Option<ChangesPage>, ReplicationError> {
        self.pages.recv().await.transpose()
    }
}
