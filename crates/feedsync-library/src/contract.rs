//! The contract of a library.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reader::{ArticleId, FeedAddress, Remembered};

use crate::article::KeptArticle;
use crate::error::LibraryError;
use crate::feed::{DueFeed, KeptFeed};
use crate::icon::{Icon, KeptIcon, Origin};
use crate::listing::{Keep, Listed, NamedArticle, Selection};
use crate::poll::{Poll, Settled};
use crate::reader_name::ReaderName;
use crate::retention::Retention;
use feedsync_newsreader::{ArticleNumber, FeedNumber};

/// What the feeds of a hub say, for those who read them.
///
/// **Numbers.** A feed and an article have a number, given once and never again, also not after it is gone or the
/// power was: before somebody can have seen a number, the disk holds that it is given. Those of
/// articles ascend in the order of arrival; of what one document brings, the newest has the highest.
///
/// **What is kept.** All else that was acknowledged survives the process. The power may take the last of it: that
/// is fetched again, since what a feed said and the validators of its document are of one transaction.
///
/// **Atomicity.** What one call writes is seen at once or not at all, by all processes that have the library
/// open. What one call reads is of one moment, after all that was acknowledged before.
///
/// **Order.** An article stands where its [`Place`](crate::Place) is: at the earlier of when it says it was published
/// and when it arrived, so that a date in the future does not stand above everything; if it comes
/// [late](crate::LATE_AT_MOST), just above what its feed had by then; then by number. It
/// never moves, whatever it says later. So who walks a list [from place to place](Selection::from) meets
/// each article once.
///
/// **Work.** A list costs what it holds and what its decision refuses, and one look at each of its feeds; never
/// what there is. Writing follows what differs.
///
/// No method blocks the thread that polls it. A dropped future of one that writes may still be carried out, all of
/// it.
#[async_trait]
pub trait Library: Send + Sync + 'static {
    /// What somebody reads from now on, instead of all before. A feed that nobody read until now is due at once;
    /// one that nobody reads any more is kept, and polled no more.
    async fn set_subscriptions(
        &self,
        reader: &ReaderName,
        feeds: &BTreeSet<FeedAddress>,
        now: Millis,
    ) -> Result<(), LibraryError>;

    /// What somebody reads, by address.
    async fn subscriptions(&self, reader: &ReaderName) -> Result<Vec<KeptFeed>, LibraryError>;

    /// All who read anything, by name.
    async fn readers(&self) -> Result<Vec<ReaderName>, LibraryError>;

    /// A feed, if it is here.
    async fn feed(&self, number: FeedNumber) -> Result<Option<KeptFeed>, LibraryError>;

    /// The feed at an address, if it is here.
    async fn feed_at(&self, address: &FeedAddress) -> Result<Option<KeptFeed>, LibraryError>;

    /// Feeds that somebody reads and that are due, longest first, each for one taker: until it is
    /// [settled](Library::settle), or the moment `until` has come, nobody else is given it. A feed is also due if its
    /// times were written while the clock was ahead: it was checked in the future, or its times are later than
    /// [`MAX_PAUSE`](crate::MAX_PAUSE), [`MAX_HOLD`](crate::MAX_HOLD) and [`MAX_CLAIM`](crate::MAX_CLAIM) allow. `until` is at most `MAX_CLAIM` from now.
    async fn claim(
        &self,
        now: Millis,
        until: Millis,
        most: usize,
    ) -> Result<Vec<DueFeed>, LibraryError>;

    /// When the next feed that somebody reads is due.
    async fn next_due(&self) -> Result<Option<Millis>, LibraryError>;

    /// Makes feeds due now, unless somebody is polling them now.
    async fn hasten(&self, feeds: &[FeedNumber], now: Millis) -> Result<(), LibraryError>;

    /// Moment until which a host (host and port of an address, in lower case) is left alone, if that is later than now
    /// by at most [`MAX_HOLD`](crate::MAX_HOLD).
    async fn held(&self, host: &str, now: Millis) -> Result<Option<Millis>, LibraryError>;

    /// Leaves a host alone until that moment. Holds that have ended are removed.
    async fn hold(&self, host: &str, until: Millis, now: Millis) -> Result<(), LibraryError>;

    /// What was remembered of the articles of a feed when its last document was settled; nothing before the first.
    async fn remembered(&self, feed: FeedNumber) -> Result<Remembered, LibraryError>;

    /// Writes down what came of asking a feed, all of it in one transaction. What a document does not tell any
    /// more stays. An article that is here keeps its number and its place; if it says something else, that
    /// is what it says now.
    async fn settle(
        &self,
        feed: FeedNumber,
        poll: Poll,
        now: Millis,
    ) -> Result<Settled, LibraryError>;

    /// The last article that came before a moment.
    async fn before(&self, received: Millis) -> Result<Option<ArticleNumber>, LibraryError>;

    /// How many articles of a feed are shown to be of later than a moment; all of them without one.
    async fn count_behind(
        &self,
        feed: FeedNumber,
        shown: Option<Millis>,
    ) -> Result<u64, LibraryError>;

    /// A list of articles.
    async fn list(&self, selection: Selection) -> Result<Vec<Listed>, LibraryError>;

    /// Articles with what they say, in the order in which they are asked for; those that are here. At most
    /// [`MOST_SHOWN`](crate::MOST_SHOWN) at once.
    async fn articles(&self, numbers: &[ArticleNumber]) -> Result<Vec<KeptArticle>, LibraryError>;

    /// How many articles of each of these feeds the decision keeps, or how many there are. Of feeds that are not
    /// here nothing is said.
    async fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<Keep>,
    ) -> Result<BTreeMap<FeedNumber, u64>, LibraryError>;

    /// Which articles have these numbers, in the order in which they are asked for; those that are here.
    async fn named(&self, numbers: &[ArticleNumber]) -> Result<Vec<NamedArticle>, LibraryError>;

    /// Which articles of a feed have these names, in the order in which they are asked for; those that are here.
    async fn numbered(
        &self,
        feed: FeedNumber,
        names: &[ArticleId],
    ) -> Result<Vec<NamedArticle>, LibraryError>;

    /// Those of a list that have all these words in their title or text, in the order of the list. Words are whole
    /// ones, with or without capitals and accents; what stands between white space and has no letters
    /// or digits is no word, and where there is no word at all nothing is found. At most
    /// [`MOST_WORDS`](crate::MOST_WORDS) bytes.
    async fn search(&self, words: &str, selection: Selection) -> Result<Vec<Listed>, LibraryError>;

    /// Removes articles of a feed that nothing keeps; how many. They go in portions, so that others can write
    /// meanwhile. One that is told again later is a new one.
    async fn sweep(&self, feed: FeedNumber, keep: Retention) -> Result<u64, LibraryError>;

    /// Removes feeds that nobody has read since before a moment, with all their articles, in portions; how many
    /// feeds. Those that are spared stay. Somebody who begins to read one meanwhile finds it asked anew.
    async fn forget(
        &self,
        abandoned_before: Millis,
        spared: &BTreeSet<FeedNumber>,
    ) -> Result<u64, LibraryError>;

    /// What is known of the picture of a site, if it was asked for.
    async fn icon(&self, origin: &Origin) -> Result<Option<KeptIcon>, LibraryError>;

    /// The picture of a site, or that it has none.
    async fn set_icon(
        &self,
        origin: &Origin,
        icon: Option<Icon>,
        now: Millis,
    ) -> Result<(), LibraryError>;
}
