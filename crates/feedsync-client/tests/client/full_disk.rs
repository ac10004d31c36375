//! An endpoint whose disk is full still pushes its changes to its hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use feedsync_client::{Direction, NoProgress, Session, SyncError};
use feedsync_core::{Creation, Format};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_formats::{Entry, compose};
use feedsync_store::{EndpointName, NewCollection, NewRemote, SqliteStore, SystemEnvironment};
use feedsync_test::small_disk::SmallDisk;

use crate::world::{Hub, entry, notes};

#[tokio::test]
async fn changes_are_pushed_though_nothing_can_be_stored() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let hub = Hub::new("hub").await;
    let name = EndpointName::new("anna").unwrap();
    let store = SqliteStore::init(disk.path(), &name, Arc::new(SystemEnvironment)).unwrap();
    let endpoint = Endpoint::new(Arc::new(store), Arc::new(SystemEnvironment));
    let new = NewCollection {
        name: notes(),
        title: "Notes".into(),
        format: Format::Atom,
        settings: BTreeMap::new(),
    };
    endpoint.store().create_collection(new).await.unwrap();
    let new = NewRemote { collection: notes(), name: None, url: hub.url(), subscription: None };
    let remote = endpoint.store().add_remote(new).await.unwrap();
    let session =
        Session::new(endpoint.clone(), Fetcher::new(Policy::new(Private::Allowed)).unwrap());
    let add = async |entry: &Entry| {
        let (id, payload) = (endpoint.new_id(), compose(Format::Atom, entry));
        endpoint.add(&notes(), id.clone(), Creation::default(), payload).await.map(|_| id)
    };
    let mine = add(&entry("mine")).await.unwrap();
    disk.fill();
    let large = Entry { content: Some("x".repeat(100_000)), ..entry("large") };
    let mut count = 1;
    while add(&large).await.is_ok() {
        count += 1;
        disk.fill();
    }
    let theirs = hub.peer.add("theirs").await;

    let failed = session.sync(&remote, Direction::BOTH, &NoProgress, false).await.unwrap_err();
    assert!(matches!(failed, SyncError::DiskFull { offered, .. } if offered == count), "{failed}");
    assert!(failed.to_string().starts_with("the disk is full: changes from "), "{failed}");
    let ids = hub.peer.ids().await;
    assert_eq!(ids.len() as u64, count + 1);
    assert!(ids.contains(&mine.to_string()));
    assert!(endpoint.item(&notes(), &theirs).await.is_err());

    disk.empty();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    session.sync(&remote, Direction::BOTH, &NoProgress, false).await.unwrap();
    assert!(endpoint.item(&notes(), &theirs).await.is_ok());
}
