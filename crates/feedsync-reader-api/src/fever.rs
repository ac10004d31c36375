//! The Fever API, version 3.
//!
//! Every request has the same address. Its parameters name the lists that the response contains, and at most one
//! mark. The parameters may be in the query and in a form. Responses are JSON, even if XML is requested, and have
//! the status 200: the member `auth` says whether the client is signed in, and the member `error` why a request
//! was refused.

mod answer;
mod read;

use feedsync_log::Millis;

use crate::fault::Fault;
use crate::marking::Marking;
use crate::secret::Secret;
use crate::selection::{Selection, Stream};
use crate::shown::ArticleNumber;

pub use answer::{Favicon, Response, not_signed_in};
pub use read::read;

/// Maximum number of articles in one list of articles, as the interface defines.
pub const MAX_ITEMS: usize = 50;

/// Maximum number of article numbers in the lists of unread and of saved articles.
pub const MAX_IDS: usize = 200_000;

/// A request with the key of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Key of the client: the MD5 of its user name and its password. Absent in `GET` requests.
    pub key: Option<Secret>,
    /// The request, or its fault, which is reported only to clients that are signed in.
    pub request: Result<Request, Fault>,
}

/// A request of the interface: everything that the response contains. The mark is made first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Mark to make.
    pub mark: Option<Mark>,
    /// Whether the folders are requested.
    pub groups: bool,
    /// Whether the subscriptions are requested.
    pub feeds: bool,
    /// Whether the icons are requested.
    pub favicons: bool,
    /// Articles that are requested.
    pub items: Option<Items>,
    /// Whether popular links are requested, of which this server has none.
    pub links: bool,
    /// Whether the numbers of the unread articles are requested.
    pub unread_ids: bool,
    /// Whether the numbers of the saved articles are requested.
    pub saved_ids: bool,
}

/// Requested articles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Items {
    /// Articles by a range of numbers.
    Selected(Box<Selection>),
    /// Articles of these numbers.
    Numbered(Vec<ArticleNumber>),
}

/// A mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Marks one article.
    Article(Marking),
    /// Marks the articles of a stream as read.
    Stream {
        /// Stream whose articles are marked.
        stream: Stream,
        /// Marks only articles up to this time.
        up_to: Option<Millis>,
    },
}
