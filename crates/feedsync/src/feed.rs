//! Collections as feeds in files or messages: for peers without a hub.

use feedsync_core::{Format, Sharing};
use feedsync_endpoint::{EndpointError, ItemOutcome, Source};
use feedsync_formats::{FeedHead, FeedWriter, ReadOptions, read};
use feedsync_store::{PageLimit, StoreError};

use crate::collection::Collection;
use crate::error::Error;
use crate::report::{RefusedItem, SyncReport};

/// Maximum number of bytes of a feed. Readers refuse more.
pub const MAX_FEED_BYTES: usize = 64 << 20;

/// Maximum number of items that one transaction takes.
const BATCH: usize = 500;

/// Items of one page that is read from the store.
const PAGE: usize = 500;

impl<T> Collection<T> {
    /// The collection as one complete feed: items, deletions, conflicts and histories. Every other replica, and every
    /// implementation of FeedSync, can [merge](Self::merge_feed) it.
    ///
    /// In a format that is not that of an item, feed readers see title, content, links and so on, and the item itself
    /// travels along.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for a feed of more than [`MAX_FEED_BYTES`].
    pub async fn to_feed(&self, format: Format) -> Result<Vec<u8>, Error> {
        let endpoint = self.endpoint();
        let publication = endpoint.publish_complete(self.stored_name()).await?;
        let collection = &publication.collection;
        let author = endpoint.identity().await?.name;
        let sharing = Sharing {
            window: Some(publication.window.clone()),
            expires: publication.expires,
            related: Vec::new(),
        };
        let head = FeedHead {
            id: &collection.feed_id,
            title: &collection.title,
            updated: collection.edited.timestamp().ok_or(EndpointError::Clock)?,
            author: author.as_str(),
            details: Some(&publication.details),
            self_link: None,
            next: None,
            links: &[],
            complete: true,
            sharing: Some(&sharing),
        };
        let (mut writer, mut text, mut after) = (FeedWriter::new(format), String::new(), None);
        writer.begin(&mut text, &head);
        loop {
            let limit = PageLimit::items(PAGE);
            let page = endpoint.items_by_id(self.stored_name(), after.as_ref(), limit).await?;
            if page.collection.epoch != collection.epoch {
                return Err(EndpointError::Overtaken(collection.name.clone()).into());
            }
            page.items.iter().for_each(|stored| writer.item(&mut text, &stored.item));
            if text.len() > MAX_FEED_BYTES {
                let (items, bytes) = (usize::MAX, MAX_FEED_BYTES);
                return Err(Error::TooLarge { collection: self.name().to_owned(), items, bytes });
            }
            after = page.items.last().map(|stored| stored.item.id.clone());
            if !page.more {
                break;
            }
        }
        writer.end(&mut text);
        endpoint.mark_sent(self.stored_name(), collection.last).await?;
        Ok(text.into_bytes())
    }

    /// Merges a feed of another replica, in any of the five formats. To merge it again changes nothing. Items without
    /// sync information take no part.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// use feedsync::{Format, Replica};
    ///
    /// let phone = Replica::in_memory().collection("todo").await?;
    /// let desk = Replica::in_memory().collection("todo").await?;
    /// let id = phone.add(json!({"title": "Milk"})).await?;
    ///
    /// let feed = phone.to_feed(Format::Rss).await?; // by mail, on a stick, in a shared folder
    /// assert_eq!(desk.merge_feed(feed).await?.received, 1);
    /// assert_eq!(desk.get(&id).await?.unwrap()["title"], "Milk");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Feed`] for a document that is no feed; nothing of it is taken then.
    pub async fn merge_feed(&self, feed: impl Into<Vec<u8>>) -> Result<SyncReport, Error> {
        let bytes = feed.into();
        let parse = move || read(&bytes, None, &ReadOptions::tolerant());
        let ended = |_| StoreError::Unknown("the program is shutting down".to_owned());
        let reading = tokio::task::spawn_blocking(parse).await.map_err(ended)??;
        let mut report = SyncReport::default();
        let refused = reading.refused.iter().map(|refused| RefusedItem {
            id: refused.id.clone(),
            by_remote: false,
            reason: refused.reason.to_string(),
        });
        report.refused.extend(refused);
        let mut items = reading.feed.items.into_iter().peekable();
        while items.peek().is_some() {
            let batch = items.by_ref().take(BATCH).collect();
            let (name, source) = (self.stored_name(), Source::Offered);
            let taken = self.endpoint().incorporate(name, source, batch, None).await?;
            report.received += taken.counts.changed();
            report.conflicts += taken.conflicted;
            for item in taken.items {
                if let ItemOutcome::Refused(refusal) = item.outcome {
                    let (id, reason) = (Some(item.id.to_string()), refusal.to_string());
                    report.refused.push(RefusedItem { id, by_remote: false, reason });
                }
            }
        }
        Ok(report)
    }
}
