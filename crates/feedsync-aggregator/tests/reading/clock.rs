//! Tests that feeds are polled on time after the clock was temporarily ahead.

use feedsync_aggregator::PollState;

use crate::scene::{BEGIN, Page, Scene};

const AT: u64 = BEGIN / 1_000 - 86_400;
const HOUR: u64 = 3_600_000;
const YEAR: u64 = 365 * 24 * HOUR;

async fn states(scene: &Scene) -> Vec<PollState> {
    let subscription_view = scene.somebody().await.subscription_view().await.unwrap();
    subscription_view.feeds().iter().map(|feed| feed.kept.state.clone()).collect()
}

/// Subscribes to feeds, polls them while the clock is ahead, and sets it back.
async fn scene_after(ahead: u64, feeds: &[&str]) -> Scene {
    let scene = Scene::new().await;
    for feed in feeds {
        scene.web.feed(feed, &[("a", AT)]);
    }
    scene.subscribe(&*scene.somebody().await, feeds).await;
    assert_eq!(scene.poll().await, feeds.len());
    scene.wait(ahead);
    assert_eq!(scene.poll().await, feeds.len());
    assert_eq!(scene.poll().await, 0);
    scene.turn_back(ahead);
    scene
}

#[tokio::test]
async fn a_feed_that_was_checked_in_the_future_is_due() {
    for ahead in [30 * HOUR, 10 * YEAR] {
        let scene = scene_after(ahead, &["/one", "/two"]).await;
        scene.web.feed("/one", &[("a", AT), ("b", AT + 60)]);
        assert_eq!(scene.poll().await, 2);
        assert_eq!(scene.poll().await, 0, "it was checked just now");
        for state in states(&scene).await {
            assert_eq!(state.checked, Some(scene.now()));
            assert!(state.changed <= Some(scene.now()));
        }
    }
}

#[tokio::test]
async fn a_claim_that_was_made_in_the_future_does_not_count() {
    let scene = Scene::new().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.wait(10 * YEAR);
    scene.subscribe(&*scene.somebody().await, &["/feed"]).await;
    let claimed = scene.schedule.claim(9).await.unwrap();
    assert_eq!(claimed.len(), 1);
    scene.turn_back(10 * YEAR);
    assert_eq!(scene.poll().await, 1);
    // A current claim is respected.
    scene.wait(48 * HOUR);
    assert_eq!(scene.schedule.claim(9).await.unwrap().len(), 1);
    assert_eq!(scene.poll().await, 0);
    scene.schedule.make_due(&[claimed[0].number]).await.unwrap();
    assert_eq!(scene.poll().await, 0);
}

#[tokio::test]
async fn a_subscription_made_in_the_future_is_polled_at_once() {
    let scene = Scene::new().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.wait(10 * YEAR);
    scene.subscribe(&*scene.somebody().await, &["/feed"]).await;
    scene.turn_back(10 * YEAR);
    assert_eq!(scene.poll().await, 1);
}

#[tokio::test]
async fn a_host_held_in_the_future_is_asked() {
    let scene = Scene::new().await;
    let busy =
        Page { status: 503, headers: vec![("retry-after", "3600".to_owned())], ..Page::default() };
    scene.web.put("/feed", busy);
    scene.wait(10 * YEAR);
    scene.subscribe(&*scene.somebody().await, &["/feed"]).await;
    assert_eq!(scene.poll().await, 1);
    scene.turn_back(10 * YEAR);
    scene.web.asked();
    scene.web.feed("/feed", &[("a", AT)]);
    assert_eq!(scene.poll().await, 1);
    assert_eq!(scene.web.asked().iter().filter(|(path, _)| path == "/feed").count(), 1);
    assert_eq!(states(&scene).await[0].failures, 0);
}

/// A feed of a host on hold until later today is not polled repeatedly.
#[tokio::test]
async fn a_feed_of_a_held_host_rests_after_the_clock_was_ahead() {
    let scene = scene_after(10 * YEAR, &["/feed"]).await;
    let host = scene.web.url("");
    let host = host.strip_prefix("http://").unwrap();
    scene.library.hold(host, scene.now().after(HOUR), scene.now()).await.unwrap();
    scene.web.asked();
    assert_eq!(scene.poll().await, 1);
    assert_eq!(scene.poll().await, 0);
    assert!(scene.web.asked().is_empty());
}
