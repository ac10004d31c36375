//! Checkpoints of a replication, written on both sides (section 8).
//!
//! Each side keeps all checkpoints that were ever written there, by any replicator. Checkpoints of one side
//! are never copied to the other one, which may have been restored from a backup.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_couch::Json;
use feedsync_couch::replication::{
    Checkpoint, CheckpointEntry, ReplicationStats, UpdateSequence, replication_id,
};
use feedsync_store::Environment;
use http::StatusCode;
use tokio::time::Instant;

use super::{Replica, Replication, ReplicationError};

/// Maximum number of retries of a checkpoint while other replicators write theirs.
const MAX_ATTEMPTS: u32 = 10;

/// Checkpoints of a replication.
pub(super) struct CheckpointLog {
    id: String,
    source: Side,
    target: Side,
    environment: Arc<dyn Environment>,
    /// The newest checkpoint that this replication wrote on both sides, or the one where it began.
    newest: Option<CheckpointEntry>,
    began_at: Option<UpdateSequence>,
    began: String,
    /// Start identifier of the target when the replication began.
    started: String,
    reached: Option<(UpdateSequence, ReplicationStats)>,
    due: Instant,
    every: Duration,
    is_writable: bool,
}

/// One side with its local document.
struct Side {
    replica: Arc<dyn Replica>,
    revision: Option<String>,
    /// Names of the checkpoints there, as last seen.
    seen: HashSet<String>,
}

impl CheckpointLog {
    /// Reads the checkpoints of both sides.
    pub(super) async fn open(
        replication: &Replication,
        (source, target): (Arc<dyn Replica>, Arc<dyn Replica>),
        environment: Arc<dyn Environment>,
    ) -> Result<Self, ReplicationError> {
        let of_source = source.open(false).await?;
        let of_target = target.open(replication.creates_target).await?;
        let started = target.settle().await?;
        let mut filter = replication.filter.identity();
        // Changes before this position are not replicated, so such a checkpoint means less.
        if let Some(since) = &replication.since {
            filter.push_str(&format!(" since {}", since.as_json()));
        }
        let id = replication_id(&of_source, &of_target, &filter);
        let is_used = !replication.has_no_checkpoints;
        let (source, checkpoint) = Side::open(source, &id, is_used).await?;
        let (target, other) = Side::open(target, &id, is_used).await?;
        let common = checkpoint.common(&other).filter(|_| !replication.from_beginning);
        let newest = common.cloned();
        let began_at = newest.as_ref().map(|passed| passed.place.clone());
        let began = date(&*environment);
        Ok(Self {
            id,
            source,
            target,
            environment,
            newest,
            began_at,
            began,
            started,
            reached: None,
            due: Instant::now(),
            every: replication.pace.checkpoint,
            is_writable: is_used,
        })
    }

    /// Returns the position at which the replication continues.
    pub(super) fn began_at(&self) -> Option<&UpdateSequence> {
        self.began_at.as_ref()
    }

    /// Records that everything up to a position is written.
    pub(super) fn reaches(&mut self, place: UpdateSequence, stats: ReplicationStats) {
        if self.reached.is_none() {
            self.due = Instant::now() + self.every;
        }
        self.reached = Some((place, stats));
    }

    /// Whether a checkpoint is to be written.
    pub(super) fn is_behind(&self) -> bool {
        self.reached.is_some() && self.is_writable
    }

    /// Returns the time at which it is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Whether both sides accept checkpoints.
    pub(super) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Writes a checkpoint, at the target first, so that the source never has one that the target lacks.
    pub(super) async fn write(&mut self) -> Result<(), ReplicationError> {
        let Some((place, stats)) = self.reached.clone() else { return Ok(()) };
        if self.newest.as_ref().is_some_and(|it| it.place == place) {
            self.reached = None;
            return Ok(());
        }
        if self.target.replica.settle().await? != self.started {
            return Err(ReplicationError::Replaced { database: self.target.replica.shown() });
        }
        let (high, low) = (self.environment.random(), self.environment.random());
        let passed = CheckpointEntry {
            session: format!("{high:016x}{low:016x}"),
            place,
            began_at: self.began_at.clone().unwrap_or_else(UpdateSequence::beginning),
            times: (self.began.clone(), date(&*self.environment)),
            stats,
        };
        for side in [&mut self.target, &mut self.source] {
            match side.pass(&self.id, self.newest.as_ref(), &passed).await {
                Ok(()) => {}
                // A user who may only read begins anew each time, which is reported.
                Err(error) if is_forbidden(&error) => {
                    (self.is_writable, self.reached) = (false, None);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        (self.newest, self.reached) = (Some(passed), None);
        Ok(())
    }
}

impl Side {
    async fn open(
        replica: Arc<dyn Replica>,
        id: &str,
        is_used: bool,
    ) -> Result<(Self, Checkpoint), ReplicationError> {
        let mut side = Self { replica, revision: None, seen: HashSet::new() };
        if !is_used {
            return Ok((side, Checkpoint::default()));
        }
        let checkpoint = side.read(id).await?;
        side.seen = sessions(&checkpoint);
        Ok((side, checkpoint))
    }

    async fn read(&mut self, id: &str) -> Result<Checkpoint, ReplicationError> {
        let local = self.replica.local(id).await?;
        let Some(local) = local else {
            self.revision = None;
            return Ok(Checkpoint::default());
        };
        self.revision = Some(local.revision);
        let document = Json::read(local.text.into_bytes());
        Ok(document.map(|document| Checkpoint::read(&document)).unwrap_or_default())
    }

    /// Adds a checkpoint to those that are stored there, whoever has written them.
    async fn pass(
        &mut self,
        id: &str,
        newest: Option<&CheckpointEntry>,
        passed: &CheckpointEntry,
    ) -> Result<(), ReplicationError> {
        let mut tries = 0;
        loop {
            let mut there = self.read(id).await?;
            if newest.is_some_and(|newest| has_forgotten(&there, newest, &self.seen)) {
                return Err(ReplicationError::Replaced { database: self.replica.shown() });
            }
            there.pass(passed.clone());
            let write = there.document(self.revision.as_deref());
            match self.replica.put_local(id, write).await {
                // Another run of the same replication has written in the meantime.
                Err(error)
                    if error.status() == Some(StatusCode::CONFLICT) && tries < MAX_ATTEMPTS =>
                {
                    tries += 1;
                }
                done => {
                    self.revision = Some(done?);
                    self.seen = sessions(&there);
                    return Ok(());
                }
            }
        }
    }
}

fn sessions(checkpoint: &Checkpoint) -> HashSet<String> {
    checkpoint.passed.iter().map(|it| it.session.clone()).collect()
}

/// Whether a side no longer has the newest checkpoint, and was therefore replaced or restored from a backup.
/// Then documents that were written since may be missing there, too.
///
/// Servers do not compare revisions of local documents, so another run of the same replication may overwrite
/// a checkpoint written at the same moment. In that case its own checkpoint is first there, followed by some
/// that were seen.
fn has_forgotten(there: &Checkpoint, newest: &CheckpointEntry, seen: &HashSet<String>) -> bool {
    let is_there = there.passed.iter().any(|it| it.session == newest.session);
    let is_seen = |it: &CheckpointEntry| seen.contains(&it.session);
    let is_of_another = there.passed.first().is_some_and(|it| !is_seen(it));
    let is_missed = is_of_another && there.passed.iter().any(is_seen);
    !is_there && !is_missed
}

fn is_forbidden(error: &ReplicationError) -> bool {
    matches!(error.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

fn date(environment: &dyn Environment) -> String {
    let now = Duration::from_micros(environment.now().micros());
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(sessions: &str) -> Checkpoint {
        let passed = |session: char| CheckpointEntry {
            session: session.to_string(),
            place: UpdateSequence::beginning(),
            began_at: UpdateSequence::beginning(),
            times: Default::default(),
            stats: ReplicationStats::default(),
        };
        Checkpoint { passed: sessions.chars().map(passed).collect() }
    }

    /// Checkpoints are listed newest first; capitals are those of another run.
    #[test]
    fn restored_side_is_distinguished_from_concurrent_runs() {
        for (seen, there, is_forgotten) in [
            ("cba", "cba", false),
            ("cba", "BcAba", false),
            ("cba", "Bba", false),
            ("cBba", "ADba", false),
            ("cba", "ba", true),
            ("cba", "", true),
            ("cba", "BA", true),
            ("cBa", "Ba", true),
        ] {
            let newest = list("c").passed.remove(0);
            let forgotten = has_forgotten(&list(there), &newest, &sessions(&list(seen)));
            assert_eq!(forgotten, is_forgotten, "{seen} {there}");
        }
    }
}
