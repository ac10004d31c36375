use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::header::{Base, Header};

fn record(line: &str) -> Record {
    match Line::read(line.as_bytes()) {
        Line::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn record_states_act_and_object() {
    let line = r#"{"v":1,"id":"laptop:7","ts":"1795330800000.2","obj":{"kind":"article","id":"urn:x:1","feed":"https://example.org/feed"},"act":"tag","tag":"later"}"#;
    let record = record(line);
    assert_eq!(record.id.to_string(), "laptop:7");
    assert_eq!(record.stamp.to_string(), "1795330800000.2@laptop");
    assert_eq!(record.object.feed.as_deref(), Some("https://example.org/feed"));
    assert_eq!((&*record.act, &record.details["tag"]), ("tag", &json!("later")));
    assert_eq!(Line::read(record.line().as_bytes()), Line::Record(record));
}

#[test]
fn record_of_another_devices_change_keeps_its_stamp() {
    let line = r#"{"v":1,"id":"laptop:7","ts":"5.0@phone","obj":{"kind":"feed","id":"x"},"act":"subscribe"}"#;
    let record = record(line);
    assert_eq!(record.stamp.device.as_str(), "phone");
    assert_eq!(Line::read(record.line().as_bytes()), Line::Record(record));
}

#[test]
fn a_header_begins_a_log() {
    let header = Header {
        generation: "f81d4fae7dec11d0".to_owned(),
        number: 2,
        snapshot: Some(Base { covers: "1.9c2e11ab-4096".to_owned() }),
    };
    assert_eq!(Line::read(header.line().as_bytes()), Line::Header(header));
}

#[test]
fn a_line_of_a_later_version_is_known_as_such() {
    assert_eq!(Line::read(br#"{"v":2,"what":"ever"}"#), Line::Newer { version: 2 });
}

#[test]
fn malformed_record_names_its_fault() {
    let member = |name| Line::Foreign(LineError::Member(name));
    let rest = r#""obj":{"kind":"feed","id":"x"},"act":"subscribe"}"#;
    for (line, expected) in [
        (r#"{"id":"a:1"}"#.to_owned(), member("v")),
        (r#"{"v":"1"}"#.to_owned(), member("v")),
        (format!(r#"{{"v":0,"id":"a:1","ts":"1.0",{rest}"#), member("v")),
        (format!(r#"{{"v":1,"ts":"1.0",{rest}"#), member("id")),
        (format!(r#"{{"v":1,"id":"a:0","ts":"1.0",{rest}"#), member("id")),
        (format!(r#"{{"v":1,"id":"a:1","ts":"yesterday",{rest}"#), member("ts")),
        (r#"{"v":1,"id":"a:1","ts":"1.0","act":"read"}"#.to_owned(), member("obj")),
        (
            r#"{"v":1,"id":"a:1","ts":"1.0","obj":{"id":"x"},"act":"read"}"#.to_owned(),
            member("obj"),
        ),
        (
            r#"{"v":1,"id":"a:1","ts":"1.0","obj":{"kind":"feed","id":"x"}}"#.to_owned(),
            member("act"),
        ),
        (r#"{"v":1,"log":{}}"#.to_owned(), member("log")),
    ] {
        assert_eq!(Line::read(line.as_bytes()), expected, "{line}");
    }
    for text in ["", "\n", "{", "{\"v\":1,\"id\":\"a", "{\"v\":1}{"] {
        let is_torn = text != "{\"v\":1}{";
        assert_eq!(
            Line::read(text.as_bytes()) == Line::Foreign(LineError::Torn),
            is_torn,
            "{text}"
        );
    }
    for text in ["[]", "[", "7", "{\"v\":1}}", "\u{0}", "nonsense"] {
        assert!(matches!(Line::read(text.as_bytes()), Line::Foreign(LineError::Json(_))), "{text}");
    }
    assert!(matches!(Line::read(b"\xff\xfe"), Line::Foreign(LineError::Json(_))));
    let deep = format!(r#"{{"v":1,"x":{}{}}}"#, "[".repeat(60), "]".repeat(60));
    assert_eq!(Line::read(deep.as_bytes()), Line::Foreign(LineError::TooLarge));
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(Line::read(deeper.as_bytes()), Line::Foreign(_)));
    let long = format!(r#"{{"v":1,"x":"{}"}}"#, "x".repeat(MAX_RECORD_BYTES));
    assert_eq!(Line::read(long.as_bytes()), Line::Foreign(LineError::TooLarge));
}

/// A valid record with a parameter.
fn detailed(detail: &str) -> String {
    format!(
        r#"{{"v":1,"id":"a:1","ts":"1.0","obj":{{"kind":"feed","id":"x"}},"act":"read","x":{detail}}}"#
    )
}

#[test]
fn values_may_be_nested_to_the_limit_and_no_deeper() {
    let arrays = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth| format!("{}7{}", r#"{"y":"#.repeat(depth), "}".repeat(depth));
    for nested in [arrays, objects] {
        // The record itself is one level.
        record(&detailed(&nested(MAX_DEPTH - 1)));
        let deeper = detailed(&nested(MAX_DEPTH));
        assert_eq!(Line::read(deeper.as_bytes()), Line::Foreign(LineError::TooLarge));
    }
}

#[test]
fn record_may_have_the_maximum_size_and_no_byte_more() {
    let room = MAX_RECORD_BYTES - detailed("\"\"").len();
    let sized = |bytes| detailed(&format!("\"{}\"", "x".repeat(bytes)));
    assert_eq!(record(&sized(room)).details["x"].as_str().map(str::len), Some(room));
    let larger = sized(room + 1);
    assert_eq!(Line::read(larger.as_bytes()), Line::Foreign(LineError::TooLarge));
}

#[test]
fn detail_cannot_override_a_member_of_the_record() {
    let line = r#"{"v":1,"id":"a:1","ts":"1.0","obj":{"kind":"feed","id":"x"},"act":"read"}"#;
    let mut record = record(line);
    record.details.insert("act".to_owned(), json!("unsubscribe"));
    assert_eq!(Line::read(record.line().as_bytes()), Line::read(line.as_bytes()));
}

proptest! {
    #[test]
    fn any_record_round_trips(
        id in "[a-z0-9_-]{1,20}:[1-9][0-9]{0,17}",
        stamp in "(0|[1-9][0-9]{0,13})\\.(0|[1-9][0-9]{0,8})@[A-Z]{1,5}",
        kind in any::<String>(), object in any::<String>(), feed in any::<Option<String>>(),
        act in any::<String>(), name in "[b-hj-k]{2,9}", detail in any::<String>(),
    ) {
        let object = Object { kind, id: object, feed };
        let details = [(name, detail.into())].into_iter().collect();
        let (id, stamp) = (id.parse().unwrap(), stamp.parse().unwrap());
        let record = Record { id, stamp, object, act, details };
        let line = record.line();
        prop_assert_eq!(line.matches('\n').count(), 1);
        prop_assert_eq!(Line::read(line.as_bytes()), Line::Record(record));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Line::read(&bytes);
    }
}
