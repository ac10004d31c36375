//! Recorded requests of newsreaders to Tiny Tiny RSS.

use std::time::Duration;

use crate::support::*;
use feedsync_reader_api::ttrss::{
    self, Category, FeedsRequest, HeadlinesRequest, MAX_HEADLINES, Refusal, Request, Toggled,
};
use feedsync_reader_api::{
    Fault, FeedName, FeedNumber, FolderNumber, MAX_REQUEST_ARTICLES, Marking, Order, Selection,
    Stream, TagNumber,
};
use serde_json::{Value, json};

const NEWS: FolderNumber = FolderNumber::new(2_000);

fn try_request(body: &str) -> Result<Request, Fault> {
    let media_type = if body.starts_with('{') { "application/json" } else { FORM };
    let asked = asked("POST /api/", Some(media_type), body.as_bytes());
    ttrss::read(&asked).unwrap().request
}

/// Parses a request, given by its operation and its members.
fn request(operation: &str, mut members: Value) -> Request {
    members["op"] = operation.into();
    try_request(&members.to_string()).unwrap_or_else(|fault| panic!("{members}: {fault}"))
}

fn feed(number: i64) -> FeedNumber {
    FeedNumber::new(number)
}

fn of_feed(number: i64) -> Stream {
    Stream::Feed(FeedName::Number(feed(number)))
}

#[test]
fn newsboat_logs_in_asks_and_marks() {
    let login = r#"{"op":"login","user":"me","password":"p&w","seq":3}"#;
    let call = ttrss::read(&asked("POST /api/", None, login.as_bytes())).unwrap();
    assert_eq!((call.seq, call.session), (3, None));
    let Ok(Request::Login { user, password }) = call.request else { panic!() };
    assert_eq!((&*user, password.as_str()), ("me", "p&w"));
    let later = r#"{"op":"getCategories","sid":"s1","seq":"4"}"#;
    let call = ttrss::read(&asked("POST /tt-rss/api/", Some(FORM), later.as_bytes())).unwrap();
    assert_eq!((call.seq, call.session.unwrap().as_str()), (4, "s1"));
    let asked = Request::Categories { unread_only: false, include_empty: false };
    assert_eq!(call.request, Ok(asked));
    let all =
        FeedsRequest { category: Category::Feeds, unread_only: false, offset: 0, limit: None };
    assert_eq!(request("getFeeds", json!({ "cat_id": "-3" })), Request::Feeds(all));
    let members = json!({ "feed_id": 7, "show_content": true, "include_attachments": "1" });
    let asked = HeadlinesRequest {
        feed: "7".to_owned(),
        is_category: false,
        selection: Selection::newest(of_feed(7), MAX_HEADLINES),
        show_content: true,
        excerpt: None,
        include_attachments: true,
        include_header: false,
    };
    assert_eq!(request("getHeadlines", members), Request::Headlines(Box::new(asked)));
    let update = |field, mode| {
        request("updateArticle", json!({ "article_ids": "17", "field": field, "mode": mode }))
    };
    let one = || articles(&[17]);
    let toggle = |toggled| Request::Toggle { articles: one(), toggled };
    assert_eq!(update(2, 0), Request::Mark(Marking::read(one(), true)));
    assert_eq!(update(2, 1), Request::Mark(Marking::read(one(), false)));
    assert_eq!(update(2, 2), toggle(Toggled::Read));
    assert_eq!(update(0, 1), Request::Mark(Marking::starred(one(), true)));
    assert_eq!(update(0, 0), Request::Mark(Marking::starred(one(), false)));
    assert_eq!(update(0, 2), toggle(Toggled::Starred));
    let nothing = Marking { articles: one(), ..Marking::default() };
    assert_eq!(update(1, 1), Request::Mark(nothing));
    let caught_up = Request::Catchup { stream: of_feed(7), older_than: None };
    assert_eq!(request("catchupFeed", json!({ "feed_id": "7" })), caught_up);
}

#[test]
fn requests_are_equal_as_json_and_as_form() {
    let asked =
        Request::SetLabel { articles: articles(&[1, 2]), tag: TagNumber::new(4), is_added: true };
    for body in [
        r#"{"op":"setArticleLabel","article_ids":"1,2","label_id":-1029,"assign":true}"#,
        r#"{"op":"SETARTICLELABEL","article_ids":[1,"2"],"label_id":"-1029","assign":"true"}"#,
        "op=setArticleLabel&article_ids=1%2C2&label_id=-1029&assign=1",
    ] {
        assert_eq!(try_request(body).as_ref(), Ok(&asked), "{body}");
    }
}

#[test]
fn feeds_and_categories_have_numbers_that_mean_other_things() {
    let stream = |feed: Value, is_category: bool| match request(
        "getUnread",
        json!({ "feed_id": feed, "is_cat": is_category }),
    ) {
        Request::Unread(stream) => stream,
        other => panic!("{other:?}"),
    };
    for (number, found) in [
        (json!(7), of_feed(7)),
        (json!("-1"), Stream::Starred),
        (json!(-2), Stream::Nothing),
        (json!(-3), Stream::Fresh),
        (json!(-4), Stream::All),
        (json!(0), Stream::Nothing),
        (json!(-6), Stream::Read),
        (json!(-1_025 - 9), Stream::NumberedTag(TagNumber::new(9))),
        (json!("later"), Stream::Tag("later".parse().unwrap())),
        (json!(""), Stream::All),
        (Value::Null, Stream::All),
    ] {
        assert_eq!(stream(number.clone(), false), found, "{number}");
    }
    for (number, found) in [
        (2_000, Stream::Folder(NEWS)),
        (0, Stream::Folder(FolderNumber::TOP)),
        (-1, Stream::Nothing),
        (-2, Stream::Tagged),
        (-3, Stream::All),
        (-4, Stream::All),
    ] {
        assert_eq!(stream(json!(number), true), found, "{number}");
    }
    let category = |number: i64| match request("getFeeds", json!({ "cat_id": number })) {
        Request::Feeds(asked) => asked.category,
        other => panic!("{other:?}"),
    };
    let found = [2_000, 0, -1, -2, -3, -4].map(category);
    let (folder, top) = (Category::Folder(NEWS), Category::Folder(FolderNumber::TOP));
    let virtuals = [Category::Special, Category::Labels, Category::Feeds, Category::All];
    assert_eq!(found[..2], [folder, top]);
    assert_eq!(found[2..], virtuals);
}

#[test]
fn headlines_are_selected_in_many_ways() {
    let asked = |members: Value| match request("getHeadlines", members) {
        Request::Headlines(asked) => *asked,
        other => panic!("{other:?}"),
    };
    let found = asked(json!({
        "feed_id": "2000", "is_cat": "true", "view_mode": "unread", "since_id": "40", "limit": 30,
        "skip": "60", "search": "a b", "order_by": "date_reverse", "show_excerpt": 1,
        "excerpt_length": 50, "include_header": true,
    }));
    let selection = Selection {
        include: vec![Stream::Unread],
        above: Some(articles(&[40])[0]),
        search: Some("a b".to_owned()),
        descending: false,
        skip: 60,
        ..Selection::newest(Stream::Folder(NEWS), 30)
    };
    assert_eq!(found.selection, selection);
    assert_eq!((found.excerpt, found.include_header, found.is_category), (Some(50), true, true));
    let selection = |members: Value| {
        let mut members = members;
        members["feed_id"] = json!(-4);
        asked(members).selection
    };
    let plain = Selection::newest(Stream::All, MAX_HEADLINES);
    for members in [
        json!({}),
        json!({ "limit": 0, "since_id": 0, "search": "", "view_mode": "adaptive" }),
        json!({ "limit": 60_000, "order_by": "" }),
        json!({ "limit": -1, "skip": -5, "view_mode": "all_articles", "is_cat": null }),
    ] {
        assert_eq!(selection(members.clone()), plain, "{members}");
    }
    assert_eq!(selection(json!({ "view_mode": "marked" })).include, [Stream::Starred]);
    assert_eq!(selection(json!({ "view_mode": "published" })).include, [Stream::Nothing]);
    let dated = selection(json!({ "order_by": "feed_dates" }));
    assert_eq!((dated.order, dated.descending), (Order::Published, true));
    let titled = selection(json!({ "order_by": "title" }));
    assert_eq!((titled.order, titled.descending), (Order::Title, false));
}

#[test]
fn every_operation_has_its_request() {
    let address = || "https://a.example/feed".parse().unwrap();
    let filed = |folder| Request::Subscribe { address: address(), folder };
    let week = Some(Duration::from_secs(7 * 24 * 60 * 60));
    let some =
        FeedsRequest { category: Category::All, unread_only: true, offset: 2, limit: Some(5) };
    for (operation, members, asked) in [
        ("logout", json!({}), Request::Logout),
        ("isLoggedIn", json!({}), Request::IsLoggedIn),
        ("getApiLevel", json!({}), Request::ApiLevel),
        ("getVersion", json!({}), Request::Version),
        ("getCounters", json!({ "output_mode": "flc" }), Request::Counters),
        (
            "getFeeds",
            json!({ "cat_id": -4, "unread_only": "t", "offset": 2, "limit": "5" }),
            Request::Feeds(some),
        ),
        (
            "getCategories",
            json!({ "unread_only": true, "include_empty": 1, "enable_nested": false }),
            Request::Categories { unread_only: true, include_empty: true },
        ),
        (
            "getCompactHeadlines",
            json!({ "feed_id": "7", "limit": 100, "skip": 5 }),
            Request::CompactHeadlines(Selection { skip: 5, ..Selection::newest(of_feed(7), 100) }),
        ),
        ("getArticle", json!({ "article_id": "17,18" }), Request::Articles(articles(&[17, 18]))),
        ("getArticle", json!({ "article_id": 17 }), Request::Articles(articles(&[17]))),
        ("getConfig", json!({}), Request::Config),
        ("getPref", json!({ "pref_name": "X" }), Request::Pref),
        ("updateFeed", json!({ "feed_id": 7 }), Request::UpdateFeed(feed(7))),
        (
            "catchupFeed",
            json!({ "feed_id": 2_000, "is_cat": true, "mode": "1week" }),
            Request::Catchup { stream: Stream::Folder(NEWS), older_than: week },
        ),
        ("getLabels", json!({}), Request::Labels { article: None }),
        (
            "getLabels",
            json!({ "article_id": 17 }),
            Request::Labels { article: Some(articles(&[17])[0]) },
        ),
        (
            "subscribeToFeed",
            json!({ "feed_url": "https://a.example/feed", "category_id": 2_000 }),
            filed(NEWS),
        ),
        (
            "subscribeToFeed",
            json!({ "feed_url": "https://a.example/feed", "login": "" }),
            filed(FolderNumber::TOP),
        ),
        ("unsubscribeFeed", json!({ "feed_id": 7 }), Request::Unsubscribe(feed(7))),
        ("getFeedTree", json!({ "include_empty": true }), Request::Tree { include_empty: true }),
    ] {
        assert_eq!(request(operation, members), asked, "{operation}");
    }
}

#[test]
fn faults_are_reported_in_the_body() {
    for (body, refusal, reason) in [
        (
            r#"{"op":"shareToPublished"}"#,
            Refusal::UnknownMethod,
            "no resource has the path \"shareToPublished\"",
        ),
        ("{}", Refusal::IncorrectUsage, "op: the parameter is missing"),
        (
            r#"{"op":"login","user":"me"}"#,
            Refusal::IncorrectUsage,
            "password: the parameter is missing",
        ),
        (r#"{"op":"getHeadlines"}"#, Refusal::IncorrectUsage, "feed_id: the parameter is missing"),
        (
            r#"{"op":"getHeadlines","feed_id":-500}"#,
            Refusal::IncorrectUsage,
            "feed_id: there is no such feed",
        ),
        (
            r#"{"op":"getHeadlines","feed_id":1,"view_mode":"x"}"#,
            Refusal::IncorrectUsage,
            "view_mode: this view mode is not supported",
        ),
        (
            r#"{"op":"getFeeds","cat_id":-9}"#,
            Refusal::IncorrectUsage,
            "cat_id: there is no such category",
        ),
        (
            r#"{"op":"updateArticle","field":1,"mode":1}"#,
            Refusal::IncorrectUsage,
            "article_ids: the parameter is missing",
        ),
        (
            r#"{"op":"updateArticle","article_ids":"","field":1,"mode":1}"#,
            Refusal::IncorrectUsage,
            "article_ids: the parameter is missing",
        ),
        (
            r#"{"op":"updateArticle","article_ids":"1","field":3,"mode":0,"data":"x"}"#,
            Refusal::IncorrectUsage,
            "field: notes and scores of articles are not supported",
        ),
        (
            r#"{"op":"updateArticle","article_ids":"1","field":2,"mode":3}"#,
            Refusal::IncorrectUsage,
            "mode: must be 0, 1 or 2",
        ),
        (r#"{"op":"catchupFeed"}"#, Refusal::IncorrectUsage, "feed_id: the parameter is missing"),
        (
            r#"{"op":"setArticleLabel","article_ids":"1","label_id":5,"assign":true}"#,
            Refusal::IncorrectUsage,
            "label_id: not the number of a label",
        ),
        (
            r#"{"op":"subscribeToFeed","feed_url":"https://a.example/","password":"p"}"#,
            Refusal::IncorrectUsage,
            "password: not supported; put the credentials into the address of the feed",
        ),
    ] {
        let fault = try_request(body).unwrap_err();
        assert_eq!((Refusal::from(&fault), &*fault.to_string()), (refusal, reason), "{body}");
    }
    let many = vec!["1"; MAX_REQUEST_ARTICLES + 1].join(",");
    let fault = try_request(&format!("op=getArticle&article_id={many}")).unwrap_err();
    assert_eq!(fault.to_string(), "article_id: a request can name at most 10000 articles");
    for (line, body, status) in
        [("POST /api/x", "{}", 404), ("GET /api/", "", 405), ("POST /api/", "{", 400)]
    {
        let fault = ttrss::read(&asked(line, None, body.as_bytes())).unwrap_err();
        assert_eq!(fault.status(), status, "{line}");
    }
    for (refusal, error) in [
        (Refusal::NotLoggedIn, "NOT_LOGGED_IN"),
        (Refusal::ApiDisabled, "API_DISABLED"),
        (Refusal::LoginError, "LOGIN_ERROR"),
        (Refusal::IncorrectUsage, "INCORRECT_USAGE"),
        (Refusal::UnknownMethod, "UNKNOWN_METHOD"),
        (Refusal::OperationFailed, "E_OPERATION_FAILED"),
    ] {
        let refused = ttrss::refuse(3, refusal, None);
        assert_eq!(json(&refused), json!({ "seq": 3, "status": 1, "content": { "error": error } }));
        assert_eq!(refused.status, 200);
    }
    let why = json(&ttrss::refuse(3, Refusal::IncorrectUsage, Some("why")));
    assert_eq!(why["content"]["message"], "why");
}
