//! Tests of rules: what is marked when articles arrive, once, and never against a mark of the user.

use std::sync::Arc;

use feedsync_aggregator::{
    MAX_RULES, Person, Rule, RuleActions, RuleError, RulePart, RulePattern, SubscriptionView,
    select,
};
use feedsync_reader_api::{Folders, Selection, Stream};
use feedsync_reading_state::{Action, ArticleId, FeedAddress};

use crate::scene::{BEGIN, Scene, unread};

const AT: u64 = BEGIN / 1_000 - 86_400;
const DAY: u64 = 24 * 3_600_000;

fn rule(words: &[&str], actions: RuleActions) -> Rule {
    let pattern = RulePattern::Words(words.iter().map(|word| (*word).to_owned()).collect());
    Rule { feed: None, part: RulePart::Any, pattern, actions, is_active: true }
}

fn read() -> RuleActions {
    RuleActions { read: true, ..RuleActions::default() }
}

fn hide() -> RuleActions {
    RuleActions { hide: true, ..RuleActions::default() }
}

/// A subscription to a feed whose articles, with these words, have been fetched.
async fn scene_with(items: &[&str]) -> (Scene, Arc<Person>) {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    publish(&scene, items);
    scene.subscribe(&person, &["/feed"]).await;
    assert_eq!(scene.poll().await, 1);
    (scene, person)
}

fn publish(scene: &Scene, items: &[&str]) {
    let items: Vec<_> = items.iter().zip(0..).map(|(name, n)| (*name, AT + n)).collect();
    scene.web.feed("/feed", &items);
}

/// Fetches these articles a day later.
async fn arrive(scene: &Scene, items: &[&str]) {
    publish(scene, items);
    scene.wait(DAY);
    assert_eq!(scene.poll().await, 1);
}

fn address(scene: &Scene) -> FeedAddress {
    scene.web.url("/feed").parse().unwrap()
}

async fn add(person: &Person, rule: &Rule) -> feedsync_reading_state::SettingName {
    person.set_rule(None, rule).await.unwrap().unwrap()
}

/// Names of the articles of a stream, the oldest first.
async fn names(scene: &Scene, view: &Arc<SubscriptionView>, stream: Stream) -> Vec<String> {
    let folders = Folders::new(view.feeds().iter().map(|feed| &feed.subscription.folder));
    let asked = Selection { descending: false, ..Selection::newest(stream, 100) };
    let library = &*scene.library;
    let listed = select(library, view, &folders, &asked, scene.now()).await.unwrap().listed;
    let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
    let named = scene.library.named(&numbers).await.unwrap();
    named.into_iter().map(|article| article.name.to_string()).collect()
}

#[tokio::test]
async fn articles_that_arrive_are_marked_as_the_rules_say() {
    let (scene, person) = scene_with(&["old-spam"]).await;
    add(&person, &rule(&["spam"], read())).await;
    let tags = vec!["later".parse().unwrap()];
    add(&person, &rule(&["rust"], RuleActions { star: true, tags, ..RuleActions::default() }))
        .await;
    arrive(&scene, &["old-spam", "spam-1", "about-rust", "other", "rusty"]).await;
    let view = person.subscription_view().await.unwrap();
    // The rule does not concern an article that was here before.
    assert_eq!(unread(&view), [4]);
    assert_eq!(names(&scene, &view, Stream::Read).await, ["spam-1"]);
    assert_eq!(names(&scene, &view, Stream::Starred).await, ["about-rust"]);
    assert_eq!(names(&scene, &view, Stream::Tag("later".parse().unwrap())).await, ["about-rust"]);
    // Other devices of the user have the marks, another process of the hub, too.
    let state = person.everything().await.unwrap().state;
    let feed = state.feed(address(&scene).as_str()).unwrap();
    assert!(feed.is_starred(&"about-rust".parse().unwrap()));
    assert_eq!(unread(&scene.somebody().await.subscription_view().await.unwrap()), [4]);
}

#[tokio::test]
async fn hidden_articles_are_in_no_list_and_return_when_they_are_unread() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["spam"], hide())).await;
    arrive(&scene, &["a", "spam-1", "spam-2", "b"]).await;
    let view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&view), [2]);
    assert_eq!(names(&scene, &view, Stream::All).await, ["a", "b"]);
    assert_eq!(names(&scene, &view, Stream::Read).await, Vec::<String>::new());
    let hidden: Vec<_> = view.hidden().collect();
    assert_eq!(hidden.len(), 2);
    assert!(hidden.iter().all(|number| view.feeds()[0].marks.is_left_out(*number)));
    let total = |view| {
        let (library, now) = (Arc::clone(&scene.library), scene.now());
        let asked = Selection::newest(Stream::All, 100);
        async move {
            let view: Arc<SubscriptionView> = view;
            let folders = Folders::new(view.feeds().iter().map(|feed| &feed.subscription.folder));
            feedsync_aggregator::total(&*library, &view, &folders, &asked, now).await.unwrap()
        }
    };
    assert_eq!(total(Arc::clone(&view)).await, 2);
    // A starred one stays in the list of starred articles.
    person.star(&hidden[1..], true).await.unwrap();
    let view = person.subscription_view().await.unwrap();
    assert_eq!(names(&scene, &view, Stream::Starred).await, ["spam-2"]);
    // One that a client marks as unread is shown again.
    person.mark(&hidden[..1], false).await.unwrap();
    let view = person.subscription_view().await.unwrap();
    assert_eq!(names(&scene, &view, Stream::Unread).await, ["a", "spam-1", "b"]);
    assert_eq!(unread(&view), [3]);
}

/// A mark that the user changed is not made again, also by a hub that starts again.
#[tokio::test]
async fn marks_of_the_user_win() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["x"], read())).await;
    arrive(&scene, &["a", "x-1", "x-2"]).await;
    let view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&view), [1]);
    let articles = feedsync_aggregator::Selection {
        feeds: vec![view.feeds()[0].number()],
        most: 9,
        ..feedsync_aggregator::Selection::default()
    };
    let articles = scene.library.list(articles).await.unwrap();
    let numbers: Vec<_> = articles.iter().map(|listed| listed.number).collect();
    person.mark(&numbers, false).await.unwrap();
    for person in [person, scene.somebody().await] {
        assert_eq!(unread(&person.subscription_view().await.unwrap()), [3]);
        scene.wait(1_000);
        assert_eq!(unread(&person.subscription_view().await.unwrap()), [3]);
    }
}

/// A hub that was stopped between the storage of articles and the application of rules applies them later.
#[tokio::test]
async fn nothing_is_missed_by_a_hub_that_starts_again() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["x"], read())).await;
    arrive(&scene, &["a", "x-1"]).await;
    person.subscription_view().await.unwrap();
    arrive(&scene, &["a", "x-1", "x-2", "b"]).await;
    scene.wait(20 * DAY);
    let view = scene.somebody().await.subscription_view().await.unwrap();
    assert_eq!(unread(&view), [2]);
    assert_eq!(names(&scene, &view, Stream::Unread).await, ["a", "b"]);
}

/// Nothing is recorded as long as no rule matches, except for the progress, at most once an hour.
#[tokio::test]
async fn rules_without_matches_record_next_to_nothing() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["x"], read())).await;
    let name = feedsync_endpoint::reading_collection(None);
    let length = async || scene.endpoint.store().log(&name).await.unwrap().unwrap().place.length;
    arrive(&scene, &["a", "b"]).await;
    person.subscription_view().await.unwrap();
    let before = length().await;
    let mut items = vec!["a".to_owned(), "b".to_owned()];
    for number in 0..20 {
        items.push(format!("n{number}"));
        publish(&scene, &items.iter().map(String::as_str).collect::<Vec<_>>());
        scene.wait(60_000);
        let feed = person.subscription_view().await.unwrap().feeds()[0].number();
        scene.schedule.make_due(&[feed]).await.unwrap();
        scene.poll().await;
        person.subscription_view().await.unwrap();
    }
    let view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&view), [22]);
    assert_eq!(length().await, before);
}

#[tokio::test]
async fn rules_are_changed_tried_stopped_and_removed() {
    let (scene, person) = scene_with(&["one", "two", "three"]).await;
    let first = rule(&["one", "two"], read());
    let tried = person.try_rule(&first).await.unwrap().unwrap();
    assert_eq!((tried.tried, tried.matching.len()), (3, 2));
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [3], "trying marks nothing");
    let elsewhere = Rule { feed: Some("https://other.example/".parse().unwrap()), ..first.clone() };
    assert_eq!(person.try_rule(&elsewhere).await.unwrap().unwrap().tried, 0);
    let name = add(&person, &first).await;
    let stopped = Rule { is_active: false, ..first.clone() };
    assert_eq!(person.set_rule(Some(name.clone()), &stopped).await.unwrap(), Ok(name.clone()));
    let stored = person.rules().await.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].rule, Ok(stopped));
    arrive(&scene, &["one", "two", "three", "one-2"]).await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [4]);
    person.set_rule(Some(name.clone()), &elsewhere).await.unwrap().unwrap();
    arrive(&scene, &["one", "two", "three", "one-2", "one-3"]).await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [5]);
    let here = Rule { feed: Some(address(&scene)), ..first.clone() };
    person.set_rule(Some(name.clone()), &here).await.unwrap().unwrap();
    arrive(&scene, &["one", "two", "three", "one-2", "one-3", "one-4"]).await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [5]);
    assert!(person.remove_rule(&name).await.unwrap());
    assert!(!person.remove_rule(&name).await.unwrap());
    assert!(!person.remove_rule(&"rules-applied".parse().unwrap()).await.unwrap());
    arrive(&scene, &["one", "one-5"]).await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [6]);
}

#[tokio::test]
async fn rules_are_bounded_and_invalid_ones_change_nothing() {
    let (_scene, person) = scene_with(&["a"]).await;
    let invalid = rule(&[], read());
    assert_eq!(person.set_rule(None, &invalid).await.unwrap(), Err(RuleError::NoPattern));
    assert_eq!(person.try_rule(&invalid).await.unwrap(), Err(RuleError::NoPattern));
    for number in 0..MAX_RULES {
        add(&person, &rule(&[&format!("w{number}")], hide())).await;
    }
    let further = rule(&["further"], hide());
    assert_eq!(person.set_rule(None, &further).await.unwrap(), Err(RuleError::TooMany));
    let stored = person.rules().await.unwrap();
    assert_eq!(stored.len(), MAX_RULES);
    let name = stored[7].name.clone();
    assert_eq!(person.set_rule(Some(name.clone()), &further).await.unwrap(), Ok(name));
}

/// More articles than a request examines are examined by the requests after it.
#[tokio::test]
async fn many_articles_are_examined_in_parts() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["x"], read())).await;
    let items: Vec<String> = (0..5_200).map(|number| format!("x-{number}")).collect();
    arrive(&scene, &items.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let first = unread(&person.subscription_view().await.unwrap());
    assert!(first[0] > 1, "{first:?}");
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [1]);
}

/// A rule has an effect once for an article, in whatever order another device marks it.
#[tokio::test]
async fn articles_that_another_device_marked_first_stay_as_they_are() {
    let (scene, person) = scene_with(&["a"]).await;
    add(&person, &rule(&["x"], RuleActions { star: true, ..RuleActions::default() })).await;
    arrive(&scene, &["a", "x-1"]).await;
    let article: ArticleId = "x-1".parse().unwrap();
    let seen = Action::Read { article: article.clone(), at: None };
    scene.somebody().await.act(&[(address(&scene), seen)]).await.unwrap();
    let view = person.subscription_view().await.unwrap();
    assert_eq!(names(&scene, &view, Stream::Starred).await, Vec::<String>::new());
}

/// An article with this name, and the link and title.
fn linked(name: &str, link: &str, title: &str) -> String {
    format!(
        "<item><guid isPermaLink='false'>{name}</guid><link>{link}</link><title>{title}</title></item>"
    )
}

fn publish_linked(scene: &Scene, path: &str, items: &[String]) {
    let body =
        format!("<rss version='2.0'><channel><title>F</title>{}</channel></rss>", items.concat());
    scene.web.put(path, crate::scene::Page { status: 200, headers: Vec::new(), body });
}

#[tokio::test]
async fn an_article_of_several_feeds_is_shown_once() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let old = linked("0", "https://blog.example/old", "Old one");
    for path in ["/blog", "/planet"] {
        publish_linked(&scene, path, std::slice::from_ref(&old));
    }
    scene.subscribe(&person, &["/blog", "/planet"]).await;
    scene.poll().await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [1, 1]);
    assert!(!person.hides_duplicates().await.unwrap());
    person.set_hides_duplicates(true).await.unwrap();
    assert!(person.hides_duplicates().await.unwrap());
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [1, 1], "only later ones");

    scene.wait(DAY);
    let new = |name: &str, link: &str| linked(name, link, "A new one");
    publish_linked(&scene, "/blog", &[old.clone(), new("1", "https://blog.example/new")]);
    scene.poll().await;
    person.subscription_view().await.unwrap();
    let planet = [
        new("a", "http://BLOG.example/new/?utm_source=planet"),
        new("b", "https://blog.example/another"),
        linked("c", "https://blog.example/new", "Another title"),
        linked("d", "", "A new one"),
    ];
    publish_linked(&scene, "/planet", &planet);
    scene.wait(DAY);
    scene.poll().await;
    let view = person.subscription_view().await.unwrap();
    assert_eq!(unread(&view), [2, 4]);
    let hidden = scene.library.named(&view.hidden().collect::<Vec<_>>()).await.unwrap();
    assert_eq!(hidden.iter().map(|article| article.name.as_str()).collect::<Vec<_>>(), ["a"]);

    // An article is not hidden for the sake of one that a rule hid.
    let blog =
        Rule { feed: Some(scene.web.url("/blog").parse().unwrap()), ..rule(&["third"], hide()) };
    add(&person, &blog).await;
    let third = |name: &str| linked(name, "https://blog.example/3", "The third");
    publish_linked(&scene, "/blog", &[third("3")]);
    scene.wait(DAY);
    scene.poll().await;
    person.subscription_view().await.unwrap();
    publish_linked(&scene, "/planet", &[third("e")]);
    scene.wait(DAY);
    scene.poll().await;
    assert_eq!(unread(&person.subscription_view().await.unwrap()), [2, 5]);
    person.set_hides_duplicates(false).await.unwrap();
    assert!(!person.hides_duplicates().await.unwrap());
}
