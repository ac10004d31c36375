//! Limits of the stored data of newsreaders, and the order of removal.

use std::time::Duration;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Change, Content};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{
    self, Accounts, CachedResponse, ChangeId, Facts, Interface, Key, RequestCredentials, Rows,
    SignIn, StoredChange,
};
use feedsync_bitsy::time::Time;
use feedsync_reader_api::Secret;

const INTERFACE: Interface = Interface::Google;

fn base() -> Location {
    "http://hub.example/reader/".parse().unwrap()
}

fn at(seconds: u64) -> Time {
    Time::from_millis(seconds * 1_000)
}

fn kept(partition: Partition, number: u64, stamp: u64, length: u64) -> CachedResponse {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    CachedResponse {
        partition,
        key: Key(key),
        kind: 0,
        stamp: ChangeId(stamp),
        fetched: at(number),
        media_type: String::new(),
        content: Content { length, ..Content::of(&number.to_be_bytes()) },
        facts: Facts::default(),
    }
}

fn written(partition: Partition, id: u64, is_sent: bool) -> StoredChange {
    StoredChange { id: ChangeId(id), partition, is_sent, change: newsreader::Change::default() }
}

/// Returns the keys of the removed responses and the number of removed changes.
fn gone(changes: &[Change]) -> (Vec<u64>, usize) {
    let keys = changes.iter().filter_map(|change| match change {
        Change::CachedResponseRemoved { key, .. } => {
            Some(u64::from_be_bytes(key.0[..8].try_into().unwrap()))
        }
        _ => None,
    });
    let written = changes.iter().filter(|change| matches!(change, Change::StoredChangeRemoved(_)));
    (keys.collect(), written.count())
}

fn session(text: &str) -> RequestCredentials {
    RequestCredentials::Session(Secret::from(text.to_owned()))
}

fn by_password(name: &str) -> SignIn {
    SignIn::Password { name: name.to_owned(), password: "secret".to_owned(), besides: None }
}

#[test]
fn oldest_response_is_removed_beyond_the_maximum() {
    let public = Partition::public();
    let rows = Rows {
        kept: (1..=9_999).map(|number| kept(public, number, 0, 1)).collect(),
        ..Rows::default()
    };
    let mut accounts = Accounts::restored(rows);
    assert_eq!(gone(&accounts.keep(kept(public, 10_000, 0, 1))), (vec![], 0));
    assert_eq!(gone(&accounts.keep(kept(public, 10_001, 0, 1))), (vec![1], 0));
    assert_eq!(accounts.contents().count(), 10_000);
}

#[test]
fn oldest_responses_are_removed_until_the_rest_fits() {
    let public = Partition::public();
    let mut accounts = Accounts::default();
    let mib = 1 << 20;
    for (number, length) in [(1, 50), (2, 50), (3, 100), (4, 56)] {
        let changes = accounts.keep(kept(public, number, 0, length * mib));
        assert_eq!(gone(&changes), (vec![], 0), "{number}");
    }
    assert_eq!(gone(&accounts.keep(kept(public, 5, 0, 51 * mib))), (vec![1, 2], 0));
    assert_eq!(gone(&accounts.keep(kept(public, 6, 0, 50 * mib))), (vec![3], 0));
    assert_eq!(gone(&accounts.keep(kept(public, 6, 0, 60 * mib))), (vec![], 0), "it is replaced");
}

#[test]
fn sent_change_is_removed_when_each_response_includes_it() {
    let (public, other) = (Partition::public(), Partition::of_bytes([7; 32]));
    let rows = Rows {
        kept: vec![kept(public, 1, 2, 1), kept(public, 2, 4, 1), kept(other, 3, 0, 1)],
        written: [(1, true), (2, true), (3, true), (4, false), (5, true)]
            .map(|(id, is_sent)| written(public, id, is_sent))
            .to_vec(),
        ..Rows::default()
    };
    let mut accounts = Accounts::restored(rows);
    // The oldest response of the same account includes the first two changes.
    assert_eq!(gone(&accounts.keep(kept(public, 2, 5, 1))), (vec![], 2));
    assert_eq!(gone(&accounts.keep(kept(public, 1, 5, 1))), (vec![], 2));
    assert_eq!(gone(&accounts.sent(ChangeId(4))), (vec![], 1));
    assert!(accounts.sent(ChangeId(4)).is_empty(), "it is gone");
}

#[test]
fn response_that_lacks_too_many_changes_is_removed_with_them() {
    let public = Partition::public();
    let rows = Rows {
        kept: vec![kept(public, 1, 0, 1), kept(public, 2, 20_000, 1)],
        written: (1..=20_001).map(|id| written(public, id, id < 20_001)).collect(),
        ..Rows::default()
    };
    let mut accounts = Accounts::restored(rows);
    assert_eq!(gone(&accounts.keep(kept(public, 3, 20_000, 1))), (vec![], 0));
    assert_eq!(gone(&accounts.sent(ChangeId(20_001))), (vec![1], 20_000));
}

#[test]
fn next_change_number_exceeds_all_stored_numbers() {
    let public = Partition::public();
    let rows = |kept, written| Rows { kept, written, ..Rows::default() };
    let stamp = |rows: Rows| Accounts::restored(rows).stamp(public);
    assert_eq!(stamp(Rows::default()), ChangeId(0));
    assert_eq!(
        stamp(rows(vec![kept(public, 1, 9, 1)], vec![written(public, 4, true)])),
        ChangeId(9)
    );
    assert_eq!(stamp(rows(vec![], vec![written(public, 4, true)])), ChangeId(4));
    // A server's next response includes all changes before the first one that waits.
    assert_eq!(stamp(rows(vec![], vec![written(public, 4, false)])), ChangeId(3));
}

#[test]
fn account_with_waiting_changes_is_kept_beyond_the_maximum() {
    let mut accounts = Accounts::default();
    let mut partitions = Vec::new();
    for number in 0..32 {
        let credentials = session(&format!("s{number}"));
        let (partition, changes) =
            accounts.answered((INTERFACE, &base()), &credentials, true, at(number)).unwrap();
        assert_eq!(changes.len(), 1);
        partitions.push(partition);
    }
    let edit = newsreader::ChangeRequest {
        change_kind: newsreader::ChangeKind::Edit,
        request: newsreader::UnsignedRequest::default(),
        answer: feedsync_reader_api::google::done(),
    };
    accounts.take(INTERFACE, partitions[0], &edit).unwrap();
    let credentials = session("another");
    let (_, changes) = accounts.answered((INTERFACE, &base()), &credentials, true, at(99)).unwrap();
    assert!(changes.contains(&Change::AccountRemoved(partitions[1])), "{changes:?}");
    assert_eq!(accounts.all().count(), 32);
    assert!(accounts.account(partitions[0]).is_some());
}

#[test]
fn last_use_of_an_account_is_stored_once_an_hour() {
    let mut accounts = Accounts::default();
    let credentials = session("s1");
    let mut seen = |seconds| {
        let (_, changes) =
            accounts.answered((INTERFACE, &base()), &credentials, true, at(seconds)).unwrap();
        changes.len()
    };
    let counts = [10, 3_610, 3_611, 3_612, 7_212].map(&mut seen);
    assert_eq!(counts, [1, 0, 1, 0, 1]);
}

#[test]
fn account_keeps_the_sixteen_sessions_in_use() {
    let mut accounts = Accounts::default();
    let sign_in = by_password("anna");
    for number in 0..16 {
        let session = format!("s{number}");
        let changes = accounts.signed_in((INTERFACE, &base()), &sign_in, &session, at(number));
        assert_eq!(changes.len(), 1);
    }
    let session_of =
        |accounts: &Accounts| accounts.session(INTERFACE, &base(), &sign_in).map(str::to_owned);
    assert_eq!(session_of(&accounts).as_deref(), Some("s15"));
    assert!(accounts.signed_in((INTERFACE, &base()), &sign_in, "s15", at(16)).is_empty());
    let partition = accounts.partition_of(INTERFACE, &base(), &session("s0")).unwrap();
    let mut answered = |text: &str| {
        accounts.answered((INTERFACE, &base()), &session(text), true, at(17)).unwrap();
        accounts.account(partition).unwrap().sessions.clone()
    };
    // A session of the newer half keeps its position, and one of the older half becomes the newest.
    assert_eq!(answered("s8").last().unwrap(), "s15");
    assert_eq!(answered("s7").last().unwrap(), "s7");
    assert_eq!(answered("s0").last().unwrap(), "s0");
    accounts.signed_in((INTERFACE, &base()), &sign_in, "s16", at(18));
    let sessions = &accounts.account(partition).unwrap().sessions;
    assert_eq!(sessions.len(), 16);
    assert!(!sessions.contains(&"s1".to_owned()) && sessions.contains(&"s0".to_owned()));
    assert_eq!(accounts.partition_of(INTERFACE, &base(), &session("s1")), None);
}

#[test]
fn session_belongs_to_the_account_that_received_it_last() {
    let mut accounts = Accounts::default();
    for (name, seconds) in [("anna", 10), ("bob", 20), ("carl", 5)] {
        accounts.signed_in((INTERFACE, &base()), &by_password(name), "s1", at(seconds));
    }
    let whose = |accounts: &Accounts, interface, base: &Location| {
        accounts.partition_of(interface, base, &session("s1"))
    };
    let partition = whose(&accounts, INTERFACE, &base()).unwrap();
    assert_eq!(accounts.account(partition).unwrap().sign_in, by_password("bob"));
    assert_eq!(whose(&accounts, Interface::TinyTinyRss, &base()), None);
    assert_eq!(whose(&accounts, INTERFACE, &"http://hub.example/".parse().unwrap()), None);
    assert_eq!(accounts.partition_of(INTERFACE, &base(), &RequestCredentials::Anonymous), None);
}

#[test]
fn change_is_at_fault_after_ten_failures_in_a_quarter_of_an_hour() {
    let mut accounts = Accounts::default();
    let id = ChangeId(1);
    let times = [0, 1, 2, 3, 4, 5, 6, 7, 8, 899];
    assert!(!times.into_iter().any(|seconds| accounts.fails(id, at(seconds))));
    assert!(accounts.fails(id, at(900)));
    // Fewer failures are not enough, whatever their duration.
    let other = ChangeId(2);
    assert!(!(1..10).any(|count| accounts.fails(other, at(count * 900))));
    assert!(accounts.fails(other, at(9_000)));
    // The count begins again when the server accepts or refuses the change.
    accounts.sent(id);
    accounts.refused(other);
    assert!(!accounts.fails(id, at(10_000)) && !accounts.fails(other, at(10_000)));
}

#[test]
fn a_pause_of_a_server_ends_at_its_time() {
    let mut accounts = Accounts::default();
    let (one, other) = (Partition::public(), Partition::of_bytes([7; 32]));
    accounts.put_off(one, at(20));
    accounts.put_off(other, at(30));
    assert_eq!(accounts.put_off_until(one, at(19)), Some(at(20)));
    assert_eq!(accounts.put_off_until(one, at(20)), None);
    assert_eq!(accounts.put_off_until(other, at(20).after(Duration::from_millis(1))), Some(at(30)));
}

#[test]
fn changes_are_held_until_the_account_signs_in_again() {
    let mut accounts = Accounts::default();
    let credentials = session("s1");
    let (partition, _) =
        accounts.answered((INTERFACE, &base()), &credentials, true, at(1)).unwrap();
    assert!(accounts.waiting().is_empty() && accounts.next_due(partition).is_none());
    let edit = newsreader::ChangeRequest {
        change_kind: newsreader::ChangeKind::Edit,
        request: newsreader::UnsignedRequest::default(),
        answer: feedsync_reader_api::google::done(),
    };
    accounts.take(INTERFACE, partition, &edit).unwrap();
    assert_eq!(accounts.waiting().len(), 1);
    let id = accounts.next_due(partition).unwrap().id;
    assert!(accounts.hold(partition) && !accounts.hold(partition), "news once");
    assert!(accounts.is_held(partition) && accounts.waiting().is_empty());
    assert!(accounts.next_due(partition).is_none());
    // A response that needs no account is no proof.
    accounts.answered((INTERFACE, &base()), &credentials, false, at(2)).unwrap();
    assert!(accounts.is_held(partition));
    accounts.answered((INTERFACE, &base()), &credentials, true, at(3)).unwrap();
    assert_eq!(accounts.next_due(partition).map(|it| it.id), Some(id));
    assert!(!accounts.is_held(partition));
}

#[test]
fn applied_changes_produce_the_stored_rows() {
    let (one, other) = (Partition::public(), Partition::of_bytes([7; 32]));
    let mut rows = Rows::default();
    let mut accounts = Accounts::default();
    for name in ["anna", "bob"] {
        let changes = accounts.signed_in((INTERFACE, &base()), &by_password(name), name, at(1));
        changes.iter().for_each(|change| rows.make(change));
    }
    let partitions: Vec<Partition> = rows.accounts.iter().map(|it| it.partition).collect();
    assert!(partitions.len() == 2 && partitions.is_sorted());
    rows.make(&Change::AccountRemoved(partitions[0]));
    assert_eq!(rows.accounts.len(), 1);
    let mut renewed = rows.accounts[0].clone();
    renewed.seen = at(9);
    rows.make(&Change::Account(Box::new(renewed.clone())));
    assert_eq!(rows.accounts, [renewed]);
    for kept in [kept(one, 2, 0, 1), kept(one, 1, 0, 1), kept(other, 1, 0, 1), kept(one, 1, 5, 1)] {
        rows.make(&Change::CachedResponse(Box::new(kept)));
    }
    assert_eq!(rows.kept.len(), 3);
    let first = kept(one, 1, 5, 1);
    assert!(rows.kept.contains(&first));
    rows.make(&Change::CachedResponseRemoved { partition: one, key: first.key });
    assert_eq!(rows.kept.len(), 2);
    for written in [written(one, 2, false), written(one, 1, false), written(one, 2, true)] {
        rows.make(&Change::StoredChange(Box::new(written)));
    }
    assert_eq!(rows.written, [written(one, 1, false), written(one, 2, true)]);
    rows.make(&Change::StoredChangeRemoved(ChangeId(1)));
    assert_eq!(rows.written, [written(one, 2, true)]);
}

#[test]
fn stored_credentials_are_restored() {
    for sign_in in [
        by_password("anna"),
        SignIn::Field("authorization".to_owned(), "Basic YTpi".to_owned()),
        SignIn::Session,
    ] {
        assert_eq!(SignIn::of_text(&sign_in.to_text()), Some(sign_in));
    }
    assert_eq!(SignIn::of_text("{}"), None);
    assert_eq!(SignIn::of_text(""), None);
}
