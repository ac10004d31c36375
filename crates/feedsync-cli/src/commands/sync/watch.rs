//! `feedsync sync --watch`: again each time something changes here, and regularly for what changes
//! there.

use std::time::Duration;

use feedsync_client::{Direction, Session, SyncError};
use feedsync_store::{Remote, Store as _};

use crate::commands::sync::{Shown, failure, print};
use crate::context::{Context, Home};
use crate::failure::Failure;

/// How often a remote is looked at that says nothing itself.
const REGULARLY: Duration = Duration::from_secs(15);
/// Several edits one after the other travel together.
const GATHER: Duration = Duration::from_millis(200);

/// Synchronises until the person stops it. What fails is said, and tried again.
pub(super) async fn watch(
    context: &Context,
    home: &Home,
    session: &Session,
    remotes: &[Remote],
    direction: Direction,
) -> Result<(), Failure> {
    let mut each = tokio::task::JoinSet::new();
    let (news, mut heard) = tokio::sync::mpsc::channel(remotes.len().max(1));
    for (index, remote) in remotes.iter().enumerate() {
        let mut notices = home.store.subscribe(&remote.collection);
        let news = news.clone();
        each.spawn(async move {
            loop {
                let _ = tokio::time::timeout(REGULARLY, notices.next()).await;
                tokio::time::sleep(GATHER).await;
                if news.send(index).await.is_err() {
                    return;
                }
            }
        });
    }
    loop {
        let index = tokio::select! {
            index = heard.recv() => index,
            _ = tokio::signal::ctrl_c() => None,
        };
        let Some(index) = index else { return Ok(()) };
        let remote = &remotes[index];
        let outcome = {
            let shown = Shown::new(remote);
            session.sync(remote, direction, &shown, false).await
        };
        match outcome {
            Ok(report) if report.pulled.changed() + report.pushed.changed() == 0 => {}
            Ok(report) => print(context, remote, &Ok(report), false)?,
            Err(SyncError::NotYet { .. }) => {}
            Err(SyncError::Forgotten { .. }) => return Ok(()),
            Err(error) => {
                failure(remote, error).report();
            }
        }
    }
}
