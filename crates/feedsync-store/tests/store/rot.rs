//! A bit that the disk has flipped is detected when it is read, and by a check.

use std::path::Path;
use std::sync::Arc;

use feedsync_couch::{AttachmentDigest, DatabaseName};
use feedsync_store::conformance::samples::{create, named};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Append, Databases as _, Digest, EndpointName, Expected, ItemStore as _, LogOutcome,
    NewSnapshot, PostgresStore, SqliteStore, Store, StoreError,
};
use feedsync_test::postgres::Cluster;
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

fn init(directory: &Path) -> Arc<SqliteStore> {
    let name = EndpointName::new("anna").unwrap();
    Arc::new(SqliteStore::init(directory, &name, Arc::new(TestEnvironment::new(1))).unwrap())
}

fn database() -> DatabaseName {
    "db".parse().unwrap()
}

/// Stores the same bytes as a blob, as an attachment, and as the snapshot of a log.
fn fill<S: Store>(store: &S, bytes: &[u8]) {
    let notes = create(store, "notes").name;
    wait(store.put_blob(bytes.to_vec())).unwrap();
    wait(store.create_database(&database(), Default::default())).unwrap().unwrap();
    let digest = AttachmentDigest::of(bytes);
    assert!(wait(store.put_attachment(&database(), &digest, bytes.to_vec())).unwrap());
    let append = Append {
        expected: Expected::Absent,
        bytes: b"{}\n".to_vec(),
        media_type: "application/x-ndjson".to_owned(),
        key: None,
        most: 1 << 20,
        act: None,
    };
    let LogOutcome::Done(log) = wait(store.append_to_log(&notes, append)).unwrap() else {
        panic!("the log does not begin")
    };
    let snapshot = NewSnapshot {
        covers: log.place,
        media_type: "application/json".to_owned(),
        bytes: bytes.to_vec(),
    };
    let stored = wait(store.put_log_snapshot(&notes, snapshot)).unwrap();
    assert!(matches!(stored, LogOutcome::Done(_)));
}

/// Reads each of the three.
fn read<S: Store>(store: &S, bytes: &[u8]) -> [Result<Vec<u8>, StoreError>; 3] {
    let attachment = AttachmentDigest::of(bytes);
    [
        wait(store.blob(Digest::of(bytes))).map(Option::unwrap),
        wait(store.attachment(&database(), &attachment)).map(Option::unwrap),
        wait(store.log_snapshot(&named("notes"))).map(|found| found.unwrap().1),
    ]
}

/// The same with PostgreSQL.
#[test]
fn a_flipped_bit_in_a_database_is_never_read() {
    let bytes = b"what was stored";
    for (table, tampered) in ["blobs", "attachments", "log_snapshots"].into_iter().enumerate() {
        let url = Cluster::shared().database();
        let name = EndpointName::new("anna").unwrap();
        let store = PostgresStore::init(&url, &name, Arc::new(TestEnvironment::new(1)));
        let store = wait(store).unwrap();
        fill(&store, bytes);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        let sql = format!(
            "UPDATE feedsync.{tampered} SET content = set_bit(content, 3, 1 - get_bit(content, 3))"
        );
        Cluster::shared().sql(url.rsplit('=').next().unwrap(), &sql);
        for (at, found) in read(&store, bytes).into_iter().enumerate() {
            match found {
                Ok(found) => assert!(at != table && found == bytes, "{tampered}"),
                Err(error) => {
                    assert!(
                        at == table && matches!(error, StoreError::DigestMismatch(_)),
                        "{error}"
                    );
                }
            }
        }
        let faults = wait(store.check()).unwrap();
        assert!(
            faults.len() == 1 && faults[0].contains("bytes do not match their digest: 1 ("),
            "{faults:?}"
        );
        wait(store.put_blob(bytes.to_vec())).unwrap();
        let digest = AttachmentDigest::of(bytes);
        assert!(wait(store.put_attachment(&database(), &digest, bytes.to_vec())).unwrap());
        assert_eq!(read(&store, bytes)[table].is_ok(), table < 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Any single flipped bit of a stored body yields an error or the right bytes.
    #[test]
    fn a_flipped_bit_is_never_read(
        bytes in prop::collection::vec(any::<u8>(), 1..6_000),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        table in 0..3_usize,
    ) {
        let directory = TempDir::new().unwrap();
        let store = init(directory.path());
        fill(&*store, &bytes);
        let mut flipped = bytes.clone();
        flipped[place.index(bytes.len())] ^= 1 << bit;
        let raw = Connection::open(directory.path().join("feedsync.db")).unwrap();
        let table_name = ["blobs", "attachments", "log_snapshots"][table];
        raw.execute(&format!("UPDATE {table_name} SET content = ?1"), [&flipped]).unwrap();
        for (at, found) in read(&*store, &bytes).into_iter().enumerate() {
            match found {
                Ok(found) => prop_assert!(at != table && found == bytes),
                Err(StoreError::DigestMismatch(_)) => prop_assert_eq!(at, table),
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
        let faults = wait(store.check()).unwrap();
        prop_assert_eq!(faults.len(), 1, "{:?}", faults);
        let (what, name) = [
            ("files", Digest::of(&bytes).to_string()),
            ("attachments", format!("db/{}", AttachmentDigest::of(&bytes))),
            ("snapshots of logs", "notes".to_owned()),
        ][table].clone();
        prop_assert_eq!(&faults[0], &format!("{what} whose bytes do not match their digest: 1 \
        ({name})"));
        // Putting the bytes again repairs a blob and an attachment.
        if table < 2 {
            wait(store.put_blob(bytes.clone())).unwrap();
            let digest = AttachmentDigest::of(&bytes);
            prop_assert!(wait(store.put_attachment(&database(), &digest, bytes.clone())).unwrap());
            let found = read(&*store, &bytes);
            prop_assert_eq!(found[table].as_ref().unwrap(), &bytes);
            prop_assert!(wait(store.check()).unwrap().is_empty());
        }
    }
}
