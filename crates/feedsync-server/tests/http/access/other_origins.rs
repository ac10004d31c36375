//! Pages of other origins, which sync collections with tokens where they are admitted.

use axum::body::Body;
use feedsync_core::Format;
use feedsync_server::{Config, rights, router};
use feedsync_store::{Scope, TokenKind};
use http::{Method, Response, StatusCode};

use super::matrix::filled;
use super::world::{World, bearer};
use crate::hub::{TestHub, add, bytes, endpoint, hub_with, json, request, text};

const PAGE: &str = "https://todo.example.org";
const CHANGES: &str = "/collections/notes/changes";

fn config() -> Config {
    Config { origins: vec![PAGE.parse().unwrap()], ..Config::default() }
}

async fn world() -> World {
    let mut world = World::in_memory().await;
    world.router = router(world.endpoint.clone(), config());
    world
}

/// Whether pages of an admitted origin may use a path of the route table.
fn is_for_pages_of_other_origins(path: &str) -> bool {
    let feeds = ["/collections/{collection}/changes", "/collections/{collection}/complete"];
    let is_feed = feeds.iter().any(|feed| {
        path.strip_prefix(feed).is_some_and(|format| format.is_empty() || format.starts_with('.'))
    });
    is_feed || path.starts_with("/logs/") || path.starts_with("/couch")
}

fn is_refused_for_its_origin(status: StatusCode, body: &str) -> bool {
    status == StatusCode::FORBIDDEN && body.contains("may not use this hub")
}

async fn body(response: Response<Body>) -> String {
    String::from_utf8_lossy(&bytes(response).await).into_owned()
}

#[tokio::test]
async fn admitted_pages_use_the_routes_for_them_and_no_others() {
    let world = world().await;
    let root = bearer(&world.access("root").await);
    for (path, method, _) in rights() {
        let address = filled(&path, "notes", &world);
        let is_admitted = is_for_pages_of_other_origins(&path);
        let preflight = [("origin", PAGE), ("access-control-request-method", method.as_str())];
        let allowed = world.ask(Method::OPTIONS, &address, &preflight).await;
        let methods = text(&allowed, "access-control-allow-methods");
        assert_eq!(methods.contains(method.as_str()), is_admitted, "preflight {method} {path}");
        let headers = [("origin", PAGE), ("authorization", &*root), ("if-match", "\"none\"")];
        let headers = &headers[..if method == Method::GET { 2 } else { 3 }];
        let response = world.ask(method.clone(), &address, headers).await;
        let origin = if is_admitted { PAGE } else { "" };
        assert_eq!(text(&response, "access-control-allow-origin"), origin, "{method} {path}");
        let credentials = if path.starts_with("/couch") { "true" } else { "" };
        let given = text(&response, "access-control-allow-credentials");
        assert_eq!(given, credentials, "{method} {path}");
        let status = response.status();
        let is_refused = is_refused_for_its_origin(status, &body(response).await);
        assert_eq!(is_refused, !is_admitted, "{method} {path} answers {status}");
    }
}

#[tokio::test]
async fn pages_that_are_not_admitted_use_no_route() {
    let world = world().await;
    let root = bearer(&world.access("root").await);
    for (path, method, _) in rights() {
        for origin in ["https://example.org", "http://todo.example.org", "null"] {
            let address = filled(&path, "notes", &world);
            let headers = [("origin", origin), ("authorization", &*root)];
            let response = world.ask(method.clone(), &address, &headers).await;
            assert_eq!(text(&response, "access-control-allow-origin"), "", "{method} {path}");
            let status = response.status();
            assert!(is_refused_for_its_origin(status, &body(response).await), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn origin_of_an_admitted_page_gives_and_takes_no_right() {
    let world = world().await;
    for (path, method, _) in rights() {
        if !path.starts_with("/collections") || !is_for_pages_of_other_origins(&path) {
            continue;
        }
        for collection in ["notes", "drafty", "open", "news", "none"] {
            let address = filled(&path, collection, &world);
            for user in [None, Some("nora"), Some("rita"), Some("eddy"), Some("root")] {
                let mut headers = Vec::new();
                let token = match user {
                    Some(user) => bearer(&world.access(user).await),
                    None => String::new(),
                };
                headers.extend(user.map(|_| ("authorization", &*token)));
                let own = world.ask(method.clone(), &address, &headers).await.status();
                headers.push(("origin", PAGE));
                let page = world.ask(method.clone(), &address, &headers).await.status();
                assert_eq!(page, own, "{method} {address} of {user:?}");
            }
        }
    }
}

#[tokio::test]
async fn admitted_page_syncs_a_collection_with_a_token() {
    let world = world().await;
    let hub = TestHub { endpoint: world.endpoint.clone(), router: world.router.clone() };
    let preflight = [
        ("origin", PAGE),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "cors"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type,if-none-match"),
    ];
    let allowed = world.ask(Method::OPTIONS, CHANGES, &preflight).await;
    assert_eq!(allowed.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&allowed, "access-control-allow-origin"), PAGE);
    assert_eq!(text(&allowed, "access-control-allow-methods"), "GET, HEAD, POST");
    assert_eq!(text(&allowed, "vary"), "Origin");
    for header in ["Authorization", "Content-Type", "If-None-Match"] {
        assert!(text(&allowed, "access-control-allow-headers").contains(header), "{header}");
    }

    let eddy = bearer(&world.access("eddy").await);
    let page = [
        ("origin", PAGE),
        ("sec-fetch-site", "cross-site"),
        ("authorization", &*eddy),
        ("accept", "application/json"),
    ];
    for feed in [CHANGES, "/collections/notes/complete"] {
        let read = world.ask(Method::GET, &format!("{feed}?limit=500"), &page).await;
        assert_eq!(read.status(), StatusCode::OK, "{feed}");
        let mut varies = read.headers().get_all("vary").iter();
        assert!(varies.any(|by| by == "Origin"), "{feed}");
        for header in ["ETag", "Retry-After"] {
            assert!(text(&read, "access-control-expose-headers").contains(header), "{header}");
        }
        let tag = text(&read, "etag").to_owned();
        assert_ne!(tag, "", "{feed}");
        assert_eq!(json(read).await["items"][0]["sync"]["id"], "a", "{feed}");
        let again = [&page[..], &[("if-none-match", &*tag)]].concat();
        let again = world.ask(Method::GET, &format!("{feed}?limit=500"), &again).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{feed}");
        assert_eq!(text(&again, "access-control-allow-origin"), PAGE);
    }

    let theirs = endpoint("page");
    crate::hub::create(&theirs, "notes", Format::Atom).await;
    let item = add(&theirs, "b").await;
    let items = crate::hub::feed(Format::Json, &[item]);
    let sent = [&page[..], &[("content-type", "application/json")]].concat();
    let sent = hub.send(request(Method::POST, CHANGES, &sent, items.into())).await;
    assert_eq!(sent.status(), StatusCode::OK);
    assert_eq!(text(&sent, "access-control-allow-origin"), PAGE);
    assert_eq!(json(sent).await["items"][0]["outcome"], "added");
}

#[tokio::test]
async fn credentials_that_the_browser_has_for_the_hub_do_not_count() {
    let world = world().await;
    let session = world.token("owen", TokenKind::Session, Scope::default()).await;
    let cookie = format!("feedsync-session={session}");
    let own = world.ask(Method::GET, CHANGES, &[("cookie", &cookie)]).await;
    assert_eq!(own.status(), StatusCode::OK);
    let foreign = [("cookie", &*cookie), ("origin", PAGE)];
    let refused = world.ask(Method::GET, CHANGES, &foreign).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(text(&refused, "access-control-allow-credentials"), "");

    // Nor does a client on this machine count, where no sign-in is needed.
    let hub = hub_with(config()).await;
    assert_eq!(hub.get(CHANGES).await.status(), StatusCode::OK);
    let refused = hub.call(Method::GET, CHANGES, &[("origin", PAGE)]).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
}
