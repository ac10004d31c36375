//! Properties of a store in a file: moving, copying, backup, restoration, and rejection of foreign files.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use feedsync_store::conformance::samples::{
    all, by, create, id, ids, item, named, put, sequence, store_each, write,
};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    CollectionChange, Digest, EndpointName, Identity, ItemStore, NewRemote, SqliteStore,
    StoreError, Until, Write,
};
use tempfile::TempDir;

use crate::transfer_databases;

fn environment(seed: u64) -> Arc<TestEnvironment> {
    Arc::new(TestEnvironment::new(seed))
}

fn init(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("anna").unwrap();
    SqliteStore::init(directory, &name, environment(1)).unwrap()
}

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, environment(2)).unwrap()
}

fn identity(store: &SqliteStore) -> Identity {
    wait(store.identity()).unwrap()
}

fn until(store: &SqliteStore, name: &str) -> Until {
    let collection = wait(store.collection(&named(name))).unwrap().unwrap();
    collection.until(collection.last)
}

/// A store with rows in every table.
fn filled(directory: &Path) -> SqliteStore {
    let store = init(directory);
    let notes = create(&store, "notes").name;
    create(&store, "books");
    store_each(&store, &notes, &["a", "b", "c", "d"]);
    let writes = vec![
        Write::Discard { ids: vec![id("b")], reason: "gone".to_owned() },
        Write::Purge { ids: vec![id("c")] },
        Write::Issue { item: id("a"), by: by("anna.once"), sequence: sequence(3) },
    ];
    write(&store, &notes, &["a", "b", "c"], writes).unwrap();
    let url = "http://example.org/".to_owned();
    wait(store.add_remote(NewRemote { collection: notes, name: None, url, subscription: None }))
        .unwrap();
    wait(store.put_blob(b"blob".to_vec())).unwrap();
    store
}

fn contents(store: &SqliteStore) -> String {
    let notes = named("notes");
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        all(store, &notes),
        wait(store.discarded(&notes)).unwrap(),
        wait(store.issued(&id("a"))).unwrap(),
        wait(store.remotes(None)).unwrap(),
        wait(store.blob(Digest::of(b"blob"))).unwrap(),
    )
}

#[test]
fn stored_data_survives_reopening() {
    let directory = TempDir::new().unwrap();
    let store = filled(directory.path());
    let before = (contents(&store), identity(&store), wait(store.collections()).unwrap());
    drop(store);
    let store = open(directory.path());
    let after = (contents(&store), identity(&store), wait(store.collections()).unwrap());
    assert_eq!(after, before, "nothing changed, the incarnation and the epochs neither");
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("deep").join("data");
    let store = filled(&directory);
    assert!(wait(store.backup(&parent.path().join("backup"))).unwrap().is_complete());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&parent.path().join("backup")), 0o600);
    let mut files = 0;
    for file in fs::read_dir(&directory).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert_eq!(files, 5, "the database, its log, the log's index, the nonce and the reserve");
}

#[test]
fn a_moved_directory_is_a_new_incarnation_in_new_epochs() {
    let parent = TempDir::new().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    let store = filled(&old);
    let (before, place, data) = (identity(&store), until(&store, "notes"), contents(&store));
    drop(store);
    fs::rename(&old, &new).unwrap();
    let store = open(&new);
    let after = identity(&store);
    assert_eq!((after.name, after.retired), (before.name, vec![before.by]));
    assert!(until(&store, "notes") > place && until(&store, "books").epoch > place.epoch);
    assert_eq!(contents(&store), data);
    drop(store);
    assert_eq!(identity(&open(&new)).retired.len(), 1, "once is enough");
}

#[test]
fn a_copied_directory_and_the_original_sign_differently() {
    let parent = TempDir::new().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    let store = filled(&old);
    let before = identity(&store);
    drop(store);
    fs::create_dir(&new).unwrap();
    fs::copy(old.join("feedsync.db"), new.join("feedsync.db")).unwrap();
    assert_eq!(identity(&open(&old)), before);
    assert_ne!(identity(&open(&new)).by, before.by);
}

#[test]
fn a_file_that_was_put_back_is_a_new_incarnation() {
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("data");
    let (file, saved) = (directory.join("feedsync.db"), parent.path().join("saved"));
    let store = filled(&directory);
    let before = identity(&store);
    drop(store);
    fs::copy(&file, &saved).unwrap();
    let store = open(&directory);
    store_each(&store, &named("notes"), &["later"]);
    let place = until(&store, "notes");
    drop(store);
    // Created before the old file is removed, so that the system cannot reuse its inode.
    fs::copy(&saved, directory.join("copy")).unwrap();
    fs::rename(directory.join("copy"), &file).unwrap();
    let store = open(&directory);
    assert_ne!(identity(&store).by, before.by);
    assert!(until(&store, "notes") > place, "who saw the later state notices");
}

#[test]
fn a_backup_holds_one_moment_of_a_store_in_use() {
    let parent = TempDir::new().unwrap();
    let (data, file) = (parent.path().join("data"), parent.path().join("backup"));
    let store = Arc::new(filled(&data));
    let notes = named("notes");
    let writer = {
        let (store, notes) = (store.clone(), notes.clone());
        thread::spawn(move || {
            for count in 0..200 {
                let names = [format!("left{count}"), format!("right{count}")];
                let names = names.each_ref().map(String::as_str);
                let writes = names.map(|name| put(item(name, "A", 1))).to_vec();
                write(&*store, &notes, &names, writes).unwrap();
            }
        })
    };
    fs::write(&file, "an older backup").unwrap();
    for _ in 0..5 {
        assert!(wait(store.backup(&file)).unwrap().is_complete());
    }
    writer.join().unwrap();
    drop(store);
    let restored =
        SqliteStore::restore(&file, &parent.path().join("restored"), environment(3)).unwrap();
    let items = all(&restored, &notes);
    let (left, right): (Vec<_>, Vec<_>) =
        ids(&items).into_iter().filter(|id| id.len() > 1).partition(|id| id.starts_with("left"));
    assert_eq!(left.len(), right.len(), "each update whole or not at all");
    assert_eq!(wait(restored.check()).unwrap(), Vec::<String>::new());
    let leftovers: Vec<_> = fs::read_dir(parent.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("backup") && name != "backup")
        .collect();
    assert_eq!(leftovers, Vec::<String>::new());
}

#[test]
fn a_backup_holds_databases_whole() {
    let parent = TempDir::new().unwrap();
    let (data, file) = (parent.path().join("data"), parent.path().join("backup"));
    let store = init(&data);
    transfer_databases::fill(&store);
    let before = transfer_databases::contents(&store);
    let last = transfer_databases::epochs(&store).into_iter().max();
    assert!(wait(store.backup(&file)).unwrap().is_complete());
    drop(store);
    let restored =
        SqliteStore::restore(&file, &parent.path().join("restored"), environment(3)).unwrap();
    assert_eq!(transfer_databases::contents(&restored), before);
    assert!(transfer_databases::epochs(&restored).into_iter().min() > last, "new epochs");
    assert_eq!(wait(restored.check()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_restored_store_signs_anew_in_new_epochs() {
    let parent = TempDir::new().unwrap();
    let (data, file) = (parent.path().join("data"), parent.path().join("backup"));
    let store = filled(&data);
    let (before, place, data) = (identity(&store), until(&store, "notes"), contents(&store));
    assert!(wait(store.backup(&file)).unwrap().is_complete());
    drop(store);
    let directory = parent.path().join("restored");
    let store = SqliteStore::restore(&file, &directory, environment(3)).unwrap();
    let after = identity(&store);
    assert_eq!((after.name, after.retired), (before.name, vec![before.by]));
    assert!(until(&store, "notes").epoch > place.epoch);
    assert!(until(&store, "books").epoch > place.epoch);
    assert_eq!(contents(&store), data);
    drop(store);
    assert_eq!(identity(&open(&directory)).retired.len(), 1);

    let occupied = SqliteStore::restore(&file, &directory, environment(4));
    assert!(matches!(occupied, Err(StoreError::Place { .. })));
    let nothing = SqliteStore::restore(
        &parent.path().join("nothing"),
        &parent.path().join("other"),
        environment(4),
    );
    assert!(nothing.is_err());
}

#[test]
fn a_restore_does_not_take_over_a_log_left_behind() {
    let parent = TempDir::new().unwrap();
    let file = parent.path().join("backup");
    let store = filled(&parent.path().join("data"));
    assert!(wait(store.backup(&file)).unwrap().is_complete());
    let directory = parent.path().join("other");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("feedsync.db-wal"), "frames of another file").unwrap();
    let refused = SqliteStore::restore(&file, &directory, environment(3));
    assert!(matches!(refused, Err(StoreError::Place { .. })));
}

#[test]
fn foreign_file_is_rejected_and_named_in_the_error() {
    let directory = TempDir::new().unwrap();
    let name = EndpointName::new("anna").unwrap();
    let open = || SqliteStore::open(directory.path(), environment(2)).err().unwrap();
    assert!(open().to_string().ends_with("there is no store here"));
    drop(init(directory.path()));
    let again = SqliteStore::init(directory.path(), &name, environment(1)).err().unwrap();
    assert!(again.to_string().ends_with("there is already a store"));

    let file = directory.path().join("feedsync.db");
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let newer = open();
    assert!(matches!(newer, StoreError::Newer { found: 99, known: 16, .. }), "{newer:?}");
    assert!(newer.to_string().contains("update the program"));

    fs::write(&file, "a text that is long enough to look like something else".repeat(100)).unwrap();
    assert!(matches!(open(), StoreError::Foreign { .. }));
    fs::remove_file(&file).unwrap();
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.execute_batch("CREATE TABLE other (x)").unwrap();
    drop(raw);
    assert!(matches!(open(), StoreError::Foreign { .. }));
    let refused = SqliteStore::init(directory.path(), &name, environment(1));
    assert!(matches!(refused, Err(StoreError::Foreign { .. })));
}

#[test]
fn an_init_that_was_interrupted_is_done_again() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("feedsync.db"), "").unwrap();
    assert!(!SqliteStore::exists(directory.path()));
    drop(init(directory.path()));
    assert!(SqliteStore::exists(directory.path()));
}

/// Repeats an init that crashed after each of the steps before the first commit.
#[test]
fn an_init_that_was_interrupted_after_its_first_page_is_done_again() {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).join("feedsync.db");
    fs::create_dir(directory.path().join("raw")).unwrap();
    let mut raw = rusqlite::Connection::open(file("raw")).unwrap();
    raw.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA cache_size = 2").unwrap();
    raw.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    let transaction = raw.transaction().unwrap();
    for number in 0..100 {
        transaction
            .execute_batch(&format!(
                "CREATE TABLE t{number} (x); INSERT INTO t{number} VALUES (zeroblob(9000))"
            ))
            .unwrap();
    }
    let wal = |name: &str| directory.path().join(name).join("feedsync.db-wal");
    assert!(fs::metadata(wal("raw")).unwrap().len() > 0, "pages are written before the commit");
    for (name, has_wal) in [("page", false), ("log", true)] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::copy(file("raw"), file(name)).unwrap();
        if has_wal {
            fs::copy(wal("raw"), wal(name)).unwrap();
        }
        let home = directory.path().join(name);
        let opened = SqliteStore::open(&home, environment(1)).err().unwrap();
        assert!(matches!(opened, StoreError::Place { .. }), "{name}: {opened}");
        let store = init(&home);
        create(&store, "notes");
        drop(store);
        open(&home);
    }
}

#[test]
fn two_handles_see_and_notice_each_other() {
    let directory = TempDir::new().unwrap();
    let one = init(directory.path());
    let notes = create(&one, "notes").name;
    let two = open(directory.path());
    let mut notices = two.subscribe(&notes);
    for name in ["a", "b"] {
        // The first poll after subscribing always causes a notice; later ones only after changes.
        let heard = async {
            while tokio::time::timeout(Duration::from_secs(1), notices.next()).await.is_ok() {}
        };
        wait(heard);
        store_each(&one, &notes, &[name]);
        assert_eq!(all(&two, &notes).last().unwrap().item.id, id(name));
        let heard = async { tokio::time::timeout(Duration::from_secs(1), notices.next()).await };
        assert_eq!(wait(heard), Ok(true), "within a second");
    }
    let before = identity(&one);
    write(&two, &notes, &[], vec![Write::Reincarnate { by: by("anna.next") }]).unwrap();
    assert_eq!(identity(&one).retired, [before.by]);
}

#[test]
fn damage_is_reported_with_its_kind() {
    let directory = TempDir::new().unwrap();
    drop(filled(directory.path()));
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.execute("UPDATE items SET history = 'once upon a time' WHERE id = 'a'", []).unwrap();
    drop(raw);
    let store = open(directory.path());
    let error = wait(store.item(&named("notes"), &id("a"))).err().unwrap();
    assert!(matches!(&error, StoreError::Damaged(what) if what.contains("once upon")), "{error}");
    assert!(wait(store.item(&named("notes"), &id("d"))).unwrap().is_some());
}

#[test]
fn a_dropped_future_writes_all_or_nothing_and_harms_nobody() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = create(&store, "notes").name;
    for count in 0..50 {
        let names = [format!("l{count}"), format!("r{count}")];
        let keys = names.iter().map(|name| id(name)).collect();
        let writes: Vec<_> = names.iter().map(|name| put(item(name, "A", 1))).collect();
        let update = store.update(&notes, keys, Box::new(move |_| writes.clone()));
        let gone = async { tokio::time::timeout(Duration::from_micros(count), update).await };
        drop(wait(gone));
    }
    store_each(&store, &notes, &["last"]);
    let items = all(&store, &notes);
    let (left, right): (Vec<_>, Vec<_>) =
        ids(&items).into_iter().filter(|id| *id != "last").partition(|id| id.starts_with('l'));
    assert_eq!(left.len(), right.len());
    assert_eq!(ids(&items).last(), Some(&"last"));
}

#[test]
fn cached_collection_is_invalidated_by_any_commit() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = create(&store, "notes").name;
    let other = open(directory.path());
    let titles = || {
        [&store, &other].map(|store| {
            let collection = wait(store.collection(&notes)).unwrap();
            collection.map(|collection| collection.title)
        })
    };
    for number in 0..20 {
        let title = format!("title {number}");
        let writer = if number % 2 == 0 { &store } else { &other };
        let change = CollectionChange { title: Some(title.clone()), ..Default::default() };
        wait(writer.change_collection(&notes, change)).unwrap();
        assert_eq!(titles(), [Some(title.clone()), Some(title.clone())]);
        store_each(writer, &notes, &[&format!("item{number}")]);
        assert_eq!(until(&store, "notes"), until(&other, "notes"));
        assert_eq!(until(&store, "notes").number.get(), number + 1);
    }
    wait(other.drop_collection(&notes)).unwrap();
    assert_eq!(titles(), [None, None]);
}

/// Earlier versions of this program stored histories of any length. They are shortened when read, under the
/// same number.
#[test]
fn a_history_that_is_too_long_is_read_shortened_and_takes_no_number() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = create(&store, "notes").name;
    let long = item("long", "A", 9_000);
    write(&store, &notes, &["long"], vec![put(long.clone())]).unwrap();
    let last = wait(store.collection(&notes)).unwrap().unwrap().last;
    drop(store);
    let store = open(directory.path());
    let read = wait(store.item(&notes, &id("long"))).unwrap().unwrap();
    let history = &read.item.winner.history;
    assert_eq!(history.updates().len(), feedsync_core::LINE_WINDOW);
    assert!(history.covers_all(&long.winner.history));
    assert_eq!((read.number, read.item.winner.dot()), (last, long.winner.dot()));
}

#[test]
fn room_is_checked_by_many_at_once() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(init(directory.path()));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            thread::spawn(move || (0..50).try_for_each(|_| wait(store.check_space())))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn a_directory_without_a_store_is_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let before = fs::metadata(directory.path()).unwrap().modified().unwrap();
    thread::sleep(Duration::from_millis(20));
    assert!(SqliteStore::open(directory.path(), environment(2)).is_err());
    assert_eq!(fs::metadata(directory.path()).unwrap().modified().unwrap(), before);
}

/// An existing backup stays restorable, whichever page of the file is damaged: a backup that cannot be
/// restored does not replace the older one.
#[test]
fn a_damaged_store_replaces_no_backup() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    create(&store, "notes");
    for number in 0..60 {
        store_each(&store, &named("notes"), &[&format!("item-{number}")]);
    }
    let backup = directory.path().join("backup");
    let _ = wait(store.backup(&backup)).unwrap();
    drop(store);
    let (sound, older) =
        (fs::read(directory.path().join("feedsync.db")).unwrap(), fs::read(&backup).unwrap());
    let (mut refused, mut found) = (0, 0);
    for page in (4_096..sound.len()).step_by(4_096) {
        let damaged = TempDir::new().unwrap();
        let mut bytes = sound.clone();
        bytes[page..page + 4_096].fill(0x5a);
        fs::write(damaged.path().join("feedsync.db"), bytes).unwrap();
        let Ok(store) = SqliteStore::open(damaged.path(), environment(2)) else { continue };
        fs::write(&backup, &older).unwrap();
        found += usize::from(wait(store.check()).is_ok_and(|faults| !faults.is_empty()));
        if wait(store.backup(&backup)).is_err() {
            refused += 1;
            assert_eq!(fs::read(&backup).unwrap(), older, "page {}", page / 4_096);
        }
        let restored = TempDir::new().unwrap();
        SqliteStore::restore(&backup, restored.path(), environment(3)).unwrap();
    }
    assert!(refused > 5 && found >= refused, "{refused} refused, {found} with findings");
}
