//! How far a replication is, written down on both sides (section 8).
//!
//! Each side keeps all places that were ever written down there, by whomever; what one side knows is never told to the
//! other, which may have been put back to what it was before.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_couch::Json;
use feedsync_couch::replication::{Checkpoint, Passed, Place, Worked, replication_id};
use feedsync_store::Environment;
use http::StatusCode;
use tokio::time::Instant;

use super::{Replica, Replication, ReplicationError, ReplicationFilter};

/// So often it is tried again to write down a place while others write theirs.
const MOST_TRIES: u32 = 10;

/// How far a replication is.
pub(super) struct CheckpointLog {
    id: String,
    source: Side,
    target: Side,
    environment: Arc<dyn Environment>,
    /// The newest place that was written down on both sides by this replication, or where it began.
    newest: Option<Passed>,
    began_at: Option<Place>,
    began: String,
    /// What the target began with.
    started: String,
    reached: Option<(Place, Worked)>,
    due: Instant,
    every: Duration,
    is_kept: bool,
}

/// A side, and the local document there.
struct Side {
    replica: Arc<dyn Replica>,
    revision: Option<String>,
    /// The names of the places there, as it was seen last.
    seen: HashSet<String>,
}

impl CheckpointLog {
    /// Reads what both sides know.
    pub(super) async fn open(
        replication: &Replication,
        (source, target): (Arc<dyn Replica>, Arc<dyn Replica>),
        environment: Arc<dyn Environment>,
    ) -> Result<Self, ReplicationError> {
        let of_source = source.open(false).await?;
        let of_target = target.open(replication.creates_target).await?;
        let started = target.settle().await?;
        let filter = match &replication.filter {
            ReplicationFilter::All => String::new(),
            ReplicationFilter::Selector { text, .. } => format!("selector {text}"),
            ReplicationFilter::Ids(ids) => format!("ids {}", ids.join("\n")),
        };
        let id = replication_id(&of_source, &of_target, &filter);
        let (source, checkpoint) = Side::open(source, &id).await?;
        let (target, other) = Side::open(target, &id).await?;
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
            is_kept: true,
        })
    }

    /// Where the replication goes on.
    pub(super) fn began_at(&self) -> Option<&Place> {
        self.began_at.as_ref()
    }

    /// All up to a place is written.
    pub(super) fn reaches(&mut self, place: Place, worked: Worked) {
        if self.reached.is_none() {
            self.due = Instant::now() + self.every;
        }
        self.reached = Some((place, worked));
    }

    /// Whether there is something to be written down.
    pub(super) fn is_behind(&self) -> bool {
        self.reached.is_some() && self.is_kept
    }

    /// When.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Whether both sides let it be written down.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Writes it down: at the target first, so that the source knows nothing that the target does not.
    pub(super) async fn write(&mut self) -> Result<(), ReplicationError> {
        let Some((place, worked)) = self.reached.clone() else { return Ok(()) };
        if self.newest.as_ref().is_some_and(|it| it.place == place) {
            self.reached = None;
            return Ok(());
        }
        if self.target.replica.settle().await? != self.started {
            return Err(ReplicationError::Replaced { database: self.target.replica.shown() });
        }
        let (high, low) = (self.environment.random(), self.environment.random());
        let passed = Passed {
            session: format!("{high:016x}{low:016x}"),
            place,
            began_at: self.began_at.clone().unwrap_or_else(Place::beginning),
            times: (self.began.clone(), date(&*self.environment)),
            worked,
        };
        for side in [&mut self.target, &mut self.source] {
            match side.pass(&self.id, self.newest.as_ref(), &passed).await {
                Ok(()) => {}
                // Who may only read begins again each time, and is told so.
                Err(error) if is_forbidden(&error) => {
                    (self.is_kept, self.reached) = (false, None);
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
    ) -> Result<(Self, Checkpoint), ReplicationError> {
        let mut side = Self { replica, revision: None, seen: HashSet::new() };
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

    /// Adds a place to those that are there, whoever has written them.
    async fn pass(
        &mut self,
        id: &str,
        newest: Option<&Passed>,
        passed: &Passed,
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
                // Another one of the same replication has written meanwhile.
                Err(error)
                    if error.status() == Some(StatusCode::CONFLICT) && tries < MOST_TRIES =>
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

/// Whether a side that knew the newest place, and all others that were seen there, is another one by now, or is what it was
/// before: then what was written since is not there, either.
///
/// Another one of the same replication may miss a place that is written at the same moment, for servers do not compare
/// revisions of local documents. Its own place then stands first, upon some that were seen.
fn has_forgotten(there: &Checkpoint, newest: &Passed, seen: &HashSet<String>) -> bool {
    let is_there = there.passed.iter().any(|it| it.session == newest.session);
    let is_seen = |it: &Passed| seen.contains(&it.session);
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
        let passed = |session: char| Passed {
            session: session.to_string(),
            place: Place::beginning(),
            began_at: Place::beginning(),
            times: Default::default(),
            worked: Worked::default(),
        };
        Checkpoint { passed: sessions.chars().map(passed).collect() }
    }

    /// Those that are seen stand newest first; capitals are of another one.
    #[test]
    fn a_side_that_was_put_back_is_none_that_others_write_to() {
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
