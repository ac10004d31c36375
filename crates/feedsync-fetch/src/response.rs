//! A response: its head at once, its body as it arrives.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, ETAG, HeaderMap, LAST_MODIFIED};
use http::{HeaderName, StatusCode};
use reqwest::Url;

use crate::body::Body;
use crate::error::{FetchError, shown};
use crate::link;
use crate::retry::RetryAfter;

/// Validators of a response for conditional requests (RFC 9110, 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// The head of a response.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

impl Head {
    pub(crate) fn new(url: Url, status: StatusCode, headers: HeaderMap) -> Self {
        Self { url, status, headers }
    }

    pub(crate) fn shown(&self) -> String {
        shown(&self.url)
    }

    pub(crate) fn text(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn media_type(&self) -> Option<String> {
        let text = self.text(CONTENT_TYPE)?;
        let essence = text.split(';').next().unwrap_or(text);
        Some(essence.trim().to_ascii_lowercase())
    }

    /// Returns `Last-Modified`, unless the document may have changed again in the same second. It must be at
    /// least a second older than the response, by the server's own clock (RFC 9110, 8.8.2.2).
    fn last_modified(&self) -> Option<&str> {
        let moment = |text| httpdate::parse_http_date(text).ok();
        let text = self.text(LAST_MODIFIED)?;
        let age = moment(self.text(DATE)?)?.duration_since(moment(text)?).ok()?;
        (age >= Duration::from_secs(1)).then_some(text)
    }

    pub(crate) fn retry_after(&self) -> Option<RetryAfter> {
        RetryAfter::from_headers(&self.headers)
    }
}

/// A response: a success, unless the request accepts others.
#[derive(Debug)]
pub struct Response {
    head: Head,
    body: Body,
    read: Vec<u8>,
    moved_to: Option<Url>,
}

impl Response {
    pub(crate) fn new(head: Head, body: Body, moved_to: Option<Url>) -> Self {
        Self { head, body, read: Vec::new(), moved_to }
    }

    /// Returns the address that answered, after redirects.
    pub fn url(&self) -> &Url {
        &self.head.url
    }

    /// Returns the new address, if every redirect was permanent.
    pub fn moved_to(&self) -> Option<&Url> {
        self.moved_to.as_ref()
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns a header, if it is text.
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.head.text(name)
    }

    /// Whether the body is sent compressed and is decompressed here.
    pub fn is_unpacked(&self) -> bool {
        self.body.is_unpacked()
    }

    /// Returns the coding that the body still has when it is read.
    pub fn coding(&self) -> Option<&str> {
        let coding = self.head.text(http::header::CONTENT_ENCODING)?.trim();
        let is_none = self.body.is_unpacked() || coding.eq_ignore_ascii_case("identity");
        (!is_none).then_some(coding)
    }

    /// Returns the time at which the server asked to retry, if it gave one.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.head.retry_after()
    }

    /// Returns the media type in lower case, without parameters.
    pub fn media_type(&self) -> Option<String> {
        self.head.media_type()
    }

    /// Returns the validators for the next request.
    pub fn validators(&self) -> Validators {
        Validators {
            etag: self.head.text(ETAG).map(str::to_owned),
            last_modified: self.head.last_modified().map(str::to_owned),
        }
    }

    /// Returns the target of the first `Link` of this relation (RFC 8288), resolved; `http` and `https` only.
    pub fn link(&self, relation: &str) -> Option<Url> {
        link::find(&self.head.headers, &self.head.url, relation)
    }

    /// Returns the next piece of the body, decompressed; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        self.body.chunk().await
    }

    /// Reads the body to its end; it is then in [`Response::bytes`].
    pub async fn complete(&mut self) -> Result<(), FetchError> {
        self.read.extend(self.body.rest().await?);
        Ok(())
    }

    /// Refuses a response whose media type is that of HTML, before its body is read.
    pub fn refuse_page(&self) -> Result<(), FetchError> {
        let media_type = self.media_type().unwrap_or_default();
        if is_page_type(&media_type) { Err(self.page(media_type)) } else { Ok(()) }
    }

    /// Reads a feed or another document for programs to its end; it is then in [`Response::bytes`]. Feeds are
    /// served with any media type, so the first bytes decide whether the document is an HTML page.
    pub async fn complete_document(&mut self) -> Result<(), FetchError> {
        let mut is_settled = false;
        while let Some(chunk) = self.body.chunk().await? {
            self.read.extend_from_slice(&chunk);
            if !is_settled && begins_as_page(&self.read) {
                let media_type = self.media_type().filter(|named| is_page_type(named));
                return Err(self.page(media_type.unwrap_or_else(|| "an HTML document".to_owned())));
            }
            is_settled = self.read.len() > FIRST_BYTES;
        }
        Ok(())
    }

    fn page(&self, media_type: String) -> FetchError {
        FetchError::Page { url: self.head.shown(), status: self.head.status, media_type }
    }

    /// Returns the body, read to its end.
    pub async fn into_bytes(mut self) -> Result<Vec<u8>, FetchError> {
        self.complete().await?;
        Ok(self.read)
    }

    /// Returns the body, as far as [`Response::complete`] has read it.
    pub fn bytes(&self) -> &[u8] {
        &self.read
    }
}

/// Number of bytes that decide whether a document is an HTML page.
const FIRST_BYTES: usize = 1 << 10;

fn is_page_type(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

/// Whether a document begins as an HTML page does. A feed never does, whatever its media type.
fn begins_as_page(bytes: &[u8]) -> bool {
    let mut text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    // An XML declaration and instructions may come first.
    while text.starts_with(b"<?")
        && let Some(end) = text.windows(2).position(|two| two == b"?>")
    {
        text = text[end + 2..].trim_ascii_start();
    }
    let begins = |with: &str| {
        text.get(..with.len()).is_some_and(|text| text.eq_ignore_ascii_case(with.as_bytes()))
    };
    begins("<!doctype html") || begins("<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_from_feeds_by_what_they_begin_with() {
        for page in [
            "<!DOCTYPE html><p>",
            "\u{feff}\n <HTML lang=en>",
            "<html/>",
            "<?xml version=\"1.0\"?>\n<?a b?><html>",
        ] {
            assert!(begins_as_page(page.as_bytes()), "{page}");
        }
        for feed in ["<?xml version=\"1.0\"?><feed/>", "<rss>", "{}", "", "<!DOCTYPE rss>", "<htm"]
        {
            assert!(!begins_as_page(feed.as_bytes()), "{feed}");
        }
    }

    fn believed(headers: &[(HeaderName, &'static str)]) -> bool {
        let headers = headers.iter().map(|(name, text)| (name.clone(), text.parse().unwrap()));
        let url = Url::parse("http://a.example/").unwrap();
        Head::new(url, StatusCode::OK, headers.collect()).last_modified().is_some()
    }

    #[test]
    fn a_document_that_may_change_again_in_its_second_is_not_recognised_by_it() {
        let modified = (LAST_MODIFIED, "Sun, 06 Nov 1994 08:49:37 GMT");
        let dated = |text| believed(&[modified.clone(), (DATE, text)]);
        assert!(dated("Sun, 06 Nov 1994 08:49:38 GMT"));
        assert!(dated("Mon, 07 Nov 1994 08:49:37 GMT"));
        assert!(!dated("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert!(!dated("Sun, 06 Nov 1994 08:49:36 GMT"));
        assert!(!dated("yesterday"));
        assert!(!believed(&[modified]));
        assert!(!believed(&[(LAST_MODIFIED, "now"), (DATE, "Sun, 06 Nov 1994 08:49:38 GMT")]));
    }
}
