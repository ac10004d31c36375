//! Histories of databases: what a store reads at a past moment equals the state that a model noted at that moment.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use feedsync_couch::{DatabaseName, DocumentId, Revision};

use super::schedule::{Random, Schedule};
use crate::conformance::{Constructor, TestEnvironment, wait};
use crate::{
    DatabaseChange, Databases, Environment as _, History, Moment, PastPage, PastRange, StoredBody,
    WriteOrigin,
};

/// A leaf: whether the document is deleted in it, its body, and the write that made it.
pub type LeafState = (bool, StoredBody, Option<WriteOrigin>);

/// The leaves of the documents of a database. A document without leaves does not occur.
pub type State = BTreeMap<DocumentId, BTreeMap<Revision, LeafState>>;

/// The seeds of schedules: so many, or `FEEDSYNC_SCHEDULES`, or the single one `FEEDSYNC_SEED`.
fn seeds(schedules: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, schedules_wanted) => 0..schedules_wanted.unwrap_or(schedules),
    }
}

/// Reads the state of a moment, in pages of these numbers of documents and bytes. `Err` states the oldest known moment.
pub fn state_at(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    moment: Moment,
    (most, most_bytes): (usize, u64),
) -> Result<State, Option<Moment>> {
    let (mut state, mut after) = (State::new(), None);
    loop {
        let range = PastRange::After { after, most };
        let page = wait(store.documents_at(name, moment, range, most_bytes));
        let (documents, last) = match page.expect("it can be read") {
            PastPage::Unknown { since } => return Err(since),
            PastPage::Known { documents, last, .. } => (documents, last),
        };
        assert!(documents.len() <= most, "a page is limited");
        for document in documents {
            let rank = |at: usize| {
                document.leaves.get(at).map(|leaf| (!leaf.is_deleted, leaf.revision.clone()))
            };
            assert!((1..document.leaves.len()).all(|at| rank(at - 1) > rank(at)), "winners first");
            let leaves = document.leaves.into_iter();
            let leaves: BTreeMap<_, _> = leaves
                .map(|leaf| (leaf.revision, (leaf.is_deleted, leaf.body, leaf.written)))
                .collect();
            if !leaves.is_empty() {
                assert!(state.insert(document.document.id, leaves).is_none(), "each once");
            }
        }
        if last.is_none() {
            return Ok(state);
        }
        after = last;
    }
}

/// Any writes, purges, compactions, expiries and sweeps leave the states of the kept moments as they were. In the end, a
/// client deletes or overwrites everything.
pub fn past_states_equal_the_states_of_a_model(open: Constructor<impl Databases + ?Sized>) {
    let environment = Arc::new(TestEnvironment::new(7));
    let fixture = open(Arc::<TestEnvironment>::clone(&environment));
    for seed in seeds(40) {
        let mut schedule = Schedule::new(seed, Arc::clone(&environment));
        schedule.create(&*fixture.store);
        let steps = 5 + schedule.random.below(20);
        for _ in 0..steps {
            schedule.step(&*fixture.store);
        }
        schedule.lose_everything(&*fixture.store);
        schedule.check(&*fixture.store, usize::MAX);
        schedule.remove(&*fixture.store);
    }
}

/// A history changes nothing that the other methods read: a database with one and a database without one have the same
/// trees, bodies and changes after the same writes.
pub fn other_reads_do_not_see_the_history(open: Constructor<impl Databases + ?Sized>) {
    let present = [false, true].map(|has_history| {
        let environment = Arc::new(TestEnvironment::new(7));
        let fixture = open(Arc::<TestEnvironment>::clone(&environment));
        let mut said = Vec::new();
        for seed in seeds(8) {
            let mut schedule = Schedule::new(seed, Arc::clone(&environment));
            if !has_history {
                schedule.never_keep();
            }
            schedule.create(&*fixture.store);
            for _ in 0..25 {
                schedule.step(&*fixture.store);
                said.extend(schedule.present(&*fixture.store));
            }
            schedule.remove(&*fixture.store);
        }
        said
    });
    let [without, with] = present;
    without.iter().zip(&with).for_each(|(one, other)| assert_eq!(one, other));
    assert_eq!(without.len(), with.len());
}

/// Ended revisions are listed with the writes that made and ended them, the last one that ended first, of one document or
/// of all, in pages.
pub fn ended_revisions_are_listed_newest_first(open: Constructor<impl Databases + ?Sized>) {
    let environment = Arc::new(TestEnvironment::new(7));
    let fixture = open(Arc::<TestEnvironment>::clone(&environment));
    let store = &*fixture.store;
    for seed in seeds(5) {
        let mut schedule = Schedule::new(seed, Arc::clone(&environment));
        schedule.create(store);
        (0..25).for_each(|_| schedule.step(store));
        let name = schedule.name.clone();
        let all = wait(store.ended_revisions(&name, None, None, 999)).expect("it can be read");
        assert!(all.is_sorted_by(|one, other| one.position() > other.position()));
        let mut random = Random::new(seed);
        let (mut paged, mut before) = (Vec::new(), None);
        loop {
            let most = 1 + random.below(3) as usize;
            let page = wait(store.ended_revisions(&name, None, before, most));
            let page = page.expect("it can be read");
            let Some(last) = page.last() else { break };
            before = Some(last.position());
            paged.extend(page);
        }
        assert_eq!(paged, all);
        for id in Schedule::ids() {
            let of = wait(store.ended_revisions(&name, Some(&id), None, 999));
            let mut expected = all.clone();
            expected.retain(|row| row.id == id);
            assert_eq!(of.expect("it can be read"), expected);
        }
        // Each row is a leaf that was there until it ended.
        let moments = |moment: Moment| {
            let state = state_at(store, &name, moment, (99, u64::MAX));
            state.ok()
        };
        for row in &all {
            let leaf = |state: &State| state.get(&row.id)?.get(&row.revision).cloned();
            let was = moments(row.ended.moment.previous()).map(|state| leaf(&state));
            if let Some(was) = was {
                let (is_deleted, _, written) = was.expect("it was there");
                assert_eq!((is_deleted, &written), (row.content.is_deleted, &row.written));
            }
            let is = moments(row.ended.moment).expect("it is known");
            assert!(leaf(&is).is_none_or(|(_, _, written)| written != row.written));
        }
        schedule.remove(store);
    }
}

/// A history that is switched off is removed in pieces, with everything that only it kept. The bytes that a database
/// counts are those that it had without a history.
pub fn a_history_that_is_switched_off_is_removed(open: Constructor<impl Databases + ?Sized>) {
    let environment = Arc::new(TestEnvironment::new(7));
    let fixture = open(Arc::<TestEnvironment>::clone(&environment));
    let store = &*fixture.store;
    for seed in seeds(8) {
        let mut schedule = Schedule::new(seed, Arc::clone(&environment));
        schedule.create(store);
        (0..25).for_each(|_| schedule.step(store));
        let name = schedule.name.clone();
        schedule.keep(store, None);
        assert_eq!(state_at(store, &name, Moment::MAX, (9, 9)), Err(None));
        assert_eq!(wait(store.ended_revisions(&name, None, None, 9)).expect("a page"), []);
        while wait(store.expire_history(&name, Moment::from_micros(0), 2)).expect("it expires") {}
        let after = wait(store.database(&name)).expect("it can be read").expect("a database");
        assert_eq!(after.past.bytes, 0);
        let trees = schedule.bytes_of_trees(store);
        assert_eq!(after.bytes, trees);
        // Names of users are part of what only the history kept.
        for id in Schedule::ids() {
            assert_eq!(wait(store.leaf_origins(&name, &id)).expect("the leaves"), []);
        }
        wait(store.sweep_attachments(Some(&name), Moment::MAX)).expect("they are swept");
        schedule.only_named_attachments_are_stored(store);
        schedule.remove(store);
    }
}

/// If a history was switched on while the clock was ahead, the first write or expiry after the clock is set back begins it
/// again: the state before that is known, and an expiry removes nothing that ended since then.
pub fn the_oldest_known_moment_follows_a_clock_that_is_set_back(
    open: Constructor<impl Databases + ?Sized>,
) {
    let environment = Arc::new(TestEnvironment::new(7));
    let fixture = open(Arc::<TestEnvironment>::clone(&environment));
    let store = &*fixture.store;
    for seed in 0..10 {
        let right = environment.now();
        let ahead = Moment::from_micros(right.micros() + 100_000_000_000);
        environment.set(ahead);
        let mut schedule = Schedule::new(seed, Arc::clone(&environment));
        // The model has no moments in the wrong order.
        schedule.never_keep();
        schedule.create(store);
        schedule.lose_everything(store);
        let name = schedule.name.clone();
        let database =
            || wait(store.database(&name)).expect("it can be read").expect("it is there");
        let state = |moment| state_at(store, &name, moment, (9, u64::MAX));
        let expire = |before| wait(store.expire_history(&name, before, 2)).expect("it expires");
        let ended = || wait(store.ended_revisions(&name, None, None, 999)).expect("a page");
        let history = Some(History::Kept { seconds: 60 });
        let change = DatabaseChange { history, ..DatabaseChange::default() };
        wait(store.change_database(&name, database().epoch, change)).expect("it is changed");
        let before = state(Moment::MAX).expect("the present is known");

        environment.set(right);
        let since = database().past.since;
        assert!(since.is_some_and(|since| since.is_ahead_of(right)));
        assert_eq!(state(right), Err(since));
        match seed % 2 {
            0 => schedule.lose_everything(store),
            _ => assert!(!expire(Moment::from_micros(0))),
        }
        let since = database().past.since.expect("a history is kept");
        assert!(since <= environment.now());
        assert_eq!(state(since).as_ref(), Ok(&before));
        schedule.lose_everything(store);
        let kept = ended();
        assert!(!kept.is_empty());
        while expire(since) {}
        assert_eq!(ended(), kept);
        assert_eq!(state(since), Ok(before));
        schedule.remove(store);
    }
}
