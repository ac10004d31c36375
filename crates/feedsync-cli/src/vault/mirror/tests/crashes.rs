//! A pass that is killed after each of its steps, and what happens before the next one.

use super::*;
use crate::vault::mirror::folder::NewFile;
use crate::vault::mirror::plan::Plan;

/// A vault and a directory that were the same, with two notes.
fn mirrored() -> Scene {
    let scene = Scene::new();
    scene.edit("note.md", "before");
    scene.edit("other.md", "other");
    scene.pass();
    scene
}

/// A pass that is killed after a part of its work.
fn killed(scene: &Scene, work: impl FnOnce(&mut Mirror)) {
    let mut mirror = scene.open(false).unwrap();
    wait(mirror.notes.refresh(&mut mirror.stored)).unwrap();
    let listing = mirror.folder.list().unwrap();
    let plan = Plan::of(&mirror.stored, &listing, &mirror.state, CaseRule::Insensitive);
    mirror.begin(&plan.pairs).unwrap();
    work(&mut mirror);
}

fn write_file(mirror: &mut Mirror, before: &str, after: &str) {
    let new = NewFile { path: "note.md", bytes: after.as_bytes(), modified: 1_700_000_000_123 };
    let expected = folder::Expected::Content(Digest::of(before.as_bytes()));
    mirror.folder.write(new, expected, "date").unwrap();
}

#[test]
fn a_pass_that_was_killed_before_its_first_change_is_repeated() {
    let scene = mirrored();
    scene.edit("note.md", "of the device");
    killed(&scene, |_| {});
    assert!(scene.state().entries["note.md"].is_pending);
    let report = scene.pass();
    assert_eq!((report.files_written.len(), report.conflicts.len()), (1, 0));
    assert!(!scene.state().entries["note.md"].is_pending);
    // The second name of a file that is about to be replaced changes its metadata.
    scene.edit("note.md", "of the device again");
    let old = scene.root().join(".feedsync-mirror-old-1.1-note.md");
    killed(&scene, |_| fs::hard_link(scene.root().join("note.md"), old).unwrap());
    let report = scene.pass();
    assert_eq!((report.files_written.len(), report.conflicts.len()), (1, 0));
    scene.put("note.md", "of the directory");
    killed(&scene, |_| {});
    let report = scene.pass();
    assert_eq!((report.notes_written.len(), report.conflicts.len()), (1, 0));
    scene.remove("note.md");
    killed(&scene, |_| {});
    assert_eq!(scene.pass().notes_deleted, ["note.md"]);
}

#[test]
fn a_file_that_was_written_before_a_crash_is_not_written_again() {
    let scene = mirrored();
    scene.edit("note.md", "of the device");
    killed(&scene, |mirror| write_file(mirror, "before", "of the device"));
    let report = scene.pass();
    assert!(report.is_idle(), "{report:?}");
    assert_eq!(report.mirrored, 2);
    assert!(scene.pass().is_idle());
}

/// The person restores the old text, which is an edit: nobody has seen that the next pass would take it for an old file.
#[test]
fn an_edit_back_to_older_text_after_a_crash_reaches_the_note() {
    let scene = mirrored();
    scene.edit("note.md", "of the device");
    killed(&scene, |mirror| write_file(mirror, "before", "of the device"));
    scene.put("note.md", "before");
    let report = scene.pass();
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    let contents: BTreeSet<_> = scene.files().into_values().collect();
    assert_eq!(contents, BTreeSet::from(["before", "of the device", "other"].map(Vec::from)));
}

#[test]
fn an_edit_of_the_note_back_to_older_text_after_a_crash_reaches_the_file() {
    let scene = mirrored();
    scene.put("note.md", "of the directory");
    let write_note = |mirror: &mut Mirror| {
        let note = mirror.stored["note.md"].clone();
        let head = NoteHead { modified: 5, ..note.head };
        let bytes = b"of the directory";
        let written = mirror.notes.write("note.md", &head, Some(&note.revision), bytes);
        wait(written).unwrap().unwrap();
    };
    killed(&scene, write_note);
    let report = scene.pass();
    assert!(report.is_idle() && report.mirrored == 2, "{report:?}");

    let scene = mirrored();
    scene.put("note.md", "of the directory");
    killed(&scene, write_note);
    scene.edit("note.md", "before");
    let report = scene.pass();
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    assert_eq!(scene.note("note.md").unwrap(), b"before");
    assert_eq!(scene.file(&report.conflicts[0].1).unwrap(), "of the directory");
}

#[test]
fn chunks_without_their_note_after_a_crash_are_written_with_it_later() {
    let scene = mirrored();
    scene.put("new.md", "a new text");
    killed(&scene, |mirror| {
        let pieces = texts(&["a new text"]);
        wait(mirror.notes.write_chunks(&pieces)).unwrap().unwrap();
    });
    assert!(scene.note("new.md").is_none());
    assert_eq!(scene.pass().notes_written, ["new.md"]);
    assert_eq!(scene.note("new.md").unwrap(), b"a new text");
}

#[test]
fn a_crash_after_the_copy_of_a_conflict_makes_no_second_copy() {
    let scene = mirrored();
    scene.edit("note.md", "of the device");
    scene.put("note.md", "of the directory");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_766_400);
    let file = File::options().write(true).open(scene.root().join("note.md")).unwrap();
    file.set_modified(time).unwrap();
    killed(&scene, |mirror| {
        let bytes = b"of the directory";
        let copy = NewFile { path: "note.md", bytes, modified: 1_795_766_400_000 };
        mirror.folder.copy(copy, "2026-11-27 08.00.00").unwrap();
    });
    let report = scene.pass();
    let copy = "note (conflict 2026-11-27 08.00.00).md";
    assert_eq!(report.conflicts, [("note.md".to_owned(), copy.to_owned())]);
    scene.pass();
    assert_eq!(scene.files().len(), 3);
    assert_eq!(scene.files(), scene.all_notes());
}

/// A deleted file has another name until its content was checked.
#[test]
fn a_file_survives_a_crash_while_it_is_deleted_or_replaced() {
    let scene = mirrored();
    scene.delete("note.md");
    let old = |number: u8| scene.root().join(format!(".feedsync-mirror-old-1.{number}-note.md"));
    killed(&scene, |_| fs::rename(scene.root().join("note.md"), old(1)).unwrap());
    assert!(scene.pass().is_idle());
    assert_eq!((scene.files().len(), scene.state().entries.len()), (1, 1));

    // Somebody wrote to the file in the moment in which it was replaced.
    let scene = mirrored();
    let old = scene.root().join(".feedsync-mirror-old-1.1-note.md");
    let new = scene.root().join(".feedsync-mirror-new-1.2-note.md");
    killed(&scene, |_| {
        fs::write(old, "an edit").unwrap();
        fs::write(new, "half of a n").unwrap();
    });
    assert_eq!(scene.pass().notes_written.len(), 1);
    let notes = scene.all_notes();
    assert_eq!(notes, scene.files());
    let contents: BTreeSet<_> = notes.into_values().collect();
    assert_eq!(contents, BTreeSet::from(["before", "an edit", "other"].map(Vec::from)));
}

#[test]
fn a_note_that_was_written_again_after_a_crash_is_not_deleted() {
    let scene = mirrored();
    scene.remove("note.md");
    let delete_note = |mirror: &mut Mirror| {
        let revision = mirror.stored["note.md"].revision.clone();
        wait(mirror.notes.delete("note.md", &revision, 1)).unwrap().unwrap();
    };
    killed(&scene, delete_note);
    assert!(scene.pass().is_idle());

    let scene = mirrored();
    scene.remove("note.md");
    killed(&scene, delete_note);
    scene.edit("note.md", "before");
    assert_eq!(scene.pass().files_written, ["note.md"], "a device wrote it after the deletion");
}

#[test]
fn a_damaged_state_deletes_nothing() {
    let scene = mirrored();
    scene.edit("note.md", "of the device");
    fs::write(scene.state_file(), "{").unwrap();
    scene.put("note.md", "of the directory");
    let report = scene.pass();
    assert_eq!((report.conflicts.len(), report.notes_deleted.len()), (1, 0));
}
