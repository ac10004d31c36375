//! Requests and responses as values.

use crate::interruption::Interruption;
use crate::session::Stop;

/// The next request to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRequest {
    /// Reads bytes of the log (LR20 to LR23): `GET`, `Accept-Encoding: identity`, and never `If-Range`.
    Read(Read),
    /// Appends records (LR35).
    Append(Append),
    /// Reads the snapshot of the log (LR45).
    Snapshot,
}

/// A request for bytes of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The requested range.
    pub range: Range,
    /// `If-None-Match`: the response has no body if the log still has this entity tag.
    pub unless: Option<String>,
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Bytes from an offset on, up to a number.
    From {
        /// Offset of the first byte.
        offset: u64,
        /// Maximum number of bytes.
        most: u64,
    },
    /// The given number of bytes at the end.
    Last(u64),
}

impl Range {
    /// The value of the header `Range`, including its unit (LR21).
    pub fn header(self) -> String {
        match self {
            Self::From { offset, most } => {
                format!("bytes={offset}-{}", offset.saturating_add(most.max(1) - 1))
            }
            Self::Last(bytes) => format!("bytes=-{bytes}"),
        }
    }
}

/// A request to append records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Precondition.
    pub condition: Condition,
    /// Complete lines, `application/x-ndjson`.
    pub body: Vec<u8>,
    /// `Idempotency-Key`, which is the same if the same bytes are sent again.
    pub key: String,
    /// Number of the waiting records that the body contains, from the first.
    pub records: usize,
}

/// Precondition of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `If-Match`: the log is unchanged since it was read.
    Match(String),
    /// `If-Match: *`: the log exists, whatever its length, for clients that lost the race repeatedly (LR18).
    Present,
    /// `If-None-Match: *`: the log does not exist (LR32).
    Absent,
    /// `PUT` with `Content-Range: bytes {length}-{end}/*`: the log still has this length (LR29, LR34). This
    /// is for servers whose entity tags cannot be compared strongly.
    Length(u64),
}

/// A response of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogResponse {
    /// HTTP status; zero if there was no response, so that the server may have acted or not.
    pub status: u16,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Log-Generation`, from servers that support generations.
    pub generation: Option<String>,
    /// `Log-Covers` of a snapshot from such a server: the position of the log that it covers.
    pub covers: Option<String>,
    /// `Content-Range`.
    pub content_range: Option<String>,
    /// `Content-Type`.
    pub media_type: Option<String>,
    /// Whether there is a `Last-Modified`, which file servers send if they have no entity tags.
    pub is_dated: bool,
    /// `Content-Encoding`, unless it is `identity`.
    pub coding: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Offset in the log at which the body begins. For a response with the whole log (LR26), the caller may
    /// drop the bytes before the requested ones.
    pub start: u64,
    /// The body, or the received part of it.
    pub body: Vec<u8>,
    /// Whether the body is complete according to the server, and was not cut off or abandoned.
    pub ended: bool,
    /// Why there is no response, or why its body is incomplete.
    pub interruption: Option<Interruption>,
}

impl LogResponse {
    /// Offset in the log at which the body begins; `None` if it is unknown, for example for a compressed body
    /// (LR25, LR31).
    pub fn begins_at(&self) -> Option<u64> {
        let part = self.content_range.as_deref().and_then(ContentRange::parse);
        match (self.status, &self.coding) {
            (200, None) => Some(self.start),
            (206, None) => part?.sent.map(|(first, _)| first),
            _ => None,
        }
    }

    /// The entity tag, if it can be compared strongly (LR29).
    pub(crate) fn strong(&self) -> Option<String> {
        self.etag.clone().filter(|tag| tag.starts_with('"') && tag.len() > 2)
    }

    /// Whether the response is a page for people, such as a sign-in page of a network. Only log servers send
    /// `Log-Generation`.
    pub fn is_page(&self) -> bool {
        self.generation.is_none()
            && (matches!(&*self.essence(), "text/html" | "application/xhtml+xml")
                || self.body_is_page())
    }

    /// Whether a successful response to a read cannot come from a log. A part states its range. A whole log
    /// has an entity tag or a date, and is not a document of another kind (LR9, LR20, LR26).
    pub fn is_no_log(&self) -> bool {
        let is_bare = self.etag.is_none() && !self.is_dated;
        let is_whole = self.status == 200 && self.generation.is_none();
        self.is_page() || (is_whole && (self.is_document() || is_bare))
    }

    /// Whether the media type belongs to documents of another kind than logs.
    fn is_document(&self) -> bool {
        let essence = self.essence();
        essence == "application/json"
            || ["+json", "/xml", "+xml"].iter().any(|end| essence.ends_with(end))
            || ["image/", "multipart/form", "text/css"]
                .iter()
                .any(|begin| essence.starts_with(begin))
    }

    /// Checks that a server stored a request's body: the response is a success with an entity tag, and not a
    /// page (LR13, LR35, LR45).
    pub fn stored(&self) -> Result<(), Stop> {
        let is_other = self.generation.is_none() && self.is_document();
        let is_stored = matches!(self.status, 200 | 201 | 204)
            && self.etag.is_some()
            && !self.is_page()
            && !is_other;
        if is_stored { Ok(()) } else { Err(self.foreign()) }
    }

    /// Checks that a refusal (404, 409, 410, 412) comes from the log server. A page for people never does. A
    /// server that supports generations names the generation, or states in a problem document that there is
    /// no log (LR36).
    pub fn refused(&self, has_generations: bool) -> Result<(), Stop> {
        let is_absence = matches!(self.status, 404 | 410)
            && matches!(&*self.essence(), "" | "application/problem+json");
        let is_named = self.generation.is_some() || is_absence || !has_generations;
        if is_named && !self.is_page() { Ok(()) } else { Err(self.foreign()) }
    }

    /// Why the request may succeed later: it was interrupted, or the server is temporarily unable to respond.
    pub fn excuse(&self) -> Option<Stop> {
        match (&self.interruption, self.status) {
            (Some(interruption), _) => Some(Stop::Interrupted(interruption.clone())),
            // A full log, or a network that requires a sign-in, is not temporary.
            (None, 507 | 511) => None,
            (None, status @ (0 | 408 | 425 | 429 | 500..)) => Some(Stop::Unavailable(status)),
            (None, _) => None,
        }
    }

    /// The end of a session because of a response that no log sends.
    pub fn foreign(&self) -> Stop {
        let essence = self.essence();
        let media_type = essence.chars().filter(|found| !found.is_control()).take(80).collect();
        Stop::Foreign { status: self.status, media_type }
    }

    /// The media type in lower case, without parameters; empty if there is none.
    fn essence(&self) -> String {
        let named = self.media_type.as_deref().unwrap_or_default();
        named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    fn body_is_page(&self) -> bool {
        let text = self.body.trim_ascii_start();
        let begins = |with: &str| {
            text.get(..with.len()).is_some_and(|text| text.eq_ignore_ascii_case(with.as_bytes()))
        };
        let is_whole = self.status == 200 || self.status >= 400;
        is_whole && self.start == 0 && (begins("<!doctype html") || begins("<html"))
    }
}

/// `Content-Range` in bytes: the first and last offset, and the total length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// `None` for `*`: no bytes were sent.
    pub(crate) sent: Option<(u64, u64)>,
    /// `None` for `*`: the server does not state the length.
    pub(crate) complete: Option<u64>,
}

impl ContentRange {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (sent, complete) = rest.trim().split_once('/')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| digits)
        };
        let sent = match sent {
            "*" => None,
            sent => {
                let (first, last) = sent.split_once('-')?;
                Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)?.into()
            }
        };
        let complete = match complete {
            "*" => None,
            complete => Some(number(complete)?),
        };
        let fits = match (sent, complete) {
            (Some((_, last)), Some(complete)) => last < complete,
            _ => true,
        };
        (unit.eq_ignore_ascii_case("bytes") && fits).then_some(Self { sent, complete })
    }
}

#[cfg(test)]
mod tests;
