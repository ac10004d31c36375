//! Responses without a network equal those of a server that has received all changes.

use feedsync_bitsy::newsreader::Interface;
use feedsync_reader_api::RawResponse;
use proptest::prelude::*;
use serde_json::Value;

use crate::desk::{Desk, requested};
use crate::said::{Deed, readings, write};
use crate::server::Server;

/// Normal form of a response, so that responses with the same meaning are equal.
pub(crate) fn meant(answer: &RawResponse) -> Value {
    if answer.body.starts_with(b"<?xml") {
        let text = std::str::from_utf8(&answer.body).unwrap();
        let entries =
            feedsync_formats::labelled_entries(text, "http://www.google.com/reader/").unwrap();
        let entries = entries.into_iter().map(|entry| {
            let labels = entry.labels.iter().map(|(_, label)| &**label);
            let mut labels: Vec<&str> =
                labels.map(|it| if it == "kept-unread" { "fresh" } else { it }).collect();
            labels.sort_unstable();
            serde_json::json!([entry.id, labels])
        });
        return entries.collect();
    }
    let mut value: Value = serde_json::from_slice(&answer.body)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&answer.body)));
    settle(&mut value);
    value
}

fn settle(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.iter_mut().for_each(settle);
            if values.iter().all(Value::is_string) {
                values.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
        }
        Value::Object(members) => {
            // The time of arrival is unknown for an article that a list of numbers gains.
            for name in ["timestampUsec", "updated", "first_id"] {
                members.remove(name);
            }
            members.values_mut().for_each(settle);
        }
        _ => {}
    }
}

pub(crate) fn interface() -> impl Strategy<Value = Interface> {
    prop::sample::select(Interface::ALL.to_vec())
}

pub(crate) fn deed(articles: i64) -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (1..=articles, any::<bool>()).prop_map(|(one, is)| Deed::Read(one, is)),
        3 => (1..=articles, any::<bool>()).prop_map(|(one, is)| Deed::Star(one, is)),
        1 => (1..=2_i64).prop_map(Deed::All),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn offline_responses_equal_those_of_the_server(
        interface in interface(),
        states in prop::collection::vec(any::<(bool, bool)>(), 9),
        online in prop::collection::vec(deed(9), 0..4),
        offline in prop::collection::vec(deed(9), 0..12),
        again in any::<bool>(),
    ) {
        let mut desk = Desk::new(interface, Server::new(&states));
        desk.sign_in().unwrap();
        for said in readings(interface) {
            let answer = desk.ask(&said).unwrap();
            prop_assert!(answer.status == 200, "{said:?} {answer:?}");
        }
        for deed in online {
            let answer = desk.ask(&write(interface, deed)).unwrap();
            prop_assert!(answer.status < 300, "{deed:?} {answer:?}");
        }
        let mut mirror = desk.server.clone();
        let before = mirror.writes;
        desk.is_away = true;
        for deed in offline {
            let said = write(interface, deed);
            let shown = desk.shown();
            let told = mirror.answer(interface, &requested(&said), &shown);
            let answer = desk.ask(&said).unwrap();
            if !matches!(deed, Deed::All(_)) {
                prop_assert_eq!(&answer.body, &told.body, "{:?}", deed);
            }
            prop_assert_eq!(answer.status, told.status);
        }
        if again {
            desk.restart();
        }
        for said in readings(interface) {
            let shown = desk.shown();
            let expected = meant(&mirror.answer(interface, &requested(&said), &shown));
            let answer = desk.ask(&said).unwrap();
            prop_assert_eq!(meant(&answer), expected, "{:?}", said);
        }
        // All changes arrive once.
        desk.is_away = false;
        let first = &readings(interface)[0];
        desk.ask(first).unwrap();
        prop_assert_eq!(&desk.server.articles, &mirror.articles);
        prop_assert!(desk.server.writes <= mirror.writes, "{} {before}", desk.server.writes);
        for said in readings(interface) {
            let shown = desk.shown();
            let expected = meant(&mirror.answer(interface, &requested(&said), &shown));
            let answer = desk.ask(&said).unwrap();
            prop_assert_eq!(meant(&answer), expected, "{:?}", said);
        }
    }
}

#[test]
fn lists_fetched_while_changes_wait_include_them() {
    // This server responds to reads and not to writes.
    let interface = Interface::Nextcloud;
    let mut desk = Desk::new(interface, Server::new(&[(false, false); 3]));
    let lists = readings(interface);
    lists.iter().for_each(|said| drop(desk.ask(said).unwrap()));
    desk.is_away = true;
    desk.ask(&write(interface, Deed::Read(1, true))).unwrap();
    let call = desk.read(&lists[1], &desk.shown());
    let partition = desk.accounts.partition_of(interface, &desk.base, &call.credentials).unwrap();
    let stamp = desk.accounts.stamp(partition);
    assert!(desk.accounts.pending(partition).all(|written| written.id > stamp));
}
