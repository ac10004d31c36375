//! Conformance of the memory store, and restoration from its images.

use std::sync::Arc;

use feedsync_store::conformance::logs::{begun, grown, read_all};
use feedsync_store::conformance::samples::{
    all, by, create, ids, item, named, put, store_each, write,
};
use feedsync_store::conformance::{Fixture, TestEnvironment, wait};
use feedsync_store::{EndpointName, Environment, ItemStore, Logs as _, MemoryStore, Write};

fn memory(environment: Arc<dyn Environment>) -> Fixture {
    let store = MemoryStore::new(&EndpointName::new("tester").unwrap(), environment);
    Fixture { store: Arc::new(store), kept: Box::new(()) }
}

feedsync_store::store_tests!(memory);

#[test]
fn a_crash_leaves_everything_as_it_was() {
    let environment = Arc::new(TestEnvironment::new(3));
    let store = MemoryStore::new(&EndpointName::new("anna").unwrap(), environment.clone());
    let notes = create(&store, "notes").name;
    store_each(&store, &notes, &["a"]);
    let log = begun(&store, &notes, b"a\n");
    let image = store.image();
    store_each(&store, &notes, &["b"]);
    grown(&store, &notes, b"b\n");
    let reopened = MemoryStore::reopened(image, environment);
    assert_eq!(ids(&all(&reopened, &notes)), ["a"]);
    assert_eq!(wait(reopened.log(&notes)).unwrap(), Some(log.clone()));
    assert_eq!(read_all(&reopened, &notes, log.place.generation), Some(b"a\n".to_vec()));
    assert_eq!(wait(reopened.identity()).unwrap(), wait(store.identity()).unwrap());
}

#[test]
fn a_restored_image_signs_anew_in_new_epochs() {
    let environment = Arc::new(TestEnvironment::new(3));
    let store = MemoryStore::new(&EndpointName::new("anna").unwrap(), environment.clone());
    let notes = create(&store, "notes");
    let books = create(&store, "books");
    store_each(&store, &notes.name, &["a"]);
    let log = begun(&store, &notes.name, b"a\n").place;
    let before = wait(store.identity()).unwrap();
    let restored = MemoryStore::restored(store.image(), environment);
    let after = wait(restored.identity()).unwrap();
    assert_ne!(after.by, before.by);
    assert_eq!(after.retired, [before.by]);
    let epoch = |name: &str| wait(restored.collection(&named(name))).unwrap().unwrap().epoch;
    assert!(epoch("notes") > books.epoch && epoch("books") > books.epoch);
    assert_ne!(epoch("notes"), epoch("books"));
    let renewed = wait(restored.log(&notes.name)).unwrap().unwrap().place;
    assert!(renewed.generation > log.generation && renewed.length == 2, "and in a new generation");
    let bytes = |generation| read_all(&restored, &notes.name, generation);
    assert_eq!((bytes(log.generation), bytes(renewed.generation)), (None, Some(b"a\n".to_vec())));
    let one = write(&restored, &notes.name, &["b"], vec![put(item("b", "A", 1))]).unwrap();
    assert_eq!(one.last.get(), 2, "numbers go on");
    let again = vec![Write::Reincarnate { by: by("anna.again") }];
    write(&restored, &notes.name, &[], again).unwrap();
    assert_eq!(wait(restored.identity()).unwrap().retired.len(), 2);
}
