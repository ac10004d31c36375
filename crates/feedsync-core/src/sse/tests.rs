//! Examples and clauses of the specification, the laws that hold or fail, and the conversion to
//! FeedSync.

mod bridge;
mod examples;
mod laws;
mod merging;
mod records;

use proptest::prelude::*;

use crate::sse::{
    Change, Conflict, Date, History, Item, Stamp, VersionExhausted, VersionNumber, add_conflict,
    conflicts_with, merge, wins,
};
use crate::{By, DifferentItems, ItemId, Outcome};

fn date(text: &str) -> Date {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn stamp(by: &str, when: &str) -> Stamp {
    let when = (!when.is_empty()).then(|| date(when));
    Stamp::new(when, By::new(by).ok()).unwrap()
}

/// A stamp of 20 May 2005 at so many seconds after midnight.
fn at(by: &str, second: u32) -> Stamp {
    stamp(
        by,
        &format!("20 May 2005 {:02}:{:02}:{:02} GMT", second / 3600, second / 60 % 60, second % 60),
    )
}

fn version(number: u64) -> VersionNumber {
    VersionNumber::new(number).unwrap()
}

fn item(payload: &'static str, stamp: Stamp) -> Item<&'static str> {
    Item::create(ItemId::new("item").unwrap(), payload, stamp)
}

fn update(payload: &'static str, stamp: Stamp) -> Change<&'static str> {
    Change { payload: Some(payload), deleted: false, stamp, keep: None }
}

fn updated(item: &Item<&'static str>, payload: &'static str, stamp: Stamp) -> Item<&'static str> {
    let mut item = item.clone();
    item.change(update(payload, stamp)).unwrap();
    item
}

fn merged(x: &Item<&'static str>, y: &Item<&'static str>) -> Item<&'static str> {
    merge(Some(x.clone()), y.clone()).unwrap().0
}

fn record(number: u64, stamp: Stamp, payload: &'static str) -> Conflict<&'static str> {
    Conflict { version: version(number), stamp, payload: Some(payload) }
}

fn days(item: &Item<&'static str>) -> Vec<String> {
    let stamps = std::iter::once(&item.history.latest).chain(&item.history.updates);
    stamps.map(|stamp| stamp.when().map_or_else(String::new, Date::to_string)).collect()
}

/// States that three endpoints can be in: a line of versions with forks, merges and deletions. The
/// second choice is the number of `sx:update`s that they keep.
fn states(truncated: bool) -> impl Strategy<Value = Vec<Item<&'static str>>> {
    let steps = proptest::collection::vec((0..3usize, 0..3usize, 0..4u32, any::<bool>()), 0..12);
    let keep = if truncated { 0..3usize } else { usize::MAX - 1..usize::MAX };
    (steps, keep).prop_map(|(steps, keep)| {
        let names = ["A", "B", "C"];
        let mut states = vec![item("", at("A", 0)); 3];
        for (number, (actor, other, skew, merges)) in steps.into_iter().enumerate() {
            if merges {
                states[actor] = merged(&states[actor], &states[other]);
            } else {
                let stamp = at(names[actor], number as u32 / 2 + skew);
                let payload = Some(["a", "b", "c"][actor]);
                let change = Change { payload, deleted: skew == 3, stamp, keep: Some(keep) };
                states[actor].change(change).unwrap();
            }
        }
        states
    })
}
