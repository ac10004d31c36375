//! Conversions of library errors into failures with exit codes and advice.

use feedsync_client::{CopyError, LogError, LoginFileError, ReaderFileError, ReaderJoinError};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_endpoint::{EditFailure, EndpointError, FileEditError, PeopleError, SettingError};
use feedsync_fetch::{FetchError, address};
use feedsync_formats::ReviseError;
use feedsync_log::Stop;
use feedsync_store::StoreError;

use super::{Failure, Missing};
use crate::invocation::{command, see_all};

/// Advice if an intermediary may have sent the response instead of the server.
const SIGN_IN: &str =
    "the network may want you to sign in first: open a page in a browser, then try again";

/// Advice if a server requires authentication.
fn log_in(url: &str) -> String {
    let origin = address(url).map(|url| url.origin().ascii_serialization());
    let hub = origin.unwrap_or_else(|_| "URL".to_owned());
    format!("log in: {}", command(&format!("remote login {hub}")))
}

/// Advice for an address that is not one of a collection: a hub's collections are below `/collections`.
fn collections_of(url: &str) -> Option<String> {
    let url = address(url).ok()?;
    let origin = url.origin().ascii_serialization();
    let is_within = ["/collections/", "/couch/", "/logs/"].iter().any(|it| url.path().contains(it));
    (!is_within).then(|| format!("a hub has a collection at {origin}/collections/NAME"))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_full() {
            // The database reports which operation failed, and not why.
            return Self::store(StoreError::Full);
        }
        match &error {
            StoreError::NoCollection(name) => Self::not_found(&error)
                .hint(see_all("collection list"))
                .of_missing(Missing::Collection(name.clone())),
            StoreError::NoRemote => Self::not_found(&error).hint(see_all("remote list")),
            StoreError::NoUser(name) => Self::not_found(&error)
                .hint(see_all("user list"))
                .of_missing(Missing::User(name.clone())),
            StoreError::NoToken => Self::not_found(&error).hint(see_all("user token list")),
            StoreError::CollectionExists(_)
            | StoreError::RemoteExists(_)
            | StoreError::UserExists(_)
            | StoreError::LastAdministrator(_)
            | StoreError::Unsupported(_) => Self::refused(error),
            error if error.is_damaged() => {
                let restore = command("store restore --from BACKUP");
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
            EndpointError::NoItem { ref collection, ref id } => {
                let (collection, id) = (collection.clone(), id.to_string());
                Self::not_found(error).of_missing(Missing::Item { collection, id })
            }
            EndpointError::ItemExists { .. }
            | EndpointError::Full { .. }
            | EndpointError::NoRoom { .. }
            | EndpointError::DatabaseTaken(_)
            | EndpointError::Setting(_)
            | EndpointError::Reserved(_)
            | EndpointError::HasUsers
            | EndpointError::Overtaken(_)
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

impl From<FileEditError> for Failure {
    fn from(error: FileEditError) -> Self {
        match error {
            FileEditError::NoItem(_) => Self::not_found(error),
            FileEditError::ItemExists(_) => Self::refused(error),
            FileEditError::Edit(failure) => failure.into(),
        }
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
                let hint = log_in(url);
                Self::network(error).hint(hint)
            }
            FetchError::Status { status, .. } if status.as_u16() == 511 => {
                Self::network(error).hint(SIGN_IN)
            }
            FetchError::Redirect { .. }
            | FetchError::RedirectLoop { .. }
            | FetchError::TooManyRedirects { .. } => Self::network(error).hint(SIGN_IN),
            FetchError::Untrusted { .. } => Self::network(error).hint(SIGN_IN),
            FetchError::Private { .. } => {
                let hint = "a hub reaches the networks that its setting private_feeds names";
                Self::network(error).hint(hint)
            }
            FetchError::Page { ref url, .. } => match collections_of(url) {
                Some(hint) => Self::network(error).hint(format!("{hint}; otherwise {SIGN_IN}")),
                None => Self::network(error).hint(SIGN_IN),
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
            LogError::Stopped { ref log, stop: Stop::Refused(status) } => {
                let log_in = log_in(log);
                Self::network(error).hint(match status {
                    401 => log_in,
                    _ => format!(
                        "{log_in}; or an owner of the collection gives you a role: collection grant"
                    ),
                })
            }
            LogError::Stopped { stop: Stop::Foreign { .. }, .. } => {
                Self::network(error).hint(SIGN_IN)
            }
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
            ReaderFileError::Log(LogError::Stopped {
                ref log,
                stop: Stop::Gone | Stop::Vanished,
            }) => {
                let begin = command("reader sync --begin-again");
                let hint = format!(
                    "a hub shows a log only to those who may read it: {}; to begin the log again with all that is known \
                     here: {begin}",
                    log_in(log)
                );
                Self::not_found(error).hint(hint)
            }
            ReaderFileError::Log(error) => error.into(),
            ReaderFileError::Snapshot { .. } => Self::network(error),
            ReaderFileError::DifferentLog { .. } => {
                Self::refused(error).hint("to switch to the other log: --begin-again")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_lead_to_no_collection_get_a_hint() {
        let hint = "a hub has a collection at http://hub.example:1/collections/NAME";
        assert_eq!(collections_of("http://hub.example:1/").as_deref(), Some(hint));
        assert_eq!(collections_of("http://hub.example/collections/notes"), None);
        assert_eq!(collections_of("no address"), None);
    }
}
