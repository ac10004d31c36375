//! Extracts the text of an article from its web page.
//!
//! The input is the bytes of a page of other people, so the work is bounded: [`MAX_PAGE_BYTES`] of bytes, and the
//! limits on depth, tags and copies of a page (`html`). The result is markup that is not safe. It must be cleaned like
//! the content of a feed before anybody sees it.

mod charset;
mod trim;

use std::panic::catch_unwind;

use dom_smoothie::{Config, Readability, TextMode};
use feedsync_formats::charset;

use crate::html::{Kind, bounded_as};

/// Maximum size of a web page, in bytes, after decompression.
pub const MAX_PAGE_BYTES: usize = 5 << 20;

/// Minimum length of the text of an article, in characters that are not white space.
const MIN_TEXT: usize = 60;

/// Number of bytes at the start of a document that decide whether it is HTML if its media type does not.
const FIRST_BYTES: usize = 1 << 10;

/// Selector of the article in a document after the extraction.
const ARTICLE: &str = "#readability-page-1";

/// Media types of web pages.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// Media types that servers send for documents of many kinds.
const VAGUE: [&str; 4] = ["", "application/octet-stream", "application/xml", "text/xml"];

/// Reason why a document has no text of an article.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The document is not a web page.
    #[error("the link of the article leads to {media_type}, not to a web page")]
    NotHtml {
        /// Media type of the document.
        media_type: String,
    },
    /// The web page has more bytes than [`MAX_PAGE_BYTES`].
    #[error("the web page is larger than {} MiB", MAX_PAGE_BYTES >> 20)]
    TooLarge,
    /// The web page has more elements or text than can be processed.
    #[error("the web page has too many elements to be processed")]
    TooComplex,
    /// No part of the web page looks like an article.
    #[error("no text of an article was found on the web page")]
    NoText,
}

/// Returns the part of a web page that is its article, as HTML that must be cleaned. Relative addresses are resolved
/// against the address of the page.
pub fn extract(bytes: &[u8], content_type: &str, address: &str) -> Result<String, ExtractError> {
    is_page(bytes, content_type)?;
    if bytes.len() > MAX_PAGE_BYTES {
        return Err(ExtractError::TooLarge);
    }
    let text = charset::decoded(bytes, charset(content_type));
    let bounded = bounded_as(&text, Kind::Page);
    let html = bounded.html.ok_or(ExtractError::TooComplex)?;
    let page = page(&bounded.title, &html);
    // The extraction is the work of another crate. A fault of it must cost one page only.
    catch_unwind(|| article(&page, address)).unwrap_or(Err(ExtractError::TooComplex))
}

/// Page with a title and a body.
fn page(title: &str, body: &str) -> String {
    let mut page = String::with_capacity(body.len() + title.len() + 100);
    page.push_str("<!DOCTYPE html><title>");
    feedsync_formats::escape_text(&mut page, title);
    page.push_str("</title>");
    page.push_str(body);
    page
}

fn article(page: &str, address: &str) -> Result<String, ExtractError> {
    let config = Config {
        // Metadata is not used, and its parser has no limits.
        disable_json_ld: true,
        text_mode: TextMode::Raw,
        ..Config::default()
    };
    let address = address.starts_with("http").then_some(address);
    let none = |_| ExtractError::NoText;
    let mut readability = Readability::new(page, address, Some(config)).map_err(none)?;
    trim::remove_furniture(&readability.doc);
    readability.parse().map_err(none)?;
    // The document is now the article.
    let found = readability.doc.select_single(ARTICLE);
    let root = found.nodes().first().ok_or(ExtractError::NoText)?;
    trim::remove_bars(root);
    let is_text = |character: &char| !character.is_whitespace();
    match root.text().chars().filter(is_text).take(MIN_TEXT).count() < MIN_TEXT {
        true => Err(ExtractError::NoText),
        false => Ok(root.html().to_string()),
    }
}

/// Checks that a document is a web page: by its media type, or by its first bytes if that may mean anything.
pub(crate) fn is_page(bytes: &[u8], content_type: &str) -> Result<(), ExtractError> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if PAGES.contains(&&*media_type) {
        return Ok(());
    }
    let start = &bytes[..bytes.len().min(FIRST_BYTES)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let is_html =
        ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| start.contains(tag));
    if VAGUE.contains(&&*media_type) && is_html {
        return Ok(());
    }
    let media_type = match &*media_type {
        "" => "an unknown type of document".to_owned(),
        media_type => media_type.chars().filter(|byte| byte.is_ascii_graphic()).take(80).collect(),
    };
    Err(ExtractError::NotHtml { media_type })
}

#[cfg(test)]
mod tests;
