//! Implementation of the interface in transactions of a [`PostgresLibrary`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::{ArticleId, FeedAddress, IdentificationState};
use futures_util::FutureExt as _;

use super::{
    PostgresLibrary, articles, feeds, icons, list, lookups, polling, search, settle, subscriptions,
    sweep, words,
};
use crate::library::article::StoredArticle;
use crate::library::contract::Library;
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, StoredFeed};
use crate::library::icon::{Icon, Origin, StoredIcon};
use crate::library::limits;
use crate::library::listing::{ArticleFilter, ListEntry, NamedArticle, Selection};
use crate::library::poll::{Poll, PollChanges};
use crate::library::reader_name::ReaderName;
use crate::library::retention::{FeedDeletion, Retention, SWEEP_BATCH};

#[async_trait]
impl Library for PostgresLibrary {
    async fn set_subscriptions(
        &self,
        reader: &ReaderName,
        feeds: &BTreeSet<FeedAddress>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        let (reader, feeds) = (reader.clone(), feeds.clone());
        self.connections
            .write(move |of| {
                async move { subscriptions::set(of, &reader, &feeds, now).await }.boxed()
            })
            .await
    }

    async fn subscriptions(&self, reader: &ReaderName) -> Result<Vec<StoredFeed>, LibraryError> {
        let reader = reader.clone();
        self.connections
            .read(move |of| async move { subscriptions::of(of, &reader).await }.boxed())
            .await
    }

    async fn readers(&self) -> Result<Vec<ReaderName>, LibraryError> {
        self.connections
            .read(move |of| async move { subscriptions::readers(of).await }.boxed())
            .await
    }

    async fn feed(&self, number: FeedNumber) -> Result<Option<StoredFeed>, LibraryError> {
        self.connections
            .read(move |of| async move { feeds::by_number(of, number).await }.boxed())
            .await
    }

    async fn feed_at(&self, address: &FeedAddress) -> Result<Option<StoredFeed>, LibraryError> {
        let address = address.clone();
        self.connections
            .read(move |of| async move { feeds::by_address(of, &address).await }.boxed())
            .await
    }

    async fn claim(
        &self,
        now: Millis,
        until: Millis,
        most: usize,
    ) -> Result<Vec<DueFeed>, LibraryError> {
        self.connections
            .write(move |of| async move { polling::claim(of, now, until, most).await }.boxed())
            .await
    }

    async fn next_due(&self) -> Result<Option<Millis>, LibraryError> {
        self.connections.read(move |of| async move { polling::next_due(of).await }.boxed()).await
    }

    async fn make_due(&self, feeds: &[FeedNumber], now: Millis) -> Result<(), LibraryError> {
        let feeds = feeds.to_vec();
        self.connections
            .write(move |of| async move { polling::make_due(of, &feeds, now).await }.boxed())
            .await
    }

    async fn host_hold(&self, host: &str, now: Millis) -> Result<Option<Millis>, LibraryError> {
        let host = host.to_owned();
        self.connections
            .read(move |of| async move { polling::host_hold(of, &host, now).await }.boxed())
            .await
    }

    async fn hold(&self, host: &str, until: Millis, now: Millis) -> Result<(), LibraryError> {
        limits::check_host(host)?;
        let host = host.to_owned();
        self.connections
            .write(move |of| async move { polling::hold(of, &host, until, now).await }.boxed())
            .await
    }

    async fn identification_state(
        &self,
        feed: FeedNumber,
    ) -> Result<IdentificationState, LibraryError> {
        self.connections
            .read(move |of| async move { polling::identification_state(of, feed).await }.boxed())
            .await
    }

    async fn settle(
        &self,
        feed: FeedNumber,
        poll: Poll,
        now: Millis,
    ) -> Result<PollChanges, LibraryError> {
        poll.check()?;
        self.connections
            .write(move |of| async move { settle::settle(of, feed, &poll, now).await }.boxed())
            .await
    }

    async fn before(&self, received: Millis) -> Result<Option<ArticleNumber>, LibraryError> {
        self.connections
            .read(move |of| async move { lookups::before(of, received).await }.boxed())
            .await
    }

    async fn count_after(
        &self,
        feed: FeedNumber,
        sort_date: Option<Millis>,
    ) -> Result<u64, LibraryError> {
        self.connections
            .read(move |of| async move { lookups::count_after(of, feed, sort_date).await }.boxed())
            .await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<ListEntry>, LibraryError> {
        self.connections
            .read(move |of| async move { list::list(of, &selection).await }.boxed())
            .await
    }

    async fn articles(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<StoredArticle>, LibraryError> {
        limits::check_loaded(numbers)?;
        let numbers = numbers.to_vec();
        self.connections
            .read(move |of| async move { articles::all(of, &numbers).await }.boxed())
            .await
    }

    async fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<ArticleFilter>,
    ) -> Result<BTreeMap<FeedNumber, u64>, LibraryError> {
        let feeds = feeds.to_vec();
        self.connections
            .read(move |of| async move { list::count(of, &feeds, keep.as_ref()).await }.boxed())
            .await
    }

    async fn named(&self, numbers: &[ArticleNumber]) -> Result<Vec<NamedArticle>, LibraryError> {
        let numbers: Vec<i64> = numbers.iter().map(|number| number.get()).collect();
        self.connections
            .read(move |of| async move { articles::by_number(of, &numbers).await }.boxed())
            .await
    }

    async fn numbered(
        &self,
        feed: FeedNumber,
        names: &[ArticleId],
    ) -> Result<Vec<NamedArticle>, LibraryError> {
        let names = names.to_vec();
        self.connections
            .read(move |of| async move { articles::by_name(of, feed, &names).await }.boxed())
            .await
    }

    async fn search(
        &self,
        words: &str,
        selection: Selection,
    ) -> Result<Vec<ListEntry>, LibraryError> {
        limits::check_query(words)?;
        let Some(query) = words::query(words) else { return Ok(Vec::new()) };
        self.connections
            .read(move |of| async move { search::search(of, &query, &selection).await }.boxed())
            .await
    }

    async fn sweep(&self, feed: FeedNumber, keep: Retention) -> Result<u64, LibraryError> {
        let keep = Arc::new(keep);
        let mut swept = 0;
        loop {
            let keep = Arc::clone(&keep);
            let batch = self
                .connections
                .write(move |of| async move { sweep::delete_batch(of, feed, &keep).await }.boxed());
            let batch = batch.await?;
            swept += batch as u64;
            if batch < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }

    async fn delete_abandoned_feeds(
        &self,
        abandoned_before: Millis,
        spared: &BTreeSet<FeedNumber>,
    ) -> Result<u64, LibraryError> {
        let mut deleted = 0;
        let spared = Arc::new(spared.clone());
        loop {
            let spared = Arc::clone(&spared);
            let step = self.connections.write(move |of| {
                async move { sweep::delete_abandoned_feeds(of, abandoned_before, &spared).await }
                    .boxed()
            });
            match step.await? {
                FeedDeletion::Feed => deleted += 1,
                FeedDeletion::Articles => {}
                FeedDeletion::Nothing => return Ok(deleted),
            }
        }
    }

    async fn icon(&self, origin: &Origin) -> Result<Option<StoredIcon>, LibraryError> {
        let origin = origin.clone();
        self.connections.read(move |of| async move { icons::icon(of, &origin).await }.boxed()).await
    }

    async fn set_icon(
        &self,
        origin: &Origin,
        icon: Option<Icon>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        limits::check_icon(origin, icon.as_ref())?;
        let origin = origin.clone();
        self.connections
            .write(move |of| {
                async move { icons::set(of, &origin, icon.as_ref(), now).await }.boxed()
            })
            .await
    }
}
