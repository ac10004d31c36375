//! Fuzz targets for reading states: records, documents, snapshots and lists of subscriptions.
//!
//! What was read is a fixed point here too, and merging it again changes nothing.

use feedsync_log::{Line, Stamp};
use feedsync_reading_state::{
    Change, FeedState, ImportPolicy, ReaderState, Snapshot, SubscriptionList, read_document,
    write_document,
};

/// Reads lines of a log. A record is written as it was, and applying it twice has the effect of applying it
/// once.
pub fn records(bytes: &[u8]) -> usize {
    let mut state = ReaderState::default();
    let mut read = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let Line::Record(record) = Line::read(line) else { continue };
        assert_eq!(Line::read(record.line().as_bytes()), Line::Record(record.clone()));
        state.apply(&record);
        assert!(!state.apply(&record), "{record:?} is done twice");
        if let Some((feed, told)) = ReaderState::delta(&record) {
            let [change] = &told.changes_missing_in(&FeedState::default(), &feed)[..] else {
                panic!("{record:?} does more than one thing")
            };
            assert_eq!(change.delta(), Some((feed, told)), "{record:?}");
        }
        read += 1;
    }
    let mut told = ReaderState::default();
    for change in state.changes_missing_in(&ReaderState::default()) {
        told.apply_change(&change);
    }
    assert_eq!(told, state);
    check_snapshot(&Snapshot { covers: None, state });
    read
}

/// Reads lines as documents of feeds. A document has one written form, and merged with itself it stays the
/// same.
pub fn document(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let mut read = 0;
    for line in text.lines() {
        let Ok((feed, state)) = read_document(line) else { continue };
        let written = write_document(&feed, &state);
        let again = read_document(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(again, (feed.clone(), state.clone()), "{written}");
        let mut joined = state.clone();
        assert!(!joined.join(state.clone()), "{written}");
        assert_eq!(write_document(&feed, &joined), written);
        let mut told = FeedState::default();
        for change in state.changes_missing_in(&told, &feed) {
            let delta = change.delta().unwrap_or_else(|| panic!("{change:?} does nothing"));
            assert!(told.join(delta.1), "{change:?} was said");
        }
        read += 1;
    }
    read
}

/// Reads snapshots; each has one written form.
pub fn snapshot(bytes: &[u8]) -> usize {
    let Ok(snapshot) = Snapshot::read(bytes) else { return 0 };
    check_snapshot(&snapshot);
    snapshot.state.feeds().count() + snapshot.state.kept()
}

fn check_snapshot(snapshot: &Snapshot) {
    let written = snapshot.write();
    let again = Snapshot::read(written.as_bytes());
    assert_eq!(again.as_ref(), Ok(snapshot), "{written}");
    assert_eq!(snapshot.write(), written);
}

/// Reads OPML of other newsreaders. An imported list is the same after export and import.
pub fn subscriptions(bytes: &[u8]) -> usize {
    let Ok(list) = SubscriptionList::read(bytes) else { return 0 };
    let Ok(stamp) = "1.0@a".parse::<Stamp>() else { unreachable!("a stamp") };
    let take_in = |list: &SubscriptionList| {
        let mut state = ReaderState::default();
        for (feed, action) in
            list.actions(&ReaderState::default().view(), ImportPolicy::KeepExisting)
        {
            let change: Change = action.change(&feed, stamp.clone());
            assert!(state.apply_change(&change), "{change:?}");
        }
        state
    };
    let state = take_in(&list);
    assert_eq!(state.kept(), 0);
    let written = state.view().opml("all");
    let again = SubscriptionList::read(written.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {written}"));
    assert!(again.refused.is_empty(), "{written}");
    assert_eq!(again.feeds.len(), list.feeds.len(), "{written}");
    assert_eq!(take_in(&again).view().opml("all"), written);
    assert_eq!(again.actions(&state.view(), ImportPolicy::ReplaceExisting), [], "{written}");
    list.feeds.len()
}
