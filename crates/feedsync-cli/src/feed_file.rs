//! Feeds of a collection as documents, which any web server can serve.

use std::collections::BTreeMap;

use feedsync_core::sse::DowngradeLoss;
use feedsync_core::{Format, Item, ItemId, Payload, Related, RelatedKind, Sharing, Timestamp};
use feedsync_endpoint::{Endpoint, EndpointError, Publication, aggregated};
use feedsync_formats::{FeedHead, FeedWriter, media, sse, with_media_links};
use feedsync_store::{ChangeNumber, Digest, PageLimit};

use crate::failure::Failure;
use crate::source::Target;

/// Number of items per page that is read from the store.
const PAGE: usize = 500;

/// Extent of a feed: which items it contains, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Items that changed within the window, oldest change first.
    Partial,
    /// All items, by id.
    Complete,
}

/// Feed of a collection to be written.
pub(crate) struct FeedFile<'a> {
    pub(crate) publication: &'a Publication,
    pub(crate) extent: Extent,
    pub(crate) format: Format,
    /// Address of the document.
    pub(crate) url: Option<&'a str>,
    /// Address of the complete feed of the same items.
    pub(crate) complete: Option<&'a str>,
    /// Address of the directory with the media of the items.
    pub(crate) media: Option<&'a str>,
}

/// Counts and losses of a written feed.
#[derive(Debug, Default)]
pub(crate) struct WrittenFeed {
    /// Number of items.
    pub(crate) items: u64,
    /// Digests of the media of the items, by file name.
    pub(crate) media: BTreeMap<String, Digest>,
    /// Parts of items that the format cannot express, by item.
    pub(crate) losses: Vec<(ItemId, Vec<DowngradeLoss>)>,
}

impl FeedFile<'_> {
    /// Writes the feed as FeedSync.
    pub(crate) async fn write(
        &self,
        endpoint: &Endpoint,
        target: &mut Target,
        advance: impl Fn(u64),
    ) -> Result<WrittenFeed, Failure> {
        let (mut writer, mut out) = (FeedWriter::new(self.format), String::new());
        let (author, sharing) = (author(endpoint).await?, self.sharing());
        writer.begin(&mut out, &self.head(&author, &sharing)?);
        let mut pages = PageReader::new(endpoint, self);
        let mut written = WrittenFeed::default();
        while let Some(mut items) = pages.next().await? {
            written.items += items.len() as u64;
            items.iter_mut().for_each(|item| written.link_media(item, self.media));
            items.iter().for_each(|item| writer.item(&mut out, item));
            target.write(out.as_bytes())?;
            out.clear();
            advance(items.len() as u64);
        }
        writer.end(&mut out);
        target.write(out.as_bytes())?;
        Ok(written)
    }

    /// Writes the feed as SSE 0.91, which has dates instead of the window.
    pub(crate) async fn write_sse(
        &self,
        endpoint: &Endpoint,
        target: &mut Target,
        dates: &sse::Dates,
    ) -> Result<WrittenFeed, Failure> {
        let (author, sharing) = (author(endpoint).await?, self.sharing());
        let mut pages = PageReader::new(endpoint, self);
        let mut written = WrittenFeed::default();
        let mut all = Vec::new();
        while let Some(mut items) = pages.next().await? {
            items.iter_mut().for_each(|item| written.link_media(item, self.media));
            all.extend(items);
        }
        let exported = sse::export(self.format, &self.head(&author, &sharing)?, dates, &all);
        target.write(exported.text.as_bytes())?;
        Ok(WrittenFeed { items: all.len() as u64, losses: exported.losses, ..written })
    }

    fn sharing(&self) -> Sharing {
        let Publication { collection, window, expires, .. } = self.publication;
        let complete = self.complete.map(|link| Related {
            link: link.to_owned(),
            title: None,
            kind: RelatedKind::Complete,
        });
        let related = complete.into_iter().chain(aggregated(collection)).collect();
        Sharing { window: Some(window.clone()), expires: *expires, related }
    }

    fn head<'h>(&'h self, author: &'h str, sharing: &'h Sharing) -> Result<FeedHead<'h>, Failure> {
        let collection = &self.publication.collection;
        let updated: Option<Timestamp> = collection.edited.timestamp();
        Ok(FeedHead {
            id: &collection.feed_id,
            title: &collection.title,
            updated: updated.ok_or_else(|| Failure::store("a wrong date"))?,
            author,
            details: Some(&self.publication.details),
            self_link: self.url,
            next: None,
            links: &[],
            complete: self.extent == Extent::Complete,
            sharing: Some(sharing),
        })
    }
}

impl WrittenFeed {
    /// Adds links to media files to the versions of an item that consist of media (RFC 4287 4.1.2), if a
    /// directory is given. Records these media.
    fn link_media(&mut self, item: &mut Item<Payload>, directory: Option<&str>) {
        for version in item.versions_mut() {
            let Some(blob) = media(&version.payload) else { continue };
            let digest = Digest::from_bytes(blob.sha256);
            let name = format!("{digest}{}", extension(&blob.name));
            if let Some(directory) = directory {
                let address = format!("{directory}/{name}");
                version.payload = with_media_links(&version.payload, &blob, &address);
            }
            self.media.insert(name, digest);
        }
    }
}

/// Extension of a file name with its dot, by which web servers determine the media type; empty if there is
/// none.
fn extension(name: &str) -> String {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_plain = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match (1..=8).contains(&extension.len()) && is_plain {
        true => format!(".{}", extension.to_ascii_lowercase()),
        false => String::new(),
    }
}

async fn author(endpoint: &Endpoint) -> Result<String, EndpointError> {
    Ok(endpoint.identity().await?.name.to_string())
}

/// Reader of the items of a feed, page by page.
struct PageReader<'a> {
    endpoint: &'a Endpoint,
    publication: &'a Publication,
    cursor: Option<Cursor>,
}

/// Position at which the next page begins.
enum Cursor {
    /// After the change with this number.
    Change(ChangeNumber),
    /// After the item with this id; `None` for the first item.
    Id(Option<ItemId>),
}

impl<'a> PageReader<'a> {
    fn new(endpoint: &'a Endpoint, file: &FeedFile<'a>) -> Self {
        let publication = file.publication;
        let cursor = match file.extent {
            Extent::Partial => Cursor::Change(publication.after),
            Extent::Complete => Cursor::Id(None),
        };
        Self { endpoint, publication, cursor: Some(cursor) }
    }

    /// Reads the next page; `None` after the last one. A collection that was created anew or purged meanwhile
    /// is an error, since the document would claim to be more complete than it is.
    async fn next(&mut self) -> Result<Option<Vec<Item<Payload>>>, Failure> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        let limit = PageLimit::items(PAGE);
        let (collection, stored) = match cursor {
            Cursor::Change(after) => {
                let page = self.endpoint.page(self.publication, after, limit).await?;
                self.cursor = page.more.then_some(Cursor::Change(page.through));
                (page.collection, page.items)
            }
            Cursor::Id(after) => {
                let name = &self.publication.collection.name;
                let page = self.endpoint.items_by_id(name, after.as_ref(), limit).await?;
                let last = page.items.last().map(|stored| stored.item.id.clone());
                self.cursor = page.more.then_some(Cursor::Id(last));
                (page.collection, page.items)
            }
        };
        if collection.epoch != self.publication.collection.epoch {
            return Err(EndpointError::Overtaken(collection.name).into());
        }
        Ok(Some(stored.into_iter().map(|stored| stored.item).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use feedsync_store::{
        CollectionName, EndpointName, MemoryStore, NewCollection, SystemEnvironment,
    };

    use super::*;

    #[tokio::test]
    async fn document_of_a_collection_that_is_made_anew_is_refused() {
        let environment = Arc::new(SystemEnvironment);
        let store = MemoryStore::new(&EndpointName::new("desk").unwrap(), environment.clone());
        let endpoint = Endpoint::new(Arc::new(store), environment);
        let notes = CollectionName::new("notes").unwrap();
        let new = NewCollection {
            name: notes.clone(),
            title: "Notes".to_owned(),
            format: Format::Atom,
            settings: BTreeMap::new(),
        };
        endpoint.create_collection(new.clone()).await.unwrap();
        let publication = endpoint.publish_complete(&notes).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let write = async |extent| {
            let (format, publication) = (Format::Atom, &publication);
            let file =
                FeedFile { publication, extent, format, url: None, complete: None, media: None };
            let mut target = Target::open(Some(&directory.path().join("notes.atom"))).unwrap();
            file.write(&endpoint, &mut target, |_| {}).await
        };
        for extent in [Extent::Partial, Extent::Complete] {
            assert!(matches!(write(extent).await, Ok(WrittenFeed { items: 0, .. })));
        }
        endpoint.drop_collection(&notes).await.unwrap();
        endpoint.create_collection(new).await.unwrap();
        for extent in [Extent::Partial, Extent::Complete] {
            let Err(Failure::Message { message, .. }) = write(extent).await else {
                panic!("{extent:?}")
            };
            assert_eq!(
                message,
                "notes was purged or recreated while it was being read: read it again"
            );
        }
    }
}
