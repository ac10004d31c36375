//! Creation, update, deletion and un-deletion, clause by clause (3.1, 3.2).

use feedsync_core::{
    Base, By, Creation, Edit, EditError, History, Item, ItemId, MAX_COUNTER, Sequence, Stamp,
    Timestamp, Unsigned, Update, Updates, Version,
};

fn by(name: &str) -> By {
    By::new(name).unwrap()
}

fn at(hour: u8) -> Timestamp {
    Timestamp::parse(&format!("2005-05-21T{hour:02}:43:33Z")).unwrap()
}

fn stamp(hour: u8, name: &str) -> Stamp {
    Stamp::new(at(hour), by(name))
}

fn id() -> ItemId {
    ItemId::new("item_1_myapp_2005-05-21T11:43:33Z").unwrap()
}

fn created(creation: Creation) -> Item<&'static str> {
    Item::create(id(), creation, &stamp(9, "REO1750"), "milk and eggs").unwrap()
}

/// A history in the notation of the examples: `5G 4J` is sequence 5 by G on top of 4 by J.
fn shown(history: &History) -> String {
    let entry = |update: &Update| {
        let initial = update.by().map_or('?', |by| by.as_str().chars().next().unwrap());
        format!("{}{initial}", update.sequence())
    };
    history.updates().iter().map(entry).collect::<Vec<_>>().join(" ")
}

fn version(updates: u32, entries: &[(u32, &str)]) -> Version<&'static str> {
    let entries = entries
        .iter()
        .map(|&(sequence, name)| Update::signed(Sequence::new(sequence).unwrap(), at(9), by(name)));
    Version {
        updates: Updates::new(updates).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(entries.collect()).unwrap(),
        payload: "content",
    }
}

#[test]
fn f69_to_f76_v7_an_item_is_created_at_its_first_update() {
    let item = created(Creation::default());
    assert_eq!(item.id, id());
    assert_eq!(item.winner.updates, Updates::FIRST);
    assert_eq!(
        item.winner.history.updates(),
        [Update::signed(Sequence::FIRST, at(9), by("REO1750"))]
    );
    assert_eq!((item.winner.deleted, item.winner.noconflicts), (false, None));
    assert!(item.conflicts.is_empty());
}

#[test]
fn f72_an_item_can_be_a_tombstone_from_birth() {
    assert!(created(Creation { deleted: true, noconflicts: None }).winner.deleted);
}

#[test]
fn f63_f74_an_update_needs_a_when_or_a_by() {
    assert_eq!(Stamp::partial(None, None), Err(Unsigned));
    assert_eq!(Update::new(Sequence::FIRST, None, None), Err(Unsigned));
    for stamp in [Stamp::partial(Some(at(9)), None), Stamp::partial(None, Some(by("x")))] {
        assert!(Item::create(id(), Creation::default(), &stamp.unwrap(), "x").is_ok());
    }
}

#[test]
fn v9_v11_updates_by_one_endpoint_and_then_another() {
    let mut item = created(Creation::default());
    item.update(&stamp(10, "REO1750"), "eggs and butter".into()).unwrap();
    assert_eq!((item.winner.updates.get(), shown(&item.winner.history)), (2, "2R 1R".into()));
    item.update(&stamp(11, "JEO2000"), "eggs, butter and bread".into()).unwrap();
    assert_eq!((item.winner.updates.get(), shown(&item.winner.history)), (3, "3J 2R 1R".into()));
    assert_eq!(item.winner.dot().when(), Some(at(11)));
    assert_eq!(item.winner.payload, "eggs, butter and bread");
}

#[test]
fn f83_f84_a_sequence_goes_above_what_the_line_has_used() {
    let mut item = Item { id: id(), winner: version(2, &[(9, "me")]), conflicts: vec![] };
    item.update(&stamp(10, "me"), "new".into()).unwrap();
    assert_eq!((item.winner.updates.get(), shown(&item.winner.history)), (3, "10m 9m".into()));
    // Another spelling is another authoring line.
    item.update(&stamp(11, "Me"), "newer".into()).unwrap();
    assert_eq!(item.winner.dot().sequence().get(), 4);
}

#[test]
fn f83_reading_9_sequences_in_conflicts_count_too() {
    let mut item = Item {
        id: id(),
        winner: version(4, &[(4, "other")]),
        conflicts: vec![version(3, &[(3, "third"), (12, "me")])],
    };
    item.update(&stamp(10, "me"), "new".into()).unwrap();
    assert_eq!(item.winner.dot().sequence().get(), 13);
}

#[test]
fn f83_what_was_ever_issued_counts_although_no_history_shows_it() {
    let mut item = created(Creation::default());
    let issued = Sequence::new(40).ok();
    item.update(&stamp(10, "me").above(issued), "new".into()).unwrap();
    assert_eq!(item.winner.dot().sequence().get(), 41);
}

#[test]
fn f81_without_by_the_sequence_is_the_number_of_updates() {
    let mut item = Item { id: id(), winner: version(6, &[(9, "me")]), conflicts: vec![] };
    item.update(&Stamp::partial(Some(at(10)), None).unwrap(), "new".into()).unwrap();
    assert_eq!(item.winner.dot().sequence().get(), 7);
}

#[test]
fn f87_t2_a_conflict_of_the_same_line_is_folded_in_under_the_new_update() {
    let mut item = Item {
        id: id(),
        winner: version(4, &[(4, "G"), (3, "J"), (2, "R")]),
        conflicts: vec![
            version(4, &[(4, "J"), (3, "J"), (2, "R")]),
            version(4, &[(4, "K"), (3, "J")]),
        ],
    };
    item.update(&stamp(12, "J"), "new".into()).unwrap();
    assert_eq!(shown(&item.winner.history), "5J 4G 3J 2R");
    assert_eq!(item.conflicts.len(), 1, "a conflict of ours deeper in a history stays");
}

#[test]
fn f87_without_by_no_conflict_is_folded_in() {
    let mut item = Item {
        id: id(),
        winner: version(4, &[(4, "G")]),
        conflicts: vec![version(4, &[(4, "J")])],
    };
    item.update(&Stamp::partial(Some(at(10)), None).unwrap(), "new".into()).unwrap();
    assert_eq!(item.conflicts.len(), 1);
}

#[test]
fn f88_f89_deletion_and_undeletion_are_updates() {
    let mut item = created(Creation::default());
    item.update(&stamp(10, "REO1750"), Edit::delete()).unwrap();
    assert_eq!((item.winner.deleted, item.winner.updates.get()), (true, 2));
    assert_eq!(item.winner.payload, "milk and eggs");
    // Reading 13: a plain update of a tombstone leaves it deleted.
    item.update(&stamp(11, "REO1750"), "bread".into()).unwrap();
    assert!(item.winner.deleted);
    item.update(&stamp(12, "REO1750"), Edit::undelete()).unwrap();
    assert_eq!((item.winner.deleted, item.winner.updates.get()), (false, 4));
    assert_eq!(item.winner.payload, "bread");
}

#[test]
fn f56_f57_t13_noconflicts_is_set_once_and_carried_on_in_each_of_three_states() {
    for noconflicts in [None, Some(false), Some(true)] {
        let mut item = created(Creation { noconflicts, deleted: false });
        item.update(&stamp(10, "a"), "x".into()).unwrap();
        item.update(&stamp(11, "b"), Edit::delete()).unwrap();
        assert_eq!(item.winner.noconflicts, noconflicts);
    }
}

#[test]
fn r_f14_a_spent_counter_refuses_the_edit_and_changes_nothing() {
    let spent = Item { id: id(), winner: version(MAX_COUNTER, &[(1, "a")]), conflicts: vec![] };
    let mut item = spent.clone();
    assert_eq!(item.update(&stamp(10, "a"), "x".into()), Err(EditError::UpdatesExhausted));
    assert_eq!(item, spent);
    let spent = Item { id: id(), winner: version(2, &[(MAX_COUNTER, "a")]), conflicts: vec![] };
    let mut item = spent.clone();
    assert_eq!(item.update(&stamp(10, "a"), "x".into()), Err(EditError::SequenceExhausted));
    assert_eq!(item, spent);
    assert!(item.update(&stamp(10, "b"), "x".into()).is_ok(), "another line is not spent");
}

#[test]
fn an_edit_on_an_older_version_is_kept_beside_what_superseded_it() {
    let mut item = created(Creation::default());
    let base = Base {
        updates: item.winner.updates,
        noconflicts: None,
        history: item.winner.history.clone(),
    };
    item.update(&stamp(10, "ann"), "ann's".into()).unwrap();
    let item = item.branch(base, &stamp(11, "tab-2"), "stale", false).unwrap();
    let payloads: Vec<_> = item.versions().map(|version| version.payload).collect();
    assert_eq!(payloads, ["stale", "ann's"]);
}

#[test]
fn f90_r_f15_clean_up_keeps_coverage_the_topmost_and_what_has_no_by() {
    let anonymous = Update::new(Sequence::FIRST, Some(at(8)), None).unwrap();
    let mut updates = version(5, &[(5, "G"), (4, "J"), (4, "G"), (3, "J"), (2, "R"), (1, "R")])
        .history
        .updates()
        .to_vec();
    updates.push(anonymous.clone());
    let full = History::from_updates(updates).unwrap();
    let mut cleaned = full.clone();
    cleaned.clean_up();
    assert_eq!(shown(&cleaned), "5G 4J 2R 1?");
    assert!(cleaned.covers_all(&full) && full.covers_all(&cleaned));
    let once = cleaned.clone();
    cleaned.clean_up();
    assert_eq!(cleaned, once);
}

#[test]
fn r_f15_the_topmost_stays_even_where_an_older_entry_is_higher() {
    let mut history = version(3, &[(5, "a"), (9, "a"), (9, "a"), (2, "b")]).history;
    history.clean_up();
    assert_eq!(shown(&history), "5a 9a 2b");
}
