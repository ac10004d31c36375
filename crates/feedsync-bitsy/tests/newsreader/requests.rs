//! The gateway's interpretation of each request of each interface.

use feedsync_bitsy::newsreader::{
    Call, ChangeKind, Filter, Form, Interface, Operation, RequestCredentials, Subject,
};
use http::HeaderMap;

use crate::desk::{Desk, Said, said};
use crate::said::ttrss;
use crate::server::Server;

pub(crate) fn call(interface: Interface, said: &Said) -> Call {
    Desk::new(interface, Server::new(&[])).read(said, "Basic YTpi")
}

/// Meaning of a request in a few words.
fn meaning(interface: Interface, said: &Said) -> String {
    match call(interface, said).operation {
        Operation::SignIn { is_json, .. } => format!("sign in, json {is_json}"),
        Operation::ReadRequest(reading) => {
            let form = match &reading.form {
                Form::Plain => "plain".to_owned(),
                Form::Counts => "counts".to_owned(),
                Form::Count(filter) => format!("count of{}", conditions(filter)),
                Form::List(list) => {
                    let order = if list.is_descending { "newest first" } else { "oldest first" };
                    let above = list.above.map(|above| format!(" above {above}"));
                    let above = above.unwrap_or_default();
                    format!("list {} of{}{above}, {order}", list.kind, conditions(&list.filter))
                }
            };
            if reading.is_proof { form } else { format!("{form}, for everybody") }
        }
        Operation::ChangeRequest(writing) => match writing.change_kind {
            ChangeKind::Mark { articles, read, starred, tags } => {
                let states = [("read", read), ("starred", starred)];
                let states = states.into_iter().filter_map(|(name, is)| Some((name, is?)));
                format!("mark {articles:?} {:?} {tags:?}", states.collect::<Vec<_>>())
            }
            ChangeKind::Star { items, is_starred } => {
                format!("star {} items {is_starred}", items.len())
            }
            ChangeKind::All { filter, up_to } => {
                format!("all of{} up to {up_to:?}", conditions(&filter))
            }
            ChangeKind::Toggle { articles, is_star } => {
                format!("toggle {articles:?}, star {is_star}")
            }
            ChangeKind::Edit => "edit".to_owned(),
        },
        Operation::Transient(answer) => format!("word {}", answer.status),
        Operation::Other => "other".to_owned(),
    }
}

fn conditions(filter: &Filter) -> String {
    let mut text = String::new();
    for (name, is_so) in [("read", filter.is_read), ("starred", filter.is_starred)] {
        if let Some(is_so) = is_so {
            text += &format!(" {name}={is_so}");
        }
    }
    for (name, is_there) in [
        ("feed", filter.feed.is_some()),
        ("folder", filter.folder.is_some()),
        ("narrow", filter.is_narrow),
    ] {
        if is_there {
            text += &format!(" {name}");
        }
    }
    text
}

fn check(interface: Interface, expected: &[(Said, &str)]) {
    for (said, meant) in expected {
        assert_eq!(&meaning(interface, said), meant, "{interface:?} {said:?}");
    }
}

#[test]
fn google_reader_requests_have_their_meaning() {
    let get = |path: &str| said(&format!("GET reader/api/0/{path}"), "");
    let post = |path: &str, body: &str| said(&format!("POST reader/api/0/{path}"), body);
    let list = |query: &str| get(&format!("stream/contents/reading-list?{query}"));
    check(
        Interface::Google,
        &[
            (said("POST accounts/ClientLogin", "Email=a&Passwd=b"), "sign in, json false"),
            (
                said("POST accounts/ClientLogin", "Email=a&Passwd=b&output=json"),
                "sign in, json true",
            ),
            (get("token"), "word 200"),
            (get("user-info"), "plain"),
            (get("subscription/list"), "plain"),
            (get("subscription/export"), "plain"),
            (get("tag/list"), "plain"),
            (get("preference/list"), "plain"),
            (get("preference/stream/list"), "plain"),
            (get("friend/list"), "plain"),
            (get("unread-count"), "counts"),
            (post("subscription/edit", "ac=unsubscribe&s=feed/1&T=t"), "edit"),
            (post("rename-tag", "s=user/-/label/a&dest=user/-/label/b"), "edit"),
            (post("disable-tag", "s=user/-/label/a"), "edit"),
            (post("subscription/quickadd", "quickadd=http://a.example/"), "other"),
            (get("nothing"), "other"),
            (post("mark-all-as-read", "s=feed/1"), "all of feed up to None"),
            (post("mark-all-as-read", "s=user/-/label/a"), "all of folder up to None"),
            (
                post("mark-all-as-read", "s=user/-/state/com.google/like"),
                "all of narrow up to None",
            ),
            (
                post("edit-tag", "i=1&i=2&a=read&r=starred&a=user/-/label/x&r=user/-/label/y"),
                r#"mark [1, 2] [("read", true), ("starred", false)] [("x", true), ("y", false)]"#,
            ),
            (list("n=5"), "list 1 of, newest first"),
            (list("r=o"), "list 1 of, oldest first"),
            (list("xt=read"), "list 1 of read=false, newest first"),
            (list("xt=unread"), "list 1 of read=true, newest first"),
            (list("xt=starred"), "list 1 of starred=false, newest first"),
            (list("xt=user/-/state/com.google/like"), "list 1 of, newest first"),
            (list("xt=feed/1"), "list 1 of narrow, newest first"),
            (list("it=starred"), "list 1 of starred=true, newest first"),
            (list("it=read"), "list 1 of read=true, newest first"),
            (list("nt=17"), "list 1 of narrow, newest first"),
            (list("ot=17"), "list 1 of narrow, newest first"),
            (get("stream/contents/feed/1"), "list 1 of feed, newest first"),
            (get("stream/contents/feed/http://a.example/"), "list 1 of feed, newest first"),
            (get("stream/contents/user/-/label/a"), "list 1 of folder narrow, newest first"),
            (get("stream/contents/unread"), "list 1 of read=false, newest first"),
            (said("GET reader/atom/feed/1", ""), "list 2 of feed, newest first"),
            (get("stream/items/ids?s=starred"), "list 3 of starred=true, newest first"),
            (get("stream/items/contents?i=1"), "list 1 of narrow, newest first"),
            (get("stream/items/contents?i=1&mediaRss=true"), "list 4 of narrow, newest first"),
            (get("stream/items/count?s=unread"), "count of read=false"),
        ],
    );
}

#[test]
fn miniflux_requests_have_their_meaning() {
    let get = |path: &str| said(&format!("GET v1/{path}"), "");
    let put = |path: &str, body: &str| said(&format!("PUT v1/{path}"), body);
    let delete = |path: &str| said(&format!("DELETE v1/{path}"), "");
    check(
        Interface::Miniflux,
        &[
            (said("GET healthcheck", ""), "other"),
            (get("version"), "other"),
            (get("me"), "plain"),
            (get("integrations/status"), "plain"),
            (get("categories/2/feeds"), "plain"),
            (get("feeds"), "plain"),
            (get("feeds/1"), "plain"),
            (get("icons/1"), "plain"),
            (get("entries/1/fetch-content"), "plain"),
            (get("export"), "plain"),
            (get("feeds/counters"), "counts"),
            (get("categories?counts=true"), "counts"),
            (get("entries/1"), "list 2 of narrow, newest first"),
            (get("entries"), "list 1 of, oldest first"),
            (get("entries?direction=desc&status=unread"), "list 1 of read=false, newest first"),
            (get("entries?starred=false"), "list 1 of starred=false, oldest first"),
            (get("entries?search=x"), "list 1 of narrow, oldest first"),
            (get("entries?offset=1"), "list 1 of narrow, oldest first"),
            (get("entries?after_entry_id=1"), "list 1 of narrow, oldest first"),
            (get("entries?before_entry_id=1"), "list 1 of narrow, oldest first"),
            (get("entries?published_before=9"), "list 1 of narrow, oldest first"),
            (get("entries?changed_before=9"), "list 1 of narrow, oldest first"),
            (get("entries?tags=x"), "list 1 of narrow, oldest first"),
            (get("feeds/1/entries"), "list 1 of feed, oldest first"),
            (get("categories/2/entries"), "list 1 of folder, oldest first"),
            (
                put("entries", r#"{"entry_ids":[1],"status":"read"}"#),
                r#"mark [1] [("read", true)] []"#,
            ),
            (put("entries/1/bookmark", ""), "toggle [1], star true"),
            (put("users/1/mark-all-as-read", ""), "all of up to None"),
            (put("feeds/1/mark-all-as-read", ""), "all of feed up to None"),
            (put("categories/2/mark-all-as-read", ""), "all of folder up to None"),
            (delete("categories/2"), "edit"),
            (delete("feeds/1"), "edit"),
            (put("feeds/refresh", ""), "word 204"),
            (put("flush-history", ""), "word 202"),
            (put("categories/2", r#"{"title":"x"}"#), "other"),
            (put("feeds/1", r#"{"title":"x"}"#), "other"),
        ],
    );
}

#[test]
fn nextcloud_news_requests_have_their_meaning() {
    let line = |method: &str, path: &str| format!("{method} index.php/apps/news/api/v1-2/{path}");
    let get = |path: &str| said(&line("GET", path), "");
    let put = |path: &str, body: &str| said(&line("PUT", path), body);
    check(
        Interface::Nextcloud,
        &[
            (said("GET index.php/apps/news/api", ""), "plain, for everybody"),
            (get("version"), "plain, for everybody"),
            (get("status"), "plain, for everybody"),
            (get("user"), "plain"),
            (get("folders"), "plain"),
            (get("feeds"), "counts"),
            (get("items?type=3"), "list 1 of, newest first"),
            (get("items?type=2&oldestFirst=true"), "list 1 of starred=true, oldest first"),
            (get("items?type=0&id=1&getRead=false"), "list 1 of read=false feed, newest first"),
            (get("items?type=1&id=2"), "list 1 of folder, newest first"),
            (get("items?type=3&offset=9"), "list 1 of narrow, newest first"),
            (get("items/updated?type=3&lastModified=0"), "list 1 of narrow, newest first"),
            (put("items/1/unread", "{}"), r#"mark [1] [("read", false)] []"#),
            (
                put("items/star/multiple", r#"{"itemIds":[1]}"#),
                r#"mark [1] [("starred", true)] []"#,
            ),
            (put("items/1/urn:x:1/unstar", "{}"), "star 1 items false"),
            (put("items/read", r#"{"newestItemId":9}"#), "all of up to Some(9)"),
            (put("feeds/1/read", r#"{"newestItemId":9}"#), "all of feed up to Some(9)"),
            (put("folders/2/read", r#"{"newestItemId":9}"#), "all of folder up to Some(9)"),
            (put("folders/2", r#"{"name":"x"}"#), "edit"),
            (said(&line("DELETE", "folders/2"), ""), "edit"),
            (said(&line("DELETE", "feeds/1"), ""), "edit"),
            (put("feeds/1/move", r#"{"folderId":2}"#), "edit"),
            (put("feeds/1/rename", r#"{"feedTitle":"x"}"#), "edit"),
            (said(&line("POST", "folders"), r#"{"name":"x"}"#), "other"),
            (said(&line("POST", "feeds"), r#"{"url":"http://a.example/"}"#), "other"),
            (get("nothing"), "other"),
        ],
    );
}

#[test]
fn tiny_tiny_rss_requests_have_their_meaning() {
    let ask = |rest: &str| ttrss("s1", &format!(r#""op":{rest}"#));
    let headlines = |rest: &str| ask(&format!(r#""getHeadlines","feed_id":-4{rest}"#));
    check(
        Interface::TinyTinyRss,
        &[
            (ask(r#""login","user":"a","password":"b""#), "sign in, json true"),
            (ask(r#""logout""#), "word 200"),
            (ask(r#""isLoggedIn""#), "word 200"),
            (ask(r#""updateFeed","feed_id":1"#), "word 200"),
            (ask(r#""getApiLevel""#), "plain"),
            (ask(r#""getVersion""#), "plain"),
            (ask(r#""getConfig""#), "plain"),
            (ask(r#""getPref","pref_name":"x""#), "plain"),
            (ask(r#""getLabels""#), "plain"),
            (ask(r#""getCounters""#), "counts"),
            (ask(r#""getFeeds","cat_id":-3"#), "counts"),
            (ask(r#""getCategories""#), "counts"),
            (ask(r#""getFeedTree""#), "counts"),
            (ask(r#""getUnread""#), "count of read=false"),
            (ask(r#""getUnread","feed_id":2"#), "count of read=false feed"),
            (ask(r#""getUnread","feed_id":2,"is_cat":true"#), "count of read=false folder"),
            (ask(r#""getUnread","feed_id":-1"#), "count of read=false starred=true narrow"),
            (ask(r#""getArticle","article_id":1"#), "list 2 of narrow, newest first"),
            (headlines(""), "list 32 of, newest first"),
            (headlines(r#","show_content":true"#), "list 48 of, newest first"),
            (headlines(r#","show_excerpt":true"#), "list 40 of, newest first"),
            (headlines(r#","include_attachments":true"#), "list 36 of, newest first"),
            (headlines(r#","order_by":"date_reverse""#), "list 32 of, oldest first"),
            (headlines(r#","since_id":5"#), "list 32 of above 5, newest first"),
            (headlines(r#","skip":1"#), "list 32 of narrow, newest first"),
            (headlines(r#","search":"x""#), "list 32 of narrow, newest first"),
            (headlines(r#","view_mode":"marked""#), "list 32 of starred=true, newest first"),
            (headlines(r#","view_mode":"published""#), "list 32 of narrow, newest first"),
            (ask(r#""getHeadlines","feed_id":-3"#), "list 32 of read=false narrow, newest first"),
            (ask(r#""getHeadlines","feed_id":-6"#), "list 32 of read=true, newest first"),
            (ask(r#""getCompactHeadlines","feed_id":1"#), "list 1 of feed, newest first"),
            (
                ask(r#""updateArticle","article_ids":"1,2","field":2,"mode":0"#),
                r#"mark [1, 2] [("read", true)] []"#,
            ),
            (
                ask(r#""updateArticle","article_ids":1,"field":0,"mode":1"#),
                r#"mark [1] [("starred", true)] []"#,
            ),
            (ask(r#""updateArticle","article_ids":1,"field":1,"mode":1"#), "other"),
            (ask(r#""updateArticle","article_ids":1,"field":0,"mode":2"#), "toggle [1], star true"),
            (
                ask(r#""updateArticle","article_ids":1,"field":2,"mode":2"#),
                "toggle [1], star false",
            ),
            (ask(r#""catchupFeed","feed_id":1"#), "all of feed up to None"),
            (ask(r#""catchupFeed","feed_id":1,"mode":"1day""#), "all of feed narrow up to None"),
            (ask(r#""setArticleLabel","article_ids":1,"label_id":-1026,"assign":true"#), "edit"),
            (ask(r#""unsubscribeFeed","feed_id":1"#), "edit"),
            (ask(r#""subscribeToFeed","feed_url":"http://a.example/""#), "other"),
            (ask(r#""nothing""#), "other"),
        ],
    );
}

#[test]
fn ttrss_responses_repeat_the_sequence_number_and_count_the_articles() {
    for (rest, content) in [
        (r#""updateArticle","article_ids":"1,2","field":2,"mode":0"#, r#""updated":2"#),
        (r#""updateArticle","article_ids":"1,2,3","field":0,"mode":2"#, r#""updated":3"#),
        (r#""setArticleLabel","article_ids":1,"label_id":-1026,"assign":true"#, r#""updated":1"#),
        (r#""unsubscribeFeed","feed_id":1"#, r#""status":"OK""#),
        (r#""catchupFeed","feed_id":1"#, r#""status":"OK""#),
        (r#""isLoggedIn""#, r#""status":true"#),
        (r#""logout""#, r#""status":"OK""#),
    ] {
        let call = call(Interface::TinyTinyRss, &ttrss("s1", &format!(r#""op":{rest}"#)));
        assert_eq!(call.seq, 7);
        let (Operation::Transient(answer)
        | Operation::ChangeRequest(feedsync_bitsy::newsreader::ChangeRequest {
            answer, ..
        })) = call.operation
        else {
            panic!("{rest}")
        };
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.contains(r#""seq":7"#) && text.contains(content), "{text}");
    }
}

#[test]
fn head_request_is_not_answered_from_a_stored_body() {
    for (interface, path) in [
        (Interface::Miniflux, "v1/entries"),
        (Interface::Nextcloud, "index.php/apps/news/api/v1-2/feeds"),
        (Interface::Google, "reader/api/0/unread-count"),
    ] {
        let said = said(&format!("HEAD {path}"), "");
        assert_eq!(call(interface, &said).operation, Operation::Other, "{interface:?}");
    }
}

#[test]
fn interface_names_are_parsed_back() {
    for interface in Interface::ALL {
        assert_eq!(interface.name().parse(), Ok(interface));
    }
    let error = "fever".parse::<Interface>().unwrap_err();
    assert_eq!(error.to_string(), "must be google, miniflux, nextcloud or ttrss");
}

#[test]
fn request_with_two_kinds_of_credentials_has_none() {
    let credentials = |fields: &[(&'static str, &'static str)]| {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, http::HeaderValue::from_static(value));
        }
        let said = said("GET v1/entries", "");
        let requested = crate::desk::requested(&said);
        let request = feedsync_bitsy::newsreader::Request { requested, headers: &headers };
        Interface::Miniflux.read(&request).credentials
    };
    assert!(matches!(
        credentials(&[("authorization", "Basic YTpi")]),
        RequestCredentials::Field(_)
    ));
    assert!(matches!(credentials(&[("x-auth-token", "t")]), RequestCredentials::Field(_)));
    assert_eq!(credentials(&[]), RequestCredentials::Anonymous);
    assert_eq!(
        credentials(&[("authorization", "Basic YTpi"), ("x-auth-token", "t")]),
        RequestCredentials::Anonymous
    );
    assert_eq!(
        credentials(&[("x-auth-token", "t"), ("x-auth-token", "u")]),
        RequestCredentials::Anonymous
    );
}

#[test]
fn feeds_and_folders_of_one_number_differ() {
    let filter = |line: &str| match call(Interface::Miniflux, &said(line, "")).operation {
        Operation::ReadRequest(reading) => match reading.form {
            Form::List(list) => list.filter,
            form => panic!("{form:?}"),
        },
        operation => panic!("{operation:?}"),
    };
    let feed: Option<Subject> = filter("GET v1/feeds/2/entries").feed;
    assert_ne!(feed, filter("GET v1/categories/2/entries").folder);
    assert_ne!(feed, filter("GET v1/feeds/3/entries").feed);
    assert_eq!(feed, filter("GET v1/entries?feed_id=2").feed);
}
