//! A worker without a browser: decisions over the loaded rows, and a simulated IndexedDB.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{
    Content, Context, ControlError, Decision, Digest, EditRequest, ForwardOutcome, Outcome, Reply,
    ReplyBody, Representation, Request, Resource, Settings, State, Step, Stored, Task, TaskId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use feedsync_web::{Needed, PendingStep, ReadError, Store};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::database::Database;

/// Loaded rows, the database behind them, and received bytes that are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    store: RefCell<Store>,
    database: Database,
    received: RefCell<HashMap<Digest, Vec<u8>>>,
}

pub(crate) struct Gateway {
    pub(crate) state: State,
    pub(crate) disk: Disk,
    pub(crate) in_progress: Vec<Task>,
    settings: Settings,
    random: RefCell<SmallRng>,
}

impl Disk {
    pub(crate) fn hold(&self, bytes: Vec<u8>) -> Content {
        let content = Content::of(&bytes);
        self.received.borrow_mut().insert(content.digest, bytes);
        content
    }

    fn load(&self, needed: Needed) {
        let received = match &needed {
            Needed::Content(content) => self.received.borrow().get(&content.digest).cloned(),
            _ => None,
        };
        let mut store = self.store.borrow_mut();
        match (needed, received) {
            (Needed::Content(content), Some(bytes)) => store.keep_content(content.digest, bytes),
            (needed, _) => {
                let found = self.database.load(&needed.range());
                store.add(needed, found);
                assert_eq!(store.damaged().next(), None, "what was written can be read");
            }
        }
    }

    /// Reads, and loads what is missing.
    fn loaded<R>(&self, mut read: impl FnMut(&Store) -> Result<R, ReadError>) -> R {
        loop {
            let result = read(&self.store.borrow());
            match result {
                Ok(result) => return result,
                Err(ReadError::Missing(needed)) => self.load(needed),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn write(&mut self, step: &Step, state: &State) {
        let mut pending = PendingStep::new(step.clone());
        let is_edited = |partition: Partition, location: &Location| {
            let mut edits = state.edits();
            edits.any(|edit| {
                (edit.requested.partition, &edit.requested.resource) == (partition, location)
            })
        };
        let writes = loop {
            let written = self.store.borrow_mut().write(&mut pending, is_edited);
            match written {
                Ok(writes) => break writes,
                Err(ReadError::Missing(needed)) => self.load(needed),
                Err(error) => panic!("{error}"),
            }
        };
        // Received bytes that the state needs are stored, even if no row refers to them yet.
        let needed = state.needed();
        let of_rows = writes.contents.iter().map(|content| content.digest);
        let digests: BTreeSet<Digest> = of_rows.chain(needed).collect();
        let mut stored = Vec::new();
        for digest in digests {
            stored.extend(self.received.borrow_mut().remove(&digest).map(|bytes| (digest, bytes)));
        }
        self.database.commit(writes, stored);
    }
}

impl Stored for Disk {
    type Error = Infallible;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Infallible> {
        Ok(self.loaded(|store| store.resources(location)))
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Infallible> {
        Ok(self.loaded(|store| store.representation(partition, location)))
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Infallible> {
        Ok(self.loaded(|store| store.content(content)))
    }
}

impl Gateway {
    pub(crate) fn sampled(settings: Settings) -> Self {
        Self {
            state: State::new(settings),
            disk: Disk::default(),
            in_progress: Vec::new(),
            settings,
            random: RefCell::new(SmallRng::seed_from_u64(0)),
        }
    }

    /// Decides again and again, and loads what was missing in between. A decision that failed has changed nothing.
    fn decided<R>(
        &mut self,
        random: u128,
        now: Time,
        decide: impl Fn(&mut State, Context<'_, Store>) -> Result<R, ReadError>,
    ) -> Result<R, Infallible> {
        if self.random.borrow_mut().random_ratio(1, 8) {
            self.disk.store.borrow_mut().unload();
        }
        let is_checked = self.random.borrow_mut().random_ratio(1, 16);
        let before = is_checked.then(|| format!("{:?}", self.state));
        loop {
            let store = self.disk.store.borrow();
            let decided = decide(&mut self.state, Context { stored: &*store, random, now });
            drop(store);
            match decided {
                Ok(decided) => return Ok(decided),
                Err(ReadError::Missing(needed)) => {
                    let is_same =
                        before.as_ref().is_none_or(|it| *it == format!("{:?}", self.state));
                    assert!(is_same, "a decision that lacked {needed:?} has changed the state");
                    self.disk.load(needed);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn begin(
        &mut self,
        room: usize,
        now: Time,
    ) -> Result<(Vec<Task>, Step), Infallible> {
        self.decided(0, now, |state, cx| state.begin(cx, room))
    }

    pub(crate) fn finished(
        &mut self,
        id: TaskId,
        outcome: Outcome,
        now: Time,
        random: u64,
    ) -> Result<Step, Infallible> {
        self.decided(random.into(), now, |state, cx| state.finished(cx, id, outcome.clone()))
    }

    pub(crate) fn decide(&self, request: Request<'_>, now: Time) -> Result<Decision, Infallible> {
        Ok(self.disk.loaded(|stored| {
            self.state.responder().decide(Context { stored, random: 0, now }, request)
        }))
    }

    pub(crate) fn take(
        &mut self,
        edit: EditRequest<'_>,
        random: u128,
        now: Time,
    ) -> Result<(Reply, Step), Infallible> {
        self.decided(random, now, |state, cx| state.delivery().take(cx, edit.clone()))
    }

    pub(crate) fn forwarded(
        &mut self,
        edit: EditRequest<'_>,
        outcome: &ForwardOutcome,
        random: u128,
        now: Time,
    ) -> Result<(Option<Reply>, Step), Infallible> {
        self.decided(random, now, |state, cx| state.delivery().forwarded(cx, edit.clone(), outcome))
    }

    pub(crate) fn retry(
        &mut self,
        id: ErrorId,
        random: u128,
        now: Time,
    ) -> Result<Result<Step, ControlError>, Infallible> {
        self.decided(random, now, |state, cx| state.delivery().retry(cx, id))
    }

    /// Commits a step, unless it is empty.
    pub(crate) fn write(&mut self, step: &Step) {
        self.disk.write(step, &self.state);
        if step.is_durable {
            self.state.synced();
        }
    }

    /// Makes all committed transactions durable.
    pub(crate) fn sync(&mut self) {
        self.write(&Step { is_durable: true, ..Step::default() });
    }

    /// Ends the worker and starts another. `kept` is the number of unsynchronised transactions that survive a power
    /// cut, or none if only the worker ended.
    pub(crate) fn crash(&mut self, kept: Option<usize>) {
        if let Some(kept) = kept {
            self.disk.database.cut(kept);
        }
        let (store, rows) = Store::restored(&self.disk.database.now.state());
        assert_eq!(store.damaged().next(), None);
        self.disk.store = RefCell::new(store);
        self.disk.received.borrow_mut().clear();
        self.state = State::restored(self.settings, rows);
        self.in_progress.clear();
        self.sweep();
        self.disk.database.now.check();
    }

    /// Deletes contents that are not needed.
    pub(crate) fn sweep(&mut self) {
        let needed = self.state.needed().collect();
        self.disk.database.sweep(&needed);
    }

    /// Bytes of a response.
    pub(crate) fn bytes(&self, reply: &Reply) -> Vec<u8> {
        match &reply.shows {
            ReplyBody::Nothing => Vec::new(),
            ReplyBody::Text(text) => text.clone().into_bytes(),
            ReplyBody::Content(content) => self.disk.content(content).unwrap(),
            ReplyBody::Composed(composed) => composed.bytes(&self.disk).unwrap(),
        }
    }
}
