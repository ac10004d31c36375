//! A mirror between a store in memory and a real directory.

mod crashes;
mod edits;
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_couch::{DatabaseName, Json, Revision, Submission};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{Edits, NewDocument};
use feedsync_store::{EndpointName, MemoryStore, SystemEnvironment};
use tempfile::TempDir;

use super::note::{NoteHead, SplitContent, chunk};
use super::path::{CaseRule, id_of};
use super::trouble::Trouble;
use super::*;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A vault, a directory and a data directory.
struct Scene {
    place: TempDir,
    endpoint: Endpoint,
    name: DatabaseName,
}

impl Scene {
    fn new() -> Self {
        let name = EndpointName::new("tester").unwrap();
        let store = Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)));
        let endpoint = Endpoint::new(store, Arc::new(SystemEnvironment));
        let scene =
            Self { place: tempfile::tempdir().unwrap(), endpoint, name: "notes".parse().unwrap() };
        scene.create();
        scene
    }

    fn create(&self) {
        wait(self.endpoint.databases().create_database(&self.name, Default::default())).unwrap();
    }

    fn drop_database(&self) {
        let databases = self.endpoint.databases();
        let database = wait(databases.database(&self.name)).unwrap().unwrap();
        wait(databases.drop_database(&self.name, database.epoch)).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("dir")
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn open(&self, is_confirmed: bool) -> Result<Mirror, Failure> {
        let (data, root) = (self.data(), self.root());
        let places = Places { data: &data, directory: &root };
        wait(Mirror::open(&self.endpoint, &self.name, places, is_confirmed))
    }

    fn try_pass(&self, options: PassOptions) -> Result<Report, Failure> {
        wait(self.open(options.is_confirmed)?.pass(options))
    }

    /// A pass that must succeed; the vault may be new.
    fn pass(&self) -> Report {
        let options = PassOptions { is_unencrypted: true, ..PassOptions::default() };
        self.try_pass(options).unwrap()
    }

    fn refusal(&self) -> String {
        self.try_pass(PassOptions::default()).unwrap_err().to_string()
    }

    /// The file of the state.
    fn state_file(&self) -> PathBuf {
        let states = fs::read_dir(self.data().join(STATES)).unwrap();
        let mut paths = states.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|it| it == "json")).expect("a state")
    }

    fn state(&self) -> MirrorState {
        MirrorState::read(&fs::read_to_string(self.state_file()).unwrap()).unwrap()
    }

    // A person at the files.

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.root().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// Paths and contents of all files, hidden ones included.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let (mut found, mut directories) = (BTreeMap::new(), vec![self.root()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
        found
    }

    // A device.

    fn write_documents(&self, documents: Vec<(String, String, Option<Revision>)>, edits: Edits) {
        let documents = documents.into_iter().map(|(id, text, base)| {
            let json = Json::read(text.into_bytes()).unwrap();
            let mut sent = Submission::read(json.root()).unwrap();
            sent.revision = base.or(sent.revision);
            NewDocument { id: id.parse().unwrap(), sent, followed: BTreeMap::new() }
        });
        let documents: Vec<_> = documents.collect();
        let database = wait(self.endpoint.databases().database(&self.name)).unwrap().unwrap();
        let writer = self.endpoint.documents_writer(Author::SERVER);
        wait(writer.write(&database, documents, edits)).unwrap();
    }

    fn document(&self, id: &str, text: &str) {
        self.write_documents(vec![(id.to_owned(), text.to_owned(), None)], Edits::New);
    }

    fn stored(&self) -> (NoteDatabase, StoredNotes) {
        let mut notes = wait(NoteDatabase::open(&self.endpoint, &self.name)).unwrap();
        let mut stored = StoredNotes::new();
        wait(notes.refresh(&mut stored)).unwrap();
        (notes, stored)
    }

    /// A device writes a note. Its chunks have ids of its own.
    fn edit(&self, path: &str, content: impl AsRef<[u8]>) {
        let (_, stored) = self.stored();
        let id = id_of(path, CaseRule::Insensitive);
        let split = SplitContent::of(path, content.as_ref()).unwrap();
        let ids: Vec<_> = split.pieces.iter().map(|it| chunk_id::long_chunk_id(it)).collect();
        let leaves = ids.iter().zip(&split.pieces).map(|(id, it)| (id.clone(), chunk(it), None));
        self.write_documents(leaves.collect(), Edits::New);
        let head = NoteHead {
            path: path.to_owned(),
            is_deleted: false,
            is_text: true,
            created: 1_600_000_000_000,
            modified: 1_700_000_000_123,
        };
        let base = stored.get(&id).map(|note| note.revision.clone());
        self.write_documents(vec![(id, split.note(&head, &ids), base)], Edits::New);
    }

    /// A device deletes a note.
    fn delete(&self, path: &str) {
        let (notes, stored) = self.stored();
        let id = id_of(path, CaseRule::Insensitive);
        wait(notes.delete(&id, &stored[&id].revision, 1)).unwrap().unwrap();
    }

    fn note(&self, path: &str) -> Option<Vec<u8>> {
        let (notes, stored) = self.stored();
        let id = id_of(path, CaseRule::Insensitive);
        let note = stored.get(&id).filter(|note| !note.head.is_deleted)?;
        Some(wait(notes.content(&id, note)).unwrap().unwrap())
    }

    /// Paths and contents of all notes that are not deleted.
    fn all_notes(&self) -> BTreeMap<String, Vec<u8>> {
        let (notes, stored) = self.stored();
        let live = stored.iter().filter(|(_, note)| !note.head.is_deleted);
        let content = |id: &str, note| wait(notes.content(id, note)).unwrap().unwrap();
        live.map(|(id, note)| (note.head.path.clone(), content(id, note))).collect()
    }
}

fn texts(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Bytes that are not text.
fn binary(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * at % 251) as u8).collect()
}

#[test]
fn notes_and_files_come_to_the_same_bytes_in_both_directions() {
    let scene = Scene::new();
    scene.edit("Grüße/Tag 1.md", "gleich\r\n🎉\n");
    scene.edit("_Index.md", "");
    scene.edit("picture.png", binary(700_000));
    scene.put("Von hier/Ünïcode 🎉.md", "from the directory\n");
    scene.put("sound.bin", binary(1_000));
    scene.put(".obsidian/app.json", "{}");
    let report = scene.pass();
    assert_eq!(report.left_out, []);
    assert_eq!(report.files_written, ["_Index.md", "Grüße/Tag 1.md", "picture.png"]);
    assert_eq!(report.notes_written, ["sound.bin", "Von hier/Ünïcode 🎉.md"]);
    assert_eq!(report.mirrored, 5);
    assert_eq!(scene.file("_Index.md").unwrap(), "");
    assert_eq!(scene.file("Grüße/Tag 1.md").unwrap(), "gleich\r\n🎉\n");
    assert_eq!(scene.files()["picture.png"], binary(700_000));
    assert_eq!(scene.note("Von hier/Ünïcode 🎉.md").unwrap(), b"from the directory\n");
    assert_eq!(scene.note("sound.bin").unwrap(), binary(1_000));
    let metadata = fs::metadata(scene.root().join("Grüße/Tag 1.md")).unwrap();
    let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    assert_eq!(metadata.modified().unwrap(), modified);
    let again = scene.pass();
    assert!(again.is_idle(), "{again:?}");
    assert_eq!(again.mirrored, 5);
}

#[test]
fn edits_and_deletions_of_each_side_arrive_at_the_other() {
    let scene = Scene::new();
    for name in ["a.md", "b.md", "dir/c.md", "d.md", "e.md"] {
        scene.edit(name, name);
    }
    scene.pass();
    scene.edit("a.md", "edited by a device");
    scene.put("b.md", "edited in the directory");
    scene.delete("dir/c.md");
    scene.remove("d.md");
    let report = scene.pass();
    assert_eq!(report.files_written, ["a.md"]);
    assert_eq!(report.notes_written, ["b.md"]);
    assert_eq!(report.files_deleted, ["dir/c.md"]);
    assert_eq!(report.notes_deleted, ["d.md"]);
    assert_eq!(scene.file("a.md").unwrap(), "edited by a device");
    assert_eq!(scene.note("b.md").unwrap(), b"edited in the directory");
    assert!(!scene.root().join("dir").exists());
    let (_, stored) = scene.stored();
    assert!(stored["d.md"].head.is_deleted, "the body is marked, and the document stays");
    assert!(stored["d.md"].head.modified > 1_700_000_000_123);
    assert_eq!(stored["b.md"].head.created, 1_600_000_000_000);
    assert!(scene.pass().is_idle());
    // Both come back.
    scene.put("d.md", "again");
    scene.edit("dir/c.md", "again");
    scene.pass();
    assert_eq!(scene.note("d.md").unwrap(), b"again");
    assert_eq!(scene.file("dir/c.md").unwrap(), "again");
}
