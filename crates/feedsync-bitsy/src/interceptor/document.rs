//! Classification of responses by their status, their headers and their content.

use feedsync_core::Format;
use feedsync_formats::{Link, MemberFeed, ReadOptions, detect, plain_links};
use http::StatusCode;
use http::header::{self, HeaderMap};

use super::stored::{Content, Stored};
use crate::fingerprint::Fingerprint;
use crate::location::Location;

/// Whether bytes can be what their headers say. A response declared as Atom must be Atom (2.1.3).
pub(crate) fn can_be<S: Stored>(
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

/// Fingerprint of stored bytes; none if they are not a document with one entry.
pub(crate) fn fingerprint<S: Stored>(
    stored: &S,
    content: Content,
    address: &Location,
) -> Result<Option<Fingerprint>, S::Error> {
    Ok(Fingerprint::of_entry(&stored.content(&content)?, address))
}

/// Whether a status says that the resource does not exist.
pub(crate) fn is_gone(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
}

/// Parses a document that is an Atom feed, or a page of one.
pub(crate) fn feed_of(bytes: &[u8], address: &Location) -> Option<MemberFeed> {
    let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
    MemberFeed::read(bytes, &options).ok().filter(MemberFeed::is_feed)
}

/// Links of the items of a feed that can be subscribed to and not edited: RSS or JSON Feed (R-B44). None for any other
/// document.
pub(crate) fn read_only(bytes: &[u8], address: &Location) -> Option<Vec<Link>> {
    let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
    let format = detect(bytes)?;
    let is_json_feed = || bytes.windows(JSON_FEED.len()).any(|part| part == JSON_FEED);
    let is_feed = format == Format::Rss || (format == Format::Json && is_json_feed());
    is_feed.then(|| plain_links(bytes, format, &options)).flatten()
}

/// Text that identifies a JSON Feed.
const JSON_FEED: &[u8] = b"jsonfeed.org/version/";

/// Base address of a document: `Content-Location`, or its own address.
pub(crate) fn base(headers: &HeaderMap, location: &Location) -> Location {
    let told = headers.get(header::CONTENT_LOCATION).and_then(|told| told.to_str().ok());
    let told = told.and_then(|told| Location::resolve(Some(location), told).ok());
    told.unwrap_or_else(|| location.clone())
}

/// Whether a response is a page for people.
pub(crate) fn is_page(headers: &HeaderMap) -> bool {
    essence(headers).is_some_and(|kind| matches!(&*kind, "text/html" | "application/xhtml+xml"))
}

/// Whether the media type of a response is that of a proxy configuration, or at least XML (R-B24).
pub(crate) fn is_configuration(headers: &HeaderMap) -> bool {
    let kinds = [feedsync_formats::PROXY_TYPE, "application/xml", "text/xml"];
    essence(headers).is_none_or(|kind| kinds.contains(&&*kind))
}

fn essence(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next()?.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, headers};

    #[test]
    fn media_type_distinguishes_pages_and_configurations() {
        for (kind, page, configuration) in [
            (Some("text/html"), true, false),
            (Some("Text/HTML ; charset=utf-8"), true, false),
            (Some("application/xhtml+xml"), true, false),
            (Some("application/atom+xml"), false, false),
            (Some("application/xml"), false, true),
            (Some("text/xml;charset=utf-8"), false, true),
            (Some(feedsync_formats::PROXY_TYPE), false, true),
            (Some(""), false, false),
            (None, false, true),
        ] {
            let said: Vec<_> = kind.map(|kind| ("content-type", kind)).into_iter().collect();
            let headers = headers(&said);
            assert_eq!((is_page(&headers), is_configuration(&headers)), (page, configuration));
        }
    }

    #[test]
    fn base_address_is_the_content_location() {
        let requested = at("a/feed");
        let base_of = |told: &str| base(&headers(&[("content-location", told)]), &requested);
        assert_eq!(base(&HeaderMap::new(), &requested), requested);
        assert_eq!(base_of("other"), at("a/other"));
        assert_eq!(base_of("http://"), requested);
    }

    #[test]
    fn only_rss_and_json_feed_are_parsed_as_read_only() {
        let rss = "<rss version='2.0'><channel><title>t</title></channel></rss>";
        let json =
            "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"t\",\"items\":[]}";
        let other = "{\"version\":\"1.1\",\"title\":\"t\",\"items\":[]}";
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title></feed>";
        for (text, is_read) in
            [(rss, true), (json, true), (other, false), (atom, false), ("x", false)]
        {
            assert_eq!(read_only(text.as_bytes(), &at("feed")).is_some(), is_read, "{text}");
        }
    }

    #[test]
    fn only_feed_documents_are_parsed_as_feeds() {
        let feed =
            "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='b'/></entry></feed>";
        let entry = "<entry xmlns='http://www.w3.org/2005/Atom'/>";
        assert!(feed_of(feed.as_bytes(), &at("a")).is_some());
        assert!(feed_of(entry.as_bytes(), &at("a")).is_none());
        assert!(feed_of(b"<feed", &at("a")).is_none());
    }
}
