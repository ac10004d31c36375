//! Origins of items: which items may be discarded, and which are refused.

use crate::support::{endpoint, notes, titled};
use feedsync_core::{
    Base, By, Creation, Edit, History, Item, ItemId, MAX_CONFLICTS, Payload, Refusal, Sequence,
    Stamp, Timestamp, Update, Updates,
};
use feedsync_endpoint::{
    Conclusion, EditFailure, Endpoint, EndpointError, ItemOutcome, SeenVersions, Source,
};
use feedsync_store::{ChangeNumber, Moment, NewRemote, Origin, PushRefusal, RemoteId, RemoteState};

async fn remote(endpoint: &Endpoint, url: &str) -> RemoteId {
    let new = NewRemote { collection: notes(), name: None, url: url.into(), subscription: None };
    endpoint.store().add_remote(new).await.unwrap().id
}

/// R-F36: items that came from another subscription as well stay.
#[tokio::test]
async fn item_of_two_remotes_is_kept_when_one_drops_it() {
    let (ann, bob) = (endpoint("ann").await, endpoint("bob").await);
    let (first, second) = (remote(&bob, "http://one/").await, remote(&bob, "http://two/").await);
    let mut items = Vec::new();
    for title in ["both", "one"] {
        let id = ann.new_id();
        items.push(ann.add(&notes(), id, Creation::default(), titled(title)).await.unwrap().item);
    }
    let (both, one) = (items[0].id.clone(), items[1].id.clone());
    bob.incorporate(&notes(), Source::Remote(first), items.clone(), None).await.unwrap();
    let before = bob.collection(&notes()).await.unwrap().last;
    items.truncate(1);
    let report = bob.incorporate(&notes(), Source::Remote(second), items, None).await.unwrap();
    assert_eq!(report.counts.unchanged, 1);
    assert_eq!(report.collection.last, before, "nothing changed for those who read");
    assert_eq!(bob.item(&notes(), &both).await.unwrap().origin, Origin::Mixed);

    let mut states = bob.store().remotes(None).await.unwrap();
    for state in &mut states {
        state.state.pushed = before;
        bob.store().change_remote(state.clone()).await.unwrap();
    }
    assert_eq!(bob.discard_absent(&notes(), first, &SeenVersions::default()).await.unwrap(), 1);
    assert!(bob.item(&notes(), &both).await.is_ok());
    assert!(bob.item(&notes(), &one).await.is_err());
    assert_eq!(bob.store().discarded(&notes()).await.unwrap()[0].item.id, one);
}

/// A hub that refused changes is offered them again, so what it has not been offered stays. A feed that can only be read
/// is never offered anything.
#[tokio::test]
async fn item_that_a_refusing_hub_has_not_been_offered_is_not_discarded() {
    for is_refusal in [true, false] {
        let (bob, publisher, items) = reader_of_a_feed(&["one"]).await;
        let other = remote(&bob, "http://two/").await;
        let known = bob.store().remotes(None).await.unwrap();
        let mut other = known.into_iter().find(|known| known.id == other).unwrap();
        other.state.read_only = true;
        other.state.refusal = is_refusal.then(|| PushRefusal {
            at: Moment::from_micros(0),
            up_to: ChangeNumber::ZERO,
            reason: "for now".to_owned(),
        });
        bob.store().change_remote(other).await.unwrap();
        let discarded = bob.discard_absent(&notes(), publisher, &SeenVersions::default()).await;
        assert_eq!(discarded.unwrap(), u64::from(!is_refusal));
        assert_eq!(bob.item(&notes(), &items[0].id).await.is_ok(), is_refusal);
    }
}

/// Returns a reader of one publisher's feed, and the items that it provided.
async fn reader_of_a_feed(titles: &[&str]) -> (Endpoint, RemoteId, Vec<Item<Payload>>) {
    let (ann, bob) = (endpoint("ann").await, endpoint("bob").await);
    let publisher = remote(&bob, "http://one/").await;
    let mut items = Vec::new();
    for title in titles {
        let id = ann.new_id();
        items.push(ann.add(&notes(), id, Creation::default(), titled(title)).await.unwrap().item);
    }
    let source = Source::Remote(publisher);
    bob.incorporate(&notes(), source, items.clone(), None).await.unwrap();
    (bob, publisher, items)
}

/// R-F32, R-F36: a publisher was restored from a backup. Items that it shows are still its own; items that it
/// lost are not.
#[tokio::test]
async fn items_that_a_publisher_lost_stay_once_it_went_back() {
    let (bob, publisher, items) = reader_of_a_feed(&["lost", "older there", "there"]).await;
    let [lost, older, there] = &items[..] else { panic!() };
    let mut shown = SeenVersions::default();
    shown.insert(there);
    let mut before = older.clone();
    let earlier = Update::signed(
        Sequence::new(1).unwrap(),
        Timestamp::from_unix_seconds(1).unwrap(),
        By::new("ann.earlier").unwrap(),
    );
    before.winner.history = History::new(earlier);
    shown.insert(&before);
    assert_eq!(bob.protect_unseen(&notes(), publisher, &shown).await.unwrap(), 2);
    let origins = async |item: &Item<Payload>| bob.item(&notes(), &item.id).await.unwrap().origin;
    assert_eq!(origins(lost).await, Origin::Mixed);
    assert_eq!(origins(older).await, Origin::Mixed);
    assert_eq!(origins(there).await, Origin::Remote(publisher));
    assert_eq!(bob.discard_absent(&notes(), publisher, &SeenVersions::default()).await.unwrap(), 1);
    assert!(bob.item(&notes(), &there.id).await.is_err());
    assert!(bob.item(&notes(), &lost.id).await.is_ok());
}

/// R-F36: in a circle of endpoints an item would otherwise be added and discarded forever.
#[tokio::test]
async fn versions_that_come_again_after_a_discard_are_kept() {
    let (bob, publisher, items) = reader_of_a_feed(&["gone"]).await;
    let discard =
        async || bob.discard_absent(&notes(), publisher, &SeenVersions::default()).await.unwrap();
    assert_eq!(discard().await, 1);
    let source = Source::Remote(publisher);
    bob.incorporate(&notes(), source, items.clone(), None).await.unwrap();
    assert_eq!(discard().await, 0);
    // Another version of the item has not been discarded yet.
    let carol = endpoint("carol").await;
    carol.incorporate(&notes(), Source::Offered, items.clone(), None).await.unwrap();
    let later = carol.edit(&notes(), &items[0].id, None, titled("later").into()).await.unwrap();
    bob.incorporate(&notes(), source, vec![later.item], None).await.unwrap();
    assert_eq!(discard().await, 1);
}

#[tokio::test]
async fn a_stale_edit_of_an_item_without_conflicts_is_refused_and_takes_no_number() {
    // This holds also where the edit would have won over versions that its author never saw.
    for since in [&["Oat milk"][..], &["Oat milk", "Two oat milk"]] {
        refused_after(since).await;
    }
}

async fn refused_after(since: &[&str]) {
    let ann = endpoint("ann").await;
    let id = ann.new_id();
    let creation = Creation { noconflicts: Some(true), deleted: false };
    let seen = ann.add(&notes(), id.clone(), creation, titled("Milk")).await.unwrap().item.winner;
    let base = Base { updates: seen.updates, noconflicts: seen.noconflicts, history: seen.history };
    for title in since {
        ann.edit(&notes(), &id, None, titled(title).into()).await.unwrap();
    }
    let before = ann.collection(&notes()).await.unwrap().last;
    let edit = Edit { payload: Some(titled("Stale")), deleted: None };
    let refused = ann.edit(&notes(), &id, Some(base), edit).await;
    assert!(matches!(refused, Err(EndpointError::Edit(EditFailure::Nothing(_)))), "{refused:?}");
    assert_eq!(ann.collection(&notes()).await.unwrap().last, before);
}

#[tokio::test]
async fn an_item_that_would_not_fit_into_one_answer_is_refused() {
    let (ann, bob) = (endpoint("ann").await, endpoint("bob").await);
    let id = ann.new_id();
    let item = ann.add(&notes(), id.clone(), Creation::default(), titled("x")).await.unwrap().item;
    bob.incorporate(&notes(), Source::Offered, vec![item], None).await.unwrap();
    let large = titled(&"x".repeat(9 << 20));
    ann.edit(&notes(), &id, None, large.clone().into()).await.unwrap();
    let theirs = bob.edit(&notes(), &id, None, large.into()).await.unwrap().item;
    let report = ann.incorporate(&notes(), Source::Offered, vec![theirs], None).await.unwrap();
    let outcome = report.items[0].outcome;
    assert!(matches!(outcome, ItemOutcome::Refused(Refusal::TooLarge { .. })), "{outcome:?}");
    let huge = ann.edit(&notes(), &id, None, titled(&"x".repeat(17 << 20)).into()).await;
    assert!(matches!(huge, Err(EndpointError::Edit(EditFailure::Refused(_)))), "{huge:?}");
}

/// R-F44: the report of a dry run equals that of the merge, also where a copy of this store signed with the
/// same authoring line.
#[tokio::test]
async fn foresee_equals_incorporate_for_an_edit_by_a_copy() {
    let ann = endpoint("ann").await;
    let id = ann.new_id();
    let milk = ann.add(&notes(), id.clone(), Creation::default(), titled("Milk")).await.unwrap();
    ann.edit(&notes(), &id, None, titled("Oat milk").into()).await.unwrap();
    let by = ann.identity().await.unwrap().by;
    let when = Timestamp::from_unix_seconds(1).unwrap();
    let signed = |number| Update::signed(Sequence::new(number).unwrap(), when, by.clone());
    let mut theirs = milk.item;
    let mut updates = vec![signed(3), signed(2)];
    updates.extend_from_slice(theirs.winner.history.updates());
    theirs.winner.history = History::from_updates(updates).unwrap();
    theirs.winner.updates = Updates::new(3).unwrap();
    theirs.winner.payload = titled("Soya milk");
    let before = ann.item(&notes(), &id).await.unwrap();
    let items = vec![theirs.clone(), theirs];
    let foreseen = ann.preview(&notes(), Source::Offered, items.clone()).await.unwrap();
    assert_eq!(ann.item(&notes(), &id).await.unwrap(), before);
    assert_eq!(ann.identity().await.unwrap().by, by);
    let outcomes: Vec<_> = foreseen.items.iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [ItemOutcome::Conflict, ItemOutcome::Unchanged]);
    let report = ann.incorporate(&notes(), Source::Offered, items, None).await.unwrap();
    assert_eq!((foreseen.items, foreseen.counts), (report.items, report.counts));
}

/// After a crash that follows this transaction, the remote is still to be read again.
#[tokio::test]
async fn temporary_refusal_is_stored_with_the_other_items() {
    let ann = endpoint("ann").await;
    let remote = remote(&ann, "http://one/").await;
    let version = |id: &str, by: &str| -> Item<Payload> {
        let stamp = Stamp::new(Timestamp::from_unix_seconds(1).unwrap(), By::new(by).unwrap());
        let id = ItemId::new(id).unwrap();
        Item::create(id, Creation::default(), &stamp, titled(by)).unwrap()
    };
    let contested = (0..=MAX_CONFLICTS).map(|number| version("contested", &format!("b{number}")));
    ann.incorporate(&notes(), Source::Offered, contested.collect(), None).await.unwrap();
    let read = RemoteState {
        until: Some("7".to_owned()),
        etag: Some("\"7\"".to_owned()),
        ..RemoteState::default()
    };
    let stored = async |items| {
        let conclusion = Some(Conclusion { remote, state: read.clone() });
        let source = Source::Remote(remote);
        let report = ann.incorporate(&notes(), source, items, conclusion).await.unwrap();
        (report.counts.refused, ann.store().remotes(None).await.unwrap().remove(0).state)
    };
    assert_eq!(stored(vec![version("other", "theirs")]).await, (0, read.clone()));
    let again = RemoteState { needs_complete: true, etag: None, ..read.clone() };
    let items = vec![version("contested", "theirs"), version("third", "theirs")];
    assert_eq!(stored(items).await, (1, again));
    assert!(ann.item(&notes(), &ItemId::new("third").unwrap()).await.is_ok());
}
