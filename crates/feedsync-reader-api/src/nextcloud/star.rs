//! Parses requests to star articles by name.

use super::read::{PREFIXES, PUT, id};
use super::{ItemName, Request};
use crate::fault::Fault;
use crate::marking::Marking;
use crate::members::{Members, ParameterValue};
use crate::parameters::MAX_TEXT_BYTES;
use crate::raw_request::{RawRequest, decoded};
use crate::shown::FeedNumber;

/// Parses `items/FEED/NAME/star`. Newsboat does not encode the name, which may thus contain slashes, and a
/// question mark that appears to start the query.
pub(super) fn by_name(raw_request: &RawRequest<'_>) -> Result<Option<Request>, Fault> {
    let Some(rest) = raw_request.path_below(PREFIXES).strip_prefix("items/") else {
        return Ok(None);
    };
    let whole = match raw_request.query {
        "" => rest.to_owned(),
        query => format!("{rest}?{query}"),
    };
    // A proper query may follow, too.
    let named = ending(&whole).or_else(|| ending(rest));
    let Some((feed, name, is_starred)) = named else { return Ok(None) };
    raw_request.only(PUT)?;
    if name.len() > MAX_TEXT_BYTES {
        return Err(Fault::of(
            "the path",
            format!("a string can have at most {MAX_TEXT_BYTES} bytes"),
        ));
    }
    let item = item(feed, name)?;
    Ok(Some(Request::Star { items: vec![item], is_starred }))
}

/// Parses the feed, the name and the operation of such a path.
fn ending(path: &str) -> Option<(FeedNumber, &str, bool)> {
    let (feed, rest) = path.split_once('/')?;
    let (name, deed) = rest.trim_end_matches('/').rsplit_once('/')?;
    let is_starred = match deed {
        "star" => true,
        "unstar" => false,
        _ => return None,
    };
    Some((FeedNumber::new(id(feed)?), name, is_starred)).filter(|_| !name.is_empty())
}

fn item(feed: FeedNumber, name: &str) -> Result<ItemName, Fault> {
    let mut names = vec![name.to_owned()];
    match decoded(name) {
        Ok(plain) if plain != name => names.insert(0, plain),
        _ => {}
    }
    Ok(ItemName { feed, names })
}

/// Whether an operation sets or removes stars.
pub(super) fn starring(deed: &str) -> Option<bool> {
    match deed {
        "star" | "starred" => Some(true),
        "unstar" | "unstarred" => Some(false),
        _ => None,
    }
}

/// Parses a request for many articles, by their numbers or by their names.
pub(super) fn multiple(members: &Members, is_starred: bool) -> Result<Request, Fault> {
    if members.has("itemIds") {
        let articles = members.articles("itemIds")?;
        return Ok(Request::Mark(Marking::starred(articles, is_starred)));
    }
    let named = |item: &ParameterValue| {
        let item = item.members()?;
        let feed = item.number("feedId").ok()??;
        let name = if item.has("guidHash") { "guidHash" } else { "guid" };
        let name = item.text(name).ok()??;
        Some(ItemName { feed: FeedNumber::new(feed), names: vec![name] })
    };
    let listed = members.list("items")?;
    let items: Option<Vec<_>> = listed.iter().map(named).collect();
    let items = items.ok_or(Fault::of("items", "each item must have a feedId and a guidHash"))?;
    Ok(Request::Star { items, is_starred })
}
