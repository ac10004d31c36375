//! Tests of the pages for people.

use http::{Method, header};
use serde_json::{Value, json};

use crate::world::{ATOM, Answer, World, feed};

const FEED: &str = "http://example.org/feed?a=1&b=<2>";
const HOST: (&str, &str) = ("host", "127.0.0.1:5024");
const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:5024");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A browser with a session.
struct Browser<'w> {
    world: &'w World,
    cookie: String,
    form: String,
}

impl<'w> Browser<'w> {
    async fn of(world: &'w World) -> Self {
        let made = world.program(Method::POST, "/links", Value::Null).await.ok(201);
        let url = made["url"].as_str().unwrap();
        let path = url.strip_prefix("http://127.0.0.1:5024").unwrap().to_owned();
        let opened = world.send(Method::GET, &path, &[HOST], "").await;
        assert_eq!((opened.status, opened.header(header::LOCATION)), (303, "/"));
        let cookie = opened.header(header::SET_COOKIE);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let again = world.send(Method::GET, &path, &[HOST], "").await;
        assert_eq!(again.status, 401, "a link opens once");
        let mut browser = Self { world, cookie, form: String::new() };
        let home = browser.get("/").await;
        let (_, rest) = home.text.split_once("name=\"form\" value=\"").unwrap();
        browser.form = rest[..64].to_owned();
        browser
    }

    async fn get(&self, path: &str) -> Answer {
        let headers = [HOST, ("cookie", &*self.cookie)];
        let answer = self.world.send(Method::GET, path, &headers, "").await;
        if path.starts_with("/errors") {
            return answer;
        }
        assert!(answer.header(header::CONTENT_SECURITY_POLICY).contains("default-src 'none'"));
        answer
    }

    /// Sends a form; returns the response.
    async fn send(&self, path: &str, fields: &str) -> Answer {
        let body = format!("form={}&{fields}", self.form);
        let headers = [HOST, ORIGIN, FORM, ("cookie", &*self.cookie)];
        self.world.send(Method::POST, path, &headers, &body).await
    }

    async fn done(&self, path: &str, fields: &str) -> String {
        let answer = self.send(path, fields).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header(header::LOCATION).to_owned()
    }
}

#[tokio::test]
async fn pages_need_a_link_and_the_error_explains_how_to_get_one() {
    let world = World::new(&[]);
    for path in ["/", "/pages/outbox", "/pages/errors", "/pages/errors/1"] {
        let answer = world.send(Method::GET, path, &[HOST], "").await;
        assert_eq!(answer.status, 401);
        assert!(answer.text.contains("feedsync gateway open"), "{path}");
        let other = [HOST, ("cookie", "feedsync-gateway=0123")];
        assert_eq!(world.send(Method::GET, path, &other, "").await.status, 401);
    }
    let wrong = world.send(Method::GET, "/pages/open?ticket=0123", &[HOST], "").await;
    assert_eq!((wrong.status, wrong.header(header::SET_COOKIE)), (401, ""));
    // The token opens no pages, and a session does not replace the token.
    world.program(Method::GET, "/", Value::Null).await.problem(403, "for-people");
}

#[tokio::test]
async fn forms_work_only_in_the_browser_that_they_were_sent_to() {
    let world = World::new(&["https://app.example.org"]);
    let browser = Browser::of(&world).await;
    let cookie = ("cookie", &*browser.cookie);
    let fields = format!("form={}&action=offline", browser.form);
    let stolen = Browser::of(&world).await.form;
    for (headers, body, status) in [
        // Another site, with the cookie that it cannot send in reality.
        (vec![HOST, FORM, cookie, ("origin", "https://evil.example")], &*fields, 403),
        (vec![HOST, FORM, cookie, ("sec-fetch-site", "cross-site")], &fields, 403),
        (vec![HOST, FORM, cookie, ("sec-fetch-site", "same-site")], &fields, 403),
        // A browser that does not declare the origin of the request.
        (vec![HOST, FORM, cookie], &fields, 403),
        // Without a proof, and with that of another browser.
        (vec![HOST, FORM, cookie, ORIGIN], "action=offline", 403),
        (vec![HOST, FORM, cookie, ORIGIN], &format!("form={stolen}&action=offline"), 403),
        (vec![HOST, FORM, ORIGIN], &fields, 401),
        (vec![HOST, cookie, ORIGIN, ("content-type", "text/plain")], &fields, 415),
    ] {
        let answer = world.send(Method::POST, "/", &headers, body).await;
        assert_eq!(answer.status, status, "{headers:?} {body}");
    }
    // A session cannot use the interface for programs, even from the gateway's own origin.
    for site in [ORIGIN, ("sec-fetch-site", "same-origin")] {
        for (method, path) in
            [(Method::PUT, "/network"), (Method::POST, "/refresh"), (Method::POST, "/links")]
        {
            let headers = [HOST, cookie, site, ("content-type", "application/json")];
            let answer = world.send(method, path, &headers, "{\"policy\":\"offline\"}").await;
            answer.problem(403, "foreign-form");
        }
    }
    let network = world.program(Method::GET, "/network", Value::Null).await.ok(200);
    assert_eq!(network["policy"], "auto", "nothing of this did anything");
    assert_eq!(browser.done("/", "action=offline").await, "/?network");
    let network = world.program(Method::GET, "/network", Value::Null).await.ok(200);
    assert_eq!(network["policy"], "offline");
    let none = browser.send("/", "action=none").await;
    assert_eq!(none.status, 400);
    assert!(none.text.contains("the form has no such action"));

    let closed = browser.send("/pages/close", "").await;
    assert!(closed.header(header::SET_COOKIE).contains("Max-Age=0"));
    assert_eq!(world.send(Method::GET, "/", &[HOST, cookie], "").await.status, 401);
}

#[tokio::test]
async fn subscriptions_are_made_shown_and_steered() {
    let world = World::new(&[]);
    let browser = Browser::of(&world).await;
    let wanted = "action=subscribe&feed=http%3A%2F%2Fexample.org%2Ffeed%3Fa%3D1%26b%3D%3C2%3E\
         &follows=enclosure+related&interval=5&headers=Authorization%3A+Bearer+secret%0D%0AAccept%3A+a%2Fb";
    assert_eq!(browser.done("/", wanted).await, "/?subscribed");
    let home = browser.get("/").await;
    assert!(home.text.contains("http://example.org/feed?a=1&#38;b=%3C2%3E"), "{}", home.text);
    for part in ["enclosure", "related", "5 minutes", "Authorization", "State: READY"] {
        assert!(home.text.contains(part), "{part}");
    }
    assert!(!home.text.contains("secret"));
    for (action, said) in [
        ("pause", "/?paused"),
        ("resume", "/?resumed"),
        ("refresh", "/?refreshed"),
        ("unsubscribe", "/?unsubscribed"),
    ] {
        assert_eq!(browser.done("/", &format!("action={action}&id=1")).await, said);
        if action == "pause" {
            let page = browser.get("/?paused").await;
            assert!(page.text.contains("State: PAUSED") && page.text.contains("Paused. Nothing"));
        }
    }
    assert!(browser.get("/").await.text.contains("There are no subscriptions yet."));
    // Invalid input is shown again.
    for (fields, fault) in [
        ("feed=nowhere&interval=5", "relative"),
        ("feed=http%3A%2F%2Fa%2F&interval=often", "often"),
        ("feed=http%3A%2F%2Fa%2F&headers=nothing", "Name: value"),
        ("feed=http%3A%2F%2Fa%2F&follows=%3Cb%3E", "link relation"),
    ] {
        let answer = browser.send("/", &format!("action=subscribe&{fields}")).await;
        assert_eq!(answer.status, 422);
        assert!(answer.text.contains(fault) && answer.text.contains("role=\"alert\""), "{fault}");
        assert!(!answer.text.contains("<b>"));
    }
    let typed = browser.send("/", "action=subscribe&feed=nowhere&follows=x").await;
    assert!(typed.text.contains("value=\"nowhere\"") && typed.text.contains("value=\"x\""));
}

#[tokio::test]
async fn edits_and_errors_are_shown_with_their_sides_and_settled() {
    let world = World::new(&[]);
    let browser = Browser::of(&world).await;
    let member = "http://example.org/one";
    let entry = |title: &str| {
        format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:1</id><title>{title}</title></entry>"
        )
    };
    world.interceptor_handle.answers(
        Method::GET,
        "http://example.org/feed",
        (200, &[ATOM], &feed(&["one"])),
    );
    let tag = ("etag", "\"1\"");
    world.interceptor_handle.answers(
        Method::GET,
        member,
        (200, &[ATOM, tag], &entry("two litres")),
    );
    let wanted = json!({ "feed": "http://example.org/feed", "follows": ["edit"] });
    world.program(Method::POST, "/subscriptions", wanted).await.ok(201);
    world.interceptor_handle.run();
    browser.done("/", "action=offline").await;
    let mine = entry("three litres");
    assert_eq!(world.interceptor_handle.edit(Method::PUT, member, &[ATOM], &mine), 200);
    let outbox = browser.get("/pages/outbox").await;
    assert!(
        outbox.text.contains(member) && outbox.text.contains("not sent yet"),
        "{}",
        outbox.text
    );
    assert_eq!(browser.done("/pages/outbox", "action=retry&id=1").await, "/pages/outbox?tried");

    let theirs = entry("<em>four</em> litres");
    world.interceptor_handle.answers(Method::PUT, member, (409, &[], "somebody was <quicker>"));
    world.interceptor_handle.answers(
        Method::GET,
        member,
        (200, &[ATOM, ("etag", "\"2\"")], &theirs),
    );
    browser.done("/", "action=online").await;
    world.interceptor_handle.run();
    let errors = browser.get("/pages/errors").await;
    assert!(errors.text.contains("409 Conflict") && errors.text.contains("/pages/errors/1"));
    let error = browser.get("/pages/errors/1").await.text;
    for part in [
        "Mine: the version that was sent",
        "Base: the version that was edited",
        "Theirs: the current version on the server",
        "Fetched from the server just now.",
        "somebody was &#60;quicker&#62;",
        "two litres",
        "<ins>",
        "<del>",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("<em>"), "what others sent is text");
    let copy = browser.get("/errors/1/theirs").await;
    assert_eq!((&*copy.text, copy.header(header::CONTENT_DISPOSITION)), (&*theirs, "attachment"));
    assert_eq!(browser.done("/pages/errors/1", "action=retry").await, "/pages/errors?retried");
    assert!(browser.get("/pages/errors").await.text.contains("There are no errors."));
    world.interceptor_handle.run();
    assert_eq!(browser.done("/pages/errors", "action=clear&id=2").await, "/pages/errors?cleared");
    world.program(Method::PUT, "/network", json!({ "policy": "offline" })).await.ok(200);
    assert_eq!(world.interceptor_handle.edit(Method::DELETE, member, &[], ""), 204);
    let list = world.program(Method::GET, "/outbox", Value::Null).await.ok(200);
    let drop = format!("action=drop&id={}", list[0]["id"].as_str().unwrap());
    assert_eq!(browser.done("/pages/outbox", &drop).await, "/pages/outbox?dropped");
    assert!(browser.get("/pages/outbox").await.text.contains("There are no pending edits."));
    let none = browser.get("/pages/errors/99").await;
    assert_eq!(none.status, 404);
    assert!(none.text.contains("there is no such error"), "{}", none.text);
}

#[tokio::test]
async fn static_files_are_immutable_and_pages_are_notified_of_changes() {
    let world = World::new(&[]);
    let browser = Browser::of(&world).await;
    let home = browser.get("/").await.text;
    let names = home.split("/pages/assets/").skip(1);
    let names: Vec<&str> = names.map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names.len(), 2);
    for name in names {
        let path = format!("/pages/assets/{name}");
        let asset = world.send(Method::GET, &path, &[HOST], "").await;
        assert_eq!(asset.status, 200);
        assert!(asset.header(header::CACHE_CONTROL).contains("immutable"));
    }
    let headers = [HOST, ("cookie", &*browser.cookie)];
    let events = world.raw(Method::GET, "/events", &headers, "").await;
    let mut events = events.into_body().into_data_stream();
    use futures_util::StreamExt as _;
    assert_eq!(&events.next().await.unwrap().unwrap()[..], b"retry: 3000\n\n");
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    let told = events.next().await.unwrap().unwrap();
    assert_eq!(&told[..], b"event: message\ndata: {}\n\n");
}
