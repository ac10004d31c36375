//! Tests that each feed is claimed by one caller, even with several processes.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;

use crate::samples::{Place, addresses, at, feeds, reader, told};
use crate::wait;

pub(crate) fn a_feed_is_claimed_once(place: &Place) {
    let first = place.open();
    let all: BTreeSet<_> = feeds(&first, 200).into_iter().collect();
    let second = place.open();
    let start = Arc::new(Barrier::new(4));
    let libraries = [first, second];
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (library, start) = (Arc::clone(&libraries[thread % 2]), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let mut claimed = Vec::new();
                loop {
                    let some = wait(library.claim(at(5), at(10), 3)).unwrap();
                    if some.is_empty() {
                        return claimed;
                    }
                    claimed.extend(some.into_iter().map(|feed| feed.number));
                }
            })
        })
        .collect();
    let claimed: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(claimed.len(), all.len());
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), all);
}

pub(crate) fn claimed_feed_is_not_claimed_again(place: &Place) {
    let library = place.open();
    let feed = feeds(&library, 1)[0];
    let claim = |now| wait(library.claim(at(now), at(now + 10), 9)).unwrap().len();
    assert_eq!(claim(1), 1);
    wait(library.make_due(&[feed], at(2))).unwrap();
    assert_eq!(claim(3), 0);
    // Another reader subscribes after the only one has left.
    wait(library.set_subscriptions(&reader(0), &addresses([]), at(4))).unwrap();
    wait(library.set_subscriptions(&reader(1), &addresses([0]), at(5))).unwrap();
    assert_eq!(claim(6), 0);
    // The claim expired.
    assert_eq!(claim(11), 1);
    wait(library.settle(feed, told([]), at(12))).unwrap();
    wait(library.make_due(&[feed], at(13))).unwrap();
    assert_eq!(wait(library.next_due()).unwrap(), Some(at(13)));
    assert_eq!(claim(13), 1);
}
