//! Ordering of subscriptions, and moved feeds.

use crate::support::*;
use feedsync_reading_state::{
    Action, FeedAddress, InvalidTarget, MoveTarget, Position, ReaderState,
};
use proptest::prelude::*;

/// Subscriptions named by letters; a digit after a letter is the position.
fn subscribed(texts: &[&str]) -> ReaderState {
    let mut state = ReaderState::default();
    for text in texts {
        let position = text[1..].parse().ok();
        let action = Action::Subscribe { title: None, folder: None, position };
        state.join_feed(feed(&text[..1]), action.state(stamp("1.0@a")));
    }
    state
}

/// Moves feeds to a target, at that time; returns the number of positions that were set.
fn put(state: &mut ReaderState, names: &[&str], place: &MoveTarget, when: &str) -> usize {
    let feeds: Vec<FeedAddress> = names.iter().map(|name| feed(name)).collect();
    let arranged = state.view().arrange(&feeds, place).unwrap();
    let count = arranged.len();
    for (feed, position) in arranged {
        let subscribe = Action::Subscribe { title: None, folder: None, position: Some(position) };
        state.join_feed(feed, subscribe.state(stamp(when)));
    }
    count
}

fn order(state: &ReaderState) -> String {
    let subscriptions = state.view().subscriptions();
    subscriptions.iter().map(|known| known.address.as_str()[8..9].to_owned()).collect()
}

#[test]
fn moved_subscription_is_at_its_target_and_others_keep_their_positions() {
    let mut state = subscribed(&["a1", "b2", "c3"]);
    assert_eq!(put(&mut state, &["d"], &MoveTarget::Last, "2.0@a"), 1);
    assert_eq!(order(&state), "abcd");
    assert_eq!(put(&mut state, &["d"], &MoveTarget::Before(feed("a")), "3.0@a"), 1);
    assert_eq!(order(&state), "dabc");
    assert_eq!(put(&mut state, &["d"], &MoveTarget::After(feed("b")), "4.0@a"), 1);
    assert_eq!(order(&state), "abdc");
    assert_eq!(put(&mut state, &["x", "y"], &MoveTarget::Last, "5.0@a"), 2);
    assert_eq!(order(&state), "abdcxy");
}

#[test]
fn subscription_at_its_target_is_unchanged() {
    let mut state = subscribed(&["a1", "b2", "c3"]);
    for (name, place) in [
        ("c", MoveTarget::Last),
        ("a", MoveTarget::Before(feed("b"))),
        ("b", MoveTarget::After(feed("a"))),
        ("b", MoveTarget::Before(feed("c"))),
    ] {
        assert_eq!(put(&mut state, &[name], &place, "2.0@a"), 0, "{name} {place:?}");
    }
    assert_eq!(put(&mut state, &[], &MoveTarget::Last, "2.0@a"), 0);
}

#[test]
fn others_get_new_positions_when_there_is_no_room() {
    // Two subscriptions with one position are ordered by their addresses.
    let mut state = subscribed(&["a1", "b1", "c1"]);
    put(&mut state, &["x"], &MoveTarget::After(feed("a")), "2.0@a");
    assert_eq!(order(&state), "axbc");
    // Subscriptions without a position come last.
    let mut state = subscribed(&["c1", "a", "b"]);
    assert_eq!(put(&mut state, &["x"], &MoveTarget::After(feed("a")), "2.0@a"), 2);
    assert_eq!(order(&state), "caxb");
    let mut state = subscribed(&["c1", "a", "b"]);
    assert_eq!(put(&mut state, &["x"], &MoveTarget::Before(feed("c")), "2.0@a"), 1);
    assert_eq!(order(&state), "xcab");
}

#[test]
fn target_that_is_not_another_subscription_is_an_error() {
    let state = subscribed(&["a1"]);
    let beside = |name: &str| state.view().arrange(&[feed("a")], &MoveTarget::After(feed(name)));
    assert_eq!(beside("a"), Err(InvalidTarget(feed("a"))));
    assert_eq!(beside("b"), Err(InvalidTarget(feed("b"))));
}

/// Applies the actions for a moved feed.
fn moved(state: &mut ReaderState, from: &str, to: &str, when: &str) -> usize {
    let actions = state.view().move_actions(&feed(from), &feed(to));
    let count = actions.len();
    for (feed, action) in actions {
        state.join_feed(feed, action.state(stamp(when)));
    }
    count
}

#[test]
fn feed_that_moves_repeatedly_is_at_its_last_address() {
    let mut state = subscribed(&["a1"]);
    let star = Action::Star { article: article("x") };
    state.join_feed(feed("a"), star.state(stamp("1.0@a")));
    let ways = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("a", "d"), ("b", "a"), ("a", "c")];
    for (time, (from, to)) in (2..).zip(ways) {
        assert!(moved(&mut state, from, to, &format!("{time}.0@a")) > 0, "{from} {to}");
        let view = state.view();
        assert_eq!(view.address(&feed(from)), &feed(to), "{from} {to}");
        assert_eq!(view.subscriptions()[0].address, feed(to));
        assert!(view.feed(&feed(to)).is_starred(&article("x")));
        assert_eq!(moved(&mut state.clone(), from, to, "99.0@a"), 0, "it is there");
    }
}

#[test]
fn move_is_undone() {
    let mut state = subscribed(&["a1", "b2"]);
    moved(&mut state, "a", "b", "2.0@a");
    assert_eq!(order(&state), "b");
    moved(&mut state, "a", "a", "3.0@a");
    assert_eq!(order(&state), "ab");
    assert_eq!(moved(&mut state, "a", "a", "4.0@a"), 0);
}

#[test]
fn marks_are_shown_article_by_article() {
    let read = |name: &str, at| Action::Read { article: article(name), at };
    let state = feed_state(&[
        (read("a", Some(millis(1))), "1.0@a"),
        (Action::Unread { article: article("b"), at: None }, "1.0@a"),
        (Action::Star { article: article("c") }, "1.0@a"),
        (Action::Tag { article: article("c"), tag: "t".parse().unwrap() }, "1.0@a"),
        (Action::Star { article: article("d") }, "1.0@a"),
        (Action::Unstar { article: article("d") }, "2.0@a"),
    ]);
    let shown: Vec<_> = state
        .articles()
        .map(|shown| {
            let tags: Vec<_> = shown.tags.iter().map(|tag| tag.as_str()).collect();
            let article = shown.article.as_str();
            (article, shown.published, shown.is_read, shown.is_starred, tags.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", Some(millis(1)), Some(true), false, String::new()),
            ("b", None, Some(false), false, String::new()),
            ("c", None, None, true, "t".to_owned()),
        ]
    );
}

proptest! {
    /// A subscription is at its target after any reordering, and the others keep their order.
    #[test]
    fn any_reordering_puts_subscriptions_at_their_target(
        known in prop::collection::btree_map("[a-f]", "[1-3]?", 1..6), name in "[a-g]", beside in "[a-f]",
        which in 0..3,
    ) {
        let texts: Vec<String> = known.iter().map(|(name, place)| format!("{name}{place}")).collect();
        let mut state = subscribed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let place = match which {
            0 => MoveTarget::Last,
            1 => MoveTarget::Before(feed(&beside)),
            _ => MoveTarget::After(feed(&beside)),
        };
        prop_assume!(which == 0 || beside != name && known.contains_key(&beside));
        let before = order(&state).replace(&name, "");
        put(&mut state, &[&name], &place, "2.0@a");
        let expected = match which {
            0 => format!("{before}{name}"),
            1 => before.replace(&beside, &format!("{name}{beside}")),
            _ => before.replace(&beside, &format!("{beside}{name}")),
        };
        prop_assert_eq!(order(&state), expected);
        let is_placed = |position: &Position| position.as_str().len() <= 4;
        prop_assert!(state.view().subscriptions().iter().filter_map(|known| known.position.as_ref()).all(is_placed));
    }
}
