//! The document of a feed and the snapshot of all feeds: equal states have equal bytes, and members of later
//! versions are preserved (LR45, LR48, LR49).

use crate::support::*;
use feedsync_log::SnapshotCoverage;
use feedsync_reading_state::{
    Action, DocumentError, FeedState, ReaderState, SettingName, SettingValue, Snapshot,
    SnapshotFault, document_id, read_document, read_documents, write_document,
};

const DOCUMENT: &str = concat!(
    r#"{"feed":"https://a.example/feed","folder":[["News","Local"],"1000.0@laptop"],"#,
    r#""hide":{"phone":[["x",8]]},"moved":["https://b.example/feed","9.0@laptop"],"position":["4k","1000.0@laptop"],"#,
    r#""read":{"laptop":[["x",null,5],["x",7,4,2]],"phone":[["\"q\"",7,6]]},"star":{"phone":[["x",8]]},"#,
    r#""subscribed":[true,"1000.0@laptop"],"tag":{"later":{"phone":[["x",8,1]]}},"title":[null,"9.0@laptop"],"#,
    r#""unhide":{"phone":[["y",8]]},"unread":{"phone":[["y",3,8]]},"unstar":{"phone":[["y",8]]},"untag":{"a":{"phone":[["x",8]]}},"#,
    r#""upto":[[2,"9.0@phone"],[3,"2.0@phone"]],"v":1}"#,
);

fn faulty(document: &str) -> (String, String) {
    match read_document(document) {
        Err(DocumentError::Member { member, message }) => (member, message),
        other => panic!("{document}: {other:?}"),
    }
}

#[test]
fn a_document_says_all_that_is_known_of_a_feed() {
    let (feed, state) = read_document(DOCUMENT).unwrap();
    assert_eq!(feed, crate::support::feed("a"));
    assert_eq!(write_document(&feed, &state), DOCUMENT);
    let (x, y) = (article("x"), article("y"));
    assert!(state.is_read(&x, None) && state.is_starred(&x) && state.is_subscribed());
    assert!(!state.is_read(&y, Some(millis(3))) && !state.is_starred(&y));
    assert!(state.is_read(&y, Some(millis(2))));
    assert_eq!(state.folder(), &folder(&["News", "Local"]));
    assert_eq!(state.tags(&x).map(|tag| tag.to_string()).collect::<Vec<_>>(), ["later"]);
    assert_eq!(state.starred().collect::<Vec<_>>(), [&x]);
    assert_eq!(state.tagged().count(), 1);
    assert!(state.is_hidden(&x) && !state.is_hidden(&y));
}

#[test]
fn order_of_members_and_marks_and_blanks_is_irrelevant() {
    let other = r#" { "v" : 1, "unread": {"b":[["x",1,5]], "a":[], "b":[["y",1,5,0],["x",1,4]]},
        "upto": [[3,"1.0@a"],[3,"2.0@a"],[2,"1.0@a"]], "feed": "HTTPS://A.example:443/feed" } "#;
    let (feed, state) = read_document(other).unwrap();
    assert_eq!(
        write_document(&feed, &state),
        r#"{"feed":"https://a.example/feed","unread":{"b":[["x",1,5],["y",1,5]]},"upto":[[3,"2.0@a"]],"v":1}"#
    );
}

#[test]
fn members_of_a_later_version_are_kept_and_joined_by_name() {
    let document = |members: &str| {
        let text = format!(r#"{{"feed":"https://a.example/feed",{members}"v":1}}"#);
        read_document(&text).unwrap().1
    };
    let one = document(r#""colour":[1.10, "red"],"zoom":{"b":1,"a":2},"#);
    let other = document(r#""colour":[1.10,"tan"],"note":1e400,"#);
    let (mut left, mut right) = (one.clone(), other.clone());
    assert!(left.join(other.clone()) && right.join(one));
    assert_eq!(left, right);
    assert!(!left.join(other));
    assert_eq!(
        write_document(&feed("a"), &left),
        r#"{"colour":[1.10,"tan"],"feed":"https://a.example/feed","note":1e400,"v":1,"zoom":{"b":1,"a":2}}"#
    );
}

/// The example in the published schema is parsed and written, on one line.
#[test]
fn the_published_example_is_a_document() {
    let schema = include_str!("../../../../docs/reader-schema.md");
    let example = schema.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: String = example.lines().map(str::trim_start).collect();
    let (feed, state) = read_document(&example).unwrap();
    assert_eq!(write_document(&feed, &state), example);
    let id = "feed:92153672b014740ae5e1533b779507014a6a8b5f44fb9adbefc3cc09e0368740";
    assert_eq!(document_id(&feed), id);
}

#[test]
fn conflicting_revisions_join_and_members_of_the_database_are_ignored() {
    let revision = |rev: &str, said: &str| {
        format!(
            r#"{{"_id":"feed:1","_rev":"{rev}","_conflicts":["a"],"feed":"https://a.example/feed",{said}"v":1}}"#
        )
    };
    let one = revision("2-a", r#""star":{"a":[["x",1]]},"subscribed":[true,"1.0@a"],"#);
    let other = revision("2-b", r#""read":{"b":[["x",1,2]]},"subscribed":[false,"2.0@b"],"#);
    let joined = r#"{"feed":"https://a.example/feed","read":{"b":[["x",1,2]]},"star":{"a":[["x",1]]},"subscribed":[false,"2.0@b"],"v":1}"#;
    for revisions in [[&one, &other], [&other, &one]] {
        let (feed, state) = read_documents(revisions.map(String::as_str)).unwrap().unwrap();
        assert_eq!(write_document(&feed, &state), joined);
    }
    assert_eq!(read_documents([]), Ok(None));
    let stranger = one.replace("a.example", "b.example");
    let error = read_documents([one.as_str(), &stranger]).unwrap_err().to_string();
    assert!(
        error.contains("\"feed\": https://b.example/feed differs from https://a.example/feed"),
        "{error}"
    );
    let newer = one.replace("\"v\":1", "\"v\":2");
    assert_eq!(read_documents([one.as_str(), &newer]), Err(DocumentError::Newer { version: 2 }));
}

#[test]
fn a_document_of_a_later_version_is_refused() {
    let later = r#"{"v":2,"feed":7}"#;
    assert_eq!(read_document(later), Err(DocumentError::Newer { version: 2 }));
}

#[test]
fn malformed_document_is_rejected_with_its_fault() {
    for text in ["", "[]", "7", "{", "{}}", r#"{"v":1,"v":1}"#, "\u{0}"] {
        assert!(matches!(read_document(text), Err(DocumentError::Json(_))), "{text}");
    }
    assert_eq!(faulty("{}").0, "v");
    assert_eq!(faulty(r#"{"v":"1"}"#).0, "v");
    assert_eq!(faulty(r#"{"v":0}"#).0, "v");
    assert_eq!(faulty(r#"{"v":1}"#).0, "feed");
    assert_eq!(faulty(r#"{"v":1,"feed":"ftp://a.example/"}"#).0, "feed");
    let stamp = r#""1.0@a""#;
    for (member, value) in [
        ("subscribed", format!("[1,{stamp}]")),
        ("subscribed", "true".to_owned()),
        ("subscribed", r#"[true,"1@a"]"#.to_owned()),
        ("subscribed", format!("[true,{stamp},1]")),
        ("title", format!("[\"\",{stamp}]")),
        ("title", format!("[\"{}\",{stamp}]", "x".repeat(600))),
        ("folder", format!("[\"News\",{stamp}]")),
        ("folder", format!("[[{}],{stamp}]", ["\"F\""; 17].join(","))),
        ("position", format!("[\"10\",{stamp}]")),
        ("moved", format!("[\"nowhere\",{stamp}]")),
        ("upto", format!("[[null,{stamp}]]")),
        ("upto", format!("[[253402300800000,{stamp}]]")),
        ("upto", "[[1]]".to_owned()),
        ("upto", format!("[[-1,{stamp}]]")),
        ("read", "[]".to_owned()),
        ("read", r#"{"a b":[]}"#.to_owned()),
        ("read", r#"{"a":[["x",1]]}"#.to_owned()),
        ("read", r#"{"a":[["x"]]}"#.to_owned()),
        ("read", r#"{"a":[["",null,1]]}"#.to_owned()),
        ("read", format!(r#"{{"a":[["{}",null,1]]}}"#, "x".repeat(1_025))),
        ("read", r#"{"a":[["x",null,null]]}"#.to_owned()),
        ("read", r#"{"a":[["x",null,1,4294967296]]}"#.to_owned()),
        ("read", r#"{"a":[["x",null,1,0,0]]}"#.to_owned()),
        ("unread", r#"{"a":[["x",1.5,1]]}"#.to_owned()),
        ("star", r#"{"a":["x"]}"#.to_owned()),
        ("unstar", r#"{"a":[[7,1]]}"#.to_owned()),
        ("tag", r#"{"":{"a":[["x",1]]}}"#.to_owned()),
        ("untag", r#"{"t":{"a":[["x",1],[]]}}"#.to_owned()),
        ("later", format!("{}{}", "[".repeat(100), "]".repeat(100))),
        ("later", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("later", format!("\"{}\"", "x".repeat(100_000))),
    ] {
        let document = format!(r#"{{"v":1,"feed":"https://a.example/feed","{member}":{value}}}"#);
        let (named, message) = faulty(&document);
        assert_eq!(named, member, "{document}");
        assert!(!message.is_empty());
    }
}

/// 500 feeds with 200 articles each, all of which are read. Two in a hundred are marked individually, and
/// half of those are starred (LT7).
#[test]
fn a_hundred_thousand_articles_take_little_room() {
    let mut state = ReaderState::default();
    let mut articles = 0;
    for number in 0..500_u64 {
        let feed = format!("https://news-{number}.example/feeds/all.atom.xml").parse().unwrap();
        let mut known = FeedState::default();
        let subscribe = Action::Subscribe {
            title: Some(format!("The news of the day, part {number}").parse().unwrap()),
            folder: Some(folder(&["News", "Daily"])),
            position: Some(format!("{number}V").parse().unwrap()),
        };
        known.join(subscribe.state(stamp("1795330800000.0@9f86d081884c7d65")));
        let at = |index: u64| millis(1_795_000_000_000 + index * 3_600_000);
        let when = |index: u64| stamp(&format!("{}.0@9f86d081884c7d65", 1_795_400_000_000 + index));
        for index in 0..200 {
            articles += 1;
            let article = || {
                format!("https://news-{number}.example/2026/11/22/article-number-{index}")
                    .parse()
                    .unwrap()
            };
            known.join(Action::Read { article: article(), at: Some(at(index)) }.state(when(index)));
            if index % 100 == 50 {
                known.join(Action::Star { article: article() }.state(when(index)));
            }
        }
        known.join(Action::ReadUpTo { at: at(197) }.state(when(300)));
        state.join_feed(feed, known);
    }
    assert_eq!(articles, 100_000);
    let (marked, kept): (usize, usize) =
        (state.feeds().map(|(_, feed)| feed.marked()).sum(), state.feeds().count());
    assert_eq!((marked, kept), (2_000, 500));
    let snapshot = Snapshot { covers: None, state };
    let bytes = snapshot.write();
    println!("{} bytes", bytes.len());
    assert!(bytes.len() < 400_000, "{}", bytes.len());
    assert_eq!(Snapshot::read(bytes.as_bytes()), Ok(snapshot));
}

fn snapshot() -> String {
    let mut state = ReaderState::default();
    for line in [
        r#"{"v":1,"id":"a:1","ts":"1.0","obj":{"kind":"feed","id":"https://a.example/feed"},"act":"subscribe"}"#,
        r#"{"v":1,"id":"a:2","ts":"2.0","obj":{"kind":"feed","id":"https://b.example/feed"},"act":"subscribe"}"#,
        r#"{"v":1,"id":"a:3","ts":"3.0","obj":{"kind":"feed","id":"https://b.example/feed"},"act":"share","n":1.5}"#,
    ] {
        state.apply(&record(line));
    }
    let covers = SnapshotCoverage {
        covers: "1.9c2e11ab-4096".to_owned(),
        offset: 4_096,
        overlap: "...}\n".to_owned(),
        generation: None,
    };
    Snapshot { covers: Some(covers), state }.write()
}

#[test]
fn a_snapshot_is_lines() {
    let lines = [
        r#"{"snapshot":{"feeds":2,"kept":1,"log":{"covers":"1.9c2e11ab-4096","offset":4096,"overlap":"...}\n"}},"v":1}"#,
        r#"{"feed":"https://a.example/feed","subscribed":[true,"1.0@a"],"v":1}"#,
        r#"{"feed":"https://b.example/feed","subscribed":[true,"2.0@a"],"v":1}"#,
        r#"{"act":"share","n":1.5,"obj":{"id":"https://b.example/feed","kind":"feed"},"ts":"3.0@a","v":1}"#,
    ];
    assert_eq!(snapshot().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn preserved_changes_are_applied_by_a_version_that_knows_them() {
    let later = snapshot().replace("share", "unsubscribe");
    let state = Snapshot::read(later.as_bytes()).unwrap().state;
    assert_eq!(state.kept(), 0);
    assert!(!state.feed("https://b.example/feed").unwrap().is_subscribed());
}

/// An earlier version preserves settings as changes that it does not understand, and hands them on.
#[test]
fn settings_stand_among_the_changes_of_a_snapshot() {
    let name: SettingName = "rule/1".parse().unwrap();
    let value = SettingValue::new(&serde_json::json!({"words": ["ä"]})).unwrap();
    let mut state = Snapshot::read(snapshot().as_bytes()).unwrap().state;
    state.apply_change(&name.change(Some(&value), stamp("7.0@a")));
    let text = Snapshot { covers: None, state: state.clone() }.write();
    let last = text.lines().rev().nth(1).unwrap();
    assert_eq!(
        last,
        r#"{"act":"set","obj":{"id":"rule/1","kind":"setting"},"ts":"7.0@a","v":1,"value":{"words":["ä"]}}"#
    );
    assert_eq!(Snapshot::read(text.as_bytes()).unwrap().state, state);
    assert_eq!(state.setting("rule/1"), Some(&value));
}

#[test]
fn a_snapshot_is_read_whole_or_not_at_all() {
    let whole = snapshot();
    for end in 0..whole.len() {
        assert!(Snapshot::read(&whole.as_bytes()[..end]).is_err(), "{end}");
    }
    type Says = fn(&SnapshotFault) -> bool;
    let faults: [(String, usize, Says); 10] = [
        (String::new(), 1, |fault| matches!(fault, SnapshotFault::Header)),
        (whole.replace("\"v\":1}\n{\"feed", "\"v\":3}\n{\"feed"), 1, |fault| {
            *fault == SnapshotFault::Newer(3)
        }),
        (whole.replacen("snapshot", "log", 1), 1, |fault| *fault == SnapshotFault::Header),
        (whole.replace("\"kept\":1", "\"kept\":2"), 4, |fault| *fault == SnapshotFault::Count(4)),
        (whole.replace("\"kept\":1", "\"kept\":0"), 4, |fault| *fault == SnapshotFault::Count(2)),
        (whole.replace("//b.", "//a."), 3, |fault| *fault == SnapshotFault::DuplicateFeed),
        (whole.replace("2.0@a", "2.0"), 3, |fault| matches!(fault, SnapshotFault::Document(_))),
        (whole.replace("\"act\":\"share\",", ""), 4, |fault| *fault == SnapshotFault::Change),
        (format!("{whole}\n"), 5, |fault| *fault == SnapshotFault::Count(3)),
        (whole.trim_end().to_owned(), 4, |fault| *fault == SnapshotFault::Line),
    ];
    for (text, line, says) in faults {
        let error = Snapshot::read(text.as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{error}: {text}");
        assert!(says(&error.fault), "{error}: {text}");
    }
    assert!(Snapshot::read(b"\xff\n").is_err_and(|error| error.fault == SnapshotFault::Line));
}
