//! Laws by which all three transports of changes give the same result (LR5, LR15).

use crate::support::*;
use feedsync_log::{Millis, SnapshotCoverage, Stamp};
use feedsync_reading_state::{Action, ArticleId, FeedState, ReaderState, Snapshot};
use proptest::prelude::*;

fn joined(mut one: ReaderState, other: &ReaderState) -> ReaderState {
    one.join(other.clone());
    one
}

/// Reference for the read state, computed from all actions: the latest one that concerns the article.
fn is_read(done: &[(Action, Stamp)], article: &ArticleId, at: Option<Millis>) -> bool {
    let concerns = |action: &Action| match action {
        Action::Read { article: marked, .. } => (marked == article).then_some(true),
        Action::Unread { article: marked, .. } => (marked == article).then_some(false),
        Action::ReadUpTo { at: last } => at.is_some_and(|at| at <= *last).then_some(true),
        _ => None,
    };
    let told = done.iter().filter_map(|(action, stamp)| Some((stamp, concerns(action)?)));
    told.max().is_some_and(|(_, is_read)| is_read)
}

fn any_covered() -> impl Strategy<Value = SnapshotCoverage> {
    (".{0,9}", any::<u64>(), ".{0,9}", prop::option::of(".{0,9}")).prop_map(
        |(covers, offset, overlap, generation)| SnapshotCoverage {
            covers,
            offset,
            overlap,
            generation,
        },
    )
}

/// All query results for a feed.
fn seen(state: &FeedState) -> impl PartialEq + std::fmt::Debug {
    let of_article = ["x", "y", "z"].map(article).map(|name| {
        let dates = (0..5).map(|at| Some(millis(at))).chain([None]);
        let reads: Vec<_> = dates.map(|at| state.is_read(&name, at)).collect();
        let tags: Vec<_> = state.tags(&name).cloned().collect();
        (reads, state.is_starred(&name), state.is_hidden(&name), tags)
    });
    let feed = (state.is_subscribed(), state.title().cloned(), state.folder().clone());
    (feed, state.position().cloned(), state.moved_to().cloned(), of_article)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn joining_is_commutative(one in any_state(), other in any_state()) {
        prop_assert_eq!(joined(one.clone(), &other), joined(other, &one));
    }

    #[test]
    fn joining_is_associative(one in any_state(), other in any_state(), third in any_state()) {
        let left = joined(joined(one.clone(), &other), &third);
        prop_assert_eq!(left, joined(one, &joined(other, &third)));
    }

    #[test]
    fn joining_is_idempotent_and_says_whether_it_changed_anything(one in any_state(), other in any_state()) {
        let mut both = one.clone();
        prop_assert_eq!(both.join(other.clone()), both != one);
        let known = both.clone();
        prop_assert!(!both.join(other) && !both.join(one));
        prop_assert_eq!(both, known);
    }

    /// The order of a log, repetitions of records and cuts between batches do not matter (LR14, LT1).
    #[test]
    fn changes_come_in_any_order_and_any_number_of_times(
        changes in any_changes().prop_shuffle(), cut in 0..16_usize,
    ) {
        let mut sorted = changes.clone();
        sorted.sort_by(|one, other| one.stamp.cmp(&other.stamp));
        let in_order = state(&sorted);
        let again = changes.iter().chain(&changes);
        prop_assert_eq!(&state(again), &in_order);
        let (before, after) = changes.split_at(cut.min(changes.len()));
        prop_assert_eq!(joined(state(after), &state(before)), in_order);
    }

    /// Dropping redundant marks changes no result, whatever is done later. The exception is an article that
    /// is queried with a later date than one with which it was marked.
    #[test]
    fn dropped_marks_change_no_result(
        done in prop::collection::vec((any_reading(), any_stamp()), 0..14),
        article in any_article(), at in any_date(),
    ) {
        let is_earlier = |marked: &Option<Millis>| marked.is_some() && (at.is_none() || *marked < at);
        let done: Vec<_> = done
            .into_iter()
            .filter(|(action, _)| match action {
                Action::Read { article: marked, at } | Action::Unread { article: marked, at } => {
                    *marked != article || !is_earlier(at)
                }
                _ => true,
            })
            .collect();
        let mut state = FeedState::default();
        for (place, (action, stamp)) in done.iter().enumerate() {
            state.join(action.clone().state(stamp.clone()));
            prop_assert_eq!(state.is_read(&article, at), is_read(&done[..=place], &article, at));
        }
    }

    /// An article that is always queried with the date with which it was marked.
    #[test]
    fn unchanged_date_gives_the_latest_mark(
        done in prop::collection::vec((any_reading(), any_stamp()), 0..14), dates in prop::collection::vec(any_date(), 3),
    ) {
        let names = ["x", "y", "z"].map(article);
        let date = |marked: &ArticleId| dates[names.iter().position(|name| name == marked).unwrap()];
        let done: Vec<_> = done
            .into_iter()
            .map(|(action, stamp)| match action {
                Action::Read { article, .. } => (Action::Read { at: date(&article), article }, stamp),
                Action::Unread { article, .. } => (Action::Unread { at: date(&article), article }, stamp),
                other => (other, stamp),
            })
            .collect();
        let mut state = FeedState::default();
        for (action, stamp) in &done {
            state.join(action.clone().state(stamp.clone()));
        }
        for name in &names {
            prop_assert_eq!(state.is_read(name, date(name)), is_read(&done, name, date(name)), "{}", name);
        }
    }

    /// Two states with equal results for all marks are equal values, however they were reached.
    #[test]
    fn retained_marks_are_not_redundant(state in any_feed_state()) {
        let up_tos = state.up_tos();
        prop_assert!(up_tos.is_sorted_by(|one, other| one.at < other.at && one.stamp > other.stamp));
        let nothing = FeedState::default();
        for change in state.changes_missing_in(&nothing, &feed("a")) {
            let (_, delta) = change.delta().unwrap();
            let mut without = FeedState::default();
            for other in state.changes_missing_in(&nothing, &feed("a")).iter().filter(|other| **other != change) {
                without.join(other.delta().unwrap().1);
            }
            prop_assert!(without.join(delta), "{:?} says nothing", change);
        }
    }

    /// The difference of two replicas brings the other to the union, and contains each change once (LR11,
    /// LR16).
    #[test]
    fn difference_brings_another_state_to_the_union(one in any_state(), other in any_state()) {
        let changes = one.changes_missing_in(&other);
        prop_assert!(changes.is_sorted_by(|one, other| one.stamp <= other.stamp));
        let mut told = other.clone();
        for change in &changes {
            prop_assert!(told.apply_change(change), "{:?} was known", change);
        }
        prop_assert_eq!(&told, &joined(one.clone(), &other));
        prop_assert_eq!(one.changes_missing_in(&told), vec![]);
    }

    /// An action whose effect a state already includes needs no record, and recording it anyway changes no
    /// result (LR16).
    #[test]
    fn redundant_action_changes_no_visible_result(state in any_feed_state(), action in any_action()) {
        if !action.is_included_in(&state) {
            return Ok(());
        }
        let mut after = state.clone();
        after.join(action.clone().state(stamp("9.0@z")));
        if let Action::Read { article, at } | Action::Unread { article, at } = &action {
            prop_assert_eq!(after.is_read(article, *at), state.is_read(article, *at));
        } else {
            prop_assert_eq!(seen(&after), seen(&state));
        }
    }

    #[test]
    fn snapshot_round_trips_and_equal_states_have_equal_bytes(
        changes in any_changes().prop_shuffle(), covers in prop::option::of(any_covered()),
    ) {
        let snapshot = Snapshot { covers: covers.clone(), state: state(&changes) };
        let bytes = snapshot.write();
        prop_assert_eq!(Snapshot::read(bytes.as_bytes()), Ok(snapshot));
        let turned = Snapshot { covers, state: state(changes.iter().rev()) };
        prop_assert_eq!(turned.write(), bytes);
    }

    #[test]
    fn the_latest_tick_is_known(changes in any_changes()) {
        let state = state(&changes);
        let stamps = state.changes_missing_in(&ReaderState::default()).into_iter().map(|change| change.stamp.tick);
        prop_assert_eq!(state.latest(), stamps.max());
    }
}
