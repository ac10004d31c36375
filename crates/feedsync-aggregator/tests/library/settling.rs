//! Tests of storing the outcome of a poll.

use feedsync_aggregator::{
    LibraryError, MAX_DOCUMENT_ARTICLES, MAX_LATENESS, PollChanges, Selection,
};
use feedsync_reader_api::FeedNumber;
use proptest::prelude::*;

use crate::samples::{Place, article, at, feeds, told};
use crate::wait;

pub(crate) fn a_date_in_the_future_does_not_stand_above_everything(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let articles = [article("future", Some(900), ""), article("undated", None, "")];
    let settled = wait(library.settle(feed, told(articles), at(10))).unwrap();
    let kept = wait(library.articles(&settled.added)).unwrap();
    let times: Vec<_> = kept
        .iter()
        .map(|article| (article.name.as_str(), article.published, article.sort_date))
        .collect();
    assert_eq!(times, [("undated", at(10), at(10)), ("future", at(900), at(10))]);
    wait(library.settle(feed, told([article("later", Some(11), "")]), at(12))).unwrap();
    let selection = Selection { feeds: vec![feed], most: 1, ..Selection::default() };
    assert_eq!(wait(library.list(selection)).unwrap()[0].published, at(11));
}

/// A feed that adds old articles does not change newer ones.
pub(crate) fn old_articles_are_placed_at_their_dates(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let late = MAX_LATENESS.as_millis() as u64;
    let now = 9 * late;
    wait(library.settle(feed, told([article("first", Some(now - 5), "")]), at(now))).unwrap();
    let now = now + 10;
    let past = [
        article("long ago", Some(now - late - 1), ""),
        article("late", Some(now - late), ""),
        article("late, too", Some(now - 20), ""),
    ];
    let settled = wait(library.settle(feed, told(past), at(now))).unwrap();
    let kept = wait(library.articles(&settled.added)).unwrap();
    let places: Vec<_> =
        kept.iter().map(|kept| (kept.name.as_str(), now - kept.sort_date.get())).collect();
    assert_eq!(places, [("long ago", late + 1), ("late", 14), ("late, too", 14)]);
    assert_eq!(kept[1].published, at(now - late), "what it says itself stays");
}

/// If a user marks a feed as read up to its newest article, later arrivals are not marked.
pub(crate) fn late_articles_are_placed_above_marked_ones(place: &Place) {
    let ages = prop::collection::vec(prop::option::of(0..MAX_LATENESS.as_millis() as u64), 0..4);
    let polls = prop::collection::vec((1..1_000_000_u64, ages), 1..6);
    place.for_any(polls, |polls| {
        let place = place.another();
        let library = place.open();
        let feed = feeds(&library, 1)[0];
        let mut now = MAX_LATENESS.as_millis() as u64;
        let mut name = 0;
        for (later, ages) in polls {
            now += later;
            let newest = wait(library.feed(feed)).unwrap().unwrap().newest;
            let articles = ages.iter().map(|age| {
                name += 1;
                article(&name.to_string(), age.map(|age| now - age), "")
            });
            let settled = wait(library.settle(feed, told(articles), at(now))).unwrap();
            for kept in wait(library.articles(&settled.added)).unwrap() {
                prop_assert!(Some(kept.sort_date) > newest && kept.sort_date <= at(now));
            }
        }
        Ok(())
    });
}

pub(crate) fn changed_article_keeps_its_number_and_place(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let first = wait(library.settle(feed, told([article("a", None, "one")]), at(10))).unwrap();
    let second = wait(library.settle(feed, told([article("a", Some(3), "two")]), at(20))).unwrap();
    assert_eq!((&second.added[..], second.changed), (&[][..], first.added.clone()));
    let kept = &wait(library.articles(&first.added)).unwrap()[0];
    let moments = (kept.published, kept.received, kept.sort_date, kept.changed);
    assert_eq!(moments, (at(10), at(10), at(10), Some(at(20))));
    assert_eq!(kept.text.title.as_deref(), Some("two"));
    let again = wait(library.settle(feed, told([article("a", Some(4), "two")]), at(30))).unwrap();
    assert_eq!(again, Default::default());
}

pub(crate) fn oversized_poll_changes_nothing(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let before = wait(library.feed(feed)).unwrap();
    let articles = (0..=MAX_DOCUMENT_ARTICLES).map(|number| article(&number.to_string(), None, ""));
    let refused = wait(library.settle(feed, told(articles), at(10))).unwrap_err();
    assert!(
        matches!(refused, LibraryError::TooMuch { most: MAX_DOCUMENT_ARTICLES, .. }),
        "{refused}"
    );
    assert_eq!(wait(library.feed(feed)).unwrap(), before);
}

/// Writes of one commit have separate results.
pub(crate) fn refused_write_does_not_affect_others_in_the_commit(place: &Place) {
    let library = place.open();
    let feeds = feeds(&library, 3);
    let none = FeedNumber::new(99);
    let settle = |feed| library.settle(feed, told([article("a", None, "")]), at(10));
    let answers = wait(async {
        tokio::join!(
            settle(feeds[0]),
            settle(none),
            settle(feeds[1]),
            settle(none),
            settle(feeds[2])
        )
    });
    let added = |answer: Result<PollChanges, _>| answer.unwrap().added.len();
    assert_eq!((added(answers.0), added(answers.2), added(answers.4)), (1, 1, 1));
    for refused in [answers.1, answers.3] {
        assert!(matches!(refused, Err(LibraryError::NoFeed(feed)) if feed == none));
    }
    let selection = Selection { feeds, most: 9, ..Selection::default() };
    assert_eq!(wait(library.list(selection)).unwrap().len(), 3);
}
