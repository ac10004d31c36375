//! Maintenance that reduces a state changes no result (LR17, LR47).

use crate::support::*;
use feedsync_log::Millis;
use feedsync_reading_state::{Action, ArticleId, FeedState, ReaderState};
use proptest::prelude::*;

fn read(name: &str, at: u64) -> Action {
    Action::Read { article: article(name), at: Some(millis(at)) }
}

fn unread(name: &str, at: u64) -> Action {
    Action::Unread { article: article(name), at: Some(millis(at)) }
}

fn known(articles: &[(&str, u64)]) -> Vec<(ArticleId, Option<Millis>)> {
    articles.iter().map(|(name, at)| (article(name), Some(millis(*at)))).collect()
}

/// The date and stamp of the mark that a state can be folded into.
fn folded(
    state: &FeedState,
    known: &[(ArticleId, Option<Millis>)],
    before: u64,
) -> Option<(u64, String)> {
    let known = known.iter().map(|(article, at)| (article, *at));
    let up_to = state.fold(known, millis(before))?;
    Some((up_to.at.get(), up_to.stamp.to_string()))
}

#[test]
fn contiguous_read_articles_fold_into_one_mark() {
    let state =
        feed_state(&[(read("x", 1), "12.0@a"), (read("y", 2), "11.0@b"), (read("z", 4), "13.0@a")]);
    let articles = known(&[("x", 1), ("y", 2), ("w", 3), ("z", 4)]);
    assert_eq!(folded(&state, &articles, 100), Some((2, "12.0@a".to_owned())));
    assert_eq!(folded(&state, &articles[..1], 100), Some((1, "12.0@a".to_owned())));
    let mut after = state.clone();
    after.join(Action::ReadUpTo { at: millis(2) }.state(stamp("12.0@a")));
    assert_eq!(after.marked(), 1);
}

#[test]
fn unsettled_marks_are_not_folded() {
    let state = feed_state(&[
        (read("x", 1), "12.0@a"),
        (read("y", 2), "50.0@a"),
        (read("z", 60), "70.0@a"),
    ]);
    let articles = known(&[("x", 1), ("y", 2), ("z", 60)]);
    assert_eq!(folded(&state, &articles, 55), Some((2, "50.0@a".to_owned())));
    assert_eq!(folded(&state, &articles, 40), Some((1, "12.0@a".to_owned())));
    assert_eq!(folded(&state, &articles, 10), None);
}

#[test]
fn folding_stops_before_unread_articles() {
    let state = feed_state(&[
        (read("x", 1), "12.0@a"),
        (unread("y", 1), "11.0@a"),
        (read("z", 3), "12.0@a"),
    ]);
    assert_eq!(folded(&state, &known(&[("x", 1), ("y", 1), ("z", 3)]), 100), None);
    // The same applies if the article is no longer in the feed.
    assert_eq!(folded(&state, &known(&[("x", 1), ("z", 3)]), 100), None);
}

#[test]
fn folding_without_a_saving_is_skipped() {
    let state =
        feed_state(&[(Action::ReadUpTo { at: millis(5) }, "9.0@a"), (read("z", 7), "9.0@a")]);
    assert_eq!(folded(&state, &known(&[("x", 1), ("y", 4)]), 100), None);
}

#[test]
fn marks_of_articles_that_are_gone_are_forgotten_and_stars_never_are() {
    let (x, y, z) = (article("x"), article("y"), article("z"));
    let tag = || "later".parse().unwrap();
    let feed_of = |done: &[(Action, &str)]| feed_state(done);
    let mut state = ReaderState::default();
    state.join_feed(
        feed("a"),
        feed_of(&[
            (read("x", 1), "10.0@a"),
            (unread("y", 2), "10.0@a"),
            (read("z", 3), "30.0@a"),
            (read("w", 3), "10.0@a"),
            (Action::Star { article: x.clone() }, "1.0@a"),
            (Action::Tag { article: y.clone(), tag: tag() }, "1.0@a"),
            (Action::Unstar { article: y.clone() }, "1.0@a"),
            (Action::Unsubscribe, "1.0@a"),
        ]),
    );
    state.join_feed(feed("b"), feed_of(&[(read("x", 1), "10.0@a")]));
    state.purge(|_, article| article.as_str() == "w", millis(20));
    let left = state.feed("https://a.example/feed").unwrap();
    assert!(!left.is_read(&x, Some(millis(1))) && left.is_starred(&x));
    assert!(left.tags(&y).any(|known| *known == tag()));
    assert!(left.is_read(&z, Some(millis(3))) && left.is_read(&article("w"), Some(millis(3))));
    // A removed star must not be forgotten either, because an old replica would bring the star back.
    let old = feed_of(&[(Action::Star { article: y.clone() }, "0.0@a")]);
    let mut both = left.clone();
    both.join(old);
    assert!(!both.is_starred(&y));
    assert_eq!(state.feeds().count(), 1, "a feed of which nothing is known is none");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Folding changes no result for a known article, and never overrides a mark that is made later.
    #[test]
    fn folding_changes_no_answer(
        state in any_feed_state(), dates in prop::collection::vec(any_date(), 3), before in 0..8_u64,
        later in any_reading(),
    ) {
        let names = ["x", "y", "z"].map(article);
        let known = || names.iter().zip(dates.iter().copied());
        let Some(up_to) = state.fold(known(), millis(before)) else { return Ok(()) };
        let mut after = state.clone();
        let at_once = Action::ReadUpTo { at: up_to.at };
        prop_assert!(after.join(at_once.state(up_to.stamp)));
        for (name, at) in known() {
            prop_assert_eq!(after.is_read(name, at), state.is_read(name, at), "{}", name);
        }
        let mut state = state;
        for state in [&mut state, &mut after] {
            state.join(later.clone().state(stamp("9.0@z")));
        }
        for (name, at) in known() {
            prop_assert_eq!(after.is_read(name, at), state.is_read(name, at), "{}", name);
        }
    }

    /// Purging removes read marks of articles that are gone, and nothing else.
    #[test]
    fn purging_keeps_all_else(state in any_feed_state(), before in 0..8_u64) {
        let mut after = state.clone();
        after.purge(|article| article.as_str() != "x", millis(before));
        let mut joined = after.clone();
        joined.join(state.clone());
        prop_assert_eq!(&joined, &state);
        for change in state.changes_missing_in(&after, &feed("a")) {
            prop_assert_eq!(&change.object.id, "x");
            prop_assert!(matches!(&*change.act, "read" | "unread"), "{:?}", change);
            prop_assert!(change.stamp.tick.millis() < millis(before));
        }
    }
}
