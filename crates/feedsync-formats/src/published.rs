//! A web feed for display in a newsreader: its metadata and its entries.
//!
//! Reading is tolerant and reports faults. A document that can be read is not changed. Otherwise stepwise [repair]
//! makes versions of it, from the least to the most changed, and the first version with articles is used.
//! [`PublishedFeed::repaired_fault`] contains the fault of the original document. A document that still cannot be read is
//! refused with line and column. References are absolute.

mod head;
mod json;
mod repair;
mod text;

use std::time::Duration;

use feedsync_core::Format;

use crate::context::Context;
use crate::diagnostic::ReadError;
use crate::entry::{self, Entry};
use crate::feed::{self, Parsed};
use crate::options::ReadOptions;
use crate::plain::Items;
use crate::read::looks_like_json;
use crate::xml::check_is_xml;
use crate::xml::{Tree, XmlError};

/// A feed with its metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedFeed {
    /// Format as which the document was read.
    pub format: Option<Format>,
    /// Title, as plain text.
    pub title: Option<String>,
    /// Description, as plain text.
    pub description: Option<String>,
    /// Address of the web page that the feed belongs to.
    pub site: Option<String>,
    /// Address of a small image.
    pub icon: Option<String>,
    /// Address of the feed, as it declares it.
    pub address: Option<String>,
    /// How often the feed asks to be read.
    pub polling_hints: PollingHints,
    /// Entries, in document order. Their references are absolute where possible.
    pub entries: Vec<Entry>,
    /// Number of entries that were left out because they have neither title, link nor text.
    pub blank: usize,
    /// Fault of the original document, if it was repaired.
    pub repaired_fault: Option<ReadError>,
}

/// How often a feed asks to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollingHints {
    /// Minimum interval between two reads: `ttl` of RSS, or `updatePeriod` and `updateFrequency` of its syndication
    /// module.
    pub every: Option<Duration>,
    /// Hours of the day, GMT, in which the feed does not change (`skipHours`), as bits. The lowest bit is midnight.
    pub idle_hours: u32,
    /// Days of the week, GMT, on which the feed does not change (`skipDays`), as bits. The lowest bit is Monday.
    pub idle_days: u8,
}

/// Reads a feed from the address in the options. `charset` is the encoding that its server names. It is used if the
/// document does not declare one.
pub fn read_published(
    bytes: &[u8],
    charset: Option<&str>,
    options: &ReadOptions<'_>,
) -> Result<PublishedFeed, ReadError> {
    let (text, fault) = text::decoded(bytes, charset, options)?;
    let as_it_came = match read(&text, options) {
        Ok(feed) if !feed.entries.is_empty() => {
            return Ok(PublishedFeed { repaired_fault: fault, ..feed });
        }
        Err(error @ ReadError::TooLarge { .. }) => return Err(error),
        other => other,
    };
    let is_page = text::is_page(&text);
    let (feed, later) = match (as_it_came, repaired(&text, options)) {
        // If no version has articles, a document that can be read is not repaired.
        (Ok(feed), found) => {
            (found.filter(|found| !found.entries.is_empty()).unwrap_or(feed), None)
        }
        (Err(error), Some(feed)) if !feed.entries.is_empty() => (feed, Some(error)),
        (Err(error @ ReadError::Document { .. }), Some(feed)) if !is_page => (feed, Some(error)),
        (Err(_), _) if is_page => {
            return Err(ReadError::UnknownFormat { found: "a web page".to_owned() });
        }
        // The fault is that of the original document.
        (Err(error), _) => return Err(error),
    };
    Ok(PublishedFeed { repaired_fault: fault.or(later), ..feed })
}

/// Returns the first version of a document that has articles, or else the first readable one whose structure is
/// unchanged.
fn repaired(text: &str, options: &ReadOptions<'_>) -> Option<PublishedFeed> {
    let mut empty = None;
    for version in repair::versions(text).chain(repair::json(text)) {
        match read(&version.text, options) {
            Ok(feed) if !feed.entries.is_empty() => return Some(feed),
            Ok(feed) if !version.is_balanced => _ = empty.get_or_insert(feed),
            Ok(_) | Err(_) => {}
        }
    }
    empty
}

fn read(text: &str, options: &ReadOptions<'_>) -> Result<PublishedFeed, ReadError> {
    let read = if looks_like_json(text.as_bytes()) { json::read } else { read_xml };
    let mut feed = read(text, options)?;
    let count = feed.entries.len();
    feed.entries.retain(|entry| {
        let is_said =
            [&entry.title, &entry.content, &entry.summary].into_iter().any(Option::is_some);
        is_said || !entry.links.is_empty()
    });
    Ok(PublishedFeed { blank: count - feed.entries.len(), ..feed })
}

fn read_xml(text: &str, options: &ReadOptions<'_>) -> Result<PublishedFeed, ReadError> {
    check_is_xml(text)?;
    let Parsed { reading, slots, .. } = feed::parse(text, None, options)?;
    // Deleted items and subscription lists have nothing to show.
    let is_shown = |item: Option<usize>| {
        item.is_none_or(|item| !reading.feed.items.get(item).is_some_and(|it| it.winner.deleted))
    };
    if reading.format == Format::Opml {
        return Err(ReadError::UnknownFormat { found: "a list of feeds (OPML)".to_owned() });
    }
    let slots = slots.iter().filter(|slot| is_shown(slot.item));
    let starts = slots.map(|slot| slot.span.start).collect();
    let (tree, namespaces) = Tree::parse(text, options.mode, &options.limits)
        .map_err(|error: XmlError| error.into_read_error(text))?;
    let outside = Context::at_address(options);
    let mut items = Items { format: reading.format, starts, payloads: Vec::new() };
    items.visit(tree.root(), &outside);
    outside.check(tree.root().span().start).map_err(|error| error.into_read_error(text))?;
    let head = head::read(tree.root(), &namespaces, &outside);
    let around = [head.site.as_deref(), options.base];
    let entries = items.payloads.iter().map(|payload| entry::shown(payload, &around)).collect();
    Ok(PublishedFeed { format: Some(reading.format), entries, ..head })
}

#[cfg(test)]
mod tests;
