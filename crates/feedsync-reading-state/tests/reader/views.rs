//! Presentation of the state: ordered folders, and merged moved feeds (LR7).

use crate::support::*;
use feedsync_reading_state::{Action, Branch, FeedAddress, ReaderState};
use proptest::prelude::*;

fn done(changes: &[(&str, Action, &str)]) -> ReaderState {
    let mut state = ReaderState::default();
    for (name, action, when) in changes {
        state.join_feed(feed(name), action.clone().state(stamp(when)));
    }
    state
}

fn subscribe(title: &str, names: &[&str], position: &str) -> Action {
    Action::Subscribe {
        title: title.parse().ok(),
        folder: Some(folder(names)),
        position: position.parse().ok(),
    }
}

fn moved(to: &str) -> Action {
    Action::FeedMoved { to: feed(to) }
}

/// The branches as text: feeds as letters, folders as parentheses.
fn drawn(branches: &[Branch]) -> String {
    let draw = |branch: &Branch| match branch {
        Branch::Feed(subscription) => subscription.address.as_str()[8..9].to_owned(),
        Branch::Folder(name, inside) => format!("{name}({})", drawn(inside)),
    };
    branches.iter().map(draw).collect::<Vec<_>>().join(" ")
}

#[test]
fn subscriptions_stand_in_their_folders_by_position_then_title_then_address() {
    let state = done(&[
        ("a", subscribe("Z", &[], "2"), "1.0@x"),
        ("b", subscribe("Y", &["News"], "1"), "1.0@x"),
        ("c", subscribe("X", &["News", "Local"], "3"), "1.0@x"),
        ("d", subscribe("A", &[], ""), "1.0@x"),
        ("e", subscribe("A", &[], ""), "1.0@x"),
        ("f", subscribe("B", &["News"], "3"), "1.0@x"),
        ("g", subscribe("", &[], ""), "1.0@x"),
        ("h", subscribe("A", &[], "1"), "1.0@x"),
        ("h", Action::Unsubscribe, "2.0@x"),
        ("i", Action::Rename { title: None }, "2.0@x"),
    ]);
    assert_eq!(drawn(&state.view().tree()), "News(b f Local(c)) a d e g");
    let subscriptions_by_folder: String = state
        .view()
        .subscriptions_by_folder()
        .iter()
        .map(|known| known.address.as_str()[8..9].to_owned())
        .collect();
    assert_eq!(subscriptions_by_folder, "bfcadeg");
    assert_eq!(state.view().subscriptions().len(), 7);
}

#[test]
fn a_feed_that_moved_keeps_its_subscription_and_its_marks() {
    let x = article("x");
    let state = done(&[
        ("a", subscribe("Old", &["News"], "1"), "1.0@x"),
        ("a", Action::Read { article: x.clone(), at: None }, "2.0@x"),
        ("a", moved("b"), "3.0@x"),
        ("b", moved("c"), "3.0@x"),
        ("c", Action::Star { article: x.clone() }, "4.0@x"),
    ]);
    let view = state.view();
    let subscriptions = view.subscriptions();
    assert_eq!(subscriptions.len(), 1);
    assert_eq!(subscriptions[0].address, feed("c"));
    assert_eq!(subscriptions[0].title.as_ref().unwrap().as_str(), "Old");
    for name in ["a", "b", "c"] {
        let told = view.feed(&feed(name));
        assert!(told.is_read(&x, None) && told.is_starred(&x) && told.is_subscribed(), "{name}");
        assert_eq!(told.moved_to(), None);
    }
    assert_eq!(view.feeds().count(), 1);
}

#[test]
fn feed_that_moved_to_an_unknown_address_is_found_there() {
    let state = done(&[("a", subscribe("Old", &[], "1"), "1.0@x"), ("a", moved("b"), "2.0@x")]);
    assert_eq!(state.view().subscriptions()[0].address, feed("b"));
}

#[test]
fn unsubscribing_after_a_move_ends_the_subscription() {
    let state = done(&[
        ("a", subscribe("Old", &[], "1"), "1.0@x"),
        ("a", moved("b"), "2.0@x"),
        ("b", Action::Unsubscribe, "3.0@x"),
    ]);
    assert_eq!(state.view().subscriptions(), []);
}

#[test]
fn feeds_that_moved_in_a_circle_have_the_lowest_address() {
    let mut changes = vec![("b", moved("c"), "1.0@x"), ("c", moved("d"), "1.0@x")];
    changes.extend([("d", moved("b"), "1.0@x"), ("a", moved("d"), "1.0@x")]);
    changes.push(("c", subscribe("", &[], ""), "1.0@x"));
    let state = done(&changes);
    let view = state.view();
    for name in ["a", "b", "c", "d"] {
        assert_eq!(view.address(&feed(name)), &feed("b"), "{name}");
    }
    assert_eq!(view.subscriptions().len(), 1);
    // A move to itself undoes a move.
    changes.push(("d", moved("d"), "2.0@x"));
    let state = done(&changes);
    assert_eq!(state.view().address(&feed("b")), &feed("d"));
}

#[test]
fn long_chain_of_moves_costs_no_stack_and_little_time() {
    let address =
        |number: usize| -> FeedAddress { format!("https://{number}.example/").parse().unwrap() };
    let mut state = ReaderState::default();
    for number in 0..20_000 {
        let action = Action::FeedMoved { to: address(number + 1) };
        state.join_feed(address(number), action.state(stamp("1.0@x")));
    }
    let view = state.view();
    assert_eq!(view.address(&address(0)), &address(20_000));
    assert_eq!(view.feeds().count(), 1);
}

proptest! {
    /// Every address leads to a final one, and every mark is found there, once.
    #[test]
    fn moved_feeds_are_found_at_their_final_address(state in any_state()) {
        let view = state.view();
        let here: Vec<_> = view.feeds().map(|(address, _)| address.clone()).collect();
        prop_assert!(here.is_sorted_by(|one, other| one < other));
        prop_assert!(!view.has(&feed("unknown")));
        for (address, own) in state.feeds() {
            let end = view.address(address);
            prop_assert_eq!(view.address(end), end);
            prop_assert!(here.contains(end));
            prop_assert!(view.has(address) && view.has(end));
            let mut told = view.feed(address).into_owned();
            let mut own = own.clone();
            if let Some(to) = own.moved_to().cloned() {
                // The moves themselves are not part of the joined state.
                let back = Action::FeedMoved { to };
                own.join(back.clone().state(stamp("9.0@z")));
                told.join(back.state(stamp("9.0@z")));
            }
            prop_assert!(!told.join(own));
        }
    }
}
