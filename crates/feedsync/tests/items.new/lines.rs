//! Lines of edits: when a `by` may be extended, and what happens when somebody else extends it too.

use feedsync::line::{collides, estranged, may_extend, reissue};
use feedsync::{By, History, Item, ItemId, Sequence, Timestamp, Update, Updates, Version, merge};

fn by(name: &str) -> By {
    By::new(name).unwrap()
}

fn sequence(number: u32) -> Sequence {
    Sequence::new(number).unwrap()
}

fn history(entries: &[(u32, i64, &str)]) -> History {
    let updates = entries.iter().map(|&(number, second, name)| {
        Update::signed(sequence(number), Timestamp::from_unix_seconds(second).unwrap(), by(name))
    });
    History::from_updates(updates.collect()).unwrap()
}

fn item(payload: &'static str, entries: &[(u32, i64, &str)]) -> Item<&'static str> {
    let winner = Version {
        updates: Updates::new(entries[0].0).unwrap(),
        deleted: false,
        noconflicts: None,
        history: history(entries),
        payload,
    };
    Item { id: ItemId::new("item").unwrap(), winner, conflicts: vec![] }
}

#[test]
fn a_line_is_extended_only_by_an_edit_that_has_seen_all_of_it() {
    let me = by("me");
    let seen = history(&[(3, 30, "other"), (2, 20, "me"), (1, 10, "me")]);
    assert!(may_extend(&me, None, []), "a new item");
    assert!(may_extend(&me, Some(sequence(2)), [&seen]));
    assert!(!may_extend(&me, Some(sequence(4)), [&seen]), "an edit of ours it has not seen");
    assert!(!may_extend(&me, Some(sequence(1)), []), "a purged item of which we edited");
    let beside = history(&[(4, 40, "me")]);
    assert!(may_extend(&me, Some(sequence(4)), [&seen, &beside]), "a resolution of both");
}

#[test]
fn r_f44_t11_a_sequence_we_never_issued_gives_a_copy_away() {
    let me = by("me");
    let theirs = item("copy's", &[(5, 50, "me"), (4, 40, "me")]);
    assert!(collides(&me, Some(sequence(3)), None, &theirs));
    assert!(collides(&me, None, None, &theirs));
    assert!(!collides(&me, Some(sequence(5)), None, &theirs));
    assert!(!collides(&by("retired"), None, None, &theirs), "only the current line counts");
}

#[test]
fn r_f44_t11_another_time_at_a_sequence_we_issued_gives_a_copy_away() {
    let me = by("me");
    let ours = item("ours", &[(5, 50, "me"), (4, 40, "me")]);
    let theirs = item("copy's", &[(5, 51, "me"), (4, 40, "me")]);
    assert!(collides(&me, Some(sequence(5)), Some(&ours), &theirs));
    assert!(!collides(&me, Some(sequence(5)), Some(&ours), &ours));
    // An absent time says nothing.
    let mut silent = ours.clone();
    let entry = Update::new(sequence(5), None, Some(me.clone())).unwrap();
    silent.winner.history = History::new(entry);
    assert!(!collides(&me, Some(sequence(5)), Some(&ours), &silent));
    // Nor does other markup under our stamp: a peer may write it its own way.
    let rewritten = item("<ours></ours>", &[(5, 50, "me"), (4, 40, "me")]);
    assert!(!collides(&me, Some(sequence(5)), Some(&ours), &rewritten));
}

#[test]
fn an_edit_issued_again_survives_beside_the_one_it_collided_with() {
    let mut ours = item("ours", &[(5, 50, "me"), (4, 40, "me"), (3, 30, "other")]);
    let theirs = item("copy's", &[(5, 51, "me"), (4, 40, "me"), (3, 30, "other")]);
    // Left alone, one edit is lost.
    assert_eq!(merge(Some(ours.clone()), theirs.clone()).unwrap().0.versions().count(), 1);
    let from = estranged(&ours.winner, &theirs);
    assert_eq!(from, Some(sequence(5)));
    reissue(&mut ours.winner, from.unwrap(), &by("me2"));
    let (merged, _) = merge(Some(ours.clone()), theirs.clone()).unwrap();
    let mut payloads: Vec<_> = merged.versions().map(|version| version.payload).collect();
    payloads.sort_unstable();
    assert_eq!(payloads, ["copy's", "ours"]);
    // And it still supersedes what it was made on.
    let before = item("before", &[(4, 40, "me"), (3, 30, "other")]);
    assert_eq!(merge(Some(ours), before).unwrap().0.versions().count(), 1);
}

#[test]
fn a_version_is_estranged_from_what_goes_further_without_it() {
    let ours = item("ours", &[(2, 20, "me"), (1, 10, "other")]).winner;
    let further = |entries: &[(u32, i64, &str)]| estranged(&ours, &item("theirs", entries));
    let others = (1, 10, "other");
    assert_eq!(further(&[(4, 40, "me"), (3, 30, "other"), others]), Some(sequence(2)));
    assert_eq!(further(&[(4, 40, "c"), (3, 30, "me"), others]), Some(sequence(2)));
    // It was known there, or is not covered at all.
    assert_eq!(further(&[(4, 40, "me"), (2, 20, "me"), others]), None);
    assert_eq!(further(&[(4, 40, "c"), (2, 20, "me"), others]), None);
    assert_eq!(further(&[(2, 20, "me"), others]), None);
    assert_eq!(further(&[(4, 40, "c"), others]), None);
    // A time that is absent says nothing.
    let mut silent = item("theirs", &[(3, 30, "c")]);
    let entry = Update::new(sequence(2), None, Some(by("me"))).unwrap();
    silent.winner.history =
        History::from_updates(vec![silent.winner.dot().clone(), entry]).unwrap();
    assert_eq!(estranged(&ours, &silent), None);
}
