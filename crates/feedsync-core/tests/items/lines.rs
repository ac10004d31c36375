//! Authoring lines: when a `by` may be extended, and the handling of lines that another endpoint
//! extends too.

use feedsync_core::line::{
    belongs_to, branch, collides, disputed_sequences, line_for, may_extend, reissue,
};
use feedsync_core::{
    By, History, Item, ItemId, MAX_COUNTER, Sequence, Timestamp, Update, Updates, Version, merge,
};

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

/// A ledger in which each line has this sequence; 0 is an empty one.
fn issued(number: u32) -> impl Fn(&By) -> Option<Sequence> {
    move |_| Sequence::new(number).ok()
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
    assert!(collides(&me, issued(3), None, &theirs));
    assert!(collides(&me, issued(0), None, &theirs));
    assert!(!collides(&me, issued(5), None, &theirs));
    assert!(!collides(&by("retired"), issued(0), None, &theirs), "only the current line counts");
}

#[test]
fn r_f44_t11_another_time_at_a_sequence_we_issued_gives_a_copy_away() {
    let me = by("me");
    let ours = item("ours", &[(5, 50, "me"), (4, 40, "me")]);
    let theirs = item("copy's", &[(5, 51, "me"), (4, 40, "me")]);
    assert!(collides(&me, issued(5), Some(&ours), &theirs));
    assert!(!collides(&me, issued(5), Some(&ours), &ours));
    // An absent time does not count.
    let mut silent = ours.clone();
    let entry = Update::new(sequence(5), None, Some(me.clone())).unwrap();
    silent.winner.history = History::new(entry);
    assert!(!collides(&me, issued(5), Some(&ours), &silent));
    // Other markup under our stamp does not count: a peer may serialize it differently.
    let rewritten = item("<ours></ours>", &[(5, 50, "me"), (4, 40, "me")]);
    assert!(!collides(&me, issued(5), Some(&ours), &rewritten));
}

#[test]
fn an_edit_issued_again_survives_beside_the_one_it_collided_with() {
    let mut ours = item("ours", &[(5, 50, "me"), (4, 40, "me"), (3, 30, "other")]);
    let theirs = item("copy's", &[(5, 51, "me"), (4, 40, "me"), (3, 30, "other")]);
    // Without the new issue, one edit is lost.
    assert_eq!(merge(Some(ours.clone()), theirs.clone()).unwrap().0.versions().count(), 1);
    let doubts = disputed_sequences(&ours.winner, &theirs);
    assert_eq!(doubts, Some(vec![(by("me"), sequence(5))]));
    reissue(&mut ours.winner, &doubts.unwrap(), &by("me2"));
    let (merged, _) = merge(Some(ours.clone()), theirs.clone()).unwrap();
    let mut payloads: Vec<_> = merged.versions().map(|version| version.payload).collect();
    payloads.sort_unstable();
    assert_eq!(payloads, ["copy's", "ours"]);
    // It still supersedes its base.
    let before = item("before", &[(4, 40, "me"), (3, 30, "other")]);
    assert_eq!(merge(Some(ours), before).unwrap().0.versions().count(), 1);
}

#[test]
fn a_version_is_estranged_from_what_goes_further_without_it() {
    let ours = item("ours", &[(2, 20, "me"), (1, 10, "other")]).winner;
    let further =
        |entries: &[(u32, i64, &str)]| disputed_sequences(&ours, &item("theirs", entries));
    let others = (1, 10, "other");
    let from_two = Some(vec![(by("me"), sequence(2))]);
    assert_eq!(further(&[(4, 40, "me"), (3, 30, "other"), others]), from_two);
    assert_eq!(further(&[(4, 40, "c"), (3, 30, "me"), others]), from_two);
    // The edit was known there, or is not covered at all.
    assert_eq!(further(&[(4, 40, "me"), (2, 20, "me"), others]), None);
    assert_eq!(further(&[(4, 40, "c"), (2, 20, "me"), others]), None);
    assert_eq!(further(&[(2, 20, "me"), others]), None);
    assert_eq!(further(&[(4, 40, "c"), others]), None);
    // An absent time does not count.
    let mut silent = item("theirs", &[(3, 30, "c")]);
    let entry = Update::new(sequence(2), None, Some(by("me"))).unwrap();
    silent.winner.history =
        History::from_updates(vec![silent.winner.dot().clone(), entry]).unwrap();
    assert_eq!(disputed_sequences(&ours, &silent), None);
}

#[test]
fn an_edit_takes_the_first_line_of_its_incarnation_that_its_base_covers() {
    let me = by("me.x1");
    let ledger = |by: &By| match by.as_str() {
        "me.x1" => Some(sequence(5)),
        "me.x1-1" => Some(sequence(4)),
        _ => None,
    };
    let taken = |entries: &[(u32, i64, &str)]| {
        let base = history(entries);
        let (by, _) = line_for(&me, ledger, [&base]).unwrap();
        by.to_string()
    };
    assert_eq!(taken(&[(5, 50, "me.x1")]), "me.x1");
    assert_eq!(taken(&[(4, 40, "me.x1-1"), (3, 30, "me.x1")]), "me.x1-1", "5 was not seen");
    assert_eq!(taken(&[(3, 30, "me.x1")]), "me.x1-2", "neither 5 nor 4 was seen");
    assert_eq!(taken(&[(6, 60, "you"), (5, 50, "me.x1"), (4, 40, "me.x1-1")]), "me.x1");
    // An exhausted line is not used.
    let spent = |_: &By| Sequence::new(MAX_COUNTER).ok();
    let base = history(&[(MAX_COUNTER, 1, "me.x1")]);
    let (by, issued) =
        line_for(&me, |by| spent(by).filter(|_| *by == me), [&base]).expect("a short name");
    assert_eq!((by.as_str(), issued), ("me.x1-1", None));
}

#[test]
fn names_that_look_like_branches_are_not_taken_for_them() {
    let me = by("me.x1");
    assert!(belongs_to(&me, &me));
    assert!(
        belongs_to(&branch(&me, 1).unwrap(), &me) && belongs_to(&branch(&me, 120).unwrap(), &me)
    );
    assert_eq!(branch(&me, 0), Some(me.clone()));
    for other in
        ["me.x1-", "me.x1-0", "me.x1-01", "me.x1-1x", "me.x1-1.y2", "me.x1.1", "me.x12", "me"]
    {
        assert!(!belongs_to(&by(other), &me), "{other}");
    }
    assert!(!belongs_to(&me, &branch(&me, 1).unwrap()));
}

#[test]
fn endpoints_whose_names_share_a_beginning_do_not_doubt_each_other() {
    let ours = item("ours", &[(6, 60, "ann-desk"), (5, 50, "ann-phone"), (4, 40, "ann-1")]);
    let theirs = item("theirs", &[(7, 70, "ann-desk")]);
    assert_eq!(
        disputed_sequences(&ours.winner, &theirs),
        Some(vec![(by("ann-desk"), sequence(6))])
    );
    // A name that ends in a number is a branch, unless the number begins with 0.
    let branched =
        item("ours", &[(6, 60, "ann-1"), (5, 50, "ann"), (4, 40, "ann-2"), (3, 30, "ann-02")]);
    let theirs = item("theirs", &[(7, 70, "ann-1")]);
    let doubts = disputed_sequences(&branched.winner, &theirs).unwrap();
    assert_eq!(
        doubts,
        [(by("ann-1"), sequence(6)), (by("ann"), sequence(5)), (by("ann-2"), sequence(4))]
    );
}

#[test]
fn r_f44_t11_a_branch_that_we_did_not_issue_gives_a_copy_away() {
    let me = by("me.x1");
    let branches = item("copy's", &[(5, 50, "you"), (4, 40, "me.x1-2")]);
    assert!(collides(&me, issued(3), None, &branches));
    assert!(!collides(&me, issued(4), None, &branches));
    let ours = item("ours", &[(4, 41, "me.x1-2")]);
    assert!(collides(&me, issued(4), Some(&ours), &branches));
}

/// The copy made another edit on a branch, and our version claims to have resolved that branch.
#[test]
fn an_edit_issued_again_covers_no_branch_in_doubt() {
    let mut ours = item("ours", &[(6, 60, "me.x1"), (5, 50, "me.x1-1"), (4, 40, "you")]);
    let theirs = item("copy's", &[(7, 70, "me.x1"), (5, 51, "me.x1-1"), (4, 40, "you")]);
    let doubts = disputed_sequences(&ours.winner, &theirs).unwrap();
    assert_eq!(doubts, [(by("me.x1"), sequence(6)), (by("me.x1-1"), sequence(5))]);
    reissue(&mut ours.winner, &doubts, &by("me.y2"));
    let branch = item("the copy's branch", &[(5, 51, "me.x1-1"), (4, 40, "you")]);
    assert!(!branch.winner.is_subsumed_by(&ours.winner));
    assert!(ours.winner.history.covers(&history(&[(4, 40, "you")]).updates()[0]));
}
