//! Clauses of FeedSync for JSON, and properties that hold for any input.

use feedsync_core::{Format, Item, Payload, RelatedKind, Timestamp};

use super::{Writer, read};
use crate::diagnostic::{ReadError, Severity};
use crate::head::{FeedHead, HeadLink};
use crate::options::ReadOptions;
use crate::reading::Reading;

mod bounds;
mod fidelity;

/// The example of 3.1 with straight quotes, as an item of a collection.
const CREATED: &str = r#"{
"title" : "Buy groceries",
"description": "Get milk and eggs",
"sync": {
"id": "item_1_myapp_2005-05-21T11:43:33Z",
"updates": "1",
"history": [
{"sequence": "1", "when": "2005-05-21T09:43:33Z", "by": "REO1750"}
]
}
}"#;

fn strict(text: &str) -> Reading {
    read(text.as_bytes(), &ReadOptions::strict()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn tolerant(text: &str) -> Reading {
    read(text.as_bytes(), &ReadOptions::tolerant())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn collection(items: &str) -> String {
    format!("{{\"items\":[{items}]}}")
}

fn with_sync(sync: &str) -> String {
    collection(&format!("{{\"title\":\"t\",\"sync\":{sync}}}"))
}

/// Returns an item with the given member of `sync` and valid other members.
fn with_member(name: &str, value: &str) -> String {
    let mut sync = String::new();
    for (member, usual) in [
        ("id", "\"i\""),
        ("updates", "\"1\""),
        ("history", "[{\"sequence\":\"1\",\"by\":\"a\"}]"),
        ("deleted", "\"false\""),
        ("noconflicts", "\"false\""),
        ("conflicts", "[]"),
    ] {
        let value = if member == name { value } else { usual };
        sync.push_str(&format!("\"{member}\":{value},"));
    }
    sync.pop();
    with_sync(&format!("{{{sync}}}"))
}

fn refusal(reading: &Reading) -> String {
    assert_eq!(reading.feed.items.len(), 0, "{:?}", reading.feed.items);
    reading.refused[0].reason.to_string()
}

fn written(item: &Item<Payload>) -> String {
    let head = FeedHead {
        id: "urn:feed",
        title: "A \"feed\"",
        updated: "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap(),
        author: "me",
        details: None,
        self_link: Some("http://h/self"),
        next: None,
        links: &[HeadLink { rel: "up", href: "http://h/", media_type: Some("text/html") }],
        complete: false,
        sharing: None,
    };
    let (mut writer, mut out) = (Writer::new(), String::new());
    writer.begin(&mut out, &head);
    writer.item(&mut out, item);
    writer.item(&mut out, item);
    writer.end(&mut out);
    out
}

#[test]
fn the_create_example_reads_and_its_typographic_form_is_a_clear_error() {
    let reading = strict(&collection(CREATED));
    assert_eq!((reading.format, reading.diagnostics.len()), (Format::Json, 0));
    let item = &reading.feed.items[0];
    assert_eq!(item.id.as_str(), "item_1_myapp_2005-05-21T11:43:33Z");
    assert_eq!((item.winner.updates.get(), item.winner.deleted), (1, false));
    let update = item.winner.dot();
    assert_eq!(update.sequence().get(), 1);
    assert_eq!(update.when().unwrap().to_string(), "2005-05-21T09:43:33Z");
    assert_eq!(update.by().unwrap().as_str(), "REO1750");
    assert_eq!(
        item.winner.payload.text(),
        "{\n\"title\" : \"Buy groceries\",\n\"description\": \"Get milk and eggs\"\n}"
    );

    let printed = collection(CREATED).replacen('"', "\u{1}", 2).replace("\"title\"", "“title”");
    let error = read(printed.replace('\u{1}', "\"").as_bytes(), &ReadOptions::strict());
    let Err(ReadError::Document { position, message }) = error else { panic!("{error:?}") };
    assert_eq!((position.line, position.column), (2, 1));
    assert!(message.contains("typographic quotation mark “"), "{message}");
}

#[test]
fn numbers_are_read_as_such_or_as_strings_and_written_as_strings() {
    for value in ["1", "\"7\"", "2147483647", "\"2147483647\""] {
        let reading = strict(&with_member("updates", value));
        let item = &reading.feed.items[0];
        let number = value.trim_matches('"');
        assert_eq!(item.winner.updates.to_string(), number);
        assert!(written(item).contains(&format!("\"updates\":\"{number}\"")));
    }
    for value in [
        "0",
        "-1",
        "1.0",
        "1e0",
        "2147483648",
        "true",
        "[1]",
        "\"1 \"",
        "\"+1\"",
        "\"\"",
        "\"1.0\"",
    ] {
        let text = with_member("updates", value);
        let place = 1 + text.find("\"updates\":").unwrap() + "\"updates\":".len();
        for reading in [strict(&text), tolerant(&text)] {
            let reason = refusal(&reading);
            assert!(
                reason.starts_with(&format!("1:{place}: fault: item \"i\": \"updates\"")),
                "{reason}"
            );
        }
        let history = format!("[{{\"sequence\":{value},\"by\":\"a\"}}]");
        assert!(refusal(&strict(&with_member("history", &history))).contains("sequence"));
    }
    assert!(refusal(&strict(&with_member("updates", "\"01\""))).contains("leading zeros"));
    let lenient = tolerant(&with_member("updates", "\"01\""));
    assert_eq!((lenient.feed.items.len(), lenient.diagnostics.len()), (1, 1));
}

#[test]
fn booleans_are_read_as_such_or_as_strings_and_written_as_strings() {
    for (value, expected) in
        [("true", true), ("\"true\"", true), ("false", false), ("\"false\"", false)]
    {
        let deleted = &strict(&with_member("deleted", value)).feed.items[0];
        assert_eq!(deleted.winner.deleted, expected);
        assert_eq!(written(deleted).contains("\"deleted\":\"true\""), expected);
        let marked = &strict(&with_member("noconflicts", value)).feed.items[0];
        assert_eq!(marked.winner.noconflicts, Some(expected));
        assert!(written(marked).contains(&format!("\"noconflicts\":\"{expected}\"")));
    }
    for value in ["1", "\"TRUE\"", "\"\"", "\" true\"", "{}"] {
        assert!(refusal(&strict(&with_member("deleted", value))).contains("\"deleted\""));
        assert!(refusal(&strict(&with_member("noconflicts", value))).contains("\"noconflicts\""));
    }
    let absent = &strict(&with_member("noconflicts", "null")).feed.items[0];
    assert_eq!(absent.winner.noconflicts, None);
    assert!(!written(absent).contains("noconflicts"));
}

#[test]
fn null_is_absent_with_a_warning() {
    for name in ["deleted", "noconflicts", "conflicts"] {
        let reading = strict(&with_member(name, "null"));
        assert_eq!(reading.feed.items.len(), 1);
        assert_eq!(reading.diagnostics[0].severity, Severity::Warning);
        assert_eq!(reading.diagnostics[0].item.as_deref(), Some("i"));
    }
    for name in ["id", "updates", "history"] {
        let reason = refusal(&strict(&with_member(name, "null")));
        assert!(reason.contains(&format!("\"{name}\" is missing")), "{reason}");
    }
    let plain = strict(&with_sync("null"));
    assert_eq!((plain.feed.plain_items, plain.diagnostics.len()), (1, 1));
}

#[test]
fn empty_strings_and_empty_histories_are_faults_and_empty_conflicts_are_none() {
    assert!(refusal(&strict(&with_member("id", "\"\""))).contains("\"id\": must not be empty"));
    assert!(refusal(&strict(&with_member("history", "[]"))).contains("must not be empty"));
    for (member, clause) in [("by", "\"by\""), ("when", "\"when\"")] {
        let history = format!("[{{\"sequence\":1,\"{member}\":\"\"}}]");
        assert!(refusal(&strict(&with_member("history", &history))).contains(clause));
    }
    assert!(strict(&with_member("conflicts", "[]")).feed.items[0].conflicts.is_empty());
}

#[test]
fn an_update_has_a_when_or_a_by() {
    let reason = refusal(&strict(&with_member("history", "[{\"sequence\":1}]")));
    assert!(reason.contains("'when', a 'by', or both"), "{reason}");
    let reason = refusal(&strict(&with_member("history", "[{\"by\":\"a\"}]")));
    assert!(reason.contains("\"sequence\" is missing"), "{reason}");
    for when in ["2005-05-21T09:43:33.0Z", "2005-05-21T09:43:33+00:00", "2005-02-30T00:00:00Z"] {
        let history = format!("[{{\"sequence\":1,\"when\":\"{when}\"}}]");
        assert!(refusal(&tolerant(&with_member("history", &history))).contains("\"when\""));
    }
    let lower = with_member("history", "[{\"sequence\":1,\"when\":\"2005-05-21t09:43:33z\"}]");
    assert!(refusal(&strict(&lower)).contains("upper case"));
    let kept = &tolerant(&lower).feed.items[0];
    assert!(written(kept).contains("2005-05-21t09:43:33z"));
}

#[test]
fn a_single_object_for_an_array_is_a_fault_in_strict_mode_and_a_warning_else() {
    let text = with_member("history", "{\"sequence\":1,\"by\":\"a\"}");
    assert!(refusal(&strict(&text)).contains("\"history\" must be an array"));
    let lenient = tolerant(&text);
    assert_eq!((lenient.feed.items.len(), lenient.diagnostics.len()), (1, 1));
    let items = "{\"items\":{\"title\":\"t\"}}";
    assert!(read(items.as_bytes(), &ReadOptions::strict()).is_err());
    assert_eq!(tolerant(items).feed.plain_items, 1);
}

#[test]
fn a_collection_is_an_object_with_items() {
    for text in ["[]", "{}", "1", "{\"items\":null}", "{\"items\":1}", "{\"items\":{}}"] {
        let error = read(text.as_bytes(), &ReadOptions::strict()).unwrap_err();
        assert!(matches!(error, ReadError::Document { .. }), "{text}");
    }
    let empty = strict("{\"title\":\"none\",\"items\":[]}");
    assert_eq!((empty.title.as_deref(), empty.feed.items.len()), (Some("none"), 0));
}

#[test]
fn items_without_sync_do_not_take_part_and_faulty_items_are_refused_alone() {
    let text = collection(&format!("{{\"a\":1}},{CREATED},7,{{\"sync\":[]}},{{\"sync\":{{}}}}"));
    let reading = strict(&text);
    assert_eq!((reading.feed.plain_items, reading.feed.items.len()), (1, 1));
    let refused: Vec<_> = reading.refused.iter().map(|refused| refused.index).collect();
    assert_eq!(refused, [2, 3, 4]);
    assert!(reading.refused[0].reason.message.contains("an item must be an object"));
    assert!(reading.refused[1].reason.message.contains("\"sync\" must be an object"));
    assert!(reading.refused[2].reason.message.contains("\"id\" is missing"));
}

#[test]
fn conflicts_are_whole_items_of_the_same_id() {
    let conflict = |id: &str, inner: &str| {
        format!(
            "{{\"x\":\"{id}\",\"sync\":{{\"id\":\"{id}\",\"updates\":2,\"noconflicts\":false,\
             \"history\":[{{\"sequence\":2,\"by\":\"b\"}}]{inner}}}}}"
        )
    };
    let one = strict(&with_member("conflicts", &format!("[{}]", conflict("i", ""))));
    let item = &one.feed.items[0];
    assert_eq!((item.conflicts.len(), one.diagnostics.len()), (1, 0));
    assert_eq!(item.conflicts[0].payload.text(), "{\"x\":\"i\"}");
    assert_eq!(item.conflicts[0].dot().by().unwrap().as_str(), "b");

    let other = strict(&with_member("conflicts", &format!("[{}]", conflict("j", ""))));
    assert!(refusal(&other).contains("a conflict has the id \"j\""));
    let bare = strict(&with_member("conflicts", "[{\"x\":1}]"));
    assert!(refusal(&bare).contains("a conflict has no \"sync\""));

    let nested = conflict("i", &format!(",\"conflicts\":[{}]", conflict("i", "")));
    let nested = strict(&with_member("conflicts", &format!("[{nested}]")));
    assert_eq!(nested.feed.items[0].conflicts.len(), 2);
    assert!(nested.diagnostics[0].message.contains("conflicts itself"));

    let text = with_member("conflicts", &format!("[{}]", conflict("i", "")));
    let marked = text.replacen("\"noconflicts\":\"false\"", "\"noconflicts\":\"true\"", 1);
    assert_eq!(strict(&marked).diagnostics.len(), 2);
}

#[test]
fn duplicate_names_and_lone_surrogates_cost_the_item_or_the_document() {
    let twice = collection(&format!("{{\"a\":1,\"a\":2,\"sync\":{{}}}},{CREATED}"));
    let reading = strict(&twice);
    assert_eq!((reading.refused.len(), reading.feed.items.len()), (1, 1));
    assert_eq!(reading.refused[0].reason.position.column, 18);
    let half = strict(&collection(&format!("{CREATED},{{\"a\":\"\\ud800\"}}")));
    assert_eq!((half.refused.len(), half.feed.items.len()), (1, 1));
    for text in ["{\"items\":[],\"items\":[]}", "{\"x\":\"\\udc00\",\"items\":[]}"] {
        assert!(read(text.as_bytes(), &ReadOptions::tolerant()).is_err(), "{text}");
    }
}

#[test]
fn an_id_that_occurs_twice_is_a_fault() {
    let text = collection(&format!("{CREATED},{CREATED}"));
    let reading = strict(&text);
    assert_eq!((reading.feed.items.len(), reading.refused.len()), (1, 1));
    let lenient = tolerant(&text);
    assert_eq!((lenient.feed.items.len(), lenient.diagnostics.len()), (2, 1));
}

#[test]
fn an_item_that_is_too_deep_to_become_a_conflict_is_refused() {
    let sync = r#""sync":{"id":"i","updates":1,"history":[{"sequence":1,"by":"a"}]}"#;
    for (depth, refused) in [(251, 0), (252, 1)] {
        let nested = "[".repeat(depth - 1) + &"]".repeat(depth - 1);
        let reading = strict(&collection(&format!("{{\"a\":{nested},{sync}}}")));
        assert_eq!(reading.refused.len(), refused);
        for item in reading.feed.items {
            let conflicts = vec![item.winner.clone()];
            let conflicted = Item { conflicts, ..item };
            assert_eq!(strict(&written(&conflicted)).feed.items[0], conflicted);
        }
    }
}

#[test]
fn sharing_is_read_and_its_faults_count_as_absent() {
    let sharing = |sharing: &str| strict(&format!("{{\"sharing\":{sharing},\"items\":[]}}"));
    let whole = sharing(
        r#"{"since":"1","until":"2","expires":"2006-05-02T09:10:33Z","x":1,"related":[
        {"link":"http://h/all","type":"complete","title":"all"},{"link":"http://h/a","type":"aggregated"}]}"#,
    );
    let read = whole.feed.sharing.unwrap();
    assert_eq!(whole.diagnostics, []);
    let window = read.window.as_ref().unwrap();
    assert_eq!((&*window.since, &*window.until), ("1", "2"));
    assert_eq!(
        (read.complete(), read.related[1].kind),
        (Some("http://h/all"), RelatedKind::Aggregated)
    );
    for (text, related) in [
        (r#"{"since":"1"}"#, 0),
        (r#"{"since":"1","until":""}"#, 0),
        (r#"{"since":"2","until":"1"}"#, 0),
        (r#"{"expires":"2 May 2006"}"#, 0),
        (r#"{"related":{}}"#, 0),
        (
            r#"{"related":[{"link":"all.xml","type":"complete"},{"link":"u:x","type":"complete"}]}"#,
            1,
        ),
        (r#"{"related":[{"link":"//h/x","type":"complete"}]}"#, 0),
        (r#"{"related":[{"link":"http://h/x#f","type":"complete"}]}"#, 0),
        (r#"{"related":[{"link":"http://h/x","type":"Complete"}]}"#, 0),
        (r#"{"related":[{"link":"http://h/x"}]}"#, 0),
        (r#"{"related":[{"type":"complete"}]}"#, 0),
    ] {
        let reading = sharing(text);
        let read = reading.feed.sharing.unwrap();
        assert_eq!(
            (&read.window, read.expires, read.related.len()),
            (&None, None, related),
            "{text}"
        );
        assert!(
            reading.diagnostics.iter().any(|remark| remark.severity == Severity::Fault),
            "{text}"
        );
    }
    assert_eq!(sharing("null").feed.sharing, None);
    assert_eq!(sharing("[]").feed.sharing, None);
}

#[test]
fn sharing_is_written_as_it_is_read() {
    let text = r#"{"since":"1","until":"2","expires":"2006-05-02T09:10:33Z","related":[{"link":"http://h/all","title":"all","type":"complete"}]}"#;
    let read = strict(&format!("{{\"sharing\":{text},\"items\":[]}}")).feed.sharing;
    let head = FeedHead {
        id: "urn:x",
        title: "",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: read.as_ref(),
    };
    let (mut writer, mut out) = (Writer::new(), String::new());
    writer.begin(&mut out, &head);
    writer.end(&mut out);
    assert!(out.contains(&format!("\"sharing\":{text}")), "{out}");
    assert_eq!(strict(&out).feed.sharing, read);
}
