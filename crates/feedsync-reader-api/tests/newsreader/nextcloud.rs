//! Recorded requests of newsreaders to Nextcloud News, and the members that they read in responses.

use crate::support::*;
use feedsync_log::Millis;
use feedsync_reader_api::nextcloud::{self, ItemName, MAX_ITEMS, Request};
use feedsync_reader_api::{
    ArticleNumber, Fault, FeedName, FeedNumber, FolderNumber, Label, MAX_REQUEST_ARTICLES, Marking,
    Order, Selection, Span, Stream,
};
use serde_json::json;

const NEWS: FolderNumber = FolderNumber::new(2_000);

fn try_request(line: &str, body: &str) -> Result<Request, Fault> {
    nextcloud::read(&asked(line, Some("application/json"), body.as_bytes()))
}

/// Parses a request, given by its method and the path below the usual prefix.
fn request(line: &str, body: &str) -> Request {
    let (method, path) = line.split_once(' ').unwrap();
    let whole = format!("{method} /index.php/apps/news/api/v1-2/{path}");
    let found = try_request(&whole, body).unwrap();
    let starts = ["/v1-3/", "/", "//index.php/apps/news/api/v1-2/", "/v1-2//"];
    for shorter in starts.map(|start| format!("{method} {start}{path}")) {
        assert_eq!(try_request(&shorter, body).as_ref(), Ok(&found), "{shorter}");
    }
    found
}

fn feed(number: i64) -> FeedNumber {
    FeedNumber::new(number)
}

fn of_feed(number: i64) -> Stream {
    Stream::Feed(FeedName::Number(feed(number)))
}

fn of(stream: Stream) -> Selection {
    Selection { order: Order::Number, ..Selection::newest(stream, MAX_ITEMS) }
}

fn label(name: &str) -> Label {
    name.parse().unwrap()
}

fn star(number: i64, names: &[&str], is_starred: bool) -> Request {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Request::Star { items: vec![ItemName { feed: feed(number), names }], is_starred }
}

#[test]
fn newsboat_asks_and_marks() {
    let one = |read| Request::Mark(Marking::read(articles(&[17]), read));
    let all_of = |stream| Request::MarkRead { stream, up_to: ArticleNumber::new(i64::MAX) };
    for (line, body, asked) in [
        ("GET status", "", Request::Status),
        ("GET feeds", "", Request::Feeds),
        ("GET folders", "", Request::Folders),
        ("GET items?type=0&id=7", "", Request::Items(of(of_feed(7)))),
        ("GET items?type=2&id=0", "", Request::Items(of(Stream::Starred))),
        ("PUT items/17/read", "{}", one(true)),
        ("PUT items/17/unread", "{}", one(false)),
        ("PUT items/7/urn:x:17/star", "{}", star(7, &["urn:x:17"], true)),
        ("PUT items/7/urn:x:17/unstar", "{}", star(7, &["urn:x:17"], false)),
        ("PUT items/7/http://a.example/17/star", "{}", star(7, &["http://a.example/17"], true)),
        (
            "PUT items/7/http://a.example/?p=17/star",
            "{}",
            star(7, &["http://a.example/?p=17"], true),
        ),
        (
            "PUT items/7/http%3A%2F%2Fa.example%2F17/star?a=b",
            "{}",
            star(7, &["http://a.example/17", "http%3A%2F%2Fa.example%2F17"], true),
        ),
        ("PUT feeds/7/read?newestItemId=9223372036854775807", "{}", all_of(of_feed(7))),
    ] {
        assert_eq!(request(line, body), asked, "{line}");
    }
    let done = nextcloud::done();
    assert_eq!((done.status, text(&done)), (200, "[]"));
}

#[test]
fn items_are_selected_in_many_ways() {
    let items = |line: &str, body: &str| match request(line, body) {
        Request::Items(selection) => selection,
        other => panic!("{other:?}"),
    };
    for line in ["GET items", "GET items?offset=0"] {
        assert_eq!(items(line, ""), of(Stream::All), "{line}");
    }
    let unread = "GET items?type=3&id=0&getRead=false&batchSize=-1";
    assert_eq!(items(unread, ""), Selection { include: vec![Stream::Unread], ..of(Stream::All) });
    let on = "GET items?type=1&id=2000&getRead=true&batchSize=20&offset=43";
    let below = Some(ArticleNumber::new(43));
    let folder = Stream::Folder(NEWS);
    assert_eq!(items(on, ""), Selection { below, count: 20, ..of(folder.clone()) });
    let back = format!("{on}&oldestFirst=true");
    let ascending = Selection { above: below, descending: false, count: 20, ..of(folder) };
    assert_eq!(items(&back, ""), ascending);
    let top = items("GET items?type=1&id=0&batchSize=99999999999", "");
    assert_eq!(top, of(Stream::Folder(FolderNumber::TOP)));
    for since in ["1795330800", "1795330800000", "1795330800000000"] {
        let line = format!("GET items/updated?lastModified={since}&type=3&id=0");
        let changed = Span { from: Some(Millis::new(1_795_330_800_000)), to: None };
        assert_eq!(items(&line, ""), Selection { changed, ..of(Stream::All) });
    }
    assert_eq!(items("GET items?type=6", "").stream, Stream::Unread);
}

#[test]
fn every_resource_has_its_request() {
    let address = || "https://a.example/feed".parse().unwrap();
    let created = |folder| Request::CreateFeed { address: address(), folder };
    let filed = r#"{"url":"https://a.example/feed","folderId":2000}"#;
    let up_to = ArticleNumber::new(10);
    let marked = |stream| Request::MarkRead { stream, up_to };
    let read = |is_read| Request::Mark(Marking::read(articles(&[2, 3]), is_read));
    let newest = r#"{"newestItemId":10}"#;
    let named = r#"{"items":[{"feedId":7,"guidHash":"abc"}]}"#;
    for (line, body, asked) in [
        ("GET version", "", Request::Version),
        ("GET user", "", Request::User),
        ("POST folders", r#"{"name":"A / B"}"#, Request::CreateFolder(label("A / B"))),
        ("POST folders?name=A", "", Request::CreateFolder(label("A"))),
        ("PUT folders/2000", r#"{"name":"B"}"#, Request::RenameFolder(NEWS, label("B"))),
        ("DELETE folders/2000", "", Request::DeleteFolder(NEWS)),
        ("PUT folders/2000/read", newest, marked(Stream::Folder(NEWS))),
        ("POST folders/2000/read", newest, marked(Stream::Folder(NEWS))),
        ("POST feeds", filed, created(NEWS)),
        ("POST feeds", &filed.replace("2000", "null"), created(FolderNumber::TOP)),
        ("POST feeds", "url=https%3A%2F%2Fa.example%2Ffeed", created(FolderNumber::TOP)),
        ("DELETE feeds/7", "", Request::DeleteFeed(feed(7))),
        ("PUT feeds/7/move", r#"{"folderId":2000}"#, Request::MoveFeed(feed(7), NEWS)),
        ("PUT feeds/7/move", r#"{"folderId":null}"#, Request::MoveFeed(feed(7), FolderNumber::TOP)),
        (
            "PUT feeds/7/rename",
            r#"{"feedTitle":"T"}"#,
            Request::RenameFeed(feed(7), "T".parse().unwrap()),
        ),
        ("PUT feeds/7/read", newest, marked(of_feed(7))),
        ("PUT items/read", newest, marked(Stream::All)),
        ("PUT items/read/multiple", r#"{"items":[2,3]}"#, read(true)),
        ("PUT items/unread/multiple", r#"{"items":[2,"3"]}"#, read(false)),
        ("POST items/read/multiple", r#"{"itemIds":[2,3]}"#, read(true)),
        (
            "PUT items/read/multiple",
            r#"{"items":[]}"#,
            Request::Mark(Marking::read(Vec::new(), true)),
        ),
        ("PUT items/star/multiple", named, star(7, &["abc"], true)),
        ("PUT items/unstarred/multiple", named, star(7, &["abc"], false)),
        (
            "POST items/unstar/multiple",
            r#"{"itemIds":[2,3]}"#,
            Request::Mark(Marking::starred(articles(&[2, 3]), false)),
        ),
        ("POST items/17/star", "", Request::Mark(Marking::starred(articles(&[17]), true))),
        ("POST items/17/unstar", "", Request::Mark(Marking::starred(articles(&[17]), false))),
    ] {
        assert_eq!(request(line, body), asked, "{line} {body}");
    }
    assert_eq!(try_request("GET /index.php/apps/news/api", ""), Ok(Request::Levels));
}

#[test]
fn faults_name_the_invalid_part() {
    for (line, body, status, fault) in [
        ("GET /v1-2/nothing", "", 404, "no resource has the path \"/v1-2/nothing\""),
        ("GET /v1-9/feeds", "", 404, "no resource has the path \"/v1-9/feeds\""),
        ("PUT /feeds/x/read", "", 404, "no resource has the path \"/feeds/x/read\""),
        ("PUT /items/17/burn", "", 404, "no resource has the path \"/items/17/burn\""),
        ("PUT /items/burn/multiple", "", 404, "no resource has the path \"/items/burn/multiple\""),
        ("PUT /items/7//star", "", 404, "no resource has the path \"/items/7//star\""),
        ("GET /items/7/x/star", "", 405, "method not allowed; use PUT, POST"),
        ("GET /feeds/7", "", 405, "method not allowed; use DELETE"),
        ("PUT /feeds/7/read", "{}", 400, "newestItemId: the parameter is missing"),
        ("PUT /feeds/7/read", r#"{"newestItemId":"x"}"#, 400, "newestItemId: not a number"),
        ("GET /items?type=5", "", 400, "type: must be 0, 1, 2, 3 or 6"),
        ("GET /items?getRead=maybe", "", 400, "getRead: must be true or false"),
        ("PUT /items/read/multiple", "{}", 400, "items: the parameter is missing"),
        ("PUT /items/read/multiple", r#"{"items":["a"]}"#, 400, "items: not a number"),
        (
            "PUT /items/star/multiple",
            r#"{"items":[1]}"#,
            400,
            "items: each item must have a feedId and a guidHash",
        ),
        (
            "POST /feeds",
            r#"{"url":"a"}"#,
            422,
            "url: the address of a feed must begin with http:, https: or feed:, such as \
             https://example.org/feed",
        ),
        ("POST /feeds", "{}", 422, "url: the parameter is missing"),
        ("POST /feeds", r#"{"url":["a"]}"#, 422, "url: must be a string"),
        ("POST /folders", r#"{"name":""}"#, 422, "name: the parameter is missing"),
        ("POST /folders", "{}", 422, "name: the parameter is missing"),
        ("PUT /folders/3", r#"{"name":""}"#, 422, "name: the parameter is missing"),
        ("PUT /feeds/7/rename", r#"{"feedTitle":" "}"#, 400, "feedTitle: the parameter is missing"),
        ("POST /folders", r#"{"name":}"#, 400, "the body, line 1, column 9: expected value"),
    ] {
        let found = try_request(line, body).unwrap_err();
        assert_eq!((found.status(), &*found.to_string()), (status, fault), "{line} {body}");
    }
    let many = vec![r#"{"feedId":7,"guidHash":"abc"}"#; MAX_REQUEST_ARTICLES + 1].join(",");
    let fault = try_request("PUT /items/star/multiple", &format!("{{\"items\":[{many}]}}"));
    assert_eq!(fault.unwrap_err().to_string(), "items: a request can name at most 10000 articles");
    let refused = nextcloud::refuse(409, "it is there");
    assert_eq!((refused.status, json(&refused)), (409, json!({ "message": "it is there" })));
}

#[test]
fn folders_and_feeds_are_shown_as_newsreaders_need_them() {
    let number = folders().iter().next().unwrap().number;
    let folder = json!({ "id": number, "name": "News / Local", "opened": true, "feeds": [] });
    assert_eq!(json(&nextcloud::folders(&folders())), json!({ "folders": [folder] }));
    let made = nextcloud::created_folder(folders().iter().next().unwrap());
    assert_eq!(json(&made), json!({ "folders": [folder] }));
    let found = json(&nextcloud::feeds(&feeds(), 4, Some(ArticleNumber::new(18))));
    assert_eq!((&found["starredCount"], &found["newestItemId"]), (&json!(4), &json!(18)));
    let full = &found["feeds"][0];
    for (name, value) in [
        ("id", json!(1)),
        ("url", json!("https://a.example/feed?x=1&y=2")),
        ("title", json!("A \"fine\" <feed> & more")),
        ("faviconLink", json!("https://hub.example/icons/1")),
        ("folderId", json!(number)),
        ("unreadCount", json!(2)),
        ("link", json!("https://a.example/")),
        ("updateErrorCount", json!(4)),
        ("lastUpdateError", json!("it is away")),
    ] {
        assert_eq!(full[name], value, "{name}");
    }
    let bare = &found["feeds"][1];
    assert_eq!((&bare["folderId"], &bare["faviconLink"]), (&json!(0), &json!(null)));
    let one = json(&nextcloud::created_feed(&feeds()[0], None));
    assert_eq!(one, json!({ "feeds": [full] }));
    assert_eq!(json(&nextcloud::user("me"))["userId"], "me");
    assert_eq!(json(&nextcloud::status())["version"], json(&nextcloud::version())["version"]);
    assert_eq!(json(&nextcloud::levels())["apiLevels"][0], "v1-2");
}

#[test]
fn items_are_shown_as_newsreaders_need_them() {
    let found = json(&nextcloud::items(&shown()));
    let full = &found["items"][0];
    for (name, value) in [
        ("id", json!(17)),
        ("guid", json!("urn:x:17")),
        ("guidHash", json!(nextcloud::guid_hash(&shown()[0].name))),
        ("feedId", json!(1)),
        ("title", json!("One & <b>two</b>")),
        ("url", json!("https://a.example/17?a=b&c=d")),
        ("author", json!("Somebody")),
        ("body", json!("<p>What it \"says\" &amp; means</p>")),
        ("unread", json!(false)),
        ("starred", json!(true)),
        ("pubDate", json!(1_795_330_700)),
        ("lastModified", json!(1_795_330_850)),
        ("enclosureMime", json!("audio/mpeg")),
        ("enclosureLink", json!("https://a.example/17.mp3")),
    ] {
        assert_eq!(full[name], value, "{name}");
    }
    let bare = &found["items"][1];
    assert_eq!((&bare["enclosureMime"], &bare["unread"]), (&json!(null), &json!(true)));
    assert_ne!(full["fingerprint"], bare["fingerprint"]);
    assert_eq!(full["guidHash"].as_str().map(str::len), Some(32));
    assert_ne!(full["guidHash"], bare["guidHash"]);
}
