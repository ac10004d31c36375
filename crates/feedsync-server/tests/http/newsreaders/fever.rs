//! The Fever interface: sign-in with keys, lists, and marks that the other dialects show.

use axum::body::Body;
use feedsync_endpoint::NewToken;
use feedsync_log::Millis;
use feedsync_store::{AuditSelection, Scope, TokenKind};
use http::Method;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::attacks::log_of;
use super::{FEED, Hub, PASSWORD};
use crate::access::world::{basic, user};
use crate::hub::bytes;

const OTHER_FEED: &str = "https://other.example/feed";

/// Key that a client derives from a name and a password.
fn key_of(name: &str, password: &str) -> String {
    Md5::digest(format!("{name}:{password}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Hub {
    /// Key of a new Fever password of a user.
    async fn fever_key(&self, name: &str) -> String {
        let new = NewToken {
            user: user(name),
            kind: TokenKind::Access,
            label: "fever".to_owned(),
            scope: Scope::default(),
            expires: None,
        };
        key_of(name, &self.endpoint.issue_fever_password(new).await.unwrap().0)
    }

    /// Response to a request with parameters in the query, or in the body if they are long.
    async fn fever(&self, key: &str, parameters: &str) -> Value {
        let (path, body) = match parameters.len() {
            0..1_000 => (format!("fever/?api&{parameters}"), format!("api_key={key}")),
            _ => ("fever/?api".to_owned(), format!("api_key={key}&{parameters}")),
        };
        let (status, text) = self.ask(Method::POST, &path, "", body).await;
        assert_eq!(status, 200, "{parameters}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn is_signed_in(&self, key: &str) -> bool {
        let answer = self.fever(key, "groups").await;
        assert_eq!(answer["api_version"], 3);
        assert_eq!(answer.get("groups").is_some(), answer["auth"] == 1);
        answer["auth"] == 1
    }
}

/// Numbers of a list that is separated by commas.
fn ids(list: &Value) -> Vec<i64> {
    let text = list.as_str().unwrap();
    text.split(',').filter(|id| !id.is_empty()).map(|id| id.parse().unwrap()).collect()
}

fn numbers(items: &Value) -> Vec<i64> {
    items.as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_fever_key_signs_in_its_user_until_it_is_revoked() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let (anna, bob) = (hub.fever_key("anna").await, hub.fever_key("bob").await);
    assert!(hub.is_signed_in(&anna).await && hub.is_signed_in(&anna.to_uppercase()).await);
    let google = hub.google("anna").await;
    let token = google.rsplit_once('=').unwrap().1;
    hub.subscribe(&google, FEED).await;
    assert_eq!(hub.fever(&anna, "feeds").await["feeds"][0]["url"], FEED);
    // A key shows the state of its own user.
    assert_eq!(hub.fever(&bob, "feeds").await["feeds"], json!([]));
    // Neither the password of an account nor another token is a key.
    for wrong in
        ["", "x", token, &key_of("anna", PASSWORD), &key_of("anna", token), &"0".repeat(32)]
    {
        assert!(!hub.is_signed_in(wrong).await, "{wrong}");
    }
    // A key signs in at no other interface.
    for authorization in [
        format!("GoogleLogin auth={anna}"),
        format!("GoogleLogin auth=fever:{anna}"),
        format!("Bearer {anna}"),
        format!("Bearer fever:{anna}"),
        basic("anna", &anna),
        basic("anna", &format!("fever:{anna}")),
    ] {
        let path = "google/reader/api/0/subscription/list";
        assert_eq!(hub.ask(Method::GET, path, &authorization, "").await.0, 401, "{authorization}");
    }
    let tokens = hub.endpoint.store().tokens(&user("anna")).await.unwrap();
    let token = tokens.iter().find(|token| token.label == "fever").unwrap();
    hub.endpoint.revoke_token(&user("anna"), token.digest).await.unwrap();
    // Changes on other nodes take effect here within a second.
    while hub.is_signed_in(&anna).await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(hub.is_signed_in(&bob).await);
    hub.endpoint.set_disabled(&user("bob"), true).await.unwrap();
    while hub.is_signed_in(&bob).await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn key_may_come_in_a_multipart_form() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    let form = format!(
        "--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n{key}\r\n--x--\r\n"
    );
    let headers = [("content-type", "multipart/form-data; boundary=x")];
    let sent = async |form: &str| {
        let body = Body::from(form.to_owned());
        let answer = hub.send(Method::POST, "fever/?api&groups", &headers, body).await;
        let status = answer.status().as_u16();
        (status, String::from_utf8(bytes(answer).await.to_vec()).unwrap())
    };
    let (status, text) = sent(&form).await;
    assert!(status == 200 && text.contains("\"auth\":1"), "{status} {text}");
    for broken in ["", "--x", &form[..form.len() - 6]] {
        let (status, text) = sent(broken).await;
        assert!(status == 400 && text.contains("multipart/form-data"), "{broken}: {status} {text}");
    }
}

#[tokio::test]
async fn guesses_of_fever_keys_are_limited() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    assert!(hub.is_signed_in(&key).await);
    let mut statuses = Vec::new();
    for number in 0..200 {
        let body = format!("api_key={number:032x}");
        let (status, text) = hub.ask(Method::POST, "fever/?api&feeds", "", body).await;
        assert!(status == 429 || text == r#"{"api_version":3,"auth":0}"#, "{status} {text}");
        statuses.push(status);
    }
    let selection = AuditSelection { before: None, user: None, collection: None, limit: 1_000 };
    let acts = hub.endpoint.store().acts(selection).await.unwrap();
    let failed = acts.iter().filter(|it| it.act.action == "failed sign-in");
    let failed: Vec<_> = failed.map(|it| &*it.act.detail).collect();
    assert!((1..=20).contains(&failed.len()), "{failed:?}");
    let is_known =
        |why: &&str| ["unknown, expired or revoked token", "too many attempts"].contains(why);
    assert!(failed.iter().all(is_known), "{failed:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    // A key that signed in before is not a guess.
    assert!(hub.is_signed_in(&key).await);
}

#[tokio::test]
async fn a_hub_without_users_accepts_every_key() {
    let hub = Hub::of(&[]).await;
    for key in ["", "x", &key_of("anna", "secret")] {
        assert!(hub.is_signed_in(key).await, "{key}");
    }
}

#[tokio::test]
async fn get_requests_never_sign_in() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    let google = hub.google("anna").await;
    hub.subscribe(&google, FEED).await;
    hub.publish(FEED, 2).await;
    let before = log_of(&hub, "anna").await;
    for path in ["fever", "fever/", "fever/api.php", "fever/fever.php"] {
        let address = format!("{path}?api&api_key={key}&items&mark=group&as=read&id=0");
        for authorization in ["", &google, &basic("anna", PASSWORD)] {
            let answer = hub.get(&address, authorization).await;
            assert_eq!(answer, json!({"api_version": 3, "auth": 0}), "{path}");
        }
        let (status, text) =
            hub.ask(Method::POST, &format!("{path}?api"), "", format!("api_key={key}")).await;
        assert!(status == 200 && text.contains("\"auth\":1"), "{path}: {text}");
    }
    assert_eq!(log_of(&hub, "anna").await, before);
    assert_eq!(hub.ask(Method::POST, "fever/other", "", "").await.0, 404);
}

/// The requests of a first synchronization: lists, then all articles in pages.
#[tokio::test]
async fn a_client_loads_everything_and_continues_where_it_was() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    let basic = basic("anna", PASSWORD);
    let folder = json!({"title": "Tech"}).to_string();
    let (_, made) = hub.ask(Method::POST, "miniflux/v1/categories", &basic, folder).await;
    let folder = serde_json::from_str::<Value>(&made).unwrap()["id"].clone();
    let feed = json!({"feed_url": FEED, "category_id": folder}).to_string();
    assert_eq!(hub.ask(Method::POST, "miniflux/v1/feeds", &basic, feed).await.0, 201);
    let google = hub.google("anna").await;
    hub.subscribe(&google, OTHER_FEED).await;
    hub.publish(FEED, 120).await;
    hub.publish(OTHER_FEED, 3).await;
    let icon = feedsync_aggregator::Icon {
        media_type: "image/png".to_owned(),
        bytes: b"\x89PNG".to_vec(),
    };
    let site = "https://news.example".parse().unwrap();
    hub.library.set_icon(&site, Some(icon), Millis::new(1)).await.unwrap();

    let lists = hub.fever(&key, "groups&feeds&favicons&links").await;
    assert_eq!(lists["groups"], json!([{"id": folder, "title": "Tech"}]));
    assert_eq!(lists["feeds_groups"], json!([{"group_id": folder, "feed_ids": "1"}]));
    let feeds = lists["feeds"].as_array().unwrap();
    assert_eq!(feeds.len(), 2);
    let of_news = feeds.iter().find(|feed| feed["url"] == FEED).unwrap();
    assert_eq!((&of_news["id"], &of_news["favicon_id"]), (&json!(1), &json!(1)));
    assert_eq!(lists["favicons"], json!([{"id": 1, "data": "image/png;base64,iVBORw=="}]));
    assert_eq!(lists["links"], json!([]));
    assert!(lists["last_refreshed_on_time"].is_u64(), "{lists}");

    let (mut since, mut found) = (0, Vec::new());
    loop {
        let page = hub.fever(&key, &format!("items&since_id={since}")).await;
        assert_eq!(page["total_items"], 123);
        let page = numbers(&page["items"]);
        assert!(page.len() <= 50 && page.is_sorted());
        let Some(last) = page.last() else { break };
        since = *last;
        found.extend(page);
    }
    assert_eq!(found, (1..=123).collect::<Vec<i64>>());
    let (mut max, mut backwards) = (0, Vec::new());
    loop {
        let page = numbers(&hub.fever(&key, &format!("items&max_id={max}")).await["items"]);
        let Some(last) = page.last() else { break };
        max = *last;
        backwards.extend(page);
    }
    assert_eq!(backwards, (1..=123).rev().collect::<Vec<i64>>());

    let states = hub.fever(&key, "unread_item_ids&saved_item_ids").await;
    let mut unread = ids(&states["unread_item_ids"]);
    unread.sort_unstable();
    assert_eq!(unread, found);
    assert_eq!(states["saved_item_ids"], "");
    let two = hub.fever(&key, "items&with_ids=2,1,999999").await;
    let item = two["items"].as_array().unwrap().iter().find(|item| item["id"] == 2).unwrap();
    assert_eq!(two["items"].as_array().unwrap().len(), 2);
    assert_eq!((&item["feed_id"], &item["title"]), (&json!(1), &json!("<Title> 2")));
    assert_eq!((&item["html"], &item["is_read"]), (&json!("<p>Hi</p>"), &json!(0)));
    assert!(!two.to_string().contains("javascript"));

    hub.publish_one(&FEED.parse().unwrap(), "new", 1_763_800_000_000).await;
    assert_eq!(numbers(&hub.fever(&key, "items&since_id=123").await["items"]), [124]);
}

#[tokio::test]
async fn marks_are_seen_in_the_other_dialects() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let key = hub.fever_key("anna").await;
    let (anna, bob) = (hub.google("anna").await, hub.google("bob").await);
    hub.subscribe(&anna, FEED).await;
    hub.subscribe(&bob, FEED).await;
    hub.publish(FEED, 10).await;

    let answer = hub.fever(&key, "mark=item&as=read&id=3").await;
    let mut unread = ids(&answer["unread_item_ids"]);
    unread.sort_unstable();
    assert_eq!(unread, [1, 2, 4, 5, 6, 7, 8, 9, 10]);
    assert!(answer.get("saved_item_ids").is_none());
    assert_eq!(hub.unread("anna", &anna).await, [9; 4]);
    hub.fever(&key, "mark=item&as=unread&id=3").await;
    assert_eq!(hub.unread("anna", &anna).await, [10; 4]);

    let answer = hub.fever(&key, "mark=item&as=saved&id=4").await;
    assert_eq!(answer["saved_item_ids"], "4");
    assert!(answer.get("unread_item_ids").is_none());
    let shown = hub.get("miniflux/v1/entries/4", &basic("anna", PASSWORD)).await;
    assert_eq!(shown["starred"], true);
    assert_eq!(hub.fever(&key, "items&with_ids=4").await["items"][0]["is_saved"], 1);
    assert_eq!(hub.fever(&key, "mark=item&as=unsaved&id=4").await["saved_item_ids"], "");

    // Article N was published N seconds after this time.
    let published = 1_763_000_000;
    let answer = hub.fever(&key, &format!("mark=feed&as=read&id=1&before={}", published + 4)).await;
    let mut unread = ids(&answer["unread_item_ids"]);
    unread.sort_unstable();
    assert_eq!(unread, [5, 6, 7, 8, 9, 10]);
    assert_eq!(hub.unread("anna", &anna).await, [6; 4]);
    // A mark in the body, with lists that are requested with it.
    let body = format!("api_key={key}&mark=group&as=read&id=0&before={}", published + 6);
    let (_, text) = hub.ask(Method::POST, "fever/?api&items&groups", "", body).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["items"].as_array().unwrap().len(), 10);
    assert_eq!(answer["items"][5]["is_read"], 1);
    assert_eq!(hub.unread("anna", &anna).await, [4; 4]);
    hub.fever(&key, "mark=group&as=read&id=0").await;
    assert_eq!(hub.unread("anna", &anna).await, [0; 4]);
    assert_eq!(hub.unread("bob", &bob).await, [10; 4]);

    // Marks of other dialects are shown here.
    let put = json!({"entry_ids": [2, 5], "status": "unread"}).to_string();
    let basic = basic("anna", PASSWORD);
    assert_eq!(hub.ask(Method::PUT, "miniflux/v1/entries", &basic, put).await.0, 204);
    let answer = hub.fever(&key, "unread_item_ids").await;
    let mut unread = ids(&answer["unread_item_ids"]);
    unread.sort_unstable();
    assert_eq!(unread, [2, 5]);
    // The hub does not know what was read recently.
    let before = log_of(&hub, "anna").await;
    let again = hub.fever(&key, "unread_recently_read=1").await;
    assert_eq!(again["unread_item_ids"], answer["unread_item_ids"]);
    assert_eq!(log_of(&hub, "anna").await, before);
}

#[tokio::test]
async fn a_folder_is_marked_without_the_feeds_outside() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    hub.subscribe(&anna, OTHER_FEED).await;
    hub.publish(FEED, 3).await;
    hub.publish(OTHER_FEED, 2).await;
    let edit = "ac=edit&s=feed/1&a=user/-/label/Tech";
    let path = "google/reader/api/0/subscription/edit";
    assert_eq!(hub.ask(Method::POST, path, &anna, edit).await.1, "OK");
    let group = hub.fever(&key, "groups").await["groups"][0]["id"].as_i64().unwrap();
    let answer = hub.fever(&key, &format!("mark=group&as=read&id={group}")).await;
    let mut unread = ids(&answer["unread_item_ids"]);
    unread.sort_unstable();
    assert_eq!(unread, [4, 5]);
}

#[tokio::test]
async fn invalid_fever_requests_name_the_parameter_and_change_nothing() {
    let hub = Hub::of(&["anna"]).await;
    let key = hub.fever_key("anna").await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    hub.publish(FEED, 3).await;
    let before = log_of(&hub, "anna").await;
    for (parameters, error) in [
        ("mark=item&as=read&id=x", "id: not a number"),
        ("mark=item&as=read&id=1&items&since_id=x", "since_id: not a number"),
        ("mark=item&as=gone&id=1", "as: must be read, unread, saved or unsaved"),
        ("mark=feed&as=read&id=1&before=-1", "before: not a number"),
        ("mark=feed&as=read", "id: the parameter is missing"),
        ("mark=all&as=read&id=1", "mark: must be item, feed or group"),
        ("items&with_ids=1,x", "with_ids: not a number"),
    ] {
        let answer = hub.fever(&key, parameters).await;
        assert_eq!((&answer["auth"], &answer["error"]), (&json!(1), &json!(error)), "{parameters}");
        // A client that is not signed in gets no reason.
        let answer = hub.fever("x", parameters).await;
        assert_eq!(answer, json!({"api_version": 3, "auth": 0}));
    }
    // Unknown articles, feeds and folders have no articles to mark.
    let huge = "99999999999999999999999";
    for parameters in [
        &format!("mark=item&as=read&id={huge}"),
        &format!("mark=item&as=saved&id={huge}"),
        "mark=item&as=read&id=999",
        "mark=item&as=read&id=-1",
        "mark=feed&as=read&id=999",
        &format!("mark=feed&as=read&id={huge}&before={huge}"),
        "mark=group&as=read&id=999",
        "mark=group&as=read&id=-1",
        &format!("items&with_ids={}", vec![huge; 3_000].join(",")),
        &format!("items&since_id={huge}&since_id=1&max_id=-{huge}"),
    ] {
        let answer = hub.fever(&key, parameters).await;
        assert!(answer["auth"] == 1 && answer.get("error").is_none(), "{parameters}: {answer}");
    }
    assert_eq!(log_of(&hub, "anna").await, before);
    // A body that is not a form.
    let headers = [("content-type", "application/json")];
    let answer = hub.send(Method::POST, "fever/?api&items", &headers, "{}").await;
    assert_eq!(&bytes(answer).await[..], br#"{"api_version":3,"auth":0}"#);
}

#[tokio::test]
async fn my_account_creates_fever_passwords() {
    let hub = Hub::of(&["anna"]).await;
    let anna = crate::visitor::Visitor::signed_in(&hub.router, "anna", PASSWORD).await;
    let account = "/pages/account";
    let fields = [("action", "token"), ("label", "my <phone>"), ("role", "fever"), ("expires", "")];
    let made = anna.post(account, &fields).await;
    assert_eq!(made.status(), 201);
    let page = crate::visitor::html(made).await;
    let field = page.split("id=\"made\"").nth(1).unwrap();
    let password = field.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(!password.starts_with("fsy_") && page.contains("/reader/fever/"), "{page}");
    assert!(hub.is_signed_in(&key_of("anna", password)).await);
    // It is not a password of the user.
    assert_eq!(hub.sign_in("anna", password).await.0, 403);
    let fields = [("action", "token"), ("role", "fever"), ("collection", "notes")];
    let refused = anna.post(account, &fields).await;
    assert_eq!(refused.status(), 422);
}
