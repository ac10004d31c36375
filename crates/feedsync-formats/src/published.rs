//! A feed of the web as a newsreader shows it: what it says of itself, and its entries.
//!
//! Reading is tolerant, and tells of it: bytes that the declared encoding does not have, characters that XML does
//! not have, text that somebody forgot to escape, and prefixes that nobody declared are mended, and [`PublishedFeed::mended`] says what was wrong.
//! What cannot be read after that is refused with line and column. References are absolute as far as the feed, or the
//! address that it came from, says against what.

mod head;
mod json;
mod prefixes;
mod text;

use std::time::Duration;

use feedsync::Format;

use crate::context::Context;
use crate::diagnostic::ReadError;
use crate::entry::{self, Entry};
use crate::feed::{self, Parsed};
use crate::mend::mended;
use crate::options::ReadOptions;
use crate::plain::Items;
use crate::read::{check_is_xml, looks_like_json};
use crate::xml::{Tree, XmlError};

/// A feed and what it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedFeed {
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
    /// What was wrong with it before it was mended.
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
    let read = if looks_like_json(text.as_bytes()) { json::read } else { read_xml };
    let (feed, later) = match read(&text, options) {
        Ok(feed) => (feed, None),
        Err(_) if text::is_page(&text) => {
            return Err(ReadError::UnknownFormat { found: "a web page".to_owned() });
        }
        Err(error @ ReadError::Document { .. }) => {
            match read(&prefixes::declared(&mended(&text)), options) {
                Ok(feed) => (feed, Some(error)),
                // What is wrong is told of the feed as it came.
                Err(_) => return Err(error),
            }
        }
        Err(error) => return Err(error),
    };
    Ok(PublishedFeed { mended: fault.or(later), ..feed })
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
    let outside = Context::outside(options);
    let mut items = Items { format: reading.format, starts, payloads: Vec::new() };
    items.visit(tree.root(), &outside);
    outside.check(tree.root().span().start).map_err(|error| error.into_read_error(text))?;
    let head = head::read(tree.root(), &namespaces, &outside);
    Ok(PublishedFeed { entries: items.payloads.iter().map(entry::absolute).collect(), ..head })
}

#[cfg(test)]
mod tests;
