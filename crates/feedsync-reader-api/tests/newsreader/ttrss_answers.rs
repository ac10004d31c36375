//! Members that newsreaders read in the responses of Tiny Tiny RSS.

use crate::support::*;
use feedsync_reader_api::ttrss::{
    self, Category, FeedsRequest, LEVEL, Request, Subscribed, Unread,
};
use feedsync_reader_api::{FeedNumber, FolderNumber, RawResponse, Stream, Tags};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Parses a request, given by its operation and its members.
fn request(operation: &str, mut members: Value) -> Request {
    members["op"] = operation.into();
    let body = members.to_string();
    let call = ttrss::read(&asked("POST /api/", None, body.as_bytes())).unwrap();
    call.request.unwrap()
}

/// Content of a successful response.
fn content(answer: &RawResponse) -> Value {
    let mut answer = json(answer);
    assert_eq!((&answer["seq"], &answer["status"]), (&json!(3), &json!(0)));
    answer["content"].take()
}

fn tags() -> Tags {
    let tags: Vec<_> = ["later", "now"].map(|tag| tag.parse().unwrap()).into();
    Tags::new(&tags)
}

#[test]
fn feeds_and_categories_are_shown_as_newsreaders_need_them() {
    let (folders, feeds, tags) = (folders(), feeds(), tags());
    let number = folders.iter().next().unwrap().number;
    let counted: Vec<_> = tags.iter().cloned().zip([6, 0]).collect();
    let unread = Unread { starred: 1, fresh: 0, tags: &counted };
    let later = -1_025 - counted[0].0.number.get();
    let shown = |category, unread_only, offset, limit| {
        let asked = FeedsRequest { category, unread_only, offset, limit };
        let shown = content(&ttrss::feeds(3, &asked, &feeds, &unread));
        let numbers: Vec<i64> =
            shown.as_array().unwrap().iter().map(|feed| feed["id"].as_i64().unwrap()).collect();
        (shown[0].clone(), numbers)
    };
    let (full, numbers) = shown(Category::Feeds, false, 0, None);
    assert_eq!(numbers, [1, 2]);
    for (name, value) in [
        ("title", json!("A \"fine\" <feed> & more")),
        ("feed_url", json!("https://a.example/feed?x=1&y=2")),
        ("unread", json!(2)),
        ("has_icon", json!(true)),
        ("cat_id", json!(number)),
        ("last_updated", json!(1_795_330_900)),
    ] {
        assert_eq!(full[name], value, "{name}");
    }
    assert_eq!(shown(Category::Feeds, false, 1, Some(5)).1, [2]);
    assert_eq!(shown(Category::Folder(number), false, 0, None).1, [1]);
    assert_eq!(shown(Category::Folder(FolderNumber::TOP), false, 0, None).1, [2]);
    assert_eq!(shown(Category::Special, false, 0, None).1, [-4, -3, -1, -2, 0]);
    let (label, numbers) = shown(Category::Labels, true, 0, None);
    assert_eq!((&label["cat_id"], numbers), (&json!(-2), vec![later]));
    assert_eq!(shown(Category::All, true, 0, None).1, [later, -4, -1, 1, 2]);
    let categories = |flags| content(&ttrss::categories(3, flags, &feeds, &folders, &unread));
    let found = categories((false, false));
    let numbers: Vec<i64> =
        found.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [number.get(), 0, -2, -1]);
    assert_eq!((&found[0]["title"], &found[0]["unread"]), (&json!("News / Local"), &json!(2)));
    let none = Unread::default();
    let bare = content(&ttrss::categories(3, (true, true), &feeds[1..], &folders, &none));
    assert_eq!(bare.as_array().unwrap().len(), 1);
    let counters = content(&ttrss::counters(3, &feeds, &folders, &unread));
    let counter = |id: Value, kind: Value| {
        let mut found = counters.as_array().unwrap().iter();
        found.find(|one| one["id"] == id && one["kind"] == kind).unwrap()["counter"].clone()
    };
    assert_eq!(counter(json!("global-unread"), Value::Null), 5);
    assert_eq!(counter(json!(-1), Value::Null), 1);
    assert_eq!(counter(json!(later), Value::Null), 6);
    assert_eq!(counter(json!(2), Value::Null), 3);
    assert_eq!(counter(json!(number), json!("cat")), 2);
    let tree = content(&ttrss::tree(3, false, &feeds, &folders, &unread));
    let items = &tree["categories"]["items"];
    let branches: Vec<_> = items.as_array().unwrap().iter().map(|one| &one["bare_id"]).collect();
    assert_eq!(branches, [&json!(-1), &json!(-2), &json!(number), &json!(0)]);
    assert_eq!(items[2]["items"][0]["id"], "FEED:1");
    let labels = content(&ttrss::labels(3, &tags, &["later".parse().unwrap()]));
    let checked: Vec<_> =
        labels.as_array().unwrap().iter().map(|one| (&one["id"], &one["checked"])).collect();
    assert_eq!(checked[0], (&json!(later), &json!(true)));
    assert_eq!(checked[1].1, &json!(false));
}

#[test]
fn articles_are_shown_as_newsreaders_need_them() {
    let asked = |members: Value| match request("getHeadlines", members) {
        Request::Headlines(asked) => *asked,
        other => panic!("{other:?}"),
    };
    let plain = asked(json!({ "feed_id": 1 }));
    let found = content(&ttrss::headlines(3, &plain, &shown(), &feeds(), &tags()));
    for (name, value) in [
        ("id", json!(17)),
        ("guid", json!("urn:x:17")),
        ("feed_id", json!(1)),
        ("feed_title", json!("A \"fine\" <feed> & more")),
        ("title", json!("One & <b>two</b>")),
        ("link", json!("https://a.example/17?a=b&c=d")),
        ("author", json!("Somebody")),
        ("updated", json!(1_795_330_700)),
        ("unread", json!(false)),
        ("marked", json!(true)),
        ("published", json!(false)),
        ("tags", json!(["later"])),
        ("content", Value::Null),
        ("excerpt", Value::Null),
        ("attachments", Value::Null),
    ] {
        assert_eq!(found[0][name], value, "{name}");
    }
    assert_eq!(found[0]["labels"][0][1], "later");
    assert_eq!(found[1]["unread"], true);
    let all = asked(json!({
        "feed_id": 1, "show_content": 1, "show_excerpt": 1, "include_attachments": 1,
        "include_header": 1,
    }));
    let found = content(&ttrss::headlines(3, &all, &shown(), &feeds(), &tags()));
    assert_eq!(found[0], json!({ "id": "1", "first_id": 17, "is_cat": false }));
    let full = &found[1][0];
    assert_eq!(full["content"], "<p>What it \"says\" &amp; means</p>");
    assert_eq!(full["excerpt"], "What it \"says\" &amp; means");
    assert_eq!(full["attachments"][0]["content_type"], "audio/mpeg");
    assert_eq!(full["attachments"][0]["duration"], "");
    let mut podcast = shown();
    podcast[0].enclosures[0].duration = Some(3_601);
    let found = content(&ttrss::articles(3, &podcast, &feeds(), &Tags::new(&[])));
    assert_eq!(found[0]["attachments"][0]["duration"], "3601");
    let one = content(&ttrss::articles(3, &shown()[..1], &feeds(), &tags()));
    assert_eq!((&one[0]["content"], &one[0]["id"]), (&full["content"], &json!(17)));
}

#[test]
fn outcomes_are_reported_in_the_response() {
    let told = content(&ttrss::logged_in(3, "s1", "https://hub.example/icons", 2));
    assert_eq!((&told["session_id"], &told["api_level"]), (&json!("s1"), &json!(LEVEL)));
    assert_eq!(told["config"]["icons_url"], "https://hub.example/icons");
    assert_eq!(content(&ttrss::done(3)), json!({ "status": "OK" }));
    assert_eq!(content(&ttrss::updated(3, 2)), json!({ "status": "OK", "updated": 2 }));
    assert_eq!(content(&ttrss::is_logged_in(3, true)), json!({ "status": true }));
    assert_eq!(content(&ttrss::level(3)), json!({ "level": LEVEL }));
    assert_eq!(content(&ttrss::unread(3, 5)), json!({ "unread": "5" }));
    let numbers = ttrss::compact_headlines(3, articles(&[17, 18]));
    assert_eq!(content(&numbers), json!([{ "id": 17 }, { "id": 18 }]));
    assert_eq!(content(&ttrss::config(3, "i", 2))["num_feeds"], 2);
    let code = |outcome| content(&ttrss::subscribed(3, outcome))["status"]["code"].clone();
    let feed = FeedNumber::new(7);
    let outcomes = [
        Subscribed::Before(feed),
        Subscribed::Now(feed),
        Subscribed::NoFeed,
        Subscribed::Failed,
        Subscribed::Unreadable,
    ];
    assert_eq!(outcomes.map(code), [0, 1, 3, 5, 6]);
}

proptest! {
    /// A label is identified by the number of its feed, which has 32 bits.
    #[test]
    fn labels_come_back_by_their_feeds(names in prop::collection::vec("[a-z]{1,8}", 1..8)) {
        let tags: Vec<_> = names.iter().map(|name| name.parse().unwrap()).collect();
        let tags = Tags::new(&tags);
        let listed = content(&ttrss::labels(3, &tags, &[]));
        for (listed, shown) in listed.as_array().unwrap().iter().zip(tags.iter()) {
            prop_assert!(i32::try_from(listed["id"].as_i64().unwrap()).is_ok());
            let found = request("getUnread", json!({ "feed_id": listed["id"] }));
            let Request::Unread(Stream::NumberedTag(number)) = found else { panic!("{found:?}") };
            prop_assert_eq!(tags.find_by_number(number), Some(&shown.tag));
        }
    }
}
