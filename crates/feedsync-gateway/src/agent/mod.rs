//! Who holds the decisions and acts on them: the one owner of the interceptor and of its store.
//!
//! - What was decided and what is stored change together, under one lock: whoever reads the interceptor finds
//!   the rows that go with it. Waiting for the disk happens after that, so that an edit may show a moment before
//!   it is acknowledged, and is never acknowledged before the disk holds it.
//! - If a step cannot be stored, or a decision breaks off, the interceptor is made again of what is stored, and
//!   whoever asked gets the error.
//! - Events are told in the order of the steps, and those of a step that has to outlive a power cut once the
//!   disk holds it.
//! - Requests of ours leave from here alone, with the credentials that were registered (BI31, BI152).

mod ambient;
mod background;
mod cookie_date;
mod delivering;
mod jar;
mod subscribed;
mod syncing;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::HashSet;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use feedsync_offline::authentication::Partition;
use feedsync_offline::interceptor::{
    Content, Event, Interceptor, Settings, Step, Stored as _, Task, TaskId,
};
use feedsync_offline::location::Location;
use feedsync_offline::time::Time;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::{Notify, broadcast};

pub use ambient::Ambient;
pub use turns::Turn;

use crate::face::{Body, BodyError};
use crate::store::{Held, Opened, Reader, Store, StoreError, Unchecked};
use crate::target::Reachable;
use jar::Jar;
use subscribed::Subscribed;
use syncing::{Syncing, Told};
use turns::Turns;

/// Events that somebody may be behind with.
const EVENTS: usize = 1_024;

/// Bits of the number of a task in one life.
const TASKS: u32 = 40;

/// Bytes that are read at once without asking whether somebody else wants to go on.
const SMALL: u64 = 64 << 10;

/// Who holds the decisions and acts on them.
pub struct Agent {
    held: RwLock<Decided>,
    store: Arc<Store>,
    syncing: Syncing,
    settings: Settings,
    ambient: Ambient,
    events: broadcast::Sender<Arc<Event>>,
    /// Something may be due.
    wake: Notify,
    /// The disk has no room.
    is_full: AtomicBool,
    /// Held while damaged bytes are dealt with.
    healing: tokio::sync::Mutex<()>,
    turns: Turns,
    /// Whose changes are on their way.
    delivering: Mutex<HashSet<Partition>>,
    jar: Jar,
    subscribed: Subscribed,
}

/// The decisions, and how often they were made again of what is stored: what was begun before is not known to
/// those that came after.
struct Decided {
    interceptor: Interceptor,
    life: u64,
    /// Whether the interceptor is what is stored.
    is_current: bool,
    /// How many steps were stored.
    steps: u64,
    /// The tasks before this one were begun: steps that began others may not have been stored.
    begun: TaskId,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The store is at fault.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A body did not come whole.
    #[error("the body has broken off: {0}")]
    Body(#[from] BodyError),
    /// A body is larger than it may be.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// What it may be.
        limit: u64,
    },
    /// Work was given up, since the program ends or has a fault.
    #[error("the work was given up")]
    GivenUp(#[from] tokio::task::JoinError),
}

impl Agent {
    /// One that goes on from what a store has.
    pub fn new(
        store: Arc<Store>,
        settings: Settings,
        ambient: Ambient,
        reachable: Reachable,
    ) -> Result<Arc<Self>, StoreError> {
        let interceptor = restored(&store, settings)?;
        let subscribed = Subscribed::new(reachable, &interceptor);
        let events = broadcast::Sender::new(EVENTS);
        Ok(Arc::new(Self {
            held: RwLock::new(Decided {
                begun: interceptor.next_task(),
                interceptor,
                life: 0,
                is_current: true,
                steps: 0,
            }),
            syncing: Syncing::begin(Arc::clone(&store), events.clone()),
            store,
            settings,
            ambient,
            events,
            wake: Notify::new(),
            is_full: AtomicBool::new(false),
            healing: tokio::sync::Mutex::default(),
            turns: Turns::default(),
            delivering: Mutex::default(),
            jar: Jar::default(),
            subscribed,
        }))
    }

    /// Reads what was decided, and what is stored with it.
    pub fn read<R>(
        &self,
        read: impl FnOnce(&Interceptor, &Reader, Time) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let decided = self.decided();
        let reader = self.store.reader();
        read(&decided.interceptor, &reader, self.now())
    }

    /// Shows what was decided.
    pub fn look<R>(&self, look: impl FnOnce(&Interceptor) -> R) -> R {
        look(&self.decided().interceptor)
    }

    /// Decides something, stores what follows from it, and tells of it. Ready once the disk has what has to
    /// outlive a power cut.
    pub async fn change<R>(
        &self,
        change: impl FnOnce(&mut Interceptor, &Reader, Time, u128) -> Result<(R, Step), StoreError>,
    ) -> Result<R, AgentError> {
        let (result, durable) = self.change_at_once(change)?;
        if let Some(durable) = durable {
            self.wait(durable).await?;
        }
        Ok(result)
    }

    /// The same; what has to be waited for.
    fn change_at_once<R>(
        &self,
        change: impl FnOnce(&mut Interceptor, &Reader, Time, u128) -> Result<(R, Step), StoreError>,
    ) -> Result<(R, Option<Durable>), StoreError> {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if !decided.is_current {
            self.renew(&mut decided)?;
        }
        let reader = self.store.reader();
        // Also if the change panics.
        decided.is_current = false;
        let (now, random) = (self.now(), (self.ambient.random)());
        let changed = change(&mut decided.interceptor, &reader, now, random);
        let stored = changed.and_then(|(result, step)| {
            self.store.commit(std::slice::from_ref(&step))?;
            Ok((result, step))
        });
        let (result, step) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                self.noticed(&error);
                // If what is stored cannot be read now, it is when somebody asks.
                let renewed = self.renew(&mut decided);
                drop(renewed.inspect_err(|error| tracing::error!(%error, "nothing can be read")));
                return Err(error);
            }
        };
        decided.is_current = true;
        decided.begun = decided.interceptor.next_task();
        self.subscribed.follow(&step);
        if !step.changes.is_empty() {
            decided.steps += 1;
            self.wake.notify_one();
        }
        if !step.is_durable && step.events.is_empty() {
            return Ok((result, None));
        }
        // As long as nobody else can: what is queued first was stored first.
        let (life, steps) = (decided.life, decided.steps);
        let told = self.syncing.tell(step.events, step.is_durable);
        Ok((result, step.is_durable.then_some(Durable { told, life, steps })))
    }

    /// Ready once the disk holds all that was stored so far.
    pub async fn sync(&self) -> Result<(), AgentError> {
        let durable = {
            let decided = self.decided();
            let (life, steps) = (decided.life, decided.steps);
            Durable { told: self.syncing.tell(Vec::new(), true), life, steps }
        };
        Ok(self.wait(durable).await?)
    }

    async fn wait(&self, durable: Durable) -> Result<(), StoreError> {
        let Durable { told, life, steps } = durable;
        told.wait().await?;
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // What was stored meanwhile the disk may not hold.
        if (decided.life, decided.steps) == (life, steps) {
            decided.interceptor.synced();
        }
        Ok(())
    }

    /// Makes the decisions again of what is stored.
    fn renew(&self, decided: &mut Decided) -> Result<(), StoreError> {
        let mut interceptor = restored(&self.store, self.settings)?;
        decided.life += 1;
        interceptor.name_tasks_from(decided.life << TASKS);
        let before = std::mem::replace(&mut decided.interceptor, interceptor);
        decided.interceptor.take_over(before, decided.begun);
        decided.begun = decided.interceptor.next_task();
        decided.is_current = true;
        Ok(())
    }

    /// Stores bytes for a step that is going to need them; they are there as long as they are held.
    pub async fn hold(&self, mut body: Body, limit: u64) -> Result<Held, AgentError> {
        let mut incoming = self.store.incoming();
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            if incoming.length() + bytes.len() as u64 > limit {
                return Err(AgentError::TooLarge { limit });
            }
            incoming.take(&bytes).inspect_err(|error| self.noticed(error))?;
        }
        let held = match incoming.is_in_memory() {
            true => incoming.end(),
            false => tokio::task::spawn_blocking(move || incoming.end()).await?,
        };
        Ok(held.inspect_err(|error| self.noticed(error))?)
    }

    /// Has room made, if there is none, and damaged bytes dealt with.
    fn noticed(&self, error: &StoreError) {
        let is_news = error.is_full() && !self.is_full.swap(true, Ordering::Relaxed);
        if is_news || error.is_rotten() {
            self.wake.notify_one();
        }
    }

    /// Body of bytes that are stored. They are compared with their digest before the first of them is given out.
    pub async fn body(&self, content: &Content) -> Result<Body, AgentError> {
        let opened = self.store.reader().open(content).inspect_err(|error| self.noticed(error))?;
        let file = match opened {
            Opened::Bytes(bytes) => return Ok(Body::from(bytes)),
            Opened::File(file) => file,
        };
        Ok(Body::file(Arc::new(self.checked(file).await?), 0..content.length))
    }

    /// File that was compared with its digest.
    pub async fn checked(&self, file: Unchecked) -> Result<File, AgentError> {
        let checked = tokio::task::spawn_blocking(move || file.check()).await?;
        Ok(checked.inspect_err(|error| self.noticed(error))?)
    }

    /// Bytes that are stored, all of them.
    pub fn content(&self, content: &Content) -> Result<Vec<u8>, StoreError> {
        self.store.reader().content(content).inspect_err(|error| self.noticed(error))
    }

    /// Deals with stored bytes that were found damaged: what is stored of addresses is forgotten and fetched again,
    /// and edits that would carry them are errors. Returns when nothing that was found before the call is left,
    /// whoever deals with it.
    pub async fn heal(&self) -> Result<(), AgentError> {
        let _turn = self.healing.lock().await;
        let damaged = self.store.take_damaged();
        if damaged.is_empty() {
            return Ok(());
        }
        self.change(|interceptor, reader, now, _| {
            let mut addresses = Vec::new();
            for digest in &damaged {
                addresses.extend(reader.addresses_of(digest)?);
            }
            Ok(((), interceptor.damaged(reader, |it| damaged.contains(it), addresses, now)?))
        })
        .await?;
        self.store.forget_damaged(&damaged)?;
        Ok(())
    }

    /// One that reads what is stored.
    pub fn reader(&self) -> Reader {
        self.store.reader()
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// The turn to edit a resource; others wait until it is dropped.
    pub async fn turn(&self, partition: Partition, resource: &Location) -> Turn {
        self.turns.take(partition, resource).await
    }

    /// Notes that a request reached its server, or did not.
    pub fn reached(&self, location: &Location, did: bool) {
        if did && self.decided().interceptor.is_reached(location) {
            return;
        }
        let (now, random) = (self.now(), (self.ambient.random)());
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        decided.interceptor.reached(location, did, now, random as u64);
        drop(decided);
        self.wake.notify_one();
    }

    /// Has a server of newsreaders tried often while it is away.
    pub fn watch(&self, base: &Location) {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        decided.interceptor.watch(base);
    }

    /// The edit that may leave before what became of another is taken in.
    fn next_of_line(&self, id: TaskId, status: StatusCode, headers: &HeaderMap) -> Option<Task> {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if !decided.is_current {
            return None;
        }
        let next = decided.interceptor.next_of_line(id, status, headers);
        decided.begun = decided.interceptor.next_task();
        next
    }

    /// Has what is due looked for.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        (self.ambient.now)()
    }

    fn decided(&self) -> RwLockReadGuard<'_, Decided> {
        let decided = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if decided.is_current {
            return decided;
        }
        drop(decided);
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if !decided.is_current
            && let Err(error) = self.renew(&mut decided)
        {
            tracing::error!(%error, "what is stored cannot be read again");
        }
        drop(decided);
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step that the disk is asked to hold, and how many there were by then.
struct Durable {
    told: Told,
    life: u64,
    steps: u64,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The decisions that a store has.
fn restored(store: &Store, settings: Settings) -> Result<Interceptor, StoreError> {
    let mut interceptor = Interceptor::restored(settings, store.rows()?);
    interceptor.recall(&store.reader())?;
    Ok(interceptor)
}
