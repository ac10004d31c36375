//! The record names the user of each change, in one transaction with the change.

use crate::support::{endpoint, notes, titled};
use feedsync_core::{Creation, Edit, ItemId};
use feedsync_endpoint::{Actor, Retention, Source};
use feedsync_store::{AuditAction, AuditSelection, Moment, UserName};

#[tokio::test]
async fn each_change_of_an_item_is_recorded_with_who_made_it() {
    let silent = endpoint("hub").await;
    let anna =
        Actor { user: Some(UserName::new("anna").unwrap()), address: Some("192.0.2.7".to_owned()) };
    let hub = silent.on_behalf_of(anna.clone());
    let id = ItemId::new("a").unwrap();
    let unrecorded = ItemId::new("b").unwrap();
    silent.add(&notes(), unrecorded, Creation::default(), titled("B")).await.unwrap();
    hub.add(&notes(), id.clone(), Creation::default(), titled("A")).await.unwrap();
    assert!(hub.add(&notes(), id.clone(), Creation::default(), titled("A")).await.is_err());
    let edit = |deleted, title: Option<&str>| Edit { payload: title.map(titled), deleted };
    hub.edit(&notes(), &id, None, edit(None, Some("A2"))).await.unwrap();
    hub.edit(&notes(), &id, None, edit(Some(true), None)).await.unwrap();
    hub.edit(&notes(), &id, None, edit(Some(false), None)).await.unwrap();

    let other = endpoint("other").await;
    let theirs = other
        .add(&notes(), ItemId::new("c").unwrap(), Creation::default(), titled("C"))
        .await
        .unwrap()
        .item;
    for _ in 0..2 {
        hub.incorporate(&notes(), Source::Offered, vec![theirs.clone()], None).await.unwrap();
    }
    hub.edit(&notes(), &id, None, edit(Some(true), None)).await.unwrap();
    let last = hub.collection(&notes()).await.unwrap().last;
    hub.mark_sent(&notes(), last).await.unwrap();
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(hub.purge(&notes(), retention).await.unwrap(), 1);

    let act = |action: &str, item: Option<&str>, detail: &str| AuditAction {
        collection: Some(notes()),
        item: item.map(|id| ItemId::new(id).unwrap()),
        detail: detail.to_owned(),
        ..anna.act(action)
    };
    let expected = [
        act("purge", None, "1 purged"),
        act("delete", Some("a"), ""),
        act("merge", Some("c"), "1 added, 0 updated, 0 in conflict"),
        act("undelete", Some("a"), ""),
        act("delete", Some("a"), ""),
        act("edit", Some("a"), ""),
        act("create", Some("a"), ""),
    ];
    let recorded =
        hub.store().acts(AuditSelection { limit: 99, ..Default::default() }).await.unwrap();
    let acts: Vec<AuditAction> = recorded.into_iter().map(|recorded| recorded.act).collect();
    assert_eq!(acts, expected);
}
