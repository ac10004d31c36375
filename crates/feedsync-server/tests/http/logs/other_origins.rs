//! Pages of other origins, which use logs with tokens where they are admitted (LR39).

use feedsync_server::{Config, router};
use feedsync_store::{Scope, TokenKind};
use http::{Method, StatusCode};

use super::{LOG, RECORDS};
use crate::access::world::{World, bearer};
use crate::hub::{TestHub, hub_with, request, text};

const PAGE: &str = "https://reader.example.org";

fn config() -> Config {
    Config { origins: vec![PAGE.parse().unwrap()], ..Config::default() }
}

async fn world() -> World {
    let mut world = World::in_memory().await;
    world.router = router(world.endpoint.clone(), config());
    world
}

#[tokio::test]
async fn a_page_that_was_let_in_uses_logs_with_a_token_and_reads_what_it_needs() {
    let world = world().await;
    let preflight = [
        ("origin", PAGE),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "cors"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,if-none-match,content-type"),
    ];
    let allowed = world.ask(Method::OPTIONS, LOG, &preflight).await;
    assert_eq!(allowed.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&allowed, "access-control-allow-origin"), PAGE);
    assert_eq!(text(&allowed, "access-control-allow-credentials"), "");
    assert_eq!(text(&allowed, "vary"), "Origin");
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
        assert!(text(&allowed, "access-control-allow-methods").contains(method), "{method}");
    }
    for header in [
        "Authorization",
        "Content-Range",
        "Content-Type",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Log-Covers",
        "Range",
    ] {
        assert!(text(&allowed, "access-control-allow-headers").contains(header), "{header}");
    }
    let eddy = bearer(&world.access("eddy").await);
    let headers = [
        ("origin", PAGE),
        ("sec-fetch-site", "cross-site"),
        ("authorization", &*eddy),
        ("content-type", RECORDS),
        ("if-none-match", "*"),
    ];
    let hub = TestHub { endpoint: world.endpoint.clone(), router: world.router.clone() };
    let begun = hub.send(request(Method::POST, LOG, &headers, "1\n".into())).await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    assert_eq!(text(&begun, "access-control-allow-origin"), PAGE);
    for header in ["ETag", "Content-Range", "Log-Generation", "Log-Offset", "Log-Covers", "Link"] {
        assert!(text(&begun, "access-control-expose-headers").contains(header), "{header}");
    }
    let stale = hub.send(request(Method::POST, LOG, &headers, "1\n".into())).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    assert_eq!(text(&stale, "access-control-allow-origin"), PAGE);
}

#[tokio::test]
async fn cookies_of_the_hub_do_not_count_for_other_origins() {
    let world = world().await;
    let session = world.token("owen", TokenKind::Session, Scope::default()).await;
    let cookie = format!("feedsync-session={session}");
    let own = world.ask(Method::GET, LOG, &[("cookie", &cookie)]).await;
    assert_eq!(own.status(), StatusCode::NOT_FOUND, "there is none, but it may be asked");
    let foreign = [("cookie", &*cookie), ("origin", PAGE)];
    let refused = world.ask(Method::GET, LOG, &foreign).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(text(&refused, "access-control-allow-origin"), PAGE);

    // Nor does a client on this machine count, where no sign-in is needed.
    let hub = hub_with(config()).await;
    assert_eq!(hub.get(LOG).await.status(), StatusCode::NOT_FOUND);
    let refused = hub.call(Method::GET, LOG, &[("origin", PAGE)]).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn other_pages_and_other_resources_stay_refused() {
    let world = world().await;
    let eddy = bearer(&world.access("eddy").await);
    for origin in [
        "https://example.org",
        "http://reader.example.org",
        "https://reader.example.org:8443",
        "https://reader.example.org.evil.example",
        "null",
        "",
    ] {
        let headers = [("origin", origin), ("authorization", &*eddy)];
        for method in [Method::GET, Method::OPTIONS, Method::POST] {
            let refused = world.ask(method, LOG, &headers).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{origin}");
            assert_eq!(text(&refused, "access-control-allow-origin"), "");
        }
    }
    for path in ["/collections/notes", "/logs", "/", "/collections/notes/events", "/pages/account"]
    {
        let headers = [("origin", PAGE), ("authorization", &*eddy)];
        let refused = world.ask(Method::GET, path, &headers).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
    }
    let two = [("origin", PAGE), ("origin", "https://example.org"), ("authorization", &*eddy)];
    assert_eq!(world.ask(Method::GET, LOG, &two).await.status(), StatusCode::FORBIDDEN);
    // While no origin is configured, none is admitted.
    let none = World::in_memory().await.ask(Method::GET, LOG, &[("origin", PAGE)]).await;
    assert_eq!(none.status(), StatusCode::FORBIDDEN);
    assert_eq!(text(&none, "vary"), "");
}
