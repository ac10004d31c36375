//! Edits of items that others edit at the same time, and edits of what an application saw some time ago.

use feedsync::{Collection, EditOutcome, Edited, Error, Format, Item, ItemId, Json, VersionToken};
use feedsync_store::{EndpointName, MemoryStore, SystemEnvironment};
use proptest::prelude::*;
use serde_json::json;

use crate::scene::{conflicting, only_conflict, titled, titles, todo, versions};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_changes_of_one_item_are_all_made() {
    let directory = tempfile::tempdir().unwrap();
    let replica = feedsync::Replica::open(directory.path().join("data")).await.unwrap();
    for todo in [todo().await, replica.collection("todo").await.unwrap()] {
        let id = todo.add(json!({"n": 0})).await.unwrap();
        let increment = || {
            let (todo, id) = (todo.clone(), id.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    let add = |item: &mut serde_json::Value| {
                        item["n"] = json!(item["n"].as_u64().unwrap() + 1);
                    };
                    todo.change(&id, add).await.unwrap();
                }
            })
        };
        for task in (0..20).map(|_| increment()).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let item = todo.get(&id).await.unwrap().unwrap();
        assert_eq!((item["n"].as_u64(), item.conflicts()), (Some(100), 0));
    }
}

#[tokio::test]
async fn repeated_stale_deletion_adds_no_second_deletion() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let seen = todo.get(&id).await.unwrap().unwrap();
    for title in ["Oat milk", "Oat milk, two litres"] {
        todo.change(&id, |item| *item = titled(title)).await.unwrap();
    }
    for _ in 0..3 {
        todo.delete(&seen).await.unwrap();
        assert_eq!(only_conflict(&todo).await.versions().len(), 2);
    }
    assert_eq!(titles(&todo).await, ["Oat milk, two litres"]);
}

#[tokio::test]
async fn stale_update_that_is_sent_twice_adds_one_version() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let mut seen = todo.get(&id).await.unwrap().unwrap();
    *seen = titled("Bread");
    todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    for _ in 0..3 {
        todo.update(&seen).await.unwrap();
        assert_eq!(only_conflict(&todo).await.versions().len(), 2);
    }
}

#[tokio::test]
async fn version_at_no_position_is_an_error_that_names_it() {
    let todo = todo().await;
    conflicting(&todo, titled("Milk"), titled("Oat milk")).await;
    for position in [2, 9, usize::MAX] {
        let error = todo.resolve(only_conflict(&todo).await.keep(position)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("version {position}")), "{text}");
        assert!(text.contains("2 versions"), "{text}");
    }
}

#[tokio::test]
async fn new_items_with_conflicts_are_counted_as_such() {
    let (one, other) = (todo().await, todo().await);
    conflicting(&one, titled("Milk"), titled("Oat milk")).await;
    one.add(titled("Bread")).await.unwrap();
    let report = other.merge_feed(one.to_feed(Format::Json).await.unwrap()).await.unwrap();
    assert_eq!((report.received, report.conflicts), (2, 1));
    let hub = crate::scene::Hub::new().await;
    one.sync(&hub.url()).await.unwrap();
    let third = todo().await;
    let report = third.sync(&hub.url()).await.unwrap();
    assert_eq!((report.received, report.conflicts), (2, 1));
    assert_eq!(third.conflicts().await.unwrap().len(), 1);
}

/// A conflict of which the deletion or the update is the stale edit, with its outcome.
async fn stale(deletes: bool, edits: usize) -> (Collection, ItemId, EditOutcome) {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let mut seen = todo.get(&id).await.unwrap().unwrap();
    for number in 0..edits {
        todo.change(&id, |item| item["title"] = json!(number.to_string())).await.unwrap();
    }
    *seen = titled("Bread");
    let edited = match deletes {
        true => todo.delete(&seen).await.unwrap(),
        false => todo.update(&seen).await.unwrap(),
    };
    (todo, id, edited.outcome())
}

#[tokio::test]
async fn outcome_says_whether_an_edit_conflicts_and_which_version_is_shown() {
    for deletes in [false, true] {
        let (todo, id, outcome) = stale(deletes, 0).await;
        assert_eq!(outcome, EditOutcome::Applied);
        assert!(todo.conflicts_of(&id).await.unwrap().is_none());
        // More updates win.
        let (todo, id, outcome) = stale(deletes, 2).await;
        assert_eq!(outcome, EditOutcome::ConflictHidden);
        assert_eq!(todo.get(&id).await.unwrap().unwrap()["title"], "1");
        let conflict = todo.conflicts_of(&id).await.unwrap().unwrap();
        assert_eq!(conflict.versions().len(), 2);
        let resolved = todo.resolve(conflict.keep(1)).await.unwrap();
        assert_eq!(resolved.outcome(), EditOutcome::Applied);
        assert_eq!(resolved.into_item().unwrap().is_deleted(), deletes);
        // Of equally many, the later one wins, and then the greater signature: a branch is greater.
        let (todo, id, outcome) = stale(deletes, 1).await;
        assert_eq!(outcome, EditOutcome::ConflictShown);
        assert_eq!(todo.get(&id).await.unwrap().is_none(), deletes);
        assert_eq!(todo.conflicts_of(&id).await.unwrap().unwrap().versions().len(), 2);
    }
}

#[tokio::test]
async fn edits_that_change_nothing_say_so() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let seen = todo.get(&id).await.unwrap().unwrap();
    let unchanged = |edited: Edited| assert_eq!(edited.outcome(), EditOutcome::Unchanged);
    unchanged(todo.update(&seen).await.unwrap());
    unchanged(todo.undelete(&id).await.unwrap());
    assert_eq!(todo.delete(&seen).await.unwrap().outcome(), EditOutcome::Applied);
    unchanged(todo.delete(&seen).await.unwrap());
    unchanged(todo.delete_latest(&id).await.unwrap());
    assert_eq!(todo.undelete(&id).await.unwrap().outcome(), EditOutcome::Applied);
    // Two people make the same edit of the same version.
    let mut form = todo.get(&id).await.unwrap().unwrap();
    *form = titled("Oat milk");
    assert_eq!(todo.update(&form).await.unwrap().outcome(), EditOutcome::Applied);
    unchanged(todo.update(&form).await.unwrap());
    assert!(todo.conflicts().await.unwrap().is_empty());
}

#[tokio::test]
async fn outcome_of_an_edit_is_known_although_the_shown_version_cannot_be_read() {
    #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
    struct Task {
        title: String,
    }
    let values = todo().await;
    let tasks = values.of::<Json<Task>>();
    let id = values.add(titled("Milk")).await.unwrap();
    let mut seen = tasks.get(&id).await.unwrap().unwrap();
    for number in 0..2 {
        values.change(&id, |item| *item = json!({ "name": number })).await.unwrap();
    }
    seen.title = "Oat milk".to_owned();
    let edited = tasks.update(&seen).await.unwrap();
    assert_eq!(edited.outcome(), EditOutcome::ConflictHidden);
    assert!(matches!(edited.into_item(), Err(Error::Content { .. })));
    assert!(matches!(tasks.conflicts_of(&id).await, Err(Error::Content { .. })));
    assert_eq!(values.conflicts_of(&id).await.unwrap().unwrap().versions().len(), 2);
}

#[tokio::test]
async fn deleted_items_are_listed_with_their_last_content() {
    let todo = todo().await;
    let milk = todo.add(titled("Milk")).await.unwrap();
    let bread = todo.add(titled("Bread")).await.unwrap();
    todo.add(titled("Cheese")).await.unwrap();
    assert!(todo.get_deleted(&milk).await.unwrap().is_none());
    for id in [&bread, &milk] {
        todo.delete_latest(id).await.unwrap();
    }
    let deleted = todo.deleted_items().await.unwrap();
    assert!(deleted.iter().all(|item| item.is_deleted()));
    assert_eq!(deleted.iter().map(|item| &item["title"]).collect::<Vec<_>>(), ["Bread", "Milk"]);
    assert_eq!(todo.get_deleted(&milk).await.unwrap().unwrap()["title"], "Milk");
    let restored = todo.undelete(&milk).await.unwrap().into_item().unwrap();
    assert_eq!((restored.is_deleted(), &restored["title"]), (false, &json!("Milk")));
    assert_eq!(todo.deleted_items().await.unwrap().len(), 1);
    assert_eq!(titles(&todo).await, ["Cheese", "Milk"]);
}

#[tokio::test]
async fn conflict_of_a_token_is_the_one_that_was_seen_or_stale() {
    let todo = todo().await;
    let id = conflicting(&todo, titled("Milk"), titled("Oat milk")).await;
    let conflict = only_conflict(&todo).await;
    let token: VersionToken = conflict.token().to_string().parse().unwrap();
    assert_eq!(token, todo.get(&id).await.unwrap().unwrap().token());
    let again = todo.conflict_as_seen(&id, &token).await.unwrap();
    assert_eq!(format!("{:?}", again.versions()), format!("{:?}", conflict.versions()));

    // Another version arrives beside the same winner, or the conflict is resolved.
    let other = conflicting(&todo, titled("Bread"), titled("Rye bread")).await;
    let wrong = todo.conflict_as_seen(&other, &token).await;
    assert!(matches!(wrong, Err(Error::UnknownVersion { .. })), "{wrong:?}");
    let lone = todo.get(&id).await.unwrap().unwrap();
    todo.resolve(again.keep(1)).await.unwrap();
    for token in [&token, &lone.token(), &todo.get(&id).await.unwrap().unwrap().token()] {
        let stale = todo.conflict_as_seen(&id, token).await;
        assert!(matches!(stale, Err(Error::Stale { .. })), "{stale:?}");
    }
}

#[tokio::test]
async fn token_of_another_item_or_a_forged_one_loses_no_edit() {
    let todo = todo().await;
    let milk = todo.add(titled("Milk")).await.unwrap();
    let bread = todo.add(titled("Bread")).await.unwrap();
    for id in [&milk, &bread] {
        todo.change(id, |item| item["done"] = json!(true)).await.unwrap();
    }
    let token = todo.get(&bread).await.unwrap().unwrap().token();
    let errors = [
        todo.update_as_seen(&milk, &token, titled("Oat milk")).await.map(drop).unwrap_err(),
        todo.delete_as_seen(&milk, &token).await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::UnknownVersion { .. }), "{error:?}");
    }
    let unknown = ItemId::new("nothing").unwrap();
    let nothing = todo.delete_as_seen(&unknown, &token).await;
    assert!(matches!(nothing, Err(Error::NoItem { .. })), "{nothing:?}");
    assert_eq!(titles(&todo).await, ["Bread", "Milk"]);
}

#[test]
fn text_that_is_no_version_token_is_refused() {
    let long = "A".repeat(100_000);
    let pairs = ["", " ", "x", "MSAx", "null", "../..", "é", "=", &long];
    for wrong in pairs {
        let error = wrong.parse::<VersionToken>().unwrap_err();
        assert!(error.to_string().contains("version token"), "{error}");
    }
}

/// A step of the history of an item.
#[derive(Debug, Clone, Copy)]
enum Step {
    Edit,
    /// An edit of the version that was there first.
    EditFirst,
    Delete,
    Undelete,
    Resolve,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Edit),
        2 => Just(Step::EditFirst),
        1 => Just(Step::Delete),
        1 => Just(Step::Undelete),
        1 => Just(Step::Resolve),
    ]
}

async fn take(todo: &Collection, id: &ItemId, first: &Item, number: usize, step: Step) {
    let content = titled(&number.to_string());
    match step {
        Step::Edit => match todo.change(id, |item| *item = content.clone()).await {
            Ok(_) | Err(Error::NoItem { .. }) => {}
            Err(error) => panic!("{error}"),
        },
        Step::EditFirst => {
            let mut first = first.clone();
            *first = content;
            todo.update(&first).await.unwrap();
        }
        Step::Delete => drop(todo.delete_latest(id).await.unwrap()),
        Step::Undelete => drop(todo.undelete(id).await.unwrap()),
        Step::Resolve => {
            if let Some(conflict) = todo.conflicts_of(id).await.unwrap() {
                todo.resolve(conflict.keep(1)).await.unwrap();
            }
        }
    }
}

/// Contents of all versions of the only item, and which are deletions, without the contents of these: a store that no
/// longer has the content of the deleted version writes the one that is shown.
async fn contents(todo: &Collection, id: &ItemId) -> Vec<(bool, String)> {
    let name = "todo".parse().unwrap();
    let stored = todo.replica().endpoint().item(&name, id).await.unwrap();
    let text = |payload: &feedsync::Payload, deleted| match deleted {
        true => String::new(),
        false => payload.text().to_owned(),
    };
    let versions = stored.item.versions();
    let mut found: Vec<_> =
        versions.map(|it| (it.deleted, text(&it.payload, it.deleted))).collect();
    found[1..].sort();
    found
}

/// A replica of this name.
async fn named(name: &str) -> Collection {
    let environment = std::sync::Arc::new(SystemEnvironment);
    let store = MemoryStore::new(&EndpointName::new(name).unwrap(), environment);
    let replica = feedsync::Replica::over(std::sync::Arc::new(store));
    replica.collection("todo").await.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn edit_from_a_token_is_the_edit_from_the_item(
        before in prop::collection::vec(step(), 0..4),
        after in prop::collection::vec(step(), 0..40),
        (deletes, changes, repeats) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // The names decide between versions of one second.
            let [author, one, other] = [named("m").await, named("x").await, named("y").await];
            let id = author.add(titled("Milk")).await.unwrap();
            let first = author.get(&id).await.unwrap().unwrap();
            for (number, step) in before.iter().enumerate() {
                take(&author, &id, &first, number, *step).await;
            }
            let seen = match author.get(&id).await.unwrap() {
                Some(seen) => seen,
                None => author.get_deleted(&id).await.unwrap().unwrap(),
            };
            let text = seen.token().to_string();
            assert!(text.len() <= VersionToken::MAX_BYTES);
            assert!(text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)));
            let token: VersionToken = text.parse().unwrap();
            assert_eq!((&token, token.to_string()), (&seen.token(), text));
            for (number, step) in after.iter().enumerate() {
                take(&author, &id, &first, number + 100, *step).await;
            }
            let feed = author.to_feed(Format::Json).await.unwrap();
            for todo in [&one, &other] {
                todo.merge_feed(feed.clone()).await.unwrap();
            }
            let mut item = seen.clone();
            if changes {
                *item = titled("Bread");
            }
            for _ in 0..1 + usize::from(repeats) {
                let by_item = match deletes {
                    true => one.delete(&item).await.unwrap(),
                    false => one.update(&item).await.unwrap(),
                };
                let by_token = match deletes {
                    true => other.delete_as_seen(&id, &token).await.unwrap(),
                    false => {
                        let content = item.content().clone();
                        other.update_as_seen(&id, &token, content).await.unwrap()
                    }
                };
                assert_eq!(by_item.outcome(), by_token.outcome());
                assert_eq!(contents(&one, &id).await, contents(&other, &id).await);
            }
            // Merging both brings no more than both edits.
            one.merge_feed(other.to_feed(Format::Json).await.unwrap()).await.unwrap();
            other.merge_feed(one.to_feed(Format::Json).await.unwrap()).await.unwrap();
            assert_eq!(versions(&one).await, versions(&other).await);
        });
    }
}
