//! Parses selections of articles.

use feedsync_reading_state::Tag;

use super::{DEFAULT_COUNT, MAX_ENTRIES, folder};
use crate::date::seconds;
use crate::fault::Fault;
use crate::parameters::Parameters;
use crate::selection::{MAX_STREAMS, Order, Selection, Span, Stream};
use crate::shown::{ArticleNumber, FeedName, FeedNumber};

/// Parses the selection within a stream. Numbers that are zero select nothing.
pub(super) fn selection(stream: Stream, parameters: &Parameters) -> Result<Selection, Fault> {
    let mut include = Vec::new();
    let mut exclude = Vec::new();
    if let Some(feed) = id("feed_id", parameters)? {
        include.push(Stream::Feed(FeedName::Number(FeedNumber::new(feed))));
    }
    if let Some(category) = id("category_id", parameters)? {
        include.push(Stream::Folder(folder(category)));
    }
    include.extend(status(parameters)?);
    match parameters.first("starred") {
        None => {}
        Some("true" | "1") => include.push(Stream::Starred),
        Some("false" | "0") => exclude.push(Stream::Starred),
        Some(_) => return Err(Fault::of("starred", "must be true or false")),
    }
    for tag in parameters.some("tags", MAX_STREAMS)? {
        let tag: Tag = tag.parse().map_err(|error| Fault::of("tags", error))?;
        include.push(Stream::Tag(tag));
    }
    let number = |name| Ok(id(name, parameters)?.map(ArticleNumber::new));
    let count = match parameters.number("limit")? {
        Some(count) => usize::try_from(count).unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES),
        None => DEFAULT_COUNT,
    };
    let skip = parameters.number("offset")?.unwrap_or_default();
    // A list of all articles that is restricted to a stream becomes a list of that stream.
    let narrowed = stream == Stream::All && !include.is_empty();
    let stream = if narrowed { include.remove(0) } else { stream };
    Ok(Selection {
        include,
        exclude,
        published: span(parameters, ["published_after", "after"], ["published_before", "before"])?,
        changed: span(parameters, ["changed_after"; 2], ["changed_before"; 2])?,
        above: number("after_entry_id")?,
        below: number("before_entry_id")?,
        search: parameters.first("search").map(str::to_owned),
        order: order(parameters)?,
        descending: match parameters.first("direction") {
            None | Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(Fault::of("direction", "must be asc or desc")),
        },
        skip: usize::try_from(skip).unwrap_or(usize::MAX),
        ..Selection::newest(stream, count)
    })
}

/// Returns the stream to which read states restrict a list, if they do.
fn status(parameters: &Parameters) -> Result<Option<Stream>, Fault> {
    let (mut read, mut unread, mut removed) = (false, false, false);
    for status in parameters.all("status").filter(|status| !status.is_empty()) {
        match status {
            "read" => read = true,
            "unread" => unread = true,
            "removed" => removed = true,
            _ => return Err(Fault::of("status", "must be read, unread or removed")),
        }
    }
    Ok(match (read, unread) {
        (true, false) => Some(Stream::Read),
        (false, true) => Some(Stream::Unread),
        (false, false) if removed => Some(Stream::Nothing),
        _ => None,
    })
}

fn order(parameters: &Parameters) -> Result<Order, Fault> {
    Ok(match parameters.first("order") {
        None | Some("published_at") => Order::Published,
        Some("id") => Order::Number,
        Some("status") => Order::Status,
        Some("created_at") => Order::Received,
        Some("changed_at") => Order::Changed,
        Some("category_title") => Order::FolderName,
        Some("category_id") => Order::Folder,
        Some("title") => Order::Title,
        Some("author") => Order::Author,
        Some(_) => return Err(Fault::of("order", "articles cannot be sorted by this field")),
    })
}

/// Parses an exclusive span of time. Each bound has two names, of which the first takes precedence.
fn span(
    parameters: &Parameters,
    after: [&'static str; 2],
    before: [&'static str; 2],
) -> Result<Span, Fault> {
    let first = |[one, other]: [&'static str; 2]| {
        let given = |name| Ok(parameters.number(name)?.filter(|at| *at != 0));
        Ok(given(one)?.or(given(other)?).map(seconds))
    };
    Ok(Span {
        from: first(after)?.map(|at| at.after(1)),
        to: first(before)?.map(|at| at.before(1)),
    })
}

fn id(name: &'static str, parameters: &Parameters) -> Result<Option<i64>, Fault> {
    let number = parameters.number(name)?.filter(|number| *number != 0);
    Ok(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
}
