//! What an answer is, by what it says and by what it is.

use feedsync::Format;
use feedsync_formats::{MemberFeed, Plain, ReadOptions, detect, read_plain};
use http::header::{self, HeaderMap};

use super::stored::{Content, Stored};
use crate::location::Location;

/// Whether bytes can be what their headers say: what is said to be Atom has to be (2.1.3).
pub(super) fn can_be<S: Stored>(
    stored: &S,
    headers: &HeaderMap,
    content: Content,
) -> Result<bool, S::Error> {
    if essence(headers).as_deref() != Some("application/atom+xml") {
        return Ok(true);
    }
    let bytes = stored.content(&content)?;
    Ok(MemberFeed::read(&bytes, &ReadOptions::tolerant()).is_ok())
}

/// A document that is a feed, or a page of one.
pub(super) fn feed_of(bytes: &[u8], address: &Location) -> Option<MemberFeed> {
    let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
    MemberFeed::read(bytes, &options).ok().filter(MemberFeed::is_feed)
}

/// A feed that can be subscribed to and not edited: RSS, or JSON Feed (C44).
pub(super) fn read_only(bytes: &[u8], address: &Location) -> Option<Plain> {
    let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
    let format = detect(bytes)?;
    let is_json_feed = || bytes.windows(JSON_FEED.len()).any(|part| part == JSON_FEED);
    let is_feed = format == Format::Rss || (format == Format::Json && is_json_feed());
    is_feed.then(|| read_plain(bytes, &options).ok()).flatten()
}

/// What a JSON Feed says that it is.
const JSON_FEED: &[u8] = b"jsonfeed.org/version/";

/// From where the addresses in a document count.
pub(super) fn base(headers: &HeaderMap, location: &Location) -> Location {
    let told = headers.get(header::CONTENT_LOCATION).and_then(|told| told.to_str().ok());
    let told = told.and_then(|told| Location::resolve(Some(location), told).ok());
    told.unwrap_or_else(|| location.clone())
}

/// Whether an answer is a page for people.
pub(super) fn is_page(headers: &HeaderMap) -> bool {
    essence(headers).is_some_and(|kind| matches!(&*kind, "text/html" | "application/xhtml+xml"))
}

/// Whether an answer says that it is the configuration of a proxy, or at least XML (C24).
pub(super) fn is_configuration(headers: &HeaderMap) -> bool {
    let kinds = [feedsync_formats::PROXY_TYPE, "application/xml", "text/xml"];
    essence(headers).is_none_or(|kind| kinds.contains(&&*kind))
}

fn essence(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next()?.trim().to_ascii_lowercase())
}
