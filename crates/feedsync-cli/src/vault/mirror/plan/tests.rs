use super::*;
use crate::vault::mirror::note::NoteHead;
use feedsync_store::Digest;

fn note(path: &str, is_deleted: bool) -> StoredNote {
    let path = path.to_owned();
    let head = NoteHead { path, is_deleted, is_text: true, created: 0, modified: 0 };
    StoredNote { head, revision: "1-a".parse().unwrap(), versions: 1 }
}

fn notes(all: &[(&str, &str)]) -> StoredNotes {
    all.iter().map(|(id, path)| ((*id).to_owned(), note(path, false))).collect()
}

fn files(paths: &[&str]) -> Listing {
    let stamp = Stamp { size: 1, modified: 1, changed: 1, inode: 1 };
    let files = paths.iter().map(|path| ((*path).to_owned(), stamp)).collect();
    Listing { files, ..Listing::default() }
}

fn state(ids: &[&str]) -> MirrorState {
    let entry = |id: &&str| {
        let stamp = Stamp { size: 1, modified: 1, changed: 1, inode: 1 };
        let (hash, revision) = (Digest::of(b"x"), "1-a".to_owned());
        let path = (*id).to_owned();
        ((*id).to_owned(), Entry { path, revision, hash, stamp, is_pending: false })
    };
    MirrorState { entries: ids.iter().map(entry).collect(), ..MirrorState::default() }
}

fn paths(plan: &Plan) -> Vec<&str> {
    plan.pairs.iter().map(|pair| pair.path.as_str()).collect()
}

#[test]
fn a_note_and_a_file_belong_together_whatever_their_case_is() {
    let stored = notes(&[("dir/note.md", "Dir/Note.md"), ("only.md", "Only.md")]);
    let listing = files(&["dir/NOTE.md", "Mine.md"]);
    let rule = case_rule(&stored);
    assert_eq!(rule, CaseRule::Insensitive);
    let plan = Plan::of(&stored, &listing, &MirrorState::default(), rule);
    assert_eq!(paths(&plan), ["Mine.md", "dir/NOTE.md", "Only.md"]);
    assert_eq!(plan.pairs[1].note.as_ref().unwrap().head.path, "Dir/Note.md");
    assert!(plan.pairs[1].file.is_some() && plan.pairs[2].file.is_none());
    assert!(plan.left_out.is_empty());
}

#[test]
fn names_that_differ_only_in_case_are_left_out() {
    // Two files of one note.
    let stored = notes(&[("note.md", "Note.md")]);
    let listing = files(&["Note.md", "note.md", "other.md"]);
    let plan = Plan::of(&stored, &listing, &state(&["note.md"]), CaseRule::Insensitive);
    assert_eq!(paths(&plan), ["other.md"]);
    assert_eq!(plan.left_out, [("Note.md".to_owned(), Trouble::SameName)]);
    // Two notes of a vault that tells them apart.
    let stored = notes(&[("Note.md", "Note.md"), ("note.md", "note.md"), ("Other.md", "Other.md")]);
    assert_eq!(case_rule(&stored), CaseRule::Sensitive);
    let plan = Plan::of(&stored, &files(&[]), &MirrorState::default(), CaseRule::Sensitive);
    assert_eq!(paths(&plan), ["Other.md"]);
    assert_eq!(plan.left_out.len(), 2);
    // A deleted note has no name.
    let mut stored = notes(&[("note.md", "note.md")]);
    stored.insert("Note.md".to_owned(), note("Note.md", true));
    let plan = Plan::of(&stored, &files(&[]), &MirrorState::default(), CaseRule::Sensitive);
    assert_eq!(paths(&plan), ["note.md"]);
}

#[test]
fn deletions_are_counted_before_anything_is_read() {
    let mut stored = notes(&[("a.md", "a.md"), ("b.md", "b.md"), ("new.md", "new.md")]);
    stored.insert("c.md".to_owned(), note("c.md", true));
    let mirrored = state(&["a.md", "b.md", "c.md", "gone.md"]);
    let plan = Plan::of(&stored, &files(&["b.md", "c.md"]), &mirrored, CaseRule::Insensitive);
    let Deletions { notes, files: deleted, mirrored, is_directory_empty } = plan.deletions;
    assert_eq!((notes, deleted, mirrored, is_directory_empty), (1, 1, 4, false));
    // Files of deleted notes come first.
    assert_eq!(paths(&plan), ["c.md", "gone.md", "a.md", "b.md", "new.md"]);
    let unchanged: Vec<_> = plan.pairs.iter().map(Pair::is_unchanged).collect();
    assert_eq!(unchanged, [false, false, false, true, false]);
    let plan = Plan::of(&stored, &files(&[]), &state(&["a.md"]), CaseRule::Insensitive);
    assert!(plan.deletions.is_directory_empty);
}

#[test]
fn the_paths_of_a_state_are_not_trusted() {
    let mirrored = state(&["../outside.md", "/etc/passwd"]);
    let plan = Plan::of(&notes(&[]), &files(&[]), &mirrored, CaseRule::Insensitive);
    assert!(plan.pairs.is_empty());
    assert_eq!(plan.left_out.len(), 2);
}
