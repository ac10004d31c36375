//! Newsreaders that go on without a network: what they ask of their server, answered here as it would be.
//!
//! Each of the four interfaces is a style of a proxy that is emulated, and has a file of its own, which tells what a
//! request means ([`Interface::read`]), what an answer says of articles ([`Interface::facts`]), and how an answer
//! reads once marks are in it ([`Interface::merged`]). What somebody may have is in [`Accounts`]: answers, each as old
//! as the last change that the server had by then, and changes, in their order. An answer that is shown is the kept
//! one with every later change in it, whether its server has that by now or not. [`Delivery`] takes a change to the
//! server.
//!
//! - All that is marked read at once while nobody can ask the server, such as a feed, is all of it that was ever
//!   shown here. What came there meanwhile nobody has seen.
//! - A change may be sent twice, if nobody knows whether it arrived. So what turns a state into its opposite is looked
//!   at first, or becomes a request that says which state is meant.

mod account;
mod accounts;
mod atom;
mod delivery;
mod form;
mod google;
mod key;
mod known;
mod list;
mod miniflux;
mod nextcloud;
mod overlay;
mod rows;
mod taking;
mod ttrss;
mod written;

use std::str::FromStr;

use feedsync_newsreader::{Answer, Asked};
use http::HeaderMap;

pub use account::{Account, SignIn, Who};
pub use accounts::Accounts;
pub use delivery::{Asking, Delivery, Ended, Next};
pub use form::{Filter, Form, List};
pub use key::Key;
pub use known::{Fact, Facts, Subject};
pub use overlay::Overlay;
pub use rows::{Kept, Rows};
pub use taking::Full;
pub use written::{Change, Mark, Sending, Turn, Written, WrittenId};

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

/// A text that names no interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is none of google, miniflux, nextcloud, ttrss")]
pub struct InterfaceError;

/// A request of a newsreader: what is asked, and the header in which it may say who asks.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What is asked.
    pub asked: Asked<'a>,
    /// The header.
    pub headers: &'a HeaderMap,
}

/// What a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who asks.
    pub who: Who,
    /// The number by which Tiny Tiny RSS answers.
    pub seq: i64,
    /// What.
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Somebody signs in, and gets a session.
    SignIn {
        /// By which name and password.
        sign_in: SignIn,
        /// Whether the answer is to be JSON, where it need not be.
        is_json: bool,
    },
    /// Something is read.
    Reading(Reading),
    /// Something is changed.
    Writing(Writing),
    /// Nothing that anybody depends on: without a network it is answered so.
    Word(Answer),
    /// Something that only the server knows.
    Other,
}

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Under what it is kept.
    pub key: Key,
    /// What its answer is made of.
    pub form: Form,
    /// Whether a server answers this only to those whom it knows.
    pub is_proof: bool,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writing {
    /// What.
    pub deed: Deed,
    /// The request, without what says who asks.
    pub request: Sending,
    /// What is answered without a network.
    pub answer: Answer,
}

/// What becomes of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Of articles.
    Mark {
        /// Which.
        articles: Vec<i64>,
        /// Whether they become read.
        read: Option<bool>,
        /// Whether they become starred.
        starred: Option<bool>,
        /// The tags that they get, or lose.
        tags: Vec<(String, bool)>,
    },
    /// Of articles that are called by their names: whether they become starred.
    Star {
        /// The feed of each, and its names.
        items: Vec<(Subject, Vec<Subject>)>,
        /// Whether.
        is_starred: bool,
    },
    /// Everything that a list has is read.
    All {
        /// Which list.
        filter: Filter,
        /// Those with no higher number.
        up_to: Option<i64>,
    },
    /// Articles become the opposite of what they are.
    Toggle {
        /// Which.
        articles: Vec<i64>,
        /// Whether it is the star, and not whether they were read.
        is_star: bool,
    },
    /// Of anything else.
    Edit,
}

impl Interface {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Google, Self::Miniflux, Self::Nextcloud, Self::TinyTinyRss];

    /// What it is called where somebody names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Miniflux => "miniflux",
            Self::Nextcloud => "nextcloud",
            Self::TinyTinyRss => "ttrss",
        }
    }

    /// What a request means.
    pub fn read(self, request: &Request<'_>) -> Call {
        let call = match self {
            Self::Google => google::read(request),
            Self::Miniflux => miniflux::read(request),
            Self::Nextcloud => nextcloud::read(request),
            Self::TinyTinyRss => ttrss::read(request),
        };
        // What there is of an answer without its body is not kept.
        if request.asked.method == "HEAD" { Call { what: What::Other, ..call } } else { call }
    }

    /// What an answer says of articles; nothing if it is not what was asked for, so that it cannot be kept.
    pub fn facts(self, form: &Form, body: &[u8]) -> Option<Facts> {
        match self {
            Self::Google => google::facts(form, body),
            Self::Miniflux => miniflux::facts(form, body),
            Self::Nextcloud => nextcloud::facts(form, body),
            Self::TinyTinyRss => ttrss::facts(form, body),
        }
    }

    /// An answer with changes in it. `others` are answers of the same kind that may have what this one lacks.
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

    /// The session in the answer to who signed in; none if they were refused.
    pub fn session(self, status: u16, body: &[u8]) -> Option<String> {
        match self {
            Self::Google => google::session(status, body),
            Self::TinyTinyRss => ttrss::session(status, body),
            Self::Miniflux | Self::Nextcloud => None,
        }
    }

    /// What somebody hears who signs in without a network.
    pub fn signed_in(self, session: &str, seq: i64, is_json: bool) -> Answer {
        match self {
            Self::TinyTinyRss => feedsync_newsreader::ttrss::logged_in(seq, session, "", 0),
            _ => feedsync_newsreader::google::signed_in(session, is_json),
        }
    }

    /// Whether an answer of the server says that who asks is not known, or not any more.
    pub fn is_unknown(self, status: u16, body: &[u8]) -> bool {
        status == 401
            || self == Self::TinyTinyRss && ttrss::error(body).as_deref() == Some("NOT_LOGGED_IN")
    }

    /// Whether an answer of the server says that it did what was asked.
    pub fn is_done(self, status: u16, body: &[u8]) -> bool {
        (200..300).contains(&status)
            && (self != Self::TinyTinyRss || ttrss::status(body) == Some(0))
    }

    /// Whether a server of this kind says what an answer to a change says, and not something on the way to it, such as
    /// the page on which one signs in to a network.
    pub(crate) fn is_word(self, status: u16, body: &[u8]) -> bool {
        match self {
            _ if !(200..300).contains(&status) => true,
            Self::Google => body.trim_ascii() == b"OK",
            Self::TinyTinyRss => ttrss::status(body).is_some(),
            Self::Miniflux | Self::Nextcloud => true,
        }
    }

    /// What is answered to what cannot be done without a network.
    pub fn refused(self, seq: i64, reason: &str) -> Answer {
        let mut answer = match self {
            Self::Google => feedsync_newsreader::google::refuse(503, reason),
            Self::Miniflux => feedsync_newsreader::miniflux::refuse(503, reason),
            Self::Nextcloud => feedsync_newsreader::nextcloud::refuse(503, reason),
            Self::TinyTinyRss => {
                let refusal = feedsync_newsreader::ttrss::Refusal::OperationFailed;
                feedsync_newsreader::ttrss::refuse(seq, refusal, Some(reason))
            }
        };
        answer.media_type.get_or_insert("text/plain; charset=utf-8");
        answer
    }

    /// An answer that was kept, as that to the request of this number.
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

/// By what field of a header somebody says who asks, among those that an interface knows.
fn by_field(headers: &HeaderMap, known: &[&str]) -> Who {
    let mut given = known.iter().filter_map(|name| {
        let mut values = headers.get_all(*name).iter();
        let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
        Some(Who::Field(SignIn::Field((*name).to_owned(), value.to_owned())))
    });
    match (given.next(), given.next()) {
        (Some(who), None) => who,
        _ => Who::Nobody,
    }
}

/// The field in which most say who asks.
const AUTHORIZATION: &str = "authorization";
