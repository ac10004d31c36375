//! Outcomes of edits.

use crate::support::{endpoint, notes, titled};
use feedsync_core::{Base, Creation, Edit};
use feedsync_endpoint::{EditOutcome, Source};

#[tokio::test]
async fn stale_edit_that_was_made_before_adds_no_version() {
    let deletion = || Edit { payload: Some(titled("Milk")), deleted: Some(true) };
    let update = || Edit::from(titled("Bread"));
    for edit in [&deletion as &dyn Fn() -> _, &update] {
        let ann = endpoint("ann").await;
        let id = ann.new_id();
        let added = ann.add(&notes(), id.clone(), Creation::default(), titled("Milk")).await;
        let seen = Base::from(&added.unwrap().item.winner);
        for title in ["Oat milk", "Rice milk"] {
            let edited = ann.edit(&notes(), &id, None, titled(title).into()).await.unwrap();
            assert_eq!(edited.outcome, EditOutcome::Applied);
        }
        for _ in 0..2 {
            let edited = ann.edit(&notes(), &id, Some(seen.clone()), edit()).await.unwrap();
            assert_eq!(edited.outcome, EditOutcome::ConflictHidden);
            assert_eq!(edited.item.conflicts.len(), 1);
        }
        let last = ann.collection(&notes()).await.unwrap().last;
        assert_eq!(last.get(), 4, "the second one stores nothing");
    }
}

#[tokio::test]
async fn new_item_with_conflicts_counts_as_conflicted() {
    let (ann, bob) = (endpoint("ann").await, endpoint("bob").await);
    let id = ann.new_id();
    let added = ann.add(&notes(), id.clone(), Creation::default(), titled("Milk")).await.unwrap();
    let seen = Base::from(&added.item.winner);
    ann.edit(&notes(), &id, None, titled("Oat milk").into()).await.unwrap();
    let edited = ann.edit(&notes(), &id, Some(seen), titled("Bread").into()).await.unwrap();
    assert!(edited.outcome.is_conflict());
    let items = vec![edited.item.clone(), edited.item];
    let report = bob.incorporate(&notes(), Source::Offered, items, None).await.unwrap();
    assert_eq!((report.counts.added, report.counts.conflict, report.conflicted), (1, 0, 1));
}
