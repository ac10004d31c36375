//! Users whom another system signs in to databases: JSON Web Tokens, and the headers of a proxy.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use feedsync_server::{AssertionKeys, Config, HubParts, router};
use http::Method;
use ring::hmac;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{said, send};
use crate::access::world::{World, user};

const SECRET: &str = "an example secret of enough bytes";
const FAR: u64 = 4_000_000_000;

fn mac(message: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
}

fn token(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "HS256"})), part(claims));
    format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(mac(&signed)))
}

fn proxied(name: &str) -> String {
    mac(name).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hub that knows the keys, with the database `ours` for the role `staff`.
async fn world() -> (World, TempDir) {
    let directory = TempDir::new().unwrap();
    let (keys, secret) = (directory.path().join("keys"), directory.path().join("secret"));
    std::fs::write(&keys, format!("hmac:_default = {}", STANDARD.encode(SECRET))).unwrap();
    std::fs::write(&secret, SECRET).unwrap();
    let config = Config {
        couch_jwt_keys: Some(keys),
        couch_proxy_secret: Some(secret),
        ..Config::default()
    };
    let mut world = World::in_memory().await;
    let assertion_keys = AssertionKeys::read(&config).unwrap();
    world.router = router(HubParts { assertion_keys, ..world.endpoint.clone().into() }, config);
    let root = token(&json!({"sub": "root", "exp": FAR}));
    let headers = [("authorization", &*root), super::JSON];
    let put = |path: &'static str, body: &'static str| {
        send(&world.router, Method::PUT, path, &headers, body)
    };
    assert_eq!(put("/ours", "").await.status(), 201);
    let security = r#"{"members": {"roles": ["staff"]}, "admins": {"names": ["owen"]}}"#;
    assert_eq!(put("/ours/_security", security).await.status(), 200);
    (world, directory)
}

async fn session(world: &World, headers: &[(&str, &str)]) -> (u16, Value) {
    let (status, told) =
        said(send(&world.router, Method::GET, "/_session", headers, "").await).await;
    (status, told["userCtx"].clone())
}

async fn used(world: &World, headers: &[(&str, &str)]) -> u16 {
    send(&world.router, Method::GET, "/ours", headers, "").await.status().as_u16()
}

#[tokio::test]
async fn a_token_signs_in_a_user_with_its_roles_to_databases_alone() {
    let (world, _directory) = world().await;
    let staff = token(&json!({"sub": "nora", "exp": FAR, "_couchdb.roles": ["staff", "_admin"]}));
    let headers = [("authorization", &*staff)];
    let expected = json!({"name": "nora", "roles": ["staff"]});
    assert_eq!(session(&world, &headers).await, (200, expected), "no token makes an administrator");
    assert_eq!(used(&world, &headers).await, 200);
    for (path, status) in [("/collections/notes", 401), ("/", 401), ("/pages/account", 401)] {
        assert_eq!(world.get(path, &staff).await, status, "{path}");
    }
    for (claims, status) in [
        (json!({"sub": "nora", "exp": FAR}), 404),
        (json!({"sub": "owen", "exp": FAR}), 200),
        (json!({"sub": "nobody", "exp": FAR, "_couchdb.roles": ["staff"]}), 401),
        (json!({"sub": "nora", "exp": 1_000, "_couchdb.roles": ["staff"]}), 401),
        (json!({"sub": "nora", "_couchdb.roles": ["staff"]}), 401),
    ] {
        let token = token(&claims);
        assert_eq!(used(&world, &[("authorization", &*token)]).await, status, "{claims}");
    }
    world.endpoint.set_disabled(&user("nora"), true).await.unwrap();
    assert_eq!(used(&world, &headers).await, 401, "a disabled user stays out");
    let forged = format!("{staff}x");
    assert_eq!(used(&world, &[("authorization", &*forged)]).await, 401);
}

#[tokio::test]
async fn a_proxy_signs_in_a_user_by_its_headers() {
    let (world, _directory) = world().await;
    let nora = proxied("nora");
    let headers = [
        ("x-auth-couchdb-username", "nora"),
        ("x-auth-couchdb-roles", "staff,_admin"),
        ("x-auth-couchdb-token", &*nora),
    ];
    let expected = json!({"name": "nora", "roles": ["staff"]});
    assert_eq!(session(&world, &headers).await, (200, expected));
    assert_eq!(used(&world, &headers).await, 200);
    let other = [("x-auth-couchdb-username", "root"), headers[2]];
    assert_eq!(used(&world, &other).await, 401);
    assert_eq!(used(&world, &headers[..2]).await, 401, "without the token");
    let response = world.ask(Method::GET, "/collections/notes", &headers).await;
    assert_eq!(response.status(), 401, "for databases alone");
    // A hub that knows no proxy ignores the headers.
    let mut world = world;
    world.restarted();
    assert_eq!(session(&world, &headers).await, (200, json!({"name": null, "roles": []})));
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_named() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("keys");
    let with = || Config { couch_jwt_keys: Some(path.clone()), ..Config::default() };
    let missing = AssertionKeys::read(&with()).unwrap_err().to_string();
    assert!(missing.contains("keys"), "{missing}");
    std::fs::write(&path, "\nhmac:a = ?").unwrap();
    let invalid = AssertionKeys::read(&with()).unwrap_err().to_string();
    assert!(invalid.contains("line 2"), "{invalid}");
    let short = Config { couch_proxy_secret: Some(path.clone()), ..Config::default() };
    let short = AssertionKeys::read(&short).unwrap_err().to_string();
    assert!(short.contains("16 bytes"), "{short}");
}
