//! Limits for each user, address and browser, and the record of failures for administrators.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use feedsync_server::{Config, Limits, Serving, router, serve};
use feedsync_store::{AuditSelection, Scope, TokenKind};
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tower::ServiceExt as _;

use crate::access::world::{World, basic, bearer, user};
use crate::hub::{bytes, endpoint, hub, request, text};
use crate::newsroom::{self, Newsroom};

const PASSWORD: &str = "correct horse battery";

async fn send(
    router: &Router,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Body> {
    let request = request(method, path, headers, Body::from(body.to_owned()));
    router.clone().oneshot(request).await.unwrap()
}

/// Response to a sign-in to databases.
async fn session(router: &Router, headers: &[(&str, &str)], password: &str) -> Response<Body> {
    let body = json!({"name": "owen", "password": password}).to_string();
    let headers = [&[("content-type", "application/json")], headers].concat();
    send(router, Method::POST, "/couch/_session", &headers, &body).await
}

fn cookies(response: &Response<Body>) -> Vec<&str> {
    response.headers().get_all("set-cookie").iter().map(|it| it.to_str().unwrap()).collect()
}

#[tokio::test]
async fn a_person_has_so_many_streams_whatever_they_follow_and_however_they_sign_in() {
    let mut world = World::in_memory().await;
    world.password("owen", PASSWORD).await;
    let limits = Limits { client_followers: 3, ..Limits::default() };
    world.router = router(world.endpoint.clone(), Config { limits, ..Config::default() });
    let token = world.access("owen").await;
    let (bearer, password, given) =
        (bearer(&token), basic("owen", PASSWORD), basic("owen", &token));
    let signed = [("authorization", &*bearer)];
    let made = send(&world.router, Method::PUT, "/couch/mine", &signed, "").await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let kind = ("content-type", "application/x-ndjson");
    let log = [("authorization", &*bearer), kind, ("if-none-match", "*")];
    let begun = send(&world.router, Method::POST, "/logs/notes", &log, "{}\n").await;
    assert!(begun.status().is_success(), "{}", begun.status());
    let begun = session(&world.router, &[], PASSWORD).await;
    let cookie = cookies(&begun)[0].split(';').next().unwrap().to_owned();
    let ways = [
        ("authorization", &*bearer),
        ("authorization", &*password),
        ("authorization", &*given),
        ("cookie", &*cookie),
    ];
    let continuous = "/couch/mine/_changes?feed=continuous&heartbeat=1000";
    let longpoll = "/couch/mine/_changes?feed=longpoll&since=now";
    let sse = "/couch/mine/_changes?feed=eventsource";
    for filling in [continuous, longpoll, sse, "/collections/notes/events", "/logs/notes/events"] {
        let mut open = Vec::new();
        for _ in 0..3 {
            let stream = world.ask(Method::GET, filling, &[ways[0]]).await;
            assert_eq!(stream.status(), StatusCode::OK, "{filling}");
            open.push(stream);
        }
        for way in ways {
            for path in [continuous, longpoll, sse] {
                let refused = world.ask(Method::GET, path, &[way]).await;
                assert_eq!(refused.status(), 429, "{path} beside {filling} by {}", way.0);
                assert_ne!(text(&refused, "retry-after"), "");
            }
        }
        for path in ["/collections/notes/events", "/logs/notes/events"] {
            let refused = world.ask(Method::GET, path, &[ways[0]]).await;
            assert_eq!(refused.status(), 429, "{path} beside {filling}");
        }
        let other = crate::access::world::bearer(&world.access("rita").await);
        let signed = [("authorization", &*other)];
        let others = world.ask(Method::GET, "/collections/notes/events", &signed).await;
        assert_eq!(others.status(), StatusCode::OK, "others have streams of their own");
        drop(open);
    }
}

/// A hub on a free port of loopback, with these limits.
async fn listening(limits: Limits) -> Serving {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let config = Config { listen, limits, ..Config::default() };
    serve(endpoint("hub"), config, std::future::pending()).await.unwrap()
}

/// Connects from an address of this machine.
async fn connect(serving: &Serving, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    socket.connect(serving.address()).await.unwrap()
}

/// Everything that a connection sends until it is closed.
async fn heard(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
    // A connection that is closed early may be reset.
    read.expect("the hub closes the connection").ok();
    String::from_utf8(bytes).unwrap()
}

const ALIVE: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn one_address_leaves_connections_to_others() {
    for limits in [
        // Half of all connections, whatever the limit of an address is.
        Limits { connections: 8, ..Limits::default() },
        Limits { connections: 64, client_connections: 4, ..Limits::default() },
        Limits { connections: 64, client_unfinished_heads: 4, ..Limits::default() },
    ] {
        let serving = listening(limits).await;
        let mut open = Vec::new();
        for _ in 0..4 {
            let mut stream = connect(&serving, [127, 0, 0, 1]).await;
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHo").await.unwrap();
            open.push(stream);
        }
        for _ in 0..20 {
            let mut more = connect(&serving, [127, 0, 0, 1]).await;
            let said = heard(&mut more).await;
            assert!(said.starts_with("HTTP/1.1 429 "), "{said}");
            assert!(said.contains("Content-Security-Policy: default-src 'none'; sandbox\r\n"));
        }
        let mut other = connect(&serving, [127, 0, 0, 2]).await;
        other.write_all(ALIVE).await.unwrap();
        let said = heard(&mut other).await;
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        drop(open);
        // A slot is free again.
        let again = async {
            loop {
                let mut stream = connect(&serving, [127, 0, 0, 1]).await;
                if stream.write_all(ALIVE).await.is_ok()
                    && heard(&mut stream).await.starts_with("HTTP/1.1 200 ")
                {
                    break;
                }
            }
        };
        timeout(Duration::from_secs(10), again).await.expect("there is room again");
    }
}

#[tokio::test]
async fn a_connection_whose_head_has_come_leaves_its_place_to_the_next() {
    let limits = Limits { connections: 64, client_unfinished_heads: 1, ..Limits::default() };
    let serving = listening(limits).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let mut stream = connect(&serving, [127, 0, 0, 1]).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut begin = [0; 12];
        timeout(Duration::from_secs(5), stream.read_exact(&mut begin)).await.unwrap().unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        open.push(stream);
    }
}

#[tokio::test]
async fn requests_with_unknown_credentials_are_limited_by_address() {
    let endpoint = endpoint("hub");
    let new = feedsync_endpoint::NewUser {
        name: user("root"),
        password: None,
        administrator: true,
        databases_only: false,
    };
    endpoint.add_user(new).await.unwrap();
    let limits = Limits { client_requests: 1, client_burst: 2, ..Limits::default() };
    let config = Config {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        limits,
        ..Config::default()
    };
    let serving = serve(endpoint, config, std::future::pending()).await.unwrap();
    let made_up = format!("fsy_{}", "0a".repeat(32));
    for (address, promise) in [
        ("192.0.2.1", format!("Cookie: AuthSession={made_up}")),
        ("192.0.2.2", format!("Cookie: __Host-AuthSession={made_up}")),
        ("192.0.2.3", "Authorization: Nonsense".to_owned()),
    ] {
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let mut stream = connect(&serving, [127, 0, 0, 1]).await;
            let head = format!(
                "GET /couch/_session HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\
                 {promise}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let said = heard(&mut stream).await;
            statuses.push(said.split(' ').nth(1).unwrap_or_default().to_owned());
        }
        assert_ne!(statuses[0], "429", "{promise}: {statuses:?}");
        assert_eq!(statuses[3], "429", "{promise}: {statuses:?}");
    }
}

#[tokio::test]
async fn an_open_hub_is_closed_to_whom_any_kind_of_proxy_asks_for() {
    let hub = hub().await;
    assert_eq!(hub.get("/collections/notes").await.status(), StatusCode::OK);
    for name in [
        "CF-Connecting-IP",
        "True-Client-IP",
        "X-Real-IP",
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "Fastly-Client-IP",
        "Fly-Client-IP",
        "Forwarded",
        "X-Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Server",
        "X-Original-Forwarded-For",
        "X-Original-Host",
        "X-Envoy-External-Address",
        "X-Appengine-User-IP",
        "CDN-Loop",
        "Via",
    ] {
        for path in ["/collections/notes", "/couch/_all_dbs", "/pages/users"] {
            let answer = hub.call(Method::GET, path, &[(name, "192.0.2.1")]).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{name} {path}");
        }
    }
}

/// Details of the failed sign-ins in the record, oldest first.
async fn recorded(endpoint: &feedsync_endpoint::Endpoint) -> Vec<String> {
    let selection = AuditSelection { before: None, user: None, collection: None, limit: 1_000 };
    let acts = endpoint.store().acts(selection).await.unwrap();
    let failed = acts.into_iter().rev().filter(|it| it.act.action == "failed sign-in");
    failed
        .map(|it| {
            assert_eq!(it.act.user, None, "nobody signed in");
            it.act.detail
        })
        .collect()
}

#[tokio::test]
async fn failed_sign_ins_are_recorded_without_what_was_tried() {
    let world = World::in_memory().await;
    world.password("owen", PASSWORD).await;
    let token = world.access("owen").await;
    let made_up = format!("fsy_{}", "0a".repeat(32));
    let ask = async |authorization: String| {
        let status = world.get("/collections/notes", &authorization).await;
        assert_eq!(status, 401);
    };
    ask(basic("owen", "secret-guess-1")).await;
    ask(basic("secret-guess-2", "secret-guess-2")).await;
    ask(bearer(&made_up)).await;
    ask(basic("rita", &token)).await;
    ask("Basic secret-guess-3".to_owned()).await;
    assert_eq!(session(&world.router, &[], "secret-guess-4").await.status(), 401);
    let session = world.token("owen", TokenKind::Session, Scope::default()).await;
    ask(bearer(&session)).await;
    assert_eq!(world.get("/collections/notes", &bearer(&token)).await, 200);
    assert_eq!(
        recorded(&world.endpoint).await,
        [
            "owen: wrong password",
            "unknown user: wrong password",
            "unknown, expired or revoked token",
            "owen: the token was given with another user name",
            "unreadable credentials",
            "owen: wrong password",
            "unknown, expired or revoked token",
        ]
    );
}

#[tokio::test]
async fn failed_sign_ins_of_newsreaders_and_pages_are_recorded() {
    let room = Newsroom::of(&["anna"]).await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let login = "Email=anna&Passwd=secret-guess";
    let path = "/reader/google/accounts/ClientLogin";
    let answer = send(&room.router, Method::POST, path, &form, login).await;
    assert!(!answer.status().is_success());
    let login = json!({"op": "login", "user": "anna", "password": "secret-guess"}).to_string();
    send(&room.router, Method::POST, "/reader/ttrss/api/", &[], &login).await;
    let wrong = basic("anna", "secret-guess");
    for path in ["/reader/miniflux/v1/me", "/reader/nextcloud/index.php/apps/news/api/v1-3/feeds"] {
        let answer = send(&room.router, Method::GET, path, &[("authorization", &*wrong)], "").await;
        assert_eq!(answer.status(), 401, "{path}");
    }
    let visitor = crate::visitor::Visitor::new(&room.router);
    visitor.sign_in("anna", "secret-guess", "/").await;
    visitor.sign_in("An na", "secret-guess", "/").await;
    let found = recorded(&room.endpoint).await;
    let wrong = "anna: wrong password";
    assert_eq!(found, [wrong, wrong, wrong, wrong, wrong, "unknown user"]);
    visitor.sign_in("anna", newsroom::PASSWORD, "/").await;
    assert_eq!(recorded(&room.endpoint).await.len(), 6, "who signs in is no failure");
}

#[tokio::test]
async fn a_flood_of_guesses_leaves_a_short_record() {
    let world = World::in_memory().await;
    world.password("owen", PASSWORD).await;
    for number in 0..200 {
        world.get("/collections/notes", &basic("owen", &format!("guess {number}"))).await;
    }
    assert_eq!(recorded(&world.endpoint).await.len(), 20);
}

#[tokio::test]
async fn over_https_the_cookie_of_databases_is_bound_to_this_host() {
    let mut world = World::in_memory().await;
    world.password("owen", PASSWORD).await;
    let config = Config {
        public_base: Some("https://localhost:4287".parse().unwrap()),
        ..Config::default()
    };
    world.router = router(world.endpoint.clone(), config);
    let who = async |cookie: &str, more: (&str, &str)| {
        let headers = [("cookie", cookie), more];
        let answer = send(&world.router, Method::GET, "/couch/_session", &headers, "").await;
        let said: Value = serde_json::from_slice(&bytes(answer).await).unwrap();
        said["userCtx"]["name"].clone()
    };
    let page = ("sec-fetch-site", "same-origin");
    let none = ("x-none", "");
    let begun = session(&world.router, &[page], PASSWORD).await;
    let [prefixed] = cookies(&begun)[..] else { panic!("{:?}", cookies(&begun)) };
    assert!(prefixed.starts_with("__Host-AuthSession=fsy_"), "{prefixed}");
    for attribute in ["; Path=/;", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(prefixed.contains(attribute), "{prefixed}");
    }
    let prefixed = prefixed.split(';').next().unwrap();
    assert_eq!(who(prefixed, page).await, "owen");
    // A neighbouring host could have set this cookie.
    let plain = prefixed.replace("__Host-", "");
    assert_eq!(who(&plain, page).await, Value::Null);
    // CouchDB's replicator knows the cookie only by its own name.
    let begun = session(&world.router, &[], PASSWORD).await;
    let names: Vec<_> =
        cookies(&begun).iter().map(|cookie| cookie.split('=').next().unwrap()).collect();
    assert_eq!(names, ["__Host-AuthSession", "AuthSession"]);
    for cookie in cookies(&begun) {
        assert!(cookie.contains("; Secure"), "{cookie}");
        assert_eq!(who(cookie.split(';').next().unwrap(), none).await, "owen");
    }
    let ended =
        send(&world.router, Method::DELETE, "/couch/_session", &[("cookie", prefixed)], "").await;
    assert_eq!(cookies(&ended).len(), 2);
    assert_eq!(who(prefixed, page).await, Value::Null);
    // It signs in to databases only.
    let pages = [("cookie", &*plain), none];
    assert_eq!(world.ask(Method::GET, "/collections/notes", &pages).await.status(), 401);
}
