use feedsync_log::{LogRequest, LogResponse, Session, Start};

use super::*;

fn replica(device: &str) -> Replica {
    let mut replica = Replica::new(device.parse().unwrap());
    replica.set_log("the log".to_owned());
    replica
}

fn feed() -> FeedAddress {
    "https://example.org/feed".parse().unwrap()
}

fn read(article: &str) -> Action {
    Action::Read { article: article.parse().unwrap(), at: Some(Millis::new(5)) }
}

fn unread(article: &str) -> Action {
    Action::Unread { article: article.parse().unwrap(), at: Some(Millis::new(5)) }
}

fn session() -> Session {
    Session::new(Some(Position::default()), Start::Whole)
}

/// A session that has read these lines completely.
fn having_read(lines: &str) -> (Session, Event) {
    let mut session = session();
    let ask = session.next(&[]).unwrap();
    let etag = Some(format!("\"1.0000000a-{}\"", lines.len()));
    let body = lines.as_bytes().to_vec();
    let answer = LogResponse { status: 200, etag, body, ended: true, ..LogResponse::default() };
    let event = session.handle_response(&ask, answer, 0);
    (session, event)
}

/// For marks that were set and removed, one record waits; an action without effect makes none (LR16).
#[test]
fn only_the_last_of_opposite_marks_waits() {
    let mut laptop = replica("laptop");
    for action in [read("a"), unread("a"), read("a"), read("a"), read("b")] {
        laptop.act(&feed(), &action, Millis::new(1));
    }
    let waiting = laptop.waiting();
    let ids: Vec<_> = waiting.iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(ids, ["laptop:3", "laptop:4"]);
    assert!(!laptop.act(&feed(), &read("a"), Millis::new(1)));
    // One mark up to a date replaces all of them (LR17).
    laptop.act(&feed(), &Action::ReadUpTo { at: Millis::new(9) }, Millis::new(2));
    assert_eq!(laptop.waiting_count(), 1);
}

/// An earlier local change that a later remote one repeats or overrules no longer waits; a later local one
/// does (LR11).
#[test]
fn later_remote_change_removes_an_earlier_waiting_one() {
    for (theirs, waits) in [(2, 0), (9, 0), (0, 1)] {
        let (mut laptop, mut phone) = (replica("laptop"), replica("phone"));
        phone.act(&feed(), &read("a"), Millis::new(theirs));
        laptop.act(&feed(), &read("a"), Millis::new(1));
        let line: String = phone.waiting().remove(0).1;
        let (mut session, event) = having_read(&line);
        laptop.apply(event, &mut session, 7).unwrap();
        assert_eq!(laptop.waiting_count(), waits, "{theirs}");
        // The opposite change is not a duplicate, and the later one wins (LR15).
        phone.act(&feed(), &unread("a"), Millis::new(theirs + 1));
        assert_eq!(phone.waiting_count(), 1);
    }
}

/// Records whose append got no response are recognized when they are read back (LR14, LR38).
#[test]
fn own_records_that_come_back_are_recognised() {
    let mut laptop = replica("laptop");
    laptop.act(&feed(), &read("a"), Millis::new(1));
    laptop.act(&feed(), &read("b"), Millis::new(1));
    let lines: String = laptop.waiting().iter().map(|(_, line)| line.as_str()).collect();
    let before = laptop.state().clone();
    let (mut session, event) = having_read(&lines);
    laptop.apply(event, &mut session, 7).unwrap();
    assert_eq!((laptop.waiting_count(), laptop.state()), (0, &before));
    assert_eq!(laptop.position(), Some(session.position()));
    assert_eq!(laptop.device().as_str(), "laptop");
}

/// A setting of another device arrives, the later value counts, and only the last value waits (LR2, LR15).
#[test]
fn settings_are_synchronised() {
    let (mut laptop, mut phone) = (replica("laptop"), replica("phone"));
    let name: SettingName = "rule/1".parse().unwrap();
    let value = |number: u8| SettingValue::new(&number.into()).unwrap();
    assert!(laptop.set(&name, Some(&value(1)), Millis::new(1)));
    assert!(!laptop.set(&name, Some(&value(1)), Millis::new(2)));
    assert!(laptop.set(&name, Some(&value(2)), Millis::new(2)));
    assert_eq!(laptop.waiting_count(), 1);
    phone.set(&name, Some(&value(3)), Millis::new(1));
    let line: String = laptop.waiting().remove(0).1;
    let (mut session, event) = having_read(&line);
    assert!(phone.apply(event, &mut session, 7).unwrap());
    assert_eq!((phone.state().setting("rule/1"), phone.waiting_count()), (Some(&value(2)), 0));
    // A stored replica keeps it, a log that lacks it gets it, and a compacted log has it.
    let phone = Replica::read(phone.write().as_bytes()).unwrap();
    assert_eq!(phone.state().setting("rule/1"), Some(&value(2)));
    let mut restored = self::session();
    laptop.apply(Event::Restarted, &mut restored, 7).unwrap();
    let (mut session, event) = having_read("\n");
    laptop.apply(event, &mut session, 7).unwrap();
    laptop.offer(&session);
    assert_eq!(laptop.waiting_count(), 1);
    assert!(laptop.set(&name, None, Millis::new(3)));
    assert_eq!((laptop.state().setting("rule/1"), laptop.waiting_count()), (None, 1));
    assert_eq!(laptop.state().settings().count(), 0);
}

/// Two replicas with one device name (a copied directory, a restored backup) are distinguished.
#[test]
fn replica_takes_a_new_name_after_foreign_records_under_its_name() {
    let mut laptop = replica("laptop");
    laptop.act(&feed(), &read("a"), Millis::new(1));
    let mut copy = laptop.clone();
    copy.act(&feed(), &read("b"), Millis::new(2));
    let lines: String = copy.waiting().iter().map(|(_, line)| line.as_str()).collect();
    laptop.act(&feed(), &unread("c"), Millis::new(2));
    laptop.act(&feed(), &Action::Star { article: "c".parse().unwrap() }, Millis::new(2));
    let (mut session, event) = having_read(&lines);
    laptop.apply(event, &mut session, 7).unwrap();
    assert_eq!(laptop.device(), &Device::minted(7));
    let waiting = laptop.waiting();
    assert!(waiting.iter().all(|(id, _)| id.device == Device::minted(7)), "{waiting:?}");
    assert!(laptop.state().feed(feed().as_str()).unwrap().is_starred(&"c".parse().unwrap()));
}

/// Changes that another log lacks are recorded again, with their original stamps (LR46).
#[test]
fn changes_missing_in_a_restored_log_are_recorded_again() {
    let mut laptop = replica("laptop");
    laptop.act(&feed(), &read("a"), Millis::new(1));
    let first = laptop.waiting().remove(0).1;
    laptop.act(&feed(), &read("b"), Millis::new(2));
    let lines: String = laptop.waiting().iter().map(|(_, line)| line.as_str()).collect();
    let (mut session, event) = having_read(&lines);
    laptop.apply(event, &mut session, 7).unwrap();
    assert_eq!(laptop.waiting_count(), 0);
    // Now the log has the first record only.
    let mut again = self::session();
    laptop.apply(Event::Restarted, &mut again, 7).unwrap();
    let stored = Replica::read(laptop.write().as_bytes()).unwrap();
    assert_eq!(stored.position(), None);
    for mut laptop in [laptop, stored] {
        let (mut session, event) = having_read(&first);
        laptop.apply(event, &mut session, 7).unwrap();
        assert!(laptop.offer(&session));
        let waiting = laptop.waiting();
        let [(id, line)] = &waiting[..] else { panic!("{waiting:?}") };
        assert_eq!(id.to_string(), "laptop:3");
        assert!(line.contains("\"ts\":\"2.0\"") && line.contains("\"id\":\"b\""), "{line}");
    }
}

/// A new replica that starts with a snapshot equals an old one, and does not read the covered part of the log
/// (LR45).
#[test]
fn a_new_replica_by_snapshot_equals_an_old_one() {
    let mut laptop = replica("laptop");
    laptop.act(
        &feed(),
        &Action::Subscribe { title: None, folder: None, position: None },
        Millis::new(1),
    );
    laptop.act(&feed(), &read("a"), Millis::new(2));
    let lines: String = laptop.waiting().iter().map(|(_, line)| line.as_str()).collect();
    let (mut session, event) = having_read(&lines);
    laptop.apply(event, &mut session, 7).unwrap();
    laptop.offer(&session);
    assert_eq!(laptop.waiting(), []);
    let compaction = laptop.compacted(&session, 9).unwrap();
    assert_eq!(compaction.tag, format!("\"1.0000000a-{}\"", lines.len()));

    let mut phone = replica("phone");
    let mut session = Session::new(None, Start::Whole);
    let ask = session.next(&[]).unwrap();
    assert_eq!(ask, LogRequest::Snapshot);
    let body = compaction.snapshot.into_bytes();
    let answer = LogResponse { status: 200, body, ended: true, ..LogResponse::default() };
    let event = session.handle_response(&ask, answer, 0);
    phone.apply(event, &mut session, 7).unwrap();
    assert_eq!(phone.state(), laptop.state());
    assert_eq!(session.position().offset, lines.len() as u64);
    phone.offer(&session);
    assert_eq!(phone.waiting(), []);
}

/// A new device works with a server that returns a page for every address; a damaged snapshot is an error
/// (LR45).
#[test]
fn page_in_place_of_a_snapshot_is_ignored_and_damaged_snapshot_is_an_error() {
    let taken = |covers: Option<&str>, body: &[u8]| {
        let (mut phone, mut session) = (replica("phone"), Session::new(None, Start::Whole));
        let ask = session.next(&[]).unwrap();
        let covers = covers.map(str::to_owned);
        let answer = LogResponse {
            status: 200,
            covers,
            body: body.to_vec(),
            ended: true,
            ..LogResponse::default()
        };
        let event = session.handle_response(&ask, answer, 0);
        phone.apply(event, &mut session, 7).map(|_| session.next(&[]).unwrap())
    };
    for page in [b"<!doctype html>\n<p>".as_slice(), b"<p>", b"{\"v\":1}\n"] {
        assert!(matches!(taken(None, page), Ok(LogRequest::Read(_))));
        assert_eq!(taken(Some("\"1.0000000a-3\""), page).unwrap_err().line, 1);
    }
    let torn = b"{\"v\":1,\"snapshot\":{\"feeds\":1,\"kept\":0}}\n";
    assert!(taken(None, torn).is_err());
}

#[test]
fn replica_with_waiting_records_or_unread_log_does_not_compact() {
    let mut laptop = replica("laptop");
    let (mut session, event) = having_read("\n");
    laptop.apply(event, &mut session, 7).unwrap();
    assert!(laptop.compacted(&session, 9).is_none());
    laptop.offer(&session);
    assert!(laptop.compacted(&session, 9).is_some());
    assert!(laptop.compacted(&self::session(), 9).is_none());
    let position = Position { partial: true, ..session.position().clone() };
    assert!(laptop.compacted(&Session::new(Some(position), Start::Whole), 9).is_none());
    laptop.act(&feed(), &read("a"), Millis::new(1));
    assert!(laptop.compacted(&session, 9).is_none());
}

#[test]
fn replica_round_trips() {
    let mut laptop = replica("laptop");
    laptop.act(&feed(), &read("a"), Millis::new(1));
    let (mut session, event) = having_read("\n");
    laptop.apply(event, &mut session, 7).unwrap();
    laptop.offer(&session);
    assert_eq!(Replica::read(laptop.write().as_bytes()), Ok(laptop.clone()));
    let text = laptop.write();
    for cut in 0..text.len() {
        assert!(Replica::read(&text.as_bytes()[..cut]).is_err(), "{cut}");
    }
    for (mine, other) in [("laptop:1", "phone:1"), ("laptop:1", "laptop:2")] {
        let others = text.replacen(mine, other, 1);
        assert!(matches!(Replica::read(others.as_bytes()), Err(ReplicaError::Head(_))), "{other}");
    }
    let newer = text.replacen("\"v\":1", "\"v\":2", 1);
    assert_eq!(Replica::read(newer.as_bytes()), Err(ReplicaError::Newer(2)));
}

/// An action on a moved feed is evaluated on the joined state, and applied to the current address.
#[test]
fn actions_on_a_moved_feed_apply_to_its_current_address() {
    let mut laptop = replica("laptop");
    let new: FeedAddress = "https://example.net/feed".parse().unwrap();
    let subscribe = Action::Subscribe { title: None, folder: None, position: None };
    for (action, now) in [(subscribe.clone(), 1), (read("a"), 2)] {
        assert!(laptop.act(&feed(), &action, Millis::new(now)));
    }
    assert!(laptop.act(&feed(), &Action::FeedMoved { to: new.clone() }, Millis::new(3)));
    assert!(!laptop.act(&new, &read("a"), Millis::new(4)), "it is so already");
    assert!(laptop.act(&new, &unread("a"), Millis::new(5)));
    assert!(laptop.act(&new, &Action::Unsubscribe, Millis::new(6)));
    assert_eq!(laptop.state().view().subscriptions(), []);
    // The same applies to its former address.
    assert!(laptop.act(&feed(), &subscribe, Millis::new(7)));
    let subscribed = laptop.state().view().subscriptions();
    assert_eq!(subscribed.iter().map(|feed| &feed.address).collect::<Vec<_>>(), [&new]);
}

/// Lines of the log that are not in the state must stay in the log; a truncated line contains nothing (LR2,
/// LR46).
#[test]
fn a_log_with_lines_that_are_not_understood_is_not_compacted() {
    let long = format!(
        "{{\"v\":1,\"id\":\"a:1\",\"ts\":\"1.0\",\"obj\":{{\"kind\":\"note\",\"id\":\"x\"}},\
         \"act\":\"write\",\"text\":\"{}\"}}\n",
        "x".repeat(20_000)
    );
    for (line, stays) in [("{\"v\":1,\"id\":\"a\n", false), ("words\n", true), (&*long, true)] {
        let mut laptop = replica("laptop");
        let (mut session, event) = having_read(line);
        laptop.apply(event, &mut session, 7).unwrap();
        laptop.offer(&session);
        assert_eq!(laptop.compacted(&session, 9).is_none(), stays, "{line:.20}");
        let laptop = Replica::read(laptop.write().as_bytes()).unwrap();
        assert_eq!(laptop.compacted(&session, 9).is_none(), stays, "{line:.20}");
    }
}

/// Without a log nothing waits; the first log gets the whole state of that time, once.
#[test]
fn first_log_gets_earlier_changes_once() {
    let mut laptop = Replica::new("laptop".parse().unwrap());
    for action in [read("a"), unread("a"), read("b")] {
        laptop.act(&feed(), &action, Millis::new(1));
    }
    assert_eq!(laptop.waiting_count(), 0);
    laptop.set_log("the log".to_owned());
    let mut session = laptop.session();
    while !session.is_in_step() {
        let ask = session.next(&[]).unwrap();
        let event =
            session.handle_response(&ask, LogResponse { status: 404, ..LogResponse::default() }, 0);
        laptop.apply(event, &mut session, 7).unwrap();
    }
    assert!(laptop.offer(&session));
    assert_eq!(laptop.waiting_count(), 2);
}

/// A hub's log can be compacted even behind a proxy that makes its tags weak (LR29, LR45).
#[test]
fn log_with_a_weak_tag_of_a_hub_is_compacted() {
    let mut laptop = replica("laptop");
    let mut session = session();
    let ask = session.next(&[]).unwrap();
    let answer = LogResponse {
        status: 200,
        etag: Some("W/\"1.0000000a-1\"".to_owned()),
        generation: Some("1.0000000a".to_owned()),
        body: b"\n".to_vec(),
        ended: true,
        ..LogResponse::default()
    };
    let event = session.handle_response(&ask, answer, 0);
    laptop.apply(event, &mut session, 7).unwrap();
    laptop.offer(&session);
    let compaction = laptop.compacted(&session, 9).unwrap();
    assert_eq!((&*compaction.tag, &*compaction.covers), ("\"1.0000000a-1\"", "1.0000000a-1"));
}
