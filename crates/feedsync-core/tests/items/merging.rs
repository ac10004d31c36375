//! Merge, clause by clause (3.3), and incorporation above it.

use feedsync_core::{
    By, DifferentItems, History, Incorporation, Item, ItemId, MAX_COUNTER, MAX_INCOMING_UPDATES,
    MAX_READ_UPDATES, MAX_UPDATES, Outcome, Refusal, Sequence, Timestamp, Update, Updates, Version,
    incorporate, incorporate_unbounded, merge,
};

type Entry<'a> = (u32, Option<&'a str>, Option<&'a str>);

fn update(&(sequence, when, by): &Entry<'_>) -> Update {
    Update::new(
        Sequence::new(sequence).unwrap(),
        when.map(|time| Timestamp::parse(&format!("2005-05-21T{time}:33Z")).unwrap()),
        by.map(|by| By::new(by).unwrap()),
    )
    .unwrap()
}

fn version(payload: &'static str, updates: u32, entries: &[Entry<'_>]) -> Version<&'static str> {
    Version {
        updates: Updates::new(updates).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(entries.iter().map(update).collect()).unwrap(),
        payload,
    }
}

fn item(winner: Version<&'static str>, conflicts: &[Version<&'static str>]) -> Item<&'static str> {
    Item { id: ItemId::new("item").unwrap(), winner, conflicts: conflicts.to_vec() }
}

fn simple(payload: &'static str, updates: u32, entries: &[Entry<'_>]) -> Item<&'static str> {
    item(version(payload, updates, entries), &[])
}

fn merged(
    local: &Item<&'static str>,
    incoming: &Item<&'static str>,
) -> (Vec<&'static str>, Outcome) {
    let (item, outcome) = merge(Some(local.clone()), incoming.clone()).unwrap();
    (item.versions().map(|version| version.payload).collect(), outcome)
}

const BASE: [Entry<'_>; 3] = [
    (3, Some("11:43"), Some("JEO2000")),
    (2, Some("10:43"), Some("REO1750")),
    (1, Some("09:43"), Some("REO1750")),
];

fn on_base(payload: &'static str, topmost: Entry<'_>) -> Item<&'static str> {
    let entries: Vec<_> = [topmost].into_iter().chain(BASE).collect();
    simple(payload, 4, &entries)
}

#[test]
fn f95_an_unknown_item_is_added_as_it_is_with_its_conflicts() {
    let incoming = item(
        version("winner", 2, &[(2, None, Some("a"))]),
        &[version("conflict", 2, &[(2, None, Some("b"))])],
    );
    let (result, outcome) = merge(None, incoming.clone()).unwrap();
    assert_eq!((result, outcome), (incoming, Outcome::Added));
}

#[test]
fn v14_v23_independent_updates_conflict_and_the_later_wins() {
    let gpm = on_base("DONE", (4, Some("12:43"), Some("GPM7383")));
    let jeo = on_base("rolls", (4, Some("12:03"), Some("JEO2000")));
    assert_eq!(merged(&gpm, &jeo), (vec!["DONE", "rolls"], Outcome::Conflict));
    assert_eq!(merged(&jeo, &gpm), (vec!["DONE", "rolls"], Outcome::Conflict));
}

#[test]
fn v13_t14_with_the_times_the_atom_example_prints_the_other_one_wins() {
    let gpm = on_base("DONE", (4, Some("12:43"), Some("GPM7383")));
    let jeo = on_base("rolls", (4, Some("12:43"), Some("JEO2000")));
    assert_eq!(merged(&gpm, &jeo).0, ["rolls", "DONE"]);
}

#[test]
fn f100_t1_identical_items_merge_to_one() {
    let both = on_base("same", (4, Some("12:43"), Some("GPM7383")));
    assert_eq!(merged(&both, &both), (vec!["same"], Outcome::Unchanged));
}

#[test]
fn f100_t1_the_winner_is_not_thrown_away_beside_its_own_plain_copy() {
    let g = version("G", 4, &[(4, Some("12:43"), Some("GPM7383"))]);
    let j = version("J", 4, &[(4, Some("12:03"), Some("JEO2000"))]);
    let with_conflict = item(g.clone(), std::slice::from_ref(&j));
    assert_eq!(merged(&with_conflict, &item(g, &[])), (vec!["G", "J"], Outcome::Unchanged));
}

#[test]
fn f100_t1_a_version_that_both_sides_hold_stays_once_beside_their_own() {
    let g = version("G", 4, &[(4, Some("12:43"), Some("GPM7383"))]);
    let j = version("J", 4, &[(4, Some("12:03"), Some("JEO2000"))]);
    let k = version("K", 4, &[(4, Some("12:23"), Some("KIM1000"))]);
    let of = |winner: &Version<&'static str>, conflicts: &[&Version<&'static str>]| {
        item(winner.clone(), &conflicts.iter().map(|it| (*it).clone()).collect::<Vec<_>>())
    };
    for (local, incoming, expected) in [
        // The winner on both sides, then a conflict on both, then the winner of one side as a conflict of the
        // other.
        (of(&g, &[&j]), of(&g, &[&k]), ["G", "J", "K"]),
        (of(&g, &[&j]), of(&k, &[&j]), ["G", "J", "K"]),
        (of(&k, &[&j]), of(&g, &[&k, &j]), ["G", "J", "K"]),
    ] {
        let (mut payloads, outcome) = merged(&local, &incoming);
        assert_eq!((payloads[0], outcome), ("G", Outcome::Conflict));
        payloads.sort_unstable();
        assert_eq!(payloads, expected);
    }
}

#[test]
fn reading_2_of_equal_stamps_the_incoming_data_is_kept() {
    let local = simple("local", 1, &[(1, Some("09:43"), Some("a"))]);
    let incoming = simple("incoming", 1, &[(1, Some("09:43"), Some("a"))]);
    assert_eq!(merged(&local, &incoming), (vec!["incoming"], Outcome::Updated));
}

#[test]
fn f105_only_the_topmost_of_one_side_is_looked_at_and_all_of_the_other() {
    let older = simple("older", 3, &BASE);
    let newer = on_base("newer", (4, Some("12:43"), Some("GPM7383")));
    assert_eq!(merged(&older, &newer), (vec!["newer"], Outcome::Updated));
    assert_eq!(merged(&newer, &older), (vec!["newer"], Outcome::Unchanged));
}

#[test]
fn f106_f108_subsumption_goes_by_line_and_sequence() {
    let subsumed = |x: Entry<'_>, y: Entry<'_>| update(&x).is_subsumed_by(&update(&y));
    let time = Some("09:43");
    assert!(subsumed((2, time, Some("a")), (2, None, Some("a"))));
    assert!(subsumed((2, time, Some("a")), (3, None, Some("a"))));
    assert!(!subsumed((3, time, Some("a")), (2, time, Some("a"))));
    assert!(!subsumed((2, time, Some("a")), (2, time, Some("A"))));
    assert!(!subsumed((2, time, Some("a")), (2, time, None)));
    assert!(!subsumed((2, time, None), (2, time, Some("a"))));
}

#[test]
fn f107_without_by_only_an_equal_stamp_subsumes() {
    let subsumed = |x: Entry<'_>, y: Entry<'_>| update(&x).is_subsumed_by(&update(&y));
    assert!(subsumed((2, Some("09:43"), None), (2, Some("09:43"), None)));
    assert!(!subsumed((2, Some("09:43"), None), (3, Some("09:43"), None)));
    assert!(!subsumed((2, Some("09:43"), None), (2, Some("09:44"), None)));
}

#[test]
fn f109_t4_winners_by_updates_then_when_then_by() {
    let beats = |x: (u32, Entry<'_>), y: (u32, Entry<'_>)| {
        version("x", x.0, &[x.1]).beats(&version("y", y.0, &[y.1]))
    };
    let (early, late) = (Some("09:43"), Some("10:43"));
    for (winner, loser) in [
        ((3, (1, early, Some("a"))), (2, (9, late, Some("b")))),
        ((2, (1, early, None)), (2, (1, None, Some("b")))),
        ((2, (1, late, Some("a"))), (2, (1, early, Some("b")))),
        ((2, (1, early, Some("a"))), (2, (1, early, None))),
        ((2, (1, early, Some("b"))), (2, (1, early, Some("a")))),
        ((2, (1, early, Some("a"))), (2, (1, early, Some("Z")))),
        ((2, (1, None, Some("b"))), (2, (1, None, Some("a")))),
    ] {
        assert!(beats(winner, loser), "{winner:?} {loser:?}");
        assert!(!beats(loser, winner), "{winner:?} {loser:?}");
    }
    // The sequence has no influence, and a full tie has no winner.
    assert!(!beats((2, (9, early, Some("a"))), (2, (1, early, Some("a")))));
    assert!(!beats((2, (1, early, Some("a"))), (2, (9, early, Some("a")))));
}

/// Names that differ in case or accents only, and names on both sides of U+FFFF. Dictionaries, locales or
/// UTF-16 would sort some of them differently from their code points.
const NAMES: [&str; 14] = [
    "A",
    "a",
    "B",
    "b",
    "Z",
    "z",
    "_",
    "i",
    "I",
    "\u{131}",
    "\u{e9}",
    "e\u{301}",
    "\u{ff5a}",
    "\u{1f600}",
];

/// The names as identifiers, which are percent-encoded and sort as their code points do.
fn named() -> Vec<By> {
    NAMES.iter().map(|name| By::encoded(name).unwrap()).collect()
}

#[test]
fn f15_t5_the_last_tie_is_broken_by_code_point() {
    assert!(By::encoded("\u{ff5a}").unwrap() < By::encoded("\u{1f600}").unwrap());
    for x in named() {
        for y in named() {
            let of = |by: &By| simple("", 2, &[(2, Some("09:43"), Some(by.as_str()))]);
            let is_greater = x.as_str().chars().gt(y.as_str().chars());
            assert_eq!(of(&x).winner.beats(&of(&y).winner), is_greater, "{x} {y}");
            let (item, outcome) = merge(Some(of(&x)), of(&y)).unwrap();
            let winner = if is_greater { &x } else { &y };
            assert_eq!(item.winner.dot().by(), Some(winner), "{x} {y}");
            assert_eq!(outcome == Outcome::Unchanged, x == y, "{x} {y}");
        }
    }
}

#[test]
fn f15_names_that_differ_in_case_or_accents_are_different_endpoints() {
    for x in named() {
        for y in named() {
            let of = |by: &By| simple("", 2, &[(2, Some("09:43"), Some(by.as_str()))]);
            let (one, other) = (of(&x), of(&y));
            let is_same = x.as_str() == y.as_str();
            assert_eq!(one.winner.is_subsumed_by(&other.winner), is_same, "{x} {y}");
            assert_eq!(one.highest(&y).is_some(), is_same, "{x} {y}");
            let (item, _) = merge(Some(one.clone()), other.clone()).unwrap();
            assert_eq!(item.conflicts.len(), usize::from(!is_same), "{x} {y}");
            // With conflicts on both sides many versions are compared at once.
            let third = version("third", 1, &[(1, Some("09:43"), Some("third"))]);
            let (one, other) =
                (item_of(&one, &third), item_of(&other, &version("", 1, &[(1, None, Some("4"))])));
            let (item, _) = merge(Some(one), other).unwrap();
            assert_eq!(item.conflicts.len(), 2 + usize::from(!is_same), "{x} {y}");
        }
    }
}

fn item_of(winner: &Item<&'static str>, conflict: &Version<&'static str>) -> Item<&'static str> {
    item(winner.winner.clone(), std::slice::from_ref(conflict))
}

#[test]
fn f102_losers_of_a_noconflicts_item_vanish() {
    let noconflicts = |payload, by| {
        let mut item = simple(payload, 2, &[(2, Some("09:43"), Some(by))]);
        item.winner.noconflicts = Some(true);
        item
    };
    let (a, b) = (noconflicts("a", "a"), noconflicts("b", "b"));
    assert_eq!(merged(&a, &b), (vec!["b"], Outcome::Updated));
    assert_eq!(merged(&b, &a), (vec!["b"], Outcome::Unchanged));
    // Two endpoints that poll each other reach a stable state.
    assert_eq!(incorporate(Some(&b), None, a), Incorporation::Unchanged);
}

#[test]
fn reading_6_noconflicts_of_the_winner_decides_and_of_nobody_else() {
    let marks = [None, Some(false), Some(true)];
    for (winners, losers) in marks.iter().flat_map(|one| marks.map(|other| (*one, other))) {
        let marked = |payload, noconflicts| {
            let mut item = simple(payload, 2, &[(2, Some("09:43"), Some(payload))]);
            item.winner.noconflicts = noconflicts;
            item
        };
        let (winner, loser) = (marked("w", winners), marked("l", losers));
        let third = version("c", 1, &[(1, None, Some("c"))]);
        let expected = if winners == Some(true) { vec!["w"] } else { vec!["w", "l"] };
        let context = format!("{winners:?} {losers:?}");
        assert_eq!(merged(&winner, &loser).0, expected, "{context}");
        assert_eq!(merged(&loser, &winner).0, expected, "{context}");
        let incorporated = match incorporate(Some(&loser), None, winner.clone()) {
            Incorporation::Updated(item) | Incorporation::Conflict(item) => item,
            other => panic!("{context}: {other:?}"),
        };
        assert_eq!(incorporated.versions().count(), expected.len(), "{context}");
        // The same with a conflict on either side.
        let with_third = if winners == Some(true) { 1 } else { 3 };
        let sides = [(&winner, &loser), (&loser, &winner)];
        for (local, incoming) in sides {
            assert_eq!(merged(&item_of(local, &third), incoming).0.len(), with_third, "{context}");
            assert_eq!(merged(local, &item_of(incoming, &third)).0.len(), with_third, "{context}");
        }
    }
}

#[test]
fn r_f12_a_noconflicts_item_with_conflicts_is_added_so_and_loses_them_in_a_merge() {
    let mut malformed = item(
        version("winner", 3, &[(3, None, Some("a"))]),
        &[version("conflict", 2, &[(2, None, Some("b"))])],
    );
    malformed.winner.noconflicts = Some(true);
    assert_eq!(merge(None, malformed.clone()).unwrap().0.conflicts.len(), 1);
    assert_eq!(merged(&malformed, &malformed), (vec!["winner"], Outcome::Updated));
}

#[test]
fn reading_7_conflicts_of_a_subsumed_item_survive_on_their_own() {
    let local = item(
        version("old", 2, &[(2, None, Some("a"))]),
        &[version("mine", 2, &[(2, None, Some("m"))])],
    );
    let incoming = simple("new", 3, &[(3, None, Some("a"))]);
    assert_eq!(merged(&local, &incoming), (vec!["new", "mine"], Outcome::Conflict));
}

#[test]
fn f46_items_of_different_ids_are_never_merged() {
    let a = simple("a", 1, &[(1, None, Some("a"))]);
    let mut b = a.clone();
    b.id = ItemId::new("other").unwrap();
    assert_eq!(merge(Some(a), b), Err(DifferentItems));
}

#[test]
fn a_conflict_of_a_tombstone_is_an_ordinary_conflict() {
    let edited = simple("edited", 2, &[(2, Some("10:43"), Some("a")), (1, None, Some("c"))]);
    let mut deleted = simple("old", 2, &[(2, Some("09:43"), Some("b")), (1, None, Some("c"))]);
    deleted.winner.deleted = true;
    let (merged, _) = merge(Some(deleted), edited).unwrap();
    assert!(!merged.winner.deleted && merged.conflicts[0].deleted);
}

#[test]
fn r_f13_t6_a_stamp_that_is_known_leaves_local_bytes_as_they_are() {
    let local = simple("<a/>", 1, &[(1, Some("09:43"), Some("a"))]);
    let incoming = simple("<a></a>", 1, &[(1, Some("09:43"), Some("a"))]);
    assert_eq!(incorporate(Some(&local), None, incoming), Incorporation::Unchanged);
}

#[test]
fn versions_covered_by_a_purged_item_do_not_return() {
    let tombstone = update(&(5, Some("09:43"), Some("a")));
    let purged = History::new(tombstone);
    let old = simple("old", 4, &[(4, Some("08:43"), Some("a"))]);
    assert_eq!(incorporate(None, Some(&purged), old.clone()), Incorporation::Unchanged);
    let mut fresh = simple("fresh", 5, &[(5, Some("10:43"), Some("b")), (4, None, Some("a"))]);
    fresh.conflicts = vec![old.winner];
    let Incorporation::Added(added) = incorporate(None, Some(&purged), fresh) else { panic!() };
    assert_eq!((added.winner.payload, added.conflicts.len()), ("fresh", 0));
}

#[test]
fn purged_versions_stay_gone_beside_a_later_version() {
    let purged = History::new(update(&(5, Some("09:43"), Some("a"))));
    let old = simple("old", 4, &[(4, Some("08:43"), Some("a"))]);
    let beside = simple("beside", 5, &[(5, Some("10:43"), Some("b"))]);
    let incorporated = |incoming| incorporate(Some(&beside), Some(&purged), incoming);
    assert_eq!(incorporated(old.clone()), Incorporation::Unchanged);
    let mut both = beside.clone();
    both.conflicts = vec![old.winner.clone()];
    assert_eq!(incorporated(both), Incorporation::Unchanged);
    // What supersedes a version that is here is news, whatever was purged.
    let recovered = simple("recovered", 3, &[(3, Some("07:43"), Some("a"))]);
    let incorporated = incorporate(Some(&recovered), Some(&purged), old.clone());
    assert_eq!(incorporated, Incorporation::Updated(old));
}

#[test]
fn updates_that_would_use_up_an_item_are_refused() {
    let limit = MAX_INCOMING_UPDATES;
    let at_limit = simple("x", limit, &[(1, None, Some("a"))]);
    assert!(matches!(incorporate(None, None, at_limit), Incorporation::Added(_)));
    let above = simple("x", limit + 1, &[(1, None, Some("a"))]);
    let refused = Incorporation::Refused(Refusal::UpdatesTooHigh { updates: limit + 1 });
    assert_eq!(incorporate(None, None, above), refused);
}

#[test]
fn a_merge_that_would_leave_300_conflicts_is_refused_and_256_are_not() {
    let with_conflicts = |prefix: &str, count: usize| {
        let mut versions = (0..=count).map(|n| {
            let by = format!("{prefix}{n}");
            version("v", 1, &[(1, Some("09:43"), Some(&by))])
        });
        let winner = versions.next_back().unwrap();
        item(winner, &versions.collect::<Vec<_>>())
    };
    let (a, b) = (with_conflicts("a", 150), with_conflicts("b", 149));
    assert_eq!(
        incorporate(Some(&a), None, b),
        Incorporation::Refused(Refusal::TooManyConflicts { conflicts: 300 })
    );
    let full = incorporate(Some(&a), None, with_conflicts("b", 105));
    assert!(matches!(full, Incorporation::Conflict(item) if item.conflicts.len() == 256));
}

#[test]
fn a_conflict_that_the_winner_covers_is_left_out_so_that_endpoints_rest() {
    let winner = version("w", 5, &[(5, None, Some("x")), (4, None, Some("y"))]);
    let stale = version("c", 3, &[(3, None, Some("x"))]);
    let sent = item(winner.clone(), &[stale]);
    let Incorporation::Added(added) = incorporate(None, None, sent.clone()) else { panic!() };
    assert_eq!(added, item(winner, &[]));
    assert_eq!(incorporate(Some(&added), None, sent), Incorporation::Unchanged);
}

#[test]
fn one_stamp_with_two_histories_comes_to_rest_with_what_both_know() {
    let a = simple("a", 5, &[(5, None, Some("x")), (4, None, Some("y"))]);
    let b = simple("b", 5, &[(5, None, Some("x")), (4, None, Some("z"))]);
    let taken = |local: &Item<&'static str>, incoming: &Item<&'static str>| match incorporate(
        Some(local),
        None,
        incoming.clone(),
    ) {
        Incorporation::Updated(item) => item,
        other => panic!("{other:?}"),
    };
    let (at_a, at_b) = (taken(&a, &b), taken(&b, &a));
    assert_eq!((at_a.winner.payload, at_b.winner.payload), ("a", "b"));
    assert_eq!(incorporate(Some(&at_a), None, at_b.clone()), Incorporation::Unchanged);
    assert_eq!(incorporate(Some(&at_b), None, at_a), Incorporation::Unchanged);
}

#[test]
fn a_known_version_keeps_its_local_bytes_when_a_conflict_arrives() {
    let ours = simple("<a/>", 2, &[(2, Some("10:43"), Some("a"))]);
    let theirs = item(
        version("<a></a>", 2, &[(2, Some("10:43"), Some("a"))]),
        &[version("other", 2, &[(2, Some("09:43"), Some("b"))])],
    );
    let Incorporation::Conflict(merged) = incorporate(Some(&ours), None, theirs) else { panic!() };
    assert_eq!((merged.winner.payload, merged.conflicts[0].payload), ("<a/>", "other"));
}

#[test]
fn histories_of_more_lines_than_are_kept_are_shortened_and_known_all_the_same() {
    let long = |updates: u32| {
        let entries: Vec<_> = (0..updates).map(|number| (1, None, format!("b{number}"))).collect();
        let entries: Vec<_> =
            entries.iter().map(|(s, w, by)| (*s, *w, Some(by.as_str()))).collect();
        simple("x", 9, &entries)
    };
    let most = long(MAX_UPDATES as u32);
    assert_eq!(incorporate(Some(&most), None, most.clone()), Incorporation::Unchanged);
    let longer = long(MAX_UPDATES as u32 + 10);
    let Incorporation::Added(added) = incorporate(None, None, longer.clone()) else { panic!() };
    assert_eq!(added.winner.history.updates().len(), MAX_UPDATES);
    assert_eq!(incorporate(Some(&added), None, longer.clone()), Incorporation::Unchanged);
    assert_eq!(incorporate(Some(&longer), None, added), Incorporation::Unchanged);
    let updates = MAX_READ_UPDATES + 1;
    assert_eq!(
        incorporate(None, None, long(updates as u32)),
        Incorporation::Refused(Refusal::TooManyUpdates { updates })
    );
}

#[test]
fn documents_are_merged_without_bounds() {
    let entries = |last: u32| -> Vec<(u32, Option<&'static str>, Option<&'static str>)> {
        (1..=last).rev().map(|number| (number, None, Some("a"))).collect()
    };
    let (short, long) =
        (simple("old", 2, &entries(2)), simple("new", MAX_COUNTER, &entries(200_000)));
    let Incorporation::Updated(merged) = incorporate_unbounded(Some(&short), long.clone()) else {
        panic!("it is not taken");
    };
    assert_eq!(merged, long, "nothing is shortened");
    assert_eq!(incorporate_unbounded(Some(&long), short), Incorporation::Unchanged);
    let versions = (0..1_000)
        .map(|number| version("v", 1, &[(1, Some("09:43"), Some(&format!("b{number}")))]));
    let versions: Vec<_> = versions.collect();
    let many = item(versions[0].clone(), &versions[1..]);
    let Incorporation::Conflict(merged) = incorporate_unbounded(Some(&long), many) else {
        panic!("they are not taken");
    };
    assert_eq!(merged.versions().count(), 1_001);
}
