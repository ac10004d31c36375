//! Malicious or malformed requests of newsreaders have no effect, and nothing breaks.

use http::Method;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use feedsync_endpoint::reading_collection;

use super::{FEED, Hub, PASSWORD, user};
use crate::access::world::basic;

/// One request of each kind, with the placeholders `SID` and `ITEM`.
const REQUESTS: [(Method, &str, &str); 66] = [
    (Method::POST, "google/accounts/ClientLogin", "Email=anna&Passwd=x"),
    (Method::GET, "google/reader/api/0/token", ""),
    (Method::GET, "google/reader/api/0/user-info", ""),
    (Method::GET, "google/reader/api/0/subscription/list?output=json", ""),
    (
        Method::POST,
        "google/reader/api/0/subscription/edit",
        "ac=edit&s=feed/1&t=Title&a=user/-/label/x&r=user/-/label/y",
    ),
    (
        Method::POST,
        "google/reader/api/0/subscription/edit",
        "ac=subscribe&s=feed/https://a.example/1",
    ),
    (Method::POST, "google/reader/api/0/subscription/quickadd", "quickadd=https://a.example/2"),
    (Method::GET, "google/reader/api/0/subscription/export", ""),
    (
        Method::POST,
        "google/reader/api/0/subscription/import",
        "<opml><body><outline xmlUrl='https://a.example/3'/></body></opml>",
    ),
    (Method::GET, "google/reader/api/0/tag/list?output=json", ""),
    (Method::POST, "google/reader/api/0/rename-tag", "s=user/-/label/x&dest=user/-/label/y"),
    (Method::POST, "google/reader/api/0/disable-tag", "s=user/-/label/x"),
    (
        Method::POST,
        "google/reader/api/0/edit-tag",
        "i=ITEM&a=user/-/state/com.google/read&r=user/-/state/com.google/starred&ac=edit",
    ),
    (Method::POST, "google/reader/api/0/mark-all-as-read", "s=feed/1&ts=1763000000000000"),
    (Method::GET, "google/reader/api/0/unread-count?output=json", ""),
    (
        Method::GET,
        "google/reader/api/0/stream/contents/feed/1?n=5&ot=1&nt=9999999999&xt=user/-/state/com.google/read&r=o",
        "",
    ),
    (Method::GET, "google/reader/atom/feed%2F1?n=5", ""),
    (
        Method::GET,
        "google/reader/api/0/stream/items/ids?s=user/-/state/com.google/reading-list&n=5&it=user/-/state/com.google/starred",
        "",
    ),
    (Method::POST, "google/reader/api/0/stream/items/contents", "i=1&i=ITEM&output=json"),
    (Method::GET, "google/reader/api/0/stream/items/count?s=feed/1", ""),
    (Method::GET, "google/reader/api/0/preference/list", ""),
    (Method::GET, "miniflux/v1/me", ""),
    (Method::GET, "miniflux/v1/categories?counts=true", ""),
    (Method::POST, "miniflux/v1/categories", "{\"title\":\"Name\"}"),
    (Method::PUT, "miniflux/v1/categories/1", "{\"title\":\"Other\"}"),
    (Method::DELETE, "miniflux/v1/categories/1", ""),
    (Method::GET, "miniflux/v1/feeds", ""),
    (Method::GET, "miniflux/v1/feeds/1", ""),
    (Method::POST, "miniflux/v1/feeds", "{\"feed_url\":\"https://a.example/4\",\"category_id\":1}"),
    (Method::PUT, "miniflux/v1/feeds/1", "{\"title\":\"T\",\"category_id\":1}"),
    (Method::PUT, "miniflux/v1/feeds/1/refresh", ""),
    (Method::PUT, "miniflux/v1/feeds/1/mark-all-as-read", ""),
    (Method::GET, "miniflux/v1/feeds/1/icon", ""),
    (
        Method::GET,
        "miniflux/v1/feeds/1/entries?order=published_at&direction=desc&limit=5&offset=1&status=unread",
        "",
    ),
    (
        Method::GET,
        "miniflux/v1/entries?search=Title&starred=1&after_entry_id=1&before=1763000000&category_id=1",
        "",
    ),
    (Method::GET, "miniflux/v1/entries/1", ""),
    (Method::PUT, "miniflux/v1/entries", "{\"entry_ids\":[1,2],\"status\":\"read\"}"),
    (Method::PUT, "miniflux/v1/entries/1/bookmark", ""),
    (Method::POST, "miniflux/v1/discover", "{\"url\":\"https://a.example/\"}"),
    (Method::GET, "miniflux/v1/export", ""),
    (Method::GET, "nextcloud/index.php/apps/news/api/v1-2/feeds", ""),
    (Method::GET, "nextcloud/index.php/apps/news/api/v1-2/folders", ""),
    (Method::POST, "nextcloud/index.php/apps/news/api/v1-2/folders", "{\"name\":\"Folder\"}"),
    (
        Method::POST,
        "nextcloud/index.php/apps/news/api/v1-2/feeds",
        "{\"url\":\"https://a.example/5\",\"folderId\":0}",
    ),
    (Method::PUT, "nextcloud/index.php/apps/news/api/v1-2/feeds/1/move", "{\"folderId\":0}"),
    (
        Method::PUT,
        "nextcloud/index.php/apps/news/api/v1-2/feeds/1/rename",
        "{\"feedTitle\":\"New\"}",
    ),
    (Method::PUT, "nextcloud/index.php/apps/news/api/v1-2/feeds/1/read", "{\"newestItemId\":5}"),
    (
        Method::GET,
        "nextcloud/index.php/apps/news/api/v1-2/items?type=3&id=0&getRead=true&batchSize=5&offset=3",
        "",
    ),
    (
        Method::GET,
        "nextcloud/index.php/apps/news/api/v1-2/items/updated?lastModified=1763000000&type=3&id=0",
        "",
    ),
    (Method::PUT, "nextcloud/index.php/apps/news/api/v1-2/items/1/read", "{}"),
    (Method::PUT, "nextcloud/index.php/apps/news/api/v1-2/items/1/n1/star", "{}"),
    (
        Method::PUT,
        "nextcloud/index.php/apps/news/api/v1-2/items/unread/multiple",
        "{\"items\":[1,2]}",
    ),
    (Method::POST, "ttrss/api/", "{\"op\":\"login\",\"user\":\"anna\",\"password\":\"x\"}"),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"getFeeds\",\"sid\":\"SID\",\"cat_id\":-3,\"unread_only\":true,\"limit\":5}",
    ),
    (Method::POST, "ttrss/api/", "{\"op\":\"getCategories\",\"sid\":\"SID\"}"),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"getHeadlines\",\"sid\":\"SID\",\"feed_id\":-4,\"limit\":5,\"skip\":1,\"view_mode\":\"unread\",\"search\":\"Title\"}",
    ),
    (Method::POST, "ttrss/api/", "{\"op\":\"getArticle\",\"sid\":\"SID\",\"article_id\":\"1,2\"}"),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"updateArticle\",\"sid\":\"SID\",\"article_ids\":\"1,2\",\"mode\":1,\"field\":2}",
    ),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"catchupFeed\",\"sid\":\"SID\",\"feed_id\":1,\"mode\":\"1week\"}",
    ),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"getCounters\",\"sid\":\"SID\",\"output_mode\":\"flc\"}",
    ),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"subscribeToFeed\",\"sid\":\"SID\",\"feed_url\":\"https://a.example/6\",\"category_id\":0}",
    ),
    (
        Method::POST,
        "ttrss/api/",
        "{\"op\":\"setArticleLabel\",\"sid\":\"SID\",\"article_ids\":\"1\",\"label_id\":-1025,\"assign\":true}",
    ),
    (Method::POST, "fever/?api&groups&feeds&favicons&links&items&since_id=1", "unread_item_ids"),
    (Method::POST, "fever/?api&items&with_ids=1,2,3", "mark=item&as=read&id=1"),
    (Method::POST, "fever/?api&items&max_id=9&saved_item_ids", "mark=item&as=saved&id=2"),
    (Method::POST, "fever/?api&items", "mark=feed&as=read&id=1&before=1763000000"),
];

/// Fragments for malformed input.
const PIECES: [&str; 22] = [
    "-1",
    "0",
    "9223372036854775807",
    "99999999999999999999999",
    "null",
    "[]",
    "{}",
    "\"",
    "'",
    "&",
    "=",
    "%",
    "%00",
    "%ff",
    "\u{0}",
    "\u{202e}",
    "../",
    "user/-/label/",
    "feed/",
    "<x>",
    "true",
    ",",
];

/// A valid request with random damage.
fn spoilt(text: &str, random: &mut SmallRng) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..random.random_range(1..4) {
        let place = random.random_range(0..=text.len());
        match random.random_range(0..4) {
            0 => text.truncate(place),
            1 => {
                let end = (place + random.random_range(1..8)).min(text.len());
                text.drain(place..end);
            }
            2 => {
                let piece = PIECES[random.random_range(0..PIECES.len())];
                text.splice(place..place, piece.chars());
            }
            _ => {
                let end = (place + 12).min(text.len());
                let part: Vec<_> = text[place..end].to_vec();
                let times = random.random_range(1..40);
                text.splice(place..place, part.repeat(times));
            }
        }
    }
    text.into_iter().collect()
}

/// The characters of a path that a request can contain.
fn target(path: &str) -> String {
    let is_kept = |sign: &char| sign.is_ascii_graphic() && !"\"<>`{}|\\^#".contains(*sign);
    path.chars().filter(is_kept).take(8_000).collect()
}

pub(super) async fn log_of(hub: &Hub, name: &str) -> u64 {
    let log = hub.endpoint.store().log(&reading_collection(Some(&user(name)))).await.unwrap();
    log.map_or(0, |log| log.place.length)
}

async fn send(
    hub: &Hub,
    request: (&Method, &str, &str),
    basic: &str,
    token: &str,
) -> (u16, String) {
    let (method, path, body) = request;
    let authorization = match path.split('/').next() {
        Some("google") => format!("GoogleLogin auth={token}"),
        Some("ttrss") => String::new(),
        _ => basic.to_owned(),
    };
    hub.ask(method.clone(), path, &authorization, body.to_owned()).await
}

fn filled(text: &str, token: &str) -> String {
    text.replace("SID", token).replace("ITEM", "tag:google.com,2005:reader/item/0000000000000002")
}

/// Each request is valid as it stands. Its damaged forms never cause an internal error, and those that are
/// refused change nothing.
#[tokio::test]
async fn malformed_requests_are_refused_and_change_nothing() {
    let hub = Hub::of(&["anna"]).await;
    let google = hub.google("anna").await;
    let token = google.rsplit_once('=').unwrap().1.to_owned();
    let basic = basic("anna", &token);
    hub.subscribe(&google, FEED).await;
    hub.publish(FEED, 10).await;
    for (method, path, body) in REQUESTS {
        let (path, body) = (path.to_owned(), filled(body, &token));
        let (status, text) = send(&hub, (&method, &path, &body), &basic, &token).await;
        let is_wrong_password = path.ends_with("ClientLogin") && status == 403;
        let is_no_icon = path.ends_with("icon") && status == 404;
        // A label that does not exist.
        let is_none = path.ends_with("rename-tag") || path.ends_with("categories/1");
        assert!(
            status < 300 || is_wrong_password || is_no_icon || is_none,
            "{path} {body}: {status} {text}"
        );
    }
    let mut random = SmallRng::seed_from_u64(6);
    for round in 0..40 {
        for (method, path, body) in REQUESTS {
            let (path, body) = (path.to_owned(), filled(body, &token));
            let is_path = round % 2 == 0 || body.is_empty();
            let (path, body) = match is_path {
                true => {
                    let (dialect, rest) = path.split_once('/').unwrap();
                    (format!("{dialect}/{}", target(&spoilt(rest, &mut random))), body)
                }
                false => (path, spoilt(&body, &mut random)),
            };
            let before = log_of(&hub, "anna").await;
            let (status, text) = send(&hub, (&method, &path, &body), &basic, &token).await;
            assert!(status < 500, "{method} {path} {body}: {status} {text}");
            let is_error = status >= 400 || text.contains("\"error\"");
            let after = log_of(&hub, "anna").await;
            assert!(!is_error || after == before, "{method} {path} {body}: {status} {text}");
        }
    }
}

/// Numbers of other users' articles and feeds are not secret, but give no access.
#[tokio::test]
async fn ids_of_what_somebody_does_not_read_show_and_change_nothing() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let (anna, bob) = (hub.google("anna").await, hub.google("bob").await);
    hub.subscribe(&anna, FEED).await;
    hub.publish(FEED, 5).await;
    // Bob was once subscribed to it.
    hub.subscribe(&bob, FEED).await;
    let path = "google/reader/api/0/subscription/edit";
    let leave = "ac=unsubscribe&s=feed/1";
    assert_eq!(hub.ask(Method::POST, path, &bob, leave).await.1, "OK");
    let token = bob.rsplit_once('=').unwrap().1.to_owned();
    let basic = basic("bob", &token);
    let (before, annas) = (log_of(&hub, "bob").await, log_of(&hub, "anna").await);
    let unread = hub.unread("anna", &anna).await;
    for (method, path, body) in REQUESTS {
        let is_of_an_article = path.contains("feeds/1")
            || path.contains("entries")
            || path.contains("items")
            || path.contains("feed%2F1")
            || path.contains("edit-tag")
            || path.contains("mark-all")
            || path.contains("contents")
            || body.contains("Article")
            || body.contains("Headlines")
            || body.contains("catchup");
        if !is_of_an_article {
            continue;
        }
        let body = filled(body, &token);
        let (status, text) = send(&hub, (&method, path, &body), &basic, &token).await;
        assert!(status < 500, "{path}: {status} {text}");
        for shown in ["Title&gt;", "Title>", "news.example"] {
            assert!(!text.contains(shown), "{path} {body}: {text}");
        }
        assert_eq!(log_of(&hub, "bob").await, before, "{path} {body}: {text}");
    }
    assert_eq!(log_of(&hub, "anna").await, annas);
    assert_eq!(hub.unread("anna", &anna).await, unread);
}

/// A token is valid until it is revoked, its session ends, or its user is disabled.
#[tokio::test]
async fn tokens_that_ended_are_good_for_nothing() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let list = "google/reader/api/0/subscription/list";
    let is_good = async |token: &str| {
        let (status, _) =
            hub.ask(Method::GET, list, &format!("GoogleLogin auth={token}"), "").await;
        assert!(status == 200 || status == 401, "{status}");
        status == 200
    };
    // Changes on other nodes take effect here within a second.
    let ends = async |token: &str| {
        while is_good(token).await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let given = async |name: &str| {
        let google = hub.google(name).await;
        google.rsplit_once('=').unwrap().1.to_owned()
    };
    let ttrss = async |members: Value| -> Value {
        let (_, text) = hub.ask(Method::POST, "ttrss/api/", "", members.to_string()).await;
        serde_json::from_str(&text).unwrap()
    };
    // One session ends; another one of the same user continues.
    let login = json!({"op": "login", "user": "bob", "password": PASSWORD});
    let (one, other) = (ttrss(login.clone()).await, ttrss(login).await);
    let session = |answer: &Value| answer["content"]["session_id"].as_str().unwrap().to_owned();
    let (one, other) = (session(&one), session(&other));
    assert_eq!(ttrss(json!({"op": "logout", "sid": one})).await["status"], 0);
    let replayed = ttrss(json!({"op": "getFeeds", "sid": one, "cat_id": -3})).await;
    assert_eq!(replayed["content"]["error"], "NOT_LOGGED_IN");
    assert!(!is_good(&one).await && is_good(&other).await);
    // A user's own token outlives a session in which it served as the password.
    let own = {
        let new = feedsync_endpoint::NewToken {
            user: user("bob"),
            kind: feedsync_store::TokenKind::Access,
            label: "mine".to_owned(),
            scope: feedsync_store::Scope::default(),
            expires: None,
        };
        hub.endpoint.issue_token(new).await.unwrap().0.as_str().to_owned()
    };
    let session = session(&ttrss(json!({"op": "login", "user": "bob", "password": own})).await);
    ttrss(json!({"op": "logout", "sid": session})).await;
    assert!(is_good(&own).await);

    let token = given("bob").await;
    for digest in hub.endpoint.store().tokens(&user("bob")).await.unwrap() {
        hub.endpoint.revoke_token(&user("bob"), digest.digest).await.unwrap();
    }
    for token in [&token, &other, &own] {
        ends(token).await;
    }
    let token = given("bob").await;
    assert!(is_good(&token).await);
    hub.endpoint.set_disabled(&user("bob"), true).await.unwrap();
    ends(&token).await;
}

/// If another user created the reading collection first, the user gets a new one, which nobody else can read.
#[tokio::test]
async fn a_collection_of_another_user_is_not_used_for_reading() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let trap = crate::hub::create(
        &hub.endpoint.on_behalf_of(feedsync_endpoint::Actor {
            user: Some(user("anna")),
            ..Default::default()
        }),
        "reading-bob",
        feedsync_core::Format::Opml,
    )
    .await;
    let grant = feedsync_store::Grant {
        user: user("bob"),
        collection: trap.name,
        role: feedsync_store::Role::Editor,
    };
    hub.endpoint.grant(grant).await.unwrap();
    let bob = hub.google("bob").await;
    hub.subscribe(&bob, FEED).await;
    let reading = reading_collection(Some(&user("bob")));
    let of = feedsync_store::GrantFilter::Collection(&reading);
    let grants = hub.endpoint.store().grants(of).await.unwrap();
    let owners: Vec<_> = grants.iter().map(|grant| (grant.user.as_str(), grant.role)).collect();
    assert_eq!(owners, [("bob", feedsync_store::Role::Owner)]);
}
