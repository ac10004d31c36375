//! Effects of records (LR2).

use crate::support::*;
use feedsync_log::{Line, Millis};
use feedsync_reading_state::{
    Action, Change, MAX_PRESERVED_CHANGE_BYTES, MAX_PRESERVED_CHANGES, ReaderState,
};
use proptest::prelude::*;

fn of_feed(act: &str, details: &str) -> String {
    format!(
        r#"{{"v":1,"id":"a:1","ts":"5.0","obj":{{"kind":"feed","id":"https://a.example/feed"}},"act":"{act}"{details}}}"#
    )
}

fn of_article(act: &str, details: &str) -> String {
    format!(
        r#"{{"v":1,"id":"a:1","ts":"5.0","obj":{{"kind":"article","id":"x","feed":"https://a.example/feed"}},"act":"{act}"{details}}}"#
    )
}

#[test]
fn each_act_is_read() {
    let x = || article("x");
    let at = Some(millis(7));
    for (line, action) in [
        (of_feed("subscribe", ""), Action::Subscribe { title: None, folder: None, position: None }),
        (
            of_feed("subscribe", r#","title":"A feed","folder":["News","Local"],"position":"4k""#),
            Action::Subscribe {
                title: Some("A feed".parse().unwrap()),
                folder: Some(folder(&["News", "Local"])),
                position: Some("4k".parse().unwrap()),
            },
        ),
        (of_feed("unsubscribe", ""), Action::Unsubscribe),
        (
            of_feed("rename", r#","title":"A""#),
            Action::Rename { title: Some("A".parse().unwrap()) },
        ),
        (of_feed("rename", r#","title":null"#), Action::Rename { title: None }),
        (of_feed("move", r#","folder":[]"#), Action::Move { folder: folder(&[]) }),
        (of_feed("place", r#","position":"V""#), Action::Place { position: "V".parse().unwrap() }),
        (
            of_feed("feed-moved", r#","to":"HTTPS://B.example/feed""#),
            Action::FeedMoved { to: feed("b") },
        ),
        (of_feed("read-up-to", r#","at":7"#), Action::ReadUpTo { at: millis(7) }),
        (of_article("read", ""), Action::Read { article: x(), at: None }),
        (of_article("read", r#","at":7"#), Action::Read { article: x(), at }),
        (
            of_article("unread", r#","at":7,"why":["not","known"]"#),
            Action::Unread { article: x(), at },
        ),
        (of_article("star", ""), Action::Star { article: x() }),
        (of_article("unstar", ""), Action::Unstar { article: x() }),
        (of_article("hide", ""), Action::Hide { article: x() }),
        (of_article("unhide", ""), Action::Unhide { article: x() }),
        (
            of_article("tag", r#","tag":"later""#),
            Action::Tag { article: x(), tag: "later".parse().unwrap() },
        ),
        (
            of_article("untag", r#","tag":"later""#),
            Action::Untag { article: x(), tag: "later".parse().unwrap() },
        ),
    ] {
        let record = record(&line);
        let read = Action::read(&Change::from(&record));
        assert_eq!(read, Some((feed("a"), action.clone())), "{line}");
        let mut applied = ReaderState::default();
        assert!(applied.apply(&record), "{line}");
        let told = applied.feed("https://a.example/feed").unwrap();
        assert_eq!(*told, action.state(stamp("5.0@a")), "{line}");
        assert_eq!(ReaderState::delta(&record), Some((feed("a"), told.clone())));
    }
}

#[test]
fn unknown_records_have_no_effect_and_are_preserved() {
    let long = format!(r#","title":"{}""#, "x".repeat(600));
    let deep = format!(r#","folder":[{}]"#, vec!["\"F\""; 17].join(","));
    for line in [
        of_feed("share", ""),
        of_feed("read", ""),
        of_feed("subscribe", r#","title":7"#),
        of_feed("subscribe", r#","title":null"#),
        of_feed("subscribe", &long),
        of_feed("rename", ""),
        of_feed("rename", r#","title":"""#),
        of_feed("move", ""),
        of_feed("move", r#","folder":"News""#),
        of_feed("move", r#","folder":["News",7]"#),
        of_feed("move", &deep),
        of_feed("place", r#","position":"0""#),
        of_feed("feed-moved", r#","to":"elsewhere""#),
        of_feed("read-up-to", ""),
        of_feed("read-up-to", r#","at":-1"#),
        of_feed("read-up-to", r#","at":1.5"#),
        of_feed("read-up-to", r#","at":253402300800000"#),
        of_article("subscribe", ""),
        of_article("read", r#","at":"7""#),
        of_article("tag", ""),
        of_article("tag", r#","tag":"\u0000""#),
        of_article("star", "").replace("https:", "file:"),
        of_article("star", "").replace(r#""id":"x""#, r#""id":"""#),
        of_article("star", "").replace("article", "picture"),
        of_feed("set", r#","value":1"#),
        of_feed("set", r#","value":1"#).replace(r#""kind":"feed""#, r#""kind":"setting""#),
        of_feed("subscribe", "")
            .replace(r#""id":"https"#, r#""feed":"https://a.example/","id":"https"#),
    ] {
        let record = record(&line);
        assert_eq!(ReaderState::delta(&record), None, "{line}");
        let mut state = ReaderState::default();
        assert!(state.apply(&record), "{line}");
        assert!(!state.apply(&record), "{line}");
        assert_eq!((state.feeds().count(), state.kept()), (0, 1), "{line}");
        let [change] = &state.changes_missing_in(&ReaderState::default())[..] else {
            panic!("{line}")
        };
        assert_eq!(change.clone().recorded(record.id.clone()), record, "{line}");
    }
}

#[test]
fn preserved_records_are_bounded_to_the_latest() {
    let change = |number: usize, details: &str| {
        let line = of_feed("share", details).replace("5.0", &format!("{number}.0"));
        Change::from(&record(&line))
    };
    let changes: Vec<_> =
        (0..MAX_PRESERVED_CHANGES + 10).map(|number| change(number, "")).collect();
    let (ascending, descending) = (state(&changes), state(changes.iter().rev()));
    assert_eq!(ascending, descending);
    assert_eq!(ascending.kept(), MAX_PRESERVED_CHANGES);
    let kept = ascending.changes_missing_in(&ReaderState::default());
    assert_eq!(kept[..], changes[10..]);
    let long = format!(r#","note":"{}""#, "x".repeat(MAX_PRESERVED_CHANGE_BYTES));
    assert!(!ReaderState::default().apply_change(&change(1, &long)));
}

#[test]
fn read_up_to_leaves_later_articles_and_such_without_a_date_alone() {
    let done = [(Action::ReadUpTo { at: millis(3) }, "10.0@a")];
    let state = feed_state(&done);
    let x = article("x");
    assert!(state.is_read(&x, Some(millis(3))));
    assert!(!state.is_read(&x, Some(millis(4))));
    assert!(!state.is_read(&x, None));
}

/// An unread article needs no mark, unless it has no date and a mark up to a date may cover it.
#[test]
fn mark_as_unread_is_recorded_only_if_it_has_an_effect() {
    let unread = |at| Action::Unread { article: article("x"), at };
    let up_to = feed_state(&[(Action::ReadUpTo { at: millis(3) }, "10.0@a")]);
    for (state, at, is_told) in [
        (feed_state(&[]), None, true),
        (feed_state(&[]), Some(millis(4)), true),
        (up_to.clone(), Some(millis(4)), true),
        (up_to.clone(), Some(millis(3)), false),
        (up_to, None, false),
    ] {
        assert_eq!(unread(at).is_included_in(&state), is_told, "{at:?}");
    }
}

#[test]
fn later_of_opposite_marks_wins_in_any_order() {
    let x = || article("x");
    let unread = (Action::Unread { article: x(), at: Some(millis(2)) }, "11.0@b");
    let up_to = (Action::ReadUpTo { at: millis(3) }, "10.0@a");
    for done in [[unread.clone(), up_to.clone()], [up_to, unread]] {
        assert!(!feed_state(&done).is_read(&x(), Some(millis(2))));
    }
    let later = (Action::ReadUpTo { at: millis(2) }, "12.0@a");
    assert!(feed_state(&[later]).is_read(&x(), Some(millis(2))));
}

/// If two devices act in the same millisecond, the same action wins everywhere (LR15, LT8).
#[test]
fn a_tie_is_decided_by_the_device() {
    let star = (Action::Star { article: article("x") }, "5.0@a");
    let unstar = (Action::Unstar { article: article("x") }, "5.0@b");
    for done in [[star.clone(), unstar.clone()], [unstar, star]] {
        assert!(!feed_state(&done).is_starred(&article("x")));
    }
}

proptest! {
    #[test]
    fn recorded_actions_round_trip(action in any_action(), feed in any_feed(), stamp in any_stamp()) {
        let change = action.change(&feed, stamp);
        prop_assert_eq!(Action::read(&change), Some((feed, action)));
        let record = change.clone().recorded("b:3".parse().unwrap());
        let Line::Record(again) = Line::read(record.line().as_bytes()) else { panic!("{record:?}") };
        prop_assert_eq!(Change::from(&again), change);
    }

    #[test]
    fn dates_up_to_the_last_are_read(at in 0..=Millis::MAX.get()) {
        let record = record(&of_feed("read-up-to", &format!(r#","at":{at}"#)));
        let (_, state) = ReaderState::delta(&record).unwrap();
        prop_assert_eq!(state.up_tos()[0].at, millis(at));
    }
}
