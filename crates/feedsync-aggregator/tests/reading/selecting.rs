//! Tests of the lists that newsreaders request.

use std::sync::Arc;

use feedsync_aggregator::ListEntry;
use feedsync_aggregator::{Person, Selected, SubscriptionView, select, total};
use feedsync_reader_api::{
    ArticleNumber, FeedName, Folders, Label, Order, Selection, Span, Stream,
};
use feedsync_reading_state::Action;

use crate::scene::{BEGIN, Scene};

const AT: u64 = BEGIN / 1_000 - 86_400;

/// Two feeds, one of them in a folder, with the articles 1 to 6; the odd ones are in the first feed.
async fn scene() -> (Scene, Arc<Person>) {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/one", &[("a", AT + 1), ("c", AT + 3), ("e", AT + 5)]);
    scene.web.feed("/two", &[("b", AT + 2), ("d", AT + 4), ("f", AT + 6)]);
    scene.subscribe(&person, &["/one", "/two"]).await;
    scene.poll().await;
    let folder = feedsync_reading_state::Folder::new(vec!["Tech".parse().unwrap()]).unwrap();
    let two = scene.web.url("/two").parse().unwrap();
    person.act(&[(two, Action::Move { folder })]).await.unwrap();
    (scene, person)
}

async fn listed(
    scene: &Scene,
    subscription_view: &Arc<SubscriptionView>,
    asked: &Selection,
) -> Selected {
    let folders =
        Folders::new(subscription_view.feeds().iter().map(|feed| &feed.subscription.folder));
    let (library, now) = (&*scene.library, scene.now());
    let all = Selection { skip: 0, count: 99, from: None, ..asked.clone() };
    let all =
        select(library, subscription_view, &folders, &all, now).await.unwrap().listed.len() as u64;
    assert_eq!(
        total(library, subscription_view, &folders, asked, now).await.unwrap(),
        all,
        "{asked:?}"
    );
    select(library, subscription_view, &folders, asked, now).await.unwrap()
}

/// Names of the listed articles, derived from their dates.
fn names(selected: &Selected) -> String {
    let name = |listed: &ListEntry| {
        let place = listed.sort_date.get() / 1_000 - AT - 1;
        char::from(b'a' + u8::try_from(place).unwrap())
    };
    selected.listed.iter().map(name).collect()
}

fn number_of(selected: &Selected, name: char) -> ArticleNumber {
    let place = names(selected).find(name).unwrap();
    selected.listed[place].number
}

#[tokio::test]
async fn streams_are_feeds_folders_and_marks_and_each_bounds_the_others() {
    let (scene, person) = scene().await;
    let subscription_view = person.subscription_view().await.unwrap();
    let all = listed(&scene, &subscription_view, &Selection::newest(Stream::All, 99)).await;
    assert_eq!(names(&all), "fedcba");
    let of = |names: &str| -> Vec<_> { names.chars().map(|name| number_of(&all, name)).collect() };
    person.mark(&of("ab"), true).await.unwrap();
    person.star(&of("bc"), true).await.unwrap();
    person.tag(&of("cf"), &"later".parse().unwrap(), true).await.unwrap();
    let subscription_view = person.subscription_view().await.unwrap();
    let label = |text: &str| Stream::Label(text.parse::<Label>().unwrap());
    let feed =
        |number: usize| Stream::Feed(FeedName::Number(subscription_view.feeds()[number].number()));
    let by_address = Stream::Feed(FeedName::Address(scene.web.url("/two").parse().unwrap()));
    let one = subscription_view.feeds().iter().position(|feed| feed.folder().is_none()).unwrap();
    let cases = [
        (Stream::All, vec![], vec![], "fedcba"),
        (feed(one), vec![], vec![], "eca"),
        (by_address, vec![], vec![], "fdb"),
        (label("Tech"), vec![], vec![], "fdb"),
        (label("later"), vec![], vec![], "fc"),
        (label("never"), vec![], vec![], ""),
        (Stream::Read, vec![], vec![], "ba"),
        (Stream::All, vec![], vec![Stream::Read], "fedc"),
        (Stream::Unread, vec![label("Tech")], vec![], "fd"),
        (Stream::Starred, vec![], vec![], "cb"),
        (Stream::Starred, vec![Stream::Unread], vec![], "c"),
        (Stream::Starred, vec![], vec![label("Tech")], "c"),
        (Stream::Tagged, vec![], vec![Stream::Starred], "f"),
        (Stream::Nothing, vec![], vec![], ""),
        (Stream::All, vec![], vec![Stream::All], ""),
    ];
    for (stream, include, exclude, expected) in cases {
        let asked = Selection { include, exclude, ..Selection::newest(stream, 99) };
        assert_eq!(names(&listed(&scene, &subscription_view, &asked).await), expected, "{asked:?}");
    }
}

#[tokio::test]
async fn a_list_goes_on_where_it_stopped_in_either_direction() {
    let (scene, person) = scene().await;
    let subscription_view = person.subscription_view().await.unwrap();
    for (descending, expected) in [(true, "fedcba"), (false, "abcdef")] {
        let (mut found, mut from) = (String::new(), None);
        loop {
            let asked = Selection { descending, from, ..Selection::newest(Stream::All, 4) };
            let selected = listed(&scene, &subscription_view, &asked).await;
            found += &names(&selected);
            from = selected.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
    }
    let skipped = Selection { skip: 2, ..Selection::newest(Stream::All, 2) };
    assert_eq!(names(&listed(&scene, &subscription_view, &skipped).await), "dc");
}

#[tokio::test]
async fn moments_numbers_words_and_orders_bound_and_arrange() {
    let (scene, person) = scene().await;
    scene.wait(3_600_000);
    let before = scene.now();
    scene.web.feed("/one", &[("g", AT - 9 * 86_400), ("e", AT + 5)]);
    let number = person.subscription_view().await.unwrap().feeds()[0].number();
    let other = person.subscription_view().await.unwrap().feeds()[1].number();
    scene.schedule.make_due(&[number, other]).await.unwrap();
    scene.poll().await;
    let subscription_view = person.subscription_view().await.unwrap();
    let asked = || Selection::newest(Stream::All, 99);
    // The article arrived last, but has the earliest sort date.
    let mut came = asked();
    came.received.from = Some(before);
    assert_eq!(listed(&scene, &subscription_view, &came).await.listed.len(), 1);
    came = asked();
    came.received.to = Some(before.before(1));
    assert_eq!(names(&listed(&scene, &subscription_view, &came).await), "fedcba");
    let mut published = asked();
    published.published.from = Some(feedsync_log::Millis::new((AT + 5) * 1_000));
    assert_eq!(names(&listed(&scene, &subscription_view, &published).await), "fe");
    let searched = Selection { search: Some("ABOUT c".to_owned()), ..asked() };
    assert_eq!(names(&listed(&scene, &subscription_view, &searched).await), "c");
    let by_number = Selection { order: Order::Number, ..asked() };
    let numbers: Vec<_> = listed(&scene, &subscription_view, &by_number)
        .await
        .listed
        .iter()
        .map(|one| one.number.get())
        .collect();
    assert_eq!(numbers, [7, 6, 5, 4, 3, 2, 1]);
    let above = Selection { above: Some(ArticleNumber::new(5)), ..by_number };
    assert_eq!(listed(&scene, &subscription_view, &above).await.listed.len(), 2);
    let by_title = Selection { order: Order::Title, descending: false, count: 3, ..asked() };
    assert_eq!(names(&listed(&scene, &subscription_view, &by_title).await), "abc");
}

/// Articles that arrived since a time count as changed, independent of their sort date.
#[tokio::test]
async fn late_articles_count_as_changed() {
    let (scene, person) = scene().await;
    let since = scene.now();
    scene.wait(48 * 3_600_000);
    let dates = [("a", AT + 1), ("c", AT + 3), ("e", AT + 5), ("g", AT)];
    scene.web.feed("/one", &dates);
    scene.poll().await;
    let subscription_view = person.subscription_view().await.unwrap();
    let changed = Span { from: Some(since.after(1)), to: None };
    let asked = Selection { changed, ..Selection::newest(Stream::All, 9) };
    let found = listed(&scene, &subscription_view, &asked).await.listed;
    let sort_date: Vec<_> =
        found.iter().map(|listed| listed.sort_date.get() / 1_000 - AT).collect();
    assert_eq!(sort_date, [0]);
}
