//! Backups with more files, and increments of backups.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_store::conformance::logs::{begun, grown, read_all};
use feedsync_store::conformance::samples::{all, create, item, named, put, write};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    BackupFile, BackupPlan, EndpointName, Environment as _, Logs as _, SqliteStore, StoreError,
};
use tempfile::TempDir;

use crate::transfer_databases;

/// A store with a log, databases and a file beside it, and its backups.
struct Place {
    directory: TempDir,
    store: SqliteStore,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let name = EndpointName::new("anna").unwrap();
        let data = directory.path().join("data");
        let store = SqliteStore::init(&data, &name, environment(1)).unwrap();
        let notes = create(&store, "notes").name;
        begun(&store, &notes, &b"0123456\n".repeat(400_000));
        transfer_databases::fill(&store);
        fs::write(data.join("articles"), vec![1; 200_000]).unwrap();
        Self { directory, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn back_up(&self, name: &str, since: Option<&str>) -> Result<(), StoreError> {
        let content = self.path("data/articles");
        let plan = BackupPlan {
            file: self.path(name),
            files: vec![BackupFile { name: "articles".to_owned(), content }],
            since: since.map(|since| self.path(since)),
        };
        wait(self.store.backup_with(plan)).map(|report| assert!(report.is_complete()))
    }

    /// Restores a backup into a new directory, in which a restore that fails leaves nothing.
    fn restore(&self, backup: &str, increment: Option<&str>) -> Result<SqliteStore, StoreError> {
        let directory = TempDir::new_in(self.directory.path()).unwrap().keep();
        let restored = self.restore_into(&directory, backup, increment);
        if restored.is_err() {
            assert_eq!(files(&directory), 0, "{directory:?}");
        }
        restored
    }

    fn restore_into(
        &self,
        directory: &Path,
        backup: &str,
        increment: Option<&str>,
    ) -> Result<SqliteStore, StoreError> {
        let increment = increment.map(|name| self.path(name));
        let increment = increment.as_deref();
        let backup = self.path(backup);
        let (store, stayed) =
            SqliteStore::restore_with(&backup, increment, directory, environment(3))?;
        assert_eq!(stayed, Vec::<String>::new());
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        let articles = fs::read(directory.join("articles")).unwrap();
        assert_eq!(articles, fs::read(self.path("data/articles")).unwrap());
        Ok(store)
    }

    /// Writes something of everything.
    fn change(&self, number: usize) {
        let id = format!("item-{number}");
        write(&self.store, &named("notes"), &[&id], vec![put(item(&id, "A", 1))]).unwrap();
        grown(&self.store, &named("notes"), format!("change {number}\n").as_bytes());
        let mut articles = fs::read(self.path("data/articles")).unwrap();
        let place = number * 40_001 % articles.len();
        articles[place] ^= 0xff;
        fs::write(self.path("data/articles"), articles).unwrap();
    }

    fn size(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }
}

fn environment(seed: u64) -> Arc<TestEnvironment> {
    Arc::new(TestEnvironment::new(seed))
}

fn contents(store: &SqliteStore) -> String {
    let notes = named("notes");
    let log = wait(store.log(&notes)).unwrap().unwrap().place;
    let bytes = read_all(store, &notes, log.generation).unwrap();
    let items = all(store, &notes);
    format!(
        "{items:?} {} {:?}",
        String::from_utf8(bytes).unwrap(),
        transfer_databases::contents(store)
    )
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn an_increment_brings_a_backup_to_a_later_state() {
    let place = Place::new();
    place.back_up("base", None).unwrap();
    let earlier = contents(&place.store);
    for round in 0..4 {
        (0..3).for_each(|number| place.change(10 * round + number));
        place.back_up("increment", Some("base")).unwrap();
        let later = contents(&place.store);
        assert_eq!(contents(&place.restore("base", Some("increment")).unwrap()), later, "{round}");
    }
    // The pieces that stayed are not in it: most of the log, and most of the other file.
    assert!(place.size("increment") < place.size("base") / 3, "{}", place.size("increment"));
    let (directory, old) = (place.path("data"), fs::read(place.path("data/articles")).unwrap());
    fs::write(directory.join("articles"), vec![1; 200_000]).unwrap();
    assert_eq!(contents(&place.restore("base", None).unwrap()), earlier, "the base is as it was");
    fs::write(directory.join("articles"), old).unwrap();
    let names: Vec<_> = fs::read_dir(place.directory.path()).unwrap().flatten().collect();
    let partial = |name: &std::ffi::OsStr| name.to_string_lossy().contains("partial");
    assert!(!names.iter().any(|entry| partial(&entry.file_name())));
}

#[test]
fn an_increment_never_replaces_its_backup_and_a_backup_may_be_read_only() {
    let place = Place::new();
    place.back_up("base", None).unwrap();
    let base = fs::read(place.path("base")).unwrap();
    place.change(1);
    for name in ["base", "data/../base"] {
        let refused = place.back_up(name, Some("base")).unwrap_err();
        assert!(matches!(refused, StoreError::Place { .. }), "{name}: {refused}");
        assert_eq!(fs::read(place.path("base")).unwrap(), base, "{name}");
    }
    place.back_up("increment", Some("base")).unwrap();
    let mut permissions = fs::metadata(place.path("base")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(place.path("base"), permissions).unwrap();
    let restored = place.restore("base", Some("increment")).unwrap();
    assert_eq!(contents(&restored), contents(&place.store));
}

#[test]
fn an_increment_belongs_to_one_backup() {
    let place = Place::new();
    place.back_up("base", None).unwrap();
    place.change(1);
    place.back_up("other", None).unwrap();
    place.change(2);
    place.back_up("increment", Some("base")).unwrap();
    let damaged = |restored: Result<SqliteStore, StoreError>| {
        let error = restored.err().unwrap().to_string();
        assert!(error.contains("increment of another backup"), "{error}");
    };
    damaged(place.restore("other", Some("increment")));
    let foreign = |restored: Result<SqliteStore, StoreError>| {
        assert!(matches!(restored.err().unwrap(), StoreError::Foreign { .. }));
    };
    foreign(place.restore("increment", None));
    foreign(place.restore("base", Some("other")));
    let since = place.back_up("next", Some("increment"));
    assert!(matches!(since.unwrap_err(), StoreError::Foreign { .. }));
    assert!(!place.path("next").exists());
}

#[test]
fn a_damaged_increment_is_never_restored() {
    let place = Place::new();
    place.back_up("base", None).unwrap();
    place.change(1);
    place.back_up("increment", Some("base")).unwrap();
    let later = contents(&place.store);
    let sound = fs::read(place.path("increment")).unwrap();
    let random = environment(7);
    let mut refused = 0;
    for _ in 0..60 {
        let mut bytes = sound.clone();
        let at = random.random() as usize % bytes.len();
        bytes[at] ^= 1 << (random.random() % 8);
        fs::write(place.path("damaged"), &bytes).unwrap();
        match place.restore("base", Some("damaged")) {
            Err(_) => refused += 1,
            Ok(store) => assert_eq!(contents(&store), later, "byte {at}"),
        }
    }
    assert!(refused > 30, "{refused}");
    for length in [0, 100, sound.len() / 2] {
        fs::write(place.path("damaged"), &sound[..length]).unwrap();
        assert!(place.restore("base", Some("damaged")).is_err(), "{length} bytes");
    }
}
