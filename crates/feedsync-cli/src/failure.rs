//! Failures of commands: messages for the user, and exit codes.

mod conversions;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use feedsync_formats::ReadError;
use feedsync_store::{CollectionName, UserName};

use crate::output::text;

/// Exit codes, which every help text shows.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  faults were found, or something was refused
  2  the command line is wrong
  3  a collection, item, remote or file is not there
  4  the network: a remote cannot be reached or answers wrongly
  5  the store, the data directory or a file cannot be used";

/// An object that a command named and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A collection.
    Collection(CollectionName),
    /// An item.
    Item {
        /// Collection that lacks the item.
        collection: CollectionName,
        /// Id as the user typed it, or the beginning of one.
        id: String,
    },
    /// A user.
    User(UserName),
    /// A remote.
    Remote {
        /// Collection that lacks the remote.
        collection: CollectionName,
        /// Address, name or number as the user typed it.
        named: String,
    },
}

impl Missing {
    /// Name as the user typed it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Collection(name) => name.as_str(),
            Self::Item { id, .. } => id,
            Self::User(name) => name.as_str(),
            Self::Remote { named, .. } => named,
        }
    }
}

/// Reason why a command did not do everything requested.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A failure that is reported on standard error.
    Message {
        /// Exit code.
        code: u8,
        /// Description of the failure.
        message: String,
        /// Advice for the user.
        hint: Option<String>,
        /// Object that the command named and that does not exist.
        missing: Option<Missing>,
    },
    /// Faults that the output already describes.
    Faults,
    /// The reader of standard output closed the pipe.
    Closed,
}

impl fmt::Display for Failure {
    /// Writes the message without advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { message, .. } => f.write_str(message),
            Self::Faults => f.write_str("there are faults"),
            Self::Closed => f.write_str("standard output is closed"),
        }
    }
}

impl Failure {
    fn said(code: u8, message: impl ToString) -> Self {
        Self::Message { code, message: message.to_string(), hint: None, missing: None }
    }

    /// Failure for faults or a refusal (exit code 1).
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self::said(1, message)
    }

    /// Failure for a wrong command line (exit code 2).
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self::said(2, message)
    }

    /// Failure for an object that does not exist (exit code 3).
    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::said(3, message)
    }

    /// Failure for a remote that cannot be reached or answers wrongly (exit code 4).
    pub(crate) fn network(message: impl ToString) -> Self {
        Self::said(4, message)
    }

    /// Failure for a store, data directory or file that cannot be used (exit code 5).
    pub(crate) fn store(message: impl ToString) -> Self {
        Self::said(5, message)
    }

    /// Sets the advice.
    #[must_use]
    pub(crate) fn hint(self, advice: impl ToString) -> Self {
        match self {
            Self::Message { code, message, missing, .. } => {
                Self::Message { code, message, hint: Some(advice.to_string()), missing }
            }
            other => other,
        }
    }

    /// Sets the object that does not exist.
    #[must_use]
    pub(crate) fn of_missing(self, missing: Missing) -> Self {
        match self {
            Self::Message { code, message, hint, .. } => {
                Self::Message { code, message, hint, missing: Some(missing) }
            }
            other => other,
        }
    }

    /// Returns the object that does not exist, if the failure is about one.
    pub(crate) fn missing(&self) -> Option<&Missing> {
        match self {
            Self::Message { missing, .. } => missing.as_ref(),
            _ => None,
        }
    }

    /// Appends to the message.
    #[must_use]
    pub(crate) fn add(mut self, more: &str) -> Self {
        if let Self::Message { message, .. } = &mut self {
            message.push_str(more);
        }
        self
    }

    /// Prepends to the message.
    #[must_use]
    pub(crate) fn prefix(mut self, more: &str) -> Self {
        if let Self::Message { message, .. } = &mut self {
            message.insert_str(0, more);
        }
        self
    }

    /// Failure for a file that could not be read or written.
    pub(crate) fn file(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => {
                let near = near_file(name);
                Self::not_found(format!("{name}: there is no such file{near}"))
            }
            _ => Self::store(format!("{name}: {error}")),
        }
    }

    /// Reports the failure on standard error; returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Message { message, .. } if is_full(&message) => {
                say("error", AnsiColor::Red, &message);
                say("hint", AnsiColor::Cyan, DISK_FULL_ADVICE);
                ExitCode::from(5)
            }
            Self::Message { code, message, hint, .. } => {
                say("error", AnsiColor::Red, &message);
                if let Some(hint) = hint {
                    say("hint", AnsiColor::Cyan, &hint);
                }
                ExitCode::from(code)
            }
            Self::Faults => ExitCode::from(1),
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}

/// Maximum number of files of a directory that are searched for a similar name.
const MAX_SEARCHED_FILES: usize = 2_000;

/// `; did you mean PATH?`, if the directory of a missing file has a file with a similar name.
fn near_file(name: &str) -> String {
    let path = Path::new(name);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Some(written) = path.file_name().and_then(|name| name.to_str()) else {
        return String::new();
    };
    let Ok(entries) = fs::read_dir(directory.unwrap_or(Path::new("."))) else {
        return String::new();
    };
    let names: Vec<_> = entries
        .take(MAX_SEARCHED_FILES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let near = feedsync_endpoint::nearest(written, names.iter().map(String::as_str));
    near.map(|near| format!("; did you mean {}?", path.with_file_name(near).display()))
        .unwrap_or_default()
}

/// Advice for a full disk.
const DISK_FULL_ADVICE: &str = "the disk is full: make room on it, then run the command again";

/// Whether a message of the system or of a database says that the disk is full.
fn is_full(message: &str) -> bool {
    let words = [
        "No space left on device",
        "Disk quota exceeded",
        "database or disk is full",
        "not enough space on the disk",
        "could not extend file",
        "no room left on the disk",
        "the disk is full",
    ];
    words.iter().any(|words| message.contains(words))
}

/// Prints a warning on standard error.
pub(crate) fn warn(message: &str) {
    say("warning", AnsiColor::Yellow, message);
}

/// Prints a note on standard error.
pub(crate) fn note(message: &str) {
    say("note", AnsiColor::Cyan, message);
}

/// Prints advice on standard error.
pub(crate) fn hint(message: &str) {
    say("hint", AnsiColor::Cyan, message);
}

fn say(word: &str, color: AnsiColor, message: &str) {
    use std::io::Write as _;
    let style = Style::new().bold().fg_color(Some(color.into()));
    let message = text::lines(message);
    // If standard error is closed, the failure cannot be reported.
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {message}");
}

impl From<io::Error> for Failure {
    /// Converts an error of writing to standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::store(format!("standard output: {error}")),
        }
    }
}

impl Failure {
    /// Failure for a document that cannot be read.
    pub(crate) fn document(name: &str, error: &ReadError) -> Self {
        match error {
            ReadError::Document { position, message } => {
                Self::refused(format!("{name}:{position}: {message}"))
            }
            other => Self::refused(format!("{name}: {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use feedsync_store::StoreError;

    use super::*;

    #[test]
    fn full_disk_is_recognised_in_messages_of_systems_and_databases() {
        let full = io::Error::from_raw_os_error(28);
        assert!(cfg!(not(target_os = "linux")) || is_full(&full.to_string()), "{full}");
        assert!(is_full("the database failed: database or disk is full"));
        assert!(is_full(&StoreError::Full.to_string()));
        assert!(!is_full("notes is full of items"));
    }
}
