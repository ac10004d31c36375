//! A feed of the web as a newsreader shows it: what it says of itself, and its entries.
//!
//! Reading is tolerant, and reports what was wrong. A document that reads as it came is taken as it came. Otherwise
//! stepwise [repair] makes versions of it, the least changed first, and the first that has articles counts.
//! [`PublishedFeed::mended`] has the fault of the document as it came. What cannot be read after that is refused with
//! line and column. References are absolute.

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
use crate::read::{check_is_xml, looks_like_json};
use crate::xml::{Tree, XmlError};

/// A feed and what it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedFeed {
    /// Format that it is read as.
    pub format: Option<Format>,
    /// What it calls itself, plain text.
    pub title: Option<String>,
    /// What it says that it is about, plain text.
    pub description: Option<String>,
    /// The page that it belongs to.
    pub site: Option<String>,
    /// A small picture.
    pub icon: Option<String>,
    /// Its own address, as it says.
    pub address: Option<String>,
    /// How often it wants to be read.
    pub wishes: Wishes,
    /// Its entries, in their order. References in them are absolute where that can be.
    pub entries: Vec<Entry>,
    /// How many entries were left out: they have neither title, link nor text.
    pub blank: usize,
    /// The fault of the document as it came, if it was repaired.
    pub mended: Option<ReadError>,
}

/// How often a feed wants to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wishes {
    /// No more often than this: `ttl` of RSS, `updatePeriod` and `updateFrequency` of its syndication module.
    pub every: Option<Duration>,
    /// Hours of the day, GMT, in which it does not change: a bit for each, that of midnight the lowest (`skipHours`).
    pub idle_hours: u32,
    /// Days of the week, GMT, on which it does not change: a bit for each, that of Monday the lowest (`skipDays`).
    pub idle_days: u8,
}

/// Reads a feed, which came from the address that the options name. `charset` is what its server said of its
/// encoding, which counts where it does not say so itself.
pub fn read_published(
    bytes: &[u8],
    charset: Option<&str>,
    options: &ReadOptions<'_>,
) -> Result<PublishedFeed, ReadError> {
    let (text, fault) = text::decoded(bytes, charset, options)?;
    let as_it_came = match read(&text, options) {
        Ok(feed) if !feed.entries.is_empty() => return Ok(PublishedFeed { mended: fault, ..feed }),
        Err(error @ ReadError::TooLarge { .. }) => return Err(error),
        other => other,
    };
    let is_page = text::is_page(&text);
    let (feed, later) = match (as_it_came, repaired(&text, options)) {
        // Without articles a document that reads is worth as much as another.
        (Ok(feed), found) => {
            (found.filter(|found| !found.entries.is_empty()).unwrap_or(feed), None)
        }
        (Err(error), Some(feed)) if !feed.entries.is_empty() => (feed, Some(error)),
        (Err(error @ ReadError::Document { .. }), Some(feed)) if !is_page => (feed, Some(error)),
        (Err(_), _) if is_page => {
            return Err(ReadError::UnknownFormat { found: "a web page".to_owned() });
        }
        // The fault is that of the feed as it came.
        (Err(error), _) => return Err(error),
    };
    Ok(PublishedFeed { mended: fault.or(later), ..feed })
}

/// The first version of a document that has articles, else the first that reads and lacks none.
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
    // Deletions and lists of feeds have nothing to show.
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
