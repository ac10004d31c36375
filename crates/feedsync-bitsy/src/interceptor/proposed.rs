//! Edits that applications request.

use http::{HeaderMap, HeaderName, header};

use crate::authentication::Partition;
use crate::headers::{AUTHORIZATION, is_of_one_request};
use crate::interceptor::stored::{Content, Entity};
use crate::location::Location;
use crate::propagation;

/// An edit that an application requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// Partition of the application.
    pub partition: Partition,
    /// The feed whose members are edited.
    pub feed: Location,
    /// The queue in whose order the edit is sent.
    pub queue: Location,
    /// Method of the edit.
    pub method: propagation::Method,
    /// Address of the request: the collection, the member, or its media.
    pub location: Location,
    /// Next generation of the feed at the time of the request.
    pub generation: u64,
    /// Whether earlier changes must be durable before this edit is sent. Otherwise a power cut could lose the result
    /// of a POST. After this edit has changed the member, the gateway would not find it. It would then create it
    /// again.
    pub needs_sync: bool,
    /// Entity tag of the server, if the request names the local tag.
    pub tag: Option<String>,
}

/// An edit that an application requested, with the headers and the body of the request.
#[derive(Debug, Clone)]
pub struct EditRequest<'r> {
    /// The proposal that the decision about the request made.
    pub proposed: &'r Proposed,
    /// Headers of the request.
    pub headers: &'r HeaderMap,
    /// Body of the request, which is stored.
    pub entity: Option<Entity>,
}

/// Headers about the application that are no part of an edit. Headers of a single request and credentials are no
/// part of it, either.
const OMITTED_HEADERS: [HeaderName; 4] =
    [header::ACCEPT, HeaderName::from_static("idempotency-key"), header::ORIGIN, header::REFERER];

/// Headers of an edit that are shown to readers. The others are between the application and the server.
const SHOWN_HEADERS: [HeaderName; 5] = [
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::ETAG,
];

/// Header with the requested name of a new member (RFC 5023 9.7).
pub(crate) const SLUG: HeaderName = HeaderName::from_static("slug");

impl Entity {
    /// Headers that are shown to readers.
    pub(crate) fn shown_headers(&self) -> HeaderMap {
        let told = self.headers.iter().filter(|(name, _)| SHOWN_HEADERS.contains(name));
        told.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The content of an edit: bytes, and the request headers that describe them.
    pub fn sent(headers: &HeaderMap, content: Content) -> Self {
        let about = headers.iter().filter(|(name, _)| {
            let is_of_a_page = name.as_str().starts_with("sec-");
            let is_omitted = OMITTED_HEADERS.contains(name)
                || AUTHORIZATION.contains(name)
                || is_of_one_request(name);
            !is_omitted && **name != SLUG && !is_of_a_page
        });
        let headers = about.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { headers, content }
    }
}
