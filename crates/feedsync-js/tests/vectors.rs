//! The language-neutral test vectors (`vectors/`), carried out by the core itself.

use std::fs;
use std::path::Path;

use feedsync_core::{
    By, Creation, Edit, Incorporation, Item, ItemId, Keep, Payload, Resolution, Resolved, Stamp,
    Timestamp, incorporate,
};
use feedsync_formats::json::read_unmapped;
use feedsync_formats::{ReadOptions, read_payload};
use serde_json::{Value, json};

fn vectors(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let text = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn item(value: &Value) -> Item<Payload> {
    let document = json!({ "items": [value] }).to_string();
    let reading = read_unmapped(document.as_bytes(), &ReadOptions::strict()).unwrap();
    assert!(reading.refused.is_empty(), "{:?}", reading.refused);
    ordered(reading.feed.items.into_iter().next().unwrap())
}

/// An item whose conflicts are in a fixed order: their order has no meaning.
fn ordered(mut item: Item<Payload>) -> Item<Payload> {
    item.conflicts.sort_by_key(|version| format!("{version:?}"));
    item
}

fn payload(value: &Value) -> Option<Payload> {
    let content = value.get("content")?.to_string();
    Some(read_payload(feedsync_core::Format::Json, &content).unwrap())
}

fn stamp(step: &Value) -> Stamp {
    let when = Timestamp::parse(step["when"].as_str().unwrap()).unwrap();
    Stamp::new(when, By::new(step["by"].as_str().unwrap()).unwrap())
}

/// Carries out an operation on an item, and returns its outcome and the item afterwards.
fn carried_out(
    step: &Value,
    before: Option<Item<Payload>>,
    incoming: Option<Item<Payload>>,
) -> (&'static str, Option<Item<Payload>>) {
    let keep = step["keep"].as_u64().map(|keep| usize::try_from(keep).unwrap());
    match step["op"].as_str().unwrap() {
        "create" => {
            let id = ItemId::new(step["id"].as_str().unwrap()).unwrap();
            let creation = Creation { noconflicts: step["noconflicts"].as_bool(), deleted: false };
            let made = Item::create(id, creation, &stamp(step), payload(step).unwrap()).unwrap();
            ("applied", Some(made))
        }
        "edit" => {
            let mut item = before.unwrap();
            let edit = Edit { payload: payload(step), deleted: step["deleted"].as_bool() };
            item.update(&stamp(step), edit).unwrap();
            ("applied", Some(item))
        }
        "resolve" => {
            let mut item = before.unwrap();
            let keep = match (keep, payload(step)) {
                (None, Some(payload)) => Keep::Content { payload, deleted: None },
                (Some(0), None) => Keep::Winner,
                (Some(version), None) => Keep::Conflict(version - 1),
                _ => panic!("either content or keep: {step}"),
            };
            item.resolve(&stamp(step), Resolution { resolved: Resolved::All, keep }).unwrap();
            ("applied", Some(item))
        }
        "merge" => match incorporate(before.as_ref(), None, incoming.unwrap()) {
            Incorporation::Added(item) => ("added", Some(item)),
            Incorporation::Updated(item) => ("updated", Some(item)),
            Incorporation::Conflict(item) => ("conflict", Some(item)),
            Incorporation::Unchanged => ("unchanged", None),
            Incorporation::Refused(refusal) => panic!("{refusal}"),
        },
        other => panic!("unknown operation {other}"),
    }
}

fn check(name: &str) {
    let cases = vectors(name);
    assert!(!cases.is_empty());
    for case in cases {
        let before = ["item", "local"].iter().find_map(|member| case.get(member));
        // The order of conflicts counts for `keep`, and the cases have one conflict.
        let before = before.filter(|value| !value.is_null()).map(item);
        let incoming = case.get("incoming").map(item);
        let (outcome, result) = carried_out(&case, before, incoming);
        if let Some(expected) = case["outcome"].as_str() {
            assert_eq!(outcome, expected, "{}", case["name"]);
        }
        assert_eq!(result.map(ordered), case.get("result").map(item), "{}", case["name"]);
    }
}

#[test]
fn creations_give_the_results_of_the_vectors() {
    check("create");
}

#[test]
fn edits_give_the_results_of_the_vectors() {
    check("edit");
}

#[test]
fn merges_give_the_results_of_the_vectors() {
    check("merge");
}

#[test]
fn resolutions_give_the_results_of_the_vectors() {
    check("resolve");
}

#[test]
fn random_schedules_give_the_results_of_the_vectors() {
    let schedules = vectors("schedules");
    assert!(schedules.len() >= 20);
    for schedule in schedules {
        let mut replicas: [Option<Item<Payload>>; 3] = Default::default();
        for (index, step) in schedule["steps"].as_array().unwrap().iter().enumerate() {
            let number = |name: &str| step[name].as_u64().map(|it| usize::try_from(it).unwrap());
            let replica = number("replica").unwrap();
            let incoming = number("from").and_then(|from| replicas[from].clone());
            let before = replicas[replica].clone();
            // A resolution names a conflict by its position in the order in which winners are picked.
            let before = before.map(|mut item| {
                let order: Vec<_> =
                    item.ranked_conflicts().into_iter().map(|(index, _)| index).collect();
                item.conflicts = order.into_iter().map(|at| item.conflicts[at].clone()).collect();
                item
            });
            if let (_, Some(result)) = carried_out(step, before, incoming) {
                replicas[replica] = Some(result);
            }
            let result = replicas[replica].clone().map(ordered);
            assert_eq!(result, Some(item(&step["result"])), "{}, step {index}", schedule["seed"]);
        }
    }
}
