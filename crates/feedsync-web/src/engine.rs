//! The state and the stored data of a worker, which change together.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::{SortedMap, SortedSet};
use feedsync_bitsy::interceptor::{
    Content, Context, Digest, Event, Settings, State, Step, Task, TaskId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::EditId;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, StatusCode};

use crate::store::{self, Found, Needed, PendingStep, ReadError, SetAside, Store, Writes};

/// Number of low bits in the number of a task that count the tasks since the last restoration.
const TASK_BITS: u32 = 32;

/// Time and random bits of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    /// Present time.
    pub(crate) now: Time,
    /// Random bits.
    pub(crate) random: u128,
}

/// Makes decisions one at a time. The step of a decision is [written](Self::writes) and [committed](Self::committed)
/// before the next decision that changes something.
#[derive(Debug)]
pub(crate) struct Engine {
    settings: Settings,
    state: State,
    store: Store,
    pending: Option<PendingStep>,
    restorations: u64,
    /// First task that was not begun by a committed step.
    begun: TaskId,
}

impl Engine {
    /// Restores the state from the rows whose keys begin with [`STATE`](crate::STATE).
    pub(crate) fn restored(settings: Settings, rows: &SortedMap<String, String>) -> Self {
        let (store, rows) = Store::restored(rows);
        let state = State::restored(settings, rows);
        let begun = state.next_task();
        Self { settings, state, store, pending: None, restorations: 0, begun }
    }

    /// Restores the state again after a step could not be committed. Running requests for edits stay known.
    pub(crate) fn restore(&mut self, rows: &SortedMap<String, String>) {
        let (store, rows) = Store::restored(rows);
        self.restorations += 1;
        let mut state = State::restored(self.settings, rows);
        state.name_tasks_from(self.restorations << TASK_BITS);
        let before = std::mem::replace(&mut self.state, state);
        self.state.take_over(before, self.begun);
        self.begun = self.state.next_task();
        let before = std::mem::replace(&mut self.store, store);
        self.store.take_over(before);
        self.pending = None;
    }

    /// Keys of rows that cannot be read. They are to be [set aside](Self::set_aside) before the next decision.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = &str> {
        self.store.damaged()
    }

    /// Takes the damaged rows out of the store. Edits become errors, and lost representations are fetched again. The
    /// rows of the result are to be committed with those of the step.
    pub(crate) fn set_aside(
        &mut self,
        with: Circumstances,
        uses: &[&str],
    ) -> Result<SetAside, ReadError> {
        let subscriptions = self.state.stored_subscriptions().map(|stored| &stored.subscription);
        let feeds: Vec<_> = subscriptions.map(|it| (it.partition(), it.feed().clone())).collect();
        let aside = self.store.set_aside(&feeds, uses)?;
        let edits = aside.damaged.keys().filter(|key| store::kind_of(key) == Some("edit"));
        let edits: Vec<EditId> =
            edits.filter_map(|key| store::number_of(key)).map(EditId).collect();
        let addresses = aside.addresses.clone();
        self.change(with, |state, cx| Ok(((), state.set_aside(cx, &edits, addresses)?)))?;
        self.store.was_set_aside();
        Ok(aside)
    }

    /// The state. It includes the step of the last decision, even if that is not committed yet.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Makes a decision that changes nothing.
    pub(crate) fn read<R>(
        &self,
        with: Circumstances,
        read: impl FnOnce(&State, Context<'_, Store>) -> Result<R, ReadError>,
    ) -> Result<R, ReadError> {
        let Circumstances { now, random } = with;
        read(&self.state, Context { stored: &self.store, random, now })
    }

    /// Makes a decision whose step is to be committed. If data are missing, nothing has changed, and the decision is
    /// repeated once they are there.
    pub(crate) fn change<R>(
        &mut self,
        with: Circumstances,
        change: impl FnOnce(&mut State, Context<'_, Store>) -> Result<(R, Step), ReadError>,
    ) -> Result<R, ReadError> {
        let Circumstances { now, random } = with;
        let context = Context { stored: &self.store, random, now };
        let (result, step) = change(&mut self.state, context)?;
        self.pending = Some(PendingStep::new(step));
        Ok(result)
    }

    /// Rows to write for the step of the last decision; none if there is nothing to write. If data are missing, the
    /// call is repeated once they are there.
    pub(crate) fn writes(&mut self) -> Result<Option<Writes>, ReadError> {
        let Self { state, store, pending, .. } = self;
        let Some(pending) = pending else { return Ok(None) };
        let is_edited = |partition: Partition, location: &Location| {
            let mut edits = state.edits();
            let edited = (partition, location);
            edits.any(|edit| (edit.requested.partition, &edit.requested.resource) == edited)
        };
        let writes = store.write(pending, is_edited)?;
        Ok((!writes.is_empty() || writes.is_durable).then_some(writes))
    }

    /// Notes that the step of the last decision is committed, and returns its events.
    pub(crate) fn committed(&mut self) -> Vec<Event> {
        let Some(pending) = self.pending.take() else { return Vec::new() };
        let step = pending.into_step();
        if step.is_durable {
            self.state.synced();
        }
        self.begun = self.state.next_task();
        self.store.trim();
        step.events
    }

    /// Notes whether a request reached its server. This is not stored.
    pub(crate) fn reached(&mut self, location: &Location, did: bool, with: Circumstances) {
        self.state.reached(location, did, with.now, with.random as u64);
    }

    /// Begins the next edit of a queue, which was noted as sent before, when the response to edit `answered` arrives. This is
    /// not stored. None while requests wait for the commit of the step that begins them.
    pub(crate) fn next_in_queue(
        &mut self,
        answered: TaskId,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Task> {
        if self.begun != self.state.next_task() {
            return None;
        }
        let task = self.state.delivery().next_in_queue(answered, status, headers);
        // It runs from now on, whatever becomes of the present step and of later ones.
        self.begun = self.state.next_task();
        task
    }

    /// Body of the edit after the one that a task sends.
    pub(crate) fn body_after(&mut self, task: TaskId) -> Option<Content> {
        self.state.delivery().body_after(task)
    }

    /// Adds data that were missing.
    pub(crate) fn add(&mut self, needed: Needed, found: Found) {
        self.store.add(needed, found);
    }

    /// Keeps received bytes in memory, so that decisions need not load them.
    pub(crate) fn keep_content(&mut self, digest: Digest, bytes: Vec<u8>) {
        self.store.keep_content(digest, bytes);
    }

    /// Contents that the state needs, which are not all referred to by rows.
    pub(crate) fn needed(&self) -> SortedSet<Digest> {
        self.state.needed().collect()
    }
}
