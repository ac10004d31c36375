//! Tests of the full texts of articles: fetching and caching. The extraction is tested in `tests/full_text`.

use std::time::Duration;

use feedsync_aggregator::{ExtractError, FullTextError};
use feedsync_endpoint::NewUser;
use feedsync_reading_state::FeedAddress;
use feedsync_store::UserName;
use feedsync_test::site::{Act, Site, document, redirect};
use futures_util::future::join_all;

use crate::scene::Scene;

const PUBLIC: &str = "http://8.8.8.8/feed";

/// A page in Windows-1251, which only the HTTP header says.
fn page() -> Vec<u8> {
    let sentence = "\u{41f}\u{430}\u{440}\u{43e}\u{43c} \u{443}\u{448}\u{451}\u{43b} \u{432} \
                    \u{43f}\u{43e}\u{43b}\u{434}\u{435}\u{43d}\u{44c}, \u{43d}\u{430}\u{434} \
                    \u{440}\u{435}\u{43a}\u{43e}\u{439} \u{431}\u{44b}\u{43b} \
                    \u{442}\u{443}\u{43c}\u{430}\u{43d}. ";
    let page = format!("<title>A</title><article><p>{}</p></article>", sentence.repeat(6));
    encoding_rs::WINDOWS_1251.encode(&page).0.into_owned()
}

#[tokio::test]
async fn concurrent_and_later_requests_for_a_full_text_fetch_it_once() {
    let scene = Scene::new().await;
    let site = Site::start(|asked| match &*asked.target {
        "/moved" => redirect(302, "/b/page"),
        _ => {
            let mut acts = vec![Act::Pause(Duration::from_millis(100))];
            acts.extend(document("text/html; charset=windows-1251", page()));
            acts
        }
    })
    .await;
    let (texts, feed): (_, FeedAddress) = (scene.full_texts(), site.url("/feed").parse().unwrap());
    let link = site.url("/moved");
    assert_eq!(texts.cached(&feed, &link).await, Ok(None));
    let loaded = join_all((0..10).map(|_| texts.load(&feed, &link))).await;
    for text in loaded {
        let text = text.unwrap();
        assert!(text.html.contains("\u{442}\u{443}\u{43c}\u{430}\u{43d}"), "{}", text.html);
        assert_eq!(*text.address, *site.url("/b/page"));
    }
    assert!(texts.cached(&feed, &link).await.unwrap().is_some());
    assert_eq!(site.targets(), ["/moved", "/b/page"]);
}

/// Without users, what a feed may reach depends on its own address. So a text that a private feed may reach is not in
/// the cache for a public one.
#[tokio::test]
async fn feed_gets_no_full_text_that_it_could_not_fetch() {
    let scene = Scene::new().await;
    let site = Site::start(|_| document("text/html; charset=windows-1251", page())).await;
    let (texts, link) = (scene.full_texts(), site.url("/page"));
    let feeds: [FeedAddress; 2] = [site.url("/feed").parse().unwrap(), PUBLIC.parse().unwrap()];
    assert!(texts.load(&feeds[0], &link).await.is_ok());
    assert_eq!(texts.cached(&feeds[1], &link).await, Ok(None));
    assert!(matches!(texts.load(&feeds[1], &link).await, Err(FullTextError::Refused(_))));
    // With users, private addresses are refused for all feeds.
    let name = UserName::new("anna").unwrap();
    let new = NewUser { name, password: None, administrator: true, databases_only: false };
    scene.endpoint.add_user(new).await.unwrap();
    for feed in &feeds {
        assert!(!matches!(texts.cached(feed, &link).await, Ok(Some(_))));
        assert!(matches!(texts.load(feed, &link).await, Err(FullTextError::Refused(_))));
    }
    assert_eq!(site.targets(), ["/page"]);
}

/// The header says HTML, so the server alone decides when the page ends.
#[tokio::test]
async fn endless_page_is_refused_at_the_limit() {
    let scene = Scene::new().await;
    let site = Site::start(|_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>";
        vec![Act::Send(head.into()), Act::Forever(vec![b'x'; 64 << 10])]
    })
    .await;
    let feed: FeedAddress = site.url("/feed").parse().unwrap();
    let refused = scene.full_texts().load(&feed, &site.url("/page")).await;
    assert_eq!(refused, Err(FullTextError::Extract(ExtractError::TooLarge)));
}
