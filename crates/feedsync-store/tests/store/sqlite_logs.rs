//! Logs of a store in files: remains of a crash, moving, copying, backup, restoration, and damage.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_store::conformance::logs::{append, begun, done, grown, read_all};
use feedsync_store::conformance::samples::{all, create, ids, named, store_each};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Append, EndpointName, Expected, ItemStore as _, LogOutcome, LogPosition, Logs as _, Moment,
    NewGeneration, NewSnapshot, SqliteStore, StoreError, SystemEnvironment,
};
use tempfile::TempDir;

fn init(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("anna").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::new(TestEnvironment::new(1))).unwrap();
    create(&store, "notes");
    store
}

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, Arc::new(SystemEnvironment)).unwrap()
}

fn place(store: &SqliteStore) -> LogPosition {
    wait(store.log(&named("notes"))).unwrap().unwrap().place
}

fn bytes(store: &SqliteStore, place: LogPosition) -> Option<Vec<u8>> {
    read_all(store, &named("notes"), place.generation)
}

fn compacted(store: &SqliteStore, bytes: &[u8]) -> LogPosition {
    let (expected, bytes) = (Expected::Present, bytes.to_vec());
    let new = NewGeneration { expected, bytes, most: u64::MAX, act: None };
    done(wait(store.begin_log_generation(&named("notes"), new))).place
}

/// The names of the files of logs.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("logs")).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn file(directory: &Path, place: LogPosition) -> PathBuf {
    directory.join("logs").join(format!("1-{}.log", place.generation))
}

/// Any program that may read the file can serve the log, without our software (LR3).
#[test]
fn a_log_is_a_plain_file_of_its_owner() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    begun(&store, &named("notes"), b"one\n");
    let log = grown(&store, &named("notes"), b"two\n");
    let file = file(directory.path(), log.place);
    assert_eq!(fs::read(&file).unwrap(), b"one\ntwo\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}

/// Bytes after the committed length were never acknowledged (LR37). They are not readable, the next append
/// overwrites them, and opening the store truncates them.
#[test]
fn uncommitted_bytes_after_a_log_are_truncated() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = named("notes");
    let first = begun(&store, &notes, b"one\n").place;
    let tear = || {
        let mut file = OpenOptions::new().append(true).open(file(directory.path(), first)).unwrap();
        file.write_all(b"a torn record that is longer than the next one").unwrap();
    };
    tear();
    assert_eq!(bytes(&store, first), Some(b"one\n".to_vec()));
    let after =
        done(wait(store.append_to_log(&notes, append(Expected::At(vec![first]), b"two\n"))));
    assert_eq!(fs::read(file(directory.path(), first)).unwrap(), b"one\ntwo\n");
    tear();
    drop(store);
    let store = open(directory.path());
    assert_eq!(fs::read(file(directory.path(), first)).unwrap(), b"one\ntwo\n");
    assert_eq!(place(&store), after.place);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// A file is removed with its generation, immediately. A file that a crash left is removed when the store is
/// opened or swept. Foreign files stay.
#[test]
fn files_without_a_log_are_removed() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let first = begun(&store, &named("notes"), b"one\n").place;
    let second = compacted(&store, b"two\n");
    assert_eq!(files(directory.path()).len(), 2);
    assert_eq!(wait(store.sweep_logs(Moment::MAX)).unwrap(), 1);
    assert_eq!(files(directory.path()), [format!("1-{}.log", second.generation)]);
    assert_eq!(bytes(&store, first), None);
    let litter = ["1-1.00000000.log", "77-3.0000000a.log"];
    let others = ["1-01.00000000.log", "1.log", "notes.txt"];
    let drop_litter = || {
        for name in litter.iter().chain(&others) {
            fs::write(directory.path().join("logs").join(name), "x").unwrap();
        }
    };
    let mut kept: Vec<String> = others.map(str::to_owned).into();
    kept.push(format!("1-{}.log", second.generation));
    kept.sort();
    drop_litter();
    assert_eq!(wait(store.sweep_logs(Moment::default())).unwrap(), 0);
    assert_eq!(files(directory.path()), kept);
    drop_litter();
    drop(store);
    let store = open(directory.path());
    assert_eq!(files(directory.path()), kept);
    done(wait(store.remove_log(&named("notes"), Expected::Present, None)));
    assert_eq!(
        files(directory.path()),
        others.iter().map(|name| name.to_string()).collect::<Vec<_>>()
    );
    begun(&store, &named("notes"), b"three\n");
    assert_eq!(files(directory.path()).len(), 4);
    wait(store.drop_collection(&named("notes"))).unwrap();
    assert_eq!(files(directory.path()).len(), 3);
}

/// Clients that read more of the log than a restored state contains must detect that, and must not be told
/// that missing bytes exist.
#[test]
fn a_log_that_was_moved_copied_or_put_back_goes_on_in_a_new_generation() {
    let parent = TempDir::new().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    let store = init(&old);
    begun(&store, &named("notes"), b"zero\n");
    let covers = compacted(&store, b"one\n");
    let (media_type, content) = ("application/json".to_owned(), b"{}".to_vec());
    let snapshot = NewSnapshot { covers, media_type, bytes: content };
    done(wait(store.put_log_snapshot(&named("notes"), snapshot)));
    let before = grown(&store, &named("notes"), b"two\n").place;
    drop(store);
    fs::rename(&old, &new).unwrap();
    let store = open(&new);
    let moved = wait(store.log(&named("notes"))).unwrap().unwrap();
    assert_eq!((moved.place.generation.number(), moved.place.length), (3, 8));
    let covers = LogPosition { length: 4, ..moved.place };
    assert_eq!(moved.snapshot.unwrap().covers, covers, "it stands for what it stood for");
    assert_eq!(
        (bytes(&store, moved.place), bytes(&store, before)),
        (Some(b"one\ntwo\n".to_vec()), None)
    );
    assert_eq!(files(&new).len(), 1);
    let late = append(Expected::At(vec![before]), b"late\n");
    let late = wait(store.append_to_log(&named("notes"), late)).unwrap();
    assert!(matches!(late, LogOutcome::PositionMismatch(log) if log.place == moved.place));
    drop(store);

    let saved = parent.path().join("saved");
    fs::copy(new.join("feedsync.db"), &saved).unwrap();
    let store = open(&new);
    let later = grown(&store, &named("notes"), b"three\n").place;
    drop(store);
    fs::copy(&saved, new.join("feedsync.db")).unwrap();
    let store = open(&new);
    let put_back = place(&store);
    assert_eq!((put_back.generation.number(), put_back.length), (4, 8));
    assert!(put_back.generation > later.generation);
    assert_eq!(bytes(&store, put_back), Some(b"one\ntwo\n".to_vec()));
    grown(&store, &named("notes"), b"four\n");
    assert_eq!(bytes(&store, put_back), Some(b"one\ntwo\nfour\n".to_vec()));
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// One file contains everything. It can be restored by `restore`, or by copying it into a directory.
#[test]
fn a_backup_holds_the_bytes_of_all_logs() {
    let parent = TempDir::new().unwrap();
    let file = parent.path().join("backup");
    let store = init(&parent.path().join("data"));
    let (books, gone) = (create(&store, "books").name, create(&store, "gone").name);
    begun(&store, &named("notes"), b"old\n");
    let long = b"0123456\n".repeat(400_000);
    let before = compacted(&store, &long);
    begun(&store, &books, b"books\n");
    begun(&store, &gone, b"gone\n");
    done(wait(store.remove_log(&gone, Expected::Present, None)));
    assert!(wait(store.backup(&file)).unwrap().is_complete());
    grown(&store, &named("notes"), b"after the backup\n");
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());

    let copied = parent.path().join("copied");
    fs::create_dir(&copied).unwrap();
    fs::copy(&file, copied.join("feedsync.db")).unwrap();
    let restored = parent.path().join("restored");
    let environment = Arc::new(TestEnvironment::new(3));
    let stores = [SqliteStore::restore(&file, &restored, environment).unwrap(), open(&copied)];
    for store in &stores {
        let after = place(store);
        assert!(after.generation > before.generation);
        assert_eq!(bytes(store, after), Some(long.clone()));
        let other = wait(store.log(&books)).unwrap().unwrap().place;
        assert_eq!(read_all(store, &books, other.generation), Some(b"books\n".to_vec()));
        assert!(wait(store.log(&gone)).unwrap().unwrap().removed);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        grown(store, &named("notes"), b"more\n");
    }
    assert_ne!(place(&stores[0]), place(&stores[1]), "two lives of one log");
    let again = parent.path().join("again");
    assert!(wait(stores[0].backup(&again)).unwrap().is_complete());
    let raw = |file: &Path| {
        let raw = rusqlite::Connection::open(file).unwrap();
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'log_bytes'";
        raw.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((raw(&again), raw(&restored.join("feedsync.db"))), (1, 0));
    assert_eq!(files(&restored).len(), 2);
}

/// The backup contains the existing complete lines of a damaged log, and everything else. It reports what is
/// missing. A restored log does not claim to have the lost bytes.
#[test]
fn a_backup_holds_what_is_left_of_a_damaged_log_and_all_else() {
    let long = b"0123456\n".repeat(200_000);
    type Damage<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Damage<'_>, &[u8]); 4] = [
        ("is missing", &|file| fs::remove_file(file).unwrap(), b""),
        ("is too short", &|file| cut(file, 1_300_005), &long[..1_300_000]),
        ("is too short", &|file| cut(file, 7), b""),
        // The path exists and cannot be read.
        (
            "directory",
            &|file| fs::remove_file(file).and_then(|()| fs::create_dir(file)).unwrap(),
            b"",
        ),
    ];
    for (fault, damage, kept) in cases {
        let parent = TempDir::new().unwrap();
        let data = parent.path().join("data");
        let store = init(&data);
        let (notes, books) = (named("notes"), create(&store, "books").name);
        store_each(&store, &notes, &["a"]);
        begun(&store, &books, b"books\n");
        let keyed = |expected| Append { key: Some("key".to_owned()), ..append(expected, &long) };
        let covers = done(wait(store.append_to_log(&notes, keyed(Expected::Absent)))).place;
        let (media_type, content) = ("application/json".to_owned(), b"{}".to_vec());
        let snapshot = NewSnapshot { covers, media_type, bytes: content };
        done(wait(store.put_log_snapshot(&notes, snapshot)));
        damage(&file(&data, covers));
        let backup = parent.path().join("backup");
        let backed_up = wait(store.backup(&backup)).unwrap();
        let [damaged] = &backed_up.damaged[..] else { panic!("{backed_up:?}") };
        assert_eq!((&damaged.collection, damaged.committed), (&notes, covers.length));
        assert_eq!(damaged.kept, kept.len() as u64);
        let said = damaged.to_string();
        assert!(said.contains(fault) && said.contains(".log"), "{said}");
        assert!(said.contains(&format!("the backup has {},", kept.len())), "{said}");

        let system = Arc::new(SystemEnvironment);
        let restored = SqliteStore::restore(&backup, &parent.path().join("new"), system).unwrap();
        assert_eq!(wait(restored.check()).unwrap(), Vec::<String>::new());
        let after = place(&restored);
        assert_eq!(bytes(&restored, after).as_deref(), Some(kept));
        let (snapshot, content) = wait(restored.log_snapshot(&notes)).unwrap().unwrap();
        assert_eq!((snapshot.covers, &content[..]), (after, &b"{}"[..]));
        let again = done(wait(restored.append_to_log(&notes, keyed(Expected::Present))));
        assert_eq!(again.place.length, after.length + covers.length, "it is not known by its key");
        let other = wait(restored.log(&books)).unwrap().unwrap().place;
        assert_eq!(read_all(&restored, &books, other.generation), Some(b"books\n".to_vec()));
        assert_eq!(ids(&all(&restored, &notes)), ["a"]);
    }
}

fn cut(file: &Path, length: u64) {
    File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

/// A log whose file is lost or truncated yields an error for reads, appends and checks, and can be begun
/// again.
#[test]
fn a_log_whose_file_is_damaged_says_so() {
    for damage in ["is missing", "is too short"] {
        let directory = TempDir::new().unwrap();
        let store = init(directory.path());
        let log = begun(&store, &named("notes"), b"one\ntwo\n");
        let file = file(directory.path(), log.place);
        if damage == "is missing" {
            fs::remove_file(&file).unwrap();
        } else {
            cut(&file, 4);
        }
        let read = wait(store.read_log(&named("notes"), log.place.generation, 0, 100));
        let append = append(Expected::At(vec![log.place]), b"three\n");
        let appended = wait(store.append_to_log(&named("notes"), append)).map(drop);
        for refused in [read.map(drop), appended] {
            assert!(
                matches!(&refused, Err(StoreError::Damaged(what))
                if what.contains(damage) && what.contains(".log")),
                "{refused:?}"
            );
        }
        assert_eq!(wait(store.log(&named("notes"))).unwrap(), Some(log));
        let faults = wait(store.check()).unwrap();
        assert!(matches!(&faults[..], [fault] if fault.contains(damage)), "{faults:?}");
        drop(store);
        let store = open(directory.path());
        let next = compacted(&store, b"from a client\n");
        grown(&store, &named("notes"), b"three\n");
        assert_eq!(bytes(&store, next), Some(b"from a client\nthree\n".to_vec()));
    }
}

/// Offsets have 64 bits (LT10). The bytes are a hole of the file.
#[test]
#[cfg(unix)]
fn a_log_may_be_longer_than_four_gigabytes() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = named("notes");
    let first = begun(&store, &notes, b"one\n").place;
    drop(store);
    let length = (1 << 32) + 4;
    File::options()
        .write(true)
        .open(file(directory.path(), first))
        .unwrap()
        .set_len(length)
        .unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.execute("UPDATE logs SET length = ?1", [length as i64]).unwrap();
    drop(raw);
    let store = open(directory.path());
    let place = LogPosition { length, ..first };
    let after =
        done(wait(store.append_to_log(&notes, append(Expected::At(vec![place]), b"two\n"))));
    assert_eq!(after.place.length, length + 4);
    let read = |from, most| wait(store.read_log(&notes, first.generation, from, most)).unwrap();
    assert_eq!(read(length, 9).as_deref(), Some(&b"two\n"[..]));
    assert_eq!(read(length - 2, 4).as_deref(), Some(&b"\0\0tw"[..]));
    assert_eq!(read(0, 5).as_deref(), Some(&b"one\n\0"[..]));
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// With two processes, each sees the other's commits immediately.
#[test]
fn two_handles_append_to_one_log() {
    let directory = TempDir::new().unwrap();
    let stores = [init(directory.path()), open(directory.path())];
    let mut at = begun(&stores[0], &named("notes"), b"0\n").place;
    let mut expected = b"0\n".to_vec();
    for number in 1..20 {
        let record = format!("{number}\n");
        let append = append(Expected::At(vec![at]), record.as_bytes());
        at = done(wait(stores[number % 2].append_to_log(&named("notes"), append))).place;
        expected.extend(record.bytes());
        for store in &stores {
            assert_eq!((place(store), bytes(store, at)), (at, Some(expected.clone())));
        }
        if number == 10 {
            at = compacted(&stores[1], b"");
            expected.clear();
        }
    }
    assert_eq!(wait(stores[0].sweep_logs(Moment::MAX)).unwrap(), 1);
    assert_eq!(bytes(&stores[1], at), Some(expected));
}
