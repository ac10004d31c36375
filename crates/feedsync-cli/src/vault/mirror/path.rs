//! Paths of notes and of files: which ones belong to each other, and which ones are left out.
//!
//! A note never becomes a file outside of the directory: its path is checked part by part, and only plain names pass.

use std::fmt;

/// Beginning of the names of the plugin's logs.
const LOGS: [&str; 1] = ["livesync_log_"];

/// Beginnings of paths of hidden files, of settings and of plugins, which are documents but not notes.
const HIDDEN: [&str; 3] = ["i:", "ix:", "ps:"];

/// Beginnings of ids that are not those of paths: chunks, and obfuscated paths.
const OTHER_IDS: [&str; 2] = ["h:", "f:"];

/// Ids of documents about the database, and names of files that tell the plugin to do something.
const OTHER_NAMES: [&str; 7] = [
    "obsydian_livesync_version",
    "syncinfo",
    "redflag.md",
    "redflag2.md",
    "flag_rebuild.md",
    "redflag3.md",
    "flag_fetch.md",
];

/// Endings of files that devices read as text. Capital letters count, as in the plugin.
const TEXT_ENDINGS: [&str; 9] =
    [".md", ".txt", ".svg", ".html", ".csv", ".css", ".js", ".xml", ".canvas"];

/// Names of devices, which a file cannot have on Windows.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Maximum size of a name in bytes, on most systems.
const MAX_NAME_BYTES: usize = 255;

/// Names that a system accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// Linux and macOS.
    Unix,
    /// Windows, with its reserved names and characters.
    Windows,
}

/// Relation of an id to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseRule {
    /// The id is the path in lower case.
    Insensitive,
    /// The id is the path.
    Sensitive,
}

/// A reason for which a path is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTrouble {
    /// It is a hidden file, or a document of the plugin about itself.
    Hidden,
    /// It could be outside of the directory: it is absolute, has a drive letter, or an empty or relative part.
    Outside,
    /// A name has a character that names of files cannot have.
    Character,
    /// The system reserves a name.
    Reserved,
    /// A name, or the whole path, is too long.
    TooLong,
    /// The plugin gives documents of this name another meaning.
    OtherMeaning,
}

impl System {
    /// The system that the program runs on.
    pub(super) const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// Checks a path, which has slashes between its names. A path that passes is that of a file below the directory.
pub(super) fn check(path: &str, system: System) -> Result<(), PathTrouble> {
    // An id can be in lower case, so capital letters make no difference.
    let folded = path.to_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| folded.starts_with(prefix));
    if begins(&HIDDEN) {
        return Err(PathTrouble::Hidden);
    }
    let has_drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let parts = || path.split('/');
    if has_drive && !begins(&OTHER_IDS) || parts().any(|part| matches!(part, "" | "." | "..")) {
        return Err(PathTrouble::Outside);
    }
    if path.contains(|letter: char| letter.is_control() || letter == '\\') {
        return Err(PathTrouble::Character);
    }
    if parts().any(|part| part.starts_with('.')) {
        return Err(PathTrouble::Hidden);
    }
    if begins(&OTHER_IDS) || begins(&LOGS) || OTHER_NAMES.contains(&folded.as_str()) {
        return Err(PathTrouble::OtherMeaning);
    }
    if path.len() > feedsync_couch::MAX_DOCUMENT_ID_BYTES
        || parts().any(|part| part.len() > MAX_NAME_BYTES)
    {
        return Err(PathTrouble::TooLong);
    }
    match system {
        System::Unix => Ok(()),
        System::Windows => parts().try_for_each(check_on_windows),
    }
}

fn check_on_windows(name: &str) -> Result<(), PathTrouble> {
    if name.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Err(PathTrouble::Character);
    }
    // Windows removes dots and spaces at the end, so two names would be one file.
    if name.ends_with(['.', ' ']) {
        return Err(PathTrouble::Reserved);
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let has_number = ["com", "lpt"].iter().any(|device| {
        let number = stem.strip_prefix(device).map(str::chars).map(Iterator::collect::<Vec<_>>);
        matches!(number.as_deref(), Some(['0'..='9' | '¹' | '²' | '³']))
    });
    match has_number || DEVICES.contains(&stem.as_str()) {
        true => Err(PathTrouble::Reserved),
        false => Ok(()),
    }
}

/// Returns the path of a note: its member `path`, or else its id. The plugin writes a slash before some.
pub(super) fn path_of_note<'a>(id: &'a str, path: Option<&'a str>) -> &'a str {
    let path = path.filter(|path| !path.is_empty()).unwrap_or(id);
    path.strip_prefix('/').unwrap_or(path)
}

/// Returns the id of the note with a path. An id cannot begin with an underscore, so it gets a slash.
pub(super) fn id_of(path: &str, rule: CaseRule) -> String {
    let id = match rule {
        CaseRule::Insensitive => path.to_lowercase(),
        CaseRule::Sensitive => path.to_owned(),
    };
    if id.starts_with('_') { format!("/{id}") } else { id }
}

/// Whether devices read files of this name as text, whatever the type of the note is.
pub(super) fn is_text(path: &str) -> bool {
    TEXT_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Returns the path for another version of a file: `note (conflict 2026-11-27 08.00.00).md`. From the second such file on it
/// has a number.
pub(super) fn conflict_path(path: &str, date: &str, number: usize) -> String {
    let (directory, name) =
        path.rsplit_once('/').map_or(("", path), |(before, name)| (&path[..=before.len()], name));
    let (stem, ending) = match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    };
    let number = if number < 2 { String::new() } else { format!(" {number}") };
    let mark = format!(" (conflict {date}{number})");
    let room = MAX_NAME_BYTES.saturating_sub(mark.len() + ending.len());
    let end = (0..=room.min(stem.len())).rev().find(|at| stem.is_char_boundary(*at));
    format!("{directory}{}{mark}{ending}", &stem[..end.unwrap_or_default()])
}

impl fmt::Display for PathTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hidden => "it is hidden",
            Self::Outside => "its path does not name a file below the directory",
            Self::Character => "its path has a character that names of files cannot have",
            Self::Reserved => "this system reserves its name",
            Self::TooLong => "its path is too long",
            Self::OtherMeaning => "its name has another meaning for the plugin",
        })
    }
}

#[cfg(test)]
mod tests;
