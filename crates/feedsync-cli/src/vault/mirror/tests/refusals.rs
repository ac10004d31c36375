//! Refusals of a mirror, and things that it leaves out.

use super::*;

const CONFIRMED: PassOptions =
    PassOptions { is_confirmed: true, is_repeated: false, is_unencrypted: false };

fn many(scene: &Scene, count: usize) {
    for number in 0..count {
        scene.edit(&format!("note {number}.md"), format!("text {number}"));
    }
    scene.pass();
}

#[test]
fn encrypted_vaults_are_refused() {
    let obfuscated = format!("f:{}", "0a".repeat(32));
    for (id, text) in [
        ("h:+37me21jj44pcc", r#"{"data":"%=x","type":"leaf","e_":true}"#),
        (obfuscated.as_str(), r#"{"children":[],"path":"/\\:%=x","type":"plain"}"#),
        ("note.md", r#"{"children":[],"path":"/\\:%=x","type":"plain"}"#),
    ] {
        let scene = Scene::new();
        scene.document(id, text);
        scene.put("mine.md", "text");
        assert!(scene.refusal().contains("are encrypted"), "{id}");
        assert!(scene.try_pass(CONFIRMED).is_err());
        assert_eq!(scene.files().len(), 1);
    }
}

#[test]
fn notes_are_not_written_before_devices_show_whether_they_encrypt() {
    let scene = Scene::new();
    assert!(scene.try_pass(PassOptions::default()).unwrap().is_idle());
    scene.put("note.md", "secret");
    assert!(scene.refusal().contains("it is not known whether its notes are encrypted"));
    assert!(scene.all_notes().is_empty());
    let settings = |encrypts: bool| {
        let body = format!(r#"{{"tweak_values":{{"a":{{"encrypt":{encrypts}}}}}}}"#);
        let databases = scene.endpoint.databases();
        let epoch = wait(databases.database(&scene.name)).unwrap().unwrap().epoch;
        let id = "obsydian_livesync_milestone".parse().unwrap();
        let document = feedsync_store::LocalDocument { revision: 1, body };
        wait(databases.put_local_document(&scene.name, epoch, &id, Some(document))).unwrap();
    };
    settings(true);
    assert!(scene.refusal().contains("are encrypted"));
    settings(false);
    let report = scene.try_pass(PassOptions::default()).unwrap();
    assert_eq!(report.notes_written, ["note.md"]);
}

#[test]
fn an_empty_or_missing_directory_does_not_delete_the_vault() {
    let scene = Scene::new();
    many(&scene, 3);
    let moved = scene.place.path().join("moved");
    fs::rename(scene.root(), &moved).unwrap();
    assert!(scene.refusal().contains("is gone, so all 3 mirrored notes would be deleted"));
    assert!(!scene.root().exists());
    // The place where a disk is mounted is there without the disk.
    fs::create_dir(scene.root()).unwrap();
    assert!(scene.refusal().contains("the directory is empty, so 3 notes would be deleted"));
    scene.put(".hidden", "x");
    assert!(scene.refusal().contains("the directory is empty"));
    assert_eq!(scene.all_notes().len(), 3);
    fs::remove_dir_all(scene.root()).unwrap();
    fs::rename(&moved, scene.root()).unwrap();
    assert!(scene.pass().is_idle());
    fs::remove_dir_all(scene.root()).unwrap();
    assert_eq!(scene.try_pass(CONFIRMED).unwrap().notes_deleted.len(), 3);
}

#[test]
fn many_deletions_need_a_confirmation() {
    let scene = Scene::new();
    many(&scene, 60);
    for number in 0..21 {
        scene.remove(&format!("note {number}.md"));
    }
    assert!(scene.refusal().contains("21 files of 60 are gone"));
    assert_eq!(scene.all_notes().len(), 60);
    assert_eq!(scene.try_pass(CONFIRMED).unwrap().notes_deleted.len(), 21);
    for number in 21..42 {
        scene.delete(&format!("note {number}.md"));
    }
    assert!(scene.refusal().contains("21 notes of 39 are gone from the vault"));
    assert_eq!(scene.files().len(), 39);
    assert_eq!(scene.try_pass(CONFIRMED).unwrap().files_deleted.len(), 21);
}

#[test]
fn a_vault_that_was_created_again_deletes_nothing() {
    let scene = Scene::new();
    many(&scene, 2);
    scene.drop_database();
    assert_eq!(scene.refusal(), "there is no vault notes");
    scene.create();
    scene.edit("note 0.md", "rebuilt");
    assert!(scene.refusal().contains("was created again or restored"));
    assert_eq!(scene.files().len(), 2);
    let report = scene.try_pass(CONFIRMED).unwrap();
    assert_eq!((report.conflicts.len(), report.notes_written.len()), (1, 1));
    assert!(report.files_deleted.is_empty() && report.notes_deleted.is_empty());
}

#[test]
fn a_vault_that_is_created_again_ends_a_watching_mirror() {
    let scene = Scene::new();
    many(&scene, 2);
    let mut mirror = scene.open(false).unwrap();
    wait(mirror.pass(PassOptions::default())).unwrap();
    scene.drop_database();
    scene.create();
    scene.edit("note 0.md", "rebuilt");
    let ended = wait(mirror.pass(PassOptions::default())).unwrap_err();
    assert!(ended.to_string().contains("created again while it was mirrored"), "{ended}");
    assert_eq!(scene.files().len(), 2);
}

#[test]
fn a_directory_mirrors_one_vault_in_one_process() {
    let scene = Scene::new();
    many(&scene, 1);
    let other = Scene { place: tempfile::tempdir().unwrap(), ..Scene::new() };
    let name: DatabaseName = "other".parse().unwrap();
    wait(scene.endpoint.databases().create_database(&name, Default::default())).unwrap();
    let open = |name: &DatabaseName, data: PathBuf, root: PathBuf| {
        let places = Places { data: &data, directory: &root };
        wait(Mirror::open(&scene.endpoint, name, places, false)).map(drop)
    };
    let refused = open(&name, scene.data(), scene.root()).unwrap_err();
    assert_eq!(refused.to_string(), "the directory mirrors the vault notes, and not other");
    let mirror = scene.open(false).unwrap();
    let refused = open(&scene.name, scene.data(), scene.root()).unwrap_err();
    assert!(refused.to_string().starts_with("another process mirrors "), "{refused}");
    drop(mirror);
    open(&scene.name, scene.data(), scene.root()).unwrap();
    // The store itself must not become notes.
    for (data, root) in [("x", "x"), ("x/data", "x"), ("x", "x/notes")] {
        let [data, root] = [data, root].map(|name| other.place.path().join(name));
        let refused = open(&scene.name, data, root).unwrap_err();
        assert!(refused.to_string().contains("within each other"), "{refused}");
    }
}

#[test]
fn notes_with_paths_outside_of_the_directory_are_left_out() {
    let scene = Scene::new();
    scene.document("h:1", r#"{"data":"outside","type":"leaf"}"#);
    for (id, path) in [
        ("../outside.md", "../outside.md"),
        ("a", "../../outside.md"),
        ("b", "//tmp/outside.md"),
        ("c:/outside.md", "C:/outside.md"),
        ("d\\..\\outside.md", "d\\\\..\\\\outside.md"),
        ("e\u{1}", "e\\u0001"),
        ("i:.obsidian/app.json", "i:.obsidian/app.json"),
        (".obsidian/app.json", ".obsidian/app.json"),
        ("other.md", "dir/different.md"),
    ] {
        let note = format!(r#"{{"children":["h:1"],"path":"{path}","mtime":1,"type":"plain"}}"#);
        scene.document(id, &note);
    }
    let report = scene.pass();
    assert_eq!(report.left_out.len(), 7, "{report:?}");
    assert!(report.is_idle() && scene.files().is_empty());
    let names: Vec<_> = fs::read_dir(scene.place.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "the directory and the data directory");
}

#[cfg(unix)]
#[test]
fn a_directory_that_became_a_symbolic_link_deletes_no_notes() {
    use std::os::unix::fs::symlink;
    let scene = Scene::new();
    for path in ["dir/a.md", "dir/b.md", "c.md"] {
        scene.edit(path, path);
    }
    scene.pass();
    let moved = scene.place.path().join("moved");
    fs::rename(scene.root().join("dir"), &moved).unwrap();
    symlink(&moved, scene.root().join("dir")).unwrap();
    scene.edit("dir/a.md", "edited");
    let report = scene.pass();
    assert!(report.is_idle(), "{report:?}");
    let obstructed = |path: &str| (path.to_owned(), Trouble::Obstructed);
    assert_eq!(report.left_out, [obstructed("dir/a.md"), obstructed("dir/b.md")]);
    assert_eq!(fs::read_to_string(moved.join("a.md")).unwrap(), "dir/a.md");
    assert_eq!(scene.all_notes().len(), 3);
}
