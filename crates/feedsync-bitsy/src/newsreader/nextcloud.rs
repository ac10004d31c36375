//! Interface of Nextcloud News, version 1-2.

use feedsync_reader_api::nextcloud::{self, Request as Asked};
use serde_json::Value;

use super::change::UnsignedRequest;
use super::facts::{Fact, Facts, Subject};
use super::form::{Filter, Form, List};
use super::key::Key;
use super::list::{Articles, array, gathered, number, put_marks, put_number};
use super::overlay::{Overlay, State};
use super::{
    AUTHORIZATION, Call, ChangeKind, ChangeRequest, Operation, ReadRequest, Request, by_field,
};

/// Parameters that differ in each request.
const IGNORED_PARAMETERS: &[&str] = &["lastModified"];

pub(super) fn read(request: &Request<'_>) -> Call {
    let credentials = by_field(request.headers, &[AUTHORIZATION]);
    let operation = nextcloud::read(&request.requested)
        .map_or(Operation::Other, |asks| operation(request, asks));
    Call { credentials, seq: 0, operation }
}

fn operation(request: &Request<'_>, asks: Asked) -> Operation {
    let mut is_proof = true;
    let form = match asks {
        Asked::Mark(marking) => {
            let articles = marking.articles.iter().map(|number| number.get()).collect();
            let (read, starred) = (marking.read, marking.starred);
            return write(request, ChangeKind::Mark { articles, read, starred, tags: Vec::new() });
        }
        Asked::Star { items, is_starred } => {
            let named = items.into_iter().map(|item| {
                let names = item.names.iter().map(|text| name(text)).collect();
                (Subject::feed(item.feed), names)
            });
            return write(request, ChangeKind::Star { items: named.collect(), is_starred });
        }
        Asked::MarkRead { stream, up_to } => {
            let (filter, up_to) = (Filter::of_stream(&stream), Some(up_to.get()));
            return write(request, ChangeKind::All { filter, up_to });
        }
        Asked::RenameFolder(..)
        | Asked::DeleteFolder(_)
        | Asked::DeleteFeed(_)
        | Asked::MoveFeed(..)
        | Asked::RenameFeed(..) => return write(request, ChangeKind::Edit),
        // The response needs data that only the server has.
        Asked::CreateFolder(_) | Asked::CreateFeed { .. } => return Operation::Other,
        // Not every server requires credentials for these.
        Asked::Levels | Asked::Version | Asked::Status => {
            is_proof = false;
            Form::Plain
        }
        Asked::Items(selection) => {
            let mut filter = Filter::of(&selection);
            // A list of changes since a time may contain any articles.
            filter.is_narrow |= selection.changed.from.is_some();
            let is_descending = selection.descending;
            Form::List(List { kind: 1, filter, is_descending, above: None })
        }
        Asked::Feeds => Form::Counts,
        Asked::User | Asked::Folders => Form::Plain,
    };
    let requested = &request.requested;
    let body = std::str::from_utf8(requested.body).unwrap_or_default();
    let body = if requested.method == "GET" { body } else { "" };
    let key = Key::of(requested.path, &[requested.query, body], IGNORED_PARAMETERS);
    Operation::ReadRequest(ReadRequest { key, form, is_proof })
}

fn name(text: &str) -> Subject {
    Subject::of("name", text)
}

fn write(request: &Request<'_>, change_kind: ChangeKind) -> Operation {
    let answer = nextcloud::done();
    Operation::ChangeRequest(ChangeRequest {
        change_kind,
        request: UnsignedRequest::of(&request.requested),
        answer,
    })
}

/// The request that marks these articles read.
pub(super) fn marks_read(like: &UnsignedRequest, articles: &[i64]) -> UnsignedRequest {
    let end =
        ["feeds/", "folders/", "items/"].iter().filter_map(|part| like.path.rfind(part)).max();
    let prefix = &like.path[..end.unwrap_or_default()];
    UnsignedRequest {
        method: like.method.clone(),
        path: format!("{prefix}items/read/multiple"),
        content_type: Some("application/json".to_owned()),
        // The member has different names in versions 1-2 and 1-3.
        body: serde_json::json!({ "items": articles, "itemIds": articles }).to_string(),
    }
}

pub(super) fn facts(form: &Form, body: &[u8]) -> Option<Facts> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    Some(match form {
        Form::List(_) => {
            Facts { articles: ARTICLES.facts(array(&mut value, "items")?), filed: Vec::new() }
        }
        Form::Counts => {
            let filed = array(&mut value, "feeds")?.iter().filter_map(|feed| {
                let folder = number(&feed["folderId"]).unwrap_or_default();
                Some((Subject::feed(number(&feed["id"])?), Subject::folder(folder)))
            });
            Facts { articles: Vec::new(), filed: filed.collect() }
        }
        _ => Facts::default(),
    })
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
            let found = || gathered(others, |value| array(value, "items"));
            ARTICLES.merge(array(&mut value, "items")?, list, overlay, found);
        }
        Form::Counts => {
            for feed in array(&mut value, "feeds")? {
                let Some(subject) = number(&feed["id"]).map(Subject::feed) else { continue };
                put_number(feed, "unreadCount", |before| overlay.of_feed(subject, before));
            }
            put_number(&mut value, "starredCount", |before| overlay.starred(before));
        }
        _ => return Some(body.to_vec()),
    }
    serde_json::to_vec(&value).ok()
}

const ARTICLES: Articles = Articles { fact, set, sort_key, made: |_| None };

fn fact(item: &Value) -> Option<Fact> {
    Some(Fact {
        article: number(&item["id"])?,
        feed: number(&item["feedId"]).map(Subject::feed),
        is_read: item["unread"].as_bool().map(|is_unread| !is_unread),
        is_starred: item["starred"].as_bool(),
        names: [item["guidHash"].as_str().map(name), item["guid"].as_str().map(name)],
    })
}

fn set(item: &mut Value, state: &State) {
    put_marks(item, state, "starred");
}

fn sort_key(item: &Value) -> (i64, String) {
    (number(&item["id"]).unwrap_or_default(), String::new())
}
