//! Subscribers of a collection are notified of its changes, and not of those of others.

use std::time::{Duration, Instant};

use super::samples::{by, create, id, open, sequence, store_each, write};
use super::{Constructor, wait};
use crate::{ChangeNumber, CollectionChange, ItemStore, NewRemote, Notices, RemoteState, Write};

/// Longer than a store's interval of polling for commits of other processes.
pub(super) const QUIET: Duration = Duration::from_millis(1_500);

/// Whether there is a notice within a duration.
pub(super) fn receives_notice(notices: &mut Notices, soon: Duration) -> bool {
    wait(async { tokio::time::timeout(soon, notices.next()).await }) == Ok(true)
}

/// Waits until there are no more notices: a new subscriber may get one for earlier changes.
pub(super) fn drain_notices(notices: &mut Notices) {
    let begin = Instant::now();
    while receives_notice(notices, QUIET) {
        assert!(begin.elapsed() < 10 * QUIET, "nothing happens, and no end of notices");
    }
}

/// Subscribers of a collection are notified of its changes, and can wait for the next.
pub fn changes_are_noticed(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut notices = store.subscribe(&notes);
    for name in ["a", "b"] {
        store_each(store, &notes, &[name]);
        assert!(receives_notice(&mut notices, Duration::from_secs(5)));
    }
}

/// Marking changes as shown, issuing sequences and the state of remotes cause no notice, because followers
/// see no difference. Otherwise a thousand followers would read again whenever one of them has read.
pub fn changes_that_followers_cannot_see_cause_no_notice(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a"]);
    let url = "http://example.org/notes".to_owned();
    let new = NewRemote { collection: notes.clone(), name: None, url, subscription: None };
    let remote = wait(store.add_remote(new)).expect("added");
    let mut notices = store.subscribe(&notes);
    drain_notices(&mut notices);
    wait(store.mark_sent(&notes, ChangeNumber::new(1))).expect("marked");
    let state = RemoteState { pushed: ChangeNumber::new(1), ..RemoteState::default() };
    let unseen = vec![
        Write::Issue { item: id("a"), by: by("tester.x"), sequence: sequence(1) },
        Write::Remote { id: remote.id, state },
    ];
    write(store, &notes, &["a"], unseen).expect("written");
    write(store, &notes, &["a"], Vec::new()).expect("nothing written");
    let before = wait(store.collection(&notes)).expect("read").expect("there");
    let same = CollectionChange { title: Some(before.title), ..Default::default() };
    wait(store.change_collection(&notes, same)).expect("changed");
    assert!(!receives_notice(&mut notices, QUIET), "nobody sees any of this");
    let change = CollectionChange { title: Some("Notes!".to_owned()), ..Default::default() };
    wait(store.change_collection(&notes, change)).expect("changed");
    assert!(receives_notice(&mut notices, Duration::from_secs(5)));
}
