//! Implementation of the interface on the threads of a [`SqliteLibrary`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reading_state::{ArticleId, FeedAddress, Remembered};

use super::sweep::Forgotten;
use super::writer::Outlives;
use super::{
    SqliteLibrary, articles, feeds, icons, list, lookups, polling, search, settle, subscriptions,
    sweep,
};
use crate::library::article::{KeptArticle, MOST_TEXT};
use crate::library::contract::Library;
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, KeptFeed};
use crate::library::icon::{Icon, KeptIcon, MOST_ICON, Origin};
use crate::library::listing::{Keep, Listed, MOST_SHOWN, MOST_WORDS, NamedArticle, Selection};
use crate::library::poll::{Poll, Settled, few};
use crate::library::reader_name::ReaderName;
use crate::library::retention::Retention;
use feedsync_reader_api::{ArticleNumber, FeedNumber};

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

    async fn held(&self, host: &str, now: Millis) -> Result<Option<Millis>, LibraryError> {
        let host = host.to_owned();
        self.readers.read(move |connection| polling::held(connection, &host, now)).await
    }

    async fn hold(&self, host: &str, until: Millis, now: Millis) -> Result<(), LibraryError> {
        few(host.len(), MOST_TEXT, "bytes", || "the host's name".to_owned())?;
        let host = host.to_owned();
        let hold = move |connection: &_| polling::hold(connection, &host, until, now);
        self.writer.run(Outlives::Process, hold).await
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

    async fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<Keep>,
    ) -> Result<BTreeMap<FeedNumber, u64>, LibraryError> {
        let feeds = feeds.to_vec();
        self.readers.read(move |connection| list::count(connection, &feeds, keep.as_ref())).await
    }

    async fn named(&self, numbers: &[ArticleNumber]) -> Result<Vec<NamedArticle>, LibraryError> {
        let numbers = numbers.to_vec();
        self.readers
            .read(move |connection| {
                let mut all = Vec::new();
                let numbers = numbers.iter().map(|number| number.get());
                articles::by_number(connection, numbers, |found| all.push(found))?;
                Ok(all)
            })
            .await
    }

    async fn numbered(
        &self,
        feed: FeedNumber,
        names: &[ArticleId],
    ) -> Result<Vec<NamedArticle>, LibraryError> {
        let names = names.to_vec();
        self.readers.read(move |connection| articles::by_name(connection, feed, &names)).await
    }

    async fn search(&self, words: &str, selection: Selection) -> Result<Vec<Listed>, LibraryError> {
        few(words.len(), MOST_WORDS, "bytes", || "what is searched for".to_owned())?;
        let Some(query) = search::query(words) else { return Ok(Vec::new()) };
        let search = move |connection: &_| search::search(connection, &query, &selection);
        self.readers.read(search).await
    }

    async fn sweep(&self, feed: FeedNumber, keep: Retention) -> Result<u64, LibraryError> {
        let keep = Arc::new(keep);
        let mut swept = 0;
        loop {
            let keep = Arc::clone(&keep);
            let portion = move |connection: &_| sweep::portion(connection, feed, &keep);
            let portion = self.writer.run(Outlives::Process, portion).await?;
            swept += portion as u64;
            if portion < sweep::PORTION {
                return Ok(swept);
            }
        }
    }

    async fn forget(
        &self,
        abandoned_before: Millis,
        spared: &BTreeSet<FeedNumber>,
    ) -> Result<u64, LibraryError> {
        let mut forgotten = 0;
        let spared = Arc::new(spared.clone());
        loop {
            let spared = Arc::clone(&spared);
            let portion =
                move |connection: &_| sweep::forget(connection, abandoned_before, &spared);
            match self.writer.run(Outlives::Process, portion).await? {
                Forgotten::Feed => forgotten += 1,
                Forgotten::Articles => {}
                Forgotten::Nothing => return Ok(forgotten),
            }
        }
    }

    async fn icon(&self, origin: &Origin) -> Result<Option<KeptIcon>, LibraryError> {
        let origin = origin.clone();
        self.readers.read(move |connection| icons::icon(connection, &origin)).await
    }

    async fn set_icon(
        &self,
        origin: &Origin,
        icon: Option<Icon>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        if let Some(Icon { media_type, bytes }) = &icon {
            few(bytes.len(), MOST_ICON, "bytes", || format!("the icon of {origin}"))?;
            few(media_type.len(), MOST_TEXT, "bytes", || format!("the icon's type of {origin}"))?;
        }
        let origin = origin.clone();
        let set = move |connection: &_| icons::set(connection, &origin, icon.as_ref(), now);
        self.writer.run(Outlives::Process, set).await
    }
}
