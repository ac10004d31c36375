//! Bounds of items: an endpoint makes no item that its peers refuse, and items with many edits stay small.

use std::ops::RangeInclusive;

use crate::support::{endpoint, notes, titled};
use feedsync_core::{
    Base, By, Creation, Edit, EditError, Item, ItemId, Keep, LINE_WINDOW, MAX_CONFLICTS,
    MAX_INCOMING_UPDATES, MAX_ITEM_BYTES, MAX_UPDATES, Payload, Resolution, Resolved, Sequence,
    Stamp, Timestamp, Update, Updates,
};
use feedsync_endpoint::{EditFailure, Endpoint, EndpointError, ItemOutcome, Source};
use feedsync_formats::{Entry, compose};
use feedsync_store::{ItemStoreExt, Origin, Put, Write};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

fn id() -> ItemId {
    ItemId::new("item").unwrap()
}

fn update(sequence: u32, by: &str) -> Update {
    let when = Timestamp::from_unix_seconds(1_600_000_000 + i64::from(sequence % 1_000)).unwrap();
    Update::signed(Sequence::new(sequence).unwrap(), when, By::new(by).unwrap())
}

/// Returns an item of one version that others made.
fn foreign(updates: u32, history: Vec<Update>, payload: Payload) -> Item<Payload> {
    let stamp = Stamp::new(Timestamp::from_unix_seconds(1).unwrap(), By::new("z").unwrap());
    let mut item = Item::create(id(), Creation::default(), &stamp, payload).unwrap();
    item.winner.updates = Updates::new(updates).unwrap();
    item.winner.history = feedsync_core::History::from_updates(history).unwrap();
    item
}

async fn outcome(endpoint: &Endpoint, item: Item<Payload>) -> ItemOutcome {
    let report = endpoint.incorporate(&notes(), Source::Offered, vec![item], None).await.unwrap();
    report.items[0].outcome
}

/// Checks that a peer that has the former item, and one without it, accept the new one.
async fn peers_take(before: &Item<Payload>, made: &Item<Payload>) {
    let (fresh, old) = (endpoint("fresh").await, endpoint("old").await);
    assert_eq!(outcome(&fresh, made.clone()).await, ItemOutcome::Added);
    assert_eq!(outcome(&old, before.clone()).await, ItemOutcome::Added);
    let taken = outcome(&old, made.clone()).await;
    assert!(matches!(taken, ItemOutcome::Updated | ItemOutcome::Conflict), "{taken:?}");
    assert_eq!(outcome(&old, made.clone()).await, ItemOutcome::Unchanged);
}

fn length(item: &Item<Payload>) -> usize {
    item.versions().map(|version| version.history.updates().len()).sum()
}

#[tokio::test]
async fn more_edits_than_a_history_may_hold_leave_an_item_that_peers_accept() {
    let ann = endpoint("ann").await;
    let mut before = ann.add(&notes(), id(), Creation::default(), titled("0")).await.unwrap().item;
    for edit in 1..=MAX_UPDATES + 10 {
        let change = Edit::from(titled(&edit.to_string()));
        let made = ann.edit(&notes(), &id(), None, change).await.unwrap().item;
        if edit < MAX_UPDATES {
            before = made;
        } else {
            assert_eq!(length(&made), LINE_WINDOW);
        }
    }
    let gone = ann.edit(&notes(), &id(), None, Edit::delete()).await.unwrap().item;
    assert_eq!(gone.winner.updates.get() as usize, MAX_UPDATES + 12);
    peers_take(&before, &gone).await;
}

/// Histories that an earlier version of this program stored, or that a client pushed.
#[tokio::test]
async fn histories_that_are_too_long_are_shortened_when_they_are_written_or_received() {
    for lines in [1, 3 * MAX_UPDATES] {
        let count = 3 * MAX_UPDATES as u32;
        let line = |sequence: u32| format!("l{}", sequence as usize % lines);
        let history = (1..=count).rev().map(|it| update(it, &line(it))).collect();
        let long = foreign(count, history, titled("long"));
        let ann = endpoint("ann").await;
        let put =
            Put { item: long.clone(), created_here: true, origin: Origin::Here, blobs: vec![] };
        let write = move |_: &_| (vec![Write::Put(put.clone())], ());
        ann.store().decide(&notes(), vec![id()], write).await.unwrap();
        assert_eq!(outcome(&ann, long.clone()).await, ItemOutcome::Unchanged);
        let edited = ann.edit(&notes(), &id(), None, Edit::from(titled("on"))).await.unwrap().item;
        assert!(length(&edited) <= MAX_UPDATES);
        let gone = ann.edit(&notes(), &id(), None, Edit::delete()).await.unwrap().item;
        peers_take(&long, &gone).await;
    }
}

/// Each stale edit takes another authoring line than the winner. Lines are reused once the conflicts are
/// resolved.
#[tokio::test]
async fn stale_edits_and_resolutions_use_few_lines() {
    let ann = endpoint("ann").await;
    let first = ann.add(&notes(), id(), Creation::default(), titled("first")).await.unwrap().item;
    let mut base = Base::from(&first.winner);
    for round in 0..200 {
        let next = Edit::from(titled(&format!("next {round}")));
        let next = ann.edit(&notes(), &id(), None, next).await.unwrap().item;
        let stale = Edit::from(titled(&format!("stale {round}")));
        let both = ann.edit(&notes(), &id(), Some(base), stale).await.unwrap().item;
        assert_eq!(both.conflicts.len(), 1);
        peers_take(&next, &both).await;
        let all = Resolution { resolved: Resolved::All, keep: Keep::Winner };
        let resolved = ann.resolve(&notes(), &both, all).await.unwrap().item;
        peers_take(&both, &resolved).await;
        base = Base::from(&resolved.winner);
    }
    let ledger = ann.store().issued(&id()).await.unwrap();
    assert!(ledger.len() <= 3, "{ledger:?}");
    let stored = ann.item(&notes(), &id()).await.unwrap().item;
    assert!(length(&stored) <= 3 * LINE_WINDOW, "{}", length(&stored));
}

#[tokio::test]
async fn r_f14_an_item_whose_counter_is_used_up_refuses_edits_and_can_be_deleted_and_resolved() {
    let last = MAX_INCOMING_UPDATES;
    let full = foreign(last, vec![update(last, "a")], titled("full"));
    let ann = endpoint("ann").await;
    outcome(&ann, full.clone()).await;
    let before = ann.item(&notes(), &id()).await.unwrap();
    let refused = ann.edit(&notes(), &id(), None, Edit::from(titled("on"))).await.unwrap_err();
    let EndpointError::Edit(EditFailure::Edit(EditError::UpdatesExhausted)) = &refused else {
        panic!("{refused}");
    };
    assert!(refused.to_string().contains("copy it under a new id"), "{refused}");
    assert_eq!(ann.item(&notes(), &id()).await.unwrap(), before, "nothing was changed");
    let gone = ann.edit(&notes(), &id(), None, Edit::delete()).await.unwrap().item;
    peers_take(&full, &gone).await;

    let bob = endpoint("bob").await;
    outcome(&bob, full.clone()).await;
    outcome(&bob, foreign(last, vec![update(last, "b")], titled("other"))).await;
    let both = bob.item(&notes(), &id()).await.unwrap().item;
    assert_eq!(both.conflicts.len(), 1);
    let all = Resolution { resolved: Resolved::All, keep: Keep::Winner };
    let resolved = bob.resolve(&notes(), &both, all).await.unwrap().item;
    peers_take(&both, &resolved).await;
}

#[tokio::test]
async fn an_item_as_large_as_it_may_be_can_be_deleted_and_takes_no_more() {
    let large = |bytes: usize| {
        let content = Some("x".repeat(bytes));
        compose(feedsync_core::Format::Json, &Entry { content, ..Entry::default() })
    };
    let room = MAX_ITEM_BYTES - large(0).text().len();
    let ann = endpoint("ann").await;
    let too_large = ann.add(&notes(), id(), Creation::default(), large(room + 1)).await;
    assert!(matches!(too_large, Err(EndpointError::Edit(EditFailure::Refused(_)))));
    let full = ann.add(&notes(), id(), Creation::default(), large(room)).await.unwrap().item;
    let base = Base::from(&full.winner);
    let on = ann.edit(&notes(), &id(), None, Edit::from(large(room - 1))).await.unwrap().item;
    peers_take(&full, &on).await;
    let beside = ann.edit(&notes(), &id(), Some(base), Edit::from(titled("beside"))).await;
    assert!(matches!(beside, Err(EndpointError::Edit(EditFailure::Refused(_)))));
    let gone = ann.edit(&notes(), &id(), None, Edit::delete()).await.unwrap().item;
    peers_take(&on, &gone).await;
}

#[tokio::test]
async fn an_item_with_as_many_conflicts_as_there_may_be_refuses_one_more_alone() {
    let ann = endpoint("ann").await;
    for number in 0..=MAX_CONFLICTS {
        let history = (1..=30).rev().map(|it| update(it, &format!("b{number}"))).collect();
        outcome(&ann, foreign(30, history, titled(&number.to_string()))).await;
    }
    let full = ann.item(&notes(), &id()).await.unwrap().item;
    assert_eq!(full.conflicts.len(), MAX_CONFLICTS);
    assert!(length(&full) <= MAX_UPDATES);
    let base = Base::from(&full.winner);
    let on = ann.edit(&notes(), &id(), None, Edit::from(titled("on"))).await.unwrap().item;
    peers_take(&full, &on).await;
    let beside = ann.edit(&notes(), &id(), Some(base), Edit::from(titled("beside"))).await;
    assert!(matches!(beside, Err(EndpointError::Edit(EditFailure::Refused(_)))));
    let gone = ann.edit(&notes(), &id(), None, Edit::delete()).await.unwrap().item;
    peers_take(&on, &gone).await;
    let all = Resolution { resolved: Resolved::All, keep: Keep::Winner };
    let resolved = ann.resolve(&notes(), &gone, all).await.unwrap().item;
    peers_take(&gone, &resolved).await;
}

/// Returns a number near one of the ends of a range, or anywhere in it.
fn near(random: &mut SmallRng, range: RangeInclusive<u32>) -> u32 {
    let (low, high) = range.into_inner();
    match random.random_range(0..4) {
        0 => random.random_range(low..=high),
        1 => low + random.random_range(0..=2.min(high - low)),
        _ => high - random.random_range(0..=2.min(high - low)),
    }
}

/// Returns a version with a counter near `most` or below it, and with few or many authoring lines.
fn random_version(random: &mut SmallRng, name: &str, most: u32) -> Item<Payload> {
    let updates = near(random, 1..=most);
    let lines = *[1, 2, 40, 600].choose(random).unwrap();
    let mut history = vec![update(updates, name)];
    history.extend((1..lines).map(|line| update(line, &format!("{name}-line{line}"))));
    foreign(updates, history, titled(name))
}

/// Does one random thing to the item: edits, deletes, restores or resolves it, or receives a version from
/// elsewhere.
async fn act(random: &mut SmallRng, endpoint: &Endpoint, base: &Base, round: u32) {
    let stored = endpoint.item(&notes(), &id()).await.unwrap().item;
    let change = || Edit::from(titled(&format!("edit {round}")));
    let made = match random.random_range(0..7) {
        0 => endpoint.edit(&notes(), &id(), None, change()).await,
        1 | 2 => endpoint.edit(&notes(), &id(), Some(base.clone()), change()).await,
        3 => endpoint.edit(&notes(), &id(), None, Edit::delete()).await,
        4 => endpoint.edit(&notes(), &id(), None, Edit::undelete()).await,
        5 => {
            let some = Resolved::Some(vec![0]);
            let resolved = if random.random() { Resolved::All } else { some };
            let content = Keep::Content { payload: titled("resolved"), deleted: None };
            let keep = if random.random() { Keep::Winner } else { content };
            endpoint.resolve(&notes(), &stored, Resolution { resolved, keep }).await
        }
        _ => {
            let incoming = random_version(random, &format!("r{round}"), MAX_INCOMING_UPDATES);
            outcome(endpoint, incoming).await;
            return;
        }
    };
    if made.is_err() {
        let after = endpoint.item(&notes(), &id()).await.unwrap().item;
        assert_eq!(after, stored, "what is refused changes nothing");
    }
}

/// A peer accepts each item that an endpoint makes near a bound, whether or not it has the version before.
#[tokio::test]
async fn no_operation_near_a_bound_makes_an_item_that_a_peer_refuses() {
    for seed in 0..12 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let (ann, old) = (endpoint("ann").await, endpoint("old").await);
        let most = [MAX_INCOMING_UPDATES, 100][seed as usize % 2];
        let versions = [MAX_CONFLICTS + 1, MAX_CONFLICTS, 2][seed as usize % 3];
        for number in 0..versions {
            let first = random_version(random, &format!("v{number}"), most);
            assert_ne!(outcome(&ann, first).await, ItemOutcome::Unchanged);
        }
        let base = Base::from(&ann.item(&notes(), &id()).await.unwrap().item.winner);
        for round in 0..8 {
            act(random, &ann, &base, round).await;
            let made = ann.item(&notes(), &id()).await.unwrap().item;
            let fresh = endpoint("fresh").await;
            assert_eq!(outcome(&fresh, made.clone()).await, ItemOutcome::Added, "{seed} {round}");
            let taken = outcome(&old, made).await;
            assert!(!matches!(taken, ItemOutcome::Refused(_)), "{seed} {round}: {taken:?}");
        }
    }
}
