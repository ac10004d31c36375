//! Interface of Miniflux, version 1.
//!
//! A star can only be toggled. So its state is read before it is changed.

use feedsync_reader_api::miniflux::{self, Request as Asked};
use feedsync_reader_api::{FeedName, FolderNumber, Stream};
use serde_json::Value;

use super::change::UnsignedRequest;
use super::facts::{Fact, Facts, Subject};
use super::form::{Filter, Form, List};
use super::key::Key;
use super::list::{Articles, array, gathered, number, put, put_number};
use super::overlay::{Overlay, State};
use super::{
    AUTHORIZATION, Call, ChangeKind, ChangeRequest, Operation, ReadRequest, Request, by_field,
};

/// Parameters that differ in each request.
const IGNORED_PARAMETERS: &[&str] = &["after", "changed_after", "published_after"];

/// Kinds of lists: a list of articles, and a single article.
const ENTRIES: u8 = 1;
const ENTRY: u8 = 2;

pub(super) fn read(request: &Request<'_>) -> Call {
    let credentials = by_field(request.headers, &[AUTHORIZATION, "x-auth-token"]);
    let operation = miniflux::read(&request.requested)
        .map_or(Operation::Other, |asks| operation(request, asks));
    Call { credentials, seq: 0, operation }
}

fn operation(request: &Request<'_>, asks: Asked) -> Operation {
    let all = |stream| {
        let filter = Filter::of_stream(&stream);
        write(request, ChangeKind::All { filter, up_to: None })
    };
    let form = match asks {
        Asked::Mark(marking) => {
            let articles = marking.articles.iter().map(|number| number.get()).collect();
            let (read, starred) = (marking.read, marking.starred);
            return write(request, ChangeKind::Mark { articles, read, starred, tags: Vec::new() });
        }
        Asked::ToggleStar(article) => {
            return write(
                request,
                ChangeKind::Toggle { articles: vec![article.get()], is_star: true },
            );
        }
        Asked::MarkAllRead { .. } => return all(Stream::All),
        Asked::MarkFeedRead(feed) => return all(Stream::Feed(FeedName::Number(feed))),
        Asked::MarkCategoryRead(folder) => return all(Stream::Folder(folder)),
        Asked::DeleteCategory(_) | Asked::DeleteFeed(_) => return write(request, ChangeKind::Edit),
        // Offline, a refresh cannot fetch anything new.
        Asked::Refresh(_) => return Operation::Transient(miniflux::done()),
        Asked::FlushHistory => return Operation::Transient(miniflux::accepted()),
        // The response needs no account, or needs data that only the server has.
        Asked::Version
        | Asked::Health
        | Asked::CreateCategory(_)
        | Asked::RenameCategory(..)
        | Asked::CreateFeed { .. }
        | Asked::UpdateFeed { .. }
        | Asked::Discover(_)
        | Asked::Import(_) => return Operation::Other,
        Asked::Entries(selection) => Form::List(List {
            kind: ENTRIES,
            filter: Filter::of(&selection),
            is_descending: selection.descending,
            above: None,
        }),
        Asked::Entry(_) => Form::List(List {
            kind: ENTRY,
            filter: Filter { is_narrow: true, ..Filter::default() },
            is_descending: true,
            above: None,
        }),
        Asked::Counters | Asked::Categories { .. } => Form::Counts,
        Asked::Me
        | Asked::Integrations
        | Asked::CategoryFeeds(_)
        | Asked::Feeds
        | Asked::Feed(_)
        | Asked::Icon(_)
        | Asked::Content(_)
        | Asked::Export => Form::Plain,
    };
    let key = Key::of(request.requested.path, &[request.requested.query], IGNORED_PARAMETERS);
    Operation::ReadRequest(ReadRequest { key, form, is_proof: true })
}

fn write(request: &Request<'_>, change_kind: ChangeKind) -> Operation {
    let answer = miniflux::done();
    Operation::ChangeRequest(ChangeRequest {
        change_kind,
        request: UnsignedRequest::of(&request.requested),
        answer,
    })
}

/// The request that marks these articles read.
pub(super) fn marks_read(articles: &[i64]) -> UnsignedRequest {
    UnsignedRequest {
        method: "PUT".to_owned(),
        path: "v1/entries".to_owned(),
        content_type: Some("application/json".to_owned()),
        body: serde_json::json!({ "entry_ids": articles, "status": "read" }).to_string(),
    }
}

pub(super) fn facts(form: &Form, body: &[u8]) -> Option<Facts> {
    if let Form::List(List { kind: ENTRIES | ENTRY, .. }) = form {
        let mut value: Value = serde_json::from_slice(body).ok()?;
        let articles = match form {
            Form::List(List { kind: ENTRIES, .. }) => ARTICLES.facts(array(&mut value, "entries")?),
            _ => vec![fact(&value)?],
        };
        return Some(Facts { articles, filed: Vec::new() });
    }
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    if *form == Form::Counts && value.is_null() {
        return None;
    }
    let filed = value.as_array().into_iter().flatten().filter_map(|feed| {
        let folder = feed["category"]["id"].as_i64()?;
        Some((Subject::feed(feed["id"].as_i64()?), category(folder)))
    });
    Some(Facts { articles: Vec::new(), filed: filed.collect() })
}

/// Folder of a category. The first category is for feeds in no folder.
fn category(number: i64) -> Subject {
    let is_top = number == miniflux::TOP;
    Subject::folder(if is_top { FolderNumber::TOP.get() } else { number })
}

pub(super) fn merged(
    form: &Form,
    body: &[u8],
    overlay: &Overlay,
    others: &[Vec<u8>],
) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    match form {
        Form::List(List { kind: ENTRY, .. }) => {
            if let Some(state) = number(&value["id"]).and_then(|id| overlay.state(id)) {
                set(&mut value, state);
            }
        }
        Form::List(list) => {
            let found = || gathered(others, |value| array(value, "entries"));
            let grown = ARTICLES.merge(array(&mut value, "entries")?, list, overlay, found);
            put_number(&mut value, "total", |total| total.saturating_add(grown).max(0));
        }
        _ => counts(&mut value, overlay),
    }
    serde_json::to_vec(&value).ok()
}

fn counts(value: &mut Value, overlay: &Overlay) {
    for category_shown in value.as_array_mut().into_iter().flatten() {
        let Some(folder) = number(&category_shown["id"]).map(category) else { continue };
        put_number(category_shown, "total_unread", |it| overlay.of_folder(folder, it));
    }
    let Some(unread) = value.get_mut("unreads").and_then(Value::as_object_mut) else { return };
    let mut grown = Vec::new();
    for (feed, count) in unread {
        let Some(before) = number(count) else { continue };
        let now = overlay.of_feed(Subject::feed(feed), before);
        *count = now.into();
        grown.push((feed.clone(), now.saturating_sub(before)));
    }
    let Some(read) = value.get_mut("reads") else { return };
    for (feed, grown) in grown {
        put_number(read, &feed, |before| before.saturating_sub(grown).max(0));
    }
}

const ARTICLES: Articles = Articles { fact, set, sort_key, made: |_| None };

fn fact(entry: &Value) -> Option<Fact> {
    Some(Fact {
        article: number(&entry["id"])?,
        feed: number(&entry["feed_id"]).map(Subject::feed),
        is_read: entry["status"].as_str().map(|status| status == "read"),
        is_starred: entry["starred"].as_bool(),
        ..Fact::default()
    })
}

fn set(entry: &mut Value, state: &State) {
    if let Some(is_read) = state.read {
        put(entry, "status", if is_read { "read" } else { "unread" });
    }
    if let Some(is_starred) = state.starred {
        put(entry, "starred", is_starred);
    }
}

fn sort_key(entry: &Value) -> (i64, String) {
    (0, entry["published_at"].as_str().unwrap_or_default().to_owned())
}

/// Whether an article is starred, according to the response.
pub(super) fn is_starred(body: &[u8]) -> Option<bool> {
    serde_json::from_slice::<Value>(body).ok()?["starred"].as_bool()
}
