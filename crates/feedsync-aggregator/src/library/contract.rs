//! Interface of a library.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reading_state::{ArticleId, FeedAddress, IdentificationState};

use crate::library::article::StoredArticle;
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, StoredFeed};
use crate::library::icon::{Icon, Origin, StoredIcon};
use crate::library::listing::{ArticleFilter, ListEntry, NamedArticle, Selection};
use crate::library::poll::{Poll, PollChanges};
use crate::library::reader_name::ReaderName;
use crate::library::retention::Retention;
use feedsync_reader_api::{ArticleNumber, FeedNumber};

/// Articles of the feeds of a hub, with their readers.
///
/// **Numbers.** The number of a feed or an article is assigned once and never reused, even after a deletion or a
/// power failure. The disk records the assignment before the number becomes visible. Article numbers ascend in
/// the order of arrival; within one document, the newest article has the highest.
///
/// **Durability.** All other acknowledged writes survive the end of the process. A power failure may undo the
/// last of them. These are fetched again, since the articles of a document and its validators are written in one
/// transaction.
///
/// **Atomicity.** The writes of one call become visible together or not at all, to all processes that have the
/// library open. The reads of one call see one snapshot, which includes everything that was acknowledged before.
///
/// **Order.** Articles are sorted by their [`ListPosition`](crate::library::ListPosition): by date and then by number. The date is the
/// earlier of the publication and the arrival, so that a future date does not stay above everything. An article
/// that comes [late](crate::library::MAX_LATENESS) is placed just above the articles that its feed had by then. A place
/// never changes. A client that [pages](Selection::from) through a list thus gets each article once.
///
/// **Cost.** Listing costs time for the returned rows, for the rows that the filter rejects, and for one lookup
/// per feed. The size of the library does not matter. Writing costs time for the differences.
///
/// No method blocks the thread that polls it. If the future of a write is dropped, the write may still be
/// performed completely.
#[async_trait]
pub trait Library: Send + Sync + 'static {
    /// Replaces the subscriptions of a reader. A feed without earlier readers is due at once. A feed without
    /// remaining readers is kept, but no longer polled.
    async fn set_subscriptions(
        &self,
        reader: &ReaderName,
        feeds: &BTreeSet<FeedAddress>,
        now: Millis,
    ) -> Result<(), LibraryError>;

    /// Returns the feeds of a reader, ordered by address.
    async fn subscriptions(&self, reader: &ReaderName) -> Result<Vec<StoredFeed>, LibraryError>;

    /// Returns all readers with subscriptions, ordered by name.
    async fn readers(&self) -> Result<Vec<ReaderName>, LibraryError>;

    /// Returns a feed, if it is stored.
    async fn feed(&self, number: FeedNumber) -> Result<Option<StoredFeed>, LibraryError>;

    /// Returns the feed at an address, if it is stored.
    async fn feed_at(&self, address: &FeedAddress) -> Result<Option<StoredFeed>, LibraryError>;

    /// Claims feeds that have readers and are due, the longest due first. A claimed feed is not given to another
    /// caller until it is [settled](Library::settle) or `until` is reached. A feed is also due if its times were
    /// written while the clock was ahead. Such a feed was checked in the future, or its times exceed
    /// [`MAX_PAUSE`](crate::library::MAX_PAUSE), [`MAX_HOLD`](crate::library::MAX_HOLD) or [`MAX_CLAIM`](crate::library::MAX_CLAIM). `until`
    /// is at most `MAX_CLAIM` from now.
    async fn claim(
        &self,
        now: Millis,
        until: Millis,
        most: usize,
    ) -> Result<Vec<DueFeed>, LibraryError>;

    /// Returns the time at which the next feed with readers is due.
    async fn next_due(&self) -> Result<Option<Millis>, LibraryError>;

    /// Makes feeds due now, except those that are being polled.
    async fn make_due(&self, feeds: &[FeedNumber], now: Millis) -> Result<(), LibraryError>;

    /// Returns the time until which a host is on hold, if that is later than now by at most
    /// [`MAX_HOLD`](crate::library::MAX_HOLD). The host is given as host and port of an address, in lower case.
    async fn host_hold(&self, host: &str, now: Millis) -> Result<Option<Millis>, LibraryError>;

    /// Puts a host on hold until a given time. Expired holds are removed.
    async fn hold(&self, host: &str, until: Millis, now: Millis) -> Result<(), LibraryError>;

    /// Returns the identification state of the articles of a feed after its last document; it is empty before the
    /// first one.
    async fn identification_state(
        &self,
        feed: FeedNumber,
    ) -> Result<IdentificationState, LibraryError>;

    /// Stores the outcome of a poll in one transaction. Articles that a document no longer contains stay. A known
    /// article keeps its number and its place; its contents are replaced if they differ.
    async fn settle(
        &self,
        feed: FeedNumber,
        poll: Poll,
        now: Millis,
    ) -> Result<PollChanges, LibraryError>;

    /// Returns the last article that arrived before the given time.
    async fn before(&self, received: Millis) -> Result<Option<ArticleNumber>, LibraryError>;

    /// Returns the number of articles of a feed with a sort date later than `sort_date`, or of all.
    async fn count_after(
        &self,
        feed: FeedNumber,
        sort_date: Option<Millis>,
    ) -> Result<u64, LibraryError>;

    /// Lists articles.
    async fn list(&self, selection: Selection) -> Result<Vec<ListEntry>, LibraryError>;

    /// Returns stored articles with their contents, in the order of the request. At most
    /// [`MAX_LOADED`](crate::library::MAX_LOADED) may be requested at once.
    async fn articles(&self, numbers: &[ArticleNumber])
    -> Result<Vec<StoredArticle>, LibraryError>;

    /// Returns the number of articles of each feed that the filter accepts, or of all. Unknown feeds are omitted.
    async fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<ArticleFilter>,
    ) -> Result<BTreeMap<FeedNumber, u64>, LibraryError>;

    /// Returns the identifiers of stored articles by number, in the order of the request.
    async fn named(&self, numbers: &[ArticleNumber]) -> Result<Vec<NamedArticle>, LibraryError>;

    /// Returns the numbers of stored articles of a feed by identifier, in the order of the request.
    async fn numbered(
        &self,
        feed: FeedNumber,
        names: &[ArticleId],
    ) -> Result<Vec<NamedArticle>, LibraryError>;

    /// Lists the articles that contain all words in their title or text, in the order of the list. Only whole
    /// words match; case and accents are ignored. A part between white space without letters or digits is not a
    /// word, and a query without words finds nothing. A query has at most [`MAX_QUERY_BYTES`](crate::library::MAX_QUERY_BYTES)
    /// bytes.
    async fn search(
        &self,
        words: &str,
        selection: Selection,
    ) -> Result<Vec<ListEntry>, LibraryError>;

    /// Deletes the articles of a feed that `keep` does not cover; returns their number. Deletion happens in
    /// batches, so that other writes can interleave. A deleted article that appears again is a new one.
    async fn sweep(&self, feed: FeedNumber, keep: Retention) -> Result<u64, LibraryError>;

    /// Deletes feeds without readers since before the given time, with all their articles, in batches; returns
    /// their number. Feeds in `spared` stay. If a reader subscribes to a feed during its deletion, it is fetched
    /// completely again.
    async fn delete_abandoned_feeds(
        &self,
        abandoned_before: Millis,
        spared: &BTreeSet<FeedNumber>,
    ) -> Result<u64, LibraryError>;

    /// Returns the icon of a site, if it was ever requested.
    async fn icon(&self, origin: &Origin) -> Result<Option<StoredIcon>, LibraryError>;

    /// Stores the icon of a site, or the fact that it has none.
    async fn set_icon(
        &self,
        origin: &Origin,
        icon: Option<Icon>,
        now: Millis,
    ) -> Result<(), LibraryError>;
}
