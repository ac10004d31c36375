//! Interface of Tiny Tiny RSS.
//!
//! All requests have one address. Their bodies contain the operation, the session, and a number that the
//! response repeats.

use feedsync_reader_api::Selection;
use feedsync_reader_api::ttrss::{self, Request as Asked, Toggled};
use serde_json::{Map, Value, json};

use super::account::{RequestCredentials, SignIn};
use super::change::UnsignedRequest;
use super::facts::{Fact, Facts, Subject};
use super::form::{Filter, Form, List};
use super::key::Key;
use super::list::{Articles, array, counted, gathered, number, put_marks, put_number};
use super::overlay::{Overlay, State};
use super::{AUTHORIZATION, Call, ChangeKind, ChangeRequest, Operation, ReadRequest, Request};

/// Kinds of lists: numbers only, and whole articles. Other kinds depend on the requested members.
const NUMBERS: u8 = 1;
const WHOLE: u8 = 2;

pub(super) fn read(request: &Request<'_>) -> Call {
    let Ok(call) = ttrss::read(&request.requested) else {
        return Call {
            credentials: RequestCredentials::Anonymous,
            seq: 0,
            operation: Operation::Other,
        };
    };
    let credentials =
        call.session.map_or(RequestCredentials::Anonymous, RequestCredentials::Session);
    let operation = match call.request {
        Ok(asks) => operation(request, call.seq, asks),
        Err(_) => Operation::Other,
    };
    Call { credentials, seq: call.seq, operation }
}

fn operation(request: &Request<'_>, seq: i64, asks: Asked) -> Operation {
    let write = |change_kind, answer| {
        let request = without(request);
        Operation::ChangeRequest(ChangeRequest { change_kind, request, answer })
    };
    let form = match asks {
        Asked::Login { user, password } => {
            let besides = request.headers.get(AUTHORIZATION);
            let besides = besides.and_then(|value| value.to_str().ok()).map(str::to_owned);
            let password = password.as_str().to_owned();
            let sign_in = SignIn::Password { name: user, password, besides };
            return Operation::SignIn { sign_in, is_json: true };
        }
        Asked::Logout | Asked::UpdateFeed(_) => return Operation::Transient(ttrss::done(seq)),
        Asked::IsLoggedIn => return Operation::Transient(ttrss::is_logged_in(seq, true)),
        Asked::Mark(marking) => {
            let articles: Vec<i64> = marking.articles.iter().map(|number| number.get()).collect();
            let answer = ttrss::updated(seq, articles.len());
            let (read, starred) = (marking.read, marking.starred);
            // Other fields may be toggled, which is not safe to repeat.
            if read.or(starred).is_none() {
                return Operation::Other;
            }
            return write(ChangeKind::Mark { articles, read, starred, tags: Vec::new() }, answer);
        }
        Asked::Toggle { articles, toggled } => {
            let articles: Vec<i64> = articles.iter().map(|number| number.get()).collect();
            let answer = ttrss::updated(seq, articles.len());
            return write(
                ChangeKind::Toggle { articles, is_star: toggled == Toggled::Starred },
                answer,
            );
        }
        Asked::Catchup { stream, older_than } => {
            let mut filter = Filter::of_stream(&stream);
            filter.is_narrow |= older_than.is_some();
            return write(ChangeKind::All { filter, up_to: None }, ttrss::done(seq));
        }
        Asked::SetLabel { articles, .. } => {
            return write(ChangeKind::Edit, ttrss::updated(seq, articles.len()));
        }
        Asked::Unsubscribe(_) => return write(ChangeKind::Edit, ttrss::done(seq)),
        // The response needs data that only the server has.
        Asked::Subscribe { .. } => return Operation::Other,
        Asked::Headlines(requested) => {
            let told = [
                requested.show_content,
                requested.excerpt.is_some(),
                requested.include_attachments,
            ];
            let told = told.iter().fold(1, |all, is_told| all << 1 | u8::from(*is_told));
            listed(told << 2, &requested.selection)
        }
        Asked::CompactHeadlines(selection) => listed(NUMBERS, &selection),
        Asked::Articles(_) => {
            let filter = Filter { is_narrow: true, ..Filter::default() };
            Form::List(List { kind: WHOLE, filter, is_descending: true, above: None })
        }
        Asked::Unread(stream) => {
            let mut filter = Filter::of_stream(&stream);
            filter.is_narrow |= filter.is_starred.is_some();
            Form::Count(Filter { is_read: Some(false), ..filter })
        }
        Asked::Counters | Asked::Feeds(_) | Asked::Categories { .. } | Asked::Tree { .. } => {
            Form::Counts
        }
        Asked::ApiLevel | Asked::Version | Asked::Config | Asked::Pref | Asked::Labels { .. } => {
            Form::Plain
        }
    };
    Operation::ReadRequest(ReadRequest { key: key(request), form, is_proof: true })
}

fn listed(kind: u8, selection: &Selection) -> Form {
    let above = selection.above.map(|number| number.get());
    // The lower bound is applied when the response is shown again, so it is not part of the filter.
    let filter = Filter::of(&Selection { above: None, ..selection.clone() });
    Form::List(List { kind, filter, is_descending: selection.descending, above })
}

/// Members of the body, without credentials and sequence number.
fn members(request: &Request<'_>) -> Option<Map<String, Value>> {
    let mut members: Map<String, Value> = serde_json::from_slice(request.requested.body).ok()?;
    members.remove("sid");
    members.remove("seq");
    Some(members)
}

const IGNORED_PARAMETERS: [&str; 2] = ["sid", "seq"];

fn key(request: &Request<'_>) -> Key {
    let requested = &request.requested;
    match members(request) {
        Some(mut members) => {
            members.remove("since_id");
            let body = Value::Object(members).to_string();
            Key::hash([requested.path.trim_matches('/'), &*body])
        }
        None => {
            let body = std::str::from_utf8(requested.body).unwrap_or_default();
            Key::of(
                requested.path,
                &[requested.query, body],
                &[IGNORED_PARAMETERS[0], IGNORED_PARAMETERS[1], "since_id"],
            )
        }
    }
}

fn without(request: &Request<'_>) -> UnsignedRequest {
    let mut sending = UnsignedRequest::of(&request.requested);
    sending.body = match members(request) {
        Some(members) => Value::Object(members).to_string(),
        None => {
            let is_kept = |pair: &&str| {
                !IGNORED_PARAMETERS.contains(&pair.split('=').next().unwrap_or_default())
            };
            sending.body.split('&').filter(is_kept).collect::<Vec<_>>().join("&")
        }
    };
    sending
}

/// The body of a request with this session.
pub(super) fn with_session(body: &str, session: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(body) {
        Ok(mut members) => {
            members.insert("sid".to_owned(), session.into());
            Value::Object(members).to_string()
        }
        Err(_) => {
            let session: String =
                url::form_urlencoded::byte_serialize(session.as_bytes()).collect();
            format!("{body}&sid={session}")
        }
    }
}

/// The body of a sign-in request.
pub(super) fn login(name: &str, password: &str) -> String {
    json!({ "op": "login", "user": name, "password": password }).to_string()
}

/// The request that sets a field of articles: 0 is the star, 2 is unread.
pub(super) fn updates(
    like: &UnsignedRequest,
    articles: &[i64],
    field: u8,
    is_set: bool,
) -> UnsignedRequest {
    let numbers: Vec<String> = articles.iter().map(i64::to_string).collect();
    UnsignedRequest {
        body: json!({
            "op": "updateArticle",
            "article_ids": numbers.join(","),
            "field": field,
            "mode": u8::from(is_set),
        })
        .to_string(),
        content_type: Some("application/json".to_owned()),
        ..like.clone()
    }
}

/// Status in a response; 0 is success.
pub(super) fn status(body: &[u8]) -> Option<i64> {
    number(&serde_json::from_slice::<Value>(body).ok()?["status"])
}

/// The error in a response.
pub(super) fn error(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    (number(&value["status"]) != Some(0))
        .then(|| value["content"]["error"].as_str().unwrap_or_default().to_owned())
}

pub(super) fn session(status: u16, body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok().filter(|_| status == 200)?;
    let session = value["content"]["session_id"].as_str()?;
    (!session.is_empty()).then(|| session.to_owned())
}

pub(super) fn renumbered(body: Vec<u8>, seq: i64) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(&body) else { return body };
    if let Some(members) = value.as_object_mut() {
        members.insert("seq".to_owned(), seq.into());
    }
    serde_json::to_vec(&value).unwrap_or(body)
}

/// The articles of a response. A header may precede them.
fn articles(value: &mut Value) -> Option<&mut Vec<Value>> {
    let content = array(value, "content")?;
    let has_header = content.len() == 2 && content[1].is_array();
    if has_header { content[1].as_array_mut() } else { Some(content) }
}

pub(super) fn facts(form: &Form, body: &[u8]) -> Option<Facts> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    if number(&value["status"]) != Some(0) {
        return None;
    }
    if let Form::List(list) = form {
        let articles = articles(&mut value)?;
        let facts = if list.kind == NUMBERS { Vec::new() } else { ARTICLES.facts(articles) };
        return Some(Facts { articles: facts, filed: Vec::new() });
    }
    let feeds = value["content"].as_array().into_iter().flatten();
    let filed = feeds.filter_map(|feed| {
        let feed_number = number(&feed["id"]).filter(|number| *number > 0)?;
        Some((Subject::feed(feed_number), Subject::folder(number(&feed["cat_id"])?)))
    });
    Some(Facts { articles: Vec::new(), filed: filed.collect() })
}

pub(super) fn merged(
    form: &Form,
    body: &[u8],
    overlay: &Overlay,
    others: &[Vec<u8>],
) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    match form {
        Form::List(list) => {
            let found = || gathered(others, articles);
            let written = if list.kind == NUMBERS { NUMBERED } else { ARTICLES };
            written.merge(articles(&mut value)?, list, overlay, found);
        }
        Form::Count(filter) => {
            let content = value.get_mut("content")?;
            put_number(content, "unread", |before| counted(filter, before, overlay));
        }
        _ => {
            let content = value.get_mut("content")?;
            match content.get_mut("categories") {
                Some(tree) => branches(tree, overlay),
                None => {
                    let counted = content.as_array_mut().into_iter().flatten();
                    counted.for_each(|counted| count(counted, overlay));
                }
            }
        }
    }
    serde_json::to_vec(&value).ok()
}

/// Updates the count of a feed, category or counter. Its members tell which of these it is.
fn count(shown: &mut Value, overlay: &Overlay) {
    let is_category = shown.get("kind").is_some_and(|kind| kind == "cat")
        || shown.get("unread").is_some() && shown.get("cat_id").is_none();
    let is_all = shown["id"] == "global-unread";
    let id = number(&shown["id"]);
    let after = |before: i64| match id {
        _ if is_all => overlay.of_all(before),
        Some(id) if id >= 0 && is_category => overlay.of_folder(Subject::folder(id), before),
        Some(-4) => overlay.of_all(before),
        Some(id) if id > 0 => overlay.of_feed(Subject::feed(id), before),
        // Counts of starred, fresh or labelled articles cannot be told apart here.
        _ => before,
    };
    for name in ["unread", "counter"] {
        put_number(shown, name, after);
    }
}

fn branches(tree: &mut Value, overlay: &Overlay) {
    let mut waiting: Vec<&mut Value> = array(tree, "items").into_iter().flatten().collect();
    while let Some(branch) = waiting.pop() {
        let id = number(&branch["bare_id"]).unwrap_or_default();
        let is_category = branch["type"] == "category";
        put_number(branch, "unread", |before| match id {
            0.. if is_category => overlay.of_folder(Subject::folder(id), before),
            -4 => overlay.of_all(before),
            1.. => overlay.of_feed(Subject::feed(id), before),
            _ => before,
        });
        waiting.extend(array(branch, "items").into_iter().flatten());
    }
}

const ARTICLES: Articles = Articles { fact, set, sort_key, made: |_| None };

const NUMBERED: Articles = Articles {
    fact: |item| Some(Fact { article: number(&item["id"])?, ..Fact::default() }),
    set: |_, _| {},
    sort_key: |item| (number(&item["id"]).unwrap_or_default(), String::new()),
    made: |article| Some(json!({ "id": article })),
};

fn fact(headline: &Value) -> Option<Fact> {
    Some(Fact {
        article: number(&headline["id"])?,
        feed: number(&headline["feed_id"]).map(Subject::feed),
        is_read: headline["unread"].as_bool().map(|is_unread| !is_unread),
        is_starred: headline["marked"].as_bool(),
        ..Fact::default()
    })
}

fn set(headline: &mut Value, state: &State) {
    put_marks(headline, state, "marked");
}

fn sort_key(headline: &Value) -> (i64, String) {
    (number(&headline["updated"]).unwrap_or_default(), String::new())
}
