//! Three-way decision of a mirror about a note and its file.
//!
//! It compares both with the content that they had in common last. A side that differs from it was edited, and an edit is
//! never lost: it wins against a deletion, and two different edits are a conflict.

use feedsync_store::Digest;

/// State of a note in the vault, or of a file in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// There is none, or it is deleted.
    Absent,
    /// It has this content.
    Content(Digest),
}

/// A step that brings a note and its file in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Both are the same: it is recorded.
    Record,
    /// The content of the note is written to the file.
    WriteFile,
    /// The content of the file is written to the note.
    WriteNote,
    /// The file is deleted, because the note was.
    DeleteFile,
    /// The note is deleted, because the file was.
    DeleteNote,
    /// Both were edited. The content of the file becomes another file, and that of the note is written to this one.
    Conflict,
}

/// Decides about a note and its file, both of which can be read. `base` is the content that both had when they were mirrored last.
pub(super) fn decide(base: Option<Digest>, note: Side, file: Side) -> Action {
    let common = base.map_or(Side::Absent, Side::Content);
    match (note, file) {
        _ if note == file => Action::Record,
        (Side::Absent, _) if file == common => Action::DeleteFile,
        (_, Side::Absent) if note == common => Action::DeleteNote,
        // Only one side was edited, or the other one is gone.
        (Side::Absent, _) => Action::WriteNote,
        (_, Side::Absent) => Action::WriteFile,
        _ if file == common => Action::WriteFile,
        _ if note == common => Action::WriteNote,
        _ => Action::Conflict,
    }
}

/// Number of files and notes that a pass would delete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Deletions {
    /// Notes whose files are gone.
    pub(super) notes: usize,
    /// Files whose notes are gone.
    pub(super) files: usize,
    /// Notes that were mirrored last.
    pub(super) mirrored: usize,
    /// Whether the directory has no file that could be a note.
    pub(super) is_directory_empty: bool,
}

/// Number of deletions that never need a confirmation.
const FEW: usize = 20;

/// A reason for which deletions need a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The directory is empty, as one whose disk is not mounted.
    EmptyDirectory,
    /// Many notes would be deleted.
    ManyNotes,
    /// Many files would be deleted.
    ManyFiles,
}

impl Deletions {
    /// Returns the reason for which somebody has to confirm the deletions, if there is one.
    pub(super) fn doubt(self) -> Option<Doubt> {
        let are_many = |count: usize| count > FEW && count * 4 > self.mirrored;
        if self.is_directory_empty && self.notes > 0 {
            Some(Doubt::EmptyDirectory)
        } else if are_many(self.notes) {
            Some(Doubt::ManyNotes)
        } else {
            are_many(self.files).then_some(Doubt::ManyFiles)
        }
    }
}

#[cfg(test)]
mod tests;
