//! The contract, method by method, on the threads of a [`SqliteLibrary`].

use std::collections::BTreeSet;

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reader::{FeedAddress, Remembered};

use super::writer::Outlives;
use super::{SqliteLibrary, articles, feeds, list, lookups, polling, settle, subscriptions};
use crate::article::KeptArticle;
use crate::contract::Library;
use crate::error::LibraryError;
use crate::feed::{DueFeed, KeptFeed};
use crate::listing::{Listed, MOST_SHOWN, Selection};
use crate::poll::{Poll, Settled, few};
use crate::reader_name::ReaderName;
use feedsync_newsreader::{ArticleNumber, FeedNumber};

#[async_trait]
impl Library for SqliteLibrary {
    async fn set_subscriptions(
        &self,
        reader: &ReaderName,
        feeds: &BTreeSet<FeedAddress>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        let (reader, feeds) = (reader.clone(), feeds.clone());
        let set = move |connection: &_| subscriptions::set(connection, &reader, &feeds, now);
        self.writer.run(Outlives::Power, set).await
    }

    async fn subscriptions(&self, reader: &ReaderName) -> Result<Vec<KeptFeed>, LibraryError> {
        let reader = reader.clone();
        self.readers.read(move |connection| subscriptions::of(connection, &reader)).await
    }

    async fn readers(&self) -> Result<Vec<ReaderName>, LibraryError> {
        self.readers.read(subscriptions::readers).await
    }

    async fn feed(&self, number: FeedNumber) -> Result<Option<KeptFeed>, LibraryError> {
        self.readers.read(move |connection| feeds::by_number(connection, number)).await
    }

    async fn feed_at(&self, address: &FeedAddress) -> Result<Option<KeptFeed>, LibraryError> {
        let address = address.clone();
        self.readers.read(move |connection| feeds::by_address(connection, &address)).await
    }

    async fn claim(
        &self,
        now: Millis,
        until: Millis,
        most: usize,
    ) -> Result<Vec<DueFeed>, LibraryError> {
        let claim = move |connection: &_| polling::claim(connection, now, until, most);
        self.writer.run(Outlives::Process, claim).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, LibraryError> {
        self.readers.read(polling::next_due).await
    }

    async fn hasten(&self, feeds: &[FeedNumber], now: Millis) -> Result<(), LibraryError> {
        let feeds = feeds.to_vec();
        let hasten = move |connection: &_| polling::hasten(connection, &feeds, now);
        self.writer.run(Outlives::Process, hasten).await
    }

    async fn remembered(&self, feed: FeedNumber) -> Result<Remembered, LibraryError> {
        self.readers.read(move |connection| polling::remembered(connection, feed)).await
    }

    async fn settle(
        &self,
        feed: FeedNumber,
        poll: Poll,
        now: Millis,
    ) -> Result<Settled, LibraryError> {
        poll.check()?;
        let gives = poll.document.is_some();
        let outlives = if gives { Outlives::Power } else { Outlives::Process };
        let settle = move |connection: &_| settle::settle(connection, feed, &poll, now);
        self.writer.run(outlives, settle).await
    }

    async fn before(&self, received: Millis) -> Result<Option<ArticleNumber>, LibraryError> {
        self.readers.read(move |connection| lookups::before(connection, received)).await
    }

    async fn count_behind(
        &self,
        feed: FeedNumber,
        shown: Option<Millis>,
    ) -> Result<u64, LibraryError> {
        self.readers.read(move |connection| lookups::count_behind(connection, feed, shown)).await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<Listed>, LibraryError> {
        self.readers.read(move |connection| list::list(connection, &selection)).await
    }

    async fn articles(&self, numbers: &[ArticleNumber]) -> Result<Vec<KeptArticle>, LibraryError> {
        few(numbers.len(), MOST_SHOWN, "numbers", || "the list of articles to show".to_owned())?;
        let numbers = numbers.to_vec();
        self.readers.read(move |connection| articles::all(connection, &numbers)).await
    }
}
