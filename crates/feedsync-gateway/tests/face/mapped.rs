//! Tests of an emulated proxy that maps addresses to another server (BITSY 2.3).

use http::Method;
use serde_json::json;

use crate::kept::{ATOM, Kept, Site, entry};
use crate::support::config;

const FEED: &str = "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\">\
    <id>urn:f</id><title>F</title><updated>2026-01-01T00:00:00Z</updated>\
    <app:collection href=\"BASE/feed\"/><entry><id>urn:e</id><title>E</title>\
    <updated>2026-01-01T00:00:00Z</updated><link rel=\"edit\" href=\"BASE/entry\"/></entry></feed>";

/// The site of an application with a proxy, the AtomPub server behind the proxy, and a gateway.
struct Scene {
    app: Site,
    server: Site,
    kept: Kept,
}

impl Scene {
    /// Starts a scene whose configuration maps a prefix to the server.
    async fn start(prefix: impl FnOnce(&Site) -> String) -> Self {
        let (app, server) = (Site::start().await, Site::start().await);
        let configuration = format!(
            "<proxy xmlns=\"http://purl.org/BITSY\"><namespace urlPrefix=\"{}\">\
             <map xmlns=\"urn:feedsync:1\" to=\"{}\"/></namespace></proxy>",
            prefix(&app),
            server.url("/anna/")
        );
        let kind = "Content-Type: application/x-bitsy-proxy-config+xml\r\n";
        app.answers("GET /proxy.xml", 200, kind, &configuration);
        let tagged = format!("{ATOM}ETag: \"1\"\r\nLink: </anna/next>; rel=next\r\n");
        server.answers("GET /anna/feed", 200, &tagged, &FEED.replace("BASE", &server.url("/anna")));
        server.answers("GET /anna/entry", 200, &format!("{ATOM}ETag: \"1\"\r\n"), &entry("E"));
        let reached = [app.address.to_string(), server.address.to_string()];
        let kept = Kept::of(config(&[], &reached.each_ref().map(String::as_str))).await;
        Self { app, server, kept }
    }

    async fn subscribed() -> Self {
        let scene = Self::start(|app| app.url("/data/")).await;
        let (feed, proxy) = (scene.app.url("/data/feed"), scene.app.url("/proxy.xml"));
        scene.kept.subscribe(json!({ "feed": feed, "proxy": proxy, "follows": ["edit"] })).await;
        scene
    }

    /// The feed as the application gets it.
    fn shown(&self) -> String {
        FEED.replace("BASE", &self.app.url("/data"))
    }

    /// Checks that the proxy of the application got no request.
    fn proxy_is_idle(&self) {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            for path in ["feed", "entry", "other", "new"] {
                let got = self.app.received(&format!("{method} /data/{path}"));
                assert!(got.is_empty(), "{got:?}");
            }
        }
    }
}

#[tokio::test]
async fn requests_below_the_prefix_go_to_the_mapped_server() {
    let scene = Scene::subscribed().await;
    for network in ["online", "offline"] {
        scene.kept.network(network).await;
        let answer = scene.kept.ask("GET", &scene.app.url("/data/feed"), &[]).await;
        assert_eq!((answer.status(), answer.text()), (200, scene.shown()), "{network}");
        let next = format!("<{}>; rel=next", scene.app.url("/data/next"));
        assert_eq!(answer.values("link"), [next.as_str()]);
    }
    scene.kept.network("online").await;
    // What is not stored is requested from the server, too.
    let other = scene.server.url("/anna/other");
    let document = format!("<rss><channel><link>{other}</link></channel></rss>");
    scene.server.answers("GET /anna/other", 200, "Content-Type: text/xml\r\n", &document);
    let requested = scene.app.url("/data/other");
    let answer = scene.kept.ask("GET", &requested, &["Range: bytes=0-3"]).await;
    assert_eq!(answer.text(), document.replace(&other, &requested));
    assert!(!scene.server.received("GET /anna/other")[0].contains("Range"));
    // In reverse mode, the addresses of the proxy are those of the gateway.
    let path = |name: &str| format!("/http/{}/data/{name}", scene.app.address);
    let answer = scene.kept.ask("GET", &path("other"), &["Host: localhost:99"]).await;
    let shown = format!("http://localhost:99{}", path("other"));
    assert_eq!(answer.text(), document.replace(&other, &shown));
    scene.proxy_is_idle();
}

#[tokio::test]
async fn edits_below_the_prefix_reach_the_mapped_server_with_its_addresses() {
    let scene = Scene::subscribed().await;
    let link = |base: &str| {
        entry("New").replace("<content>", &format!("<link href=\"{base}/entry\"/><content>"))
    };
    let [shown, served] =
        [scene.app.url("/data"), scene.server.url("/anna")].map(|base| link(&base));
    let location = format!("{ATOM}Location: /anna/new\r\n");
    scene.server.answers("POST /anna/feed", 201, &location, &served);
    scene.server.answers("PUT /anna/entry", 200, ATOM, &served);
    // With a network.
    let made = scene.kept.send("POST", &scene.app.url("/data/feed"), &[], &shown).await;
    assert_eq!((made.status(), made.text()), (201, shown.clone()));
    assert_eq!(made.values("location"), [scene.app.url("/data/new")]);
    let post = scene.server.received("POST /anna/feed").pop().unwrap();
    assert!(post.ends_with(&format!("\r\n\r\n{served}")), "{post}");
    assert!(post.contains(&format!("Host: {}\r\n", scene.server.address)), "{post}");
    // Without one, and after it is back.
    scene.kept.network("offline").await;
    let put =
        scene.kept.send("PUT", &scene.app.url("/data/entry"), &["If-Match: \"1\""], &shown).await;
    assert_eq!((put.status(), put.text()), (200, shown));
    assert!(scene.server.received("PUT /anna/entry").is_empty());
    scene.kept.network("online").await;
    scene.kept.comes("/outbox", |outbox| outbox == &json!([])).await;
    let put = scene.server.received("PUT /anna/entry").pop().unwrap();
    assert!(put.ends_with(&format!("\r\n\r\n{served}")), "{put}");
    scene.proxy_is_idle();
}

#[tokio::test]
async fn a_configuration_cannot_map_addresses_of_another_origin() {
    let bank = Site::start().await;
    bank.answers("GET /feed", 200, ATOM, "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>");
    let scene = Scene::start(|_| bank.url("/")).await;
    let (feed, proxy) = (bank.url("/feed"), scene.app.url("/proxy.xml"));
    let wanted = json!({ "feed": feed, "proxy": proxy });
    scene.kept.told(Method::POST, "/subscriptions", Some(wanted)).await;
    scene.kept.comes("/subscriptions", |all| all[0]["state"] == "PAUSED").await;
    bank.answers("GET /else", 200, "", "else");
    assert_eq!(scene.kept.ask("GET", &bank.url("/else"), &[]).await.text(), "else");
    assert!(scene.server.received("GET /anna/else").is_empty());
}
