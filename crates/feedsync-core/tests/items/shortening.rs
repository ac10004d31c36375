//! Items with many edits stay small, keep their coverage, and are accepted by every peer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use feedsync_core::{
    Base, By, Creation, Edit, EditError, History, Incorporation, Item, ItemId, Keep, LINE_WINDOW,
    MAX_CONFLICTS, MAX_INCOMING_UPDATES, MAX_LONE_UPDATES, MAX_UPDATES, Refusal, Resolution,
    Resolved, Sequence, Stamp, Timestamp, Update, Updates, Version, incorporate, line,
};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};

fn by(name: &str) -> By {
    By::new(name).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_700_000_000 + second).unwrap()
}

fn update(sequence: u32, name: &str) -> Update {
    Update::signed(Sequence::new(sequence).unwrap(), at(sequence.into()), by(name))
}

fn item(updates: u32, history: Vec<Update>) -> Item<u32> {
    let winner = Version {
        updates: Updates::new(updates).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(history).unwrap(),
        payload: updates,
    };
    Item { id: ItemId::new("item").unwrap(), winner, conflicts: Vec::new() }
}

fn length<P>(item: &Item<P>) -> usize {
    item.versions().map(|version| version.history.updates().len()).sum()
}

/// The item of an endpoint after it incorporated another copy.
fn taken<P: Clone>(local: Option<&Item<P>>, incoming: &Item<P>) -> Option<Item<P>> {
    match incorporate(local, None, incoming.clone()) {
        Incorporation::Added(item)
        | Incorporation::Updated(item)
        | Incorporation::Conflict(item) => Some(item),
        Incorporation::Unchanged => None,
        Incorporation::Refused(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn f90_r_f15_shortening_changes_no_coverage_and_causes_no_news() {
    for seed in 0..2_000 {
        let mut random = SmallRng::seed_from_u64(seed);
        let lines = random.random_range(1..20);
        let count = random.random_range(1..300);
        let mut history: Vec<Update> = (0..count)
            .map(|_| {
                let line = random.random_range(0..lines);
                match random.random_range(0..30) {
                    0 => Update::new(Sequence::new(line + 1).unwrap(), Some(at(line.into())), None)
                        .unwrap(),
                    _ => update(random.random_range(1..400), &format!("e{line}")),
                }
            })
            .collect();
        history.shuffle(&mut random);
        let full = item(random.random_range(1..400), history);
        let mut short = full.clone();
        short.shorten_histories();
        let (a, b) = (&full.winner.history, &short.winner.history);
        assert!(a.covers_all(b) && b.covers_all(a), "seed {seed}");
        assert_eq!(full.winner.dot(), short.winner.dot(), "seed {seed}");
        for line in 0..lines {
            let line = by(&format!("e{line}"));
            let kept = b.updates().iter().filter(|it| it.by() == Some(&line)).count();
            assert!(kept <= LINE_WINDOW + 1, "seed {seed}: {kept}");
        }
        assert_eq!(taken(Some(&full), &short), None, "seed {seed}");
        assert_eq!(taken(Some(&short), &full), None, "seed {seed}");
        let again = short.clone();
        short.shorten_histories();
        assert_eq!(short, again, "seed {seed}");
    }
}

/// Endpoints know different revisions of one version, more than a history keeps.
#[test]
fn shortened_histories_do_not_depend_on_the_order_of_merging() {
    let revision = |generation: u32| {
        let sequence = Sequence::new(generation).unwrap();
        Update::new(sequence, None, Some(by(&format!("couch.{generation}-x")))).unwrap()
    };
    let told = |generations: &[u32]| {
        let dot = Update::signed(Sequence::new(5_000).unwrap(), at(0), by("couch.5000-x"));
        let updates = generations.iter().map(|&it| revision(it));
        item(5_000, std::iter::once(dot).chain(updates).collect())
    };
    let mut random = SmallRng::seed_from_u64(1);
    let parts: Vec<Item<u32>> = (0..3)
        .map(|_| {
            let some: Vec<u32> = (1..5_000).filter(|_| random.random_bool(0.4)).collect();
            told(&some)
        })
        .collect();
    let mut ends: Vec<BTreeSet<String>> = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut local = None;
        for at in order {
            local = taken(local.as_ref(), &parts[at]).or(local);
        }
        let local = local.unwrap();
        assert_eq!(length(&local), MAX_LONE_UPDATES + 1);
        for part in &parts {
            assert_eq!(taken(Some(&local), part), None, "{order:?}");
        }
        let names = local.winner.history.updates().iter();
        ends.push(names.map(|it| it.by().unwrap().to_string()).collect());
    }
    assert!(ends.iter().all(|end| *end == ends[0]));
}

/// Other endpoints fill an item with lines of their own.
#[test]
fn an_item_full_of_foreign_lines_takes_edits_that_peers_accept() {
    for sequence in [1, MAX_INCOMING_UPDATES] {
        let lines = (0..2 * MAX_UPDATES).map(|number| update(sequence, &format!("l{number}")));
        let mut ours = taken(None, &item(5, lines.collect())).unwrap();
        let mut peer = ours.clone();
        assert_eq!(length(&ours), MAX_UPDATES);
        for edit in 0..4 {
            let change = if edit == 3 { Edit::delete() } else { edit.into() };
            let name = ["ann", "bob"][edit as usize % 2];
            ours.update(&Stamp::new(at(edit.into()), by(name)), change).unwrap();
            assert!(length(&ours) <= MAX_UPDATES);
            peer = taken(Some(&peer), &ours).unwrap();
            assert!(peer.conflicts.is_empty(), "the edit before it is known: {edit}");
            assert!(taken(None, &ours).is_some());
        }
    }
}

/// Each of the limits, and operations at the limit.
#[test]
fn r_f14_at_the_highest_counter_an_edit_is_refused_and_the_item_can_be_settled() {
    let last = MAX_INCOMING_UPDATES;
    let stamp = |second: i64| Stamp::new(at(second), by("me"));
    let full = item(last, vec![update(last, "a")]);
    let mut ours = full.clone();
    assert_eq!(ours.update(&stamp(1), 7.into()), Err(EditError::UpdatesExhausted));
    assert_eq!(ours.update(&stamp(1), Edit::undelete()), Err(EditError::UpdatesExhausted));
    let base = Base::from(&full.winner);
    let beside = full.clone().branch(base, &stamp(1), 7, false);
    assert_eq!(beside, Err(EditError::UpdatesExhausted));
    assert_eq!(ours, full, "nothing was changed");
    ours.update(&stamp(1), Edit::delete()).unwrap();
    let peer = taken(Some(&full), &ours).unwrap();
    assert!(peer.winner.deleted && peer.conflicts.is_empty());
    assert!(taken(None, &ours).is_some());

    let mut contested = full.clone();
    contested.conflicts.push(item(last, vec![update(last, "b")]).winner);
    let before = contested.clone();
    let keep = Keep::Content { payload: 9, deleted: None };
    contested.resolve(&stamp(2), Resolution { resolved: Resolved::All, keep }).unwrap();
    let peer = taken(Some(&before), &contested).unwrap();
    assert_eq!((peer.winner.payload, peer.conflicts.len()), (9, 0));
    assert!(taken(None, &contested).is_some());
}

#[test]
fn an_item_with_as_many_conflicts_as_there_may_be_can_be_edited_deleted_and_resolved() {
    let mut full = item(2, vec![update(2, "a"), update(1, "z")]);
    for number in 0..MAX_CONFLICTS {
        let history = (1..40).rev().map(|it| update(it, &format!("c{number}"))).collect();
        full.conflicts.push(Version { payload: number as u32, ..item(1, history).winner });
    }
    let local = taken(None, &full).unwrap();
    assert!(length(&local) <= MAX_UPDATES);
    let all = Resolution { resolved: Resolved::All, keep: Keep::Winner };
    let one = Resolution { resolved: Resolved::Some(vec![7]), keep: Keep::Conflict(7) };
    let stamp = Stamp::new(at(9), by("me"));
    type Step<'a> = &'a dyn Fn(&mut Item<u32>);
    let steps: [Step<'_>; 4] = [
        &|item| item.update(&stamp, 1.into()).unwrap(),
        &|item| item.update(&stamp, Edit::delete()).unwrap(),
        &|item| item.resolve(&stamp, one.clone()).unwrap(),
        &|item| item.resolve(&stamp, all.clone()).unwrap(),
    ];
    for (number, step) in steps.iter().enumerate() {
        let mut edited = local.clone();
        step(&mut edited);
        assert!(length(&edited) <= MAX_UPDATES);
        assert!(taken(None, &edited).is_some(), "a fresh peer takes step {number}");
        let peer = taken(Some(&local), &edited).expect("news");
        assert_eq!(peer.conflicts.len(), edited.conflicts.len(), "step {number}");
    }
    let base =
        Base { updates: Updates::FIRST, ..Base::from(&item(1, vec![update(1, "z")]).winner) };
    let beside = local.branch(base, &stamp, 3, false).unwrap();
    let conflicts = MAX_CONFLICTS + 1;
    assert_eq!(
        feedsync_core::check_bounds(&beside, None),
        Err(Refusal::TooManyConflicts { conflicts })
    );
}

/// A long-running endpoint: its item, its ledger, and a version that an editor opened.
struct Endpoint {
    name: By,
    item: Item<u32>,
    issued: BTreeMap<By, Sequence>,
    opened: Option<(u32, Base)>,
}

impl Endpoint {
    fn stamp(&self, second: i64, base: &[History]) -> Stamp {
        let issued = |by: &By| self.issued.get(by).copied();
        let (by, issued) = line::line_for(&self.name, issued, base).unwrap();
        Stamp::new(at(second), by).above(issued)
    }

    /// Records the version of this edit in the ledger.
    fn issue(&mut self, edit: u32) {
        let made = self.item.versions().find(|version| version.payload == edit).unwrap();
        self.issued.insert(made.dot().by().unwrap().clone(), made.dot().sequence());
    }
}

/// Three endpoints edit one item all the time, also based on old versions, and synchronize now and then.
#[test]
fn an_item_with_100_000_edits_stays_small_and_loses_none_of_them() {
    const EDITS: u32 = 100_000;
    let edits = if std::env::var_os("FEEDSYNC_LONG").is_some() { 10 * EDITS } else { EDITS };
    let mut random = SmallRng::seed_from_u64(22);
    let first = Stamp::new(at(0), by("e0.x"));
    let id = ItemId::new("item").unwrap();
    let created = Item::create(id, Creation::default(), &first, 0).unwrap();
    let mut endpoints: Vec<Endpoint> = (0..3)
        .map(|number| Endpoint {
            name: by(&format!("e{number}.x")),
            item: created.clone(),
            issued: BTreeMap::new(),
            opened: None,
        })
        .collect();
    endpoints[0].issue(0);
    let mut open = BTreeSet::from([0]);
    let (mut longest, mut most_conflicts, mut lines) = (0, 0, BTreeSet::new());
    let mut times: Vec<Duration> = Vec::new();
    let mut edit = 0;
    let mut second = 0;
    while edit < edits {
        second += 1;
        let here = random.random_range(0..3);
        let at = &mut endpoints[here];
        let began = Instant::now();
        match random.random_range(0..20) {
            0..=2 => {
                let there = random.random_range(0..3);
                let incoming = endpoints[there].item.clone();
                let at = &mut endpoints[here];
                if let Some(item) = taken(Some(&at.item), &incoming) {
                    at.item = item;
                }
                continue;
            }
            3 => {
                at.opened = Some((at.item.winner.payload, Base::from(&at.item.winner)));
                continue;
            }
            4 if at.opened.is_some() => {
                let Some((seen, base)) = at.opened.take() else { continue };
                edit += 1;
                let stamp = at.stamp(second, std::slice::from_ref(&base.history));
                at.item = at.item.clone().branch(base, &stamp, edit, false).unwrap();
                open.remove(&seen);
            }
            5..=9 if !at.item.conflicts.is_empty() => {
                edit += 1;
                let before = at.item.clone();
                let resolved = match random.random_range(0..4) {
                    0 => Resolved::Some(vec![random.random_range(0..before.conflicts.len())]),
                    _ => Resolved::All,
                };
                let keep = Keep::Content { payload: edit, deleted: Some(random.random_bool(0.1)) };
                let resolution = Resolution { resolved, keep };
                let resolved_indices = before.resolved_indices(&resolution).unwrap();
                let folded: Vec<&Version<u32>> =
                    resolved_indices.iter().map(|&index| &before.conflicts[index]).collect();
                let base: Vec<History> = std::iter::once(&before.winner)
                    .chain(folded.iter().copied())
                    .map(|version| version.history.clone())
                    .collect();
                let stamp = at.stamp(second, &base);
                at.item.resolve(&stamp, resolution).unwrap();
                folded.iter().for_each(|it| at.item.winner.history.remember(&it.history));
                at.item.shorten_histories();
                open.remove(&before.winner.payload);
                for it in &folded {
                    open.remove(&it.payload);
                }
            }
            _ => {
                edit += 1;
                let winner = at.item.winner.clone();
                let stamp = at.stamp(second, std::slice::from_ref(&winner.history));
                let deleted = [None, None, None, Some(true), Some(false)].choose(&mut random);
                let change = Edit { payload: Some(edit), deleted: deleted.copied().flatten() };
                at.item.update(&stamp, change).unwrap();
                open.remove(&winner.payload);
            }
        }
        open.insert(edit);
        endpoints[here].issue(edit);
        times.push(began.elapsed());
        let item = &endpoints[here].item;
        longest = longest.max(length(item));
        most_conflicts = most_conflicts.max(item.conflicts.len());
        lines.extend(endpoints[here].issued.keys().cloned());
    }
    for _ in 0..2 {
        for here in 0..3 {
            for there in 0..3 {
                let incoming = endpoints[there].item.clone();
                if let Some(item) = taken(Some(&endpoints[here].item), &incoming) {
                    endpoints[here].item = item;
                }
            }
        }
    }
    for endpoint in &endpoints {
        let held: BTreeSet<u32> = endpoint.item.versions().map(|it| it.payload).collect();
        assert_eq!(held, open);
        assert_eq!(endpoint.item.winner.dot(), endpoints[0].item.winner.dot());
        assert_eq!(taken(Some(&endpoint.item), &endpoints[0].item), None, "nobody hears more");
    }
    let median = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let tenth = times.len() / 10;
    println!(
        "{edits} edits, {} lines, at most {most_conflicts} conflicts and {longest} updates in all histories of the \
         item; an edit took {:?} at first and {:?} at last (medians of a tenth)",
        lines.len(),
        median(&times[..tenth]),
        median(&times[times.len() - tenth..]),
    );
    assert!(lines.len() <= 3 * (most_conflicts + 2), "{lines:?}");
    assert!(longest <= (most_conflicts + 1) * lines.len() * LINE_WINDOW, "{longest}");
}
