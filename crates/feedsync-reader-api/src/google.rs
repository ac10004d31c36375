//! The interface of Google Reader, which many servers and newsreaders still support.
//!
//! Google never documented it; this module follows what newsreaders send and read. A stream is named `feed/N` or
//! `feed/ADDRESS`, `user/-/label/NAME` or `user/-/state/com.google/NAME`, with any user. An article is named by
//! its number in one of several spellings.
//!
//! An article is unread, read, or "kept unread", which is treated as unread and is not a third state.

mod account;
mod atom;
mod authorization;
mod edit;
mod item_id;
mod items;
mod outline;
mod read;
mod stream;

use feedsync_log::Millis;
use feedsync_reading_state::{FeedAddress, SubscriptionList, Title};

use crate::marking::Marking;
use crate::secret::Secret;
use crate::selection::{Selection, Stream};
use crate::shown::{ArticleNumber, FeedName, Label};

pub use account::{
    done, export, friends, imported, preferences, refuse, signed_in, stream_preferences, token,
    user_info, wrong_password,
};
pub use atom::atom;
pub use authorization::authorization;
pub use item_id::{ItemId, ItemIdError};
pub use items::{contents, count, ids, items};
pub use outline::{quick_added, subscriptions, tags, unread_counts};
pub use read::read;
pub use stream::{StreamError, parse_stream};

/// Maximum number of articles in a list with contents.
pub const MAX_CONTENTS: usize = 1_000;

/// Maximum number of articles in a list of numbers.
pub const MAX_IDS: usize = 200_000;

/// Maximum number of feeds in one edit.
pub const MAX_FEEDS: usize = 1_000;

/// Default number of articles in a list.
pub const DEFAULT_COUNT: usize = 20;

/// A request, and the token parameter that came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Parsed request.
    pub request: Request,
    /// `T`: the short-lived token of a write; with Liferea the only identification of the user.
    pub token: Option<Secret>,
}

/// A request of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `accounts/ClientLogin`: answered by [`signed_in`] or [`wrong_password`].
    SignIn(SignIn),
    /// `token`: answered by [`token()`].
    Token,
    /// `user-info`: answered by [`user_info`].
    UserInfo,
    /// `subscription/list`: answered by [`subscriptions`].
    Subscriptions,
    /// `subscription/edit`: answered by [`done`].
    Edit(SubscriptionEdit),
    /// `subscription/quickadd`: answered by [`quick_added`].
    QuickAdd(FeedAddress),
    /// `subscription/export`: answered by [`export`].
    Export,
    /// `subscription/import`: answered by [`imported`].
    Import(SubscriptionList),
    /// `tag/list`: answered by [`tags`].
    Tags,
    /// `rename-tag`, of a folder or a tag: answered by [`done`].
    RenameTag {
        /// Current name.
        from: Label,
        /// New name.
        to: Label,
    },
    /// `disable-tag`: removes folders or tags. Answered by [`done`].
    DisableTag(Vec<Label>),
    /// `edit-tag`: answered by [`done`].
    Mark(Marking),
    /// `mark-all-as-read`: answered by [`done`].
    MarkAllRead {
        /// Stream whose articles are marked.
        stream: Stream,
        /// Marks only articles received up to this time; all if `None`.
        up_to: Option<Millis>,
    },
    /// `unread-count`: answered by [`unread_counts`].
    UnreadCounts,
    /// `stream/contents`: answered by [`contents`].
    Contents(Listing),
    /// `atom`: answered by [`atom()`].
    Atom(Listing),
    /// `stream/items/ids`: answered by [`ids`].
    Ids(Selection),
    /// `stream/items/contents`: answered by [`items()`].
    Items {
        /// Requested articles.
        articles: Vec<ArticleNumber>,
        /// Whether the client is Liferea, which recognises read articles by a value that confuses other clients.
        by_liferea: bool,
    },
    /// `stream/items/count`: answered by [`count`].
    Count(Stream),
    /// `preference/list`: answered by [`preferences`].
    Preferences,
    /// `preference/stream/list`: answered by [`stream_preferences`].
    StreamPreferences,
    /// `friend/list`: answered by [`friends`].
    Friends,
}

/// Credentials of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// User name.
    pub name: String,
    /// Password.
    pub password: Secret,
    /// Whether the response is JSON.
    pub is_json: bool,
}

/// A list of articles, and the newsreader's name for the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Name of the stream as it was sent.
    pub stream: String,
    /// Requested articles.
    pub selection: Selection,
}

/// Change of subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionEdit {
    /// Operation.
    pub operation: SubscriptionOperation,
    /// Feeds, with their new titles if given.
    pub feeds: Vec<(FeedName, Option<Title>)>,
    /// Folders that the feeds are added to.
    pub add: Vec<Label>,
    /// Folders that the feeds are removed from.
    pub remove: Vec<Label>,
}

/// Operation on a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionOperation {
    /// Subscribes.
    Subscribe,
    /// Unsubscribes.
    Unsubscribe,
    /// Changes the folder or the title.
    Edit,
}
