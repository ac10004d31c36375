//! Tests of pages of other origins that use the gateway as a cross-domain proxy (BITSY 2.3).

use feedsync_gateway::Config;
use http::Method;
use serde_json::json;

use crate::kept::{ATOM, FEED, Kept, Site, entry};
use crate::support::{Answer, Gateway, Origin, config, knowing};

const PAGE: &str = "https://app.example";

/// Origins of an allowed page and of a forbidden one.
const ALLOWED: &str = "Origin: https://app.example";
const OTHER: &str = "Origin: https://evil.example";

fn allowing(mut config: Config) -> Config {
    config.allow_origins = vec![PAGE.parse().unwrap()];
    config
}

/// A server, and a gateway that emulates a proxy below its `/xd/`.
async fn emulating() -> (Site, Kept) {
    let site = Site::start().await;
    let configuration = format!(
        "<proxy xmlns=\"http://purl.org/BITSY\"><namespace urlPrefix=\"{}\">\
         <xd xmlns=\"http://purl.org/BITSY/xdp\"/></namespace></proxy>",
        site.url("/xd/")
    );
    let kind = "Content-Type: application/x-bitsy-proxy-config+xml\r\n";
    site.answers("GET /proxy.xml", 200, kind, &configuration);
    site.answers("GET /xd/feed", 200, &format!("{ATOM}ETag: \"1\"\r\n"), FEED);
    let cross = "Access-Control-Allow-Origin: https://theirs.example\r\n\
        Access-Control-Allow-Credentials: true\r\n";
    site.answers("GET /xd/other", 200, cross, "other");
    site.answers("GET /else", 200, cross, "else");
    let kept = Kept::of(allowing(config(&[], &[&site.address.to_string()]))).await;
    let (feed, proxy) = (site.url("/xd/feed"), site.url("/proxy.xml"));
    kept.subscribe(json!({ "feed": feed, "proxy": proxy })).await;
    (site, kept)
}

fn asks(method: &str) -> [String; 2] {
    let asked = "Access-Control-Request-Headers: content-type,if-match".to_owned();
    [format!("Access-Control-Request-Method: {method}"), asked]
}

/// Checks that a page of the allowed origin may read the response.
fn is_shared(answer: &Answer) {
    assert_eq!(answer.values("access-control-allow-origin"), [PAGE], "{answer:?}");
    assert_eq!(answer.values("access-control-allow-credentials"), [""; 0], "{answer:?}");
    assert!(answer.values("vary").contains(&"Origin"), "{answer:?}");
    let exposed = answer.values("access-control-expose-headers").join(", ");
    for name in ["ETag", "Location", "Content-Location", "Retry-After", "Warning", "Cache-Status"] {
        assert!(exposed.split(", ").any(|one| one == name), "{name}: {exposed}");
    }
}

#[tokio::test]
async fn responses_below_a_prefix_are_shared_online_and_offline() {
    let (site, kept) = emulating().await;
    for network in ["online", "offline"] {
        kept.network(network).await;
        let stored = kept.ask("GET", &site.url("/xd/feed"), &[ALLOWED]).await;
        assert_eq!((stored.status(), stored.text().as_str()), (200, FEED), "nothing else differs");
        assert_eq!(stored.values("etag"), ["\"1\""]);
        is_shared(&stored);
        let other = kept.ask("GET", &site.url("/xd/other"), &[ALLOWED]).await;
        assert_eq!(other.status(), if network == "online" { 200 } else { 504 });
        is_shared(&other);
    }
    let got = site.received("GET /xd/other");
    assert!(got[0].contains(&format!("Host: {}\r\n", site.address)), "{got:?}");
}

#[tokio::test]
async fn preflights_are_answered_before_anything_else() {
    let (site, kept) = emulating().await;
    for network in ["online", "offline"] {
        kept.network(network).await;
        for path in ["/xd/feed", "/xd/nothing", "/xd/"] {
            let [method, fields] = asks("PUT");
            let headers = [ALLOWED, &method, &fields];
            let answer = kept.ask("OPTIONS", &site.url(path), &headers).await;
            assert_eq!(answer.status(), 204, "{answer:?}");
            is_shared(&answer);
            let methods = answer.values("access-control-allow-methods");
            assert_eq!(methods, ["GET, HEAD, POST, PUT, DELETE, OPTIONS"]);
            let fields = answer.values("access-control-allow-headers");
            assert_eq!(fields, ["content-type,if-match"]);
        }
        // An `OPTIONS` request that is no preflight goes to the server.
        let answer = kept.ask("OPTIONS", &site.url("/xd/nothing"), &[ALLOWED]).await;
        assert_eq!(answer.status(), if network == "online" { 502 } else { 504 });
    }
    assert!(site.received("OPTIONS /xd/feed").is_empty());
}

#[tokio::test]
async fn edits_of_pages_are_taken_and_their_answers_read() {
    let (site, kept) = emulating().await;
    kept.network("offline").await;
    let (collection, member) = (site.url("/xd/feed"), site.url("/xd/entry"));
    let made = kept.send("POST", &collection, &[ALLOWED], &entry("Made")).await;
    assert_eq!(made.status(), 201);
    is_shared(&made);
    assert_eq!(made.values("location").len(), 1);
    let put = kept.send("PUT", &member, &[ALLOWED], &entry("Mine")).await;
    assert_eq!((put.status(), put.text()), (200, entry("Mine")));
    is_shared(&put);
    let refused = kept.send("PUT", &member, &[OTHER], &entry("Theirs")).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.values("access-control-allow-origin"), [""; 0]);
    let waiting = kept.told(Method::GET, "/outbox", None).await;
    assert_eq!(waiting.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn elsewhere_and_for_others_everything_is_the_servers() {
    let (site, kept) = emulating().await;
    let theirs = |answer: &Answer| {
        let origin = answer.values("access-control-allow-origin");
        assert_eq!(origin, ["https://theirs.example"], "{answer:?}");
        assert_eq!(answer.values("access-control-allow-credentials"), ["true"]);
        assert_eq!(answer.values("access-control-expose-headers"), [""; 0]);
    };
    theirs(&kept.ask("GET", &site.url("/else"), &[ALLOWED]).await);
    let twice = [ALLOWED, OTHER];
    for headers in [&[OTHER][..], &["Origin: null"], &[], &twice] {
        let answer = kept.ask("GET", &site.url("/xd/other"), headers).await;
        theirs(&answer);
        assert_eq!(answer.values("vary"), ["Origin"], "what a cache has is not for pages");
    }
    for (path, origin) in [("/else", ALLOWED), ("/xd/other", OTHER)] {
        let [method, fields] = asks("PUT");
        site.answers(&format!("OPTIONS {path}"), 200, "X-Theirs: 1\r\n", "");
        let answer = kept.ask("OPTIONS", &site.url(path), &[origin, &method, &fields]).await;
        assert_eq!(answer.values("x-theirs"), ["1"], "{answer:?}");
    }
}

/// A gateway that mounts a server whose responses have CORS fields of their own.
async fn mounted() -> (Origin, Gateway) {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nETag: \"1\"\r\n\
         Access-Control-Allow-Credentials: true\r\nContent-Length: 2\r\n\r\nok",
    )
    .await;
    let mount = format!("o={}", origin.url());
    let gateway = Gateway::of(allowing(config(&[&mount], &[])), knowing(&[])).await;
    (origin, gateway)
}

#[tokio::test]
async fn in_reverse_mode_everything_is_for_pages_of_allowed_origins() {
    let (origin, gateway) = mounted().await;
    let answer = gateway.get("/o/a", &[ALLOWED, "Sec-Fetch-Site: cross-site"]).await;
    assert_eq!((answer.status(), answer.text().as_str()), (200, "ok"));
    is_shared(&answer);
    let [method, fields] = asks("DELETE");
    let private = "Access-Control-Request-Private-Network: true";
    let headers = [ALLOWED, "Sec-Fetch-Site: cross-site", &method, &fields, private];
    let answer = gateway.ask("OPTIONS", "/o/a", &headers).await;
    assert_eq!(answer.status(), 204);
    is_shared(&answer);
    assert_eq!(answer.values("access-control-allow-private-network"), ["true"]);
    assert_eq!(origin.received().len(), 1, "the server is not asked");
    // A program gets the server's own fields, and `Vary` tells caches that pages get others.
    let answer = gateway.get("/o/a", &[]).await;
    assert_eq!(answer.values("access-control-allow-origin"), ["*"]);
    assert_eq!(answer.values("vary"), ["Origin"]);
}

#[tokio::test]
async fn in_reverse_mode_forbidden_pages_can_read_nothing() {
    let (origin, gateway) = mounted().await;
    let [method, fields] = asks("GET");
    for other in [OTHER, "Origin: null"] {
        let private = "Access-Control-Request-Private-Network: true";
        for (verb, headers) in
            [("GET", vec![other]), ("OPTIONS", vec![other, &method, &fields, private])]
        {
            let answer = gateway.ask(verb, "/o/a", &headers).await;
            assert_eq!(answer.status(), 403);
            assert_eq!(answer.values("access-control-allow-private-network"), [""; 0]);
            assert_eq!(answer.values("access-control-allow-origin"), [""; 0]);
        }
    }
    assert!(origin.received().is_empty());
}

#[tokio::test]
async fn a_page_reads_what_is_said_before_its_target_is_known() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let config = allowing(config(&[&format!("o={}", origin.url())], &[]));
    let gateway = Gateway::of(config, knowing(&[])).await;
    for (path, status) in [("/o", 308), ("/unknown/", 404), ("/o/../x", 400)] {
        let answer = gateway.ask("GET", path, &[ALLOWED]).await;
        assert_eq!(answer.status(), status, "{path}");
        is_shared(&answer);
        let [method, fields] = asks("PUT");
        let asked = gateway.ask("OPTIONS", path, &[ALLOWED, &method, &fields]).await;
        assert_eq!(asked.status(), 204, "{path}: a browser follows no other answer to it");
        is_shared(&asked);
        let other = gateway.ask("GET", path, &[OTHER]).await;
        assert_eq!(other.values("access-control-allow-origin"), [""; 0], "{path}");
    }
    let rebound = gateway.ask("GET", "/o/", &[ALLOWED, "Host: evil.example"]).await;
    assert_eq!(rebound.status(), 421);
    assert_eq!(rebound.values("access-control-allow-origin"), [""; 0], "it is no host of ours");
    assert!(origin.received().is_empty());
}
