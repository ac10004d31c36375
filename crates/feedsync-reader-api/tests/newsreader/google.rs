//! Recorded requests of newsreaders in the dialect of Google Reader, and the members that they read in responses.

use crate::support::*;
use feedsync_log::Millis;
use feedsync_reader_api::google::{self, Call, Request, SubscriptionEdit, SubscriptionOperation};
use feedsync_reader_api::{
    Continuation, Fault, FeedName, FeedNumber, MAX_REQUEST_ARTICLES, Marking, Selection, Span,
    Stream,
};
use serde_json::json;

fn call(line: &str, body: &str) -> Result<Call, Fault> {
    google::read(&asked(line, Some(FORM), body.as_bytes()))
}

fn request(line: &str, body: &str) -> Request {
    call(line, body).unwrap().request
}

fn feed(number: i64) -> FeedName {
    FeedName::Number(FeedNumber::new(number))
}

#[test]
fn sign_in_is_parsed_and_answered() {
    let newsboat = "service=reader&Email=me&Passwd=p%26w&source=newsboat0.000000\
                    &accountType=HOSTED_OR_GOOGLE&continue=http://www.google.com/";
    let rss_guard = "Email=me&Passwd=p%26w";
    for (line, body, is_json) in [
        ("POST /accounts/ClientLogin", newsboat, false),
        ("POST /api/greader.php//accounts/ClientLogin", newsboat, false),
        ("POST /api/greader.php/accounts/ClientLogin", rss_guard, false),
        ("POST /accounts/ClientLogin?output=json", rss_guard, true),
    ] {
        let Request::SignIn(sign_in) = request(line, body) else { panic!("{line}") };
        assert_eq!((&*sign_in.name, sign_in.password.as_str()), ("me", "p&w"));
        assert_eq!(sign_in.is_json, is_json);
        assert!(!format!("{sign_in:?}").contains("p&w"));
    }
    assert_eq!(text(&google::signed_in("t/1", false)), "SID=t/1\nLSID=t/1\nAuth=t/1\n");
    assert_eq!(json(&google::signed_in("t/1", true))["Auth"], "t/1");
    assert_eq!(text(&google::wrong_password()), "Error=BadAuthentication\n");
}

#[test]
fn lists_are_asked_for_by_their_names() {
    for (line, asked) in [
        ("GET /reader/api/0/token", Request::Token),
        ("GET /reader/api/0/user-info?output=json", Request::UserInfo),
        ("GET /reader/api/0/subscription/list?output=json", Request::Subscriptions),
        ("HEAD /reader/api/0/subscription/list", Request::Subscriptions),
        ("GET /api/greader.php/reader/api/0/tag/list?output=json", Request::Tags),
        ("GET /reader/api/0/unread-count?output=json&all=true", Request::UnreadCounts),
        ("GET /reader/api/0/subscription/export", Request::Export),
        ("GET /reader/api/0/preference/list", Request::Preferences),
        ("GET /reader/api/0/preference/stream/list", Request::StreamPreferences),
        ("GET /reader/api/0/friend/list", Request::Friends),
    ] {
        assert_eq!(request(line, ""), asked, "{line}");
    }
}

#[test]
fn rss_guard_asks_for_all_ids_and_many_items() {
    let ids = "GET /api/greader.php/reader/api/0/stream/items/ids?output=json&n=200000\
               &s=user/-/state/com.google/reading-list&xt=user/-/state/com.google/read&ot=1795330800";
    let selection = Selection {
        exclude: vec![Stream::Read],
        received: Span { from: Some(Millis::new(1_795_330_800_000)), to: None },
        ..Selection::newest(Stream::All, 200_000)
    };
    assert_eq!(request(ids, ""), Request::Ids(selection));
    let body = |count: usize| {
        let items =
            (1..=count).map(|item| format!("i=tag:google.com,2005:reader/item/{item:016x}"));
        items.collect::<Vec<_>>().join("&")
    };
    let line = "POST /api/greader.php/reader/api/0/stream/items/contents?output=json&n=200000";
    for count in [999, MAX_REQUEST_ARTICLES] {
        let Request::Items { articles, by_liferea } = request(line, &body(count)) else { panic!() };
        assert_eq!((articles.len(), by_liferea), (count, false));
        assert_eq!(articles[count - 1].get(), i64::try_from(count).unwrap());
    }
    let fault = call(line, &body(MAX_REQUEST_ARTICLES + 1)).unwrap_err();
    assert_eq!(fault.to_string(), "i: a request can name at most 10000 articles");
}

#[test]
fn newsboat_marks_with_a_body_that_is_not_encoded() {
    let state = "user/-/state/com.google";
    let mark = |edit: &str| {
        let body = format!("i=tag:google.com,2005:reader/item/0000000000000011{edit}&ac=edit&T=t");
        request("POST /reader/api/0/edit-tag", &body)
    };
    let item = || articles(&[17]);
    for (edit, marking) in [
        (format!("&a={state}/read&r={state}/kept-unread"), Marking::read(item(), true)),
        (
            format!("&r={state}/read&a={state}/kept-unread&a={state}/tracking-kept-unread"),
            Marking::read(item(), false),
        ),
        (format!("&a={state}/kept-unread"), Marking::read(item(), false)),
        (format!("&r={state}/kept-unread"), Marking { articles: item(), ..Marking::default() }),
        (format!("&a={state}/starred"), Marking::starred(item(), true)),
        (format!("&r={state}/starred"), Marking::starred(item(), false)),
        (format!("&a={state}/broadcast"), Marking { articles: item(), ..Marking::default() }),
        (
            "&a=user/-/label/later on&r=user/-/label/now".to_owned(),
            Marking {
                articles: item(),
                tag: vec!["later on".parse().unwrap()],
                untag: vec!["now".parse().unwrap()],
                ..Marking::default()
            },
        ),
    ] {
        assert_eq!(mark(&edit), Request::Mark(marking), "{edit}");
    }
    for body in ["s=feed/1&T=t", "s=feed/1&ts=0&T=t"] {
        let all = request("POST /reader/api/0/mark-all-as-read", body);
        assert_eq!(all, Request::MarkAllRead { stream: Stream::Feed(feed(1)), up_to: None });
    }
    let body = "s=user%2F-%2Flabel%2FNews+%2F+Local&ts=1795330800123456";
    let Request::MarkAllRead { stream, up_to } =
        request("POST /reader/api/0/mark-all-as-read", body)
    else {
        panic!()
    };
    assert_eq!(stream, Stream::Label("News / Local".parse().unwrap()));
    assert_eq!(up_to, Some(Millis::new(1_795_330_800_123)));
    assert_eq!(text(&google::done()), "OK");
}

#[test]
fn subscriptions_are_made_filed_called_and_ended() {
    let line = "POST /reader/api/0/subscription/edit";
    let body = "ac=subscribe&s=feed/https://a.example/feed&t=A&a=user/-/label/News\
                &s=feed%2F7&t=+&T=t";
    assert_eq!(
        request(line, body),
        Request::Edit(SubscriptionEdit {
            operation: SubscriptionOperation::Subscribe,
            feeds: vec![
                (
                    FeedName::Address("https://a.example/feed".parse().unwrap()),
                    Some("A".parse().unwrap())
                ),
                (feed(7), None),
            ],
            add: vec!["News".parse().unwrap()],
            remove: Vec::new(),
        })
    );
    let body = "ac=edit&s=feed/7&a=user/-/label/B&r=user/-/label/A";
    let Request::Edit(edit) = request(line, body) else { panic!() };
    assert_eq!(edit.operation, SubscriptionOperation::Edit);
    assert_eq!((edit.add[0].as_str(), edit.remove[0].as_str()), ("B", "A"));
    let Request::Edit(edit) = request(line, "ac=unsubscribe&s=feed/7") else { panic!() };
    assert_eq!(
        (edit.operation, edit.feeds),
        (SubscriptionOperation::Unsubscribe, vec![(feed(7), None)])
    );
    for (body, fault) in [
        ("s=feed/7", "ac: the parameter is missing"),
        ("ac=x&s=feed/7", "ac: must be subscribe, unsubscribe or edit"),
        ("ac=edit", "s: the parameter is missing"),
        ("ac=edit&s=7", "s: must have the form feed/ADDRESS"),
        (
            "ac=edit&s=feed/ftp://a/",
            "s: the address of a feed must begin with http:, https: or feed:, such as \
             https://example.org/feed",
        ),
        (
            "ac=edit&s=feed/7&a=user/-/state/com.google/read",
            "a: not a stream: use feed/..., user/-/label/..., user/-/state/com.google/..., \
             reading-list, starred, read or unread",
        ),
    ] {
        assert_eq!(call(line, body).unwrap_err().to_string(), fault, "{body}");
    }
    let line = "POST /reader/api/0/subscription/quickadd?quickadd=feed/https://a.example/";
    assert_eq!(request(line, "T=t"), Request::QuickAdd("https://a.example/".parse().unwrap()));
}

#[test]
fn subscription_lists_are_imported() {
    let line = "POST /reader/api/0/subscription/import";
    let opml = r#"<opml version="2.0"><body><outline text="News">
        <outline text="A" type="rss" xmlUrl="https://a.example/feed"/></outline></body></opml>"#;
    let Request::Import(list) = request(line, opml) else { panic!() };
    assert_eq!(list.feeds[0].folder, folder(&["News"]));
    let fault = call(line, "<opml><body>").unwrap_err();
    assert!(fault.to_string().starts_with("the list of subscriptions: "), "{fault}");
    assert_eq!(text(&google::imported(1)), "OK: 1");
}

#[test]
fn folders_and_tags_are_renamed_and_dissolved() {
    let rename = |body| request("POST /reader/api/0/rename-tag", body);
    let renamed = Request::RenameTag { from: "A".parse().unwrap(), to: "B / C".parse().unwrap() };
    assert_eq!(rename("s=user/-/label/A&dest=user/-/label/B+/+C"), renamed);
    assert_eq!(rename("t=A&dest=user/5/label/B / C"), renamed);
    let dissolved = request("POST /reader/api/0/disable-tag", "s=user/-/label/A&t=B");
    let labels = ["A", "B"].map(|name| name.parse().unwrap());
    assert_eq!(dissolved, Request::DisableTag(labels.into()));
}

#[test]
fn contents_of_streams_are_asked_for_in_the_path_or_as_a_parameter() {
    let next = Continuation { at: Millis::new(5), article: articles(&[6])[0] };
    let line = format!(
        "GET /reader/api/0/stream/contents/user%2F-%2Fstate%2Fcom.google%2Freading-list\
         ?n=5000&r=o&c={next}&it=user/-/state/com.google/starred&nt=7&xt="
    );
    let Request::Contents(listing) = request(&line, "") else { panic!() };
    assert_eq!(listing.stream, "user/-/state/com.google/reading-list");
    assert_eq!(
        listing.selection,
        Selection {
            include: vec![Stream::Starred],
            received: Span { from: None, to: Some(Millis::new(7_000)) },
            descending: false,
            from: Some(next),
            ..Selection::newest(Stream::All, google::MAX_CONTENTS)
        }
    );
    for (line, stream) in [
        (
            "GET /reader/api/0/stream/contents/feed/http%3A%2F%2Fa.example%2F",
            "feed/http://a.example/",
        ),
        ("GET /reader/api/0/stream/contents/feed/12", "feed/12"),
        ("POST /reader/api/0/stream/contents?s=feed/12", "feed/12"),
    ] {
        let Request::Contents(listing) = request(line, "") else { panic!("{line}") };
        assert_eq!(listing.stream, stream);
        assert_eq!(Ok(listing.selection.stream), google::parse_stream(stream));
        assert_eq!(listing.selection.count, google::DEFAULT_COUNT);
    }
    let count = request("GET /reader/api/0/stream/items/count?s=feed/12", "");
    assert_eq!(count, Request::Count(Stream::Feed(feed(12))));
}

/// Requests of clients of FreshRSS and The Old Reader.
#[test]
fn streams_have_short_names_and_contents_need_none() {
    let feed = |address: &str| Stream::Feed(FeedName::Address(address.parse().unwrap()));
    let label = |name: &str| Stream::Label(name.parse().unwrap());
    let reading_list = "user/-/state/com.google/reading-list";
    for (rest, named, stream) in [
        ("", reading_list, Stream::All),
        ("/", reading_list, Stream::All),
        ("?n=5&output=json", reading_list, Stream::All),
        ("?s=starred", "starred", Stream::Starred),
        ("/reading-list", "reading-list", Stream::All),
        ("/reading-list/?n=5", "reading-list", Stream::All),
        ("/starred", "starred", Stream::Starred),
        ("/read", "read", Stream::Read),
        ("/label/News", "label/News", label("News")),
        ("/label%2FNews%20%2F%20Local", "label/News / Local", label("News / Local")),
        (
            "/feed/http://a.example/feed",
            "feed/http://a.example/feed",
            feed("http://a.example/feed"),
        ),
        (
            "/feed/http%253A%252F%252Fa.example%252Ffeed",
            "feed/http%3A%2F%2Fa.example%2Ffeed",
            feed("http://a.example/feed"),
        ),
    ] {
        let line = format!("GET /reader/api/0/stream/contents{rest}");
        let Request::Contents(listing) = request(&line, "") else { panic!("{line}") };
        assert_eq!((&*listing.stream, listing.selection.stream), (named, stream), "{line}");
    }
    for (name, stream) in [
        ("reading-list", Stream::All),
        ("starred", Stream::Starred),
        ("label/News", label("News")),
        ("label%252FNews", label("News")),
        ("feed/http://a.example/", feed("http://a.example/")),
        ("feed%2Fhttp%3A%2F%2Fa.example%2F", feed("http://a.example/")),
        ("feed%252Fhttp%253A%252F%252Fa.example%252F", feed("http://a.example/")),
    ] {
        let line = format!("GET /reader/api/0/stream/items/ids?s={name}&n=7");
        assert_eq!(request(&line, ""), Request::Ids(Selection::newest(stream, 7)), "{line}");
    }
    let unread = request("GET /reader/api/0/stream/contents?xt=read&n=7", "");
    let Request::Contents(listing) = unread else { panic!("{unread:?}") };
    assert_eq!(listing.selection.exclude, [Stream::Read]);
    for line in [
        "GET /reader/api/0/stream/contents/popular",
        "GET /reader/api/0/stream/contents?s=splice/1",
        "GET /reader/api/0/stream/items/ids?s=popular",
        "GET /reader/api/0/stream/items/ids?s=feed/popular",
        "GET /reader/atom/popular",
    ] {
        assert_eq!(call(line, "").unwrap_err().status(), 400, "{line}");
    }
}

#[test]
fn faults_name_the_invalid_part() {
    for (line, body, status, fault) in [
        (
            "GET /reader/api/0/nothing",
            "",
            404,
            "no resource has the path \"/reader/api/0/nothing\"",
        ),
        ("GET /reader/api/1/token", "", 404, "no resource has the path \"/reader/api/1/token\""),
        (
            "GET /reader/api/0/stream/x",
            "",
            404,
            "no resource has the path \"/reader/api/0/stream/x\"",
        ),
        ("GET /reader/api/0/edit-tag", "", 405, "method not allowed; use POST"),
        ("DELETE /reader/api/0/stream/contents", "", 405, "method not allowed; use GET, POST"),
        ("GET /accounts/ClientLogin", "", 405, "method not allowed; use POST"),
        ("POST /accounts/ClientLogin", "Email=a", 400, "Passwd: the parameter is missing"),
        ("GET /reader/api/0/stream/items/ids", "", 400, "s: the parameter is missing"),
        ("GET /reader/api/0/stream/items/ids?s=feed/1&n=x", "", 400, "n: not a number"),
        (
            "GET /reader/api/0/stream/items/ids?s=feed/1&s=feed/2",
            "",
            400,
            "s: only one stream can be read in a request",
        ),
        (
            "GET /reader/api/0/stream/items/ids?s=feed/1&c=x",
            "",
            400,
            "c: not a continuation token of this server",
        ),
        (
            "POST /reader/api/0/edit-tag",
            "i=x",
            400,
            "i: not the id of an item: use a number, 16 hexadecimal digits, or \
             tag:google.com,2005:reader/item/ and up to 16 hexadecimal digits",
        ),
        ("POST /reader/api/0/edit-tag", "T=x", 400, "i: the parameter is missing"),
        (
            "POST /reader/api/0/edit-tag",
            "i=1&a=user/-/state/com.google/reading-list",
            400,
            "a: this state cannot be set or removed",
        ),
        (
            "GET /reader/api/0/token?a=%ff",
            "",
            400,
            "the query: the percent-encoded bytes are not valid UTF-8",
        ),
    ] {
        let found = call(line, body).unwrap_err();
        assert_eq!((found.status(), &*found.to_string()), (status, fault), "{line}");
    }
    let json = asked("POST /reader/api/0/edit-tag", Some("application/json"), b"{}");
    assert_eq!(google::read(&json).unwrap_err().status(), 415);
    let bytes = asked("POST /reader/api/0/edit-tag", None, b"i=\xff");
    assert_eq!(google::read(&bytes).unwrap_err().to_string(), "the body: not UTF-8");
    let refused = google::refuse(401, "Unauthorized");
    assert_eq!((refused.status, text(&refused)), (401, "Unauthorized"));
}

#[test]
fn subscriptions_are_listed_as_newsreaders_need_them() {
    let shown = json(&google::subscriptions(&feeds()));
    let label = "user/-/label/News / Local";
    assert_eq!(
        shown["subscriptions"][0],
        json!({
            "id": "feed/1",
            "title": "A \"fine\" <feed> & more",
            "categories": [{ "id": label, "label": "News / Local" }],
            "url": "https://a.example/feed?x=1&y=2",
            "htmlUrl": "https://a.example/",
            "iconUrl": "https://hub.example/icons/1",
            "sortid": "00000000",
            "firstitemmsec": "0",
        })
    );
    assert_eq!(shown["subscriptions"][1]["categories"], json!([]));
    let tags: Vec<_> = ["later", "News / Local"].map(|tag| tag.parse().unwrap()).into();
    assert_eq!(
        json(&google::tags(&folders(), &tags))["tags"],
        json!([
            { "id": "user/-/state/com.google/starred" },
            { "id": label, "type": "folder" },
            { "id": "user/-/label/later", "type": "tag" },
        ])
    );
    let counts = json(&google::unread_counts(&feeds()));
    let count = |id: &str, count: u64, newest: &str| json!({ "id": id, "count": count, "newestItemTimestampUsec": newest });
    let newest = "1795330800123000";
    assert_eq!(
        counts["unreadcounts"],
        json!([
            count("feed/1", 2, newest),
            count("feed/2", 3, "0"),
            count(label, 2, newest),
            count("user/-/state/com.google/reading-list", 5, newest),
        ])
    );
    assert!(counts["max"].as_u64().unwrap() > 5);
    let added = json(&google::quick_added(&feeds()[0].address, Ok(&feeds()[0])));
    assert_eq!((&added["numResults"], &added["streamId"]), (&json!(1), &json!("feed/1")));
    let none = json(&google::quick_added(&feeds()[0].address, Err("it is away")));
    assert_eq!((&none["numResults"], &none["error"]), (&json!(0), &json!("it is away")));
}

#[test]
fn articles_are_listed_as_newsreaders_need_them() {
    let next = Continuation { at: Millis::new(5), article: articles(&[6])[0] };
    let found = json(&google::contents("feed/1", "A", &shown(), &feeds(), Some(next)));
    assert_eq!((&found["id"], &found["title"]), (&json!("feed/1"), &json!("A")));
    assert_eq!(found["updated"], 1_795_330_800);
    assert_eq!(found["continuation"].as_str().unwrap().parse(), Ok(next));
    assert_eq!(
        found["items"][0],
        json!({
            "id": "tag:google.com,2005:reader/item/0000000000000011",
            "crawlTimeMsec": "1795330800123",
            "timestampUsec": "1795330800123000",
            "published": 1_795_330_700,
            "updated": 1_795_330_700,
            "title": "One & <b>two</b>",
            "author": "Somebody",
            "canonical": [{ "href": "https://a.example/17?a=b&c=d" }],
            "alternate": [{ "href": "https://a.example/17?a=b&c=d", "type": "text/html" }],
            "summary": { "direction": "ltr", "content": "<p>What it \"says\" &amp; means</p>" },
            "categories": [
                "user/-/state/com.google/reading-list",
                "user/-/state/com.google/read",
                "user/-/state/com.google/starred",
                "user/-/label/News / Local",
                "user/-/label/later",
            ],
            "marked": true,
            "origin": {
                "streamId": "feed/1",
                "title": "A \"fine\" <feed> & more",
                "htmlUrl": "https://a.example/",
            },
            "enclosure": [
                { "href": "https://a.example/17.mp3", "type": "audio/mpeg", "length": 1_234 },
                { "href": "https://a.example/17", "type": "application/octet-stream", "length": 0 },
            ],
        })
    );
    let bare = &found["items"][1];
    assert_eq!(bare["categories"], json!(["user/-/state/com.google/reading-list"]));
    assert_eq!(bare["origin"]["streamId"], "feed/3");
    assert!(json(&google::contents("feed/1", "", &[], &[], None)).get("continuation").is_none());
    let ids = google::ids(shown().iter().map(|one| (one.number, one.received)), None);
    assert_eq!(
        text(&ids),
        r#"{"itemRefs":[{"id":"17","directStreamIds":[],"timestampUsec":"1795330800123000"},{"id":"18","directStreamIds":[],"timestampUsec":"0"}]}"#
    );
    assert_eq!(json(&google::ids([], Some(next)))["continuation"], next.to_string());
    assert_eq!(text(&google::count(7)), "7");
}
