//! An endpoint in memory with one collection.

use std::sync::Arc;

use feedsync_core::{Format, Payload};
use feedsync_endpoint::Endpoint;
use feedsync_formats::{Entry, compose};
use feedsync_store::{CollectionName, EndpointName, MemoryStore, NewCollection, SystemEnvironment};

pub(crate) fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

pub(crate) async fn endpoint(name: &str) -> Endpoint {
    let store = MemoryStore::new(&EndpointName::new(name).unwrap(), Arc::new(SystemEnvironment));
    let endpoint = Endpoint::new(Arc::new(store), Arc::new(SystemEnvironment));
    let (title, settings) = ("Notes".to_owned(), Default::default());
    let new = NewCollection { name: notes(), title, format: Format::Atom, settings };
    endpoint.store().create_collection(new).await.unwrap();
    endpoint
}

pub(crate) fn titled(title: &str) -> Payload {
    compose(Format::Atom, &Entry { title: Some(title.to_owned()), ..Entry::default() })
}
