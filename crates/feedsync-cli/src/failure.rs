//! What is reported to the person, and with which exit code.

mod conversions;

use std::fmt;
use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use feedsync_formats::ReadError;
use feedsync_store::{CollectionName, UserName};

use crate::output::text;

/// The exit codes, as every help shows them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  faults were found, or something was refused
  2  the command line is wrong
  3  a collection, item, remote or file is not there
  4  the network: a remote cannot be reached or answers wrongly
  5  the store, the data directory or a file cannot be used";

/// A thing that a command named and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A collection.
    Collection(CollectionName),
    /// An item.
    Item {
        /// The collection that lacks it.
        collection: CollectionName,
        /// The id, or the beginning of one, as it was written.
        id: String,
    },
    /// A user.
    User(UserName),
}

impl Missing {
    /// The name as it was written.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Collection(name) => name.as_str(),
            Self::Item { id, .. } => id,
            Self::User(name) => name.as_str(),
        }
    }
}

/// Why a command did not do all it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Said on standard error.
    Said {
        /// The exit code.
        code: u8,
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
        /// The thing that was named and is not there.
        missing: Option<Missing>,
    },
    /// The output has said it already.
    Faults,
    /// Who read our output has seen enough.
    Closed,
}

impl fmt::Display for Failure {
    /// What is wrong, without advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said { message, .. } => f.write_str(message),
            Self::Faults => f.write_str("there are faults"),
            Self::Closed => f.write_str("nobody reads on"),
        }
    }
}

impl Failure {
    fn said(code: u8, message: impl ToString) -> Self {
        Self::Said { code, message: message.to_string(), hint: None, missing: None }
    }

    /// Faults, or a refusal.
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self::said(1, message)
    }

    /// The command line does not fit together.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self::said(2, message)
    }

    /// What was named is not there.
    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::said(3, message)
    }

    /// A remote cannot be reached, or answers wrongly.
    pub(crate) fn network(message: impl ToString) -> Self {
        Self::said(4, message)
    }

    /// The data directory or a file cannot be used.
    pub(crate) fn store(message: impl ToString) -> Self {
        Self::said(5, message)
    }

    /// With advice.
    #[must_use]
    pub(crate) fn hint(self, advice: impl ToString) -> Self {
        match self {
            Self::Said { code, message, missing, .. } => {
                Self::Said { code, message, hint: Some(advice.to_string()), missing }
            }
            other => other,
        }
    }

    /// The same failure about a thing that is not there.
    #[must_use]
    pub(crate) fn of_missing(self, missing: Missing) -> Self {
        match self {
            Self::Said { code, message, hint, .. } => {
                Self::Said { code, message, hint, missing: Some(missing) }
            }
            other => other,
        }
    }

    /// The thing that is not there, if that is the failure.
    pub(crate) fn missing(&self) -> Option<&Missing> {
        match self {
            Self::Said { missing, .. } => missing.as_ref(),
            _ => None,
        }
    }

    /// The same failure with more at the end of its message.
    #[must_use]
    pub(crate) fn add(mut self, more: &str) -> Self {
        if let Self::Said { message, .. } = &mut self {
            message.push_str(more);
        }
        self
    }

    /// The same failure with more at the beginning of its message.
    #[must_use]
    pub(crate) fn prefix(mut self, more: &str) -> Self {
        if let Self::Said { message, .. } = &mut self {
            message.insert_str(0, more);
        }
        self
    }

    /// A file that could not be read or written.
    pub(crate) fn file(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::not_found(format!("{name}: there is no such file")),
            _ => Self::store(format!("{name}: {error}")),
        }
    }

    /// Reports on standard error; gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Said { message, .. } if is_full(&message) => {
                say("error", AnsiColor::Red, &message);
                say("hint", AnsiColor::Cyan, FULL);
                ExitCode::from(5)
            }
            Self::Said { code, message, hint, .. } => {
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

/// Advice for a full disk.
const FULL: &str = "the disk is full: make room on it, then run the command again";

/// Whether an error says that there is no room left, in the words of the system or of a database.
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

/// Says something beside the output.
pub(crate) fn warn(message: &str) {
    say("warning", AnsiColor::Yellow, message);
}

/// The same of what is no reason to worry.
pub(crate) fn note(message: &str) {
    say("note", AnsiColor::Cyan, message);
}

fn say(word: &str, color: AnsiColor, message: &str) {
    use std::io::Write as _;
    let style = Style::new().bold().fg_color(Some(color.into()));
    let message = text::lines(message);
    // Nobody is left to hear that standard error is closed.
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {message}");
}

impl From<io::Error> for Failure {
    /// Writing to standard output failed.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::store(format!("standard output: {error}")),
        }
    }
}

impl Failure {
    /// A document that cannot be read.
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
    fn full_disks_are_known_by_what_systems_and_databases_say() {
        let full = io::Error::from_raw_os_error(28);
        assert!(cfg!(not(target_os = "linux")) || is_full(&full.to_string()), "{full}");
        assert!(is_full("the database failed: database or disk is full"));
        assert!(is_full(&StoreError::Full.to_string()));
        assert!(!is_full("notes is full of items"));
    }
}
