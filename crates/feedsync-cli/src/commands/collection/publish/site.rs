//! Feeds and media of collections as files in a directory that a web server serves.

use std::path::Path;

use feedsync_core::Format;
use feedsync_endpoint::{Publication, SsePublication};
use feedsync_formats::{sse, suffix};
use feedsync_store::CollectionName;
use serde_json::{Value, json};

use crate::context::OpenEndpoint;
use crate::failure::{Failure, warn};
use crate::feed_file::{Extent, FeedFile, WrittenFeed};
use crate::media_files::write_media;
use crate::output::text;
use crate::source::Target;

/// Name of the directory with the media files.
const MEDIA: &str = "media";

/// Whether SSE supports the format.
pub(super) fn is_sse(format: Format) -> bool {
    matches!(format, Format::Rss | Format::Opml)
}

/// Feeds of a collection at one time.
#[derive(PartialEq)]
pub(super) struct Feeds {
    partial: Publication,
    complete: Publication,
    sse: Option<SseFeeds>,
}

#[derive(PartialEq)]
struct SseFeeds {
    partial: SseFeed,
    complete: SseFeed,
}

#[derive(PartialEq)]
struct SseFeed {
    publication: Publication,
    dates: sse::Dates,
}

impl Feeds {
    /// Reads the feeds. Complete feeds are read last, so that their windows end no earlier than those of
    /// partial feeds.
    pub(super) async fn of(
        home: &OpenEndpoint,
        name: &CollectionName,
        is_sse: bool,
    ) -> Result<Self, Failure> {
        let partial_sse = if is_sse { Some(SseFeed::of(home, name, false).await?) } else { None };
        let partial = home.endpoint.publish(name, None).await?;
        let complete = home.endpoint.publish_complete(name).await?;
        let sse = match partial_sse {
            Some(partial) => {
                Some(SseFeeds { partial, complete: SseFeed::of(home, name, true).await? })
            }
            None => None,
        };
        Ok(Self { partial, complete, sse })
    }

    /// Format of the collection.
    pub(super) fn format(&self) -> Format {
        self.complete.collection.format
    }
}

impl SseFeed {
    /// Reads an SSE feed. SSE names the end of a feed by a second. Therefore the function waits until that
    /// second is over.
    async fn of(
        home: &OpenEndpoint,
        name: &CollectionName,
        is_complete: bool,
    ) -> Result<Self, Failure> {
        let mut publication = home.endpoint.publish_sse(name, is_complete).await?;
        if let Some(time) = publication.stable_in {
            tokio::time::sleep(time).await;
            publication = home.endpoint.publish_sse(name, is_complete).await?;
        }
        let SsePublication { collection, dates, after, up_to, stable_in: _, details } = publication;
        let complete = home.endpoint.publish_complete(name).await?;
        // SSE has dates instead of the window.
        let publication = Publication { collection, after, up_to, details, ..complete };
        Ok(Self { publication, dates })
    }
}

/// Directory that a web server serves.
pub(super) struct Site<'a> {
    home: &'a OpenEndpoint,
    directory: &'a Path,
    /// Address of the directory.
    url: &'a str,
}

/// Feed to be written to a file.
struct Feed<'a> {
    publication: &'a Publication,
    extent: Extent,
    format: Format,
    /// Bounds of the feed in SSE; `None` for FeedSync.
    sse: Option<&'a sse::Dates>,
}

impl Feed<'_> {
    /// Name of the file of this feed with the items of `extent`.
    fn file(&self, extent: Extent) -> String {
        let name = &self.publication.collection.name;
        let sse = if self.sse.is_some() { ".sse" } else { "" };
        let complete = if extent == Extent::Complete { ".complete" } else { "" };
        format!("{name}{sse}{complete}{}", suffix(self.format))
    }
}

impl<'a> Site<'a> {
    pub(super) fn new(home: &'a OpenEndpoint, directory: &'a Path, url: &'a str) -> Self {
        Self { home, directory, url: url.trim_end_matches('/') }
    }

    /// Writes all files; returns a JSON description of each. Complete feeds come first, since a subscriber
    /// that falls behind goes from the partial feed to the complete one.
    pub(super) async fn write(
        &self,
        feeds: &Feeds,
        formats: &[Format],
    ) -> Result<Vec<Value>, Failure> {
        let mut files = Vec::new();
        for extent in [Extent::Complete, Extent::Partial] {
            let (publication, sse) = match extent {
                Extent::Partial => (&feeds.partial, feeds.sse.as_ref().map(|sse| &sse.partial)),
                Extent::Complete => (&feeds.complete, feeds.sse.as_ref().map(|sse| &sse.complete)),
            };
            for &format in formats {
                let feed = Feed { publication, extent, format, sse: None };
                files.push(self.write_feed(&feed).await?);
                if let Some(sse) = sse.filter(|_| is_sse(format)) {
                    let publication = &sse.publication;
                    let feed = Feed { publication, extent, format, sse: Some(&sse.dates) };
                    files.push(self.write_feed(&feed).await?);
                }
            }
        }
        let complete = &feeds.complete;
        self.home.endpoint.mark_sent(&complete.collection.name, complete.up_to).await?;
        Ok(files)
    }

    async fn write_feed(&self, feed: &Feed<'_>) -> Result<Value, Failure> {
        let file = feed.file(feed.extent);
        let url = self.address(&file);
        // A complete feed of FeedSync links to itself as the complete feed (4.1.2); a complete feed of SSE
        // has no `since`.
        let is_named = feed.extent == Extent::Partial || feed.sse.is_none();
        let complete = is_named.then(|| self.address(&feed.file(Extent::Complete)));
        let path = self.directory.join(&file);
        let mut target = Target::open(Some(&path))?;
        let media = self.address(MEDIA);
        let feed_file = FeedFile {
            publication: feed.publication,
            extent: feed.extent,
            format: feed.format,
            url: Some(&url),
            complete: complete.as_deref(),
            media: Some(&media),
        };
        let endpoint = &self.home.endpoint;
        let WrittenFeed { items, media, losses } = match feed.sse {
            Some(dates) => feed_file.write_sse(endpoint, &mut target, dates).await?,
            None => feed_file.write(endpoint, &mut target, |_| {}).await?,
        };
        // The media files exist before the feed that links to them.
        write_media(self.home, &self.directory.join(MEDIA), &media).await?;
        let is_changed = target.finish_if_changed()?;
        if is_changed && !losses.is_empty() {
            let lost = text::count(losses.len() as u64, "item");
            warn(&format!("{}: SSE cannot express all of {lost}", path.display()));
        }
        Ok(json!({
            "file": path.display().to_string(),
            "url": url,
            "format": feed.format.name(),
            "sse": feed.sse.is_some(),
            "items": items,
            "changed": is_changed,
        }))
    }

    fn address(&self, file: &str) -> String {
        format!("{}/{file}", self.url)
    }
}
