//! Conflict resolution, clause by clause (3.4).

use feedsync_core::{
    By, Creation, Incorporation, Item, ItemId, Keep, Outcome, Resolution, ResolveError, Resolved,
    Stamp, Timestamp, incorporate, merge,
};

fn stamp(time: &str, name: &str) -> Stamp {
    let when = Timestamp::parse(&format!("2005-05-21T{time}:33Z")).unwrap();
    Stamp::new(when, By::new(name).unwrap())
}

/// The item of the specification's examples, before the conflict.
fn shared() -> Item<&'static str> {
    let id = ItemId::new("item_1_myapp_2005-05-21T11:43:33Z").unwrap();
    let mut item =
        Item::create(id, Creation::default(), &stamp("09:43", "REO1750"), "milk and eggs").unwrap();
    item.update(&stamp("10:43", "REO1750"), "and butter".into()).unwrap();
    item.update(&stamp("11:43", "JEO2000"), "and bread".into()).unwrap();
    item
}

fn edited(time: &str, name: &str, payload: &'static str) -> Item<&'static str> {
    let mut item = shared();
    item.update(&stamp(time, name), payload.into()).unwrap();
    item
}

fn conflicted() -> Item<&'static str> {
    let gpm = edited("12:43", "GPM7383", "DONE");
    merge(Some(gpm), edited("12:03", "JEO2000", "rolls")).unwrap().0
}

/// An item after concurrent edits of three endpoints: K wins over G and J.
fn twice_conflicted() -> Item<&'static str> {
    merge(Some(conflicted()), edited("12:50", "KLM0001", "more")).unwrap().0
}

fn all(keep: Keep<&'static str>) -> Resolution<&'static str> {
    Resolution { resolved: Resolved::All, keep }
}

fn history(item: &Item<&'static str>) -> String {
    let entry = |update: &feedsync_core::Update| {
        format!("{}{}", update.sequence(), &update.by().unwrap().as_str()[..1])
    };
    item.winner.history.updates().iter().map(entry).collect::<Vec<_>>().join(" ")
}

#[test]
fn v15_v16_v24_f122_keeping_the_winner_folds_the_conflict_below_the_new_update() {
    let mut item = conflicted();
    item.resolve(&stamp("12:53", "GPM7383"), all(Keep::Winner)).unwrap();
    assert_eq!((item.winner.updates.get(), item.winner.payload), (5, "DONE"));
    assert_eq!(history(&item), "5G 4J 4G 3J 2R 1R");
    assert!(item.conflicts.is_empty());
    item.winner.history.clean_up();
    assert_eq!(history(&item), "5G 4J 2R");
}

#[test]
fn f115_taking_a_conflict_takes_its_data_and_its_deleted_state() {
    let mut item = conflicted();
    item.conflicts[0].deleted = true;
    item.resolve(&stamp("12:53", "GPM7383"), all(Keep::Conflict(0))).unwrap();
    assert_eq!((item.winner.payload, item.winner.deleted), ("rolls", true));
    assert_eq!(item.winner.updates.get(), 5);
}

#[test]
fn f116_new_data_can_be_written() {
    let mut item = conflicted();
    let keep = Keep::Content { payload: "both", deleted: None };
    item.resolve(&stamp("12:53", "REO1750"), all(keep)).unwrap();
    assert_eq!((item.winner.payload, item.conflicts.len()), ("both", 0));
    assert_eq!(history(&item), "5R 4J 4G 3J 2R 1R");
}

#[test]
fn updates_left_out_by_a_fold_can_be_remembered_without_more_coverage() {
    let mut longer = edited("12:03", "KLM0001", "rolls");
    longer.update(&stamp("12:04", "KLM0001"), "buns".into()).unwrap();
    let mut winner = edited("12:05", "GPM7383", "DONE");
    winner.update(&stamp("12:43", "GPM7383"), "really DONE".into()).unwrap();
    let mut item = merge(Some(winner), longer.clone()).unwrap().0;
    item.resolve(&stamp("12:53", "REO1750"), all(Keep::Winner)).unwrap();
    assert_eq!(history(&item), "6R 5K 5G 4G 3J 2R 1R", "4K is covered by 5K");
    let before = item.winner.history.clone();
    item.winner.history.remember(&longer.winner.history);
    assert_eq!(history(&item), "6R 5K 5G 4G 3J 2R 1R 4K");
    assert!(before.covers_all(&item.winner.history));
}

#[test]
fn a_history_remembers_only_updates_that_it_covers() {
    let mut history = edited("12:43", "GPM7383", "DONE").winner.history;
    let before = history.clone();
    // JEO2000 made update 4 elsewhere, and no endpoint here has seen it.
    history.remember(&edited("12:03", "JEO2000", "rolls").winner.history);
    assert_eq!(history, before);
    let when = Timestamp::parse("2005-05-21T12:00:00Z").unwrap();
    let mut anonymous = shared();
    anonymous.update(&Stamp::partial(Some(when), None).unwrap(), "buns".into()).unwrap();
    history.remember(&anonymous.winner.history);
    assert_eq!(history, before);
}

#[test]
fn f111_resolving_one_of_two_leaves_the_other() {
    let mut item = twice_conflicted();
    let jeo = item.conflicts.iter().position(|conflict| conflict.payload == "rolls").unwrap();
    let resolution = Resolution { resolved: Resolved::Some(vec![jeo]), keep: Keep::Winner };
    item.resolve(&stamp("12:53", "REO1750"), resolution).unwrap();
    assert_eq!(item.conflicts.len(), 1);
    assert_eq!(item.conflicts[0].payload, "DONE");
}

#[test]
fn f118_whoever_still_holds_a_resolved_conflict_is_told_nothing_new() {
    let mut resolved = conflicted();
    resolved.resolve(&stamp("12:53", "GPM7383"), all(Keep::Winner)).unwrap();
    let jeo = edited("12:03", "JEO2000", "rolls");
    assert_eq!(merge(Some(resolved.clone()), jeo.clone()).unwrap().1, Outcome::Unchanged);
    assert_eq!(incorporate(Some(&resolved), None, jeo), Incorporation::Unchanged);
    let (at_peer, outcome) = merge(Some(conflicted()), resolved.clone()).unwrap();
    assert_eq!((at_peer, outcome), (resolved, Outcome::Updated));
}

#[test]
fn a_conflict_that_is_taken_is_resolved_even_if_only_others_were_named() {
    let mut item = twice_conflicted();
    let resolution = Resolution { resolved: Resolved::Some(vec![]), keep: Keep::Conflict(1) };
    let taken = item.conflicts[1].payload;
    item.resolve(&stamp("12:53", "REO1750"), resolution).unwrap();
    assert_eq!((item.winner.payload, item.conflicts.len()), (taken, 1));
}

#[test]
fn a_conflict_that_is_not_there_is_named_and_nothing_changes() {
    let before = conflicted();
    let mut item = before.clone();
    let resolution = Resolution { resolved: Resolved::Some(vec![0, 7]), keep: Keep::Winner };
    let error = item.resolve(&stamp("12:53", "REO1750"), resolution).unwrap_err();
    assert_eq!(error, ResolveError::NoSuchConflict { index: 7, count: 1 });
    assert_eq!(item, before);
}

#[test]
fn t3_a_fold_comes_after_the_new_update_so_that_it_never_stands_on_top() {
    let mut item = conflicted();
    item.resolve(&stamp("12:53", "REO1750"), all(Keep::Winner)).unwrap();
    assert_eq!(item.winner.dot().by().unwrap().as_str(), "REO1750");
}

#[test]
fn f119_a_policy_resolves_only_where_it_is_asked_and_alike_everywhere() {
    let longest = |item: &Item<&'static str>| {
        let longest = item.conflicts.iter().enumerate().max_by_key(|(_, v)| v.payload.len())?;
        let better = longest.1.payload.len() > item.winner.payload.len();
        Some(all(if better { Keep::Conflict(longest.0) } else { Keep::Winner }))
    };
    let resolution_stamp = stamp("12:53", "policy");
    let mut here = conflicted();
    let jeo = edited("12:03", "JEO2000", "rolls");
    let mut there = merge(Some(jeo), edited("12:43", "GPM7383", "DONE")).unwrap().0;
    assert!(here.resolve_by(&resolution_stamp, longest).unwrap());
    assert!(there.resolve_by(&resolution_stamp, longest).unwrap());
    assert_eq!((here.winner.payload, there.winner.payload), ("rolls", "rolls"));
    let mut plain = shared();
    assert!(!plain.resolve_by(&resolution_stamp, longest).unwrap());
    assert_eq!(plain, shared());
}
