//! Tests of retention, deletion and limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use feedsync_aggregator::{
    Icon, Library, LibraryError, MAX_ICON_BYTES, MAX_LOADED, MAX_QUERY_BYTES, Origin, Retention,
    Selection, StoredIcon,
};
use feedsync_reader_api::ArticleNumber;

use crate::samples::{Place, addresses, article, at, feeds, reader, told};
use crate::wait;

/// No number is assigned twice, independent of sweeps, deletions and reopening.
pub(crate) fn numbers_are_never_reused(place: &Place) {
    let mut library = place.open();
    let feed = feeds(&library, 1)[0];
    let mut met = BTreeSet::new();
    let mut feeds_met = BTreeSet::from([feed]);
    for round in 0..6 {
        let feed = *feeds_met.last().unwrap();
        let articles = (0..3).map(|number| article(&format!("{number}"), None, "same"));
        for number in wait(library.settle(feed, told(articles), at(round))).unwrap().added {
            assert!(met.insert(number), "{number}");
        }
        wait(library.settle(feed, told([]), at(round))).unwrap();
        let nothing = Retention { received_since: at(1_000), ..Retention::default() };
        assert_eq!(wait(library.sweep(feed, nothing)).unwrap(), 3);
        if round % 2 == 1 {
            wait(library.set_subscriptions(&reader(0), &addresses([]), at(round))).unwrap();
            assert_eq!(
                wait(library.delete_abandoned_feeds(at(round + 1), &BTreeSet::new())).unwrap(),
                1
            );
            assert!(feeds_met.insert(feeds(&library, 1)[0]));
            drop(library);
            library = place.open();
        }
    }
    assert_eq!((met.len(), feeds_met.len()), (18, 4));
}

/// One call deletes more than one batch.
pub(crate) fn a_long_feed_is_swept_and_forgotten_whole(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let articles = |from: u64| {
        (from..from + 1_200).map(|number| article(&format!("{number}"), Some(number), "word"))
    };
    wait(library.settle(feed, told(articles(0)), at(5_000))).unwrap();
    wait(library.settle(feed, told(articles(1_200)), at(5_000))).unwrap();
    let names = ["7", "9"].map(|name| name.parse().unwrap()).into();
    let keep = Retention { received_since: at(6_000), newest: 1_300, names };
    assert_eq!(wait(library.sweep(feed, keep)).unwrap(), 1_098);
    let kept = wait(library.feed(feed)).unwrap().unwrap();
    assert_eq!((kept.articles, kept.newest), (1_302, Some(at(2_399))));
    let selection = || Selection { feeds: vec![feed], most: 9_000, ..Selection::default() };
    assert_eq!(wait(library.list(selection())).unwrap().len(), 1_302);
    assert_eq!(wait(library.search("word", selection())).unwrap().len(), 1_302);

    wait(library.set_subscriptions(&reader(0), &addresses([]), at(7_000))).unwrap();
    assert_eq!(wait(library.delete_abandoned_feeds(at(7_000), &BTreeSet::new())).unwrap(), 0);
    assert_eq!(wait(library.delete_abandoned_feeds(at(7_001), &BTreeSet::new())).unwrap(), 1);
    assert_eq!(wait(library.feed(feed)).unwrap(), None);
    assert_eq!(wait(library.list(selection())).unwrap(), []);
    assert!(matches!(
        wait(library.settle(feed, told([]), at(8_000))),
        Err(LibraryError::NoFeed(none)) if none == feed
    ));
}

/// Each retention rule suffices to keep an article.
pub(crate) fn sweep_deletes_articles_without_a_retention_rule(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let arrive = |name: &str, at_moment| {
        wait(library.settle(feed, told([article(name, None, "")]), at(at_moment))).unwrap();
    };
    for (name, moment) in [("early", 4), ("at", 5), ("late", 6), ("told", 3)] {
        arrive(name, moment);
    }
    let sweep = |received_since, newest, names: &[&str]| {
        let names = names.iter().map(|name| name.parse().unwrap()).collect();
        let keep = Retention { received_since: at(received_since), newest, names };
        wait(library.sweep(feed, keep)).unwrap()
    };
    assert_eq!(sweep(5, 1, &["early"]), 0);
    assert_eq!(sweep(9, 3, &[]), 0);
    assert_eq!(sweep(9, 1, &["at", "early"]), 0);
    assert_eq!(sweep(5, 1, &[]), 1);
    assert_eq!(sweep(9, 0, &[]), 2);
    let kept = wait(library.feed(feed)).unwrap().unwrap();
    assert_eq!((kept.articles, kept.newest), (1, Some(at(3))));
    wait(library.settle(feed, told([]), at(10))).unwrap();
    assert_eq!(sweep(9, 0, &[]), 1);
    assert_eq!(wait(library.feed(feed)).unwrap().unwrap().newest, None);
}

pub(crate) fn icons_are_stored_by_site(place: &Place) {
    let library = place.open();
    let origin: Origin = "https://example.org/feed".parse().unwrap();
    let other: Origin = "https://example.org:8443/".parse().unwrap();
    assert_eq!(wait(library.icon(&origin)).unwrap(), None);
    let icon = Icon { media_type: "image/png".to_owned(), bytes: vec![0, 1, 255] };
    wait(library.set_icon(&origin, Some(icon.clone()), at(5))).unwrap();
    let kept = StoredIcon { checked: at(5), icon: Some(icon.clone()) };
    assert_eq!(wait(library.icon(&origin)).unwrap(), Some(kept.clone()));
    assert_eq!(wait(library.icon(&other)).unwrap(), None);
    let bytes = vec![0; MAX_ICON_BYTES + 1];
    let refused = wait(library.set_icon(&origin, Some(Icon { bytes, ..icon }), at(6))).unwrap_err();
    assert_eq!(refused.to_string(), "the icon of https://example.org has more than 262144 bytes");
    drop(library);
    let library = place.open();
    assert_eq!(wait(library.icon(&origin)).unwrap(), Some(kept));
    wait(library.set_icon(&origin, None, at(7))).unwrap();
    let none = StoredIcon { checked: at(7), icon: None };
    assert_eq!(wait(library.icon(&origin)).unwrap(), Some(none));
}

pub(crate) fn too_much_is_refused(place: &Place) {
    let library = place.open();
    let numbers = vec![ArticleNumber::new(1); MAX_LOADED + 1];
    let refused = wait(library.articles(&numbers)).unwrap_err().to_string();
    assert_eq!(refused, "the list of articles to show has more than 1000 numbers");
    let words = "a".repeat(MAX_QUERY_BYTES + 1);
    let refused = wait(library.search(&words, Selection::default())).unwrap_err().to_string();
    assert_eq!(refused, "what is searched for has more than 1024 bytes");
    // The maximum number of words.
    let words: String =
        ('a'..='z').cycle().take(MAX_QUERY_BYTES / 2).flat_map(|one| [one, ' ']).collect();
    assert_eq!(wait(library.search(&words, Selection::default())).unwrap(), []);
    let words: String = (0..MAX_QUERY_BYTES / 4).map(|number| format!("{number:03} ")).collect();
    assert_eq!(wait(library.search(&words, Selection::default())).unwrap(), []);
    let words = "a.".repeat(MAX_QUERY_BYTES / 2);
    assert_eq!(wait(library.search(&words, Selection::default())).unwrap(), []);
}

/// The caller of a list gets the error, and others are not affected.
pub(crate) fn panicking_filter_affects_only_its_caller(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    wait(library.settle(feed, told([article("a", None, "")]), at(1))).unwrap();
    let selection = Selection { feeds: vec![feed], most: 9, ..Selection::default() };
    let keep = Arc::new(|_: &_| panic!("as it does in this test"));
    let panics = Selection { keep: Some(keep), ..selection.clone() };
    for _ in 0..9 {
        let failed = wait(library.list(panics.clone()));
        assert!(matches!(failed, Err(LibraryError::Decision)));
    }
    assert_eq!(wait(library.list(selection)).unwrap().len(), 1);
}

/// Holds of hosts survive the process, expire, and are replaced by the latest response of the server.
pub(crate) fn a_hold_of_a_host_is_kept_until_it_ends(place: &Place) {
    let library = place.open();
    let host_hold = |library: &Arc<dyn Library>, host: &str, now| {
        wait(library.host_hold(host, at(now))).unwrap()
    };
    wait(library.hold("a.example", at(100), at(10))).unwrap();
    drop(library);
    let library = place.open();
    assert_eq!(host_hold(&library, "a.example", 99), Some(at(100)));
    assert_eq!(host_hold(&library, "a.example", 100), None);
    assert_eq!(host_hold(&library, "b.example", 10), None);
    wait(library.hold("a.example", at(50), at(20))).unwrap();
    assert_eq!(host_hold(&library, "a.example", 20), Some(at(50)));
    wait(library.hold("b.example", at(90), at(60))).unwrap();
    assert_eq!(host_hold(&library, "a.example", 20), None, "an ended hold is removed");
    assert!(wait(library.hold(&"x".repeat(70_000), at(90), at(60))).is_err());
}
