//! Deletion of an item together with its data.

use crate::support::{endpoint, notes, titled};
use feedsync_core::{Creation, Edit, Incorporation, incorporate};
use feedsync_endpoint::{EndpointError, Source};
use feedsync_formats::entry;

#[tokio::test]
async fn a_truncated_tombstone_keeps_every_history_and_supersedes_what_it_dropped() {
    let ann = endpoint("ann").await;
    let id = ann.new_id();
    ann.add(&notes(), id.clone(), Creation::default(), titled("Secret")).await.unwrap();
    let before = ann.edit(&notes(), &id, None, titled("More secret").into()).await.unwrap().item;
    let after = ann.delete_truncated(&notes(), &id).await.unwrap().item;
    assert!(after.winner.deleted);
    assert_eq!(entry(&after.winner.payload).title, None);
    assert!(after.winner.history.covers_all(&before.winner.history));
    assert_eq!(after.winner.history.updates().len(), 3);
    assert_eq!(incorporate(Some(&after), None, before), Incorporation::Unchanged);
}

#[tokio::test]
async fn item_with_open_conflicts_keeps_its_data() {
    let (ann, bob) = (endpoint("ann").await, endpoint("bob").await);
    let id = ann.new_id();
    let item =
        ann.add(&notes(), id.clone(), Creation::default(), titled("Milk")).await.unwrap().item;
    bob.incorporate(&notes(), Source::Offered, vec![item], None).await.unwrap();
    ann.edit(&notes(), &id, None, titled("Oat milk").into()).await.unwrap();
    let theirs = bob.edit(&notes(), &id, None, Edit::delete()).await.unwrap().item;
    ann.incorporate(&notes(), Source::Offered, vec![theirs], None).await.unwrap();
    let refused = ann.delete_truncated(&notes(), &id).await;
    assert!(matches!(refused, Err(EndpointError::Edit(_))), "{refused:?}");
    assert_eq!(ann.item(&notes(), &id).await.unwrap().item.conflicts.len(), 1);
}
