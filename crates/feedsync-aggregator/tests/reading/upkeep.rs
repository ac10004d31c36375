//! Tests of the background work of a hub.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use feedsync_aggregator::{Newsreading, Readers, SweepResult};
use feedsync_client::{StoredLog, synchronise_reader};
use feedsync_endpoint::reading_collection;
use feedsync_log::Device;
use feedsync_reading_state::{Action, FeedAddress, Replica};

use crate::scene::{BEGIN, Scene};

const AT: u64 = BEGIN / 1_000 - 86_400;
const DAY: u64 = 86_400_000;

fn newsreading(scene: &Scene) -> Newsreading {
    let readers = Readers::new(Arc::clone(&scene.library), Arc::default(), 1 << 30);
    let finder = Arc::new(scene.finder());
    let (schedule, pictures) = (scene.schedule.clone(), scene.pictures());
    Newsreading {
        readers: Arc::new(readers),
        schedule,
        finder,
        pictures,
        full_texts: scene.full_texts(),
    }
}

#[tokio::test]
async fn old_articles_are_deleted_and_starred_ones_stay() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
    let items: Vec<_> = names.iter().zip(0..).map(|(name, n)| (&**name, AT + n)).collect();
    scene.web.feed("/feed", &items);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let first = feedsync_reader_api::ArticleNumber::new(1);
    assert_eq!(person.star(&[first], true).await.unwrap().found, 1);
    // The feed continues, and still contains the second article.
    scene.wait(5 * DAY);
    scene.web.feed("/feed", &[("n1", AT + 1), ("new", AT + 400_000)]);
    scene.poll().await;
    let newsreading = newsreading(&scene);
    let sweep = async |days: Option<u64>| {
        let kept = days.map(|days| Duration::from_millis(days * DAY));
        newsreading.sweep(&scene.endpoint, kept).await.unwrap().articles
    };
    assert_eq!(sweep(None).await, 0, "for ever");
    assert_eq!(sweep(Some(6)).await, 0, "they came five days ago");
    // 201 articles without the newest hundred, the starred one, and the one in the current document.
    assert_eq!(sweep(Some(4)).await, 99);
    assert_eq!(sweep(Some(4)).await, 0);
    let subscription_view = person.subscription_view().await.unwrap();
    assert_eq!(
        (subscription_view.feeds()[0].kept.articles, subscription_view.feeds()[0].unread),
        (102, 102)
    );
}

#[tokio::test]
async fn feeds_without_subscriptions_are_deleted_after_a_month() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let newsreading = newsreading(&scene);
    // A user whose log was deleted has no subscriptions.
    let collection = reading_collection(None);
    scene.endpoint.drop_collection(&collection).await.unwrap();
    newsreading.poll_subscriptions(&scene.endpoint).await.unwrap();
    let swept = async || newsreading.sweep(&scene.endpoint, None).await.unwrap();
    assert_eq!(swept().await, SweepResult::default());
    scene.wait(31 * DAY);
    assert_eq!(swept().await, SweepResult { articles: 0, feeds: 1 });
    let address = scene.web.url("/feed").parse().unwrap();
    assert_eq!(scene.library.feed_at(&address).await.unwrap(), None);
}

#[tokio::test]
async fn feeds_with_starred_articles_stay_after_their_subscriptions_ended() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/starred", &[("a", AT), ("b", AT)]);
    scene.web.feed("/other", &[("c", AT)]);
    scene.subscribe(&person, &["/starred", "/other"]).await;
    scene.poll().await;
    let address = |path: &str| scene.web.url(path).parse::<FeedAddress>().unwrap();
    let starred = address("/starred");
    let star = Action::Star { article: "a".parse().unwrap() };
    let leave = |feed: &FeedAddress| (feed.clone(), Action::Unsubscribe);
    person.act(&[(starred.clone(), star)]).await.unwrap();
    person.act(&[leave(&starred), leave(&address("/other"))]).await.unwrap();
    assert!(person.subscription_view().await.unwrap().feeds().is_empty());
    let newsreading = newsreading(&scene);
    let swept = async || newsreading.sweep(&scene.endpoint, None).await.unwrap();
    scene.wait(31 * DAY);
    assert_eq!(swept().await, SweepResult { articles: 0, feeds: 1 });
    assert_eq!(scene.library.feed_at(&starred).await.unwrap().unwrap().articles, 2);
    assert_eq!(person.subscription_view().await.unwrap().former().count(), 1);
    assert_eq!(scene.poll().await, 0, "it is polled no more");

    let unstar = Action::Unstar { article: "a".parse().unwrap() };
    person.act(&[(starred.clone(), unstar)]).await.unwrap();
    assert_eq!(swept().await, SweepResult { articles: 0, feeds: 1 });
    assert_eq!(scene.library.feed_at(&starred).await.unwrap(), None);
}

#[tokio::test]
async fn subscriptions_of_other_devices_are_found_and_fetched() {
    let scene = Scene::new().await;
    // The user has read on this hub before.
    scene.web.feed("/first", &[("a", AT)]);
    scene.subscribe(&*scene.somebody().await, &["/first"]).await;
    assert_eq!(scene.poll().await, 1);
    scene.web.feed("/feed", &[("a", AT)]);
    let mut device = Replica::new(Device::minted(7));
    let address = scene.web.url("/feed").parse().unwrap();
    let subscribe = Action::Subscribe { title: None, folder: None, position: None };
    let name = reading_collection(None);
    let log = StoredLog::new(scene.endpoint.clone(), name, 1 << 30);
    assert!(device.act(&address, &subscribe, scene.now()));
    synchronise_reader(&mut device, &log, &|| 5).await.unwrap();
    assert_eq!(scene.poll().await, 0);
    let newsreading = newsreading(&scene);
    newsreading.poll_subscriptions(&scene.endpoint).await.unwrap();
    assert_eq!(scene.poll().await, 1);
    let feed = scene.library.feed_at(&address).await.unwrap().unwrap();
    assert_eq!(feed.articles, 1);
    let readers: BTreeSet<_> = scene.library.readers().await.unwrap().into_iter().collect();
    assert_eq!(readers.len(), 1);
}
