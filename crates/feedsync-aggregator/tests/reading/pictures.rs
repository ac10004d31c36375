//! Tests of the pictures of articles.

use std::time::{Duration, Instant};

use feedsync_aggregator::{MAX_PICTURE_BYTES, PictureError, Pictures};
use feedsync_endpoint::NewUser;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_reading_state::FeedAddress;
use feedsync_store::UserName;
use feedsync_test::site::{Act, Site, document, redirect};
use futures_util::future::join_all;

use crate::scene::Scene;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";

const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";

/// Address of a feed on a public host, which is never contacted.
const PUBLIC: &str = "http://8.8.8.8/feed";

fn feed(address: &str) -> FeedAddress {
    address.parse().unwrap()
}

/// Reason for a failure that is cached.
fn reason(error: PictureError) -> String {
    match error {
        PictureError::Fetch(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Head of a response whose body ends with the connection, and the first bytes of a picture.
fn endless_head() -> Act {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nConnection: close\r\n\r\n";
    Act::Send([head.as_bytes(), PNG].concat())
}

async fn add_user(scene: &Scene) {
    let name = UserName::new("anna").unwrap();
    let new = NewUser { name, password: None, administrator: true, databases_only: false };
    scene.endpoint.add_user(new).await.unwrap();
}

#[tokio::test]
async fn concurrent_and_later_requests_for_a_picture_fetch_it_once() {
    let scene = Scene::new().await;
    let site = Site::start(|_| {
        let mut acts = vec![Act::Pause(Duration::from_millis(100))];
        acts.extend(document("text/html", PNG));
        acts
    })
    .await;
    let (pictures, feed, address) =
        (scene.pictures(), feed(&site.url("/feed")), site.url("/a.png"));
    assert!(pictures.cached(&feed, &address).await.unwrap().is_none());
    let loaded = join_all((0..10).map(|_| pictures.load(&feed, &address))).await;
    for picture in loaded {
        let picture = picture.unwrap();
        assert_eq!((picture.media_type, &*picture.bytes), ("image/png", PNG));
    }
    // What follows `#` is not part of the request.
    let again = pictures.load(&feed, &format!("{address}#part")).await.unwrap();
    assert_eq!(pictures.cached(&feed, &address).await.unwrap(), Some(again));
    assert_eq!(site.targets(), ["/a.png"]);
}

#[tokio::test]
async fn request_that_ends_early_does_not_block_the_next_one() {
    let scene = Scene::new().await;
    let site = Site::start(|asked| match asked.headers.contains_key("cookie") {
        true => document("image/png", PNG),
        false => {
            [vec![Act::Pause(Duration::from_millis(300))], document("image/png", PNG)].concat()
        }
    })
    .await;
    let (pictures, feed, address) = (scene.pictures(), feed(&site.url("/")), site.url("/a.png"));
    let first = tokio::time::timeout(Duration::from_millis(50), pictures.load(&feed, &address));
    let (first, second) = tokio::join!(first, pictures.load(&feed, &address));
    assert!(first.is_err());
    assert_eq!(&*second.unwrap().bytes, PNG);
}

#[tokio::test]
async fn failure_is_cached_for_a_minute_and_a_picture_for_a_day() {
    let scene = Scene::new().await;
    let site = Site::start(|asked| match &*asked.target {
        "/good" => document("image/png", PNG),
        _ => document("image/svg+xml", SVG),
    })
    .await;
    let (pictures, feed) = (scene.pictures(), feed(&site.url("/feed")));
    let [good, bad] = ["/good", "/bad"].map(|path| site.url(path));
    let ask = async || {
        assert!(pictures.load(&feed, &good).await.is_ok());
        let error = pictures.load(&feed, &bad).await.unwrap_err();
        assert!(reason(error).contains("not a picture"), "{bad}");
        let mut targets = site.targets();
        site.forget();
        targets.sort();
        targets
    };
    let pass = async |time: u64| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(time)).await;
        tokio::time::resume();
    };
    assert_eq!(ask().await, ["/bad", "/good"]);
    pass(55).await;
    assert_eq!(ask().await, [""; 0]);
    assert!(pictures.cached(&feed, &bad).await.is_err());
    pass(6).await;
    assert!(pictures.cached(&feed, &bad).await.unwrap().is_none());
    assert_eq!(ask().await, ["/bad"]);
    pass(24 * 3_600).await;
    assert_eq!(ask().await, ["/bad", "/good"]);
}

#[tokio::test]
async fn documents_that_are_no_pictures_and_large_ones_are_refused_in_time() {
    let policy = Policy {
        idle: Duration::from_millis(500),
        overall: Duration::from_secs(2),
        ..Policy::new(Private::Allowed)
    };
    let scene = Scene::with(policy).await;
    let site = Site::start(|asked| match &*asked.target {
        "/svg" => document("image/png", SVG),
        "/html" => document("image/png", "<!DOCTYPE html><script>alert(1)</script>"),
        "/empty" => document("image/png", ""),
        "/largest" => {
            document("image/png", [PNG, &vec![0; MAX_PICTURE_BYTES - PNG.len()]].concat())
        }
        "/large" => document("image/png", [PNG, &vec![0; MAX_PICTURE_BYTES]].concat()),
        "/endless" => vec![endless_head(), Act::Forever(vec![0; 64 << 10])],
        "/endless.html" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>";
            vec![Act::Send(head.into()), Act::Forever(vec![b' '; 1 << 10])]
        }
        "/slow" => {
            let drop = [Act::Pause(Duration::from_millis(100)), Act::Send(vec![0])];
            let mut acts = vec![endless_head()];
            (0..100).for_each(|_| acts.extend(drop.clone()));
            acts
        }
        "/silent" => vec![Act::Pause(Duration::from_secs(60))],
        _ => redirect(302, "/again"),
    })
    .await;
    let (pictures, feed) = (scene.pictures(), feed(&site.url("/feed")));
    let largest = pictures.load(&feed, &site.url("/largest")).await.unwrap();
    assert_eq!(largest.bytes.len(), MAX_PICTURE_BYTES);
    assert!(pictures.cached(&feed, &site.url("/largest")).await.unwrap().is_some());
    for (path, said) in [
        ("/svg", "not a picture"),
        ("/html", "not a picture"),
        ("/empty", "not a picture"),
        ("/large", "bytes"),
        ("/endless", "bytes"),
        ("/endless.html", "not a picture"),
        ("/slow", "time"),
        ("/silent", "time"),
        ("/loop", "redirect"),
    ] {
        let begun = Instant::now();
        let reason = reason(pictures.load(&feed, &site.url(path)).await.unwrap_err());
        assert!(reason.contains(said), "{path}: {reason}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{path}: {:?}", begun.elapsed());
    }
    for address in ["javascript:alert(1)", "data:image/png,x", "file:///etc/passwd", "/a.png"] {
        assert!(pictures.load(&feed, address).await.is_err(), "{address}");
    }
}

/// The cache has 64 MiB, and a picture of the maximum size fits into it.
#[tokio::test]
async fn size_of_cached_pictures_is_bounded() {
    let scene = Scene::new().await;
    let body = [PNG, &vec![0; MAX_PICTURE_BYTES - PNG.len()]].concat();
    let site = Site::start(move |_| document("image/png", &body)).await;
    let (pictures, feed) = (scene.pictures(), feed(&site.url("/feed")));
    let addresses: Vec<_> = (0..8).map(|number| site.url(&format!("/{number}.png"))).collect();
    for address in &addresses {
        assert!(pictures.load(&feed, address).await.is_ok());
    }
    let mut cached = 0;
    for address in &addresses {
        cached += usize::from(pictures.cached(&feed, address).await.unwrap().is_some());
    }
    assert!((4..=6).contains(&cached), "{cached} of 8 pictures are cached");
}

#[tokio::test]
async fn article_of_a_public_feed_reaches_no_private_address() {
    let private = Site::start(|_| document("image/png", PNG)).await;
    let scene = Scene::new().await;
    for has_users in [false, true] {
        if has_users {
            add_user(&scene).await;
        }
        let pictures = scene.pictures();
        for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
            let address = private.url("/secret.png").replace("127.0.0.1", host);
            let error = pictures.load(&feed(PUBLIC), &address).await.unwrap_err();
            assert!(reason(error).contains("not a public address"), "{address}");
        }
    }
    assert_eq!(private.targets(), [""; 0]);
}

#[tokio::test]
async fn cached_picture_is_not_shown_to_feeds_that_could_not_fetch_it() {
    let scene = Scene::new().await;
    let site = Site::start(|_| document("image/png", PNG)).await;
    let other = Site::start(|_| document("image/png", PNG)).await;
    let (pictures, address) = (scene.pictures(), site.url("/a.png"));
    let own = feed(&site.url("/feed"));
    assert!(pictures.load(&own, &address).await.is_ok());
    // A private feed may lead to private addresses, with its own entry in the cache.
    let neighbour = feed(&other.url("/feed"));
    assert!(pictures.cached(&neighbour, &address).await.unwrap().is_none());
    assert!(pictures.cached(&feed(PUBLIC), &address).await.unwrap().is_none());
    assert!(pictures.load(&feed(PUBLIC), &address).await.is_err());
    assert!(pictures.cached(&own, &address).await.unwrap().is_some());
    assert_eq!(site.targets().len(), 1);
    // Once the hub has users, its feeds reach only public addresses.
    add_user(&scene).await;
    assert!(pictures.cached(&own, &address).await.unwrap().is_none());
    let error = pictures.load(&own, &address).await.unwrap_err();
    assert!(reason(error).contains("not a public address"));
    assert_eq!(site.targets().len(), 1);
}

#[tokio::test]
async fn networks_that_the_operator_names_are_shared_by_all_feeds() {
    let scene = Scene::new().await;
    add_user(&scene).await;
    let site = Site::start(|_| document("image/png", PNG)).await;
    let private = site.url("/a.png").replace("127.0.0.1", "127.0.0.2");
    let redirecting = Site::start(move |_| redirect(302, &private)).await;
    let fetcher = Fetcher::new(Policy::new(Private::Refused)).unwrap();
    let fetcher = fetcher.with_networks(&["127.0.0.1/32".parse().unwrap()]).unwrap();
    let pictures = Pictures::new(scene.endpoint.clone(), fetcher);
    let address = site.url("/a.png");
    assert!(pictures.load(&feed(PUBLIC), &address).await.is_ok());
    assert!(pictures.cached(&feed(&site.url("/feed")), &address).await.unwrap().is_some());
    assert_eq!(site.targets().len(), 1);
    // A redirect out of these networks is refused.
    let error = pictures.load(&feed(PUBLIC), &redirecting.url("/a.png")).await.unwrap_err();
    assert!(reason(error).contains("127.0.0.2 is not a public address"));
    assert_eq!((redirecting.targets().len(), site.targets().len()), (1, 1));
}
