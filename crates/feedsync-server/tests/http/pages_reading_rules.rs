//! The page of rules: rules are saved, tried, changed, stopped, deleted and restored, and applied to articles that arrive.

use http::StatusCode;

use crate::newsroom::{Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::{Visitor, hidden, html};

const RULES: &str = "/pages/reading/rules";

/// Time of arrival of articles after rules were made: later than the clock of the tests gets.
const LATER: u64 = 1_763_700_000_000;

/// Saves a rule; returns the page that follows.
async fn save(anna: &Visitor, fields: &[(&str, &str)]) -> String {
    let fields: Vec<_> =
        fields.iter().copied().chain([("action", "save"), ("active", "on")]).collect();
    let next = done(anna, RULES, &fields).await;
    seen(anna, &next).await
}

/// Articles with these titles arrive.
async fn arrive(room: &Newsroom, titles: &[&str]) {
    let article = |(place, title): (u64, &&str)| article(title, title, "", 1_000 + place);
    let articles = (0..).zip(titles).map(article).collect();
    room.publish(FEED, articles, LATER).await;
}

/// Address to change the first rule, and its name.
fn first(page: &str) -> (String, String) {
    let (_, rest) = page.split_once("?rule=").unwrap();
    let name = rest.split('#').next().unwrap();
    (format!("{RULES}?rule={name}"), name.replace("%2F", "/"))
}

#[tokio::test]
async fn rules_are_applied_to_articles_that_arrive() {
    let (room, anna) = reading(1).await;
    let page = seen(&anna, RULES).await;
    assert!(page.contains("You have no rules yet."), "{page}");
    let page =
        save(&anna, &[("words", "Spam\r\ncheap pills"), ("part", "title"), ("hide", "on")]).await;
    assert!(page.contains("The rule was saved."), "{page}");
    let description =
        "Title contains <q><bdi>Spam</bdi></q> or <q><bdi>cheap pills</bdi></q>: <bdi>hide</bdi>";
    assert!(page.contains(description), "{page}");
    save(
        &anna,
        &[("expression", "^rust \\d"), ("part", "any"), ("star", "on"), ("tags", "code, later")],
    )
    .await;
    arrive(&room, &["spam now", "Rust 2 is here", "Other", "Cheap  PILLS"]).await;
    let list = seen(&anna, LIST).await;
    assert!(list.contains("Rust 2 is here") && list.contains("Other"), "{list}");
    assert!(!list.contains("spam now") && !list.contains("PILLS"), "{list}");
    let all = seen(&anna, &format!("{LIST}?show=all")).await;
    assert!(!all.contains("spam now") && !all.contains("PILLS"), "{all}");
    let starred = seen(&anna, &format!("{LIST}?starred=1")).await;
    assert!(starred.contains("Rust 2 is here") && !starred.contains("Other"), "{starred}");
    let tagged = seen(&anna, &format!("{LIST}?tag=later")).await;
    assert!(tagged.contains("Rust 2 is here"), "{tagged}");
    // Newsreaders do not list hidden articles either.
    assert_eq!(room.unread("anna").await.len(), 3);
    let miniflux = room.told("anna", "miniflux/v1/entries").await;
    assert_eq!(miniflux["total"], 3, "{miniflux}");
    // The page lists what was hidden, and an article that is unread again is in lists.
    let page = seen(&anna, RULES).await;
    assert!(page.contains("2 articles are hidden."), "{page}");
    let (_, rest) = page.split_once("hidden-heading\">Hidden").unwrap();
    let (_, rest) = rest.split_once(&format!("{LIST}/")).unwrap();
    let number = rest.split(['"', '?']).next().unwrap();
    done(&anna, &format!("{LIST}/{number}"), &[("action", "unread")]).await;
    assert_eq!(room.unread("anna").await.len(), 4);
    assert!(seen(&anna, RULES).await.contains("1 article is hidden."));
}

#[tokio::test]
async fn rules_are_changed_stopped_deleted_and_restored() {
    let (room, anna) = reading(1).await;
    let page = save(&anna, &[("words", "spam"), ("read", "on"), ("feed", FEED)]).await;
    let (change, name) = first(&page);
    let form = seen(&anna, &change).await;
    assert!(form.contains(">Change a rule<") && form.contains("\nspam</textarea>"), "{form}");
    assert_eq!(hidden(&form, "name").as_deref(), Some(&*name), "{form}");
    assert!(form.contains(&format!("<option value=\"{FEED}\" selected>")), "{form}");
    let page = save(&anna, &[("name", &name), ("words", "ham"), ("read", "on")]).await;
    assert!(page.contains("<bdi>ham</bdi>") && !page.contains("spam"), "{page}");
    let next = done(&anna, RULES, &[("action", "stop"), ("name", &name)]).await;
    assert!(seen(&anna, &next).await.contains("stopped</span>"));
    arrive(&room, &["ham 1"]).await;
    assert_eq!(room.unread("anna").await.len(), 2);
    let next = done(&anna, RULES, &[("action", "start"), ("name", &name)]).await;
    assert!(!seen(&anna, &next).await.contains("stopped</span>"));
    // What is deleted is in the form, so that it can be restored.
    let deleted = html(anna.post(RULES, &[("action", "delete"), ("name", &name)]).await).await;
    assert!(deleted.contains("The rule was deleted.") && deleted.contains("\nham</textarea>"));
    assert!(deleted.contains("You have no rules yet."), "{deleted}");
    let again = anna.post(RULES, &[("action", "delete"), ("name", &name)]).await;
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
    assert_eq!(anna.get(&change).await.status(), StatusCode::NOT_FOUND);
    let page = save(&anna, &[("name", ""), ("words", "ham"), ("read", "on")]).await;
    assert!(page.contains("<bdi>ham</bdi>"), "{page}");
}

#[tokio::test]
async fn rules_are_tried_before_they_are_saved() {
    let (room, anna) = reading(1).await;
    arrive(&room, &["Rust <b>1</b>", "Go 1", "Rust 2"]).await;
    let fields = [("action", "try"), ("words", "rust"), ("hide", "on"), ("active", "on")];
    let page = html(anna.post(RULES, &fields).await).await;
    assert!(page.contains("2 of the newest 4 articles would match."), "{page}");
    assert!(
        page.contains("Rust &#60;b&#62;1") && page.contains("You have no rules yet."),
        "{page}"
    );
    let (_, tried) = page.split_once("id=\"tried\"").unwrap();
    assert!(!tried.contains("Go 1"), "{tried}");
    assert_eq!(room.unread("anna").await.len(), 4);
}

#[tokio::test]
async fn faults_of_rules_are_named_and_change_nothing() {
    let (room, anna) = reading(1).await;
    let long = "x".repeat(300);
    for (fields, fault) in [
        (vec![("hide", "on")], "A rule needs a word or a regular expression."),
        (vec![("words", "a")], "A rule needs an action."),
        (vec![("words", "a"), ("expression", "b"), ("hide", "on")], "not both"),
        (vec![("expression", "("), ("hide", "on")], "The regular expression cannot be used"),
        (vec![("expression", "a{1000}{1000}"), ("hide", "on")], "cannot be used"),
        (vec![("words", &*long), ("hide", "on")], "at most 200 bytes"),
        (vec![("words", "a"), ("tags", &*long.repeat(2))], "name must have"),
        (vec![("words", "a"), ("feed", "no address"), ("hide", "on")], "role=\"alert\""),
    ] {
        for action in ["save", "try"] {
            let all: Vec<_> = fields.iter().copied().chain([("action", action)]).collect();
            let answer = anna.post(RULES, &all).await;
            assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
            let page = html(answer).await;
            assert!(page.contains(fault) && page.contains("role=\"alert\""), "{fault}: {page}");
            assert!(page.contains("You have no rules yet."), "{page}");
        }
    }
    let log = room.log("anna").await;
    assert!(!log.contains("\"setting\""), "{log}");
    for action in ["", "unknown"] {
        let answer = anna.post(RULES, &[("action", action)]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    }
}

/// A rule that a later version of the program made is shown, not applied, and can be deleted.
#[tokio::test]
async fn rules_of_later_versions_are_shown_and_not_applied() {
    let (room, anna) = reading(1).await;
    let page = save(&anna, &[("words", "spam"), ("hide", "on")]).await;
    let (_, name) = first(&page);
    let log = room.log("anna").await;
    let record = log.lines().find(|line| line.contains("\"setting\"")).unwrap();
    let mut later: serde_json::Value = serde_json::from_str(record).unwrap();
    later["value"]["unless"] = serde_json::json!(["ham"]);
    later["ts"] = "1999999999999.0".into();
    later["id"] = "phone:1".into();
    append(&room, &later.to_string()).await;
    let page = seen(&anna, RULES).await;
    assert!(page.contains("Not applied: <bdi>This version does not know such rules"), "{page}");
    arrive(&room, &["spam"]).await;
    assert_eq!(room.unread("anna").await.len(), 2);
    let next = done(&anna, RULES, &[("action", "delete"), ("name", &name)]).await;
    assert!(seen(&anna, &next).await.contains("The rule was deleted."));
}

/// Appends a record to a user's log, as a device does.
async fn append(room: &Newsroom, line: &str) {
    let name = feedsync_store::CollectionName::new("reading-anna").unwrap();
    let log = feedsync_client::StoredLog::new(room.endpoint.clone(), name, 1 << 30);
    let feedsync_log::Line::Record(record) = feedsync_log::Line::read(line.as_bytes()) else {
        panic!("{line}");
    };
    let mut replica = feedsync_reading_state::Replica::new("phone".parse().unwrap());
    let mut state = feedsync_reading_state::ReaderState::default();
    state.apply(&record);
    replica.set_log("the log".to_owned());
    replica.merge_state(state);
    feedsync_client::synchronise_reader(&mut replica, &log, &|| 7).await.unwrap();
}

#[tokio::test]
async fn rules_belong_to_their_user() {
    let (room, anna) = reading(1).await;
    let page = save(&anna, &[("words", "spam"), ("hide", "on")]).await;
    let (change, name) = first(&page);
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    assert!(seen(&bob, RULES).await.contains("You have no rules yet."));
    assert_eq!(bob.get(&change).await.status(), StatusCode::NOT_FOUND);
    for action in ["delete", "stop", "start"] {
        let answer = bob.post(RULES, &[("action", action), ("name", &name)]).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{action}");
    }
    assert!(seen(&anna, RULES).await.contains("<bdi>spam</bdi>"));
    assert!(seen(&anna, HOME).await.contains("href=\"/pages/reading/rules\">Rules</a>"));
}

#[tokio::test]
async fn an_article_of_several_feeds_is_shown_once_if_chosen() {
    let (_room, anna) = reading(1).await;
    let choose = async |fields: &[(&str, &str)]| {
        let fields: Vec<_> = fields.iter().copied().chain([("action", "duplicates")]).collect();
        let next = done(&anna, RULES, &fields).await;
        seen(&anna, &next).await
    };
    let page = choose(&[("hide-duplicates", "on")]).await;
    assert!(page.contains("name=\"hide-duplicates\" checked"), "{page}");
    assert!(page.contains("are hidden from now on."), "{page}");
    let page = choose(&[]).await;
    assert!(page.contains("name=\"hide-duplicates\" aria"), "{page}");
}
