//! The commands `conflicts`, `diff`, `history` (with conflicts) and `resolve`.

use serde_json::Value;

use crate::support::{TestDirectory, TestEndpoint};

/// Creates a laptop and a phone with concurrent edits of the same item.
fn in_conflict(place: &TestDirectory) -> (TestEndpoint<'_>, TestEndpoint<'_>, String) {
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    let id = laptop.add("Milk", "two litres");
    phone.hears(&laptop);
    laptop.ok(&["edit", "notes", &id, "--content", "three litres"]);
    phone.ok(&["edit", "notes", &id, "--title", "Oat milk"]);
    laptop.hears(&phone);
    phone.hears(&laptop);
    (laptop, phone, id)
}

#[test]
fn both_edits_are_kept_and_shown_the_same_at_both_ends() {
    let place = TestDirectory::new();
    let (laptop, phone, id) = in_conflict(&place);
    let conflicts = laptop.json(&["conflicts", "notes"]);
    assert_eq!(conflicts, phone.json(&["conflicts", "notes"]));
    assert_eq!(conflicts[0]["id"], id.as_str());
    assert_eq!(conflicts[0]["conflicts"][0]["n"], 1);
    let text = |version: &Value| format!("{} {}", version["title"], version["content"]);
    let mut texts = [text(&conflicts[0]["winner"]), text(&conflicts[0]["conflicts"][0])];
    texts.sort_unstable();
    assert_eq!(texts, ["\"Milk\" \"three litres\"", "\"Oat milk\" \"two litres\""]);
    assert_eq!(laptop.json(&["ls", "notes"])[0]["conflicts"], 1);
    assert!(laptop.ok(&["ls", "notes"]).contains("1 conflict"));
    assert!(laptop.ok(&["show", "notes", &id]).contains("1 conflict"));
    let shown = laptop.ok(&["conflicts", "notes"]);
    assert!(shown.contains("winner") && shown.contains("     1  "), "{shown}");
}

#[test]
fn a_policy_resolves_what_synchronisation_brings() {
    let place = TestDirectory::new();
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    let id = laptop.add("Milk", "two litres");
    phone.hears(&laptop);
    phone.ok(&["collection", "set", "notes", "conflicts=undeleted"]);
    laptop.ok(&["rm", "notes", &id]);
    phone.ok(&["edit", "notes", &id, "--content", "three litres"]);
    phone.hears(&laptop);
    assert_eq!(phone.json(&["conflicts", "notes"]).as_array().unwrap().len(), 0);
    laptop.hears(&phone);
    for desk in [&laptop, &phone] {
        let shown = desk.json(&["show", "notes", &id]);
        assert_eq!((&shown["content"], &shown["deleted"]), (&"three litres".into(), &false.into()));
    }
}

#[test]
fn all_conflicts_of_a_collection_are_resolved_by_a_rule_once_it_is_confirmed() {
    let place = TestDirectory::new();
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    let ids = ["Milk", "Bread"].map(|title| laptop.add(title, "two"));
    phone.hears(&laptop);
    for id in &ids {
        laptop.ok(&["edit", "notes", id, "--content", "three"]);
    }
    phone.ok(&["edit", "notes", &ids[0], "--content", "four"]);
    phone.ok(&["rm", "notes", &ids[1]]);
    phone.hears(&laptop);
    let open = || phone.json(&["conflicts", "notes"]).as_array().unwrap().len();
    assert_eq!(open(), 2);
    let all = ["resolve", "notes", "--all", "undeleted"];
    phone.run(&all).fails(2, "2 items of notes have conflicts");
    assert_eq!(open(), 2);
    let run = phone.run(&[&all[..], &["--yes"]].concat());
    assert_eq!((run.code, run.out.as_str()), (0, "1 item changed\n"), "{}", run.err);
    assert!(run.err.contains("1 item still has conflicts"), "{}", run.err);
    assert_eq!(phone.json(&["show", "notes", &ids[1]])["content"], "three");
    let all = ["resolve", "notes", "--all", "latest", "--yes"];
    assert_eq!(phone.json(&all), serde_json::json!({ "resolved": 1, "open": 0 }));
    assert_eq!(open(), 0);
    assert_eq!(phone.ok(&all), "0 items changed\n");
    for (arguments, why) in [
        (&["--all", "keep"][..], "one of latest, undeleted"),
        (&[&ids[0], "--all", "latest"], "cannot be used with"),
        (&["--keep-winner"], "<ITEM>"),
        (&[&ids[0], "--keep-winner", "--yes"], "cannot be used with"),
    ] {
        phone.run(&[&["resolve", "notes"], arguments].concat()).fails(2, why);
    }
}

#[test]
fn a_difference_and_a_graph_show_how_it_came_about() {
    let place = TestDirectory::new();
    let (laptop, _, id) = in_conflict(&place);
    let diff = laptop.ok(&["diff", "notes", &id]);
    for line in ["--- winner", "+++ conflict 1"] {
        assert!(diff.lines().any(|found| found == line), "{diff}");
    }
    let history = laptop.ok(&["history", "notes", &id]);
    let lines: Vec<_> = history.lines().collect();
    assert_eq!(lines.len(), 4, "{history}");
    assert_eq!(lines[2], "|/");
    assert!(history.contains("winner") && history.contains("conflict 1"), "{history}");
    laptop.ok(&["resolve", "notes", &id, "--keep-winner"]);
    assert_eq!(laptop.ok(&["diff", "notes", &id]), "");
}

fn resolved(arguments: &[&str]) -> (Value, Value) {
    let place = TestDirectory::new();
    let (laptop, phone, id) = in_conflict(&place);
    let before = laptop.json(&["conflicts", "notes"])[0].clone();
    let mut all = vec!["resolve", "notes", &*id];
    all.extend(arguments);
    laptop.ok(&all);
    assert_eq!(laptop.json(&["conflicts", "notes"]), serde_json::json!([]));
    // The other endpoint takes over the resolution and has no conflict left.
    phone.hears(&laptop);
    assert_eq!(phone.state(), laptop.state());
    laptop.run(&all).fails(1, "has no conflicts");
    (before, laptop.json(&["ls", "notes"])[0].clone())
}

#[test]
fn a_resolution_keeps_the_winner() {
    let (before, after) = resolved(&["--keep-winner"]);
    assert_eq!(before["winner"]["title"], after["title"]);
    assert_eq!(before["winner"]["content"], after["content"]);
    assert_eq!(after["updates"], 3);
}

#[test]
fn a_resolution_takes_a_conflict_by_its_number() {
    let (before, after) = resolved(&["--take", "1"]);
    assert_eq!(before["conflicts"][0]["title"], after["title"]);
    assert_eq!(before["conflicts"][0]["content"], after["content"]);
}

#[test]
fn a_resolution_writes_new_content() {
    let (before, after) = resolved(&["--content", "both"]);
    assert_eq!((&after["title"], &after["content"]), (&before["winner"]["title"], &"both".into()));
}

#[test]
fn a_resolution_that_does_not_fit_changes_nothing() {
    let place = TestDirectory::new();
    let (laptop, _, id) = in_conflict(&place);
    let state = laptop.state();
    laptop.run(&["resolve", "notes", &id]).fails(2, "required");
    laptop.run(&["resolve", "notes", &id, "--take", "2"]).fails(3, "no conflict 2");
    laptop.run(&["resolve", "notes", &id, "--take", "0"]).fails(2, "0");
    laptop
        .run(&["resolve", "notes", &id, "--keep-winner", "--take", "1"])
        .fails(2, "cannot be used");
    assert_eq!(laptop.state(), state);
}

#[test]
fn items_with_noconflicts_keep_the_winner_alone() {
    let place = TestDirectory::new();
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    let id = laptop.ok(&["add", "notes", "--title", "a", "--noconflicts"]);
    let id = id.trim_end();
    phone.hears(&laptop);
    laptop.ok(&["edit", "notes", id, "--title", "b"]);
    phone.ok(&["edit", "notes", id, "--title", "c"]);
    laptop.hears(&phone);
    phone.hears(&laptop);
    assert_eq!(laptop.json(&["conflicts", "notes"]), serde_json::json!([]));
    assert_eq!(laptop.state(), phone.state());
    assert_eq!(laptop.json(&["ls", "notes"])[0]["noconflicts"], true);
}

#[test]
fn some_conflicts_are_resolved_and_the_others_stay_open() {
    let place = TestDirectory::new();
    let (laptop, phone, id) = in_conflict(&place);
    let desk = place.desk("desk");
    desk.hears(&laptop);
    // All three endpoints edit the same version concurrently.
    desk.ok(&["edit", "notes", &id, "--content", "from the desk"]);
    laptop.ok(&["edit", "notes", &id, "--content", "from the laptop"]);
    phone.ok(&["edit", "notes", &id, "--content", "from the phone"]);
    laptop.hears(&desk);
    laptop.hears(&phone);
    let before = laptop.json(&["conflicts", "notes"])[0]["conflicts"].clone();
    assert!(before.as_array().unwrap().len() > 1, "{before}");
    laptop
        .run(&["resolve", "notes", &id, "--only", "1,9", "--keep-winner"])
        .fails(3, "no conflict 9");
    laptop.ok(&["resolve", "notes", &id, "--only", "1", "--keep-winner"]);
    let after = laptop.json(&["conflicts", "notes"])[0]["conflicts"].clone();
    let contents = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|it| it["content"].clone()).collect()
    };
    assert_eq!(contents(&after), contents(&before)[1..]);
}
