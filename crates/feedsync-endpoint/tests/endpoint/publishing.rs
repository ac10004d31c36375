//! Publications that are read while the collection changes.

use feedsync_core::{Creation, Edit, ItemId};
use feedsync_endpoint::{EndpointError, Retention};
use feedsync_store::{ChangeNumber, Moment, PageLimit};

use crate::support::{endpoint, notes, titled};

/// A reader of such a window would keep the deleted item forever.
#[tokio::test]
async fn publication_whose_tombstones_were_purged_meanwhile_is_not_read_to_its_end() {
    let hub = endpoint("hub").await;
    let ids = ["a", "b"].map(|id| ItemId::new(id).unwrap());
    for id in &ids {
        hub.add(&notes(), id.clone(), Creation::default(), titled("T")).await.unwrap();
    }
    hub.edit(&notes(), &ids[0], None, Edit::delete()).await.unwrap();
    let publication = hub.publish(&notes(), None).await.unwrap();
    let documents = hub.publish_sse(&notes(), false).await.unwrap();
    let page = async |after| hub.page(&publication, after, PageLimit::items(1)).await;
    let first = page(ChangeNumber::ZERO).await.unwrap();
    assert!(first.more);

    // A new change removes nothing from the publication.
    hub.edit(&notes(), &ids[1], None, Edit::from(titled("T2"))).await.unwrap();
    assert!(page(first.through).await.is_ok());

    let last = hub.collection(&notes()).await.unwrap().last;
    hub.mark_sent(&notes(), last).await.unwrap();
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(hub.purge(&notes(), retention).await.unwrap(), 1);
    let overtaken = |error: EndpointError| matches!(error, EndpointError::Overtaken(_));
    assert!(page(first.through).await.is_err_and(overtaken));
    let sse = hub.sse_page(&documents, ChangeNumber::ZERO, PageLimit::items(9)).await;
    assert!(sse.is_err_and(overtaken));

    // A new publication begins after the purged changes.
    let publication = hub.publish(&notes(), None).await.unwrap();
    let read = hub.page(&publication, publication.after, PageLimit::items(9)).await.unwrap();
    assert_eq!(read.items.len(), 1);
}
