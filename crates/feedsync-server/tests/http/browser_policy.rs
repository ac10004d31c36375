//! Browser policy of each response: a browser runs nothing of it, unless it is one of the hub's own pages
//! (B43); and refusal of partial uploads (RFC 9110 14.5). Both tests are generated from the route table.

use std::collections::BTreeSet;

use axum::body::Body;
use feedsync_server::{Config, Limits, Tls, rights, router};
use http::{Method, Response, StatusCode};
use tower::ServiceExt as _;

use crate::access::world::{World, bearer, collection};
use crate::hub::{bytes, request, text};

const SANDBOX: &str = "default-src 'none'; sandbox";
const HOSTILE: &str =
    "<html xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script></html>";

/// Methods of routes, and methods that no route supports.
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"];

/// Asserts that a response is a page of the hub with a page's policy, or that a browser runs nothing of it.
fn check(response: &Response<Body>, path: &str, what: &str) {
    let of = |name: &str| {
        let values = response.headers().get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("x-content-type-options"), ["nosniff"], "{what}");
    let policies = of("content-security-policy");
    let is_page = text(response, "content-type") == "text/html; charset=utf-8"
        && (path == "/" || path.starts_with("/pages"));
    if path.starts_with("/bitsy/") && response.status() == StatusCode::OK {
        let [policy] = policies[..] else { panic!("{what}: {policies:?}") };
        for rule in [
            "default-src 'none'",
            "script-src 'self' 'wasm-unsafe-eval'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.split("; ").any(|part| part == rule), "{what}: {policy}");
        }
        assert_eq!(of("cross-origin-resource-policy"), ["same-origin"], "{what}");
    } else if path == "/pages/reading-worker.js" && response.status() == StatusCode::OK {
        // A worker has the policy of its script.
        let worker = "default-src 'none'; script-src 'self'; connect-src 'self'";
        assert_eq!(policies, [worker], "{what}");
    } else if is_page {
        let [policy] = policies[..] else { panic!("{what}: {policies:?}") };
        for rule in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.split("; ").any(|part| part == rule), "{what}: {policy}");
        }
        assert_eq!(of("cross-origin-resource-policy"), ["same-origin"], "{what}");
    } else {
        assert_eq!(policies, [SANDBOX], "{what}");
        assert_eq!(of("referrer-policy"), ["no-referrer"], "{what}");
    }
}

/// A path of the table with a value for each of its segments.
fn filled(path: &str, world: &World) -> String {
    let rest = match path {
        path if path.starts_with("/couch") => "evil/page/page.html",
        path if path.starts_with("/bitsy") => "demo/",
        _ => "v1/feeds",
    };
    path.replace("{collection}", "notes")
        .replace("{sha256}", &world.blob.to_string())
        .replace("{generation}", "1.00000000")
        .replace("{id}", "a")
        .replace("{name}", "n")
        .replace("{number}", "1")
        .replace("{*path}", rest)
}

/// A hub with hostile content in its log, and in the attachment of a database.
async fn world() -> (World, String) {
    let mut world = World::in_memory().await;
    let limits = Limits { client_requests: 0, ..Limits::default() };
    // The hub reads the package when it is made.
    let package = crate::web_package::package();
    let web_package = Some(package.path().to_owned());
    let (authority, _) = crate::authority::file(package.path());
    let tls = Tls { authority: Some(authority), ..Tls::default() };
    let config = Config { limits, web_package, tls, ..Config::default() };
    world.router = router(world.endpoint.clone(), config);
    let token = bearer(&world.access("root").await);
    let send = async |method: Method, path: &str, headers: &[(&str, &str)], body: &str| {
        let headers = [&[("authorization", &*token)], headers].concat();
        let request = request(method, path, &headers, Body::from(body.to_owned()));
        let response = world.router.clone().oneshot(request).await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.status());
    };
    let html = ("content-type", "text/html");
    let begins = ("if-none-match", "*");
    send(Method::POST, "/logs/notes", &[html, begins], &format!("{HOSTILE}\n")).await;
    send(Method::PUT, "/couch/evil", &[], "").await;
    send(Method::PUT, "/couch/evil/page/page.html", &[html], HOSTILE).await;
    (world, token)
}

#[tokio::test]
async fn every_route_and_method_answers_with_a_browser_policy() {
    let (world, token) = world().await;
    let paths: BTreeSet<String> = rights().into_iter().map(|(path, ..)| path).collect();
    let guess = bearer(&format!("fsy_{}", "0".repeat(64)));
    let mut succeeded = BTreeSet::new();
    for path in
        paths.iter().map(String::as_str).chain(["/nowhere", "/pages/none", "/%FF", "/pages/%FF"])
    {
        let address = filled(path, &world);
        for method in METHODS {
            for (caller, headers) in [
                ("root", vec![("authorization", &*token)]),
                ("root with a part", vec![("authorization", &*token), ("range", "bytes=1-2")]),
                ("nobody", vec![]),
                ("a guess", vec![("authorization", &*guess)]),
                ("no credentials", vec![("authorization", "x")]),
                ("another host", vec![("host", "evil.example")]),
                ("another origin", vec![("origin", "http://evil.example")]),
                ("a browser", vec![("accept", "text/html"), ("authorization", &*token)]),
            ] {
                let mut headers = headers;
                // The test removes and replaces nothing, so that every method finds the same hub.
                if method != "GET" && method != "HEAD" {
                    headers.push(("if-match", "\"none\""));
                }
                let wanted = method.parse().unwrap();
                // Databases have no preconditions.
                if method == "DELETE" && path.starts_with("/couch") {
                    continue;
                }
                let response = world.ask(wanted, &address, &headers).await;
                let status = response.status();
                check(&response, path, &format!("{method} {address} of {caller}: {status}"));
                if status.is_success() && method == "GET" {
                    succeeded.insert(path.to_owned());
                }
            }
        }
    }
    // The policy of error responses alone would prove nothing.
    let failed: BTreeSet<_> = rights()
        .into_iter()
        .filter(|(path, method, _)| *method == Method::GET && !succeeded.contains(path))
        .map(|(path, ..)| path)
        .collect();
    let without_content = [
        "/collections/{collection}/items/{id}/as/{name}",
        "/logs/{collection}/snapshot",
        "/logs/{collection}/{generation}",
        "/pages/assets/{name}",
        "/pages/database",
        "/pages/document",
        "/pages/history",
        "/pages/reading",
        "/pages/reading/articles",
        "/pages/reading/articles/{number}",
        "/pages/reading/articles/{number}/pictures/{name}",
        "/pages/reading/export/{name}",
        "/pages/reading/feeds/{number}",
        "/pages/reading/icons/{number}",
        "/pages/reading/offline",
        "/pages/reading/offline/contents",
        "/pages/reading/offline/list",
        "/pages/reading/rules",
        "/pages/reading/transfer",
        "/reader/fever/{*path}",
        "/reader/google/{*path}",
        "/reader/miniflux/{*path}",
        "/reader/nextcloud/{*path}",
    ];
    assert_eq!(failed, BTreeSet::from(without_content.map(str::to_owned)));
}

#[tokio::test]
async fn a_304_leaves_the_policy_that_the_browser_holds() {
    let (world, token) = world().await;
    for path in ["/collections/notes.xml", "/collections/notes/changes.xml", "/logs/notes"] {
        let headers = [("authorization", &*token)];
        let first = world.ask(Method::GET, path, &headers).await;
        check(&first, path, path);
        let tag = text(&first, "etag").to_owned();
        let headers = [("authorization", &*token), ("if-none-match", &*tag)];
        let again = world.ask(Method::GET, path, &headers).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
        assert_eq!(text(&again, "content-security-policy"), "", "{path}");
    }
    let headers = [("authorization", &*token)];
    let first = world.ask(Method::GET, "/", &headers).await;
    let tag = text(&first, "etag").to_owned();
    let headers = [("authorization", &*token), ("if-none-match", &*tag)];
    let again = world.ask(Method::GET, "/", &headers).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let policy = "content-security-policy";
    assert_eq!(text(&again, policy), text(&first, policy));
}

#[tokio::test]
async fn a_part_of_a_representation_is_refused_by_every_route_but_logs() {
    let (world, token) = world().await;
    let notes = || async {
        let headers = [("authorization", &*token)];
        bytes(world.ask(Method::GET, "/collections/notes/complete", &headers).await).await
    };
    let before = notes().await;
    let mut asked = 0;
    for (path, method, _) in rights() {
        if method != Method::PUT && method != Method::POST {
            continue;
        }
        let address = filled(&path, &world);
        let mut answers = Vec::new();
        for range in ["bytes 0-3/10", "bytes 0-3/*", "bytes */4", "items 1-2/3", "nonsense"] {
            for kind in ["application/atom+xml;type=entry", "application/json", "text/html"] {
                let headers = [
                    ("authorization", &*token),
                    ("content-range", range),
                    ("content-type", kind),
                    ("if-match", "*"),
                ];
                let request = request(method.clone(), &address, &headers, Body::from("part"));
                let response = world.router.clone().oneshot(request).await.unwrap();
                check(&response, &path, &address);
                answers.push(response.status().as_u16());
                asked += 1;
            }
        }
        if path == "/logs/{collection}" && method == Method::PUT {
            // A log accepts a part at its end, but no part here is one.
            assert!(answers.iter().all(|status| (400..500).contains(status)), "{answers:?}");
            continue;
        }
        assert!(answers.iter().all(|status| *status == 400), "{method} {path}: {answers:?}");
    }
    assert!(asked > 20 * 15, "{asked}");
    assert_eq!(notes().await, before);
    assert!(world.endpoint.collection(&collection("notes")).await.is_ok());
    let headers = [("authorization", &*token)];
    let page = world.ask(Method::GET, "/couch/evil/page/page.html", &headers).await;
    assert_eq!(bytes(page).await, HOSTILE);
}
