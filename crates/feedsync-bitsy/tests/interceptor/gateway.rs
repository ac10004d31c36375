//! A gateway without sockets: decisions, a disk that loses unsynchronised data, and running tasks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{
    Belonging, Change, Content, Interceptor, Reply, ReplyBody, Representation, Resource, Rows,
    Settings, Step, Stored, Task,
};
use feedsync_bitsy::location::Location;

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
    pub(crate) interceptor: Interceptor,
    pub(crate) disk: Disk,
    pub(crate) in_progress: Vec<Task>,
    settings: Settings,
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

impl Gateway {
    pub(crate) fn new(settings: Settings) -> Self {
        let interceptor = Interceptor::new(settings);
        Self { interceptor, disk: Disk::default(), in_progress: Vec::new(), settings }
    }

    /// Writes a step, unless it is empty.
    pub(crate) fn write(&mut self, step: &Step) {
        if !step.changes.is_empty() {
            self.disk.write(step);
        }
        if step.is_durable {
            self.interceptor.synced();
        }
    }

    /// Makes all written data durable.
    pub(crate) fn sync(&mut self) {
        self.disk.write(&Step { is_durable: true, ..Step::default() });
        self.interceptor.synced();
    }

    /// Ends the process and begins another. `kept` is the number of unsynchronised steps that survive a power
    /// cut, or none if only the process ended.
    pub(crate) fn crash(&mut self, kept: Option<usize>) {
        if let Some(kept) = kept {
            self.disk.cut(kept);
        }
        self.interceptor = Interceptor::restored(self.settings, self.disk.now.rows.clone());
        self.in_progress.clear();
        self.sweep();
    }

    /// Deletes contents that are not needed.
    pub(crate) fn sweep(&self) {
        let mut needed: BTreeSet<_> = self.interceptor.needed().collect();
        let written = [&self.disk.now, &self.disk.synced];
        let stored = written.iter().flat_map(|written| written.representations.values());
        needed.extend(stored.map(|it| it.content.digest));
        // Contents of the state after a power cut are needed, too.
        for written in written {
            let again = Interceptor::restored(self.settings, written.rows.clone());
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
