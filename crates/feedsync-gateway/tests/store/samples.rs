//! Sample data for the tests.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interception::Role;
use feedsync_bitsy::interceptor::{
    Belonging, Change, Content, Digest, Entity, Representation, Rows, Step,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::{Edit, EditId, NewEdit, Progress};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::time::Time;
use feedsync_gateway::store::{PinnedContent, Quota, Store, StoreError};
use http::{HeaderMap, StatusCode};
use tempfile::TempDir;

/// Length of contents that are too large for the database.
pub(crate) const LARGE: usize = (64 << 10) + 1;

pub(crate) fn at(path: &str) -> Location {
    format!("http://example.org/{path}").parse().unwrap()
}

pub(crate) fn open(directory: &TempDir) -> (Store, Rows) {
    // A process that another test is starting inherits every lock until it executes its own program.
    for _ in 0..500 {
        match Store::open(directory.path(), Quota::default()) {
            Err(StoreError::InUse { .. }) => std::thread::sleep(Duration::from_millis(10)),
            opened => return opened.unwrap(),
        }
    }
    panic!("somebody else uses {directory:?}")
}

pub(crate) fn step(changes: Vec<Change>) -> Step {
    Step { changes, ..Step::default() }
}

pub(crate) fn durable(changes: Vec<Change>) -> Step {
    Step { changes, is_durable: true, ..Step::default() }
}

pub(crate) fn representation(content: Content, fetched: u64) -> Representation {
    let headers = HeaderMap::new();
    let fetched = Time::from_millis(fetched);
    Representation { status: StatusCode::OK, headers, content, fetched, alias_tag: None }
}

pub(crate) fn stored(path: &str, content: Content, fetched: u64) -> Change {
    Change::Representation {
        partition: Partition::public(),
        location: at(path),
        representation: Some(Box::new(representation(content, fetched))),
    }
}

pub(crate) fn generation(feed: &str, resources: &[(&str, Role)]) -> Change {
    let resources = resources.iter().map(|(path, role)| {
        let belonging = Belonging { role: *role, entry: None, seen: 1 };
        (at(path), belonging)
    });
    let resources: BTreeMap<_, _> = resources.collect();
    Change::Generation { partition: Partition::public(), feed: at(feed), resources, is_whole: true }
}

pub(crate) fn edit(id: u64, path: &str, body: Content) -> Change {
    let requested = NewEdit {
        partition: Partition::public(),
        method: Method::Put,
        location: at(path),
        feed: at("feed"),
        resource: at(path),
        queue: at("feed"),
        base: None,
        is_conditional: false,
        previous: None,
        body: Some(Entity { headers: HeaderMap::new(), content: body }),
        slug: None,
        generation: 1,
        key: format!("{id:032x}"),
    };
    let (tries, progress, stall) = (0, Progress::Queued, None);
    Change::Edit(Box::new(Edit { id: EditId(id), requested, tries, progress, stall }))
}

/// Sweeps one batch; returns whether there are more.
pub(crate) fn sweep_once(store: &Store, needed: &HashSet<Digest>) -> bool {
    store.remove(store.sweep(needed).unwrap()).unwrap()
}

/// Bytes that differ for each number.
pub(crate) fn bytes(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(length.max(8), number as u8);
    bytes
}

pub(crate) fn pin(store: &Store, number: u64, length: usize) -> PinnedContent {
    store.pin(&bytes(number, length)).unwrap()
}
