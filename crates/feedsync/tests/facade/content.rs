//! Content of items: JSON, types, entries, and formats of the application.

use feedsync::{
    Collection, Content, ContentError, Entry, Error, Format, Json, Payload, Replica, Target,
    read_payload,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::scene::{conflicting, only_conflict, titled, titles, todo};

#[tokio::test]
async fn json_that_no_feed_can_hold_is_refused_and_changes_nothing() {
    let todo = todo().await;
    let deep = (0..250).fold(json!(1), |inner, _| json!([inner]));
    for wrong in [
        json!(null),
        json!("Milk"),
        json!([{"title": "Milk"}]),
        json!({"title": "Milk", "sync": {"id": "x"}}),
        json!({"fs:native": {}}),
        json!({"deep": deep}),
    ] {
        let refused = todo.add(wrong.clone()).await;
        assert!(matches!(refused, Err(Error::Content { .. })), "{wrong}");
    }
    assert_eq!(todo.count().await.unwrap(), 0);
    todo.add(json!({"items": [{"sync": 1}], "title": "\u{0} \u{1f980}"})).await.unwrap();
}

#[tokio::test]
async fn content_that_its_type_cannot_read_again_is_refused_and_not_stored() {
    #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
    struct Measured {
        weight: f64,
    }
    let deep = (0..150).fold(json!(1), |deep, _| json!([deep]));
    let todo = todo().await;
    assert!(todo.add(json!({ "deep": deep })).await.is_err());
    let measured = todo.of::<Json<Measured>>();
    assert!(measured.add(Json(Measured { weight: f64::NAN })).await.is_err());
    assert_eq!(todo.count().await.unwrap(), 0);
    measured.add(Json(Measured { weight: 1.5 })).await.unwrap();
    assert_eq!(measured.items().await.unwrap()[0].weight, 1.5);
}

#[tokio::test]
async fn json_reaches_a_replica_as_it_was_written() {
    let (one, other) = (todo().await, todo().await);
    let value = json!({
        "title": "Milk <&> \"é\u{1f980}\"", "done": false, "list": [1, -2.5, 1e300, null, {}],
        "large": u64::MAX, "": {"items": [], "sync": null},
    });
    let id = one.add(value.clone()).await.unwrap();
    for format in Format::ALL {
        let feed = one.to_feed(format).await.unwrap();
        assert!(other.merge_feed(feed).await.unwrap().refused.is_empty());
        assert_eq!(*other.get(&id).await.unwrap().unwrap(), value, "{format}");
        other.replica().remove_collection("todo").await.unwrap();
        other.replica().collection("todo").await.unwrap();
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[tokio::test]
async fn members_that_a_type_does_not_have_stay_when_it_edits() {
    let todo = todo().await;
    let value = json!({"title": "Milk", "note": "two litres", "colour": "white"});
    let id = todo.add(value).await.unwrap();
    let tasks = todo.of::<Json<Task>>();
    tasks.change(&id, |task| task.title = "Oat milk".to_owned()).await.unwrap();
    let expected = json!({"title": "Oat milk", "note": "two litres", "colour": "white"});
    assert_eq!(*todo.get(&id).await.unwrap().unwrap(), expected);
    tasks.change(&id, |task| task.note = None).await.unwrap();
    let expected = json!({"title": "Oat milk", "colour": "white"});
    assert_eq!(*todo.get(&id).await.unwrap().unwrap(), expected);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    #[serde(alias = "label")]
    name: String,
    #[serde(default)]
    visited: bool,
    height: f64,
    #[serde(default)]
    of: Parts,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Parts {
    #[serde(default)]
    count: u128,
}

/// Texts of an item and of the item after an edit by a type.
async fn edited(before: &str, edit: impl FnMut(&mut Place) + Send) -> String {
    let bytes = todo().await.of::<Payload>();
    let id = bytes.add(read_payload(Format::Json, before).unwrap()).await.unwrap();
    let mut edit = edit;
    bytes.of::<Json<Place>>().change(&id, |place| edit(place)).await.unwrap();
    bytes.get(&id).await.unwrap().unwrap().text().to_owned()
}

#[tokio::test]
async fn type_changes_no_text_but_that_of_its_edit() {
    let large = "340282366920938463463374607431768211455";
    let before = format!(
        "{{\"label\": \"A\", \"x\": 123456789012345678901234567890, \"height\": 1.50e2, \
         \"of\": {{\"y\": 1e400, \"count\": {large}}}}}"
    );
    assert_eq!(edited(&before, |_| {}).await, before);
    let after = edited(&before, |place| place.height = 2.0).await;
    assert!(after.contains("\"label\":\"A\"") && !after.contains("visited"), "{after}");
    assert!(after.contains("\"x\":123456789012345678901234567890"), "{after}");
    assert!(after.contains("\"height\":2.0") && after.contains("\"y\": 1e400"), "{after}");
    let after = edited(&before, |place| place.of.count -= 1).await;
    assert!(after.contains("\"height\":1.50e2") && after.contains("\"y\":1e400"), "{after}");
    assert!(after.contains(&large.replace("455", "454")), "{after}");
    // The name that the type writes takes the place of the other one.
    let after = edited(&before, |place| place.name = "B".to_owned()).await;
    assert!(after.contains("\"name\":\"B\"") && !after.contains("label"), "{after}");
    assert!(after.contains("\"x\":123456789012345678901234567890"), "{after}");
    assert!(after.contains("\"height\":1.50e2") && after.contains("1e400"), "{after}");
}

#[tokio::test]
async fn edit_of_a_value_keeps_the_digits_of_other_numbers() {
    let bytes = todo().await.of::<Payload>();
    let before = "{\"n\": 123456789012345678901234567890, \"l\": [0.10000000000000000001, 2]}";
    let id = bytes.add(read_payload(Format::Json, before).unwrap()).await.unwrap();
    let values = bytes.of::<Value>();
    values.change(&id, |_| {}).await.unwrap();
    assert_eq!(bytes.get(&id).await.unwrap().unwrap().text(), before);
    values.change(&id, |item| item["title"] = json!("Milk")).await.unwrap();
    values.change(&id, |item| item["l"][1] = json!(3)).await.unwrap();
    let expected = "{\"n\":123456789012345678901234567890,\"l\":[0.10000000000000000001,3],\"title\":\"Milk\"}";
    assert_eq!(bytes.get(&id).await.unwrap().unwrap().text(), expected);
}

#[tokio::test]
async fn merge_keeps_the_members_of_all_versions_that_a_type_does_not_have() {
    let todo = todo().await;
    let one = json!({"title": "Milk", "colour": "white"});
    let other = json!({"title": "Oat milk", "note": "x", "shop": "corner", "colour": "oat"});
    let id = conflicting(&todo, one, other).await;
    let tasks = todo.of::<Json<Task>>();
    let conflict = only_conflict(&todo).await;
    let colour = conflict.versions()[0].content["colour"].clone();
    for conflict in tasks.conflicts().await.unwrap() {
        let merge = |one: &Json<Task>, other: &Json<Task>| {
            let title = format!("{}{}", one.title.len(), other.title.len());
            Json(Task { title, note: None })
        };
        tasks.resolve(conflict.keep_both(merge)).await.unwrap();
    }
    let merged = todo.get(&id).await.unwrap().unwrap();
    assert!(merged["title"] == "48" || merged["title"] == "84", "{merged:?}");
    assert_eq!((&merged["shop"], &merged["edited"]), (&json!("corner"), &json!(true)));
    assert_eq!((&merged["colour"], merged.get("note")), (&colour, None));
}

#[tokio::test]
async fn versions_with_different_names_of_one_member_can_be_merged() {
    let named = json!({"name": "A", "height": 1.5});
    let labelled = json!({"label": "B", "height": 1.5, "x": 7});
    for (one, other) in [(named.clone(), labelled.clone()), (labelled, named)] {
        let todo = todo().await;
        let id = conflicting(&todo, one, other).await;
        let places = todo.of::<Json<Place>>();
        for conflict in places.conflicts().await.unwrap() {
            places.resolve(conflict.keep_both(|one, _| one.clone())).await.unwrap();
        }
        let merged = todo.get(&id).await.unwrap().unwrap();
        assert_eq!(merged["x"], 7, "{merged:?}");
        assert_eq!(["name", "label"].iter().filter(|name| merged.get(name).is_some()).count(), 1);
    }
}

#[tokio::test]
async fn items_that_a_type_cannot_read_are_listed_apart() {
    let todo = todo().await;
    let wrong = todo.add(json!({"name": "Milk"})).await.unwrap();
    todo.add(titled("Bread")).await.unwrap();
    let tasks = todo.of::<Json<Task>>();
    let items = tasks.items().await.unwrap();
    assert_eq!((items.len(), items[0].title.as_str()), (1, "Bread"));
    assert_eq!(items.unreadable()[0].0, wrong);
    assert!(matches!(tasks.get(&wrong).await, Err(Error::Content { id, .. }) if id == wrong));
}

/// The text of all items is far below the bound, and their values in memory are not.
#[tokio::test]
async fn items_whose_values_would_fill_the_memory_are_refused_as_one_list() {
    let todo = todo().await;
    let object = json!({"": 0});
    let item = json!({ "list": vec![object; 40_000] });
    for _ in 0..10 {
        todo.add(item.clone()).await.unwrap();
    }
    let refused = todo.items().await;
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{:?}", refused.map(|it| it.len()));
    assert_eq!(todo.page(None, 1).await.unwrap().changes.len(), 1);
}

#[tokio::test]
async fn conflict_that_a_type_cannot_read_hides_no_other() {
    let todo = todo().await;
    let readable = conflicting(&todo, titled("Milk"), titled("Oat milk")).await;
    let wrong = conflicting(&todo, titled("Bread"), json!({"name": "Rye bread"})).await;
    let tasks = todo.of::<Json<Task>>();
    let conflicts = tasks.conflicts().await.unwrap();
    assert_eq!(conflicts.iter().map(|one| one.id()).collect::<Vec<_>>(), [&readable]);
    assert_eq!(conflicts.unreadable().iter().map(|one| &one.0).collect::<Vec<_>>(), [&wrong]);
    for conflict in conflicts {
        tasks.resolve(conflict.keep_winner()).await.unwrap();
    }
    let bytes = todo.of::<Payload>();
    for conflict in bytes.conflicts().await.unwrap() {
        assert_eq!(*conflict.id(), wrong);
        bytes.resolve(conflict.keep_winner()).await.unwrap();
    }
    assert!(todo.conflicts().await.unwrap().is_empty());
}

#[tokio::test]
async fn edit_that_changes_nothing_is_no_edit() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let by = |todo: Collection| async move { todo.watch().await.unwrap().position() };
    let before = by(todo.clone()).await;
    todo.change(&id, |item| *item = titled("Milk")).await.unwrap();
    assert_eq!(by(todo.clone()).await, before);
}

#[tokio::test]
async fn json_edits_title_and_content_of_an_entry_and_keeps_the_rest() {
    let notes = Replica::in_memory().collection_in::<Payload>("notes", Format::Atom).await.unwrap();
    let text = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:1</id><title>Milk</title>\
                <updated>2026-01-01T00:00:00Z</updated><x:y xmlns:x=\"urn:x\">z</x:y></entry>";
    let id = notes.add(Payload::from_parsed(Format::Atom, text)).await.unwrap();
    let values: Collection<Value> = notes.of();
    let shown = values.get(&id).await.unwrap().unwrap();
    assert_eq!(shown["title"], "Milk");
    values.change(&id, |item| item["title"] = json!("Oat milk")).await.unwrap();
    let payload = notes.get(&id).await.unwrap().unwrap();
    assert!(payload.text().contains("<title>Oat milk</title>"), "{}", payload.text());
    assert!(payload.text().contains("<x:y xmlns:x=\"urn:x\">z</x:y>"), "{}", payload.text());
    let other = values.change(&id, |item| item["done"] = json!(true)).await;
    assert!(matches!(other, Err(Error::Content { .. })), "{other:?}");
}

#[tokio::test]
async fn entries_are_written_in_the_format_of_their_collection() {
    for format in Format::ALL {
        let notes = Replica::in_memory().collection_in::<Entry>("notes", format).await.unwrap();
        let entry = Entry { title: Some("Milk".to_owned()), ..Entry::default() };
        let id = notes.add(entry).await.unwrap();
        let payload = notes.of::<Payload>().get(&id).await.unwrap().unwrap();
        assert_eq!(payload.format(), format);
        notes.change(&id, |entry| entry.title = Some("Bread".to_owned())).await.unwrap();
        assert_eq!(titles(&notes.of()).await, ["Bread"], "{format}");
        let links = vec![feedsync::Link::new("alternate", "https://bread.example/")];
        notes.change(&id, |entry| entry.links = links.clone()).await.unwrap();
        let read = notes.get(&id).await.unwrap().unwrap();
        assert_eq!(read.link(), Some("https://bread.example/"), "{format}");
    }
}

/// Content that writes whatever it is told.
struct Raw(Format, String);

impl Content for Raw {
    const FORMAT: Format = Format::Pox;

    fn read(payload: &Payload) -> Result<Self, ContentError> {
        Ok(Self(payload.format(), payload.text().to_owned()))
    }

    fn write(&self, _target: &Target<'_>) -> Result<Payload, ContentError> {
        read_payload(self.0, &self.1).map_err(ContentError::caused_by)
    }
}

#[tokio::test]
async fn markup_that_would_break_a_feed_is_refused() {
    let contacts = Replica::in_memory().collection_of::<Raw>("contacts").await.unwrap();
    let deep = format!("{}{}", "<a>".repeat(250), "</a>".repeat(250));
    for (format, wrong) in [
        (Format::Pox, "<a>"),
        (Format::Pox, "</feed><a/>"),
        (Format::Pox, "<a/><b/>"),
        (Format::Pox, "text"),
        (Format::Pox, "<x:a/>"),
        (Format::Rss, "<a/>"),
        (Format::Pox, &deep),
        (Format::Atom, "<a/>"),
        (Format::Json, "{"),
        (Format::Json, "{}{}"),
        (Format::Json, "<a/>"),
        (Format::Opml, "{}"),
    ] {
        let refused = contacts.add(Raw(format, wrong.to_owned())).await;
        assert!(matches!(refused, Err(Error::Content { .. })), "{format} {wrong}");
    }
    let id = contacts.add(Raw(Format::Pox, "<a b=\"c\"/>".to_owned())).await.unwrap();
    assert_eq!(contacts.get(&id).await.unwrap().unwrap().1, "<a b=\"c\"/>");
}
