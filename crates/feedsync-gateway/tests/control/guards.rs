//! Tests of admission.

use http::{Method, header};
use serde_json::{Value, json};

use crate::world::World;

const HOST: (&str, &str) = ("host", "127.0.0.1:5024");

#[tokio::test]
async fn only_hosts_of_the_gateway_are_answered() {
    let world = World::new(&[]);
    let bearer = format!("Bearer {}", world.token);
    for host in ["127.0.0.1:5024", "localhost:5024", "[::1]:9", "LOCALHOST"] {
        let headers = [("host", host), ("authorization", &*bearer)];
        let answer = world.send(Method::GET, "/subscriptions", &headers, "").await;
        assert_eq!(answer.status, 200, "{host}");
    }
    // A page that points a name of its own to this machine reaches the port, but has neither the token nor a
    // valid Host.
    for host in ["rebound.example", "127.0.0.1.example.org", "10.0.0.1:5024", "0.0.0.0:5024"] {
        for path in ["/subscriptions", "/bitsy.js", "/", "/pages/open?ticket=x", "/events"] {
            let headers = [("host", host), ("authorization", &*bearer)];
            let answer = world.send(Method::GET, path, &headers, "").await;
            answer.problem(421, "foreign-host");
        }
    }
    let twice = [HOST, HOST, ("authorization", &*bearer)];
    world.send(Method::GET, "/subscriptions", &twice, "").await.problem(400, "bad-request");
}

#[tokio::test]
async fn only_the_token_admits_programs() {
    let world = World::new(&[]);
    let path = "/subscriptions";
    let nothing = world.send(Method::GET, path, &[HOST], "").await;
    nothing.problem(401, "unauthorized");
    assert!(nothing.header(header::WWW_AUTHENTICATE).starts_with("Bearer "));
    let (token, half) = (world.token.clone(), &world.token[..32]);
    for wrong in [
        "Bearer x".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer {half}"),
        format!("Basic {token}"),
        token.clone(),
        format!("Bearer {token}0"),
    ] {
        let headers = [HOST, ("authorization", &*wrong)];
        let answer = world.send(Method::GET, path, &headers, "").await;
        answer.problem(401, "unauthorized");
        assert!(!answer.text.contains(&token));
    }
    let right = format!("bearer {token}");
    let headers = [HOST, ("authorization", &*right)];
    assert_eq!(world.send(Method::GET, path, &headers, "").await.status, 200);
    let other = World::new(&[]);
    assert_ne!(other.token, token, "each start has a token of its own");
}

#[cfg(unix)]
#[tokio::test]
async fn the_token_is_for_its_owner_to_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(&[]);
    let file = world.directory.path().join("control.token");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(world.token.len(), 64);
}

#[tokio::test]
async fn pages_of_forbidden_origins_are_refused_even_with_credentials() {
    let world = World::new(&["https://app.example.org"]);
    let bearer = format!("Bearer {}", world.token);
    for origin in [
        "https://evil.example",
        "http://app.example.org",
        "https://app.example.org:444",
        "https://app.example.org.evil.example",
        "http://127.0.0.1:5023",
        "http://localhost:5024",
        "null",
        "",
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let headers = [
                HOST,
                ("origin", origin),
                ("authorization", &*bearer),
                ("access-control-request-method", "POST"),
            ];
            let answer = world.send(method, "/subscriptions", &headers, "").await;
            answer.problem(403, "foreign-origin");
            assert_eq!(answer.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), "", "{origin}");
        }
    }
    // Images and scripts of another site are detected by `Sec-Fetch-Site`.
    for site in ["cross-site", "same-site"] {
        let headers = [HOST, ("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
        let answer = world.send(Method::GET, "/subscriptions", &headers, "").await;
        answer.problem(403, "foreign-origin");
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_are_admitted_with_cors_headers() {
    let world = World::new(&["https://app.example.org", "http://localhost:3000"]);
    let preflight = [
        HOST,
        ("origin", "https://app.example.org"),
        ("access-control-request-method", "PATCH"),
        ("access-control-request-private-network", "true"),
    ];
    let answer = world.send(Method::OPTIONS, "/subscriptions/1", &preflight, "").await;
    assert_eq!(answer.status, 204);
    let origin = answer.header(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    assert_eq!(origin, "https://app.example.org");
    assert!(answer.header(header::ACCESS_CONTROL_ALLOW_METHODS).contains("PATCH"));
    assert!(answer.header(header::ACCESS_CONTROL_ALLOW_HEADERS).contains("content-type"));
    assert_eq!(answer.header("access-control-allow-private-network"), "true");
    assert_eq!(answer.header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), "");
    let answer = world.send(Method::OPTIONS, "/subscriptions/1", &preflight[..3], "").await;
    assert_eq!(answer.header("access-control-allow-private-network"), "");
    let [host, _, method, private] = preflight;
    let other = [host, ("origin", "https://other.example.org"), method, private];
    let answer = world.send(Method::OPTIONS, "/subscriptions/1", &other, "").await;
    assert_eq!(answer.header("access-control-allow-private-network"), "");
    assert_eq!(answer.status, 403);
    for origin in ["https://app.example.org", "http://localhost:3000"] {
        let answer = world.page(origin, Method::GET, "/subscriptions", Value::Null).await;
        assert_eq!(answer.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), origin);
        assert_eq!(answer.header(header::VARY), "Origin");
        assert_eq!(answer.ok(200), json!([]));
    }
    // Applications may not perform operations of the operator.
    for (method, path, value) in [
        (Method::PUT, "/network", json!({ "policy": "offline" })),
        (Method::POST, "/links", Value::Null),
    ] {
        let answer = world.page("https://app.example.org", method, path, value).await;
        answer.problem(403, "for-keepers");
    }
    let page = world.page("https://app.example.org", Method::GET, "/", Value::Null).await;
    assert_eq!(page.status, 403);
}

#[tokio::test]
async fn the_binding_is_for_everybody_and_knows_its_gateway() {
    let world = World::new(&[]);
    let headers = [("host", "localhost:5024"), ("sec-fetch-site", "cross-site")];
    let answer = world.send(Method::GET, "/bitsy.js", &headers, "").await;
    assert_eq!((answer.status, answer.header(header::ACCESS_CONTROL_ALLOW_ORIGIN)), (200, "*"));
    assert_eq!(answer.header("cross-origin-resource-policy"), "cross-origin");
    assert!(answer.text.contains("const CONTROL = \"http://localhost:5024\";"));
    assert!(
        answer.text.contains(
            "const PROXIES = [\"{http://purl.org/BITSY/xdp}xd\",\"{urn:feedsync:1}map\"];"
        )
    );
    assert!(!answer.text.contains(&world.token));
    for (path, holds) in [
        ("/bitsy.webidl", "interface SubscriptionBuilder"),
        ("/bitsy.d.ts", "declare namespace bitsy"),
    ] {
        let answer = world.send(Method::GET, path, &headers, "").await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains(holds));
    }
}

#[tokio::test]
async fn missing_objects_and_impossible_requests_are_problems() {
    let world = World::new(&[]);
    for path in ["/nothing", "/subscriptions/", "/pages/none"] {
        world.program(Method::GET, path, Value::Null).await.problem(404, "not-found");
    }
    let answer = world.program(Method::PUT, "/subscriptions", json!({})).await;
    answer.problem(405, "method");
    for id in ["1", "0", "x", "-1", "01", "99999999999999999999999"] {
        for (method, path) in [
            (Method::GET, format!("/subscriptions/{id}")),
            (Method::DELETE, format!("/subscriptions/{id}")),
            (Method::POST, format!("/subscriptions/{id}/pause")),
            (Method::POST, format!("/subscriptions/{id}/resume")),
            (Method::PUT, format!("/subscriptions/{id}/follows/enclosure")),
            (Method::DELETE, format!("/subscriptions/{id}/follows/enclosure")),
            (Method::GET, format!("/subscriptions/{id}/errors")),
            (Method::GET, format!("/errors/{id}")),
            (Method::DELETE, format!("/errors/{id}")),
            (Method::POST, format!("/errors/{id}/retry")),
            (Method::GET, format!("/errors/{id}/mine")),
            (Method::DELETE, format!("/outbox/{id}")),
            (Method::POST, format!("/outbox/{id}/retry")),
        ] {
            let answer = world.program(method, &path, Value::Null).await;
            answer.problem(404, "not-found");
        }
    }
    assert_eq!(
        world.program(Method::GET, "/proxies", Value::Null).await.ok(200),
        json!(["{http://purl.org/BITSY/xdp}xd", "{urn:feedsync:1}map"])
    );
}

const ROUTES: [&str; 27] = [
    "/",
    "/bitsy.d.ts",
    "/bitsy.js",
    "/bitsy.webidl",
    "/errors",
    "/errors/1",
    "/errors/1/mine",
    "/errors/1/retry",
    "/events",
    "/links",
    "/network",
    "/nowhere",
    "/outbox",
    "/outbox/1",
    "/outbox/1/retry",
    "/pages/assets/none.css",
    "/pages/close",
    "/pages/errors",
    "/pages/errors/1",
    "/pages/open",
    "/pages/outbox",
    "/proxies",
    "/subscriptions",
    "/subscriptions/1",
    "/subscriptions/1/errors",
    "/subscriptions/1/follows/next",
    "/subscriptions/1/pause",
];

#[tokio::test]
async fn every_answer_is_sandboxed_unless_it_is_a_page() {
    let world = World::new(&["https://app.example.org"]);
    let bearer = format!("Bearer {}", world.token);
    let callers = [
        vec![HOST, ("authorization", &*bearer)],
        vec![HOST],
        vec![HOST, ("authorization", "x")],
        vec![("host", "rebound.example")],
        vec![HOST, ("origin", "https://evil.example")],
        vec![HOST, ("origin", "https://app.example.org")],
    ];
    let (mut pages, mut others) = (0, 0);
    for path in ROUTES {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            for headers in &callers {
                // The body is not read, since event streams do not end.
                let answer = world.raw(method.parse().unwrap(), path, headers, "").await;
                let what = format!("{method} {path} {headers:?}: {}", answer.status());
                let of = |name: header::HeaderName| {
                    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
                };
                assert_eq!(of(header::X_CONTENT_TYPE_OPTIONS), "nosniff", "{what}");
                let policy = of(header::CONTENT_SECURITY_POLICY);
                if of(header::CONTENT_TYPE).starts_with("text/html") {
                    assert!(path == "/" || path.starts_with("/pages/"), "{what}");
                    assert!(policy.contains("frame-ancestors 'none'"), "{what}: {policy}");
                    pages += 1;
                } else {
                    assert_eq!(policy, "default-src 'none'; sandbox", "{what}");
                    others += 1;
                }
            }
        }
    }
    assert!(pages > 20 && others > 500, "{pages} {others}");
}

#[tokio::test]
async fn a_part_of_a_representation_is_refused() {
    let world = World::new(&[]);
    let bearer = format!("Bearer {}", world.token);
    let headers = [
        HOST,
        ("authorization", &*bearer),
        ("content-type", "application/json"),
        ("content-range", "bytes 0-19/40"),
    ];
    let body = json!({ "policy": "offline" }).to_string();
    let before = world.program(Method::GET, "/network", Value::Null).await.ok(200);
    for (method, path) in [
        (Method::PUT, "/network"),
        (Method::PUT, "/subscriptions/1/follows/next"),
        (Method::PATCH, "/subscriptions/1"),
        (Method::POST, "/subscriptions"),
    ] {
        world.send(method, path, &headers, &body).await.problem(400, "bad-request");
    }
    assert_eq!(world.program(Method::GET, "/network", Value::Null).await.ok(200), before);
}
