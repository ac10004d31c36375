//! Recorded requests of newsreaders to Miniflux, and the members that they read in responses.

use crate::support::*;
use feedsync_log::Millis;
use feedsync_reader_api::miniflux::{self, RefreshTarget, Request, TOP, User};
use feedsync_reader_api::{
    Fault, FeedName, FeedNumber, FolderNumber, Label, MAX_REQUEST_ARTICLES, Marking, Order,
    Selection, Span, Stream,
};
use serde_json::json;

fn try_request(line: &str, body: &str) -> Result<Request, Fault> {
    miniflux::read(&asked(line, Some("application/json"), body.as_bytes()))
}

fn request(line: &str, body: &str) -> Request {
    try_request(line, body).unwrap()
}

fn feed(number: i64) -> FeedNumber {
    FeedNumber::new(number)
}

fn of_feed(number: i64) -> Stream {
    Stream::Feed(FeedName::Number(feed(number)))
}

fn label(name: &str) -> Label {
    name.parse().unwrap()
}

const NEWS: FolderNumber = FolderNumber::new(2_000);

#[test]
fn newsboat_asks_for_categories_feeds_and_entries() {
    let counts = |with_counts| Request::Categories { with_counts };
    assert_eq!(request("GET /v1/categories", ""), counts(false));
    assert_eq!(request("GET /v1/categories?counts=true", ""), counts(true));
    assert_eq!(request("GET /v1/feeds", ""), Request::Feeds);
    let entries = request("GET /v1/feeds/7/entries?order=published_at&direction=desc", "");
    let selection = Selection { order: Order::Published, ..Selection::newest(of_feed(7), 100) };
    assert_eq!(entries, Request::Entries(selection));
    for (status, is_read) in [("read", true), ("unread", false)] {
        let body = format!(r#"{{"entry_ids":[17,18],"status":"{status}"}}"#);
        let marked = request("PUT /v1/entries", &body);
        assert_eq!(marked, Request::Mark(Marking::read(articles(&[17, 18]), is_read)));
    }
    let done = miniflux::done();
    assert_eq!((done.status, done.media_type, text(&done)), (204, None, ""));
}

#[test]
fn entries_are_selected_in_many_ways() {
    let line = "GET /v1/entries?status=unread&starred=true&feed_id=7&category_id=1&search=a+b\
                &limit=30&offset=60&before_entry_id=50&after_entry_id=40&order=id&tags=later\
                &published_after=10&published_before=20&changed_after=30&changed_before=40";
    let published = Span { from: Some(Millis::new(10_001)), to: Some(Millis::new(19_999)) };
    let changed = Span { from: Some(Millis::new(30_001)), to: Some(Millis::new(39_999)) };
    let found = Selection {
        include: vec![
            Stream::Folder(FolderNumber::TOP),
            Stream::Unread,
            Stream::Starred,
            Stream::Tag("later".parse().unwrap()),
        ],
        published,
        changed,
        above: Some(articles(&[40])[0]),
        below: Some(articles(&[50])[0]),
        search: Some("a b".to_owned()),
        order: Order::Number,
        descending: false,
        skip: 60,
        ..Selection::newest(of_feed(7), 30)
    };
    assert_eq!(request(line, ""), Request::Entries(found));
    let selection = |query: &str| match request(&format!("GET /v1/entries?{query}"), "") {
        Request::Entries(selection) => selection,
        other => panic!("{other:?}"),
    };
    let plain = Selection {
        order: Order::Published,
        descending: false,
        ..Selection::newest(Stream::All, 100)
    };
    for query in ["", "status=read&status=unread", "before=0&limit=100", "starred=&category_id=0"] {
        assert_eq!(selection(query), plain, "{query}");
    }
    let old = selection("after=10&before=20");
    assert_eq!((old.published, old.changed), (published, Span::default()));
    assert_eq!(selection("status=read").stream, Stream::Read);
    assert_eq!(selection("status=removed").stream, Stream::Nothing);
    assert_eq!(selection("starred=false").exclude, [Stream::Starred]);
    assert_eq!(selection("limit=5000").count, miniflux::MAX_ENTRIES);
    for (order, found) in [
        ("status", Order::Status),
        ("created_at", Order::Received),
        ("changed_at", Order::Changed),
        ("category_title", Order::FolderName),
        ("category_id", Order::Folder),
        ("title", Order::Title),
        ("author", Order::Author),
    ] {
        assert_eq!(selection(&format!("order={order}&direction=asc")).order, found);
    }
    let Request::Entries(filed) = request("GET /v1/categories/2000/entries?status=unread", "")
    else {
        panic!()
    };
    assert_eq!((filed.stream, filed.include), (Stream::Folder(NEWS), vec![Stream::Unread]));
}

#[test]
fn every_resource_has_its_request() {
    let address = || "https://a.example/feed".parse().unwrap();
    let filed = |folder| Request::CreateFeed { address: address(), folder };
    let update = |title: Option<&str>, folder, address| {
        let title = title.map(|title| title.parse().unwrap());
        Request::UpdateFeed { feed: feed(7), title, folder, address }
    };
    let url = r#"{"url":"https://a.example/feed"}"#;
    let feed_url = r#"{"feed_url":"https://a.example/feed","category_id":2000}"#;
    for (line, body, asked) in [
        ("GET /v1/me", "", Request::Me),
        ("GET /v1/version", "", Request::Version),
        ("GET /version", "", Request::Version),
        ("GET /healthcheck", "", Request::Health),
        ("GET /v1/integrations/status", "", Request::Integrations),
        ("POST /v1/categories", r#"{"title":"A / B"}"#, Request::CreateCategory(label("A / B"))),
        ("PUT /v1/categories/2000", r#"{"title":"B"}"#, Request::RenameCategory(NEWS, label("B"))),
        ("DELETE /v1/categories/2000", "", Request::DeleteCategory(NEWS)),
        ("PUT /v1/categories/2000/mark-all-as-read", "", Request::MarkCategoryRead(NEWS)),
        ("PUT /v1/categories/1/mark-all-as-read", "", Request::MarkCategoryRead(FolderNumber::TOP)),
        ("GET /v1/categories/2000/feeds", "", Request::CategoryFeeds(NEWS)),
        ("PUT /v1/categories/2000/refresh", "", Request::Refresh(RefreshTarget::Folder(NEWS))),
        ("GET /v1/categories/2000/entries/17", "", Request::Entry(articles(&[17])[0])),
        ("GET /v1/feeds/7", "", Request::Feed(feed(7))),
        ("POST /v1/feeds", feed_url, filed(NEWS)),
        ("POST /v1/feeds", &feed_url.replace("2000", "0"), filed(FolderNumber::TOP)),
        ("POST /v1/feeds", r#"{"feed_url":"https://a.example/feed"}"#, filed(FolderNumber::TOP)),
        (
            "PUT /v1/feeds/7",
            r#"{"title":"T","category_id":1}"#,
            update(Some("T"), Some(FolderNumber::TOP), None),
        ),
        ("PUT /v1/feeds/7", feed_url, update(None, Some(NEWS), Some(address()))),
        ("PUT /v1/feeds/7", r#"{"crawler":true,"title":null}"#, update(None, None, None)),
        ("DELETE /v1/feeds/7", "", Request::DeleteFeed(feed(7))),
        ("PUT /v1/feeds/7/refresh", "", Request::Refresh(RefreshTarget::Feed(feed(7)))),
        ("PUT /v1/feeds/refresh", "", Request::Refresh(RefreshTarget::All)),
        ("PUT /v1/feeds/7/mark-all-as-read", "", Request::MarkFeedRead(feed(7))),
        ("GET /v1/feeds/counters", "", Request::Counters),
        ("GET /v1/feeds/7/icon", "", Request::Icon(feed(7))),
        ("GET /v1/icons/7", "", Request::Icon(feed(7))),
        ("GET /v1/feeds/7/entries/17", "", Request::Entry(articles(&[17])[0])),
        ("POST /v1/discover", url, Request::Discover(address())),
        ("GET /v1/entries/17", "", Request::Entry(articles(&[17])[0])),
        ("GET /v1/entries/17/fetch-content", "", Request::Content(articles(&[17])[0])),
        ("PUT /v1/entries/17/bookmark", "", Request::ToggleStar(articles(&[17])[0])),
        ("PUT /v1/users/5/mark-all-as-read", "", Request::MarkAllRead { user: 5 }),
        ("GET /v1/export", "", Request::Export),
        ("PUT /v1/flush-history", "", Request::FlushHistory),
    ] {
        assert_eq!(request(line, body), asked, "{line} {body}");
    }
    let opml = r#"<opml><body><outline text="A" xmlUrl="https://a.example/feed"/></body></opml>"#;
    let Request::Import(list) = request("POST /v1/import", opml) else { panic!() };
    assert_eq!(list.feeds[0].address, address());
}

#[test]
fn faults_name_the_invalid_part() {
    for (line, body, status, fault) in [
        ("GET /v1/nothing", "", 404, "no resource has the path \"/v1/nothing\""),
        ("GET /v1/feeds/x", "", 404, "no resource has the path \"/v1/feeds/x\""),
        ("GET /v1/feeds/-7", "", 404, "no resource has the path \"/v1/feeds/-7\""),
        (
            "GET /v1/feeds/7/entries/17/x",
            "",
            404,
            "no resource has the path \"/v1/feeds/7/entries/17/x\"",
        ),
        ("POST /v1/entries", "", 405, "method not allowed; use GET, PUT"),
        ("GET /v1/entries/17/bookmark", "", 405, "method not allowed; use PUT"),
        ("PUT /v1/entries/17", "", 405, "method not allowed; use GET"),
        ("GET /v1/entries?status=new", "", 400, "status: must be read, unread or removed"),
        ("GET /v1/entries?order=size", "", 400, "order: articles cannot be sorted by this field"),
        ("GET /v1/entries?direction=up", "", 400, "direction: must be asc or desc"),
        ("GET /v1/entries?limit=-1", "", 400, "limit: not a number"),
        ("GET /v1/entries?starred=maybe", "", 400, "starred: must be true or false"),
        ("PUT /v1/entries", "{", 400, "the body, line 1, column 1: EOF while parsing an object"),
        ("PUT /v1/entries", "", 400, "entry_ids: the parameter is missing"),
        ("PUT /v1/entries", r#"{"entry_ids":[]}"#, 400, "entry_ids: the parameter is missing"),
        ("PUT /v1/entries", r#"{"entry_ids":["a"]}"#, 400, "entry_ids: not a number"),
        ("PUT /v1/entries", r#"{"entry_ids":[1]}"#, 400, "status: the parameter is missing"),
        (
            "PUT /v1/entries",
            r#"{"entry_ids":[1],"status":"removed"}"#,
            400,
            "status: articles cannot be removed",
        ),
        (
            "POST /v1/categories",
            r#"{"title":"  "}"#,
            400,
            "title: a label must have 1 to 8240 bytes, must not be blank, and must not have \
             control characters",
        ),
        (
            "POST /v1/feeds",
            r#"{"feed_url":"a"}"#,
            400,
            "feed_url: the address of a feed must begin with http:, https: or feed:, such as \
             https://example.org/feed",
        ),
        (
            "POST /v1/discover",
            "[]",
            400,
            "the body, line 1, column 0: invalid type: sequence, expected a map",
        ),
    ] {
        let found = try_request(line, body).unwrap_err();
        assert_eq!((found.status(), &*found.to_string()), (status, fault), "{line} {body}");
    }
    let many = vec!["1"; MAX_REQUEST_ARTICLES + 1].join(",");
    let body = format!(r#"{{"entry_ids":[{many}],"status":"read"}}"#);
    let fault = try_request("PUT /v1/entries", &body).unwrap_err();
    assert_eq!(fault.to_string(), "entry_ids: a request can name at most 10000 articles");
    let refused = miniflux::refuse(400, "why");
    assert_eq!((refused.status, json(&refused)), (400, json!({ "error_message": "why" })));
    assert_eq!(miniflux::unknown().status, 404);
}

#[test]
fn categories_and_feeds_are_shown_as_newsreaders_need_them() {
    let number = folders().iter().next().unwrap().number;
    let plain = json(&miniflux::categories(5, &folders(), None));
    assert_eq!(
        plain,
        json!([
            { "id": TOP, "user_id": 5, "title": "All", "hide_globally": false },
            { "id": number, "user_id": 5, "title": "News / Local", "hide_globally": false },
        ])
    );
    let counted = json(&miniflux::categories(5, &folders(), Some(&feeds())));
    let counts = |place: usize| {
        (counted[place]["feed_count"].as_u64(), counted[place]["total_unread"].as_u64())
    };
    assert_eq!((counts(0), counts(1)), ((Some(1), Some(3)), (Some(1), Some(2))));
    let made = miniflux::category(5, folders().iter().next().unwrap());
    assert_eq!((made.status, &json(&made)["id"]), (201, &json!(number)));
    let shown = json(&miniflux::feeds(5, &feeds()));
    let full = &shown[0];
    assert_eq!((&full["id"], &full["category"]["id"]), (&json!(1), &json!(number)));
    assert_eq!(full["feed_url"], "https://a.example/feed?x=1&y=2");
    assert_eq!(full["site_url"], "https://a.example/");
    assert_eq!(full["checked_at"], "2026-11-22T07:01:40Z");
    assert_eq!(full["parsing_error_message"], "it is away");
    assert_eq!(full["parsing_error_count"], 4);
    assert_eq!(full["icon"], json!({ "feed_id": 1, "icon_id": 1 }));
    assert_eq!((&shown[1]["icon"], &shown[1]["category"]["id"]), (&json!(null), &json!(TOP)));
    assert_eq!(miniflux::feed(5, &feeds()[0], true).status, 201);
    assert_eq!(json(&miniflux::feed(5, &feeds()[0], false)), *full);
    assert_eq!(json(&miniflux::created(feed(7))), json!({ "feed_id": 7 }));
    assert_eq!(
        json(&miniflux::counters([(feed(1), 5, 2)])),
        json!({ "reads": { "1": 5 }, "unreads": { "1": 2 } })
    );
    assert_eq!(
        json(&miniflux::icon(feed(1), "image/png", "AAAA")),
        json!({ "id": 1, "mime_type": "image/png", "data": "image/png;base64,AAAA" })
    );
    let found = json(&miniflux::discovered([["A", "https://a.example/feed", "atom"]]));
    assert_eq!(found, json!([{ "title": "A", "url": "https://a.example/feed", "type": "atom" }]));
    let me = User { number: 5, name: "me".to_owned(), is_administrator: false };
    assert_eq!(json(&miniflux::user(&me))["username"], "me");
}

#[test]
fn entries_are_shown_as_newsreaders_need_them() {
    let found = json(&miniflux::entries(5, 30, &shown(), &feeds()));
    assert_eq!(found["total"], 30);
    let full = &found["entries"][0];
    for (name, value) in [
        ("id", json!(17)),
        ("feed_id", json!(1)),
        ("status", json!("read")),
        ("title", json!("One & <b>two</b>")),
        ("url", json!("https://a.example/17?a=b&c=d")),
        ("author", json!("Somebody")),
        ("content", json!("<p>What it \"says\" &amp; means</p>")),
        ("published_at", json!("2026-11-22T06:58:20Z")),
        ("created_at", json!("2026-11-22T07:00:00Z")),
        ("changed_at", json!("2026-11-22T07:00:50Z")),
        ("starred", json!(true)),
        ("reading_time", json!(1)),
        ("tags", json!(["later"])),
    ] {
        assert_eq!(full[name], value, "{name}");
    }
    assert_eq!(full["feed"]["title"], "A \"fine\" <feed> & more");
    assert_eq!(full["hash"].as_str().map(str::len), Some(64));
    let media = &full["enclosures"][0];
    assert_eq!((&media["mime_type"], &media["size"]), (&json!("audio/mpeg"), &json!(1_234)));
    let bare = &found["entries"][1];
    assert_eq!((&bare["status"], &bare["feed"]["id"]), (&json!("unread"), &json!(3)));
    assert_eq!(json(&miniflux::entry(5, &shown()[0], &feeds())), *full);
    assert_eq!(json(&miniflux::content(&shown()[0]))["content"], full["content"]);
    // The reading time of an article with media is their duration.
    let mut podcast = shown().remove(0);
    podcast.enclosures[0].duration = Some(3_601);
    let entry = json(&miniflux::entry(5, &podcast, &feeds()));
    assert_eq!(entry["reading_time"], 61);
}
