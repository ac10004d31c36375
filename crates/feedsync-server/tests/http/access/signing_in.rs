//! Signing in and out, its effects, its expiry, and attacks on it.

use std::time::Duration;

use axum::body::Body;
use feedsync_core::Format;
use feedsync_endpoint::Settings;
use feedsync_server::{Config, router};
use feedsync_store::{AuditSelection, CollectionChange, Digest, Role, Scope, TokenKind};
use http::{Method, StatusCode};
use tokio::time::sleep;
use tower::ServiceExt as _;

use super::world::{World, basic, bearer, collection, user};
use crate::hub::{self, bytes, json, payload, request, text};

const CHANGES: &str = "/collections/notes/changes";

/// Slightly more than the lifetime of cached rights.
const RIGHTS_CACHE_TIME: Duration = Duration::from_millis(1_100);

/// A feed with one item that the hub does not have.
async fn offered(id: &str) -> String {
    let other = hub::endpoint("other");
    hub::create(&other, "notes", Format::Atom).await;
    let item = hub::add(&other, id).await;
    hub::feed(Format::Atom, &[item])
}

async fn post(world: &World, headers: &[(&str, &str)], id: &str) -> StatusCode {
    let mut all = vec![("content-type", "application/atom+xml")];
    all.extend_from_slice(headers);
    let request = request(Method::POST, CHANGES, &all, Body::from(offered(id).await));
    world.router.clone().oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn without_a_user_loopback_is_open_and_with_the_first_it_closes() {
    let open = hub::hub().await;
    assert_eq!(open.get(CHANGES).await.status(), StatusCode::OK);
    let new = feedsync_endpoint::NewUser {
        name: user("root"),
        password: None,
        administrator: true,
        databases_only: false,
    };
    open.endpoint.add_user(new).await.unwrap();
    sleep(RIGHTS_CACHE_TIME).await;
    assert_eq!(open.get(CHANGES).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(open.get("/healthz").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn without_a_user_whom_a_proxy_asks_for_is_a_stranger() {
    let open = hub::hub().await;
    let settings = [("public".to_owned(), "true".to_owned())].into();
    let public = CollectionChange { settings: Some(settings), ..Default::default() };
    hub::create(&open.endpoint, "open", Format::Atom).await;
    open.endpoint.change_collection(&collection("open"), public).await.unwrap();
    for header in ["x-forwarded-for", "x-real-ip", "forwarded", "via"] {
        let proxied = [(header, "192.0.2.1")];
        let status = async |method, path: &str| open.call(method, path, &proxied).await.status();
        assert_eq!(status(Method::GET, CHANGES).await, StatusCode::UNAUTHORIZED, "{header}");
        let removed = status(Method::DELETE, "/collections/notes").await;
        assert_eq!(removed, StatusCode::UNAUTHORIZED, "{header}");
        assert_eq!(status(Method::GET, "/collections/open/changes").await, StatusCode::OK);
        assert_eq!(status(Method::GET, "/healthz").await, StatusCode::OK);
    }
    assert_eq!(open.get(CHANGES).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_hub_that_is_seen_from_elsewhere_is_not_open_again_without_a_user() {
    let away = [
        Config {
            public_base: Some("https://feeds.example.org".parse().unwrap()),
            ..Config::default()
        },
        Config { hosts: vec!["box.lan".to_owned()], ..Config::default() },
        Config { trusted_proxies: vec!["10.0.0.1/32".parse().unwrap()], ..Config::default() },
    ];
    for config in away {
        let hub = hub::hub_with(config).await;
        assert_eq!(hub.get(CHANGES).await.status(), StatusCode::UNAUTHORIZED);
    }
    let base = Some("http://localhost:4287".parse().unwrap());
    let here = hub::hub_with(Config { public_base: base, ..Config::default() }).await;
    assert_eq!(here.get(CHANGES).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn over_https_a_session_signs_in_by_the_cookie_that_no_other_host_can_set() {
    let mut world = World::in_memory().await;
    let base = Some("https://localhost:4287".parse().unwrap());
    let config = Config { public_base: base, ..Config::default() };
    let session = world.token("rita", TokenKind::Session, Scope::default()).await;
    let status = async |world: &World, name: &str| {
        let cookie = format!("{name}={session}");
        world.ask(Method::GET, CHANGES, &[("cookie", &*cookie)]).await.status().as_u16()
    };
    assert_eq!(status(&world, "feedsync-session").await, 200);
    assert_eq!(status(&world, "__Host-feedsync-session").await, 401);
    world.router = router(world.endpoint.clone(), config);
    assert_eq!(status(&world, "__Host-feedsync-session").await, 200);
    assert_eq!(status(&world, "feedsync-session").await, 401);
}

/// The cookie of an ended session is not a guess: it neither takes nor needs an attempt.
#[tokio::test]
async fn an_ended_session_reads_what_is_public_and_its_person_signs_in_again() {
    let world = World::in_memory().await;
    world.password("rita", "correct horse").await;
    let session = world.token("rita", TokenKind::Session, Scope::default()).await;
    let digest = Digest::of(session.as_bytes());
    world.endpoint.revoke_token(&user("rita"), digest).await.unwrap();
    let cookie = format!("feedsync-session={session}");
    for time in 0..30 {
        let read = world.ask(Method::GET, "/collections/open", &[("cookie", &*cookie)]).await;
        assert_eq!(read.status(), StatusCode::OK, "{time}");
    }
    let visitor = crate::visitor::Visitor::new(&world.router);
    let signed_in = visitor.sign_in("rita", "correct horse", "/").await;
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn an_unknown_scheme_is_asked_for_basic_and_then_it_signs_in() {
    let world = World::in_memory().await;
    world.password("rita", "correct horse").await;
    let wsse = "WSSE profile=\"UsernameToken\"";
    let headers = [
        ("authorization", wsse),
        ("x-wsse", "UsernameToken Username=\"rita\", PasswordDigest=\"x\", Nonce=\"y\""),
    ];
    let refused = world.ask(Method::GET, CHANGES, &headers).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let challenges: Vec<_> = refused.headers().get_all("www-authenticate").iter().collect();
    assert_eq!(
        challenges,
        ["Basic realm=\"feedsync\", charset=\"UTF-8\"", "Bearer realm=\"feedsync\""]
    );
    let problem = String::from_utf8(bytes(refused).await.to_vec()).unwrap();
    assert!(!problem.contains("UsernameToken"), "{problem}");

    assert_eq!(world.get(CHANGES, &basic("rita", "correct horse")).await, 200);
    assert_eq!(world.get(CHANGES, &basic("rita", "battery staple")).await, 401);
    assert_eq!(world.get(CHANGES, &basic("nora", "correct horse")).await, 401);
    let token = world.access("rita").await;
    assert_eq!(world.get(CHANGES, &basic("rita", &token)).await, 200);
    assert_eq!(world.get(CHANGES, &basic("eddy", &token)).await, 401, "another user's");
    assert_eq!(world.get(CHANGES, &bearer(&token)).await, 200);
    let in_address = format!("{CHANGES}?access_token={token}");
    let by_address = world.ask(Method::GET, &in_address, &[]).await;
    assert_eq!(by_address.status(), StatusCode::UNAUTHORIZED, "never by the address");
}

#[tokio::test]
async fn lists_hold_what_the_caller_may_read_and_say_that_they_depend_on_it() {
    let world = World::in_memory().await;
    let names = async |authorization: Option<String>| {
        let headers: Vec<_> =
            authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        let response = world.ask(Method::GET, "/collections", &headers).await;
        assert_eq!(text(&response, "cache-control"), "private, no-cache");
        let vary = text(&response, "vary").to_owned();
        assert!(vary.contains("Authorization") && vary.contains("Cookie"), "{vary}");
        let list = json(response).await;
        let names: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect();
        for path in ["/", "/service"] {
            let response = world.ask(Method::GET, path, &headers).await;
            let page = String::from_utf8(bytes(response).await.to_vec()).unwrap();
            for name in ["drafty", "news", "notes", "open"] {
                let shown = page.contains(&format!("/collections/{name}"));
                assert_eq!(shown, names.iter().any(|known| known == name), "{path} {name}");
            }
        }
        names
    };
    assert_eq!(names(None).await, ["news", "open"]);
    let nora = bearer(&world.access("nora").await);
    assert_eq!(names(Some(nora)).await, ["news", "open"]);
    let all = ["drafty", "news", "notes", "open"];
    for name in ["rita", "root"] {
        assert_eq!(names(Some(bearer(&world.access(name).await))).await, all, "{name}");
    }
    let scope = Scope { role: None, collection: Some(collection("notes")) };
    let only = world.token("owen", TokenKind::Access, scope).await;
    assert_eq!(names(Some(bearer(&only))).await, ["news", "notes", "open"]);
}

#[tokio::test]
async fn rights_that_end_have_ended_within_a_second() {
    let world = World::in_memory().await;
    world.password("eddy", "correct horse").await;
    let (token, password) = (bearer(&world.access("rita").await), basic("eddy", "correct horse"));
    for authorization in [&token, &password] {
        assert_eq!(world.get(CHANGES, authorization).await, 200);
    }
    for token in world.endpoint.store().tokens(&user("rita")).await.unwrap() {
        world.endpoint.revoke_token(&user("rita"), token.digest).await.unwrap();
    }
    world.endpoint.revoke(&user("eddy"), &collection("notes")).await.unwrap();
    sleep(RIGHTS_CACHE_TIME).await;
    assert_eq!(world.get(CHANGES, &token).await, 401);
    assert_eq!(world.get(CHANGES, &password).await, 404);
    world.password("eddy", "battery staple").await;
    sleep(RIGHTS_CACHE_TIME).await;
    assert_eq!(world.get(CHANGES, &password).await, 401);
}

#[tokio::test]
async fn a_stream_of_events_ends_with_the_right_to_read_it() {
    use futures_util::StreamExt as _;
    let world = World::in_memory().await;
    let token = world.access("rita").await;
    let headers = [("authorization", &*bearer(&token))];
    let mut streams = Vec::new();
    for (path, headers) in
        [("/collections/notes/events", &headers[..]), ("/collections/open/events", &[])]
    {
        let response = world.ask(Method::GET, path, headers).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let mut body = response.into_body().into_data_stream();
        assert!(body.next().await.unwrap().unwrap().starts_with(b"retry:"));
        streams.push(body);
    }
    world.endpoint.revoke_token(&user("rita"), Digest::of(token.as_bytes())).await.unwrap();
    let mut settings = Default::default();
    Settings::default().write(&mut settings);
    let private = CollectionChange { settings: Some(settings), ..Default::default() };
    world.endpoint.store().change_collection(&collection("open"), private).await.unwrap();
    sleep(RIGHTS_CACHE_TIME).await;
    for (stream, name) in streams.iter_mut().zip(["notes", "open"]) {
        let id = feedsync_core::ItemId::new("secret").unwrap();
        let (creation, payload) = (Default::default(), payload(Format::Atom, "secret"));
        world.endpoint.add(&collection(name), id, creation, payload).await.unwrap();
        let told = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.unwrap();
        assert!(told.is_none(), "{name}: {told:?}");
    }
}

#[tokio::test]
async fn a_blob_is_sent_by_editors_and_read_through_an_item() {
    let world = World::in_memory().await;
    let upload = Digest::of(b"new");
    let put = async |name: &str, query: &str| {
        let authorization = bearer(&world.access(name).await);
        let headers = [("authorization", &*authorization), ("content-type", "image/png")];
        let path = format!("/blobs/{upload}{query}");
        let request = request(Method::PUT, &path, &headers, Body::from("new"));
        world.router.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!(put("rita", "?collection=notes").await, 403);
    assert_eq!(put("nora", "?collection=notes").await, 404);
    assert_eq!(put("nora", "?collection=open").await, 403);
    assert_eq!(put("eddy", "").await, 400);
    assert!(world.endpoint.store().blob(upload).await.unwrap().is_none());
    assert_eq!(put("eddy", "?collection=notes").await, 201);
    let unnamed = format!("/blobs/{upload}");
    assert_eq!(world.get(&unnamed, &bearer(&world.access("rita").await)).await, 404);
    assert_eq!(world.get(&unnamed, &bearer(&world.access("root").await)).await, 200);
    let eddy = bearer(&world.access("eddy").await);
    let asked = format!("{unnamed}?collection=notes");
    let head = world.ask(Method::HEAD, &asked, &[("authorization", &*eddy)]).await;
    assert_eq!(head.status(), StatusCode::OK, "it need not be sent again");
    assert_eq!(world.get(&asked, &eddy).await, 404, "and cannot be read");
}

#[tokio::test]
async fn changes_are_recorded_under_the_callers_name() {
    let world = World::in_memory().await;
    let token = world.access("eddy").await;
    assert_eq!(post(&world, &[("authorization", &*bearer(&token))], "b").await, StatusCode::OK);
    let selection = AuditSelection { limit: 1, ..Default::default() };
    let newest = world.endpoint.store().acts(selection).await.unwrap().remove(0).act;
    assert_eq!((newest.user, &*newest.action), (Some(user("eddy")), "merge"));
}

#[tokio::test]
async fn guesses_of_tokens_run_dry_and_shut_out_nobody_who_is_signed_in() {
    let world = World::in_memory().await;
    let (known, other) = (world.access("rita").await, world.access("rita").await);
    assert_eq!(world.get(CHANGES, &bearer(&known)).await, 200);
    let mut answers = Vec::new();
    for guess in 0..40 {
        answers.push(world.get(CHANGES, &bearer(&format!("fsy_{guess:064x}"))).await);
    }
    let refused = answers.iter().filter(|status| **status == 401).count();
    assert!((20..25).contains(&refused), "{answers:?}");
    assert!(answers.iter().all(|status| matches!(status, 401 | 429)), "{answers:?}");
    let headers = [("authorization", &*bearer(&other))];
    let right = world.ask(Method::GET, CHANGES, &headers).await;
    assert_eq!(right.status(), StatusCode::TOO_MANY_REQUESTS, "a right guess is not told either");
    let wait: u64 = text(&right, "retry-after").parse().unwrap();
    assert!((1..=3).contains(&wait), "{wait}");
    sleep(RIGHTS_CACHE_TIME).await;
    assert_eq!(world.get(CHANGES, &bearer(&known)).await, 200);
}

#[tokio::test]
async fn guesses_of_a_users_password_run_dry() {
    let world = World::in_memory().await;
    world.password("rita", "correct horse").await;
    world.password("eddy", "battery staple").await;
    assert_eq!(world.get(CHANGES, &basic("rita", "correct horse")).await, 200);
    let mut tried = 0;
    while world.get(CHANGES, &basic("rita", &format!("guess {tried}"))).await == 401 {
        tried += 1;
        assert!(tried < 200);
    }
    assert!(tried >= 10, "{tried}");
    assert_eq!(world.get(CHANGES, &basic("rita", "correct horse")).await, 200, "signed in lately");
    assert_eq!(world.get(CHANGES, &basic("eddy", "battery staple")).await, 200);
}

#[tokio::test]
async fn a_session_changes_something_for_pages_of_this_hub_alone() {
    let world = World::in_memory().await;
    let session = world.token("eddy", TokenKind::Session, Scope::default()).await;
    let cookie = format!("a=b; feedsync-session={session}");
    let cookie = ("cookie", &*cookie);
    let read = world.ask(Method::GET, CHANGES, &[cookie]).await;
    assert_eq!(read.status(), StatusCode::OK);
    let before = world.endpoint.collection(&collection("notes")).await.unwrap().last;
    for (name, value) in [
        ("accept", "*/*"),
        ("origin", "http://example.org"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "none"),
    ] {
        let status = post(&world, &[cookie, (name, value)], "b").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}: {value}");
    }
    let form = [cookie, ("content-type", "application/x-www-form-urlencoded")];
    let form = request(Method::POST, CHANGES, &form, Body::from("a=b"));
    let form = world.router.clone().oneshot(form).await.unwrap();
    assert_eq!(form.status(), StatusCode::FORBIDDEN);
    assert_eq!(world.endpoint.collection(&collection("notes")).await.unwrap().last, before);
    for (name, value) in [("origin", "http://localhost:4287"), ("sec-fetch-site", "same-origin")] {
        assert_eq!(post(&world, &[cookie, (name, value)], "b").await, StatusCode::OK, "{name}");
    }
    let access = format!("feedsync-session={}", world.access("eddy").await);
    let as_cookie = world.ask(Method::GET, CHANGES, &[("cookie", &access)]).await;
    assert_eq!(as_cookie.status(), StatusCode::UNAUTHORIZED, "a program's token is no session");
}

#[tokio::test]
async fn a_name_that_points_here_is_refused_with_and_without_credentials() {
    let world = World::in_memory().await;
    let token = bearer(&world.access("root").await);
    for headers in [
        vec![("host", "attacker.example")],
        vec![("host", "attacker.example"), ("authorization", &*token)],
        vec![("host", "127.0.0.1.attacker.example"), ("authorization", &*token)],
    ] {
        for path in ["/", CHANGES, "/blobs/x", "/healthz"] {
            let response = world.ask(Method::GET, path, &headers).await;
            assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{path}");
        }
    }
}

#[tokio::test]
async fn a_hub_that_others_reach_is_never_open() {
    let endpoint = hub::endpoint("hub");
    hub::create(&endpoint, "notes", Format::Atom).await;
    let listen = vec!["127.0.0.1:0".parse().unwrap(), "0.0.0.0:0".parse().unwrap()];
    let wide = router(endpoint, Config { listen, ..Config::default() });
    let request = request(Method::GET, CHANGES, &[], Body::empty());
    assert_eq!(wide.oneshot(request).await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_for_reading_reads_only() {
    let world = World::in_memory().await;
    let scope = Scope { role: Some(Role::Reader), collection: None };
    let token = bearer(&world.token("owen", TokenKind::Access, scope).await);
    assert_eq!(world.get(CHANGES, &token).await, 200);
    assert_eq!(post(&world, &[("authorization", &*token)], "b").await, StatusCode::FORBIDDEN);
}

/// AH31: responses that are the same for all clients may be in any cache, others only in a private
/// one.
#[tokio::test]
async fn public_responses_are_for_shared_caches_and_others_for_private_ones() {
    let world = World::in_memory().await;
    let owner = bearer(&world.access("owen").await);
    for (name, shared) in [("open", true), ("notes", false), ("news", false)] {
        let member = format!("/collections/{name}/items/b");
        let (id, creation) = (feedsync_core::ItemId::new("b").unwrap(), Default::default());
        let entry = payload(Format::Atom, "b");
        world.endpoint.add(&collection(name), id, creation, entry).await.unwrap();
        for path in ["", ".rss", "/changes", "/complete", "/categories", "/settings", "/items/b"] {
            let path = format!("/collections/{name}{path}");
            let answer = world.ask(Method::GET, &path, &[("authorization", &owner)]).await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            let (told, depends) = match shared {
                true => ("public, max-age=0, must-revalidate", false),
                false => ("private, no-cache", true),
            };
            assert_eq!(text(&answer, "cache-control"), told, "{path}");
            let vary: Vec<_> = answer.headers().get_all("vary").iter().collect();
            let vary = format!("{vary:?}");
            assert!(vary.contains("Accept-Encoding"), "{path}: {vary}");
            assert_eq!(vary.contains("Authorization, Cookie"), depends, "{path}: {vary}");
            // A 304 has the same header (AH6).
            let held = text(&answer, "etag").to_owned();
            let headers = [("authorization", &*owner), ("if-none-match", &*held)];
            let answer = world.ask(Method::GET, &path, &headers).await;
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{path}");
            assert_eq!(text(&answer, "cache-control"), told, "{path}");
        }
        let refused = world.ask(Method::PUT, &member, &[("authorization", &*owner)]).await;
        assert_eq!(text(&refused, "cache-control"), "no-store", "an error");
    }
    for path in ["/service", "/collections", "/"] {
        let list = world.ask(Method::GET, path, &[]).await;
        assert_eq!(text(&list, "cache-control"), "private, no-cache", "{path}");
    }
}
