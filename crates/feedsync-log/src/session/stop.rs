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
    #[error(
        "the log has records of version {0}, which this program does not know; update the program"
    )]
    Newer(u64),
    /// Other clients were faster at every attempt.
    #[error("other clients appended first at every attempt; try again")]
    Contended,
    /// The credentials are not sufficient (LR32).
    #[error("the server denied access ({0}): use other credentials")]
    Refused(u16),
    /// The log was removed (LR32).
    #[error("the log was removed (410); if the removal was a mistake, create the log again")]
    Gone,
    /// The log existed before, and does not exist now.
    #[error("the log no longer exists (404); if it was removed by mistake, create it again")]
    Vanished,
    /// The log must not grow further (LR36).
    #[error("the log is full (507): compact it, or raise its limit on the server")]
    Full,
    /// A single record is larger than the server accepts.
    #[error("the record {0} is larger than the server allows")]
    TooLarge(RecordId),
    /// The server rejects the append for another reason.
    #[error("the server refused the append ({0})")]
    Rejected(u16),
    /// The response does not come from a log: something between client and server sent it, such as a sign-in
    /// page.
    #[error(
        "the response {status}{}{media_type} is not a log: is there a sign-in page in between?",
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
        "the server confirmed an append, but the lines are not in the log; they will be sent again \
         next time"
    )]
    NotStored,
    /// The response does not match the request.
    #[error("the response of the server is invalid: {0}")]
    Fault(&'static str),
    /// The log was replaced repeatedly.
    #[error("the log was replaced during every attempt to read it; try again later")]
    ReplacedRepeatedly,
}

fn unavailable(status: u16) -> String {
    match status {
        0 => "the server does not respond".to_owned(),
        status => format!("the server answered {status} to every attempt; try again later"),
    }
}
