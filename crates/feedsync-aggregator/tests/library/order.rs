//! Articles become visible in the order of their numbers, whoever stores them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use feedsync_aggregator::Selection;
use feedsync_reader_api::ArticleNumber;

use crate::samples::{Place, article, at, feeds, told};
use crate::wait;

const WRITERS: usize = 4;

/// A client that asks for what is above the highest number that it knows misses no article.
pub(crate) fn a_follower_by_number_misses_no_article(place: &Place) {
    let libraries = [place.open(), place.open()];
    let feeds = feeds(&libraries[0], WRITERS as u8);
    let writing = AtomicUsize::new(WRITERS);
    let (added, seen) = thread::scope(|scope| {
        let write = |writer: usize| {
            let (library, feed, writing) = (&libraries[writer % 2], feeds[writer], &writing);
            move || {
                let mut added = BTreeSet::new();
                for round in 0..25 {
                    let articles =
                        (0..3).map(|place| article(&format!("{round}.{place}"), None, ""));
                    added.extend(wait(library.settle(feed, told(articles), at(9))).unwrap().added);
                }
                writing.fetch_sub(1, Ordering::SeqCst);
                added
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(write(writer))).collect();
        let (mut seen, mut last) = (BTreeSet::new(), ArticleNumber::new(0));
        loop {
            let is_done = writing.load(Ordering::SeqCst) == 0;
            let selection = Selection {
                feeds: feeds.clone(),
                by_number: true,
                oldest_first: true,
                above: Some(last),
                most: 10,
                ..Selection::default()
            };
            let page = wait(libraries[1].list(selection)).unwrap();
            if page.is_empty() && is_done {
                break;
            }
            for row in page {
                assert!(row.number > last);
                last = row.number;
                seen.insert(row.number);
            }
        }
        let added = writers.into_iter().flat_map(|writer| writer.join().unwrap());
        (added.collect::<BTreeSet<_>>(), seen)
    });
    assert_eq!(added.len(), WRITERS * 25 * 3);
    assert_eq!(seen, added);
}
