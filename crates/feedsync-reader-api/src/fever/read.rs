//! Parses requests by their parameters.

use super::{Call, Items, MAX_ITEMS, Mark, Request};
use crate::date::seconds;
use crate::fault::Fault;
use crate::marking::Marking;
use crate::parameters::Parameters;
use crate::raw_request::RawRequest;
use crate::secret::Secret;
use crate::selection::{Order, Selection, Stream};
use crate::shown::{ArticleNumber, FeedName, FeedNumber, FolderNumber};

/// Paths below the configured address. Clients append the name of a script of other servers, or nothing.
const PATHS: &[&str] = &["", "index.php", "api.php", "fever.php", "api/fever.php"];

/// Number of the group of all feeds.
const KINDLING: i64 = 0;

/// Number of the group of feeds that are not shown to be read. This server has no such feeds.
const SPARKS: i64 = -1;

/// Parses a request. An unknown path and an unsupported method are faults; all other faults are in the call.
pub fn read(raw_request: &RawRequest<'_>) -> Result<Call, Fault> {
    if !PATHS.contains(&raw_request.path.trim_matches('/')) {
        return Err(raw_request.not_found());
    }
    raw_request.only(&["GET", "POST"])?;
    // Other sites can make browsers send `GET` requests with a session. So these have no effect.
    if raw_request.verb() == "GET" {
        return Ok(Call { key: None, request: Ok(Request::default()) });
    }
    Ok(match raw_request.parameters() {
        Ok(parameters) => {
            let key = parameters.all("api_key").find(|key| !key.is_empty());
            let key = key.map(|key| Secret::from(key.to_owned()));
            Call { key, request: request(&parameters) }
        }
        Err(fault) => Call { key: None, request: Err(fault) },
    })
}

fn request(parameters: &Parameters) -> Result<Request, Fault> {
    let has = |name| parameters.all(name).next().is_some();
    let mark = mark(parameters)?;
    // Clients update their lists with the response to a mark.
    let (read, saved) = match &mark {
        None => (false, false),
        Some(Mark::Article(marking)) => (marking.read.is_some(), marking.starred.is_some()),
        Some(Mark::Stream { .. }) => (true, false),
    };
    Ok(Request {
        mark,
        groups: has("groups"),
        feeds: has("feeds"),
        favicons: has("favicons"),
        items: if has("items") { Some(items(parameters)?) } else { None },
        links: has("links"),
        unread_ids: has("unread_item_ids") || has("unread_recently_read") || read,
        saved_ids: has("saved_item_ids") || saved,
    })
}

fn items(parameters: &Parameters) -> Result<Items, Fault> {
    if let Some(numbers) = parameters.first("with_ids") {
        let mut found = Vec::new();
        for word in numbers.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let number = ArticleNumber::new(number("with_ids", word)?);
            if !found.contains(&number) {
                found.push(number);
            }
            if found.len() == MAX_ITEMS {
                break;
            }
        }
        return Ok(Items::Numbered(found));
    }
    let bound = |name| parameters.first(name).map(|text| number(name, text)).transpose();
    let (since, max) = (bound("since_id")?, bound("max_id")?);
    let is_backwards = since.is_none() && max.is_some();
    Ok(Items::Selected(Box::new(Selection {
        above: since.map(ArticleNumber::new),
        // Clients begin with 0 to get the newest articles.
        below: max.filter(|max| *max > 0).map(ArticleNumber::new),
        order: Order::Number,
        descending: is_backwards,
        ..Selection::newest(Stream::All, MAX_ITEMS)
    })))
}

fn mark(parameters: &Parameters) -> Result<Option<Mark>, Fault> {
    let Some(kind) = parameters.first("mark") else { return Ok(None) };
    let deed = parameters.needed("as")?;
    let id = number("id", parameters.needed("id")?)?;
    Ok(Some(match kind {
        "item" => {
            let article = vec![ArticleNumber::new(id)];
            Mark::Article(match deed {
                "read" | "unread" => Marking::read(article, deed == "read"),
                "saved" | "unsaved" => Marking::starred(article, deed == "saved"),
                _ => return Err(Fault::of("as", "must be read, unread, saved or unsaved")),
            })
        }
        "feed" | "group" => {
            if deed != "read" {
                return Err(Fault::of("as", "must be read for a feed or a group"));
            }
            let stream = match (kind, id) {
                ("feed", id) => Stream::Feed(FeedName::Number(FeedNumber::new(id))),
                (_, KINDLING) => Stream::All,
                (_, SPARKS) => Stream::Nothing,
                (_, id) => Stream::Folder(FolderNumber::new(id)),
            };
            Mark::Stream { stream, up_to: parameters.number("before")?.map(seconds) }
        }
        _ => return Err(Fault::of("mark", "must be item, feed or group")),
    }))
}

/// Parses a number, which may be negative; one that is too large becomes the largest.
fn number(name: &'static str, text: &str) -> Result<i64, Fault> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let size = crate::parameters::number(name, digits)?;
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    Ok(if is_negative { -size } else { size })
}
