//! Small sets of feeds, articles, dates and devices, so that all combinations occur.

use feedsync_log::{Line, Millis, Record, Stamp, Tick};
use feedsync_reading_state::{
    Action, ArticleId, Change, FeedAddress, FeedState, Folder, ReaderState, SettingName,
    SettingValue,
};
use proptest::prelude::*;

/// The feed named by a letter.
pub(crate) fn feed(name: &str) -> FeedAddress {
    format!("https://{name}.example/feed").parse().unwrap()
}

/// The article named by a letter.
pub(crate) fn article(name: &str) -> ArticleId {
    name.parse().unwrap()
}

pub(crate) fn stamp(text: &str) -> Stamp {
    text.parse().unwrap()
}

pub(crate) fn millis(millis: u64) -> Millis {
    Millis::new(millis)
}

pub(crate) fn folder(names: &[&str]) -> Folder {
    Folder::new(names.iter().map(|name| name.parse().unwrap()).collect()).unwrap()
}

/// The record of a line.
pub(crate) fn record(line: &str) -> Record {
    match Line::read(line.as_bytes()) {
        Line::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

/// The state of one feed after these actions.
pub(crate) fn feed_state(done: &[(Action, &str)]) -> FeedState {
    let mut state = FeedState::default();
    for (action, when) in done {
        state.join(action.clone().state(stamp(when)));
    }
    state
}

/// The state after these changes.
pub(crate) fn state<'a>(changes: impl IntoIterator<Item = &'a Change>) -> ReaderState {
    let mut state = ReaderState::default();
    for change in changes {
        state.apply_change(change);
    }
    state
}

pub(crate) fn any_stamp() -> impl Strategy<Value = Stamp> {
    ("[abc]", 0..6_u64, 0..2_u32).prop_map(|(device, millis, count)| Stamp {
        tick: Tick::new(Millis::new(millis), count),
        device: device.parse().unwrap(),
    })
}

pub(crate) fn any_date() -> impl Strategy<Value = Option<Millis>> {
    prop::option::of((0..5_u64).prop_map(Millis::new))
}

pub(crate) fn any_article() -> impl Strategy<Value = ArticleId> {
    "[xyz]".prop_map(|name| article(&name))
}

pub(crate) fn any_feed() -> impl Strategy<Value = FeedAddress> {
    "[abcd]".prop_map(|name| feed(&name))
}

pub(crate) fn any_action() -> impl Strategy<Value = Action> {
    let title = || prop::option::of("[ST]".prop_map(|text| text.parse().unwrap()));
    let any_folder = || {
        prop::collection::vec("[FG]", 0..3).prop_map(|names| {
            Folder::new(names.iter().map(|name| name.parse().unwrap()).collect()).unwrap()
        })
    };
    let position = || "[1-3]".prop_map(|text| text.parse().unwrap());
    prop_oneof![
        (title(), prop::option::of(any_folder()), prop::option::of(position()))
            .prop_map(|(title, folder, position)| Action::Subscribe { title, folder, position }),
        Just(Action::Unsubscribe),
        title().prop_map(|title| Action::Rename { title }),
        any_folder().prop_map(|folder| Action::Move { folder }),
        position().prop_map(|position| Action::Place { position }),
        any_feed().prop_map(|to| Action::FeedMoved { to }),
        any_reading(),
        any_reading(),
        any_article().prop_map(|article| Action::Star { article }),
        any_article().prop_map(|article| Action::Unstar { article }),
        any_article().prop_map(|article| Action::Hide { article }),
        any_article().prop_map(|article| Action::Unhide { article }),
        (any_article(), "[tu]")
            .prop_map(|(article, tag)| Action::Tag { article, tag: tag.parse().unwrap() }),
        (any_article(), "[tu]")
            .prop_map(|(article, tag)| Action::Untag { article, tag: tag.parse().unwrap() }),
    ]
}

/// Actions that concern whether articles are read.
pub(crate) fn any_reading() -> impl Strategy<Value = Action> {
    prop_oneof![
        (0..5_u64).prop_map(|at| Action::ReadUpTo { at: Millis::new(at) }),
        (any_article(), any_date()).prop_map(|(article, at)| Action::Read { article, at }),
        (any_article(), any_date()).prop_map(|(article, at)| Action::Unread { article, at }),
    ]
}

/// A change that this version knows, or sometimes one that it does not.
pub(crate) fn any_change() -> impl Strategy<Value = Change> {
    let known = (any_action(), any_feed(), any_stamp())
        .prop_map(|(action, feed, stamp)| action.change(&feed, stamp));
    let unknown = (any_action(), any_feed(), any_stamp(), "[pq]")
        .prop_map(|(action, feed, stamp, act)| Change { act, ..action.change(&feed, stamp) });
    prop_oneof![8 => known, 2 => any_setting(), 1 => unknown]
}

/// A change that sets or removes a setting.
fn any_setting() -> impl Strategy<Value = Change> {
    ("[mn]", prop::option::of(0..3_u8), any_stamp()).prop_map(|(name, value, stamp)| {
        let value = value.map(|value| SettingValue::new(&value.into()).unwrap());
        name.parse::<SettingName>().unwrap().change(value.as_ref(), stamp)
    })
}

pub(crate) fn any_changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any_change(), 0..16)
}

pub(crate) fn any_state() -> impl Strategy<Value = ReaderState> {
    any_changes().prop_map(|changes| state(&changes))
}

pub(crate) fn any_feed_state() -> impl Strategy<Value = FeedState> {
    prop::collection::vec((any_action(), any_stamp()), 0..12).prop_map(|done| {
        let mut state = FeedState::default();
        for (action, stamp) in done {
            state.join(action.state(stamp));
        }
        state
    })
}
