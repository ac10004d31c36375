//! `_session`: clients that sign in once, and then send a cookie (section 2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_store::{Scope, TokenKind};
use http::{Method, Response};
use serde_json::{Value, json};

use super::{Couch, JSON, said, send};
use crate::access::world::{World, collection};
use crate::hub::text;

const PASSWORD: &str = "correct horse battery";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn world() -> World {
    let world = World::in_memory().await;
    for name in ["owen", "root"] {
        world.password(name, PASSWORD).await;
    }
    world
}

async fn sign_in(world: &World, name: &str, password: &str) -> Response<axum::body::Body> {
    let body = json!({"name": name, "password": password}).to_string();
    send(&world.router, Method::POST, "/_session", &[JSON], body).await
}

/// Cookie that a client stores from a response.
fn kept(response: &Response<axum::body::Body>) -> String {
    text(response, "set-cookie").split(';').next().unwrap().to_owned()
}

/// Identity of a request with a cookie.
async fn who(world: &World, cookie: &str) -> Value {
    let headers = [("cookie", cookie)];
    let answer = send(&world.router, Method::GET, "/_session", &headers, "").await;
    said(answer).await.1["userCtx"].clone()
}

#[tokio::test]
async fn a_cookie_signs_in_until_its_session_ends() {
    let world = world().await;
    let begun = sign_in(&world, "owen", PASSWORD).await;
    assert!(text(&begun, "set-cookie").contains("; HttpOnly; SameSite=Strict"));
    assert_eq!(text(&begun, "cache-control"), "no-store");
    let cookie = kept(&begun);
    assert!(cookie.starts_with("AuthSession="));
    assert_eq!(said(begun).await, (200, json!({"ok": true, "name": "owen", "roles": []})));
    assert_eq!(who(&world, &cookie).await, json!({"name": "owen", "roles": []}));
    let ask = async |method: Method, path: &str, more: (&str, &str)| {
        let headers = [JSON, ("cookie", &*cookie), more];
        send(&world.router, method, path, &headers, "{}").await.status().as_u16()
    };
    let none = ("x-none", "");
    assert_eq!(ask(Method::PUT, "/mine", none).await, 201, "a program says nothing of pages");
    assert_eq!(ask(Method::PUT, "/mine/a", ("sec-fetch-site", "same-origin")).await, 201);
    assert_eq!(ask(Method::PUT, "/mine/b", ("sec-fetch-site", "cross-site")).await, 403);
    assert_eq!(ask(Method::PUT, "/mine/b", ("origin", "https://elsewhere.example")).await, 403);
    assert_eq!(ask(Method::GET, "/mine/b", none).await, 404);
    // Outside databases it signs in nobody.
    let pages = world.ask(Method::GET, "/collections/notes", &[("cookie", &cookie)]).await;
    assert_eq!(pages.status().as_u16(), 401);
    let headers = [("cookie", &*cookie)];
    let ended = send(&world.router, Method::DELETE, "/_session", &headers, "").await;
    assert!(text(&ended, "set-cookie").starts_with("AuthSession=; Path=/; Max-Age=0"));
    assert_eq!(said(ended).await, (200, json!({"ok": true})));
    assert_eq!(who(&world, &cookie).await, json!({"name": null, "roles": []}));
    assert_eq!(ask(Method::GET, "/mine", none).await, 401);
}

#[tokio::test]
async fn a_form_signs_in_as_well_and_who_administers_is_told() {
    let world = world().await;
    let form = "name=root&password=correct+horse%20battery".to_owned();
    let begun = send(&world.router, Method::POST, "/_session", &[FORM], form).await;
    let cookie = kept(&begun);
    let told = json!({"ok": true, "name": "root", "roles": ["_admin"]});
    assert_eq!(said(begun).await, (200, told));
    assert_eq!(who(&world, &cookie).await, json!({"name": "root", "roles": ["_admin"]}));
}

#[tokio::test]
async fn invalid_credentials_start_no_session() {
    let world = world().await;
    for (name, password) in
        [("owen", "wrong"), ("none", PASSWORD), ("No one", PASSWORD), ("rita", "")]
    {
        let refused = sign_in(&world, name, password).await;
        assert!(!refused.headers().contains_key("set-cookie"));
        let (status, told) = said(refused).await;
        assert_eq!((status, &told["error"]), (401, &json!("unauthorized")), "{name}");
    }
    for body in ["{", "[]", "{}", r#"{"name":"owen"}"#, r#"{"name":1,"password":"x"}"#] {
        let refused = send(&world.router, Method::POST, "/_session", &[JSON], body).await;
        assert_eq!(said(refused).await.0, 400, "{body}");
    }
    assert_eq!(who(&world, "AuthSession=fsy_").await["name"], json!(null));
}

/// A session must not outlive its token or have more rights, so the cookie holds the token.
#[tokio::test]
async fn cookie_of_a_token_sign_in_holds_the_token() {
    let world = world().await;
    let scope = Scope { role: None, collection: Some(collection("notes")) };
    let bounded = world.token("owen", TokenKind::Access, scope).await;
    let begun = sign_in(&world, "owen", &bounded).await;
    assert_eq!(begun.status(), 200);
    let cookie = kept(&begun);
    assert_eq!(who(&world, &cookie).await["name"], "owen");
    let made = send(&world.router, Method::PUT, "/mine", &[("cookie", &*cookie)], "").await;
    assert_eq!(made.status(), 401, "the token may make no database");
    assert_eq!(sign_in(&world, "rita", &bounded).await.status(), 401, "it is another's");
    let headers = [("cookie", &*cookie)];
    send(&world.router, Method::DELETE, "/_session", &headers, "").await;
    assert_eq!(who(&world, &cookie).await["name"], "owen", "the token stays");
    // A session cookie is not accepted as a token, nor a token as a session.
    let as_session = cookie.replace("token.", "");
    assert_eq!(who(&world, &as_session).await["name"], json!(null));
}

/// On a hub that needs no sign-in, every sign-in succeeds.
#[tokio::test]
async fn an_open_hub_lets_in_who_signs_in() {
    let couch = Couch::new().await;
    let body = r#"{"name":"admin","password":"any"}"#.to_owned();
    let begun = couch.send(Method::POST, "/_session", &[JSON], body).await;
    let cookie = kept(&begun);
    assert_eq!(said(begun).await.1["roles"], json!(["_admin"]));
    let answer = couch.send(Method::GET, "/db", &[("cookie", &*cookie)], "").await;
    assert_eq!(answer.status(), 200);
}

/// Cookie jars of drivers drop cookies without `Expires`, and drivers read how the session was
/// authenticated.
#[tokio::test]
async fn a_session_says_when_it_ends_and_how_it_signed_in() {
    let world = world().await;
    let begun = sign_in(&world, "owen", PASSWORD).await;
    let expires = |response: &Response<axum::body::Body>| {
        let cookie = text(response, "set-cookie").to_owned();
        let (_, time) = cookie.split_once("; Expires=").expect("a time");
        httpdate::parse_http_date(time.split(';').next().unwrap()).unwrap()
    };
    let age = expires(&begun).duration_since(std::time::UNIX_EPOCH).unwrap();
    // The clock of these tests begins near this second.
    assert!(age.as_secs().abs_diff(1_763_668_000 + 24 * 60 * 60) < 3_600, "{age:?}");
    let info = async |name: &str, value: &str| {
        let headers = [(name, value)];
        let answer = send(&world.router, Method::GET, "/_session", &headers, "").await;
        said(answer).await.1["info"].clone()
    };
    let all = |authenticated: Option<&str>| {
        let mut all = json!({"authentication_handlers": ["cookie", "default"], "authentication_db": "_users"});
        if let Some(authenticated) = authenticated {
            all["authenticated"] = json!(authenticated);
        }
        all
    };
    let basic = format!("Basic {}", STANDARD.encode(format!("owen:{PASSWORD}")));
    let cookie = kept(&begun);
    assert_eq!(info("cookie", &cookie).await, all(Some("cookie")));
    assert_eq!(info("authorization", &basic).await, all(Some("default")));
    assert_eq!(info("accept", "*/*").await, all(None));
    let headers = [("cookie", &*cookie)];
    let ended = send(&world.router, Method::DELETE, "/_session", &headers, "").await;
    assert_eq!(expires(&ended), std::time::UNIX_EPOCH);
}

#[tokio::test]
async fn figures_are_for_administrators() {
    let world = world().await;
    for (name, status) in [("root", 200), ("owen", 401)] {
        let cookie = kept(&sign_in(&world, name, PASSWORD).await);
        for part in ["_stats", "_system", "_prometheus"] {
            let (path, headers) = (format!("/_node/_local/{part}"), [("cookie", &*cookie)]);
            let answer = send(&world.router, Method::GET, &path, &headers, "").await;
            assert_eq!(answer.status(), status, "{name} {part}");
        }
    }
    let answer = send(&world.router, Method::GET, "/_node/_local/_stats", &[], "").await;
    assert_eq!(answer.status(), 401);
}
