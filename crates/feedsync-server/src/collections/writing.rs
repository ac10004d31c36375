//! Writing of a feed in parts of about a page, each from one short read.

use axum::body::Bytes;
use feedsync_core::{Format, Item, Payload};
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_formats::{AppCollection, FeedHead, FeedWriter, JsonFeedWriter, Link};
use feedsync_store::{ChangeNumber, Collection};

use crate::collections::member;
use crate::collections::outlines::{OutlinePositions, Outlines, PositionsError, PositionsRead};
use crate::collections::span::{PAGE, Rest, Span};
use crate::http::address::PublicBase;
use crate::http::negotiation::Representation;
use crate::http::problem::Problem;
use crate::http::response_budget::{MAX_UNCOUNTED_BYTES, ResponseSlot};

/// Source of the items of a feed.
pub(crate) enum Items {
    /// A page that was read already.
    Page {
        /// Its items, in order; in listings for readers they carry the hub's links.
        items: Vec<PageItem>,
        /// Change up to which the collection was covered once it is sent.
        shown: Option<ChangeNumber>,
    },
    /// All items of a span, read while they are written.
    Span(Span),
}

/// An item of a page.
pub(crate) struct PageItem {
    item: Item<Payload>,
    links: Vec<Link>,
}

impl From<Item<Payload>> for PageItem {
    fn from(item: Item<Payload>) -> Self {
        Self { item, links: Vec::new() }
    }
}

impl PageItem {
    /// An item with additional links: to its page here, and to its media.
    pub(crate) fn with_links(item: Item<Payload>, links: Vec<Link>) -> Self {
        Self { item, links }
    }
}

/// Writer of a format.
pub(crate) enum Writer {
    Feed(Box<FeedWriter>, Format),
    JsonFeed(JsonFeedWriter),
}

impl Writer {
    pub(crate) fn new(shown: Representation) -> Self {
        match shown {
            Representation::Feed(format) => Self::Feed(Box::new(FeedWriter::new(format)), format),
            Representation::JsonFeed => Self::JsonFeed(JsonFeedWriter::new()),
        }
    }

    /// Adds the collection in which clients create members, if the format can express it.
    pub(crate) fn of_collection(self, collection: &AppCollection) -> Self {
        match self {
            Self::Feed(writer, format) => {
                Self::Feed(Box::new(writer.of_collection(collection)), format)
            }
            Self::JsonFeed(writer) => Self::JsonFeed(writer),
        }
    }

    pub(crate) fn begin(&mut self, out: &mut String, head: &FeedHead<'_>) {
        match self {
            Self::Feed(writer, _) => writer.begin(out, head),
            Self::JsonFeed(writer) => writer.begin(out, head),
        }
    }

    fn item(&mut self, out: &mut String, item: &Item<Payload>, links: &[Link]) {
        match self {
            Self::Feed(writer, _) => writer.item(out, item),
            Self::JsonFeed(writer) => writer.item(out, item, links),
        }
    }

    /// Writes the next of nested outlines; other formats do not nest.
    fn outline(&mut self, out: &mut String, item: &Item<Payload>, depth: usize) {
        match self {
            Self::Feed(writer, _) => writer.outline(out, item, depth),
            Self::JsonFeed(writer) => writer.item(out, item, &[]),
        }
    }

    fn end(&mut self, out: &mut String) {
        match self {
            Self::Feed(writer, _) => writer.end(out),
            Self::JsonFeed(writer) => writer.end(out),
        }
    }

    /// Whether its outlines nest.
    fn nests(&self) -> bool {
        matches!(self, Self::Feed(_, Format::Opml))
    }
}

/// A feed while it is written.
pub(crate) struct FeedBody {
    endpoint: Endpoint,
    collection: Collection,
    /// Base address of the media of items.
    base: PublicBase,
    writer: Writer,
    out: String,
    stage: Stage,
    place: ResponseSlot,
}

/// Next step.
enum Stage {
    Page {
        items: std::vec::IntoIter<PageItem>,
        shown: Option<ChangeNumber>,
    },
    Span(Span),
    OutlinePositions(OutlinePositions),
    Outlines(Outlines),
    /// Everything is written; the covered change once it is sent.
    Written {
        shown: Option<ChangeNumber>,
    },
    Sent,
}

/// Reason why a feed could not be finished; the client sees a broken connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    OutlinePositions(#[from] PositionsError),
    #[error("the collection was recreated while the response was being sent")]
    Recreated,
}

impl From<EndpointError> for FeedError {
    fn from(error: EndpointError) -> Self {
        PositionsError::from(error).into()
    }
}

impl From<FeedError> for Problem {
    fn from(broken: FeedError) -> Self {
        match broken {
            FeedError::OutlinePositions(PositionsError::Endpoint(error)) => error.into(),
            FeedError::OutlinePositions(error @ PositionsError::Nesting(_)) => {
                tracing::error!(%error, "cannot start a feed");
                Self::internal()
            }
            FeedError::Recreated => Self::unavailable(broken.to_string()),
        }
    }
}

impl FeedBody {
    /// Continues after the beginning that a writer has written.
    pub(crate) fn new(
        endpoint: Endpoint,
        collection: Collection,
        base: PublicBase,
        (writer, out): (Writer, String),
        items: Items,
    ) -> Self {
        let stage = match items {
            Items::Page { items, shown } => Stage::Page { items: items.into_iter(), shown },
            Items::Span(span) if writer.nests() => {
                Stage::OutlinePositions(OutlinePositions::new(span))
            }
            Items::Span(span) => Stage::Span(span),
        };
        Self { endpoint, collection, base, writer, out, stage, place: ResponseSlot::default() }
    }

    /// Returns the first part: all of a feed that fits into one page.
    pub(crate) async fn first(&mut self) -> Result<Vec<u8>, FeedError> {
        while self.step().await?
            && self.out.len() <= MAX_UNCOUNTED_BYTES
            && matches!(self.stage, Stage::Outlines(_))
        {}
        Ok(std::mem::take(&mut self.out).into_bytes())
    }

    /// Whether everything is written.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.stage, Stage::Written { .. } | Stage::Sent)
    }

    /// Attaches the memory slot of all further parts.
    pub(crate) fn hold(&mut self, place: ResponseSlot) {
        self.place = place;
    }

    /// Returns the next part, at most about a page, never empty; none once everything was sent.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, FeedError> {
        while self.step().await? {
            if !self.out.is_empty() {
                let part = std::mem::take(&mut self.out).into_bytes();
                return Ok(Some(self.place.hold(part)));
            }
        }
        Ok(None)
    }

    /// Performs the next step; false if there is none.
    async fn step(&mut self) -> Result<bool, FeedError> {
        let (endpoint, name) = (&self.endpoint, &self.collection.name);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Sent) {
            Stage::Page { mut items, shown } => {
                while self.out.len() < PAGE.bytes
                    && let Some(PageItem { item, links }) = items.next()
                {
                    // The links of an item include those to its media.
                    let linked = match links.is_empty() {
                        true => member::with_media(&self.base, name, &item),
                        false => None,
                    };
                    let item = linked.unwrap_or(item);
                    self.writer.item(&mut self.out, &item, &links);
                }
                match items.len() {
                    0 => Stage::Written { shown },
                    _ => Stage::Page { items, shown },
                }
            }
            Stage::Span(span) => {
                let part = span.read(endpoint, name).await?;
                self.check(&part.collection)?;
                for stored in &part.items {
                    let linked = member::with_media(&self.base, name, &stored.item);
                    let item = linked.as_ref().unwrap_or(&stored.item);
                    self.writer.item(&mut self.out, item, &[]);
                }
                match part.rest {
                    Rest::More(span) => Stage::Span(span),
                    Rest::Nothing(shown) => Stage::Written { shown },
                }
            }
            Stage::OutlinePositions(places) => {
                let (now, placed) = places.read(endpoint, name).await?;
                self.check(&now)?;
                match placed {
                    PositionsRead::More(places) => Stage::OutlinePositions(places),
                    PositionsRead::All(outlines) => Stage::Outlines(outlines),
                }
            }
            Stage::Outlines(mut outlines) => match outlines.next(endpoint, name).await? {
                Some(items) => {
                    // Epochs never repeat: everything that was read before is of the same one.
                    self.check(&endpoint.collection(name).await?)?;
                    for (depth, stored) in items {
                        self.writer.outline(&mut self.out, &stored.item, depth);
                    }
                    Stage::Outlines(outlines)
                }
                None => Stage::Written { shown: outlines.shown() },
            },
            Stage::Written { shown } => {
                self.sent(shown).await;
                return Ok(false);
            }
            Stage::Sent => return Ok(false),
        };
        if self.is_written() {
            self.writer.end(&mut self.out);
        }
        Ok(true)
    }

    /// Checks that the collection is still the one whose feed was begun.
    fn check(&self, now: &Collection) -> Result<(), FeedError> {
        if now.epoch == self.collection.epoch { Ok(()) } else { Err(FeedError::Recreated) }
    }

    /// Records the covered change. The response is complete either way: a lost record costs at most a
    /// conflict.
    async fn sent(&self, shown: Option<ChangeNumber>) {
        let name = &self.collection.name;
        if let Some(up_to) = shown
            && let Err(error) = self.endpoint.mark_sent(name, up_to).await
        {
            tracing::warn!(%error, collection = %name, "cannot record which changes were published");
        }
    }
}
