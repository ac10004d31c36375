//! Replicas in directories and in memory.

use feedsync::{Error, Replica, ReplicaName};

use crate::scene::{only_conflict, titled, titles, todo};

#[tokio::test]
async fn replica_in_a_directory_has_its_items_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let todo = Replica::open(&path).await.unwrap().collection("todo").await.unwrap();
    let id = todo.add(titled("Milk")).await.unwrap();
    let by = todo.get(&id).await.unwrap().unwrap().by().map(str::to_owned);
    drop(todo);

    let replica = Replica::open(&path).await.unwrap();
    assert_eq!(replica.collections().await.unwrap(), ["todo"]);
    let todo = replica.collection("todo").await.unwrap();
    assert_eq!(titles(&todo).await, ["Milk"]);
    assert_eq!(todo.get(&id).await.unwrap().unwrap().by().map(str::to_owned), by);
}

#[tokio::test]
async fn replicas_that_open_one_directory_at_once_share_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let (one, other) = tokio::join!(Replica::open(&path), Replica::open(&path));
    let (one, other) = (one.unwrap(), other.unwrap());
    let (one, other) = tokio::join!(one.collection("todo"), other.collection("todo"));
    let (one, other) = (one.unwrap(), other.unwrap());
    one.add(titled("Milk")).await.unwrap();
    other.add(titled("Bread")).await.unwrap();
    assert_eq!(titles(&one).await, ["Bread", "Milk"]);
    assert_eq!(titles(&other).await, ["Bread", "Milk"]);
}

#[tokio::test]
async fn name_of_a_new_replica_begins_its_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let name = ReplicaName::new("phone").unwrap();
    let replica = Replica::open_as(directory.path().join("data"), &name).await.unwrap();
    let todo = replica.collection("todo").await.unwrap();
    let id = todo.add(titled("Milk")).await.unwrap();
    let item = todo.get(&id).await.unwrap().unwrap();
    assert!(item.by().unwrap().starts_with("phone."));
    assert_eq!(item.author(), Some("phone"));

    // A replica keeps the name that it got first.
    let other = ReplicaName::new("desk").unwrap();
    let again = Replica::open_as(directory.path().join("data"), &other).await.unwrap();
    assert_eq!(again.name().await.unwrap(), name);
    assert_eq!(Replica::in_memory().name().await.unwrap().as_str(), ReplicaName::DEFAULT);
}

#[test]
fn messages_of_names_speak_of_replicas_and_collections() {
    for wrong in ["", "Anna's phone", "import.x", "couch"] {
        let error = ReplicaName::new(wrong).unwrap_err().to_string();
        assert!(!error.contains("endpoint"), "{error}");
    }
    assert!(ReplicaName::new("a b").unwrap_err().to_string().contains("replica"));
}

#[tokio::test]
async fn directory_that_cannot_be_a_replica_is_an_error_of_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "text").unwrap();
    assert!(matches!(Replica::open(&file).await, Err(Error::Store(_))));
    let taken = directory.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("feedsync.db"), "no database").unwrap();
    assert!(matches!(Replica::open(&taken).await, Err(Error::Store(_))));
    assert_eq!(std::fs::read(taken.join("feedsync.db")).unwrap(), b"no database");
}

/// A crash during the first opening leaves a database without tables: all else was in the write-ahead log, or was not
/// yet committed.
#[tokio::test]
async fn first_opening_that_was_interrupted_is_done_again() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    let _replica = Replica::open(&whole).await.unwrap();
    let copy = |name: &str, files: &[&str]| {
        let copy = directory.path().join(name);
        std::fs::create_dir(&copy).unwrap();
        for file in files {
            std::fs::copy(whole.join(file), copy.join(file)).unwrap();
        }
        copy
    };
    let interrupted = copy("interrupted", &["feedsync.db"]);
    let replica = Replica::open(&interrupted).await.unwrap();
    replica.collection("todo").await.unwrap().add(titled("Milk")).await.unwrap();
    drop(replica);
    let replica = Replica::open(&interrupted).await.unwrap();
    assert_eq!(titles(&replica.collection("todo").await.unwrap()).await, ["Milk"]);

    // The same file beside those of a store is what is left of a store whose data is gone.
    let lost = copy("lost", &["feedsync.db", "feedsync.life"]);
    let before = std::fs::read(lost.join("feedsync.db")).unwrap();
    let error = Replica::open(&lost).await.unwrap_err();
    assert!(matches!(error, Error::Store(_)) && error.to_string().contains("gone"), "{error}");
    assert_eq!(std::fs::read(lost.join("feedsync.db")).unwrap(), before);
}

#[tokio::test]
async fn names_and_ids_that_cannot_be_are_errors_of_the_caller() {
    let replica = Replica::in_memory();
    assert!(matches!(replica.collection("My List").await, Err(Error::Name(_))));
    assert!(replica.collections().await.unwrap().is_empty());
    let todo = replica.collection("todo").await.unwrap();
    let id = todo.add(titled("Milk")).await.unwrap();
    let again = todo.add_as(&id, titled("Bread")).await;
    assert!(matches!(again, Err(Error::ItemExists { .. })));
    let unknown = replica.endpoint().new_id();
    assert!(matches!(todo.delete_latest(&unknown).await, Err(Error::NoItem { .. })));
    assert!(matches!(todo.change(&unknown, |_| {}).await, Err(Error::NoItem { .. })));
    assert!(todo.get(&unknown).await.unwrap().is_none());
    replica.remove_collection("todo").await.unwrap();
    assert!(matches!(todo.items().await, Err(Error::NoCollection(_))));
    assert!(matches!(replica.remove_collection("todo").await, Err(Error::NoCollection(_))));
}

#[tokio::test]
async fn edit_of_an_item_that_was_deleted_meanwhile_brings_it_back() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let form = todo.get(&id).await.unwrap().unwrap();
    todo.delete_latest(&id).await.unwrap();
    let mut form = todo.update(&form).await.unwrap().into_item().unwrap();
    assert!(form.is_deleted());
    *form = titled("Oat milk");
    assert!(!todo.update(&form).await.unwrap().into_item().unwrap().is_deleted());
    assert_eq!(titles(&todo).await, ["Oat milk"]);
}

/// Nobody decided to delete what nobody had seen.
#[tokio::test]
async fn deletion_of_a_version_that_was_read_keeps_a_newer_one() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let seen = todo.get(&id).await.unwrap().unwrap();
    todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    todo.delete(&seen).await.unwrap();
    let conflict = only_conflict(&todo).await;
    let mut versions: Vec<_> =
        conflict.versions().iter().map(|it| (it.deleted, it.content.clone())).collect();
    versions.sort_by_key(|(deleted, _)| *deleted);
    assert_eq!(versions, [(false, titled("Oat milk")), (true, titled("Milk"))]);
    todo.resolve(conflict.keep_both(|one, _| one.clone())).await.unwrap();
    assert_eq!(titles(&todo).await, ["Oat milk"]);

    let seen = todo.get(&id).await.unwrap().unwrap();
    todo.delete(&seen).await.unwrap();
    todo.delete(&seen).await.unwrap();
    assert!(titles(&todo).await.is_empty() && todo.conflicts().await.unwrap().is_empty());

    let id = todo.add(titled("Bread")).await.unwrap();
    todo.change(&id, |item| *item = titled("Rye bread")).await.unwrap();
    todo.delete_latest(&id).await.unwrap();
    assert!(titles(&todo).await.is_empty() && todo.conflicts().await.unwrap().is_empty());
}

#[tokio::test]
async fn deleted_items_are_not_listed_and_come_back_as_they_were() {
    let todo = Replica::in_memory().collection("todo").await.unwrap();
    let id = todo.add(titled("Milk")).await.unwrap();
    todo.delete_latest(&id).await.unwrap();
    todo.delete_latest(&id).await.unwrap();
    assert!(todo.get(&id).await.unwrap().is_none() && titles(&todo).await.is_empty());
    assert_eq!(todo.count().await.unwrap(), 0);
    assert!(matches!(todo.change(&id, |_| {}).await, Err(Error::NoItem { .. })));
    todo.undelete(&id).await.unwrap();
    assert_eq!(titles(&todo).await, ["Milk"]);
}

#[tokio::test]
async fn conflict_that_changed_meanwhile_is_stale_and_stays() {
    let todo = Replica::in_memory().collection("todo").await.unwrap();
    let id = todo.add(titled("Milk")).await.unwrap();
    let mut stale = todo.get(&id).await.unwrap().unwrap();
    todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    *stale = titled("Bread");
    todo.update(&stale).await.unwrap();

    let conflict = only_conflict(&todo).await;
    assert_eq!(conflict.versions().len(), 2);
    let nobody = todo.resolve(conflict.clone().keep(2)).await;
    assert!(matches!(nobody, Err(Error::NoVersion { .. })), "{nobody:?}");
    todo.change(&id, |item| item["done"] = true.into()).await.unwrap();
    let stale = todo.resolve(conflict.keep_winner()).await;
    assert!(matches!(stale, Err(Error::Stale { .. })), "{stale:?}");
    let conflict = only_conflict(&todo).await;
    let other = conflict.versions()[1].content.clone();
    todo.resolve(conflict.keep(1)).await.unwrap();
    assert_eq!(*todo.get(&id).await.unwrap().unwrap(), other);
    assert!(todo.conflicts().await.unwrap().is_empty());
}

#[tokio::test]
async fn merge_of_a_deletion_and_an_edit_keeps_the_edit() {
    let (one, other) = (Replica::in_memory(), Replica::in_memory());
    let (one, other) =
        (one.collection("todo").await.unwrap(), other.collection("todo").await.unwrap());
    let id = one.add(titled("Milk")).await.unwrap();
    let format = feedsync::Format::Json;
    other.merge_feed(one.to_feed(format).await.unwrap()).await.unwrap();
    one.delete_latest(&id).await.unwrap();
    other.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    other.merge_feed(one.to_feed(format).await.unwrap()).await.unwrap();
    let conflict = only_conflict(&other).await;
    other.resolve(conflict.keep_both(|_, _| panic!("a deletion adds nothing"))).await.unwrap();
    assert_eq!(titles(&other).await, ["Oat milk"]);
}
