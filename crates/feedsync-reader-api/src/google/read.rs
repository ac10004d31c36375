//! Parses requests by their path.

use feedsync_reading_state::SubscriptionList;

use super::edit;
use super::item_id::ItemId;
use super::stream::{READING_LIST, parse_stream};
use super::{Call, DEFAULT_COUNT, Listing, MAX_CONTENTS, MAX_IDS, Request, SignIn};
use crate::date::{instant, seconds};
use crate::fault::Fault;
use crate::marking::{MAX_REQUEST_ARTICLES, too_many};
use crate::parameters::Parameters;
use crate::raw_request::{RawRequest, decoded};
use crate::selection::{MAX_STREAMS, Selection, Span, Stream};
use crate::shown::ArticleNumber;

/// Prefixes that some newsreaders prepend to every path.
const PREFIXES: &[&str] = &["api/greader.php"];

const GET: &[&str] = &["GET"];
const POST: &[&str] = &["POST"];
const BOTH: &[&str] = &["GET", "POST"];

/// Parses a request.
pub fn read(raw_request: &RawRequest<'_>) -> Result<Call, Fault> {
    let path = raw_request.path_below(PREFIXES);
    if path.trim_end_matches('/') == "accounts/ClientLogin" {
        raw_request.only(POST)?;
        return Ok(Call { request: sign_in(&raw_request.parameters()?)?, token: None });
    }
    if let Some(stream) = path.strip_prefix("reader/atom/").filter(|stream| !stream.is_empty()) {
        raw_request.only(GET)?;
        let listing = listing(&decoded(stream)?, &raw_request.parameters()?)?;
        return Ok(Call { request: Request::Atom(listing), token: None });
    }
    let Some(path) = path.strip_prefix("reader/api/0/") else {
        return Err(raw_request.not_found());
    };
    if path.trim_end_matches('/') == "subscription/import" {
        raw_request.only(POST)?;
        return Ok(Call { request: Request::Import(list(raw_request.body)?), token: None });
    }
    let name = path.trim_end_matches('/');
    raw_request.only(methods(name).ok_or_else(|| raw_request.not_found())?)?;
    let parameters = raw_request.parameters()?;
    let listed = path.strip_prefix("stream/contents/").filter(|stream| !stream.is_empty());
    let request = match listed {
        Some(stream) => Request::Contents(listing(&decoded(stream)?, &parameters)?),
        None => request(name, &parameters)?.ok_or_else(|| raw_request.not_found())?,
    };
    let token = parameters.first("T").map(|token| token.to_owned().into());
    Ok(Call { request, token })
}

/// Supported methods of a path.
fn methods(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "subscription/edit"
        | "subscription/quickadd"
        | "rename-tag"
        | "disable-tag"
        | "edit-tag"
        | "mark-all-as-read" => POST,
        "token"
        | "user-info"
        | "subscription/list"
        | "subscription/export"
        | "tag/list"
        | "unread-count"
        | "preference/list"
        | "preference/stream/list"
        | "friend/list" => GET,
        name if name.starts_with("stream/") => BOTH,
        _ => return None,
    })
}

fn request(name: &str, parameters: &Parameters) -> Result<Option<Request>, Fault> {
    Ok(Some(match name {
        "token" => Request::Token,
        "user-info" => Request::UserInfo,
        "subscription/list" => Request::Subscriptions,
        "subscription/edit" => edit::subscription(parameters)?,
        "subscription/quickadd" => edit::quick_add(parameters)?,
        "subscription/export" => Request::Export,
        "tag/list" => Request::Tags,
        "rename-tag" => edit::rename_tag(parameters)?,
        "disable-tag" => edit::disable_tag(parameters)?,
        "edit-tag" => edit::edit_tag(parameters)?,
        "mark-all-as-read" => {
            let up_to = parameters.number("ts")?.filter(|at| *at > 0).map(instant);
            Request::MarkAllRead { stream: stream(parameters)?, up_to }
        }
        "unread-count" => Request::UnreadCounts,
        "stream/items/ids" => Request::Ids(selection(stream(parameters)?, parameters, MAX_IDS)?),
        "stream/items/contents" => Request::Items {
            articles: items(parameters)?,
            // Only Liferea sends this parameter, which has no other effect here.
            by_liferea: parameters.first("mediaRss") == Some("true"),
        },
        "stream/items/count" => Request::Count(stream(parameters)?),
        // Without a stream, all articles are listed, as with FreshRSS and The Old Reader.
        "stream/contents" => {
            let stream = parameters.first("s").unwrap_or(READING_LIST);
            Request::Contents(listing(stream, parameters)?)
        }
        "preference/list" => Request::Preferences,
        "preference/stream/list" => Request::StreamPreferences,
        "friend/list" => Request::Friends,
        _ => return Ok(None),
    }))
}

fn sign_in(parameters: &Parameters) -> Result<Request, Fault> {
    Ok(Request::SignIn(SignIn {
        name: parameters.needed("Email")?.to_owned(),
        password: parameters.needed("Passwd")?.to_owned().into(),
        is_json: parameters.first("output") == Some("json"),
    }))
}

fn list(body: &[u8]) -> Result<SubscriptionList, Fault> {
    SubscriptionList::read(body).map_err(|error| Fault::of("the list of subscriptions", error))
}

fn stream(parameters: &Parameters) -> Result<Stream, Fault> {
    let name = parameters.needed("s")?;
    if parameters.all("s").nth(1).is_some() {
        return Err(Fault::of("s", "only one stream can be read in a request"));
    }
    parse_stream(name).map_err(|error| Fault::of("s", error))
}

/// Parses the named articles.
pub(super) fn items(parameters: &Parameters) -> Result<Vec<ArticleNumber>, Fault> {
    let mut found = Vec::new();
    for id in parameters.all("i") {
        if found.len() == MAX_REQUEST_ARTICLES {
            return Err(too_many("i"));
        }
        let ItemId(number) = id.parse().map_err(|error| Fault::of("i", error))?;
        found.push(number);
    }
    if found.is_empty() { Err(Fault::Missing { name: "i" }) } else { Ok(found) }
}

/// Parses a list of the articles of a stream. A trailing slash of the name is ignored, except in an address.
fn listing(stream: &str, parameters: &Parameters) -> Result<Listing, Fault> {
    let is_address = stream.contains("://");
    let stream = if is_address { stream } else { stream.trim_end_matches('/') };
    let parsed = parse_stream(stream).map_err(|error| Fault::of("the stream", error))?;
    let selection = selection(parsed, parameters, MAX_CONTENTS)?;
    Ok(Listing { stream: stream.to_owned(), selection })
}

fn selection(stream: Stream, parameters: &Parameters, most: usize) -> Result<Selection, Fault> {
    let count = match parameters.number("n")? {
        Some(count) => usize::try_from(count).unwrap_or(most).min(most),
        None => DEFAULT_COUNT,
    };
    let from = parameters.first("c").map(str::parse).transpose();
    Ok(Selection {
        include: streams("it", parameters)?,
        exclude: streams("xt", parameters)?,
        received: Span {
            from: parameters.number("ot")?.map(seconds),
            to: parameters.number("nt")?.map(seconds),
        },
        descending: parameters.first("r") != Some("o"),
        from: from.map_err(|error| Fault::of("c", error))?,
        ..Selection::newest(stream, count)
    })
}

fn streams(name: &'static str, parameters: &Parameters) -> Result<Vec<Stream>, Fault> {
    let given = parameters.some(name, MAX_STREAMS)?.into_iter();
    given.map(|stream| parse_stream(stream).map_err(|error| Fault::of(name, error))).collect()
}
