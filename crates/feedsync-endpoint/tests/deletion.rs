//! Deleting an item and dropping its data.

use std::sync::Arc;

use feedsync::{Creation, Edit, Format, Incorporation, incorporate};
use feedsync_endpoint::{Endpoint, EndpointError, Source};
use feedsync_formats::{Entry, compose, entry};
use feedsync_store::{CollectionName, EndpointName, MemoryStore, NewCollection, SystemEnvironment};

fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

async fn endpoint(name: &str) -> Endpoint {
    let store = MemoryStore::new(&EndpointName::new(name).unwrap(), Arc::new(SystemEnvironment));
    let endpoint = Endpoint::new(Arc::new(store), Arc::new(SystemEnvironment));
    let (title, settings) = ("Notes".to_owned(), Default::default());
    let new = NewCollection { name: notes(), title, format: Format::Atom, settings };
    endpoint.store().create_collection(new).await.unwrap();
    endpoint
}

fn titled(title: &str) -> feedsync::Payload {
    compose(Format::Atom, &Entry { title: Some(title.to_owned()), ..Entry::default() })
}

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
async fn nothing_is_dropped_while_conflicts_are_open() {
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
