//! Random writes of a small database with a history, and a model of its states.

mod edits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::{Attachment, DatabaseName, DocumentId};

use self::edits::{
    Added, CONFLICT, DELETE, EDIT, LONG, Planned, RESOLVE, attachment, content, decide, requests,
};
use super::history::{State, state_at};
use crate::conformance::{TestEnvironment, wait};
use crate::{
    ChangeNumber, Database, DatabaseChange, Databases, DatabasesExt as _, DocumentWrite,
    Environment as _, History, Moment, SelectBodies, StoredBody, StoredDocument, WriteOrigin,
};

pub use self::edits::Random;

/// Writes of a database, and the states that they leave.
pub struct Schedule {
    pub(super) random: Random,
    /// Numbers for the checks, which change nothing.
    checks: Random,
    environment: Arc<TestEnvironment>,
    pub(super) name: DatabaseName,
    /// Whether a history may be switched on.
    may_keep: bool,
    is_kept: bool,
    /// The present state.
    current: State,
    /// The states after each write, by their moments, while a history is kept.
    past: BTreeMap<Moment, State>,
    /// The oldest moment that is known.
    since: Option<Moment>,
    count: u64,
}

impl Schedule {
    /// The schedule of a seed.
    pub fn new(seed: u64, environment: Arc<TestEnvironment>) -> Self {
        let name = format!("schedule/{seed}").parse().expect("a name");
        let (random, checks) = (Random::new(seed), Random::new(!seed));
        let (current, past) = (State::new(), BTreeMap::new());
        let (may_keep, is_kept, since, count) = (true, false, None, 0);
        Self { random, checks, environment, name, may_keep, is_kept, current, past, since, count }
    }

    /// Ids of the documents.
    pub(super) fn ids() -> Vec<DocumentId> {
        let long = "l".repeat(1_100);
        let ids = ["a", "B", "a/\u{e4}", "\u{1f600}\0", &long, &format!("{long}x")];
        ids.map(|id| id.parse().expect("an id")).to_vec()
    }

    /// Creates the database, and keeps its history after the first writes.
    pub fn create(&mut self, store: &(impl Databases + ?Sized)) {
        wait(store.create_database(&self.name, Default::default()))
            .expect("it is made")
            .expect("a database");
        let change = DatabaseChange { revisions_kept: Some(4), ..DatabaseChange::default() };
        self.change(store, change);
        // Some documents are older than the history.
        (0..2).for_each(|_| self.write(store));
        self.keep(store, Some(60));
    }

    /// Never keeps a history.
    pub(super) fn never_keep(&mut self) {
        self.may_keep = false;
    }

    fn database(&self, store: &(impl Databases + ?Sized)) -> Database {
        wait(store.database(&self.name)).expect("it can be read").expect("a database")
    }

    fn change(&self, store: &(impl Databases + ?Sized), change: DatabaseChange) -> Database {
        let epoch = self.database(store).epoch;
        wait(store.change_database(&self.name, epoch, change)).expect("it is changed")
    }

    pub(super) fn remove(&self, store: &(impl Databases + ?Sized)) {
        let epoch = self.database(store).epoch;
        wait(store.drop_database(&self.name, epoch)).expect("it is dropped");
        while wait(store.sweep_databases()).expect("it is swept") {}
    }

    /// Keeps a history for so many seconds, or none.
    pub(super) fn keep(&mut self, store: &(impl Databases + ?Sized), seconds: Option<u64>) {
        self.tick();
        let history = match seconds {
            None => History::Off,
            Some(seconds) => History::Kept { seconds },
        };
        let history = Some(history).filter(|_| self.may_keep || seconds.is_none());
        let change = DatabaseChange { history, ..DatabaseChange::default() };
        let after = self.change(store, change);
        let was_kept = std::mem::replace(&mut self.is_kept, self.may_keep && seconds.is_some());
        match (was_kept, self.is_kept) {
            (false, true) => {
                self.since = after.past.since;
                assert!(self.since >= Some(self.environment.now()), "it begins now");
                let since = self.since.expect("it is kept");
                self.past = BTreeMap::from([(since, self.current.clone())]);
            }
            (_, false) => (self.since, self.past) = (None, BTreeMap::new()),
            (true, true) => assert_eq!(after.past.since, self.since),
        }
    }

    /// Sets the clock: mostly forwards, sometimes not, and sometimes a little back.
    fn tick(&mut self) {
        let now = self.environment.now().micros();
        let next = match self.random.below(6) {
            0 => now,
            1 => now - self.random.below(3),
            _ => now + self.random.below(9),
        };
        self.environment.set(Moment::from_micros(next));
    }

    /// Carries out a random operation.
    pub fn step(&mut self, store: &(impl Databases + ?Sized)) {
        self.tick();
        match self.random.below(21) {
            0 => self.purge(store),
            1 | 2 => self.compact(store),
            3 => self.expire(store),
            4 => drop(wait(store.sweep_attachments(Some(&self.name), Moment::MAX))),
            5 if self.random.below(4) == 0 => self.keep(store, None),
            5 | 6 => self.keep(store, Some(60)),
            7 => self.lose_everything(store),
            8 => self.drop_or_undrop(store),
            _ => self.write(store),
        }
        self.check(store, 3);
    }

    /// Drops the database, which is kept if it has a history, or brings it back.
    fn drop_or_undrop(&mut self, store: &(impl Databases + ?Sized)) {
        let before = self.database(store);
        let (name, epoch) = (&before.name, before.epoch);
        let now = match &before.dropped {
            Some(dropped) => {
                assert!(
                    wait(store.undrop_database(name, epoch)).expect("it is there"),
                    "it is free"
                );
                let now = wait(store.database(&dropped.name)).expect("it can be read");
                now.expect("it is back")
            }
            None if !before.is_kept_when_dropped() => return,
            None => {
                let dropped = store.drop_and_keep_database(name, epoch, None);
                assert!(wait(dropped).expect("it is dropped"), "it is kept");
                let kept = wait(store.dropped_databases(Some(name))).expect("they can be read");
                kept.into_iter().next().expect("it is kept")
            }
        };
        assert_eq!(wait(store.database(name)).expect("it can be read"), None);
        let Database { name, named, dropped, .. } = now.clone();
        self.name = name.clone();
        assert_eq!(now, Database { name, named, dropped, ..before });
    }

    /// A client deletes or overwrites all documents, in one or several transactions, and the database is compacted.
    pub fn lose_everything(&mut self, store: &(impl Databases + ?Sized)) {
        let (edit, pieces) = (self.random.below(3), 1 + self.random.below(3) as usize);
        for ids in Self::ids().chunks(6 / pieces) {
            self.tick();
            let edit = [EDIT, DELETE, LONG][edit as usize];
            let planned = ids.iter().map(|id| self.planned(id.clone(), edit)).collect();
            self.apply(store, planned);
        }
        self.compact(store);
        wait(store.sweep_attachments(Some(&self.name), Moment::MAX)).expect("they are swept");
    }

    fn planned(&mut self, id: DocumentId, edit: u64) -> Planned {
        self.count += 1;
        let digits = (0..4).map(|_| self.random.below(3)).collect();
        let attachments = (0..self.random.below(3)).map(|_| attachment(self.random.below(4)));
        let attachments: Vec<Attachment> = attachments.collect();
        let text = format!("{{\"n\":{},\"u\":\"\\u00e4\"}}", self.count);
        Planned {
            id,
            edit,
            digits,
            body: StoredBody { text: text.into(), attachments: attachments.into() },
        }
    }

    /// Writes some documents.
    pub fn write(&mut self, store: &(impl Databases + ?Sized)) {
        let ids = Self::ids();
        let planned = (0..1 + self.random.below(4)).map(|_| {
            let id = ids[self.random.below(ids.len() as u64) as usize].clone();
            let edit = [EDIT, EDIT, EDIT, DELETE, CONFLICT, CONFLICT, RESOLVE, LONG];
            let edit = edit[self.random.below(8) as usize];
            self.planned(id, edit)
        });
        let planned: Vec<Planned> = planned.collect();
        self.apply(store, planned);
    }

    fn apply(&mut self, store: &(impl Databases + ?Sized), planned: Vec<Planned>) {
        for named in planned.iter().flat_map(|planned| &*planned.body.attachments) {
            let bytes = content(&named.name);
            let put = store.put_attachment(&self.name, &named.digest, bytes);
            assert!(wait(put).expect("it is stored"));
        }
        let author: Option<Arc<str>> = [None, Some("anna".into()), Some("b\u{f6}b".into())]
            [self.random.below(3) as usize]
            .clone();
        let by = author.clone();
        let (database, added) =
            wait(store.decide_documents(&self.name, requests(), move |snapshot| {
                decide(snapshot, &planned, author.clone())
            }))
            .expect("they are written");
        self.follow(store, &database, &added, by);
    }

    /// Notes the state after a write.
    fn follow(
        &mut self,
        store: &(impl Databases + ?Sized),
        database: &Database,
        added: &[Added],
        author: Option<Arc<str>>,
    ) {
        let moment = database.past.last;
        let written = self.is_kept.then_some(WriteOrigin { moment, author });
        let mut next = State::new();
        for document in self.documents(store) {
            let before = self.current.get(&document.id);
            let leaves = document.tree.leaves().into_iter().map(|leaf| {
                let new = added
                    .iter()
                    .rev()
                    .find(|(id, revision, _)| (id, revision) == (&document.id, leaf.revision));
                let new = new.map(|(_, _, body)| body.clone());
                let state = match new {
                    Some(body) => (leaf.content.is_deleted, body, written.clone()),
                    None => before.expect("it was there")[leaf.revision].clone(),
                };
                (leaf.revision.clone(), state)
            });
            next.insert(document.id.clone(), leaves.collect());
        }
        let is_same = added.is_empty() && next == self.current;
        self.current = next;
        if self.is_kept && !is_same {
            let last = self.past.keys().next_back().copied();
            assert!(last < Some(moment), "moments increase");
            self.past.insert(moment, self.current.clone());
        }
    }

    fn documents(&self, store: &(impl Databases + ?Sized)) -> Vec<StoredDocument> {
        let nothing: SelectBodies = Box::new(|_: &StoredDocument| Vec::new());
        let page =
            store.document_changes(&self.name, ChangeNumber::ZERO, 99, None, nothing, 1 << 30);
        let documents = wait(page).expect("it can be read").documents;
        documents.into_iter().map(|loaded| loaded.document).collect()
    }

    /// Purges the winner of a document: all earlier states lose the leaves of the document that are not there now.
    fn purge(&mut self, store: &(impl Databases + ?Sized)) {
        let ids = Self::ids();
        let id = ids[self.random.below(ids.len() as u64) as usize].clone();
        let purged = id.clone();
        let (database, is_purged) =
            wait(store.decide_documents(&self.name, requests(), move |snapshot| {
                let mut tree = snapshot.document(&purged).expect("it is requested").tree.clone();
                let Some(winner) = tree.winner().map(|leaf| leaf.revision.clone()) else {
                    return (Vec::new(), false);
                };
                tree.purge(&[winner]);
                let (id, kind, bodies, author) = (purged.clone(), None, Vec::new(), None);
                let is_change = !tree.is_empty();
                (
                    vec![DocumentWrite {
                        id,
                        tree,
                        is_change,
                        kind,
                        bodies,
                        is_purge: true,
                        author,
                    }],
                    true,
                )
            }))
            .expect("it is purged");
        if !is_purged {
            return;
        }
        self.follow(store, &database, &[], None);
        let present = self.current.get(&id).cloned().unwrap_or_default();
        for state in self.past.values_mut() {
            let Some(leaves) = state.get_mut(&id) else { continue };
            leaves.retain(|revision, leaf| present.get(revision) == Some(leaf));
            if leaves.is_empty() {
                state.remove(&id);
            }
        }
    }

    fn compact(&mut self, store: &(impl Databases + ?Sized)) {
        let most = 1 + self.random.below(6) as usize;
        let mut after = None;
        loop {
            let done = wait(store.compact_documents(&self.name, after.as_ref(), most));
            after = done.expect("it is compacted");
            if after.is_none() {
                return;
            }
        }
    }

    /// Removes what ended before one of the noted moments.
    fn expire(&mut self, store: &(impl Databases + ?Sized)) {
        let (place, is_whole) = (self.random.below(1 << 32), self.random.below(2) == 0);
        let moments: Vec<Moment> = self.past.keys().copied().collect();
        let Some(last) = moments.len().checked_sub(1) else { return };
        let before = moments[(place % (1 + last as u64 / 3)) as usize];
        // A database that was dropped by then is removed. Outside of these tests, nobody writes to it after the drop.
        if self.database(store).dropped.is_some_and(|dropped| dropped.moment <= before) {
            return;
        }
        loop {
            let more = wait(store.expire_history(&self.name, before, 2)).expect("it expires");
            // States after the moment are known between the pieces too.
            self.since = self.since.max(Some(before));
            self.check(store, 1);
            if !more || !is_whole {
                return;
            }
        }
    }

    /// The last noted state, with its moment.
    pub fn last_state(&self) -> Option<(Moment, &State)> {
        self.past.last_key_value().map(|(moment, state)| (*moment, state))
    }

    /// Compares states with the noted ones, at up to a number of moments.
    pub fn check(&mut self, store: &(impl Databases + ?Sized), most: usize) {
        let database = self.database(store);
        assert_eq!(database.past.since, self.since);
        let mut moments: Vec<Moment> = self.past.keys().copied().collect();
        moments.extend(self.past.keys().flat_map(|it| [it.previous(), it.next()]));
        moments.push(Moment::MAX);
        while moments.len() > most {
            moments.swap_remove(self.checks.below(moments.len() as u64) as usize);
        }
        let nothing = State::new();
        for moment in moments {
            let limits = (1 + self.checks.below(7) as usize, 1 << self.checks.below(12));
            let found = state_at(store, &self.name, moment, limits);
            if self.since.is_none_or(|since| moment < since) {
                assert_eq!(found, Err(self.since));
                continue;
            }
            let expected = self.past.range(..=moment).next_back();
            let expected = expected.map_or(&nothing, |(_, state)| state);
            let found = found.expect("it is known");
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (id, leaves) in &found {
                assert_eq!(leaves, &expected[id], "{} at {moment:?}", self.name);
            }
            self.attachments_are_stored(store, &found);
        }
    }

    fn attachments_are_stored(&self, store: &(impl Databases + ?Sized), state: &State) {
        let leaves = state.values().flat_map(BTreeMap::values);
        let named: BTreeSet<_> = leaves
            .flat_map(|(_, body, _)| body.attachments.iter())
            .map(|attachment| (&attachment.digest, &attachment.name))
            .collect();
        for (digest, name) in named {
            let stored = wait(store.attachment(&self.name, digest)).expect("it can be read");
            assert_eq!(stored, Some(content(name)), "{name}");
        }
    }

    /// Number of bytes of all bodies that trees name.
    pub(super) fn bytes_of_trees(&self, store: &(impl Databases + ?Sized)) -> u64 {
        let documents = self.documents(store);
        let bodies = documents.iter().flat_map(|document| document.tree.bodies());
        bodies.map(|(_, content)| content.body.whole()).sum()
    }

    /// After a sweep, an attachment is stored if a stored body names it.
    pub(super) fn only_named_attachments_are_stored(&self, store: &(impl Databases + ?Sized)) {
        for number in 0..4 {
            let digest = attachment(number).digest;
            let stored = wait(store.attachment(&self.name, &digest)).expect("it can be read");
            let named = store.is_attachment_referenced(&self.name, &digest);
            assert_eq!(stored.is_some(), wait(named).expect("it can be read"));
        }
    }

    /// Everything that the methods of a database read now, without its counts of bytes.
    pub(super) fn present(&self, store: &(impl Databases + ?Sized)) -> Vec<String> {
        let kept: SelectBodies = Box::new(|document: &StoredDocument| {
            document.tree.bodies().map(|(revision, _)| revision.clone()).collect()
        });
        let page = store.document_changes(&self.name, ChangeNumber::ZERO, 99, None, kept, 1 << 30);
        let page = wait(page).expect("it can be read");
        let Database { last, documents, deleted, purges, bytes, superseded, .. } = page.database;
        let mut said: Vec<String> = page.documents.iter().map(|it| format!("{it:?}")).collect();
        for number in 0..4 {
            let digest = attachment(number).digest;
            let named = wait(store.is_attachment_referenced(&self.name, &digest));
            said.push(format!("{number} {:?}", named.expect("it can be read")));
        }
        said.push(format!("{last} {documents} {deleted} {purges} {}", bytes - superseded));
        said
    }
}
