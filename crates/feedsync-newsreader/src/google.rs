//! The interface of Google Reader, which many servers and newsreaders still speak.
//!
//! Google never wrote it down; what stands here is what newsreaders send, and read. A stream is named
//! `feed/N` or `feed/ADDRESS`, `user/-/label/NAME` or `user/-/state/com.google/NAME`, where the user may be
//! anything, and an article by its number in one of several spellings.
//!
//! An article is unread, read, or "kept unread", which is unread once more and no third thing here.

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
use feedsync_reader::{FeedAddress, SubscriptionList, Title};

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

/// The most articles that are listed with what they say.
pub const MOST_CONTENTS: usize = 1_000;

/// The most articles that are listed by their numbers alone.
pub const MOST_IDS: usize = 200_000;

/// The most feeds that are edited at once.
pub const MOST_FEEDS: usize = 1_000;

/// How many articles are listed if nobody says how many.
pub const USUAL_COUNT: usize = 20;

/// A request, and the token that came with it as a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What is asked.
    pub request: Request,
    /// `T`: the short-lived token of a write, or with Liferea the only thing that says who asks.
    pub token: Option<Secret>,
}

/// What is asked.
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
        /// What it is called.
        from: Label,
        /// What it becomes.
        to: Label,
    },
    /// `disable-tag`: these folders or tags are dissolved. Answered by [`done`].
    DisableTag(Vec<Label>),
    /// `edit-tag`: answered by [`done`].
    Mark(Marking),
    /// `mark-all-as-read`: answered by [`done`].
    MarkAllRead {
        /// Of these.
        stream: Stream,
        /// Those that had come by then; all, if nothing is said.
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
        /// Which articles.
        articles: Vec<ArticleNumber>,
        /// Whether it is Liferea that asks, which knows an article that is read by something that confuses others.
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

/// Who wants to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The name.
    pub name: String,
    /// What proves it.
    pub password: Secret,
    /// Whether the answer is to be JSON.
    pub is_json: bool,
}

/// Articles that are asked for, and what the newsreader calls them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The name of the stream as it was given.
    pub stream: String,
    /// Which articles.
    pub selection: Selection,
}

/// What becomes of subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionEdit {
    /// What is done.
    pub deed: Deed,
    /// To which feeds, and what each is called from now on, where that is said.
    pub feeds: Vec<(FeedName, Option<Title>)>,
    /// The folders that they are put into.
    pub add: Vec<Label>,
    /// The folders that they are taken out of.
    pub remove: Vec<Label>,
}

/// What is done to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// It is made.
    Subscribe,
    /// It ends.
    Unsubscribe,
    /// It is filed or called otherwise.
    Edit,
}
