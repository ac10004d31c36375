//! Parses requests by the segments of their path.

use feedsync_reading_state::Title;

use super::star::{self, starring};
use super::{MAX_ITEMS, Request};
use crate::date::instant;
use crate::fault::Fault;
use crate::marking::Marking;
use crate::members::Members;
use crate::raw_request::RawRequest;
use crate::selection::{Order, Selection, Span, Stream};
use crate::shown::{ArticleNumber, FeedName, FeedNumber, FolderNumber, Label};

/// Prefixes that newsreaders prepend to every path, unless the configured address has them.
pub(super) const PREFIXES: &[&str] = &[
    "index.php/apps/news/api/v1-2",
    "index.php/apps/news/api/v1-3",
    "apps/news/api/v1-2",
    "apps/news/api/v1-3",
    "v1-2",
    "v1-3",
];

const GET: &[&str] = &["GET"];

/// Version 1-2 uses `PUT` where 1-3 uses `POST`.
pub(super) const PUT: &[&str] = &["PUT", "POST"];

/// Parses a request.
pub fn read(raw_request: &RawRequest<'_>) -> Result<Request, Fault> {
    if matches!(raw_request.path.trim_matches('/'), "index.php/apps/news/api" | "apps/news/api") {
        raw_request.only(GET)?;
        return Ok(Request::Levels);
    }
    // Checked first, since the name of an article may have any form.
    if let Some(request) = star::by_name(raw_request)? {
        return Ok(request);
    }
    let path = raw_request.path_below(PREFIXES).trim_end_matches('/');
    let parts: Vec<&str> = path.splitn(5, '/').collect();
    let found = match *parts {
        [name @ ("version" | "status" | "user")] => {
            raw_request.only(GET)?;
            Some(match name {
                "version" => Request::Version,
                "status" => Request::Status,
                _ => Request::User,
            })
        }
        ["folders", ref rest @ ..] => folders(raw_request, rest)?,
        ["feeds", ref rest @ ..] => feeds(raw_request, rest)?,
        ["items", ref rest @ ..] => items(raw_request, rest)?,
        _ => None,
    };
    found.ok_or_else(|| raw_request.not_found())
}

fn folders(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (folder, rest) = match parts {
        [] => {
            raw_request.only(&["GET", "POST"])?;
            let is_new = raw_request.verb() == "POST";
            return Ok(Some(if is_new {
                Request::CreateFolder(label(raw_request)?)
            } else {
                Request::Folders
            }));
        }
        [folder, rest @ ..] => (folder, rest),
    };
    let Some(folder) = id(folder).map(FolderNumber::new) else { return Ok(None) };
    Ok(match rest {
        [] => {
            raw_request.only(&["PUT", "DELETE"])?;
            Some(match raw_request.verb() {
                "PUT" => Request::RenameFolder(folder, label(raw_request)?),
                _ => Request::DeleteFolder(folder),
            })
        }
        ["read"] => Some(mark_read(raw_request, Stream::Folder(folder))?),
        _ => None,
    })
}

fn feeds(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    let (feed, rest) = match parts {
        [] => {
            raw_request.only(&["GET", "POST"])?;
            let is_new = raw_request.verb() == "POST";
            return Ok(Some(if is_new { create_feed(raw_request)? } else { Request::Feeds }));
        }
        [feed, rest @ ..] => (feed, rest),
    };
    let Some(feed) = id(feed).map(FeedNumber::new) else { return Ok(None) };
    Ok(match rest {
        [] => {
            raw_request.only(&["DELETE"])?;
            Some(Request::DeleteFeed(feed))
        }
        ["move"] => {
            raw_request.only(PUT)?;
            Some(Request::MoveFeed(feed, folder(&Members::of(raw_request)?)?))
        }
        ["rename"] => {
            raw_request.only(PUT)?;
            let title = Members::of(raw_request)?.needed_text("feedTitle")?;
            let title = Title::cleaned(&title).ok_or(Fault::Missing { name: "feedTitle" })?;
            Some(Request::RenameFeed(feed, title))
        }
        ["read"] => Some(mark_read(raw_request, Stream::Feed(FeedName::Number(feed)))?),
        _ => None,
    })
}

fn items(raw_request: &RawRequest<'_>, parts: &[&str]) -> Result<Option<Request>, Fault> {
    Ok(match *parts {
        [] => {
            raw_request.only(GET)?;
            Some(Request::Items(selection(&Members::of(raw_request)?)?))
        }
        ["updated"] => {
            raw_request.only(GET)?;
            Some(Request::Items(updated(&Members::of(raw_request)?)?))
        }
        ["read"] => Some(mark_read(raw_request, Stream::All)?),
        [deed @ ("read" | "unread"), "multiple"] => {
            raw_request.only(PUT)?;
            let members = Members::of(raw_request)?;
            let name = if members.has("itemIds") { "itemIds" } else { "items" };
            Some(Request::Mark(Marking::read(members.articles(name)?, deed == "read")))
        }
        [deed, "multiple"] => match starring(deed) {
            Some(is_starred) => {
                raw_request.only(PUT)?;
                Some(star::multiple(&Members::of(raw_request)?, is_starred)?)
            }
            None => None,
        },
        [item, deed] => {
            let Some(item) = id(item).map(ArticleNumber::new) else { return Ok(None) };
            let marking = match deed {
                "read" | "unread" => Marking::read(vec![item], deed == "read"),
                "star" | "unstar" => Marking::starred(vec![item], deed == "star"),
                _ => return Ok(None),
            };
            raw_request.only(PUT)?;
            Some(Request::Mark(marking))
        }
        _ => None,
    })
}

fn mark_read(raw_request: &RawRequest<'_>, stream: Stream) -> Result<Request, Fault> {
    raw_request.only(PUT)?;
    let up_to = ArticleNumber::new(Members::of(raw_request)?.needed_number("newestItemId")?);
    Ok(Request::MarkRead { stream, up_to })
}

fn create_feed(raw_request: &RawRequest<'_>) -> Result<Request, Fault> {
    let members = Members::of(raw_request)?;
    let address = members.needed_text("url").map_err(Fault::unprocessable)?;
    let address = address.parse().map_err(|error| Fault::of("url", error).unprocessable())?;
    Ok(Request::CreateFeed { address, folder: folder(&members)? })
}

/// Returns the requested folder; the default is the top.
fn folder(members: &Members) -> Result<FolderNumber, Fault> {
    Ok(members.number("folderId")?.map_or(FolderNumber::TOP, FolderNumber::new))
}

fn label(raw_request: &RawRequest<'_>) -> Result<Label, Fault> {
    let name = Members::of(raw_request)?.needed_text("name").map_err(Fault::unprocessable)?;
    name.parse().map_err(|error| Fault::of("name", error).unprocessable())
}

fn selection(members: &Members) -> Result<Selection, Fault> {
    let stream = stream(members)?;
    let is_ascending = members.flag("oldestFirst")?.unwrap_or_default();
    let offset = members.number("offset")?.filter(|offset| *offset > 0).map(ArticleNumber::new);
    let is_all = members.flag("getRead")?.unwrap_or(true);
    let count = members.number("batchSize")?.and_then(|count| usize::try_from(count).ok());
    Ok(Selection {
        include: if is_all { Vec::new() } else { vec![Stream::Unread] },
        above: offset.filter(|_| is_ascending),
        below: offset.filter(|_| !is_ascending),
        descending: !is_ascending,
        ..by_number(stream, count.unwrap_or(MAX_ITEMS))
    })
}

fn updated(members: &Members) -> Result<Selection, Fault> {
    let since = members.number("lastModified")?.unwrap_or_default();
    let since = u64::try_from(since).unwrap_or_default();
    Ok(Selection {
        changed: Span { from: Some(instant(since)), to: None },
        ..by_number(stream(members)?, MAX_ITEMS)
    })
}

fn by_number(stream: Stream, count: usize) -> Selection {
    Selection { order: Order::Number, ..Selection::newest(stream, count.min(MAX_ITEMS)) }
}

fn stream(members: &Members) -> Result<Stream, Fault> {
    let id = members.number("id")?.unwrap_or_default();
    Ok(match members.number("type")?.unwrap_or(3) {
        0 => Stream::Feed(FeedName::Number(FeedNumber::new(id))),
        1 => Stream::Folder(FolderNumber::new(id)),
        2 => Stream::Starred,
        3 => Stream::All,
        6 => Stream::Unread,
        _ => return Err(Fault::of("type", "must be 0, 1, 2, 3 or 6")),
    })
}

/// Parses a number in the path.
pub(super) fn id(part: &str) -> Option<i64> {
    part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))
}
