use std::fs;

use tempfile::TempDir;

use super::*;
use crate::vault::mirror::path::PathTrouble;
use crate::vault::mirror::state::Entry;

const DATE: &str = "2026-11-27 08.00.00";

struct Scene {
    directory: TempDir,
    folder: Folder,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("dir");
        fs::create_dir(&root).unwrap();
        Self { directory, folder: Folder::new(root) }
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.folder.place(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    fn write(&self, path: &str, text: &str, expected: Expected) -> Result<Stamp, Trouble> {
        let new = NewFile { path, bytes: text.as_bytes(), modified: 1_700_000_000_123 };
        self.folder.write(new, expected, DATE)
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.place(path)).ok()
    }

    fn names(&self) -> Vec<String> {
        let listing = self.folder.list().unwrap();
        assert!(listing.leftovers.is_empty(), "{:?}", listing.leftovers);
        listing.files.into_keys().collect()
    }
}

fn content(text: &str) -> Expected {
    Expected::Content(Digest::of(text.as_bytes()))
}

#[test]
fn files_are_written_with_their_time_and_replaced_with_their_permissions() {
    let scene = Scene::new();
    let stamp = scene.write("a/b/note.md", "one", Expected::Absent).unwrap();
    assert_eq!(stamp.milliseconds(), 1_700_000_000_123);
    assert_eq!(scene.folder.list().unwrap().files["a/b/note.md"], stamp);
    let place = scene.folder.place("a/b/note.md");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
        scene.write("a/b/note.md", "two", content("one")).unwrap();
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let before = scene.text("a/b/note.md").unwrap();
    scene.write("a/b/note.md", "two", content(&before)).unwrap();
    let (bytes, stamp) = scene.folder.read("a/b/note.md").unwrap();
    assert_eq!((bytes.as_slice(), stamp.size), (&b"two"[..], 3));
    assert_eq!(scene.names(), ["a/b/note.md"]);
}

#[test]
fn a_file_with_another_content_is_neither_replaced_nor_deleted() {
    let scene = Scene::new();
    scene.put("note.md", "an edit");
    assert_eq!(scene.write("note.md", "new", content("old")), Err(Trouble::Busy));
    assert_eq!(scene.write("note.md", "new", Expected::Absent), Err(Trouble::Busy));
    let deleted = scene.folder.delete("note.md", Digest::of(b"old"), DATE);
    assert_eq!(deleted, Err(Trouble::Busy));
    assert_eq!(scene.text("note.md").unwrap(), "an edit");
    assert_eq!(scene.names(), ["note.md"]);
    scene.folder.delete("note.md", Digest::of(b"an edit"), DATE).unwrap();
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn empty_directories_are_deleted_with_their_last_file() {
    let scene = Scene::new();
    scene.put("a/b/c/note.md", "x");
    scene.put("a/other.md", "x");
    scene.folder.delete("a/b/c/note.md", Digest::of(b"x"), DATE).unwrap();
    assert!(scene.folder.place("a").is_dir() && !scene.folder.place("a/b").exists());
    scene.folder.delete("a/other.md", Digest::of(b"x"), DATE).unwrap();
    assert!(!scene.folder.place("a").exists() && scene.folder.root.is_dir());
}

#[test]
fn hidden_and_impossible_files_are_not_listed() {
    let scene = Scene::new();
    for path in [".obsidian/app.json", "a/.git/config", ".hidden.md", "syncinfo", "b/note.md"] {
        scene.put(path, "x");
    }
    let listing = scene.folder.list().unwrap();
    assert_eq!(listing.files.keys().collect::<Vec<_>>(), ["b/note.md"]);
    let other = Trouble::Path(PathTrouble::OtherMeaning);
    assert_eq!(listing.left_out, [("syncinfo".to_owned(), other)]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_neither_read_nor_written_through() {
    use std::os::unix::fs::symlink;
    let scene = Scene::new();
    let outside = scene.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "secret").unwrap();
    symlink(&outside, scene.folder.place("linked")).unwrap();
    symlink(outside.join("secret.md"), scene.folder.place("note.md")).unwrap();
    let listing = scene.folder.list().unwrap();
    assert!(listing.files.is_empty());
    for path in ["linked", "linked/secret.md", "linked/a/b.md", "note.md"] {
        assert!(listing.is_obstructed(path), "{path}");
        let written = scene.write(path, "written", Expected::Absent);
        assert!(matches!(written, Err(Trouble::Obstructed | Trouble::Busy)), "{path} {written:?}");
    }
    assert_eq!(scene.folder.read("note.md"), Err(Trouble::Obstructed));
    let hash = Digest::of(b"secret");
    let written = scene.write("note.md", "written", Expected::Content(hash));
    assert_eq!(written, Err(Trouble::Obstructed));
    assert_eq!(scene.folder.delete("note.md", hash, DATE), Err(Trouble::Obstructed));
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(!listing.is_obstructed("linked.md"));
}

#[test]
fn a_directory_and_a_file_are_in_the_way_of_each_other() {
    let scene = Scene::new();
    scene.put("note.md/inner.md", "x");
    scene.put("file", "x");
    let listing = scene.folder.list().unwrap();
    assert!(listing.is_obstructed("note.md") && listing.is_obstructed("file/a/b.md"));
    assert!(!listing.is_obstructed("note.md/inner.md") && !listing.is_obstructed("file"));
    assert_eq!(scene.write("file/b.md", "y", Expected::Absent), Err(Trouble::Obstructed));
    assert!(scene.write("note.md", "y", Expected::Absent).is_err());
    assert_eq!(scene.names(), ["file", "note.md/inner.md"]);
}

#[test]
fn copies_of_conflicts_have_different_names_and_one_content_only_once() {
    let scene = Scene::new();
    let copy = |text: &str| {
        let file = NewFile { path: "a/note.md", bytes: text.as_bytes(), modified: 0 };
        scene.folder.copy(file, DATE).unwrap()
    };
    let first = "a/note (conflict 2026-11-27 08.00.00).md";
    assert_eq!(copy("one"), first);
    assert_eq!(copy("two"), "a/note (conflict 2026-11-27 08.00.00 2).md");
    assert_eq!(copy("one"), first);
    assert_eq!(scene.names().len(), 2);
}

/// A pass that is killed leaves a new file, a replaced one, or a deleted one under another name.
#[test]
fn leftovers_are_cleared_and_edits_in_them_are_kept() {
    let scene = Scene::new();
    scene.put("a/note.md", "new");
    scene.put(&format!("a/{NEW}1.0-note.md"), "half of a n");
    scene.put(&format!("a/{OLD}1.1-note.md"), "mirrored");
    scene.put(&format!("a/{OLD}1.2-note.md"), "an edit");
    let stamp = Stamp { size: 0, modified: 0, changed: 0, inode: 0 };
    let hash = Digest::of(b"mirrored");
    let entry =
        Entry { path: "a/note.md".into(), revision: "1-a".into(), hash, stamp, is_pending: false };
    let state =
        MirrorState { entries: [("a/note.md".to_owned(), entry)].into(), ..MirrorState::default() };
    let listing = scene.folder.list().unwrap();
    assert_eq!(listing.leftovers.len(), 3);
    let saved = scene.folder.clear(&listing, &state, DATE).unwrap();
    assert_eq!(saved, ["a/note (conflict 2026-11-27 08.00.00).md"]);
    assert_eq!(scene.text(&saved[0]).unwrap(), "an edit");
    assert_eq!(scene.names().len(), 2);
    assert_eq!(fs::read_dir(scene.folder.place("a")).unwrap().count(), 2);
}

/// An editor that has the file open writes to it although another file has its name.
#[cfg(unix)]
#[test]
fn edits_in_the_moment_of_a_replacement_become_files_of_conflicts() {
    use std::io::Write as _;
    let scene = Scene::new();
    scene.put("note.md", "old");
    let (place, hash) = (scene.folder.place("note.md"), Digest::of(b"old"));
    let kept = scene.folder.keep("note.md", hash).unwrap();
    assert!(kept.is_at(&place));
    let mut open = File::options().append(true).open(&place).unwrap();
    scene.put("new", "new");
    fs::rename(scene.folder.place("new"), &place).unwrap();
    open.write_all(b" and an edit").unwrap();
    scene.folder.release(kept, hash, "note.md", DATE).unwrap();
    let copy = "note (conflict 2026-11-27 08.00.00).md";
    assert_eq!(scene.names(), [copy, "note.md"]);
    assert_eq!(scene.text(copy).unwrap(), "old and an edit");

    // An editor that replaces the file before this program does has it.
    let hash = Digest::of(b"new");
    let kept = scene.folder.keep("note.md", hash).unwrap();
    scene.put("other", "edited");
    fs::rename(scene.folder.place("other"), &place).unwrap();
    assert!(!kept.is_at(&place));
    scene.folder.release(kept, hash, "note.md", DATE).unwrap();
    assert_eq!(scene.names(), [copy, "note.md"]);
    assert_eq!(scene.text("note.md").unwrap(), "edited");
    assert_eq!(scene.folder.keep("note.md", hash).err(), Some(Trouble::Busy));
}

#[test]
fn long_names_are_written() {
    let scene = Scene::new();
    let name = format!("{}.md", "ü".repeat(126));
    scene.write(&name, "one", Expected::Absent).unwrap();
    scene.write(&name, "two", content("one")).unwrap();
    assert_eq!(scene.names(), [name]);
}
