//! Automatic removal of superseded revisions and unused attachments.

use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_store::{Environment, SqliteStore};

use super::*;

#[derive(Default)]
pub(super) struct Clock(pub(super) AtomicU64);

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        7
    }
}

/// Large attachments belong to the revisions that name them. Their content is deleted when all of these are
/// superseded or gone and it is a day old.
#[test]
fn attachments_of_superseded_revisions_go_by_themselves() {
    let clock = Arc::new(Clock::default());
    let name = EndpointName::new("tester").unwrap();
    let store = Arc::new(MemoryStore::new(&name, clock.clone()));
    let endpoint = Endpoint::new(store, clock.clone());
    let (databases, name) = (endpoint.databases(), "notes".parse::<DatabaseName>().unwrap());
    wait(databases.create_database(&name, Default::default())).unwrap();
    let room =
        Room { endpoint: endpoint.clone(), databases: Arc::clone(&databases), name: name.clone() };
    let mut revision = String::new();
    for letter in ["QUFB", "QkJC", "Q0ND"] {
        let data = letter.repeat(400_000);
        let text = format!(r#"{{"_id":"a"{revision},"_attachments":{{"f":{{"data":"{data}"}}}}}}"#);
        let written = room.write(&[&text], Edits::New).unwrap();
        revision = format!(r#","_rev":"{}""#, written[0]);
    }
    let digest = |letter: &[u8]| AttachmentDigest::of(&letter.repeat(1_200_000));
    let nobodys = digest(b"D");
    wait(databases.put_attachment(&name, &nobodys, b"D".repeat(1_200_000))).unwrap();
    let all = [digest(b"A"), digest(b"B"), digest(b"C"), nobodys];
    let are_here = || -> Vec<bool> {
        let read = |digest| wait(databases.attachment(&name, digest)).unwrap().is_some();
        all.iter().map(read).collect()
    };
    let counts = || {
        let Database { bytes, superseded, .. } = wait(databases.database(&name)).unwrap().unwrap();
        (bytes / 1_200_000, superseded / 1_200_000)
    };
    assert_eq!(counts(), (3, 2));
    assert_eq!(wait(endpoint.compact_databases()).unwrap(), 1);
    assert_eq!(counts(), (1, 0));
    assert_eq!(are_here(), [true, true, true, true], "they may be on their way");
    clock.0.store(UPLOAD_GRACE_MICROS + 1, Ordering::Relaxed);
    assert_eq!(wait(endpoint.compact_databases()).unwrap(), 0);
    assert_eq!(are_here(), [false, false, true, false]);
}

/// The failure is reported, and the other databases are compacted.
#[test]
fn failed_compaction_does_not_stop_other_databases() {
    let directory = tempfile::tempdir().unwrap();
    let name = EndpointName::new("tester").unwrap();
    let environment = Arc::new(SystemEnvironment);
    let store = SqliteStore::init(directory.path(), &name, environment.clone()).unwrap();
    let endpoint = Endpoint::new(Arc::new(store), environment);
    let names = ["a", "b", "c"].map(|name| name.parse::<DatabaseName>().unwrap());
    let databases = endpoint.databases();
    for name in &names {
        wait(databases.create_database(name, Default::default())).unwrap();
        let room = Room {
            endpoint: endpoint.clone(),
            databases: Arc::clone(&databases),
            name: name.clone(),
        };
        let long = format!(r#"{{"_id":"x","long":"{}"}}"#, "x".repeat(2 << 20));
        let written = room.write(&[&long], Edits::New).unwrap();
        let short = format!(r#"{{"_id":"x","_rev":"{}"}}"#, written[0]);
        room.write(&[&short], Edits::New).unwrap();
    }
    let file = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    let of_second = "database = (SELECT id FROM databases WHERE name = 'b')";
    file.execute(&format!("UPDATE documents SET tree = x'ff' WHERE {of_second}"), []).unwrap();
    wait(endpoint.compact_databases()).unwrap_err();
    let is_due = |name| wait(databases.database(name)).unwrap().unwrap().superseded > 0;
    assert_eq!(names.each_ref().map(is_due), [false, true, false]);
}
