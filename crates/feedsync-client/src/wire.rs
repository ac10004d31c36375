//! Feeds as bytes: accepted media types, parsing, and writing of offers.

use feedsync_core::Timestamp;
use feedsync_formats::sse::{self, SseReading};
use feedsync_formats::{
    FeedHead, FeedWriter, Mode, ReadError, ReadOptions, Reading, read, with_charset,
};
use feedsync_store::{Collection, StoredItem};
use http::header::CONTENT_TYPE;

use feedsync_fetch::{FetchError, Response};

/// For any feed: the formats of FeedSync first, then any other type that may contain one.
pub(crate) const ACCEPT_FEED: &str = "application/atom+xml, application/rss+xml, text/x-opml, \
     application/json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1";

/// Source of a feed, which decides how strictly it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A hub, whose documents must be valid.
    Hub,
    /// Any other web server.
    Web,
}

/// Body of a response, and its media type with parameters.
#[derive(Debug, Clone)]
pub(crate) struct ResponseBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) media_type: Option<String>,
}

impl ResponseBody {
    /// Reads a response to its end.
    pub(crate) async fn of(response: Response) -> Result<Self, FetchError> {
        let media_type = response.header(CONTENT_TYPE).map(str::to_owned);
        Ok(Self { bytes: response.into_bytes().await?, media_type })
    }

    /// Returns the bytes, converted to UTF-8 where the media type names the encoding (RFC 7303).
    pub(crate) fn decoded(self, mode: Mode) -> Vec<u8> {
        with_charset(self.bytes, self.media_type.as_deref(), mode)
    }
}

/// A parsed feed.
pub(crate) struct Decoded {
    pub(crate) reading: Reading,
    /// Whether it is a document of SSE 0.91.
    pub(crate) is_sse: bool,
    /// Number of items of which FeedSync cannot represent everything.
    pub(crate) losses: usize,
}

/// Parses a feed of any format, on a thread that may block.
pub(crate) async fn decode(body: ResponseBody, origin: Origin) -> Result<Decoded, ReadError> {
    let reading = tokio::task::spawn_blocking(move || {
        let options = match origin {
            Origin::Hub => ReadOptions::strict(),
            Origin::Web => ReadOptions::tolerant(),
        };
        let bytes = body.decoded(options.mode);
        if origin == Origin::Web && sse::uses_sse(&bytes, &options) {
            let SseReading { reading, losses } = sse::read_as_feed(&bytes, &options)?;
            return Ok(Decoded { reading, is_sse: true, losses: losses.len() });
        }
        Ok(Decoded { reading: read(&bytes, None, &options)?, is_sse: false, losses: 0 })
    });
    match reading.await {
        Ok(reading) => reading,
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

/// Writes the document that offers these items to a hub, in the collection's format. It has no `sx:sharing`
/// (2.2), which a publisher addresses to one consumer. It has no details of a feed either, since a hub takes
/// none from an offer.
pub(crate) fn offer(
    collection: &Collection,
    author: &str,
    updated: Timestamp,
    items: &[StoredItem],
) -> String {
    let head = FeedHead {
        id: &collection.feed_id,
        title: &collection.title,
        updated,
        author,
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let mut body = String::new();
    let mut writer = FeedWriter::new(collection.format);
    writer.begin(&mut body, &head);
    for stored in items {
        writer.item(&mut body, &stored.item);
    }
    writer.end(&mut body);
    body
}
