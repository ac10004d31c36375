//! Merging small items on one core.

use std::hint::black_box;

use feedsync_core::{By, Creation, Incorporation, Item, ItemId, Payload, Stamp, Timestamp};

use crate::measure::{Times, interleaved};

const ITEMS: usize = 2_000;

/// Rate of the fastest other implementation on one core, in small items per second, as measured by the project's
/// owners.
const PEER: f64 = 410_000.0;

/// A small item and a later state of it, as two endpoints have them.
fn pair(index: usize, edited_by: &[&str]) -> (Item<Payload>, Item<Payload>) {
    let when = Timestamp::from_unix_seconds(1_700_000_000 + index as i64).expect("a date");
    let stamp = |by: &str| Stamp::new(when, By::new(by).expect("a valid by"));
    let payload = |text: &str| Payload::from_parsed(feedsync_core::Format::Json, text);
    let id = ItemId::new(&format!("item-{index}")).expect("a valid id");
    let mut item =
        Item::create(id, Creation::default(), &stamp("ann"), payload("{\"title\":\"x\"}"))
            .expect("a first edit");
    item.update(&stamp("bob"), payload("{\"title\":\"y\"}").into()).expect("room");
    let before = item.clone();
    for by in edited_by {
        item.update(&stamp(by), payload("{\"title\":\"z\"}").into()).expect("room");
    }
    (before, item)
}

type Pairs = Vec<(Item<Payload>, Item<Payload>)>;

fn pairs(local: &[&str], incoming: &[&str]) -> Pairs {
    (0..ITEMS).map(|index| (pair(index, local).1, pair(index, incoming).1)).collect()
}

fn merge_all(pairs: Pairs) {
    for (local, incoming) in pairs {
        black_box(feedsync_core::merge(Some(local), incoming).expect("one id"));
    }
}

pub(crate) fn run() {
    let incorporate_all = |pairs: Pairs| {
        for (local, incoming) in pairs {
            let outcome = feedsync_core::incorporate(Some(&local), None, incoming);
            assert!(matches!(outcome, Incorporation::Unchanged));
            black_box(outcome);
        }
    };
    // Identifiers and payloads are shared with the stored items, as in a store.
    let newer = pairs(&[], &["ann"]);
    let older = pairs(&["ann"], &[]);
    let concurrent = pairs(&["ann"], &["carol"]);
    let known = pairs(&["ann"], &["ann"]);
    let times = interleaved(&mut [
        (&mut || newer.clone(), &mut merge_all),
        (&mut || older.clone(), &mut merge_all),
        (&mut || concurrent.clone(), &mut merge_all),
        (&mut || known.clone(), &mut { incorporate_all }),
        (&mut || pairs(&[], &["ann"]), &mut merge_all),
    ]);
    println!("## Merging {ITEMS} small items, one core\n");
    println!("| outcome | processor time | items a second | against the best peer's figure |");
    println!("|---|---|---|---|");
    let names = [
        "updated",
        "unchanged",
        "conflict",
        "incorporated: unchanged",
        "updated, no identifier shared: what is freed counts",
    ];
    for (name, times) in names.iter().zip(&times) {
        row(name, times);
    }
    println!(
        "\nThe best peer's figure, about 410,000 small items a second on one core, is what the \
         project's owners measured;\nit was not measured in this run.\n"
    );
}

fn row(name: &str, times: &Times) {
    let rate = times.rate(ITEMS);
    println!("| {name} | {times} | {rate:.0} | {:.1} times |", rate / PEER);
}
