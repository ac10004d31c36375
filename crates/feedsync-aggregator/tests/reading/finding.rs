//! Tests of finding feeds at addresses.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use feedsync_aggregator::{FeedFinder as _, FeedKind, FindError, FoundFeed, NamedFeed};
use feedsync_endpoint::{NewUser, Password};
use feedsync_fetch::{Policy, Private};
use feedsync_reading_state::FeedAddress;
use feedsync_store::UserName;

use crate::scene::{BEGIN, Page, Scene};

const AT: u64 = BEGIN / 1_000 - 86_400;

const ATOM: &str = "<feed xmlns='http://www.w3.org/2005/Atom'><title>Posts</title><id>urn:x:1</id>\
    <updated>2026-11-20T10:00:00Z</updated></feed>";

fn page(body: &str) -> Page {
    Page { status: 200, headers: Vec::new(), body: body.to_owned() }
}

fn named(address: FeedAddress, title: Option<&str>, kind: FeedKind) -> NamedFeed {
    NamedFeed { address, title: title.map(str::to_owned), kind, article_count: None }
}

fn found(address: FeedAddress, title: &str) -> FoundFeed {
    FoundFeed { address, title: Some(title.to_owned()) }
}

#[tokio::test]
async fn finder_returns_a_feed_or_the_feeds_that_a_page_names() {
    let scene = Scene::new().await;
    let at = |path: &str| scene.web.url(path).parse::<FeedAddress>().unwrap();
    scene.web.feed("/feed", &[("a", AT)]);
    scene.web.put("/atom", page(ATOM));
    scene.web.put("/json", page("{\"title\":\"J\",\"items\":[]}"));
    scene.web.put(
        "/page",
        page(
            "<html><head><link rel=alternate type=application/rss+xml href=/gone title=Gone>\
             <link rel=alternate type=application/atom+xml href=/atom title='Its posts'>\
             <link rel=alternate type=application/rss+xml href=/feed>",
        ),
    );
    scene.web.put("/empty", page("<!DOCTYPE html><title>Nothing</title>"));
    scene.web.put("/text", page("just words"));
    let finder = scene.finder();
    for (path, title, kind, count) in [
        ("/feed", "News", FeedKind::Rss, 1),
        ("/atom", "Posts", FeedKind::Atom, 0),
        ("/json", "J", FeedKind::Json, 0),
    ] {
        assert_eq!(finder.first(&at(path)).await.unwrap(), found(at(path), title), "{path}");
        let all = finder.all(&at(path)).await.unwrap();
        let expected = named(at(path), Some(title), kind);
        assert_eq!(all, [NamedFeed { article_count: Some(count), ..expected }], "{path}");
    }
    assert_eq!(
        finder.all(&at("/page")).await.unwrap(),
        [
            named(at("/gone"), Some("Gone"), FeedKind::Rss),
            named(at("/atom"), Some("Its posts"), FeedKind::Atom),
            named(at("/feed"), None, FeedKind::Rss),
        ]
    );
    // A named feed that is not readable is skipped.
    let first = finder.first(&at("/page")).await.unwrap();
    assert_eq!(first, found(at("/atom"), "Posts"));

    for path in ["/empty", "/text", "/missing"] {
        let error = finder.first(&at(path)).await.unwrap_err();
        let is_it = match path {
            "/empty" => matches!(error, FindError::NoFeed),
            "/text" => matches!(error, FindError::Unreadable(_)),
            _ => matches!(error, FindError::Fetch(_)) && error.to_string().contains("404"),
        };
        assert!(is_it, "{path}: {error:?}");
        assert!(finder.all(&at(path)).await.is_err(), "{path}");
    }
}

#[tokio::test]
async fn feed_of_another_server_is_subscribed_to_at_the_address_of_its_page() {
    let scene = Scene::new().await;
    let at = |path: &str| scene.web.url(path).parse::<FeedAddress>().unwrap();
    scene.web.feed("/feed", &[("a", AT)]);
    let elsewhere = scene.web.url("/feed").replace("127.0.0.1", "localhost");
    let link = |to: &str| {
        page(&format!("<html><link rel=alternate type=application/rss+xml href='{to}'>"))
    };
    scene.web.put("/far", link(&elsewhere));
    scene.web.put("/near", link("/feed"));
    let finder = scene.finder();
    for (path, address) in [("/far", "/far"), ("/near", "/feed")] {
        let first = finder.first(&at(path)).await.unwrap();
        assert_eq!(first, found(at(address), "News"), "{path}");
    }
    let all = finder.all(&at("/far")).await.unwrap();
    assert_eq!(all[0].address.as_str(), elsewhere, "a person may choose it");
}

#[tokio::test]
async fn finder_asks_nothing_of_known_feeds_and_of_servers_that_are_left_alone() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    scene.web.asked();
    let finder = scene.finder();
    let at = |path: &str| scene.web.url(path).parse::<FeedAddress>().unwrap();
    assert_eq!(finder.first(&at("/feed")).await.unwrap().title.as_deref(), Some("News"));
    assert!(scene.web.asked().is_empty());
    // The format of a known feed is not stored, so it is read again.
    scene.web.put("/feed", page(ATOM));
    assert_eq!(finder.all(&at("/feed")).await.unwrap()[0].kind, FeedKind::Atom);
    assert_eq!(scene.web.asked().len(), 1);

    let busy = vec![("retry-after", "120".to_owned())];
    scene.web.put("/busy", Page { status: 503, headers: busy, body: String::new() });
    assert!(matches!(finder.first(&at("/busy")).await, Err(FindError::Fetch(_))));
    assert_eq!(scene.web.asked().len(), 1);
    let error = finder.first(&at("/other")).await.unwrap_err();
    assert!(matches!(error, FindError::Held(left) if left.as_secs() <= 120), "{error:?}");
    assert!(scene.web.asked().is_empty());
}

#[tokio::test]
async fn finder_reaches_no_private_address_for_users() {
    let scene = Scene::new().await;
    scene.web.feed("/feed", &[("a", AT)]);
    let password = Password::new("correct horse battery").unwrap();
    let name = UserName::new("anna").unwrap();
    let new =
        NewUser { name, password: Some(password), administrator: true, databases_only: false };
    scene.endpoint.add_user(new).await.unwrap();
    let error = scene.finder().first(&scene.web.url("/feed").parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("not a public address"), "{error}");
    assert!(scene.web.asked().is_empty());
}

#[tokio::test]
async fn finder_gives_up_on_slow_servers_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let router = Router::new().fallback(get(std::future::pending::<()>));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let bounds = Policy { idle: Duration::from_millis(200), ..Policy::new(Private::Allowed) };
    let scene = Scene::with(bounds).await;
    let begun = std::time::Instant::now();
    let error = scene.finder().first(&address).await.unwrap_err();
    assert!(matches!(error, FindError::Fetch(_)), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}
