//! `feedsync sync --watch`

use feedsync_client::{Direction, Pace, Session, SyncError, SyncTrigger, Watch};
use feedsync_store::Remote;
use tokio::task::JoinSet;

use crate::commands::sync::{ProgressDisplay, failure, print};
use crate::context::Context;
use crate::failure::Failure;

/// Synchronises whenever something changes locally or at a remote, until the user stops the command. A failed
/// attempt is reported and retried later. The watch of a remote ends when the remote is removed.
pub(super) async fn watch(
    context: &Context,
    session: &Session,
    remotes: Vec<Remote>,
    direction: Direction,
) -> Result<(), Failure> {
    let mut each = JoinSet::new();
    for remote in remotes {
        let watch = Watch::new(session.clone(), remote.clone(), direction, Pace::default());
        each.spawn(follow(context.clone(), session.clone(), watch, remote, direction));
    }
    tokio::select! {
        // Dropping the other tasks is safe: stored changes stay, and the next call continues from there.
        ended = async {
            while let Some(ended) = each.join_next().await {
                ended.unwrap_or_else(|error| Err(Failure::store(error)))?;
            }
            Ok(())
        } => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn follow(
    context: Context,
    session: Session,
    mut watch: Watch,
    remote: Remote,
    direction: Direction,
) -> Result<(), Failure> {
    loop {
        match watch.next().await {
            Ok(Some(SyncTrigger::Begin)) => continue, // synchronised just before
            Ok(Some(_)) => {}
            Ok(None) | Err(SyncError::Forgotten { .. }) => return Ok(()),
            Err(error) => return Err(failure(&remote, error)),
        }
        let outcome = {
            let shown = ProgressDisplay::new(&remote);
            session.sync(&remote, direction, &shown, false).await
        };
        match outcome {
            Ok(report) if report.pulled.changed() + report.pushed.changed() == 0 => {}
            Ok(report) => print(&context, &remote, &Ok(report), false)?,
            Err(SyncError::NotYet { .. }) => {}
            Err(SyncError::Forgotten { .. }) => return Ok(()),
            failed @ Err(_) => {
                print(&context, &remote, &failed, false)?;
                if let Err(error) = failed {
                    failure(&remote, error).report();
                }
            }
        }
    }
}
