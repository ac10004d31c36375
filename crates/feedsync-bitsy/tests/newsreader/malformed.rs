//! Malformed requests and responses. They are forwarded or refused, without panics or unbounded growth.

use feedsync_bitsy::newsreader::{
    Account, Change, Delivery, Facts, Form, Interface, Next, Operation, Overlay, SignIn,
};
use feedsync_bitsy::time::Time;
use proptest::prelude::*;

use crate::desk::{Desk, said};
use crate::merging::interface;
use crate::said::{Deed, readings, write};
use crate::server::Server;

/// Strategy for almost valid requests.
fn line() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "reader/api/0/",
        "edit-tag",
        "stream/contents/",
        "v1/",
        "entries",
        "feeds/",
        "items/",
        "1",
        "index.php/apps/news/api/v1-2/",
        "read",
        "star",
        "bookmark",
        "api/",
        "?",
        "s=feed/1",
        "&",
        "n=%ff",
        "/",
        "accounts/ClientLogin",
        "status=read",
        "multiple",
        "%2F",
        "\u{e4}",
    ]);
    let method = prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "BREW"]);
    (method, prop::collection::vec(parts, 0..8))
        .prop_map(|(method, parts)| format!("{method} {}", parts.concat()))
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            r#"{"op":"updateArticle","article_ids":[1,"x"],"field":2,"mode":2,"sid":"s1"}"#,
            r#"{"op":"getHeadlines","feed_id":{},"sid":"s1"}"#,
            r#"{"op":"login","user":1,"password":[]}"#,
            r#"{"entry_ids":[1],"status":"odd"}"#,
            r#"{"items":[{"feedId":1}]}"#,
            "i=1&a=user/-/state/com.google/read&T=",
            "op=catchupFeed&feed_id=1&sid=s1",
            "[[[[[[",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn malformed_requests_do_not_panic(
        interface in interface(), line in line(), body in body(), is_away in any::<bool>(),
    ) {
        let mut desk = Desk::new(interface, Server::new(&[(false, false); 3]));
        desk.sign_in().unwrap();
        desk.ask(&readings(interface)[1]).unwrap();
        desk.is_away = is_away;
        desk.ask(&said(&line, &body)).unwrap();
        desk.is_away = true;
        desk.ask(&said(&line, &body)).unwrap();
    }

    #[test]
    fn malformed_responses_do_not_panic(
        interface in interface(),
        which in 0..9_usize,
        answer in prop_oneof![
            any::<Vec<u8>>(),
            prop::sample::select(vec![
                "{}", "[]", "null", "1", r#"{"items":[1,{},{"id":1}]}"#, r#"{"entries":[[]],"total":"x"}"#,
                r#"{"status":0,"content":[{"id":"x"},[{"id":1}]]}"#, r#"{"status":0,"content":{"unread":{}}}"#,
                r#"{"content":{"categories":{"items":[{"items":[{}]}]}},"status":0}"#, "<feed/>",
                r#"{"unreadcounts":[{"id":1,"count":-9223372036854775808}]}"#,
            ]).prop_map(|text| text.as_bytes().to_vec()),
        ],
        statuses in prop::collection::vec(any::<u16>(), 9),
    ) {
        let desk = Desk::new(interface, Server::new(&[]));
        let all = readings(interface);
        let call = desk.read(&all[which % all.len()], &desk.shown());
        let Operation::ReadRequest(reading) = call.operation else { panic!("{call:?}") };
        let _ = interface.facts(&reading.form, &answer);
        let _ = interface.merged(&reading.form, &answer, &Overlay::default(), &[]);
        let _ = interface.merged(&Form::Counts, &answer, &Overlay::default(), std::slice::from_ref(&answer));
        let _ = (interface.session(200, &answer), interface.renumbered(answer.clone(), 3));
        let account = Account {
            partition: feedsync_bitsy::authentication::Partition::public(),
            interface,
            base: desk.base,
            sign_in: SignIn::Password { name: "anna".to_owned(), password: "secret".to_owned(), besides: None },
            sessions: Vec::new(),
            seen: Time::default(),
        };
        let mut delivery = Delivery::new(account);
        delivery.begin(Change::default());
        for status in statuses {
            if let Next::DeliveryResult(_) = delivery.answered(status, &answer) {
                break;
            }
        }
        let _ = (Facts::of_bytes(&answer), Change::of_text(&String::from_utf8_lossy(&answer)));
    }
}

#[test]
fn requests_that_need_the_server_are_refused_in_the_format_of_the_interface() {
    let mut desk = Desk::new(Interface::Miniflux, Server::new(&[(false, false); 3]));
    desk.ask(&readings(Interface::Miniflux)[0]).unwrap();
    desk.is_away = true;
    for said in [
        said("POST v1/feeds", r#"{"feed_url":"http://a.example/","category_id":1}"#),
        said("PUT v1/entries/17/bookmark", ""),
        said("GET v1/entries?search=never", ""),
    ] {
        let answer = desk.ask(&said).unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        assert!(answer.status == 503 && text.contains("\"error_message\""), "{said:?} {text}");
    }
    assert!(desk.disk.written.is_empty());
}

#[test]
fn waiting_changes_are_bounded() {
    let interface = Interface::Miniflux;
    let mut desk = Desk::new(interface, Server::new(&[(false, false); 3]));
    desk.ask(&readings(interface)[1]).unwrap();
    desk.is_away = true;
    let numbers: Vec<String> = (1..=10_000).map(|number: i64| number.to_string()).collect();
    let body = format!(r#"{{"entry_ids":[{}],"status":"read"}}"#, numbers.join(","));
    let mut taken = 0;
    let answer = loop {
        let answer = desk.ask(&said("PUT v1/entries", &body)).unwrap();
        if answer.status != 204 {
            break answer;
        }
        taken += 1;
        assert!(taken < 100, "nothing bounds them");
    };
    assert_eq!(answer.status, 503, "{answer:?}");
    // The limit is 32 MiB: the request, 64 bytes for each article, and 128 for the rest.
    let size = "v1/entries".len() + body.len() + 10_000 * 64 + 128;
    assert_eq!(taken, (32 << 20) / size);
    assert_eq!(desk.disk.written.len(), taken, "what is refused changes nothing");
    // The waiting changes are sent, which makes room for more.
    desk.is_away = false;
    desk.ask(&readings(interface)[1]).unwrap();
    assert_eq!(desk.server.writes, taken);
    desk.is_away = true;
    assert_eq!(desk.ask(&write(interface, Deed::Read(2, false))).unwrap().status, 204);
}

#[test]
fn answers_and_accounts_are_bounded() {
    let mut desk = Desk::new(Interface::Nextcloud, Server::new(&[(false, false); 3]));
    for number in 0..40 {
        desk.server.name = format!("user{number}");
        let said = &readings(Interface::Nextcloud)[1];
        desk.ask(said).unwrap();
    }
    assert_eq!(desk.disk.accounts.len(), 32);
    assert_eq!(desk.disk.kept.len(), 32, "what was theirs goes with them");
}
