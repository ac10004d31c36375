//! Requests to make and answers that came, as values.

use crate::interruption::Interruption;
use crate::session::Stop;

/// What is to be asked of the server next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Bytes of the log (LR20 to LR23): `GET`, `Accept-Encoding: identity`, and never `If-Range`.
    Read(Read),
    /// To append (LR35).
    Append(Append),
    /// The snapshot beside the log (LR45).
    Snapshot,
}

/// Bytes of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Which.
    pub range: Range,
    /// `If-None-Match`: nothing is wanted if the log is still this.
    pub unless: Option<String>,
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// From an offset on, at most so many.
    From {
        /// The first.
        offset: u64,
        /// How many.
        most: u64,
    },
    /// The last ones.
    Last(u64),
}

impl Range {
    /// The value of the header `Range`, with its unit (LR21).
    pub fn header(self) -> String {
        match self {
            Self::From { offset, most } => {
                format!("bytes={offset}-{}", offset.saturating_add(most.max(1) - 1))
            }
            Self::Last(bytes) => format!("bytes=-{bytes}"),
        }
    }
}

/// Records to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Under which condition.
    pub condition: Condition,
    /// Whole lines, `application/x-ndjson`.
    pub body: Vec<u8>,
    /// `Idempotency-Key`: the same whenever the same bytes are sent again.
    pub key: String,
    /// How many of the records that wait these are, from the first.
    pub records: usize,
}

/// What must be so for records to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `If-Match`: the log is still what was read.
    Match(String),
    /// `If-Match: *`: there is one, wherever it ends, for who was outrun again and again (LR18).
    Present,
    /// `If-None-Match: *`: there is none yet (LR32).
    Absent,
    /// `PUT` with `Content-Range: bytes {length}-{end}/*`: the log is still so long (LR29, LR34), for servers
    /// whose entity tags cannot be compared strongly.
    Length(u64),
}

/// An answer of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its status; zero if there was none: the server may have acted or not.
    pub status: u16,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Log-Generation`, from servers that know generations.
    pub generation: Option<String>,
    /// `Log-Covers`, of a snapshot from such a server: the place of the log that it stands for.
    pub covers: Option<String>,
    /// `Content-Range`.
    pub content_range: Option<String>,
    /// `Content-Type`.
    pub media_type: Option<String>,
    /// Whether there is a `Last-Modified`, which servers of files send where they have no entity tags.
    pub is_dated: bool,
    /// `Content-Encoding`, unless it is `identity`.
    pub coding: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Where in the log the body begins. Of an answer with the whole log (LR26) the bytes before what was
    /// asked for need not be kept.
    pub start: u64,
    /// The body, or as much of it as came.
    pub body: Vec<u8>,
    /// Whether the body ended as the server said, and was not cut off or left.
    pub ended: bool,
    /// Why there is no answer, or why its body is not complete.
    pub interruption: Option<Interruption>,
}

impl Answer {
    /// Where in the log the body begins; `None` if nobody can tell, as where it is packed (LR25, LR31).
    pub fn begins_at(&self) -> Option<u64> {
        let part = self.content_range.as_deref().and_then(ContentRange::parse);
        match (self.status, &self.coding) {
            (200, None) => Some(self.start),
            (206, None) => part?.sent.map(|(first, _)| first),
            _ => None,
        }
    }

    /// An entity tag that can be compared strongly (LR29).
    pub(crate) fn strong(&self) -> Option<String> {
        self.etag.clone().filter(|tag| tag.starts_with('"') && tag.len() > 2)
    }

    /// Whether an answer carries a page for people, as a sign-in page between client and server does. Only a server
    /// of logs sends `Log-Generation`.
    pub fn is_page(&self) -> bool {
        self.generation.is_none()
            && (matches!(&*self.essence(), "text/html" | "application/xhtml+xml")
                || self.body_is_page())
    }

    /// Whether a success to a read cannot come from a log. A part names its range. A whole log has an entity tag or a
    /// date, and is no document of another kind (LR9, LR20, LR26).
    pub fn is_no_log(&self) -> bool {
        let is_bare = self.etag.is_none() && !self.is_dated;
        let is_whole = self.status == 200 && self.generation.is_none();
        self.is_page() || (is_whole && (self.is_document() || is_bare))
    }

    /// Whether the media type is that of a document of another kind than a log.
    fn is_document(&self) -> bool {
        let essence = self.essence();
        essence == "application/json"
            || ["+json", "/xml", "+xml"].iter().any(|end| essence.ends_with(end))
            || ["image/", "multipart/form", "text/css"]
                .iter()
                .any(|begin| essence.starts_with(begin))
    }

    /// Checks that a server stored what it was sent: a success that has an entity tag and is no page (LR13, LR35, LR45).
    pub fn stored(&self) -> Result<(), Stop> {
        let is_other = self.generation.is_none() && self.is_document();
        let is_stored = matches!(self.status, 200 | 201 | 204)
            && self.etag.is_some()
            && !self.is_page()
            && !is_other;
        if is_stored { Ok(()) } else { Err(self.foreign()) }
    }

    /// Checks that the server of the log gave a refusal (404, 409, 410, 412). A page for people never is one. A server
    /// that tells generations apart names the generation, or says in a problem document that there is no log (LR36).
    pub fn refused(&self, has_generations: bool) -> Result<(), Stop> {
        let is_absence = matches!(self.status, 404 | 410)
            && matches!(&*self.essence(), "" | "application/problem+json");
        let is_named = self.generation.is_some() || is_absence || !has_generations;
        if is_named && !self.is_page() { Ok(()) } else { Err(self.foreign()) }
    }

    /// Why the request may succeed if it is sent again: it was interrupted, or the server cannot answer it now.
    pub fn excuse(&self) -> Option<Stop> {
        match (&self.interruption, self.status) {
            (Some(interruption), _) => Some(Stop::Interrupted(interruption.clone())),
            // A full log and a network that wants a sign-in first stay so.
            (None, 507 | 511) => None,
            (None, status @ (0 | 408 | 425 | 429 | 500..)) => Some(Stop::Unavailable(status)),
            (None, _) => None,
        }
    }

    /// The end of a session by an answer that no log gives.
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

/// `Content-Range` of bytes: the first and the last, and how many there are in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// `None` for `*`: nothing was sent.
    pub(crate) sent: Option<(u64, u64)>,
    /// `None` for `*`: the server does not say.
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
