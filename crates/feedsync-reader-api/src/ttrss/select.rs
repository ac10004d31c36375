//! Parses selections of articles.

use feedsync_reading_state::Tag;

use super::read::size;
use super::{Category, HeadlinesRequest, LABEL_FEED_BASE, MAX_HEADLINES};
use crate::fault::Fault;
use crate::members::Members;
use crate::selection::{Order, Selection, Stream};
use crate::shown::{ArticleNumber, FeedName, FeedNumber, FolderNumber, TagNumber};

/// Parses the stream of a feed or a category; the default feed is `otherwise`.
pub(super) fn stream(members: &Members, otherwise: &str) -> Result<Stream, Fault> {
    let given = members.text("feed_id")?.filter(|feed| !feed.is_empty());
    let is_category = members.flag("is_cat")?.unwrap_or_default();
    parse(given.as_deref().unwrap_or(otherwise), is_category)
}

fn parse(feed: &str, is_category: bool) -> Result<Stream, Fault> {
    let Ok(number) = feed.trim().parse::<i64>() else {
        let tag: Tag = feed.parse().map_err(|error| Fault::of("feed_id", error))?;
        return Ok(Stream::Tag(tag));
    };
    if is_category {
        return Ok(match category(number)? {
            Category::Folder(folder) => Stream::Folder(folder),
            Category::Labels => Stream::Tagged,
            Category::Feeds | Category::All => Stream::All,
            Category::Special => Stream::Nothing,
        });
    }
    Ok(match number {
        1.. => Stream::Feed(FeedName::Number(FeedNumber::new(number))),
        // Archived and published articles do not exist here.
        0 | -2 => Stream::Nothing,
        -1 => Stream::Starred,
        -3 => Stream::Fresh,
        -4 => Stream::All,
        -6 => Stream::Read,
        _ => {
            Stream::NumberedTag(label(number).ok_or(Fault::of("feed_id", "there is no such feed"))?)
        }
    })
}

/// Category with a number.
pub(super) fn category(number: i64) -> Result<Category, Fault> {
    Ok(match number {
        0.. => Category::Folder(FolderNumber::new(number)),
        -1 => Category::Special,
        -2 => Category::Labels,
        -3 => Category::Feeds,
        -4 => Category::All,
        _ => return Err(Fault::of("cat_id", "there is no such category")),
    })
}

/// Label whose feed has a number.
pub(super) fn label(feed: i64) -> Option<TagNumber> {
    let number = LABEL_FEED_BASE.checked_sub(feed)?;
    (number > 0).then(|| TagNumber::new(number))
}

pub(super) fn headlines(members: &Members) -> Result<HeadlinesRequest, Fault> {
    let feed = members.needed_text("feed_id")?;
    let is_set = |name| Ok(members.flag(name)?.unwrap_or_default());
    let excerpt = size(members, "excerpt_length")?.unwrap_or(100);
    Ok(HeadlinesRequest {
        is_category: is_set("is_cat")?,
        selection: selection(members, MAX_HEADLINES)?,
        show_content: is_set("show_content")?,
        excerpt: is_set("show_excerpt")?.then_some(excerpt),
        include_attachments: is_set("include_attachments")?,
        include_header: is_set("include_header")?,
        feed,
    })
}

/// Parses a selection of at most `most` articles.
pub(super) fn selection(members: &Members, most: usize) -> Result<Selection, Fault> {
    members.needed_text("feed_id")?;
    let count = size(members, "limit")?.unwrap_or(most).min(most);
    let include = match &*members.text("view_mode")?.unwrap_or_default() {
        "unread" => vec![Stream::Unread],
        "marked" => vec![Stream::Starred],
        "published" | "has_note" => vec![Stream::Nothing],
        // The adaptive mode is left to newsreaders.
        "" | "all_articles" | "adaptive" | "updated" => Vec::new(),
        _ => return Err(Fault::of("view_mode", "this view mode is not supported")),
    };
    let (order, descending) = match &*members.text("order_by")?.unwrap_or_default() {
        "feed_dates" => (Order::Published, true),
        "date_reverse" => (Order::Received, false),
        "title" => (Order::Title, false),
        // Other orders belong to plugins; without them the default applies.
        _ => (Order::Received, true),
    };
    let since = members.number("since_id")?.filter(|since| *since > 0);
    Ok(Selection {
        include,
        above: since.map(ArticleNumber::new),
        search: members.text("search")?.filter(|search| !search.is_empty()),
        order,
        descending,
        skip: size(members, "skip")?.unwrap_or_default(),
        ..Selection::newest(stream(members, "")?, count)
    })
}
