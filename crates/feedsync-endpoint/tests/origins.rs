//! Whose an item is: what may be discarded, and what is refused.

mod support;

use feedsync::{Base, Creation, Edit, Refusal};
use feedsync_endpoint::{EditFailure, Endpoint, EndpointError, ItemOutcome, Seen, Source};
use feedsync_store::{NewRemote, Origin, RemoteId};
use support::{endpoint, notes, titled};

async fn remote(endpoint: &Endpoint, url: &str) -> RemoteId {
    let new = NewRemote { collection: notes(), name: None, url: url.into() };
    endpoint.store().add_remote(new).await.unwrap().id
}

/// R-F36: items that came from another subscription as well stay.
#[tokio::test]
async fn what_two_remotes_gave_is_not_discarded_when_one_drops_it() {
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
    assert_eq!(bob.discard_absent(&notes(), first, &Seen::default()).await.unwrap(), 1);
    assert!(bob.item(&notes(), &both).await.is_ok());
    assert!(bob.item(&notes(), &one).await.is_err());
    assert_eq!(bob.store().discarded(&notes()).await.unwrap()[0].item.id, one);
}

#[tokio::test]
async fn a_stale_edit_of_an_item_without_conflicts_is_refused_and_takes_no_number() {
    let ann = endpoint("ann").await;
    let id = ann.new_id();
    let creation = Creation { noconflicts: Some(true), deleted: false };
    let seen = ann.add(&notes(), id.clone(), creation, titled("Milk")).await.unwrap().item.winner;
    let base = Base { updates: seen.updates, noconflicts: seen.noconflicts, history: seen.history };
    for title in ["Oat milk", "Two oat milk"] {
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
