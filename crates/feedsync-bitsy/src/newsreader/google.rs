//! Interface of Google Reader.
//!
//! Sign-in returns a session. Requests send it in a header. Liferea sends it only in the parameter `T`, which
//! is otherwise the short-lived token of a write. A newsreader names with `ot` the time since when it
//! requests articles. That time differs in each request, so the stored response ignores it.

use feedsync_reader_api::google::{self, Call as Asks, ItemId, Request as Asked};
use feedsync_reader_api::{Selection, Stream};
use serde_json::{Value, json};

use super::account::{RequestCredentials, SignIn};
use super::change::UnsignedRequest;
use super::facts::{Fact, Facts, Subject};
use super::form::{Filter, Form, List};
use super::key::Key;
use super::list::{Articles, array, counted, gathered, number, put, put_number};
use super::overlay::{Overlay, State};
use super::{Call, ChangeKind, ChangeRequest, Operation, ReadRequest, Request, atom};

/// Parameters that differ in each request or contain credentials.
const IGNORED_PARAMETERS: &[&str] = &["T", "ck", "client", "ot", "async"];

/// Kinds of lists: articles with contents, streams in Atom, numbers only, and the variant for Liferea.
const CONTENTS: u8 = 1;
const ATOM: u8 = 2;
const NUMBERS: u8 = 3;
const LIFEREA: u8 = 4;

/// The category that Liferea checks for read articles. It must be the first.
const READ_BY_LIFEREA: &str = r"user/-/state\/com.google\/read";

const STATES: &str = "user/-/state/com.google/";

pub(super) fn read(request: &Request<'_>) -> Call {
    let requested = &request.requested;
    let session = request.headers.get(http::header::AUTHORIZATION);
    let session = session.and_then(|value| google::authorization(value.to_str().ok()?));
    let session = session.map(|token| token.to_owned().into());
    let Ok(Asks { request: asks, token }) = google::read(requested) else {
        return Call {
            credentials: session.map_or(RequestCredentials::Anonymous, RequestCredentials::Session),
            seq: 0,
            operation: Operation::Other,
        };
    };
    let credentials =
        session.or(token).map_or(RequestCredentials::Anonymous, RequestCredentials::Session);
    let operation = operation(request, asks);
    Call { credentials, seq: 0, operation }
}

fn operation(request: &Request<'_>, asks: Asked) -> Operation {
    let form = match asks {
        Asked::SignIn(given) => {
            let (name, password) = (given.name, given.password.as_str().to_owned());
            // The requests of this interface use the header that would otherwise be for a proxy in front of
            // the server.
            let sign_in = SignIn::Password { name, password, besides: None };
            return Operation::SignIn { sign_in, is_json: given.is_json };
        }
        // Only the server knows its token, but offline writes do not reach the server.
        Asked::Token => return Operation::Transient(google::token("offline")),
        Asked::Edit(_) | Asked::RenameTag { .. } | Asked::DisableTag(_) => {
            return write(request, ChangeKind::Edit);
        }
        Asked::Mark(marking) => {
            let tag = marking.tag.iter().map(|tag| (tag.as_str().to_owned(), true));
            let untag = marking.untag.iter().map(|tag| (tag.as_str().to_owned(), false));
            let tags = tag.chain(untag).collect();
            let articles = marking.articles.iter().map(|number| number.get()).collect();
            let (read, starred) = (marking.read, marking.starred);
            return write(request, ChangeKind::Mark { articles, read, starred, tags });
        }
        Asked::MarkAllRead { stream, .. } => {
            let mut filter = Filter::of_stream(&stream);
            // A label that is known as a folder is a folder.
            filter.is_narrow &= !matches!(stream, Stream::Label(_));
            return write(request, ChangeKind::All { filter, up_to: None });
        }
        // The response needs data that only the server has.
        Asked::QuickAdd(_) | Asked::Import(_) => return Operation::Other,
        Asked::UnreadCounts => Form::Counts,
        Asked::Contents(listing) => listed(CONTENTS, &listing.selection),
        Asked::Atom(listing) => listed(ATOM, &listing.selection),
        Asked::Ids(selection) => listed(NUMBERS, &selection),
        Asked::Items { by_liferea, .. } => {
            let kind = if by_liferea { LIFEREA } else { CONTENTS };
            listed(kind, &Selection { skip: 1, ..Selection::newest(Stream::All, 0) })
        }
        Asked::Count(stream) => Form::Count(Filter::of_stream(&stream)),
        Asked::Subscriptions
        | Asked::Tags
        | Asked::UserInfo
        | Asked::Export
        | Asked::Preferences
        | Asked::StreamPreferences
        | Asked::Friends => Form::Plain,
    };
    let requested = &request.requested;
    let body = std::str::from_utf8(requested.body).unwrap_or_default();
    let key = Key::of(requested.path, &[requested.query, body], IGNORED_PARAMETERS);
    Operation::ReadRequest(ReadRequest { key, form, is_proof: true })
}

fn listed(kind: u8, selection: &Selection) -> Form {
    let filter = Filter::of(selection);
    Form::List(List { kind, filter, is_descending: selection.descending, above: None })
}

fn write(request: &Request<'_>, change_kind: ChangeKind) -> Operation {
    let requested = &request.requested;
    let plain = |text: &str| {
        let pairs = text.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("T="));
        pairs.collect::<Vec<_>>().join("&")
    };
    let (query, body) = (plain(requested.query), String::from_utf8_lossy(requested.body));
    let path = requested.path.trim_start_matches('/');
    let request = UnsignedRequest {
        method: requested.method.to_owned(),
        path: if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") },
        content_type: requested.content_type.map(str::to_owned),
        body: plain(body.trim_end_matches(['\r', '\n'])),
    };
    Operation::ChangeRequest(ChangeRequest { change_kind, request, answer: google::done() })
}

/// The request that marks these articles read.
pub(super) fn marks_read(like: &UnsignedRequest, articles: &[i64]) -> UnsignedRequest {
    let prefix = like.path.split("reader/api/0/").next().unwrap_or_default();
    let mut body: String = articles.iter().map(|number| format!("i={}&", id(*number))).collect();
    body.push_str(&format!("a={STATES}read&r={STATES}kept-unread&ac=edit"));
    UnsignedRequest {
        method: "POST".to_owned(),
        path: format!("{prefix}reader/api/0/edit-tag"),
        content_type: Some("application/x-www-form-urlencoded".to_owned()),
        body,
    }
}

fn id(article: i64) -> ItemId {
    ItemId(feedsync_reader_api::ArticleNumber::new(article))
}

pub(super) fn facts(form: &Form, body: &[u8]) -> Option<Facts> {
    if let Form::List(list @ List { kind: ATOM, .. }) = form {
        return atom::facts(list, body);
    }
    if *form == Form::Plain || matches!(form, Form::Count(_)) {
        return Some(filed(body));
    }
    let mut value: Value = serde_json::from_slice(body).ok()?;
    let articles = match form {
        Form::List(List { kind: CONTENTS | LIFEREA, .. }) => {
            ARTICLES.facts(array(&mut value, "items")?)
        }
        Form::List(_) => {
            array(&mut value, "itemRefs")?;
            Vec::new()
        }
        _ => {
            array(&mut value, "unreadcounts")?;
            Vec::new()
        }
    };
    Some(Facts { articles, filed: Vec::new() })
}

/// The folders of feeds, if the response is a list of subscriptions.
fn filed(body: &[u8]) -> Facts {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let feeds = value["subscriptions"].as_array().into_iter().flatten();
    let pairs = feeds.flat_map(|feed| {
        let name = feed["id"].as_str().map(subject);
        let folders = feed["categories"].as_array().into_iter().flatten();
        let folders = folders.filter_map(|folder| label(folder["id"].as_str()?));
        folders.filter_map(move |folder| Some((name?, folder))).collect::<Vec<_>>()
    });
    Facts { articles: Vec::new(), filed: pairs.collect() }
}

/// Feed of a stream name, in any spelling.
fn subject(stream: &str) -> Subject {
    let parsed = google::parse_stream(stream).ok();
    let feed = parsed.and_then(|stream| Filter::of_stream(&stream).feed);
    feed.unwrap_or_else(|| Subject::feed(stream.strip_prefix("feed/").unwrap_or(stream)))
}

fn label(stream: &str) -> Option<Subject> {
    Filter::of_stream(&google::parse_stream(stream).ok()?).folder
}

pub(super) fn merged(
    form: &Form,
    body: &[u8],
    overlay: &Overlay,
    others: &[Vec<u8>],
) -> Option<Vec<u8>> {
    match form {
        Form::List(list @ List { kind: ATOM, .. }) => return atom::merged(list, body, overlay),
        Form::Count(filter) => {
            let before = std::str::from_utf8(body).ok()?.trim().replace(',', "").parse().ok()?;
            return Some(counted(filter, before, overlay).to_string().into_bytes());
        }
        _ => {}
    }
    let mut value: Value = serde_json::from_slice(body).ok()?;
    match form {
        Form::List(list @ List { kind: NUMBERS, .. }) => {
            REFERENCES.merge(array(&mut value, "itemRefs")?, list, overlay, Vec::new);
        }
        Form::List(list) => {
            let found = || gathered(others, |value| array(value, "items"));
            let written = if list.kind == LIFEREA { FOR_LIFEREA } else { ARTICLES };
            written.merge(array(&mut value, "items")?, list, overlay, found);
        }
        _ => {
            for count in array(&mut value, "unreadcounts")? {
                let stream = count["id"].as_str().unwrap_or_default().to_owned();
                put_number(count, "count", |before| unread(&stream, before, overlay));
            }
        }
    }
    serde_json::to_vec(&value).ok()
}

fn unread(stream: &str, before: i64, overlay: &Overlay) -> i64 {
    if stream.ends_with("/state/com.google/reading-list") {
        return overlay.of_all(before);
    }
    match label(stream) {
        Some(folder) => overlay.of_folder(folder, before),
        None if stream.starts_with("feed/") => overlay.of_feed(subject(stream), before),
        None => before,
    }
}

const ARTICLES: Articles = Articles { fact, set, sort_key, made: |_| None };

const FOR_LIFEREA: Articles = Articles {
    set: |item, state| {
        set(item, state);
        if let (Some(true), Some(categories)) = (state.read, array(item, "categories")) {
            categories.insert(0, READ_BY_LIFEREA.into());
        }
    },
    ..ARTICLES
};

const REFERENCES: Articles = Articles {
    fact: |item| Some(Fact { article: article(item)?, ..Fact::default() }),
    set: |_, _| {},
    // The time of arrival of a marked article is unknown here, but numbers grow with time.
    sort_key: |item| (article(item).unwrap_or_default(), String::new()),
    made: |article| Some(json!({ "id": article.to_string(), "directStreamIds": [] })),
};

fn article(item: &Value) -> Option<i64> {
    let ItemId(number) = item["id"].as_str()?.parse().ok()?;
    Some(number.get())
}

fn fact(item: &Value) -> Option<Fact> {
    let categories = item["categories"].as_array();
    let has = |state: &str| categories.map(|all| all.iter().any(|one| is_state(one, state)));
    Some(Fact {
        article: article(item)?,
        feed: item["origin"]["streamId"].as_str().map(subject),
        is_read: has("read"),
        is_starred: has("starred"),
        ..Fact::default()
    })
}

/// Whether a category is a state, of any user. Some servers write the number of the user, and Liferea gets
/// its own spelling.
fn is_state(category: &Value, state: &str) -> bool {
    let Some(name) = category.as_str() else { return false };
    let plain = if name == READ_BY_LIFEREA { "user/-/state/com.google/read" } else { name };
    plain.split_once("/state/com.google/").is_some_and(|(_, known)| known == state)
}

fn set(item: &mut Value, state: &State) {
    if let (Some(is_starred), true) = (state.starred, item.get("marked").is_some()) {
        put(item, "marked", is_starred);
    }
    let Some(categories) = array(item, "categories") else { return };
    let mut put = |names: &[&str], is_so: Option<bool>| {
        let Some(is_so) = is_so else { return };
        categories.retain(|one| !names.iter().any(|name| is_state(one, name)));
        if is_so {
            categories.push(format!("{STATES}{}", names[0]).into());
        }
    };
    put(&["read", "fresh"], state.read);
    put(&["starred"], state.starred);
    if state.read == Some(true) {
        put(&["kept-unread"], Some(false));
    }
    for (tag, is_added) in &state.tags {
        let is_it = |one: &Value| {
            one.as_str()
                .and_then(|name| name.split_once("/label/"))
                .is_some_and(|(_, known)| known == tag)
        };
        categories.retain(|one| !is_it(one));
        if *is_added {
            categories.push(format!("user/-/label/{tag}").into());
        }
    }
}

fn sort_key(item: &Value) -> (i64, String) {
    let crawled = number(&item["crawlTimeMsec"]).or_else(|| number(&item["published"]));
    (crawled.unwrap_or_default(), String::new())
}

pub(super) fn session(status: u16, body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok().filter(|_| status == 200)?;
    let line = text.lines().find_map(|line| line.strip_prefix("Auth="));
    let line = line.map(|token| token.trim().to_owned());
    let token = line.or_else(|| {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(value["Auth"].as_str()?.to_owned())
    });
    token.filter(|token| !token.is_empty())
}
