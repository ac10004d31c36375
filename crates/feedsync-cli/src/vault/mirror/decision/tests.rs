use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Contents that a note and its file can have.
fn content() -> impl Strategy<Value = Option<u8>> {
    proptest::option::of(0_u8..4)
}

fn hash(content: u8) -> Digest {
    Digest::of(&[content])
}

fn side(content: Option<u8>) -> Side {
    content.map_or(Side::Absent, |content| Side::Content(hash(content)))
}

/// A note, its file, what was recorded of them, and further files of conflicts.
#[derive(Debug, Clone)]
struct World {
    base: Option<u8>,
    note: Option<u8>,
    file: Option<u8>,
    copies: Vec<u8>,
}

/// A step of a pass.
type Change = Box<dyn Fn(&mut World)>;

impl World {
    /// Carries out the decision; `steps` of its steps, as if the program was killed after them.
    fn pass(&mut self, steps: usize) {
        let action = decide(self.base.map(hash), side(self.note), side(self.file));
        let (note, file) = (self.note, self.file);
        let recorded: fn(&mut Self) = |world| world.base = world.note;
        let changes: Vec<Change> = match action {
            Action::Record => vec![Box::new(recorded)],
            Action::WriteFile => vec![Box::new(move |it| it.file = note), Box::new(recorded)],
            Action::WriteNote => vec![Box::new(move |it| it.note = file), Box::new(recorded)],
            Action::DeleteFile => vec![Box::new(|it| it.file = None), Box::new(recorded)],
            Action::DeleteNote => vec![Box::new(|it| it.note = None), Box::new(recorded)],
            Action::Conflict => vec![
                Box::new(|it| it.copies.extend(it.file)),
                Box::new(move |it| it.file = note),
                Box::new(recorded),
            ],
        };
        for change in changes.iter().take(steps) {
            change(self);
        }
    }

    /// Contents that nobody has superseded: those that differ from what both sides had in common.
    fn edits(&self) -> BTreeSet<u8> {
        let edited = [self.note, self.file].into_iter().flatten();
        edited.filter(|content| Some(*content) != self.base).collect()
    }

    fn contents(&self) -> BTreeSet<u8> {
        [self.note, self.file].into_iter().flatten().chain(self.copies.iter().copied()).collect()
    }
}

proptest! {
    #[test]
    fn every_edit_stays_whatever_was_edited_and_wherever_a_pass_is_killed(
        (base, note, file) in (content(), content(), content()),
        kills in proptest::collection::vec(0_usize..4, 0..6),
    ) {
        let mut world = World { base, note, file, copies: Vec::new() };
        let edits = world.edits();
        for steps in kills {
            world.pass(steps);
            let contents = world.contents();
            prop_assert!(contents.is_superset(&edits), "{world:?}");
        }
        world.pass(9);
        prop_assert!(world.contents().is_superset(&edits), "{world:?}");
        prop_assert_eq!((world.note, world.base), (world.file, world.file));
        let settled = decide(world.base.map(hash), side(world.note), side(world.file));
        prop_assert_eq!(settled, Action::Record);
    }

    /// A side that nobody edited never overwrites the other one.
    #[test]
    fn unedited_side_changes_nothing(base in content(), other in content()) {
        let action = decide(base.map(hash), side(other), side(base));
        let follows = [Action::Record, Action::WriteFile, Action::DeleteFile];
        prop_assert!(follows.contains(&action), "{action:?}");
        let action = decide(base.map(hash), side(base), side(other));
        let follows = [Action::Record, Action::WriteNote, Action::DeleteNote];
        prop_assert!(follows.contains(&action), "{action:?}");
    }
}

#[test]
fn every_case_of_the_decision() {
    let [old, new, other] = [0, 1, 2].map(|content| side(Some(content)));
    let first = |note, file| decide(None, note, file);
    assert_eq!(first(Side::Absent, Side::Absent), Action::Record);
    assert_eq!(first(new, Side::Absent), Action::WriteFile);
    assert_eq!(first(Side::Absent, new), Action::WriteNote);
    assert_eq!(first(new, new), Action::Record);
    assert_eq!(first(new, other), Action::Conflict);
    let later = |note, file| decide(Some(hash(0)), note, file);
    assert_eq!(later(old, old), Action::Record);
    assert_eq!(later(new, old), Action::WriteFile);
    assert_eq!(later(old, new), Action::WriteNote);
    assert_eq!(later(new, new), Action::Record);
    assert_eq!(later(new, other), Action::Conflict);
    assert_eq!(later(Side::Absent, old), Action::DeleteFile);
    assert_eq!(later(old, Side::Absent), Action::DeleteNote);
    assert_eq!(later(Side::Absent, new), Action::WriteNote);
    assert_eq!(later(new, Side::Absent), Action::WriteFile);
    assert_eq!(later(Side::Absent, Side::Absent), Action::Record);
}

#[test]
fn many_deletions_and_an_empty_directory_need_a_confirmation() {
    let of = |notes, files, mirrored, is_directory_empty| {
        Deletions { notes, files, mirrored, is_directory_empty }.doubt()
    };
    assert_eq!(of(20, 20, 20, false), None);
    assert_eq!(of(21, 0, 84, false), None);
    assert_eq!(of(21, 0, 83, false), Some(Doubt::ManyNotes));
    assert_eq!(of(0, 21, 83, false), Some(Doubt::ManyFiles));
    assert_eq!(of(0, 100, 1_000, false), None);
    assert_eq!(of(1, 0, 1, true), Some(Doubt::EmptyDirectory));
    assert_eq!(of(0, 0, 9, true), None);
}
