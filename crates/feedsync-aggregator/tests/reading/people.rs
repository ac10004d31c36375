//! Tests that changes are recorded in the log, and that entries of other devices are visible.

use feedsync_client::{StoredLog, synchronise_reader};
use feedsync_log::{Device, Millis};
use feedsync_reading_state::{Action, ReaderState, Replica};
use proptest::prelude::*;

use crate::scene::{BEGIN, Scene, unread};

const AT: u64 = BEGIN / 1_000 - 86_400;

/// State of the log, as another device reads it.
async fn told(scene: &Scene) -> ReaderState {
    let name = feedsync_endpoint::reading_collection(None);
    let log = StoredLog::new(scene.endpoint.clone(), name, 1 << 30);
    let mut replica = Replica::new(Device::minted(99));
    synchronise_reader(&mut replica, &log, &|| 5).await.unwrap();
    replica.state().clone()
}

async fn length(scene: &Scene) -> u64 {
    let name = feedsync_endpoint::reading_collection(None);
    scene.endpoint.store().log(&name).await.unwrap().unwrap().place.length
}

#[tokio::test]
async fn marks_are_records_and_all_of_a_feed_is_one() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let names: Vec<String> = (0..500).map(|number| format!("n{number}")).collect();
    let items: Vec<_> = names.iter().zip(0..).map(|(name, n)| (&**name, AT + n)).collect();
    scene.web.feed("/feed", &items);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let subscription_view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&subscription_view), [500]);
    let before = length(&scene).await;
    let feeds: Vec<_> = subscription_view.feeds().iter().collect();
    assert_eq!(person.mark_all(&feeds, None).await.unwrap(), 1);
    assert!(length(&scene).await - before < 300, "one record");
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [0]);
    // Later articles are unread, and a mark up to a date ends there.
    let later: Vec<_> = [("x", AT + 1_000), ("y", AT + 2_000)].into();
    scene.web.feed("/feed", &later);
    scene.wait(48 * 3_600_000);
    scene.poll().await;
    let subscription_view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&subscription_view), [2]);
    let feeds: Vec<_> = subscription_view.feeds().iter().collect();
    person.mark_all(&feeds, Some(Millis::new((AT + 1_500) * 1_000))).await.unwrap();
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [1]);
}

#[tokio::test]
async fn changes_are_visible_to_other_devices_at_once() {
    let scene = Scene::new().await;
    let (one, other) = (scene.somebody().await, scene.somebody().await);
    scene.web.feed("/feed", &[("a", AT), ("b", AT + 1)]);
    scene.subscribe(&one, &["/feed"]).await;
    scene.poll().await;
    let address = scene.web.url("/feed").parse().unwrap();
    let at = Some(Millis::new(AT * 1_000));
    let read = Action::Read { article: "a".parse().unwrap(), at };
    other.act(&[(address, read)]).await.unwrap();
    assert_eq!(unread(&one.subscription_view().await.unwrap()), [1]);
    let state = told(&scene).await;
    let feed = state.feed(&scene.web.url("/feed")).unwrap();
    assert!(feed.is_read(&"a".parse().unwrap(), at) && feed.is_subscribed());
}

/// Articles of feeds that the user is not subscribed to cannot be marked.
#[tokio::test]
async fn articles_of_other_feeds_cannot_be_marked() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let subscription_view = person.subscription_view().await.unwrap();
    let number = feedsync_reader_api::ArticleNumber::new(1);
    let address = subscription_view.feeds()[0].subscription.address.clone();
    person.act(&[(address, Action::Unsubscribe)]).await.unwrap();
    let before = length(&scene).await;
    assert_eq!(person.mark(&[number], true).await.unwrap().found, 0);
    assert_eq!(length(&scene).await, before);
    assert!(person.subscription_view().await.unwrap().feeds().is_empty());
}

/// A complete state is transferred from one hub to another and recorded in its log. Where marks differ, the newer
/// one is kept, and a repetition changes nothing.
#[tokio::test]
async fn merged_state_is_recorded_in_the_log() {
    let (here, there) = (Scene::new().await, Scene::new().await);
    let (one, other) = (here.somebody().await, there.somebody().await);
    here.web.feed("/feed", &[("a", AT), ("b", AT + 1)]);
    here.subscribe(&one, &["/feed"]).await;
    here.poll().await;
    let (a, b) =
        (feedsync_reader_api::ArticleNumber::new(1), feedsync_reader_api::ArticleNumber::new(2));
    one.star(&[a], true).await.unwrap();
    one.mark(&[a, b], true).await.unwrap();
    let everything = one.everything().await.unwrap();
    assert_eq!(everything.covers, None);
    let changes = other.merge_state(everything.state.clone()).await.unwrap();
    assert!(changes >= 4, "{changes}");
    assert_eq!(told(&there).await, everything.state);
    assert_eq!(other.everything().await.unwrap(), everything);
    let before = length(&there).await;
    assert_eq!(other.merge_state(everything.state).await.unwrap(), 0);
    assert_eq!(length(&there).await, before);
    assert_eq!(other.subscription_view().await.unwrap().feeds().len(), 1);
}

#[derive(Debug, Clone)]
enum Deed {
    Mark(usize, Vec<i64>, bool),
    Star(usize, Vec<i64>, bool),
    All(usize, Option<u64>),
    Publish(u8),
    Wait(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let numbers = || prop::collection::vec(1..20_i64, 1..4);
    let deed = prop_oneof![
        3 => (0..2_usize, numbers(), any::<bool>()).prop_map(|(who, n, is)| Deed::Mark(who, n, is)),
        1 => (0..2_usize, numbers(), any::<bool>()).prop_map(|(who, n, is)| Deed::Star(who, n, is)),
        1 => (0..2_usize, prop::option::of(0..20_u64)).prop_map(|(who, at)| Deed::All(who, at)),
        2 => (1..5_u8).prop_map(Deed::Publish),
        1 => (1..100_u64).prop_map(Deed::Wait),
    ];
    prop::collection::vec(deed, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// Two hubs over one log show the same articles, and both equal the model.
    #[test]
    fn shelves_equal_the_model(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(deeds));
    }
}

async fn run(deeds: Vec<Deed>) {
    let scene = Scene::new().await;
    let people = [scene.somebody().await, scene.somebody().await];
    scene.subscribe(&people[0], &["/feed"]).await;
    let mut published = 0_u64;
    let numbers = |numbers: Vec<i64>| -> Vec<_> {
        numbers.into_iter().map(feedsync_reader_api::ArticleNumber::new).collect()
    };
    for deed in deeds {
        scene.wait(1);
        match deed {
            Deed::Mark(who, of, is_read) => {
                people[who].mark(&numbers(of), is_read).await.unwrap();
            }
            Deed::Star(who, of, is_starred) => {
                people[who].star(&numbers(of), is_starred).await.unwrap();
            }
            Deed::All(who, at) => {
                let subscription_view = people[who].subscription_view().await.unwrap();
                let feeds: Vec<_> = subscription_view.feeds().iter().collect();
                let until = at.map(|at| Millis::new((AT + at) * 1_000));
                people[who].mark_all(&feeds, until).await.unwrap();
            }
            Deed::Publish(more) => {
                published += u64::from(more);
                let names: Vec<_> = (0..published).map(|number| format!("n{number}")).collect();
                // The dates are not in order.
                let at = |number: u64| AT + (number * 7) % 20;
                let items: Vec<_> =
                    names.iter().zip(0..).map(|(name, n)| (&**name, at(n))).collect();
                scene.web.feed("/feed", &items);
                scene.wait(48 * 3_600_000);
                scene.poll().await;
            }
            Deed::Wait(millis) => scene.wait(millis),
        }
        let shelves = [
            people[0].subscription_view().await.unwrap(),
            people[1].subscription_view().await.unwrap(),
        ];
        let state = told(&scene).await;
        let address = scene.web.url("/feed");
        let known = state.feed(&address).unwrap();
        let feeds = vec![shelves[0].feeds()[0].number()];
        let all = feedsync_aggregator::Selection { feeds, most: 99, ..Default::default() };
        let listed = scene.library.list(all).await.unwrap();
        let of_all: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        let named = scene.library.named(&of_all).await.unwrap();
        for subscription_view in &shelves {
            let feed = &subscription_view.feeds()[0];
            let mut unread = 0;
            for article in &named {
                let is_read = known.is_read(&article.name, Some(article.listed.sort_date));
                assert_eq!(feed.marks.is_read(&article.listed), is_read, "{article:?}");
                let is_starred = known.is_starred(&article.name);
                assert_eq!(feed.marks.is_starred(article.listed.number), is_starred);
                unread += u64::from(!is_read);
            }
            assert_eq!(feed.unread, unread);
        }
    }
}
