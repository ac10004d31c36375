use feedsync_log::{Answer, Ask, Session, Start};

use super::*;

fn replica(device: &str) -> Replica {
    let mut replica = Replica::new(device.parse().unwrap());
    replica.keep_by("the log".to_owned());
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

/// A session that has read these lines, all there are.
fn having_read(lines: &str) -> (Session, Event) {
    let mut session = session();
    let ask = session.next(&[]).unwrap();
    let etag = Some(format!("\"1.0000000a-{}\"", lines.len()));
    let body = lines.as_bytes().to_vec();
    let answer = Answer { status: 200, etag, body, ended: true, ..Answer::default() };
    let event = session.answered(&ask, answer, 0);
    (session, event)
}

/// LR16: of marks that were set and taken back, one record waits; what is so already makes none.
#[test]
fn of_marks_that_were_taken_back_only_the_last_waits() {
    let mut laptop = replica("laptop");
    for action in [read("a"), unread("a"), read("a"), read("a"), read("b")] {
        laptop.act(&feed(), &action, Millis::new(1));
    }
    let waiting = laptop.waiting();
    let ids: Vec<_> = waiting.iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(ids, ["laptop:3", "laptop:4"]);
    assert!(!laptop.act(&feed(), &read("a"), Millis::new(1)));
    // LR17: all of them in one.
    laptop.act(&feed(), &Action::ReadUpTo { at: Millis::new(9) }, Millis::new(2));
    assert_eq!(laptop.waiting_count(), 1);
}

/// LR11: an earlier change here that a later one elsewhere repeats or overrules waits no longer; a later one does.
#[test]
fn what_somebody_else_did_later_makes_an_earlier_change_superfluous() {
    for (theirs, waits) in [(2, 0), (9, 0), (0, 1)] {
        let (mut laptop, mut phone) = (replica("laptop"), replica("phone"));
        phone.act(&feed(), &read("a"), Millis::new(theirs));
        laptop.act(&feed(), &read("a"), Millis::new(1));
        let line: String = phone.waiting().remove(0).1;
        let (mut session, event) = having_read(&line);
        laptop.apply(event, &mut session, 7).unwrap();
        assert_eq!(laptop.waiting_count(), waits, "{theirs}");
        // LR15: the opposite is no duplicate, and the later wins.
        phone.act(&feed(), &unread("a"), Millis::new(theirs + 1));
        assert_eq!(phone.waiting_count(), 1);
    }
}

/// LR14, LR38: records that arrived without an answer are recognised when they are read back.
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

/// Two replicas under one name (a copied directory, a backup that was put back) are told apart.
#[test]
fn who_meets_records_of_its_own_name_that_it_did_not_make_takes_another() {
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

/// LR46: what another log lacks is recorded again, with the stamps that it had.
#[test]
fn what_a_log_that_was_put_back_lacks_is_recorded_again() {
    let mut laptop = replica("laptop");
    laptop.act(&feed(), &read("a"), Millis::new(1));
    let first = laptop.waiting().remove(0).1;
    laptop.act(&feed(), &read("b"), Millis::new(2));
    let lines: String = laptop.waiting().iter().map(|(_, line)| line.as_str()).collect();
    let (mut session, event) = having_read(&lines);
    laptop.apply(event, &mut session, 7).unwrap();
    assert_eq!(laptop.waiting_count(), 0);
    // Now the log holds the first record only.
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

/// LR45: a new replica by snapshot equals an old one, and what it stands for is not read again.
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
    assert_eq!(ask, Ask::Snapshot);
    let body = compaction.snapshot.into_bytes();
    let answer = Answer { status: 200, body, ended: true, ..Answer::default() };
    let event = session.answered(&ask, answer, 0);
    phone.apply(event, &mut session, 7).unwrap();
    assert_eq!(phone.state(), laptop.state());
    assert_eq!(session.position().offset, lines.len() as u64);
    phone.offer(&session);
    assert_eq!(phone.waiting(), []);
}

/// LR45: a server that has a page for every address keeps no new device out; what is damaged is told.
#[test]
fn a_page_in_place_of_a_snapshot_is_none_and_a_damaged_snapshot_is_an_error() {
    let taken = |covers: Option<&str>, body: &[u8]| {
        let (mut phone, mut session) = (replica("phone"), Session::new(None, Start::Whole));
        let ask = session.next(&[]).unwrap();
        let covers = covers.map(str::to_owned);
        let answer =
            Answer { status: 200, covers, body: body.to_vec(), ended: true, ..Answer::default() };
        let event = session.answered(&ask, answer, 0);
        phone.apply(event, &mut session, 7).map(|_| session.next(&[]).unwrap())
    };
    for page in [b"<!doctype html>\n<p>".as_slice(), b"<p>", b"{\"v\":1}\n"] {
        assert!(matches!(taken(None, page), Ok(Ask::Read(_))));
        assert_eq!(taken(Some("\"1.0000000a-3\""), page).unwrap_err().line, 1);
    }
    let torn = b"{\"v\":1,\"snapshot\":{\"feeds\":1,\"kept\":0}}\n";
    assert!(taken(None, torn).is_err());
}

#[test]
fn who_has_something_waiting_or_has_not_read_everything_compacts_nothing() {
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
fn a_replica_comes_back_as_it_was_written() {
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

/// What is done to a feed that moved is judged by what is seen of it, and done to where it is.
#[test]
fn a_feed_that_moved_is_acted_on_where_it_is() {
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
    // Under its former address, too.
    assert!(laptop.act(&feed(), &subscribe, Millis::new(7)));
    let subscribed = laptop.state().view().subscriptions();
    assert_eq!(subscribed.iter().map(|feed| &feed.address).collect::<Vec<_>>(), [&new]);
}

/// LR2, LR46: what is in the log and not in the state must stay in the log; what was cut off says nothing.
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

/// Without a log nothing waits; the first one is told all that is known by then, once.
#[test]
fn the_first_log_is_told_what_was_done_without_one() {
    let mut laptop = Replica::new("laptop".parse().unwrap());
    for action in [read("a"), unread("a"), read("b")] {
        laptop.act(&feed(), &action, Millis::new(1));
    }
    assert_eq!(laptop.waiting_count(), 0);
    laptop.keep_by("the log".to_owned());
    let mut session = laptop.session();
    while !session.is_in_step() {
        let ask = session.next(&[]).unwrap();
        let event = session.answered(&ask, Answer { status: 404, ..Answer::default() }, 0);
        laptop.apply(event, &mut session, 7).unwrap();
    }
    assert!(laptop.offer(&session));
    assert_eq!(laptop.waiting_count(), 2);
}

/// LR29, LR45: a hub's log is compacted also behind a proxy that makes its tags weak.
#[test]
fn a_weak_tag_of_a_hub_is_known_without_it() {
    let mut laptop = replica("laptop");
    let mut session = session();
    let ask = session.next(&[]).unwrap();
    let answer = Answer {
        status: 200,
        etag: Some("W/\"1.0000000a-1\"".to_owned()),
        generation: Some("1.0000000a".to_owned()),
        body: b"\n".to_vec(),
        ended: true,
        ..Answer::default()
    };
    let event = session.answered(&ask, answer, 0);
    laptop.apply(event, &mut session, 7).unwrap();
    laptop.offer(&session);
    let compaction = laptop.compacted(&session, 9).unwrap();
    assert_eq!((&*compaction.tag, &*compaction.covers), ("\"1.0000000a-1\"", "1.0000000a-1"));
}
