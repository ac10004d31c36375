//! What is reported to the person, and with which exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use feedsync_client::fetch::{FetchError, address};
use feedsync_client::{CopyError, LogError, LoginFileError, ReaderFileError, ReaderJoinError};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_endpoint::{EditFailure, EndpointError, PeopleError, SettingError};
use feedsync_formats::{ReadError, ReviseError};
use feedsync_log::Stop;
use feedsync_store::StoreError;

use crate::context::command;
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
        Self::Said { code, message: message.to_string(), hint: None }
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
            Self::Said { code, message, .. } => {
                Self::Said { code, message, hint: Some(advice.to_string()) }
            }
            other => other,
        }
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
            Self::Said { code, message, hint } => {
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

fn see_all(arguments: &str) -> String {
    format!("see them all: {}", command(arguments))
}

/// Advice for an address that leads to no collection: a hub's collections are below `/collections`.
fn collections_of(url: &str) -> Option<String> {
    let url = address(url).ok()?;
    let origin = url.origin().ascii_serialization();
    let is_within = ["/collections/", "/couch/", "/logs/"].iter().any(|it| url.path().contains(it));
    (!is_within).then(|| format!("a hub has a collection at {origin}/collections/NAME"))
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NoCollection(_) => Self::not_found(&error).hint(see_all("list")),
            StoreError::NoRemote => Self::not_found(&error).hint(see_all("remote list")),
            StoreError::NoUser(_) => Self::not_found(&error).hint(see_all("user list")),
            StoreError::NoToken => Self::not_found(&error).hint(see_all("token list")),
            StoreError::CollectionExists(_)
            | StoreError::RemoteExists(_)
            | StoreError::UserExists(_)
            | StoreError::LastAdministrator(_) => Self::refused(error),
            StoreError::Damaged(_) | StoreError::Foreign { .. } => {
                let restore = command("restore --from BACKUP");
                Self::store(error).hint(format!(
                    "move its directory aside, and put the last backup back: {restore}"
                ))
            }
            _ => Self::store(error),
        }
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Store(error) => error.into(),
            EndpointError::NoItem { .. } => Self::not_found(error),
            EndpointError::ItemExists { .. }
            | EndpointError::Full { .. }
            | EndpointError::NoRoom { .. }
            | EndpointError::DatabaseTaken(_)
            | EndpointError::Setting(_)
            | EndpointError::Reserved(_)
            | EndpointError::HasUsers
            | EndpointError::Clock => Self::refused(error),
            EndpointError::Edit(failure) => failure.into(),
        }
    }
}

impl From<PeopleError> for Failure {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::Store(error) => error.into(),
            PeopleError::NotAdministrator(_) => Self::refused(error).hint("add --administrator"),
            PeopleError::Reading(error) => error.into(),
            PeopleError::Private(_) => Self::refused(error),
            PeopleError::Hash(_) => Self::store(error),
        }
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Self::refused(error)
    }
}

impl From<LoginFileError> for Failure {
    fn from(error: LoginFileError) -> Self {
        Self::store(error)
    }
}

impl From<EditFailure> for Failure {
    fn from(failure: EditFailure) -> Self {
        Self::refused(failure)
    }
}

impl From<ReviseError> for Failure {
    fn from(error: ReviseError) -> Self {
        Self::refused(error)
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Address { .. } => Self::usage(error),
            FetchError::Insecure { .. } => Self::refused(error),
            FetchError::Status { status, ref url, .. } if status.as_u16() == 401 => {
                let origin = address(url).map(|url| url.origin().ascii_serialization());
                let hub = origin.unwrap_or_else(|_| "URL".to_owned());
                Self::network(error).hint(format!("log in: {}", command(&format!("login {hub}"))))
            }
            FetchError::Private { .. } => {
                let hint = "a hub reaches the networks that its setting private_feeds names";
                Self::network(error).hint(hint)
            }
            FetchError::Page { ref url, .. } => match collections_of(url) {
                Some(hint) => Self::network(error).hint(hint),
                None => Self::network(error),
            },
            FetchError::Status { status, ref url, .. } if status.as_u16() == 404 => {
                match collections_of(url) {
                    Some(hint) => Self::network(error).hint(hint),
                    None => Self::network(error),
                }
            }
            _ => Self::network(error),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Fetch(error) => error.into(),
            LogError::Store(error) => error.into(),
            LogError::File { path, source } => Self::file(&path.display().to_string(), &source),
            LogError::Stopped { stop: Stop::Gone | Stop::Vanished, .. } => Self::not_found(error),
            LogError::Stopped { stop: Stop::Full | Stop::TooLarge(_), .. } => Self::refused(error),
            LogError::Stopped { .. } | LogError::Later { .. } => Self::network(error),
        }
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Log(error) => error.into(),
            CopyError::File { .. } | CopyError::Position { .. } => Self::store(error),
        }
    }
}

impl From<ReaderFileError> for Failure {
    fn from(error: ReaderFileError) -> Self {
        match error {
            ReaderFileError::Log(error) => error.into(),
            ReaderFileError::Snapshot { .. } => Self::network(error),
            ReaderFileError::OtherLog { .. } => {
                Self::refused(error).hint("to go over to the other log: --begin-again")
            }
            ReaderFileError::Faulty { .. } | ReaderFileError::File { .. } => Self::store(error),
        }
    }
}

impl From<ReaderJoinError> for Failure {
    fn from(error: ReaderJoinError) -> Self {
        match error {
            ReaderJoinError::Reader(error) => error.into(),
            ReaderJoinError::Endpoint(error) => error.into(),
            ReaderJoinError::Documents(DocumentsError::Refused(refusal)) => Self::refused(refusal),
            ReaderJoinError::Documents(DocumentsError::Store(error))
            | ReaderJoinError::Store(error) => error.into(),
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
    use super::*;

    #[test]
    fn full_disks_are_known_by_what_systems_and_databases_say() {
        let full = io::Error::from_raw_os_error(28);
        assert!(cfg!(not(target_os = "linux")) || is_full(&full.to_string()), "{full}");
        assert!(is_full("the database failed: database or disk is full"));
        assert!(is_full(&StoreError::Full.to_string()));
        assert!(!is_full("notes is full of items"));
    }

    #[test]
    fn addresses_that_lead_to_no_collection_get_a_hint() {
        let hint = "a hub has a collection at http://hub.example:1/collections/NAME";
        assert_eq!(collections_of("http://hub.example:1/").as_deref(), Some(hint));
        assert_eq!(collections_of("http://hub.example/collections/notes"), None);
        assert_eq!(collections_of("no address"), None);
    }
}
