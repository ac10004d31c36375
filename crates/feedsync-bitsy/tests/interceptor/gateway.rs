//! A gateway without sockets: decisions, a disk that loses unsynchronised data, and running tasks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{
    Belonging, Change, Content, Context, ControlError, Decision, Digest, EditRequest,
    ForwardOutcome, Outcome, Reply, ReplyBody, Representation, Request, Resource, Rows, Settings,
    State, Step, Stored, Task, TaskId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, Method, StatusCode};

/// Data on a disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredChange {
    pub(crate) rows: Rows,
    representations: BTreeMap<(Partition, Location), Representation>,
    generations: BTreeMap<(Partition, Location), BTreeMap<Location, Belonging>>,
}

/// A disk: synchronised data, and the steps written since.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    synced: StoredChange,
    since: Vec<Step>,
    pub(crate) now: StoredChange,
    pub(crate) contents: RefCell<HashMap<Content, Vec<u8>>>,
}

pub(crate) struct Gateway {
    pub(crate) state: State,
    pub(crate) disk: Disk,
    pub(crate) in_progress: Vec<Task>,
    settings: Settings,
    /// Number of decisions so far.
    decisions: u64,
    /// One of this many decisions is also made without all reads.
    sampling: u64,
}

impl StoredChange {
    fn take(&mut self, step: &Step) {
        let rows = &mut self.rows;
        for change in &step.changes {
            match change.clone() {
                Change::StoredSubscription(it) => {
                    put(&mut rows.stored_subscriptions, *it, |it| it.id.0)
                }
                Change::SubscriptionRemoved(id) => {
                    rows.stored_subscriptions.retain(|it| it.id != id)
                }
                Change::Edit(it) => put(&mut rows.edits, *it, |it| it.id.0),
                Change::EditRemoved(id) => rows.edits.retain(|it| it.id != id),
                Change::Error(it) => put(&mut rows.errors, *it, |it| it.id.0),
                Change::ErrorRemoved(id) => rows.errors.retain(|it| it.id != id),
                Change::OverlayEdit(it) => put(&mut rows.shown, *it, |it| it.place),
                Change::OverlayEditRemoved(place) => rows.shown.retain(|it| it.place != place),
                Change::MemberAddress { partition, pending, member } => {
                    rows.named.retain(|(who, from, _)| (*who, from) != (partition, &pending));
                    rows.named.push((partition, pending, member));
                }
                Change::MemberAddressRemoved { partition, pending } => {
                    rows.named.retain(|(who, from, _)| (*who, from) != (partition, &pending));
                }
                Change::Attempt(it) => rows.attempts.push(*it),
                Change::AttemptRemoved(it) => rows.attempts.retain(|other| *other != *it),
                Change::Representation { partition, location, representation } => {
                    match representation {
                        Some(it) => self.representations.insert((partition, location), *it),
                        None => self.representations.remove(&(partition, location)),
                    };
                }
                Change::Generation { partition, feed, mut resources, is_whole } => {
                    let key = (partition, feed.clone());
                    if let Some(before) = self.generations.get(&key).filter(|_| !is_whole) {
                        for (location, belonging) in before.clone() {
                            resources.entry(location).or_insert(belonging);
                        }
                    }
                    let before = self.generations.insert((partition, feed), resources);
                    for location in before.into_iter().flat_map(BTreeMap::into_keys) {
                        let is_kept = self.generations.iter().any(|((who, _), all)| {
                            *who == partition && all.contains_key(&location)
                        });
                        if !is_kept {
                            self.representations.remove(&(partition, location));
                        }
                    }
                }
                Change::PartitionRemoved(partition) => {
                    rows.named.retain(|(who, ..)| *who != partition);
                    self.representations.retain(|(who, _), _| *who != partition);
                }
                Change::Counters(counters) => rows.counters = counters,
                Change::Policy(policy) => rows.policy = policy,
                other => rows.newsreaders.make(&other),
            }
        }
    }
}

fn put<T>(rows: &mut Vec<T>, row: T, place: impl Fn(&T) -> u64) {
    rows.retain(|other| place(other) != place(&row));
    rows.push(row);
}

impl Disk {
    /// Writes a step. A durable step makes all earlier ones durable, too.
    fn write(&mut self, step: &Step) {
        self.now.take(step);
        match step.is_durable {
            true => {
                self.synced = self.now.clone();
                self.since.clear();
            }
            false => self.since.push(step.clone()),
        }
    }

    /// Cuts the power. This many unsynchronised steps survive.
    fn cut(&mut self, kept: usize) {
        self.now = self.synced.clone();
        for step in self.since.drain(..).take(kept) {
            self.now.take(&step);
        }
        self.synced = self.now.clone();
    }

    pub(crate) fn hold(&self, bytes: Vec<u8>) -> Content {
        let content = Content::of(&bytes);
        self.contents.borrow_mut().insert(content, bytes);
        content
    }
}

impl Stored for Disk {
    type Error = Infallible;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Infallible> {
        let of = self.now.generations.iter().filter_map(|((partition, feed), all)| {
            let Belonging { role, entry, seen } = all.get(location)?.clone();
            Some(Resource { partition: *partition, feed: feed.clone(), role, entry, seen })
        });
        Ok(of.collect())
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Infallible> {
        Ok(self.now.representations.get(&(partition, location.clone())).cloned())
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Infallible> {
        let contents = self.contents.borrow();
        Ok(contents.get(content).expect("what is needed was kept").clone())
    }
}

/// Error of a read that has not been loaded.
#[derive(Debug)]
struct Missing;

/// A disk of which only a number of reads succeed, as in a browser that has not loaded everything.
struct PartlyLoaded<'d> {
    disk: &'d Disk,
    left: Cell<usize>,
}

impl PartlyLoaded<'_> {
    fn read<T>(&self, read: Result<T, Infallible>) -> Result<T, Missing> {
        self.left.set(self.left.get().checked_sub(1).ok_or(Missing)?);
        let Ok(read) = read;
        Ok(read)
    }
}

impl Stored for PartlyLoaded<'_> {
    type Error = Missing;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Missing> {
        self.read(self.disk.resources(location))
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Missing> {
        self.read(self.disk.representation(partition, location))
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Missing> {
        self.read(self.disk.content(content))
    }
}

/// Decisions. They are first made while fewer reads succeed than they need. Then they must fail and leave the state
/// as it was.
impl Gateway {
    fn decided<R>(
        &mut self,
        random: u128,
        now: Time,
        decide: impl Fn(&mut State, Context<'_, PartlyLoaded<'_>>) -> Result<R, Missing>,
    ) -> Result<R, Infallible> {
        self.decisions += 1;
        if !self.decisions.is_multiple_of(self.sampling) {
            let stored = PartlyLoaded { disk: &self.disk, left: Cell::new(usize::MAX) };
            let decided = decide(&mut self.state, Context { stored: &stored, random, now });
            return Ok(decided.expect("everything is loaded"));
        }
        let before = format!("{:?}", self.state);
        let mut loaded = 0;
        loop {
            let stored = PartlyLoaded { disk: &self.disk, left: Cell::new(loaded) };
            match decide(&mut self.state, Context { stored: &stored, random, now }) {
                Ok(decided) => return Ok(decided),
                Err(Missing) => assert!(
                    format!("{:?}", self.state) == before,
                    "a decision that lacked read {loaded} has changed the state"
                ),
            }
            loaded += 1;
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
        self.state.responder().decide(Context { stored: &self.disk, random: 0, now }, request)
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

    pub(crate) fn passed_through(
        &mut self,
        request: (&Method, &Location),
        status: StatusCode,
        headers: &HeaderMap,
        now: Time,
    ) -> Result<Step, Infallible> {
        self.decided(0, now, |state, cx| {
            state.fetcher().passed_through(cx, request, status, headers)
        })
    }

    pub(crate) fn may_have_changed(
        &mut self,
        request: (&Method, &Location),
        now: Time,
    ) -> Result<Step, Infallible> {
        self.decided(0, now, |state, cx| state.fetcher().may_have_changed(cx, request))
    }

    pub(crate) fn retry(
        &mut self,
        id: ErrorId,
        random: u128,
        now: Time,
    ) -> Result<Result<Step, ControlError>, Infallible> {
        self.decided(random, now, |state, cx| state.delivery().retry(cx, id))
    }

    pub(crate) fn damaged(
        &mut self,
        is_damaged: impl Fn(&Digest) -> bool,
        addresses: Vec<(Partition, Location)>,
        now: Time,
    ) -> Result<Step, Infallible> {
        self.decided(0, now, |state, cx| state.damaged(cx, &is_damaged, addresses.clone()))
    }
}

impl Gateway {
    pub(crate) fn new(settings: Settings) -> Self {
        let state = State::new(settings);
        Self {
            state,
            disk: Disk::default(),
            in_progress: Vec::new(),
            settings,
            decisions: 0,
            sampling: 1,
        }
    }

    /// A gateway for a long simulation, of which one of 16 decisions is made without all reads.
    pub(crate) fn sampled(settings: Settings) -> Self {
        Self { sampling: 16, ..Self::new(settings) }
    }

    /// Writes a step, unless it is empty.
    pub(crate) fn write(&mut self, step: &Step) {
        if !step.changes.is_empty() {
            self.disk.write(step);
        }
        if step.is_durable {
            self.state.synced();
        }
    }

    /// Makes all written data durable.
    pub(crate) fn sync(&mut self) {
        self.disk.write(&Step { is_durable: true, ..Step::default() });
        self.state.synced();
    }

    /// Ends the process and begins another. `kept` is the number of unsynchronised steps that survive a power
    /// cut, or none if only the process ended.
    pub(crate) fn crash(&mut self, kept: Option<usize>) {
        if let Some(kept) = kept {
            self.disk.cut(kept);
        }
        self.state = State::restored(self.settings, self.disk.now.rows.clone());
        self.in_progress.clear();
        self.sweep();
    }

    /// Deletes contents that are not needed.
    pub(crate) fn sweep(&self) {
        let mut needed: BTreeSet<_> = self.state.needed().collect();
        let written = [&self.disk.now, &self.disk.synced];
        let stored = written.iter().flat_map(|written| written.representations.values());
        needed.extend(stored.map(|it| it.content.digest));
        // Contents of the state after a power cut are needed, too.
        for written in written {
            let again = State::restored(self.settings, written.rows.clone());
            needed.extend(again.needed());
        }
        let mut contents = self.disk.contents.borrow_mut();
        let mut since = BTreeSet::new();
        for change in self.disk.since.iter().flat_map(|step| &step.changes) {
            match change {
                Change::Representation { representation: Some(it), .. } => {
                    since.insert(it.content.digest);
                }
                Change::Attempt(it) => drop(since.insert(it.content.digest)),
                Change::OverlayEdit(it) => {
                    since.extend(it.entity.iter().map(|it| it.content.digest))
                }
                _ => {}
            }
        }
        contents.retain(|it, _| needed.contains(&it.digest) || since.contains(&it.digest));
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
