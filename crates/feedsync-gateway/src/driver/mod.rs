//! Executes the decisions of the interceptor. The driver is the only owner of the interceptor and of its store.
//!
//! - The decided state and the stored state change together, under one lock. Code that reads the interceptor
//!   finds the matching rows. Waiting for the disk happens after that. An edit may therefore be visible just
//!   before it is acknowledged, but is never acknowledged before the disk holds it.
//! - If a step cannot be stored, or a decision panics, the interceptor is rebuilt from the store, and the caller
//!   gets the error.
//! - Events are sent in the order of the steps. Events of a step that must survive a power failure are sent once
//!   the disk holds the step.
//! - Only the driver sends the gateway's own requests, with the credentials that were registered (BI31, BI152).

mod background;
mod cookie_date;
mod cookie_jar;
mod delivery;
mod disk_sync;
mod edit_locks;
mod environment;
mod subscribed_authorities;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{
    self, Content, Context, Digest, Event, Settings, Step, Stored as _, Task, TaskId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::{Notify, broadcast};

pub use edit_locks::EditLock;
pub use environment::Environment;

use crate::proxy::{Body, BodyError};
use crate::store::{Opened, PinnedContent, Reader, Store, StoreError, Unchecked};
use crate::target::Reachable;
use cookie_jar::Jar;
use disk_sync::{DiskSync, SyncReceipt};
use edit_locks::EditLocks;
use subscribed_authorities::SubscribedAuthorities;

/// Capacity of the event channel; slower receivers miss events.
const EVENT_CAPACITY: usize = 1_024;

/// Number of low bits in a task identifier that count the tasks of one incarnation.
const TASK_BITS: u32 = 40;

/// Contents up to this size, in bytes, are processed without yielding to other tasks.
const MAX_INLINE_BYTES: u64 = 64 << 10;

/// Executes the decisions of the interceptor.
pub struct Driver {
    held: RwLock<Decided>,
    store: Arc<Store>,
    disk_sync: DiskSync,
    settings: Settings,
    environment: Environment,
    events: broadcast::Sender<Arc<Event>>,
    /// Notified when something may be due.
    wake: Notify,
    /// Whether the disk is full.
    is_full: AtomicBool,
    /// Held while damaged bytes are handled.
    healing: tokio::sync::Mutex<()>,
    edit_locks: EditLocks,
    /// Partitions whose changes are being delivered.
    delivering: Mutex<HashSet<Partition>>,
    jar: Jar,
    subscribed: SubscribedAuthorities,
}

/// The interceptor, and the number of times that it was rebuilt from the store. Tasks that began before a rebuild
/// are unknown to later interceptors.
struct Decided {
    state: interceptor::State,
    incarnation: u64,
    /// Whether the interceptor agrees with the store.
    is_current: bool,
    /// Number of stored steps.
    steps: u64,
    /// First task that the interceptor has not yet started. A step that started later tasks may not have been
    /// stored.
    begun: TaskId,
}

/// Error of an operation of the driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The body was truncated.
    #[error("the body was interrupted: {0}")]
    Body(#[from] BodyError),
    /// The body is larger than the limit.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// Limit, in bytes.
        limit: u64,
    },
    /// The task was cancelled because the program ends, or it panicked.
    #[error("the task was cancelled")]
    GivenUp(#[from] tokio::task::JoinError),
}

impl Driver {
    /// Creates a driver that continues from the state of a store.
    pub fn new(
        store: Arc<Store>,
        settings: Settings,
        environment: Environment,
        reachable: Reachable,
    ) -> Result<Arc<Self>, StoreError> {
        let state = restored(&store, settings)?;
        let subscribed = SubscribedAuthorities::new(reachable, &state);
        let events = broadcast::Sender::new(EVENT_CAPACITY);
        Ok(Arc::new(Self {
            held: RwLock::new(Decided {
                begun: state.next_task(),
                state,
                incarnation: 0,
                is_current: true,
                steps: 0,
            }),
            disk_sync: DiskSync::begin(Arc::clone(&store), events.clone()),
            store,
            settings,
            environment,
            events,
            wake: Notify::new(),
            is_full: AtomicBool::new(false),
            healing: tokio::sync::Mutex::default(),
            edit_locks: EditLocks::default(),
            delivering: Mutex::default(),
            jar: Jar::default(),
            subscribed,
        }))
    }

    /// Passes the decided state and a reader of the matching stored state to `read`. There are no random bits,
    /// because reading needs none.
    pub fn read<R>(
        &self,
        read: impl FnOnce(&interceptor::State, Context<'_, Reader>) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let decided = self.decided();
        let reader = self.store.reader();
        read(&decided.state, Context { stored: &reader, random: 0, now: self.now() })
    }

    /// Passes the decided state to `inspect`.
    pub fn inspect<R>(&self, inspect: impl FnOnce(&interceptor::State) -> R) -> R {
        inspect(&self.decided().state)
    }

    /// Makes a decision, stores its step and sends its events. Completes once the disk holds all that must
    /// survive a power failure.
    pub async fn change<R>(
        &self,
        change: impl FnOnce(
            &mut interceptor::State,
            Context<'_, Reader>,
        ) -> Result<(R, Step), StoreError>,
    ) -> Result<R, DriverError> {
        let (result, durable) = self.change_at_once(change)?;
        if let Some(durable) = durable {
            self.wait(durable).await?;
        }
        Ok(result)
    }

    /// Like [`Driver::change`], but returns the durability that remains to be waited for.
    fn change_at_once<R>(
        &self,
        change: impl FnOnce(
            &mut interceptor::State,
            Context<'_, Reader>,
        ) -> Result<(R, Step), StoreError>,
    ) -> Result<(R, Option<Durable>), StoreError> {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if !decided.is_current {
            self.renew(&mut decided)?;
        }
        let reader = self.store.reader();
        // Stays false if the change panics.
        decided.is_current = false;
        let (now, random) = (self.now(), (self.environment.random)());
        let changed = change(&mut decided.state, Context { stored: &reader, random, now });
        let stored = changed.and_then(|(result, step)| {
            self.store.commit(std::slice::from_ref(&step))?;
            Ok((result, step))
        });
        let (result, step) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                self.noticed(&error);
                // If the store cannot be read now, the next change tries again.
                let renewed = self.renew(&mut decided);
                drop(renewed.inspect_err(|error| tracing::error!(%error, "cannot read the store")));
                return Err(error);
            }
        };
        decided.is_current = true;
        decided.begun = decided.state.next_task();
        self.subscribed.follow(&step);
        if !step.changes.is_empty() {
            decided.steps += 1;
            self.wake.notify_one();
        }
        if !step.is_durable && step.events.is_empty() {
            return Ok((result, None));
        }
        // Queued while the lock is held, so that the queue has the order in which the steps were stored.
        let receipt = self.disk_sync.enqueue(step.events, step.is_durable);
        Ok((result, step.is_durable.then(|| Durable::new(receipt, &decided))))
    }

    /// Completes once the disk holds everything that was stored so far.
    pub async fn sync(&self) -> Result<(), DriverError> {
        let durable = {
            let decided = self.decided();
            Durable::new(self.disk_sync.enqueue(Vec::new(), true), &decided)
        };
        Ok(self.wait(durable).await?)
    }

    async fn wait(&self, durable: Durable) -> Result<(), StoreError> {
        let Durable { receipt, incarnation, steps, notes } = durable;
        receipt.wait().await?;
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if decided.incarnation != incarnation {
            return Ok(());
        }
        decided.state.notes_synced(notes);
        // Steps that were stored meanwhile may not be on the disk.
        if decided.steps == steps {
            decided.state.synced();
        }
        Ok(())
    }

    /// Rebuilds the interceptor from the store.
    fn renew(&self, decided: &mut Decided) -> Result<(), StoreError> {
        let mut state = restored(&self.store, self.settings)?;
        decided.incarnation += 1;
        state.name_tasks_from(decided.incarnation << TASK_BITS);
        let before = std::mem::replace(&mut decided.state, state);
        decided.state.take_over(before, decided.begun);
        decided.begun = decided.state.next_task();
        decided.is_current = true;
        Ok(())
    }

    /// Stores bytes for a later step. The bytes stay in the store as long as the result is held.
    pub async fn pin(&self, mut body: Body, limit: u64) -> Result<PinnedContent, DriverError> {
        let mut incoming = self.store.incoming();
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            if incoming.length() + bytes.len() as u64 > limit {
                return Err(DriverError::TooLarge { limit });
            }
            incoming.take(&bytes).inspect_err(|error| self.noticed(error))?;
        }
        let held = match incoming.is_in_memory() {
            true => incoming.end(),
            false => tokio::task::spawn_blocking(move || incoming.end()).await?,
        };
        Ok(held.inspect_err(|error| self.noticed(error))?)
    }

    /// Schedules work for an error of the store: freeing space on a full disk, and handling damaged bytes.
    fn noticed(&self, error: &StoreError) {
        let is_news = error.is_full() && !self.is_full.swap(true, Ordering::Relaxed);
        if is_news || error.is_corrupt() {
            self.wake.notify_one();
        }
    }

    /// Body that reads stored bytes. They are verified against their digest before the first byte is returned.
    pub async fn body(&self, content: &Content) -> Result<Body, DriverError> {
        let opened = self.store.reader().open(content).inspect_err(|error| self.noticed(error))?;
        let file = match opened {
            Opened::Bytes(bytes) => return Ok(Body::from(bytes)),
            Opened::File(file) => file,
        };
        Ok(Body::file(Arc::new(self.checked(file).await?), 0..content.length))
    }

    /// Verifies a file against its digest.
    pub async fn checked(&self, file: Unchecked) -> Result<File, DriverError> {
        let checked = tokio::task::spawn_blocking(move || file.check()).await?;
        Ok(checked.inspect_err(|error| self.noticed(error))?)
    }

    /// Reads stored bytes completely.
    pub fn content(&self, content: &Content) -> Result<Vec<u8>, StoreError> {
        self.store.reader().content(content).inspect_err(|error| self.noticed(error))
    }

    /// Handles stored bytes that were found damaged. Representations with such bytes are deleted and fetched
    /// again, and edits that need them become errors. Returns when no damage found before the call is left, even
    /// if another task handles it. An edit that is being sent is handled after its request has ended.
    pub async fn heal(&self) -> Result<(), DriverError> {
        let _healing = self.healing.lock().await;
        let damaged = self.store.take_damaged();
        if damaged.is_empty() {
            return Ok(());
        }
        self.change(|state, cx| {
            let mut addresses = Vec::new();
            for digest in &damaged {
                addresses.extend(cx.stored.addresses_of(digest)?);
            }
            Ok(((), state.damaged(cx, |it| damaged.contains(it), addresses)?))
        })
        .await?;
        let needed: HashSet<Digest> = self.inspect(|state| state.needed().collect());
        self.store.forget_damaged(&damaged, &needed)?;
        Ok(())
    }

    /// Returns a reader of the store.
    pub fn reader(&self) -> Reader {
        self.store.reader()
    }

    /// Subscribes to the events from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// Waits for the exclusive right to edit a resource. It is released when the result is dropped.
    pub async fn lock_resource(&self, partition: Partition, resource: &Location) -> EditLock {
        self.edit_locks.take(partition, resource).await
    }

    /// Records whether a request reached its server.
    pub fn reached(&self, location: &Location, did: bool) {
        if did && self.decided().state.is_reached(location) {
            return;
        }
        let (now, random) = (self.now(), (self.environment.random)());
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        decided.state.reached(location, did, now, random as u64);
        drop(decided);
        self.wake.notify_one();
    }

    /// Makes the driver retry an unreachable newsreader server frequently.
    pub fn watch(&self, base: &Location) {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        decided.state.watch(base);
    }

    /// Returns the next edit of the line, which may leave before the outcome of edit `id` is stored.
    fn next_in_queue(&self, id: TaskId, status: StatusCode, headers: &HeaderMap) -> Option<Task> {
        let mut decided = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if !decided.is_current {
            return None;
        }
        let next = decided.state.delivery().next_in_queue(id, status, headers);
        decided.begun = decided.state.next_task();
        next
    }

    /// Triggers a check for due work.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        (self.environment.now)()
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
            tracing::error!(%error, "cannot reload the state from the store");
        }
        drop(decided);
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step that waits for the disk, with the number of steps stored by then.
struct Durable {
    receipt: SyncReceipt,
    incarnation: u64,
    steps: u64,
    /// Number of steps so far that noted edits before they were due.
    notes: u64,
}

impl Durable {
    fn new(receipt: SyncReceipt, decided: &Decided) -> Self {
        let (incarnation, steps) = (decided.incarnation, decided.steps);
        Self { receipt, incarnation, steps, notes: decided.state.note_steps() }
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Builds an interceptor from a store.
fn restored(store: &Store, settings: Settings) -> Result<interceptor::State, StoreError> {
    let mut state = interceptor::State::restored(settings, store.rows()?);
    state.load_proxies(&store.reader())?;
    Ok(state)
}
