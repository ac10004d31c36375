//! Access to data by credentials (BITSY 4.3, 4.4).

use feedsync_bitsy::profile::Profile;

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const ANNA: (&str, &str) = ("authorization", "Basic YW5uYTph");
const BERT: (&str, &str) = ("authorization", "Basic YmVydDpi");

fn subscribed() -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.subscribe(&[], &[("Authorization", ANNA.1)]);
    desk.run();
    desk.lines();
    desk
}

#[test]
fn private_data_require_the_registered_credentials() {
    let mut desk = subscribed();
    assert_eq!(desk.ask("GET", FEED, &[ANNA], "").headers["cache-status"], "bitsy; hit; ttl=1800");
    desk.ask("GET", FEED, &[BERT], "");
    desk.ask("GET", FEED, &[], "");
    assert_eq!(desk.lines().len(), 2, "others are their server's business");
    desk.go_offline();
    for headers in [&[][..], &[BERT]] {
        let refused = desk.ask("GET", FEED, headers, "");
        assert_eq!(refused.status, 401);
        let challenge = refused.headers["www-authenticate"].to_str().unwrap();
        assert_eq!(challenge, "Basic realm=\"http://www.example.com\"");
        assert!(refused.body.contains("credentials"));
    }
    assert_eq!(desk.ask("PUT", MEMBER, &[BERT], &entry("x")).status, 401);
    assert_eq!(desk.ask("GET", FEED, &[ANNA], "").status, 200);
}

#[test]
fn two_people_see_neither_each_others_data_nor_edits() {
    let mut desk = subscribed();
    let other = feed(
        "<app:collection href='/members'/><entry><id>urn:b</id><title>b</title>\
        <link rel='edit' href='/feed/entry'/></entry>",
    );
    desk.serve("GET", FEED, other);
    desk.subscribe(&[], &[("Authorization", BERT.1)]);
    desk.run();
    desk.go_offline();
    assert_eq!(desk.ask("PUT", MEMBER, &[ANNA], &entry("anna")).status, 200);
    assert!(desk.ask("GET", FEED, &[ANNA], "").body.contains("urn:anna"));
    let berts = desk.ask("GET", FEED, &[BERT], "").body;
    assert!(berts.contains("urn:b") && !berts.contains("anna"));
    assert_eq!(desk.ask("PUT", MEMBER, &[BERT], &entry("bert")).status, 200);
    assert_eq!(desk.ask("GET", MEMBER, &[ANNA], "").body, entry("anna"));
    assert_eq!(desk.ask("GET", MEMBER, &[BERT], "").body, entry("bert"));
    let partitions: Vec<_> =
        desk.gateway.state.edits().map(|edit| edit.requested.partition).collect();
    assert_ne!(partitions[0], partitions[1]);
}

#[test]
fn events_and_errors_belong_to_the_partition_of_the_edit() {
    let mut desk = subscribed();
    desk.is_online = false;
    desk.ask("PUT", MEMBER, &[ANNA], &entry("anna"));
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(409, &[], ""));
    desk.after(5);
    let partition =
        desk.gateway.state.stored_subscriptions().next().unwrap().subscription.partition();
    let errors = desk.gateway.state.errors();
    assert_eq!(errors.of(partition, &FEED.parse().unwrap()).len(), 1);
    let public = feedsync_bitsy::authentication::Partition::public();
    assert!(errors.of(public, &FEED.parse().unwrap()).is_empty());
}

#[test]
fn edit_with_credentials_is_not_assigned_to_the_public_partition() {
    let mut desk = Desk::with_member();
    desk.go_offline();
    assert_eq!(desk.ask("GET", FEED, &[ANNA], "").status, 200, "what is public is");
    for headers in [ANNA, ("cookie", "session=1")] {
        assert_eq!(desk.ask("PUT", MEMBER, &[headers], &entry("x")).status, 401, "{headers:?}");
    }
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn other_hosts_get_no_credentials_and_readers_no_request_headers() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<link rel='enclosure' href='http://cdn.example/1.mp3'/>"));
    desk.serve("GET", "http://cdn.example/1.mp3", answer(200, &[], "sound"));
    let mine =
        [("Authorization", ANNA.1), ("Cookie", "a=1"), ("X-Api-Key", "k"), ("User-Agent", "u")];
    desk.subscribe(&["enclosure"], &mine);
    desk.run();
    let sent = desk.arrived.iter().find(|arrived| arrived.line.contains("cdn")).unwrap();
    for name in ["authorization", "cookie", "x-api-key"] {
        assert!(!sent.headers.contains_key(name), "{name}");
    }
    assert_eq!(sent.headers["user-agent"], "u");

    let mut desk = Desk::with_member();
    desk.go_offline();
    let odd = [("content-type", "text/plain"), ("x-secret", "1"), ("set-cookie", "a=1")];
    let put = desk.ask("PUT", MEMBER, &odd, "text");
    let got = desk.get(MEMBER);
    for answer in [put, got] {
        assert_eq!(answer.headers["content-type"], "text/plain");
        assert!(!answer.headers.contains_key("x-secret"));
        assert!(!answer.headers.contains_key("set-cookie"));
    }
}

#[test]
fn refusal_for_one_partition_is_served_to_that_partition() {
    let mut desk = subscribed();
    let no = [("www-authenticate", "Basic realm=\"gone\""), ("content-type", "text/plain")];
    desk.serve("GET", FEED, answer(401, &no, "ask again"));
    desk.after(3_600);
    desk.go_offline();
    let refused = desk.ask("GET", FEED, &[ANNA], "");
    assert_eq!((refused.status, &*refused.body), (401, "ask again"));
    assert_eq!(refused.headers["www-authenticate"], "Basic realm=\"gone\"");
}

#[test]
fn refusal_without_credentials_is_not_served_to_requests_with_credentials() {
    let mut desk = Desk::with_member();
    desk.serve("GET", FEED, answer(401, &[("www-authenticate", "Basic realm=\"now\"")], "who?"));
    desk.after(3_600);
    desk.lines();
    assert_eq!(desk.get(FEED).status, 401);
    assert!(desk.lines().is_empty(), "it is known here");
    desk.serve("GET", FEED, feed(EDITABLE));
    for mine in [ANNA, ("cookie", "session=1")] {
        assert_eq!(desk.ask("GET", FEED, &[mine], "").status, 200, "{mine:?}");
        assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    }
    assert_eq!(desk.get(FEED).status, 401, "nothing of it is for others");
    desk.go_offline();
    assert_eq!(desk.ask("GET", FEED, &[ANNA], "").status, 401);
}

#[test]
fn secrets_of_an_edit_are_not_sent_to_another_host() {
    const ELSEWHERE: &str = "http://other.example/entry";
    const KEY: (&str, &str) = ("x-api-key", "k");
    // In the strict profile an edit follows every redirection of its server.
    let mut desk = Desk::of(Profile::Strict);
    let entries = "<entry><id>urn:a</id><title>a</title><link rel='edit' href='/feed/entry'/></entry>\
        <entry><id>urn:b</id><title>b</title><link rel='edit' href='http://other.example/entry'/></entry>";
    desk.serve("GET", FEED, feed(&format!("<app:collection href='/members'/>{entries}")));
    desk.serve("PUT", ELSEWHERE, answer(204, &[], ""));
    desk.serve("PUT", MEMBER, answer(307, &[("location", "http://third.example/entry")], ""));
    desk.serve("PUT", "http://third.example/entry", answer(204, &[], ""));
    desk.subscribe(&[], &[("X-Api-Key", "k")]);
    desk.run();
    desk.is_online = false;
    let mine = [KEY, ("x-token", "t"), ("content-type", "application/atom+xml;type=entry")];
    for member in [MEMBER, ELSEWHERE] {
        assert_eq!(desk.ask("PUT", member, &mine, &entry("mine")).status, 200);
    }
    desk.is_online = true;
    desk.arrived.clear();
    desk.after(3_600);
    let put = |line: &str| {
        let sent = desk.arrived.iter().find(|it| it.line == format!("PUT {line}")).unwrap();
        assert_eq!(sent.headers["content-type"], "application/atom+xml;type=entry", "{line}");
        (sent.headers.contains_key("x-api-key"), sent.headers.contains_key("x-token"))
    };
    assert_eq!(put(MEMBER), (true, true));
    assert_eq!(
        put("http://third.example/entry"),
        (false, false),
        "it was sent there by its server"
    );
    assert_eq!(put(ELSEWHERE), (false, true), "what is registered is for the server of the feed");
}
