//! Applications with a browser of their own (CL8 to CL16).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use feedsync_endpoint::{Endpoint, NewToken, NewUser};
use feedsync_server::{Config, router};
use feedsync_store::{
    EndpointName, Environment, MemoryStore, Moment, Scope, SystemEnvironment, TokenKind,
};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Couch, JSON, said, send};
use crate::access::world::{World, basic, bearer, user};
use crate::hub::text;

const ORIGINS: [&str; 3] = ["app://obsidian.md", "capacitor://localhost", "http://localhost"];

/// Every response, in particular an error, has the headers that let the application read it (CL8); a
/// preflight needs no password (CL9).
#[tokio::test]
async fn applications_may_read_every_answer() {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    world.password("root", "correct horse battery").await;
    let authorization = basic("root", "correct horse battery");
    for origin in ORIGINS {
        let sent = [JSON, ("origin", origin), ("authorization", &*authorization)];
        for (method, path, status) in [
            (Method::GET, "/", 200),
            (Method::PUT, "/db", 201),
            (Method::PUT, "/db", 412),
            (Method::GET, "/db/none", 404),
            (Method::PUT, "/db/_x", 400),
            (Method::GET, "/db/_changes", 200),
            (Method::PATCH, "/db", 405),
            (Method::DELETE, "/db", 200),
        ] {
            let response = send(&world.router, method.clone(), path, &sent, "").await;
            let place = format!("{origin} {method} {path}");
            assert_eq!(response.status(), status, "{place}");
            assert_eq!(text(&response, "access-control-allow-origin"), origin, "{place}");
            assert_eq!(text(&response, "access-control-allow-credentials"), "true", "{place}");
            let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
            assert!(vary.iter().any(|it| it.to_str().unwrap().contains("Origin")), "{place}");
        }
        let nobody = send(&world.router, Method::GET, "/db/x", &[("origin", origin)], "").await;
        assert_eq!(nobody.status(), 401);
        assert_eq!(text(&nobody, "access-control-allow-origin"), origin);
        let preflight = [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization,x-my-proxy"),
        ];
        let response = send(&world.router, Method::OPTIONS, "/db/any/thing", &preflight, "").await;
        assert_eq!(response.status(), 204);
        assert_eq!(text(&response, "access-control-allow-headers"), "authorization,x-my-proxy");
        let methods = "COPY, DELETE, GET, HEAD, OPTIONS, POST, PUT";
        assert_eq!(text(&response, "access-control-allow-methods"), methods);
        assert!(text(&response, "access-control-max-age").parse::<u32>().unwrap() >= 600);
    }
}

/// Cookies of this hub do not count for such an application, and pages of other origins may do nothing.
#[tokio::test]
async fn other_origins_stay_outside() {
    let couch = Couch::new().await;
    for origin in ["https://evil.example", "http://localhost:3000", "null"] {
        let response = couch.send(Method::GET, "/db", &[("origin", origin)], "").await;
        assert_eq!(response.status(), 403, "{origin}");
        assert_eq!(text(&response, "access-control-allow-origin"), "");
    }
    // A client on this machine needs no password; a page of an application on it does.
    let response = couch.send(Method::GET, "/db", &[("origin", ORIGINS[0])], "").await;
    assert_eq!(response.status(), 401);
}

/// `Accept-Post` of a database address names no feed formats, since it accepts no feeds.
#[tokio::test]
async fn databases_say_what_they_are_asked_with() {
    let couch = Couch::new().await;
    for path in ["/", "/db", "/db/_bulk_docs"] {
        let response = couch.send(Method::OPTIONS, path, &[], "").await;
        assert_eq!(response.status(), 204, "{path}");
        assert!(text(&response, "allow").contains("POST"), "{path}");
        assert_eq!(text(&response, "accept-post"), "", "{path}");
    }
}

/// The properties that the plugin's server check reads (CL12, CL14, CL15).
#[tokio::test]
async fn the_check_of_the_server_finds_what_it_wants() {
    let couch = Couch::new().await;
    let (status, all) = couch.get("/_node/_local/_config").await;
    assert_eq!(status, 200);
    for (section, key, passes) in [
        ("chttpd", "require_valid_user", "true"),
        ("chttpd_auth", "require_valid_user", "true"),
        ("chttpd", "enable_cors", "true"),
        ("httpd", "enable_cors", "true"),
        ("cors", "credentials", "true"),
        ("cors", "origins", "app://obsidian.md,capacitor://localhost,http://localhost"),
    ] {
        assert_eq!(all[section][key], passes, "{section}/{key}");
        let path = format!("/_node/nonode@nohost/_config/{section}/{key}");
        assert_eq!(couch.get(&path).await, (200, json!(passes)));
        assert_eq!(couch.put(&path, &format!("\"{passes}\"")).await, (200, json!(passes)));
    }
    let number =
        |section: &str, key: &str| all[section][key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(number("chttpd", "max_http_request_size") >= 4_294_967_296);
    assert!(number("couchdb", "max_document_size") >= 50_000_000);
    assert!(all["httpd"]["WWW-Authenticate"].as_str().is_some_and(|it| !it.is_empty()));
    assert!(all["admins"].as_object().is_some_and(|it| it.len() == 1));
    let every =
        all.as_object().unwrap().values().flat_map(|section| section.as_object().unwrap().values());
    assert!(every.into_iter().all(Value::is_string), "anything else is dropped");
    let refused = couch.put("/_node/_local/_config/chttpd/require_valid_user", "\"false\"").await;
    assert_eq!(refused.0, 403);
    let odd = "\",app://obsidian.md,capacitor://localhost,http://localhost\"";
    assert_eq!(couch.put("/_node/_local/_config/cors/origins", odd).await.0, 200);
    let setup = r#"{"action":"enable_single_node","bind_address":"0.0.0.0","port":5984}"#;
    assert_eq!(couch.post("/_cluster_setup", setup).await, (201, json!({"ok": true})));
    let (status, _) = said(couch.send(Method::GET, "/_membership", &[], "").await).await;
    assert_eq!(status, 200);
}

/// A source of random numbers that can be exhausted.
#[derive(Default)]
struct Dry(AtomicBool);

impl Environment for Dry {
    fn now(&self) -> Moment {
        SystemEnvironment.now()
    }

    fn random(&self) -> u64 {
        assert!(!self.0.load(Ordering::Relaxed), "there are no random numbers");
        SystemEnvironment.random()
    }
}

/// Unexpected errors are readable for the application too, and have CouchDB's form.
#[tokio::test]
async fn applications_may_read_that_a_hub_failed() {
    let environment = Arc::new(Dry::default());
    let name = EndpointName::new("hub").unwrap();
    let store = MemoryStore::new(&name, environment.clone());
    let endpoint = Endpoint::new(Arc::new(store), environment.clone());
    let root =
        NewUser { name: user("root"), password: None, administrator: true, databases_only: false };
    endpoint.add_user(root).await.unwrap();
    let (user, scope) = (user("root"), Scope::default());
    let (kind, label) = (TokenKind::Access, String::new());
    let token = endpoint.issue_token(NewToken { user, kind, label, scope, expires: None }).await;
    let authorization = bearer(token.unwrap().0.as_str());
    let router = router(endpoint, Config::default());
    environment.0.store(true, Ordering::Relaxed);
    let headers = [("origin", ORIGINS[0]), ("authorization", &*authorization)];
    let failed = send(&router, Method::GET, "/_uuids", &headers, "").await;
    assert_eq!(text(&failed, "access-control-allow-origin"), ORIGINS[0]);
    let (status, told) = said(failed).await;
    assert_eq!((status, &told["error"]), (500, &json!("internal_server_error")));
    environment.0.store(false, Ordering::Relaxed);
    assert_eq!(send(&router, Method::GET, "/_uuids", &headers, "").await.status(), 200);
}
