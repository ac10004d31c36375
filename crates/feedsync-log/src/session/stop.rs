//! Reasons for the premature end of a session.

use crate::device::RecordId;
use crate::interruption::Interruption;

/// Why a session ended before it was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The server remained unable to respond.
    #[error("{}", unavailable(*.0))]
    Unavailable(u16),
    /// There was no complete response to any attempt.
    #[error(transparent)]
    Interrupted(Interruption),
    /// There are records of a later version. A program that does not support them must not append (LR48).
    #[error("the log has records of the later version {0}; update the program")]
    Newer(u64),
    /// Other clients were faster at every attempt.
    #[error("others kept appending at the same time")]
    Contended,
    /// The credentials are not sufficient (LR32).
    #[error("the server refuses it ({0}): other credentials are needed")]
    Refused(u16),
    /// The log was removed (LR32).
    #[error("the log was removed (410); whether it begins again is for people to decide")]
    Gone,
    /// The log existed before, and does not exist now.
    #[error("the log is not there any more (404); whether it begins again is for people to decide")]
    Vanished,
    /// The log must not grow further (LR36).
    #[error("the log is full (507): it must be compacted first, or have more room")]
    Full,
    /// A single record is larger than the server accepts.
    #[error("the server takes no record as large as {0}")]
    TooLarge(RecordId),
    /// The server rejects the append for another reason.
    #[error("the server refused what was to be appended ({0})")]
    Rejected(u16),
    /// The response does not come from a log: something between client and server sent it, such as a sign-in
    /// page.
    #[error(
        "answered {status}{}{media_type}, which is no log: is there a sign-in page in between?",
        if media_type.is_empty() { "" } else { " " }
    )]
    Foreign {
        /// HTTP status.
        status: u16,
        /// Its media type; empty if it has none.
        media_type: String,
    },
    /// The server confirmed appends whose lines are not in the log.
    #[error(
        "the server confirmed an append, but the lines are not in the log; they are sent next time"
    )]
    NotStored,
    /// The response does not match the request.
    #[error("an answer that cannot be one: {0}")]
    Fault(&'static str),
    /// The log was replaced repeatedly.
    #[error("the log is replaced again and again")]
    ReplacedRepeatedly,
}

fn unavailable(status: u16) -> String {
    match status {
        0 => "the server does not answer".to_owned(),
        status => format!("the server answers {status} to each attempt; try again later"),
    }
}
