//! Edits on both sides.

use proptest::prelude::*;

use super::*;

#[test]
fn edits_on_both_sides_become_two_files_and_two_notes() {
    let scene = Scene::new();
    scene.edit("dir/note.md", "before");
    scene.pass();
    scene.edit("dir/note.md", "of the device");
    scene.put("dir/note.md", "of the directory");
    let report = scene.pass();
    let [(path, copy)] = &report.conflicts[..] else { panic!("{report:?}") };
    assert_eq!(path, "dir/note.md");
    assert!(copy.starts_with("dir/note (conflict 2") && copy.ends_with(").md"), "{copy}");
    assert_eq!(scene.file("dir/note.md").unwrap(), "of the device");
    assert_eq!(scene.file(copy).unwrap(), "of the directory");
    assert_eq!(scene.pass().notes_written, std::slice::from_ref(copy));
    assert_eq!(scene.note(copy).unwrap(), b"of the directory");
    assert_eq!(scene.note("dir/note.md").unwrap(), b"of the device");
    assert!(scene.pass().is_idle());
}

#[test]
fn an_edit_wins_against_a_deletion() {
    let scene = Scene::new();
    scene.edit("a.md", "before");
    scene.edit("b.md", "before");
    scene.pass();
    scene.remove("a.md");
    scene.edit("a.md", "of the device");
    scene.delete("b.md");
    scene.put("b.md", "of the directory");
    let report = scene.pass();
    assert_eq!((report.files_written, report.notes_written), (texts(&["a.md"]), texts(&["b.md"])));
    assert_eq!(scene.file("a.md").unwrap(), "of the device");
    assert_eq!(scene.note("b.md").unwrap(), b"of the directory");
}

#[test]
fn a_first_pass_over_two_versions_keeps_both() {
    let scene = Scene::new();
    scene.edit("same.md", "same");
    scene.edit("note.md", "of the device");
    scene.put("same.md", "same");
    scene.put("note.md", "of the directory");
    let report = scene.pass();
    assert_eq!((report.conflicts.len(), report.files_written.len()), (1, 1));
    assert_eq!(scene.files().len(), 3);
    scene.pass();
    assert_eq!(scene.files(), scene.all_notes());
}

#[test]
fn a_note_without_all_chunks_is_left_out_and_never_overwritten() {
    let scene = Scene::new();
    let note = r#"{"children":["h:1","h:2","h:1"],"path":"Note.md","mtime":1,"type":"plain"}"#;
    scene.document("h:1", r#"{"data":"x","type":"leaf"}"#);
    scene.document("note.md", note);
    let missing = [("Note.md".to_owned(), Trouble::MissingChunk("h:2".to_owned()))];
    assert_eq!(scene.pass().left_out, missing);
    assert!(scene.files().is_empty());
    // Neither does a file of this name change it.
    scene.put("note.md", "of the directory");
    let report = scene.pass();
    assert_eq!((report.left_out.len(), report.is_idle()), (1, true));
    let (_, stored) = scene.stored();
    assert_eq!(stored["note.md"].revision.generation(), 1);
    scene.remove("note.md");
    scene.document("h:2", r#"{"data":"y","type":"leaf"}"#);
    assert_eq!(scene.pass().files_written, ["Note.md"]);
    assert_eq!(scene.file("Note.md").unwrap(), "xyx");
}

#[test]
fn a_file_that_cannot_be_a_note_is_left_out_and_keeps_its_content() {
    let scene = Scene::new();
    scene.edit("note.md", "text");
    scene.pass();
    scene.put("note.md", [0xFF, 0xFE]);
    scene.put("other.md", [0xFF]);
    let report = scene.pass();
    let reasons: Vec<_> = report.left_out.iter().map(|(_, trouble)| trouble.clone()).collect();
    assert_eq!(reasons, [Trouble::NotUtf8, Trouble::NotUtf8]);
    assert_eq!(scene.files()["note.md"], [0xFF, 0xFE]);
    assert_eq!(scene.note("note.md").unwrap(), b"text");
    // The device edits the note: now the file is a version that only the directory can have.
    scene.edit("note.md", "edited");
    let report = scene.pass();
    assert_eq!(report.conflicts.len(), 1);
    assert_eq!(scene.files()[&report.conflicts[0].1], [0xFF, 0xFE]);
}

#[test]
fn the_winner_of_a_conflict_of_devices_is_written_and_reported() {
    let scene = Scene::new();
    let note = |revision: &str, chunk: &str| {
        let text = format!(
            r#"{{"_rev":"2-{revision}","_revisions":{{"start":2,"ids":["{revision}","00"]}},
            "children":["h:{chunk}"],"path":"note.md","mtime":1,"type":"plain"}}"#
        );
        scene.write_documents(vec![("note.md".to_owned(), text, None)], Edits::Replicated);
    };
    scene.document("h:1", r#"{"data":"one","type":"leaf"}"#);
    scene.document("h:2", r#"{"data":"two","type":"leaf"}"#);
    note("aa", "1");
    note("bb", "2");
    let report = scene.pass();
    assert_eq!(scene.file("note.md").unwrap(), "two");
    assert_eq!(report.versions, [("note.md".to_owned(), 2)]);
    assert!(report.left_out.is_empty());
    // An edit of the file is an edit of the winner; the other version stays.
    scene.put("note.md", "edited");
    scene.pass();
    let (_, stored) = scene.stored();
    assert_eq!((stored["note.md"].versions, stored["note.md"].revision.generation()), (2, 3));
}

#[test]
fn a_chunk_id_of_another_text_is_not_used() {
    let scene = Scene::new();
    let id = chunk_id::chunk_id("text of the directory");
    scene.document(&id, r#"{"data":"another text","type":"leaf"}"#);
    scene.put("note.md", "text of the directory");
    scene.pass();
    assert_eq!(scene.note("note.md").unwrap(), b"text of the directory");
    let (notes, _) = scene.stored();
    let chunks = wait(notes.chunks([id.as_str()].into_iter())).unwrap();
    assert_eq!(&*chunks[&id], r#"{"data":"another text","type":"leaf"}"#);
}

#[test]
fn a_file_that_was_only_touched_is_not_an_edit() {
    let scene = Scene::new();
    scene.edit("note.md", "text");
    scene.pass();
    scene.put("note.md", "text");
    assert!(scene.pass().is_idle());
    scene.put("note.md", "text");
    scene.edit("note.md", "edited");
    let report = scene.pass();
    assert_eq!((report.files_written.len(), report.conflicts.len()), (1, 0));
}

#[test]
fn a_watching_mirror_waits_until_a_file_rests() {
    let scene = Scene::new();
    scene.put("note.md", "half");
    let options = PassOptions { is_repeated: true, is_unencrypted: true, ..PassOptions::default() };
    let report = scene.try_pass(options).unwrap();
    assert!(report.is_idle() && report.left_out.is_empty(), "{report:?}");
    let file = File::options().write(true).open(scene.root().join("note.md")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(2)).unwrap();
    assert_eq!(scene.try_pass(options).unwrap().notes_written, ["note.md"]);
}

/// A step of a schedule. Numbers choose one of three paths.
#[derive(Debug, Clone)]
enum Step {
    EditNote(usize),
    EditFile(usize),
    DeleteNote(usize),
    DeleteFile(usize),
    Pass,
    /// A pass whose state is lost, as after a crash.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_usize..3).prop_map(Step::EditNote),
        3 => (0_usize..3).prop_map(Step::EditFile),
        1 => (0_usize..3).prop_map(Step::DeleteNote),
        1 => (0_usize..3).prop_map(Step::DeleteFile),
        3 => Just(Step::Pass),
        1 => Just(Step::Crash),
    ]
}

const PATHS: [&str; 3] = ["One.md", "dir/two.md", "dir/three.bin"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A content stays until somebody who saw it replaces or deletes it.
    #[test]
    fn no_edit_is_lost_in_any_schedule(steps in proptest::collection::vec(step(), 1..14)) {
        let scene = Scene::new();
        fs::create_dir(scene.root()).unwrap();
        let mut open: BTreeSet<Vec<u8>> = BTreeSet::new();
        let pass = || {
            let options =
                PassOptions { is_confirmed: true, is_unencrypted: true, is_repeated: false };
            scene.try_pass(options).unwrap()
        };
        for (number, step) in steps.into_iter().enumerate() {
            let content = format!("edit {number}").into_bytes();
            match step {
                Step::EditNote(at) => {
                    scene.note(PATHS[at]).map(|seen| open.remove(&seen));
                    scene.edit(PATHS[at], &content);
                    open.insert(content);
                }
                Step::EditFile(at) => {
                    scene.files().get(PATHS[at]).map(|seen| open.remove(seen));
                    scene.put(PATHS[at], &content);
                    open.insert(content);
                }
                Step::DeleteNote(at) => if let Some(seen) = scene.note(PATHS[at]) {
                    open.remove(&seen);
                    scene.delete(PATHS[at]);
                }
                Step::DeleteFile(at) => if let Some(seen) = scene.files().get(PATHS[at]) {
                    open.remove(seen);
                    scene.remove(PATHS[at]);
                }
                Step::Pass => drop(pass()),
                Step::Crash => {
                    let before = scene.data().exists().then(|| fs::read(scene.state_file()));
                    pass();
                    if let Some(before) = before {
                        fs::write(scene.state_file(), before.unwrap()).unwrap();
                    }
                }
            }
        }
        pass();
        pass();
        let files = scene.files();
        prop_assert_eq!(&files, &scene.all_notes());
        let contents: BTreeSet<_> = files.into_values().collect();
        prop_assert!(contents.is_superset(&open), "{open:?} {contents:?}");
        prop_assert!(pass().is_idle());
    }
}
