//! Requests of Fever clients, and the members that they read in responses.

use std::collections::BTreeMap;

use crate::support::*;
use feedsync_log::Millis;
use feedsync_reader_api::fever::{
    self, Favicon, Items, MAX_ITEMS, Mark, Request, Response, not_signed_in,
};
use feedsync_reader_api::{
    ArticleNumber, Fault, FeedName, FeedNumber, FolderNumber, Marking, Order, Selection, Stream,
};
use proptest::prelude::*;
use serde_json::json;

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn read(line: &str, body: &str) -> fever::Call {
    fever::read(&asked(line, Some(FORM), body.as_bytes())).unwrap()
}

/// Parses parameters, which may be in the query and in the body.
fn try_request(parameters: &str) -> Result<Request, Fault> {
    let key = format!("api_key={KEY}");
    let in_query = read(&format!("POST /?api&{parameters}"), &key);
    assert_eq!(in_query.key.as_ref().map(|key| key.as_str()), Some(KEY));
    for (line, body) in [
        ("POST ?api", format!("{key}&{parameters}")),
        ("POST /fever.php?api", format!("{parameters}&{key}\r\n")),
        ("POST /api.php/", format!("{parameters}&{key}")),
    ] {
        assert_eq!(read(line, &body), in_query, "{line}");
    }
    in_query.request
}

fn request(parameters: &str) -> Request {
    try_request(parameters).unwrap_or_else(|fault| panic!("{parameters}: {fault}"))
}

fn items(parameters: &str) -> Items {
    request(parameters).items.unwrap()
}

fn by_number(above: Option<i64>, below: Option<i64>, descending: bool) -> Items {
    Items::Selected(Box::new(Selection {
        above: above.map(|number| articles(&[number])[0]),
        below: below.map(|number| articles(&[number])[0]),
        order: Order::Number,
        descending,
        ..Selection::newest(Stream::All, MAX_ITEMS)
    }))
}

#[test]
fn every_list_can_be_requested_alone_or_with_others() {
    let none = Request::default();
    assert_eq!(request(""), none);
    assert_eq!(request("groups"), Request { groups: true, ..none.clone() });
    assert_eq!(request("feeds="), Request { feeds: true, ..none.clone() });
    assert_eq!(request("favicons"), Request { favicons: true, ..none.clone() });
    assert_eq!(request("links&offset=0&range=7&page=1"), Request { links: true, ..none.clone() });
    assert_eq!(request("unread_item_ids"), Request { unread_ids: true, ..none.clone() });
    assert_eq!(request("saved_item_ids"), Request { saved_ids: true, ..none.clone() });
    // This server does not know when an article was read.
    assert_eq!(request("unread_recently_read=1"), Request { unread_ids: true, ..none.clone() });
    let all = "groups&feeds&favicons&items&links&unread_item_ids&saved_item_ids";
    assert_eq!(
        request(all),
        Request {
            mark: None,
            groups: true,
            feeds: true,
            favicons: true,
            items: Some(by_number(None, None, false)),
            links: true,
            unread_ids: true,
            saved_ids: true,
        }
    );
}

#[test]
fn items_are_selected_by_number() {
    assert_eq!(items("items&since_id=0"), by_number(Some(0), None, false));
    assert_eq!(items("items&since_id=17&since_id=3"), by_number(Some(17), None, false));
    assert_eq!(items("items&max_id=17"), by_number(None, Some(17), true));
    assert_eq!(items("items&max_id=0"), by_number(None, None, true));
    assert_eq!(items("items&since_id=3&max_id=9"), by_number(Some(3), Some(9), false));
    let huge = "99999999999999999999999";
    assert_eq!(items(&format!("items&since_id={huge}")), by_number(Some(i64::MAX), None, false));
    assert_eq!(items("items&since_id=-5"), by_number(Some(-5), None, false));
    assert_eq!(items("items&with_ids=3,1,%202,,3"), Items::Numbered(articles(&[3, 1, 2])));
    let many: Vec<String> = (0..9_000).map(|number: u32| number.to_string()).collect();
    let Items::Numbered(found) = items(&format!("items&with_ids={}", many.join(","))) else {
        panic!("not a list");
    };
    assert_eq!(found.len(), MAX_ITEMS);
}

#[test]
fn marks_request_the_list_that_they_change() {
    for (deed, marking) in [
        ("read", Marking::read(articles(&[17]), true)),
        ("unread", Marking::read(articles(&[17]), false)),
        ("saved", Marking::starred(articles(&[17]), true)),
        ("unsaved", Marking::starred(articles(&[17]), false)),
    ] {
        let is_read = marking.read.is_some();
        assert_eq!(
            request(&format!("mark=item&as={deed}&id=17")),
            Request {
                mark: Some(Mark::Article(marking)),
                unread_ids: is_read,
                saved_ids: !is_read,
                ..Request::default()
            }
        );
    }
    for (kind, id, stream) in [
        ("feed", 7, Stream::Feed(FeedName::Number(FeedNumber::new(7)))),
        ("group", 2_000, Stream::Folder(FolderNumber::new(2_000))),
        ("group", 0, Stream::All),
        ("group", -1, Stream::Nothing),
    ] {
        for (before, up_to) in [
            ("", None),
            ("&before=", None),
            ("&before=1795330800", Some(Millis::new(1_795_330_800_000))),
            ("&before=99999999999999999999", Some(Millis::MAX)),
        ] {
            assert_eq!(
                request(&format!("mark={kind}&as=read&id={id}{before}")),
                Request {
                    mark: Some(Mark::Stream { stream: stream.clone(), up_to }),
                    unread_ids: true,
                    ..Request::default()
                }
            );
        }
    }
}

#[test]
fn invalid_parameters_are_named() {
    for (parameters, fault) in [
        ("items&since_id=x", "since_id: not a number"),
        ("items&max_id=1.5", "max_id: not a number"),
        ("items&with_ids=1,x", "with_ids: not a number"),
        ("items&with_ids=--1", "with_ids: not a number"),
        ("mark=item&id=1", "as: the parameter is missing"),
        ("mark=item&as=read", "id: the parameter is missing"),
        ("mark=item&as=read&id=one", "id: not a number"),
        ("mark=item&as=liked&id=1", "as: must be read, unread, saved or unsaved"),
        ("mark=feed&as=unread&id=1", "as: must be read for a feed or a group"),
        ("mark=group&as=saved&id=1", "as: must be read for a feed or a group"),
        ("mark=group&as=read&id=1&before=-1", "before: not a number"),
        ("mark=all&as=read&id=1", "mark: must be item, feed or group"),
    ] {
        let found = try_request(parameters).map_err(|fault| fault.to_string());
        assert_eq!(found, Err(fault.to_owned()), "{parameters}");
    }
    let path = fever::read(&asked("POST /other.php", None, b"")).unwrap_err();
    assert_eq!(path.status(), 404);
    assert_eq!(fever::read(&asked("PUT /", None, b"")).unwrap_err().status(), 405);
    let call = fever::read(&asked("POST /", Some("application/json"), b"{}")).unwrap();
    assert!(call.key.is_none() && call.request.is_err());
}

#[test]
fn get_requests_have_no_key_and_no_effect() {
    let line = format!("GET /?api&api_key={KEY}&mark=item&as=read&id=1&items");
    let call = read(&line, "");
    assert_eq!((call.key, call.request), (None, Ok(Request::default())));
}

#[test]
fn responses_have_the_members_that_clients_read() {
    assert_eq!(json(&not_signed_in()), json!({"api_version": 3, "auth": 0}));
    let feeds = feeds();
    let folder = folders().iter().next().unwrap().number;
    let icons = BTreeMap::from([(FeedNumber::new(1), FeedNumber::new(1))]);
    let icon = Favicon {
        number: FeedNumber::new(1),
        media_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
    };
    let answer = Response::new(&feeds)
        .groups(&folders(), &feeds)
        .feeds(&feeds, &icons)
        .favicons(&[icon])
        .items(&shown(), 40)
        .links()
        .unread(articles(&[18, 5]).into_iter())
        .saved(articles(&[17]).into_iter())
        .finish();
    assert_eq!(answer.status, 200);
    assert_eq!(
        json(&answer),
        json!({
            "api_version": 3,
            "auth": 1,
            "last_refreshed_on_time": 1_795_330_900,
            "groups": [{"id": folder, "title": "News / Local"}],
            "feeds_groups": [{"group_id": folder, "feed_ids": "1"}],
            "feeds": [
                {
                    "id": 1,
                    "favicon_id": 1,
                    "title": "A \"fine\" <feed> & more",
                    "url": "https://a.example/feed?x=1&y=2",
                    "site_url": "https://a.example/",
                    "is_spark": 0,
                    "last_updated_on_time": 1_795_330_800,
                },
                {
                    "id": 2,
                    "favicon_id": 0,
                    "title": "https://b.example/feed",
                    "url": "https://b.example/feed",
                    "site_url": "https://b.example/feed",
                    "is_spark": 0,
                    "last_updated_on_time": 0,
                },
            ],
            "favicons": [{"id": 1, "data": "image/png;base64,AAAA"}],
            "total_items": 40,
            "items": [
                {
                    "id": 17,
                    "feed_id": 1,
                    "title": "One & <b>two</b>",
                    "author": "Somebody",
                    "html": "<p>What it \"says\" &amp; means</p>",
                    "url": "https://a.example/17?a=b&c=d",
                    "is_saved": 1,
                    "is_read": 1,
                    "created_on_time": 1_795_330_700,
                },
                {
                    "id": 18,
                    "feed_id": 3,
                    "title": "",
                    "author": "",
                    "html": "",
                    "url": "",
                    "is_saved": 0,
                    "is_read": 0,
                    "created_on_time": 0,
                },
            ],
            "links": [],
            "unread_item_ids": "18,5",
            "saved_item_ids": "17",
        })
    );
    let empty = Response::new(&[]).unread(std::iter::empty()).error("id: not a number").finish();
    assert_eq!(
        json(&empty),
        json!({
            "api_version": 3,
            "auth": 1,
            "last_refreshed_on_time": 0,
            "unread_item_ids": "",
            "error": "id: not a number",
        })
    );
}

proptest! {
    #[test]
    fn lists_of_articles_are_bounded(
        numbers in prop::collection::vec(any::<i64>(), 0..200),
        since in prop::option::of(any::<i64>()),
        max in prop::option::of(any::<i64>()),
    ) {
        let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        if let Ok(Request { items: Some(Items::Numbered(found)), .. }) =
            try_request(&format!("items&with_ids={}", words.join(",")))
        {
            prop_assert!(found.len() <= MAX_ITEMS);
            let is_named = |one: &ArticleNumber| {
                numbers.iter().any(|number| one.get() == (*number).max(-i64::MAX))
            };
            prop_assert!(found.iter().all(is_named));
        }
        let bound = |name: &str, number: Option<i64>| {
            number.map_or(String::new(), |number| format!("&{name}={number}"))
        };
        let range = format!("items{}{}", bound("since_id", since), bound("max_id", max));
        match items(&range) {
            Items::Selected(selection) => prop_assert_eq!(selection.count, MAX_ITEMS),
            Items::Numbered(_) => prop_assert!(false, "{}", range),
        }
    }
}
