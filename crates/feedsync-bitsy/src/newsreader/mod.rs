//! Newsreaders without a network: their requests are answered here in place of the server.
//!
//! Each of the four interfaces is an emulated proxy style with its own file. The file interprets requests
//! ([`Interface::read`]), reads facts about articles from responses ([`Interface::facts`]), and applies marks
//! to responses ([`Interface::merged`]). [`Accounts`] stores each account's responses and changes. A response
//! records the last change that the server had by then. A response from the store includes every later
//! change, whether the server has it by now or not. [`Delivery`] sends a change to the server.
//!
//! - Marking everything read without a network, such as a feed, affects all its articles that were ever shown
//!   here. The user has not seen any others.
//! - A change may be sent twice if it is unknown whether it arrived. So the state is read before a toggle, or
//!   the toggle is replaced by a request that names the state.

mod accept;
mod account;
mod accounts;
mod atom;
mod change;
mod delivery;
mod facts;
mod form;
mod google;
mod key;
mod list;
mod miniflux;
mod nextcloud;
mod overlay;
mod rows;
mod ttrss;

use std::str::FromStr;

use feedsync_reader_api::{RawRequest, RawResponse};
use http::HeaderMap;

pub use accept::Full;
pub use account::{Account, RequestCredentials, SignIn};
pub use accounts::Accounts;
pub use change::{Change, ChangeId, Mark, StoredChange, Transition, UnsignedRequest};
pub use delivery::{Delivery, DeliveryResult, Next, OutgoingRequest};
pub use facts::{Fact, Facts, Subject};
pub use form::{Filter, Form, List};
pub use key::Key;
pub use overlay::Overlay;
pub use rows::{CachedResponse, Rows};

/// An interface of newsreaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interface {
    /// Google Reader, with the streams in Atom that newsboat reads.
    Google,
    /// Miniflux, version 1.
    Miniflux,
    /// Nextcloud News, version 1-2.
    Nextcloud,
    /// Tiny Tiny RSS.
    TinyTinyRss,
}

/// Error: the text names no interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be google, miniflux, nextcloud or ttrss")]
pub struct InterfaceError;

/// A request of a newsreader.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The parsed request line and the body.
    pub requested: RawRequest<'a>,
    /// Headers, which may contain credentials.
    pub headers: &'a HeaderMap,
}

/// Meaning of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Credentials of the request.
    pub credentials: RequestCredentials,
    /// Sequence number of the request, which the response of Tiny Tiny RSS repeats.
    pub seq: i64,
    /// The requested operation.
    pub operation: Operation,
}

/// A requested operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A user signs in and receives a session.
    SignIn {
        /// Name and password.
        sign_in: SignIn,
        /// Whether the response is JSON on request.
        is_json: bool,
    },
    /// A read request.
    ReadRequest(ReadRequest),
    /// A change.
    ChangeRequest(ChangeRequest),
    /// An operation without lasting effect. Offline, this is its response.
    Transient(RawResponse),
    /// An operation that needs the server.
    Other,
}

/// A read request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    /// Key of the stored response.
    pub key: Key,
    /// Structure of the response.
    pub form: Form,
    /// Whether servers send this response only to accounts that they accept.
    pub is_proof: bool,
}

/// A request for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRequest {
    /// The change.
    pub change_kind: ChangeKind,
    /// The request without its credentials.
    pub request: UnsignedRequest,
    /// The response without a network.
    pub answer: RawResponse,
}

/// Kinds of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// Articles get marks.
    Mark {
        /// Numbers of the articles.
        articles: Vec<i64>,
        /// New read state.
        read: Option<bool>,
        /// New star state.
        starred: Option<bool>,
        /// Tags, and whether each is added or removed.
        tags: Vec<(String, bool)>,
    },
    /// Articles that are identified by names get a star state.
    Star {
        /// Feed and names of each article.
        items: Vec<(Subject, Vec<Subject>)>,
        /// New star state.
        is_starred: bool,
    },
    /// All articles of a list are marked read.
    All {
        /// Filter of the list.
        filter: Filter,
        /// Maximum article number.
        up_to: Option<i64>,
    },
    /// Articles have a state toggled.
    Toggle {
        /// Numbers of the articles.
        articles: Vec<i64>,
        /// Whether the star is toggled, and not the read state.
        is_star: bool,
    },
    /// Any other change.
    Edit,
}

impl Interface {
    /// All interfaces.
    pub const ALL: [Self; 4] = [Self::Google, Self::Miniflux, Self::Nextcloud, Self::TinyTinyRss];

    /// Name of the interface in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Miniflux => "miniflux",
            Self::Nextcloud => "nextcloud",
            Self::TinyTinyRss => "ttrss",
        }
    }

    /// Returns the meaning of a request.
    pub fn read(self, request: &Request<'_>) -> Call {
        let call = match self {
            Self::Google => google::read(request),
            Self::Miniflux => miniflux::read(request),
            Self::Nextcloud => nextcloud::read(request),
            Self::TinyTinyRss => ttrss::read(request),
        };
        // A response without its body is not stored.
        if request.requested.method == "HEAD" {
            Call { operation: Operation::Other, ..call }
        } else {
            call
        }
    }

    /// Reads facts about articles from a response. Returns none if the response does not match the request,
    /// so that it cannot be stored.
    pub fn facts(self, form: &Form, body: &[u8]) -> Option<Facts> {
        match self {
            Self::Google => google::facts(form, body),
            Self::Miniflux => miniflux::facts(form, body),
            Self::Nextcloud => nextcloud::facts(form, body),
            Self::TinyTinyRss => ttrss::facts(form, body),
        }
    }

    /// Returns a response with changes applied. `others` are responses of the same kind that may contain
    /// missing articles.
    pub fn merged(
        self,
        form: &Form,
        body: &[u8],
        overlay: &Overlay,
        others: &[Vec<u8>],
    ) -> Option<Vec<u8>> {
        if *form == Form::Plain {
            return Some(body.to_vec());
        }
        match self {
            Self::Google => google::merged(form, body, overlay, others),
            Self::Miniflux => miniflux::merged(form, body, overlay, others),
            Self::Nextcloud => nextcloud::merged(form, body, overlay, others),
            Self::TinyTinyRss => ttrss::merged(form, body, overlay, others),
        }
    }

    /// The session in the response to a sign-in; none if it was refused.
    pub fn session(self, status: u16, body: &[u8]) -> Option<String> {
        match self {
            Self::Google => google::session(status, body),
            Self::TinyTinyRss => ttrss::session(status, body),
            Self::Miniflux | Self::Nextcloud => None,
        }
    }

    /// Response to a sign-in without a network.
    pub fn signed_in(self, session: &str, seq: i64, is_json: bool) -> RawResponse {
        match self {
            Self::TinyTinyRss => feedsync_reader_api::ttrss::logged_in(seq, session, "", 0),
            _ => feedsync_reader_api::google::signed_in(session, is_json),
        }
    }

    /// Whether a response says that the credentials are not accepted.
    pub fn is_unknown(self, status: u16, body: &[u8]) -> bool {
        status == 401
            || self == Self::TinyTinyRss && ttrss::error(body).as_deref() == Some("NOT_LOGGED_IN")
    }

    /// Whether a response says that the request was carried out.
    pub fn is_done(self, status: u16, body: &[u8]) -> bool {
        (200..300).contains(&status)
            && (self != Self::TinyTinyRss || ttrss::status(body) == Some(0))
    }

    /// Whether a response to a change comes from a server of this kind. It may come from something on the
    /// way, such as the sign-in page of a network.
    pub(crate) fn is_word(self, status: u16, body: &[u8]) -> bool {
        match self {
            _ if !(200..300).contains(&status) => true,
            Self::Google => body.trim_ascii() == b"OK",
            Self::TinyTinyRss => ttrss::status(body).is_some(),
            Self::Miniflux | Self::Nextcloud => true,
        }
    }

    /// Response to a request that cannot be answered without a network.
    pub fn refused(self, seq: i64, reason: &str) -> RawResponse {
        let mut answer = match self {
            Self::Google => feedsync_reader_api::google::refuse(503, reason),
            Self::Miniflux => feedsync_reader_api::miniflux::refuse(503, reason),
            Self::Nextcloud => feedsync_reader_api::nextcloud::refuse(503, reason),
            Self::TinyTinyRss => {
                let refusal = feedsync_reader_api::ttrss::Refusal::OperationFailed;
                feedsync_reader_api::ttrss::refuse(seq, refusal, Some(reason))
            }
        };
        answer.media_type.get_or_insert("text/plain; charset=utf-8");
        answer
    }

    /// Adapts a stored response to the sequence number of a request.
    pub fn renumbered(self, body: Vec<u8>, seq: i64) -> Vec<u8> {
        match self {
            Self::TinyTinyRss => ttrss::renumbered(body, seq),
            _ => body,
        }
    }
}

impl FromStr for Interface {
    type Err = InterfaceError;

    fn from_str(text: &str) -> Result<Self, InterfaceError> {
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or(InterfaceError)
    }
}

/// Reads the credentials from a header field, among those that an interface knows.
fn by_field(headers: &HeaderMap, known: &[&str]) -> RequestCredentials {
    let mut given = known.iter().filter_map(|name| {
        let mut values = headers.get_all(*name).iter();
        let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
        Some(RequestCredentials::Field(SignIn::Field((*name).to_owned(), value.to_owned())))
    });
    match (given.next(), given.next()) {
        (Some(credentials), None) => credentials,
        _ => RequestCredentials::Anonymous,
    }
}

/// The header field that most interfaces use for credentials.
const AUTHORIZATION: &str = "authorization";
