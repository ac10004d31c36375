//! Responses to applications.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use feedsync_formats::{MemberFeed, ReadOptions};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::stored::{Content, Stored};
use crate::authentication::UnknownCredentials;
use crate::cache_headers;
use crate::location::Location;
use crate::overlay::compose;
use crate::profile::Profile;

/// The `Accept-Post` header (Linked Data Platform 7.1).
const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");

/// Media type that every collection accepts (RFC 5023 8.3.4).
const ENTRY: HeaderValue = HeaderValue::from_static("application/atom+xml;type=entry");

/// Media type of error texts for people.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Media type of error documents for programs (RFC 9457).
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Header of responses that may change until the next request. Without it a browser would store a 410 or a
/// redirection for good (RFC 9111 4.2.2).
const NOT_STORED: (HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// A response that needs no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response, without the length and headers that depend on it.
    pub headers: HeaderMap,
    /// Body of the response. For HEAD it is the body of the response to GET.
    pub shows: ReplyBody,
}

/// Body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// No body.
    Nothing,
    /// A text, whose type is in the headers.
    Text(String),
    /// Stored bytes.
    Content(Content),
    /// A feed combined with edits that it does not show yet.
    Composed(Box<Composed>),
}

/// A feed combined with edits that it does not show yet. Equal values have equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Composed {
    /// Document of the feed.
    pub document: Content,
    /// Address of the document.
    pub address: Location,
    /// The edits, in their order.
    pub edits: Vec<ComposedEdit>,
    /// The `updated` time. It is later with each edit, and depends only on the document and the number of
    /// edits.
    pub updated: String,
    /// How closely the document is followed. Members that were created here have an edit link, or none in the
    /// strict profile.
    pub profile: Profile,
}

/// An edit that a feed shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComposedEdit {
    /// Address of the member.
    pub member: Location,
    /// Whether the member was created here.
    pub made: bool,
    /// Present content of the member; none if it was deleted.
    pub content: Option<Content>,
    /// Declared media type of the content.
    pub media_type: Option<String>,
    /// Requested name (`Slug`).
    pub slug: Option<String>,
}

impl Reply {
    /// 410 without a body (3.1.2).
    pub(crate) fn gone() -> Self {
        let headers = HeaderMap::from_iter([NOT_STORED]);
        Self { status: StatusCode::GONE, headers, shows: ReplyBody::Nothing }
    }

    /// Redirection from a temporary address to the member.
    pub(crate) fn moved(member: &Location) -> Self {
        let location = HeaderValue::from_str(member.as_str());
        let mut headers = HeaderMap::from_iter([NOT_STORED]);
        headers.extend(location.ok().map(|location| (header::LOCATION, location)));
        Self { status: StatusCode::PERMANENT_REDIRECT, headers, shows: ReplyBody::Nothing }
    }

    /// 504: there is no network, and nothing is stored (R-B6).
    pub fn unreachable(location: &Location) -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, PROBLEM), NOT_STORED]);
        cache_headers::mark_unreachable(&mut headers);
        let text = format!(
            "{{\"type\":\"urn:feedsync:1:offline\",\"title\":\"Offline and not stored\",\
             \"status\":504,\"detail\":\"{}\"}}",
            format_args!(
                "{} cannot be reached, and the requested resource is not stored here",
                location.origin()
            )
        );
        Self { status: StatusCode::GATEWAY_TIMEOUT, headers, shows: ReplyBody::Text(text) }
    }

    /// 401, with a challenge for the credentials of the subscription (4.3).
    pub(crate) fn unknown(unknown: &UnknownCredentials, feed: &Location) -> Self {
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, TEXT),
            (header::WWW_AUTHENTICATE, unknown.challenge(feed)),
            NOT_STORED,
        ]);
        let shows = ReplyBody::Text(unknown.explanation().to_owned());
        Self { status: StatusCode::UNAUTHORIZED, headers, shows }
    }

    /// Response to OPTIONS (R-B1).
    pub(crate) fn options(allow: &'static str) -> Self {
        let mut headers = HeaderMap::from_iter([(header::ALLOW, HeaderValue::from_static(allow))]);
        if allow.contains(Method::POST.as_str()) {
            headers.insert(ACCEPT_POST, ENTRY);
        }
        let warning = "112 bitsy \"Disconnected operation\"";
        headers.insert(header::WARNING, HeaderValue::from_static(warning));
        Self { status: StatusCode::NO_CONTENT, headers, shows: ReplyBody::Nothing }
    }

    /// 406: the stored representation is not one that the request accepts (3).
    pub(crate) fn not_acceptable() -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, TEXT), NOT_STORED]);
        crate::coding::vary(&mut headers);
        let text = "The stored response has a media type that the request does not accept.\n";
        let shows = ReplyBody::Text(text.to_owned());
        Self { status: StatusCode::NOT_ACCEPTABLE, headers, shows }
    }

    /// 412: the representation is not the one that the application named.
    pub(crate) fn stale(tag: Option<&str>) -> Self {
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, TEXT), NOT_STORED]);
        tag.into_iter().for_each(|tag| tagged(&mut headers, tag));
        let text = "The resource is not in the state that the request requires.\n";
        let shows = ReplyBody::Text(text.to_owned());
        Self { status: StatusCode::PRECONDITION_FAILED, headers, shows }
    }

    /// Reference to the stored bytes that the reply shows, if any.
    pub fn content(&self) -> Option<Content> {
        match &self.shows {
            ReplyBody::Content(content) => Some(*content),
            _ => None,
        }
    }
}

impl Composed {
    /// Entity tag of the combined document.
    pub fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.edits, &self.updated).hash(&mut hasher);
        format!("local-{:.16}-{:016x}", self.document.digest.to_string(), hasher.finish())
    }

    /// Bytes of the combined document. An edit that is not an entry is not shown, and a document that is not
    /// a feed is not changed (R-B30).
    pub fn bytes<S: Stored>(&self, stored: &S) -> Result<Vec<u8>, S::Error> {
        let document = stored.content(&self.document)?;
        let options = ReadOptions { base: Some(self.address.as_str()), ..ReadOptions::tolerant() };
        let Ok(feed) = MemberFeed::read(&document, &options) else { return Ok(document) };
        let mut edits = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            // Media may be large, and are not parsed.
            let read = edit.content.filter(|_| edit.may_be_entry());
            let bytes = read.map(|content| stored.content(&content)).transpose()?;
            edits.extend(edit.shown(bytes.as_deref(), &self.updated, self.profile));
        }
        Ok(compose(&feed, &self.address, &edits, &self.updated).unwrap_or(document))
    }
}

/// Sets the entity tag of a response.
pub(crate) fn tagged(headers: &mut HeaderMap, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
}
