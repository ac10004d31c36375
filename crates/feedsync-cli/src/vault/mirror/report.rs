//! Result of a pass.

use serde_json::{Value, json};

use super::trouble::Trouble;
use crate::output::{CONFLICT, DIM, text};

/// Result of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Number of notes that are the same as their files.
    pub(crate) mirrored: usize,
    /// Paths of files that were written.
    pub(crate) files_written: Vec<String>,
    /// Paths of files that were deleted.
    pub(crate) files_deleted: Vec<String>,
    /// Paths of notes that were written.
    pub(crate) notes_written: Vec<String>,
    /// Paths of notes that were deleted.
    pub(crate) notes_deleted: Vec<String>,
    /// Paths of files that were edited on both sides, each with the path of the file that has the other version.
    pub(crate) conflicts: Vec<(String, String)>,
    /// Paths of notes of which the vault has several versions, with their number.
    pub(crate) versions: Vec<(String, usize)>,
    /// Paths that were left as they are, with the reasons.
    pub(crate) left_out: Vec<(String, Trouble)>,
}

impl Report {
    /// Whether the pass changed nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.files_written.is_empty()
            && self.files_deleted.is_empty()
            && self.notes_written.is_empty()
            && self.notes_deleted.is_empty()
            && self.conflicts.is_empty()
    }

    /// Adds the changes of a second pass right after this one. Its count, versions and left-out paths replace these.
    pub(crate) fn then(self, after: Self) -> Self {
        let joined = |mut one: Vec<String>, other: Vec<String>| {
            one.extend(other);
            one
        };
        Self {
            files_written: joined(self.files_written, after.files_written),
            files_deleted: joined(self.files_deleted, after.files_deleted),
            notes_written: joined(self.notes_written, after.notes_written),
            notes_deleted: joined(self.notes_deleted, after.notes_deleted),
            conflicts: self.conflicts.into_iter().chain(after.conflicts).collect(),
            ..after
        }
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let conflicts =
            self.conflicts.iter().map(|(path, copy)| json!({"path": path, "copy": copy}));
        let versions =
            self.versions.iter().map(|(path, count)| json!({"path": path, "count": count}));
        let left_out = self
            .left_out
            .iter()
            .map(|(path, trouble)| json!({"path": path, "reason": trouble.to_string()}));
        json!({
            "mirrored": self.mirrored,
            "files": { "written": self.files_written, "deleted": self.files_deleted },
            "notes": { "written": self.notes_written, "deleted": self.notes_deleted },
            "conflicts": conflicts.collect::<Vec<_>>(),
            "versions": versions.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }

    /// For people: a line for each change.
    pub(crate) fn changes(&self) -> String {
        let groups = [
            ("file written", &self.files_written),
            ("file deleted", &self.files_deleted),
            ("note written", &self.notes_written),
            ("note deleted", &self.notes_deleted),
        ];
        let mut lines = String::new();
        for (what, paths) in groups {
            for path in paths {
                lines += &format!("{DIM}{what}{DIM:#}  {}\n", text::line(path));
            }
        }
        for (path, copy) in &self.conflicts {
            let (path, copy) = (text::line(path), text::line(copy));
            lines += &format!(
                "{CONFLICT}edited on both sides{CONFLICT:#}  {path}: the version of the file is now in {copy}\n"
            );
        }
        lines
    }

    /// Warnings about what needs the attention of a person.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let versions = self.versions.iter().map(|(path, count)| {
            format!("{path}: devices made {count} versions; the file has the one that they show")
        });
        let left_out =
            self.left_out.iter().map(|(path, trouble)| format!("{path}: left out: {trouble}"));
        versions.chain(left_out).map(|warning| text::line(&warning)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_pass_adds_its_changes_and_replaces_what_it_found() {
        let paths = |path: &str| vec![path.to_owned()];
        let first = Report {
            mirrored: 1,
            files_written: paths("a.md"),
            conflicts: vec![("a.md".to_owned(), "b.md".to_owned())],
            left_out: vec![("c.md".to_owned(), Trouble::Busy)],
            ..Report::default()
        };
        let second = Report { mirrored: 2, notes_written: paths("b.md"), ..Report::default() };
        assert!(Report::default().is_idle() && !first.is_idle() && !second.is_idle());
        let both = first.clone().then(second);
        assert_eq!(both.mirrored, 2);
        assert_eq!((both.files_written, both.notes_written), (paths("a.md"), paths("b.md")));
        assert_eq!((both.conflicts.len(), both.left_out.len()), (1, 0));
        assert!(first.changes().contains("edited on both sides"));
        assert_eq!(first.warnings(), ["c.md: left out: it is being changed"]);
        assert_eq!(first.json()["conflicts"][0]["copy"], "b.md");
    }
}
