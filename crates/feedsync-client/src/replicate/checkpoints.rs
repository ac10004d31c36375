//! How far a replication is, written down on both sides (section 8).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_couch::Json;
use feedsync_couch::replication::{Checkpoint, Passed, Place, Worked, replication_id};
use feedsync_store::Environment;
use http::StatusCode;
use tokio::time::Instant;

use super::{Replica, Replication, ReplicationError, ReplicationFilter};

/// How far a replication is.
pub(super) struct CheckpointLog {
    id: String,
    source: Side,
    target: Side,
    environment: Arc<dyn Environment>,
    checkpoint: Checkpoint,
    began_at: Option<Place>,
    began: String,
    /// What the target began with.
    started: String,
    reached: Option<(Place, Worked)>,
    due: Instant,
    every: Duration,
    is_kept: bool,
}

/// A side, and the revision of the local document there.
struct Side {
    replica: Arc<dyn Replica>,
    revision: Option<String>,
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
        let (source, mut checkpoint) = Side::open(source, &id).await?;
        let (target, other) = Side::open(target, &id).await?;
        let common = checkpoint.common(&other).filter(|_| !replication.from_beginning);
        let began_at = common.map(|passed| passed.place.clone());
        // What only one side knows is not where the other one was.
        let known = checkpoint.passed.iter().position(|it| Some(&it.place) == began_at.as_ref());
        checkpoint.passed.drain(..known.unwrap_or(checkpoint.passed.len()));
        let began = date(&*environment);
        Ok(Self {
            id,
            source,
            target,
            environment,
            checkpoint,
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
        let newest = self.checkpoint.passed.first();
        if newest.is_some_and(|it| it.place == place) {
            self.reached = None;
            return Ok(());
        }
        if self.target.replica.settle().await? != self.started {
            return Err(ReplicationError::Replaced { database: self.target.replica.shown() });
        }
        // A database that was made again knows nothing of what was written down in the one before it.
        let known = newest.map(|it| it.session.clone());
        for side in [&mut self.target, &mut self.source] {
            let there = side.read(&self.id).await?;
            let has = |known: &String| there.passed.iter().any(|it| it.session == *known);
            if !known.as_ref().is_none_or(has) {
                return Err(ReplicationError::Replaced { database: side.replica.shown() });
            }
        }
        let (high, low) = (self.environment.random(), self.environment.random());
        let mut checkpoint = self.checkpoint.clone();
        checkpoint.pass(Passed {
            session: format!("{high:016x}{low:016x}"),
            place,
            began_at: self.began_at.clone().unwrap_or_else(Place::beginning),
            times: (self.began.clone(), date(&*self.environment)),
            worked,
        });
        for side in [&mut self.target, &mut self.source] {
            match side.put(&self.id, &checkpoint).await {
                Ok(()) => {}
                // Who may only read begins again each time, and is told so.
                Err(error) if is_forbidden(&error) => {
                    (self.is_kept, self.reached) = (false, None);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        (self.checkpoint, self.reached) = (checkpoint, None);
        Ok(())
    }
}

impl Side {
    async fn open(
        replica: Arc<dyn Replica>,
        id: &str,
    ) -> Result<(Self, Checkpoint), ReplicationError> {
        let mut side = Self { replica, revision: None };
        let checkpoint = side.read(id).await?;
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

    async fn put(&mut self, id: &str, checkpoint: &Checkpoint) -> Result<(), ReplicationError> {
        let write = checkpoint.document(self.revision.as_deref());
        let revision = match self.replica.put_local(id, write).await {
            // Another one of the same replication has written it.
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
                self.read(id).await?;
                let write = checkpoint.document(self.revision.as_deref());
                self.replica.put_local(id, write).await?
            }
            done => done?,
        };
        self.revision = Some(revision);
        Ok(())
    }
}

fn is_forbidden(error: &ReplicationError) -> bool {
    matches!(error.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

fn date(environment: &dyn Environment) -> String {
    let now = Duration::from_micros(environment.now().micros());
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + now)
}
