//! Delivery of a change: its requests, and the meaning of each response.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::newsreader::{
    Account, Change, Delivery, Interface, Next, OutgoingRequest, SignIn, UnsignedRequest,
};
use feedsync_bitsy::time::Time;

use crate::desk::{Desk, said};
use crate::server::Server;

fn account(interface: Interface, sign_in: SignIn, session: Option<&str>) -> Account {
    Account {
        partition: Partition::public(),
        interface,
        base: "http://hub.example/reader/".parse().unwrap(),
        sign_in,
        sessions: session.map(str::to_owned).into_iter().collect(),
        seen: Time::default(),
    }
}

fn password(besides: Option<&str>) -> SignIn {
    let (name, password) = ("an na".to_owned(), "se&cret".to_owned());
    SignIn::Password { name, password, besides: besides.map(str::to_owned) }
}

fn change(path: &str, body: &str) -> Change {
    let request = UnsignedRequest {
        method: "POST".to_owned(),
        path: path.to_owned(),
        content_type: Some("application/json".to_owned()),
        body: body.to_owned(),
    };
    Change { request, ..Change::default() }
}

/// Formats a request as one line, with the relevant headers.
fn line(asking: &OutgoingRequest) -> String {
    let OutgoingRequest { method, path, headers, body } = asking;
    let mut line = format!("{method} {path}");
    for name in ["authorization", "x-auth-token", "content-type"] {
        if let Some(value) = headers.get(name) {
            line += &format!(" | {}", value.to_str().unwrap());
        }
    }
    if body.is_empty() { line } else { format!("{line} | {}", String::from_utf8_lossy(body)) }
}

fn next(delivery: &mut Delivery, status: u16, body: &str) -> String {
    match delivery.answered(status, body.as_bytes()) {
        Next::Ask(asking) => line(&asking),
        Next::DeliveryResult(ended) => format!("{ended:?}"),
    }
}

const FORM: &str = "application/x-www-form-urlencoded";
const EDIT: &str = "api/greader.php/reader/api/0/edit-tag";

/// Returns the delivery of a change by a Google Reader account, and its first request.
fn of_google(session: Option<&str>) -> (Delivery, String) {
    let mut delivery = Delivery::new(account(Interface::Google, password(None), session));
    let first = line(&delivery.begin(change(EDIT, "i=1&a=read")));
    (delivery, first)
}

#[test]
fn google_reader_write_has_a_token_of_its_server() {
    let (mut delivery, first) = of_google(Some("s1"));
    assert_eq!(first, "GET api/greader.php/reader/api/0/token | GoogleLogin auth=s1");
    let write = next(&mut delivery, 200, " a+b\n");
    assert_eq!(write, format!("POST {EDIT} | GoogleLogin auth=s1 | {FORM} | i=1&a=read&T=a%2Bb"));
    assert_eq!(next(&mut delivery, 200, "OK\n"), "Sent");
    // The token is used for the next change, too.
    let second = line(&delivery.begin(change(EDIT, "")));
    assert_eq!(second, format!("POST {EDIT} | GoogleLogin auth=s1 | {FORM} | T=a%2Bb"));
}

#[test]
fn server_without_tokens_gets_the_session() {
    let long = "x".repeat(1_000);
    for (status, body) in
        [(404, "t"), (200, "<html>"), (200, "two words"), (200, "two\nlines"), (200, &long)]
    {
        let (mut delivery, _) = of_google(Some("s1"));
        assert!(next(&mut delivery, status, body).ends_with("i=1&a=read&T=s1"), "{status} {body}");
    }
    let (mut delivery, _) = of_google(Some("s1"));
    assert!(next(&mut delivery, 200, &long[1..]).ends_with(&format!("T={}", &long[1..])));
}

#[test]
fn google_reader_signs_in_once_when_its_session_has_ended() {
    let sign_in = format!(
        "POST api/greader.php/accounts/ClientLogin | {FORM} | service=reader&accountType=\
         HOSTED_OR_GOOGLE&source=feedsync&Email=an+na&Passwd=se%26cret"
    );
    let (mut delivery, _) = of_google(Some("s1"));
    next(&mut delivery, 200, "t");
    assert_eq!(next(&mut delivery, 401, ""), sign_in);
    let token = next(&mut delivery, 200, "SID=x\nAuth=s2\n");
    assert_eq!(token, "GET api/greader.php/reader/api/0/token | GoogleLogin auth=s2");
    assert!(next(&mut delivery, 200, "u").ends_with("T=u"));
    assert_eq!(next(&mut delivery, 401, ""), "Unknown");
    assert_eq!(delivery.account().sessions, ["s1", "s2"]);
    // An account without a session signs in first, and not again.
    let (mut delivery, first) = of_google(None);
    assert_eq!(first, sign_in);
    assert!(next(&mut delivery, 200, r#"{"Auth":"s2"}"#).starts_with("GET "));
    assert_eq!(next(&mut delivery, 401, ""), "Unknown");
    // The next change may sign in again.
    delivery.begin(change(EDIT, "i=2"));
    assert_eq!(next(&mut delivery, 401, ""), sign_in);
}

#[test]
fn sign_in_returns_a_session_or_unknown() {
    for (status, body, expected) in [
        (403, "Error=BadAuthentication", "Unknown"),
        (200, "SID=x", "Unknown"),
        (200, "Auth=", "Unknown"),
        (200, "{}", "Unknown"),
        (201, "Auth=s2", "Unknown"),
        (503, "Auth=s2", "Away"),
    ] {
        let (mut delivery, _) = of_google(None);
        assert_eq!(next(&mut delivery, status, body), expected, "{status} {body}");
    }
}

#[test]
fn paths_without_a_prefix_stay_without_one() {
    let mut delivery = Delivery::new(account(Interface::Google, SignIn::Session, Some("s1")));
    let first = line(&delivery.begin(change("reader/api/0/edit-tag", "i=1")));
    assert_eq!(first, "GET reader/api/0/token | GoogleLogin auth=s1");
    // A session from before cannot be renewed.
    assert_eq!(next(&mut delivery, 401, ""), "Unknown");
}

fn by_field(interface: Interface, name: &str) -> Delivery {
    let sign_in = SignIn::Field(name.to_owned(), "Basic YTpi".to_owned());
    Delivery::new(account(interface, sign_in, None))
}

#[test]
fn each_status_has_one_result_for_a_change() {
    for interface in [Interface::Miniflux, Interface::Nextcloud] {
        for (status, expected) in [
            (200, "Sent"),
            (204, "Sent"),
            (300, "Away"),
            (301, "Away"),
            (302, "Away"),
            (399, "Away"),
            (400, "Refused"),
            (401, "Unknown"),
            (403, "Refused"),
            (404, "Refused"),
            (408, "Away"),
            (409, "Refused"),
            (422, "Refused"),
            (425, "Away"),
            (429, "Away"),
            (499, "Refused"),
            (500, "Away"),
            (501, "Refused"),
            (502, "Away"),
            (503, "Away"),
            (504, "Away"),
            (505, "Refused"),
            (511, "Away"),
        ] {
            let mut delivery = by_field(interface, "authorization");
            let first = line(&delivery.begin(change("v1/entries", "{}")));
            assert_eq!(first, "POST v1/entries | Basic YTpi | application/json | {}");
            assert_eq!(next(&mut delivery, status, ""), expected, "{interface:?} {status}");
        }
    }
}

#[test]
fn credentials_are_marked_as_sensitive() {
    let mut delivery = by_field(Interface::Miniflux, "x-auth-token");
    let asking = delivery.begin(change("v1/entries", "{}"));
    assert_eq!(line(&asking), "POST v1/entries | Basic YTpi | application/json | {}");
    assert!(asking.headers["x-auth-token"].is_sensitive());
    assert!(!asking.headers["content-type"].is_sensitive());
}

#[test]
fn miniflux_star_is_read_before_it_is_toggled() {
    for (status, body, expected) in [
        (200, r#"{"starred":true}"#, "Sent"),
        (200, r#"{"starred":false}"#, "PUT v1/entries/7/bookmark | Basic YTpi"),
        (200, "<html>", "Away"),
        (299, "{}", "Away"),
        (404, "{}", "Refused"),
        (503, "{}", "Away"),
    ] {
        let mut delivery = by_field(Interface::Miniflux, "authorization");
        let request = UnsignedRequest {
            method: "PUT".to_owned(),
            path: "v1/entries/7/bookmark".to_owned(),
            ..UnsignedRequest::default()
        };
        let star = Change { request, toggles: Some((7, true)), ..Change::default() };
        assert_eq!(line(&delivery.begin(star)), "GET v1/entries/7 | Basic YTpi");
        assert_eq!(next(&mut delivery, status, body), expected, "{status} {body}");
    }
}

#[test]
fn ttrss_sends_the_session_in_the_body_and_authorization_for_a_proxy() {
    let sign_in = password(Some("Basic eDp5"));
    let mut delivery = Delivery::new(account(Interface::TinyTinyRss, sign_in, Some("s 1")));
    let first = line(&delivery.begin(change("tt-rss/api/", r#"{"op":"updateArticle"}"#)));
    let expected = r#"{"op":"updateArticle","sid":"s 1"}"#;
    assert_eq!(first, format!("POST tt-rss/api/ | Basic eDp5 | application/json | {expected}"));
    let login = next(&mut delivery, 200, r#"{"status":1,"content":{"error":"NOT_LOGGED_IN"}}"#);
    let expected = r#"{"op":"login","password":"se&cret","user":"an na"}"#;
    assert_eq!(login, format!("POST tt-rss/api/ | Basic eDp5 | application/json | {expected}"));
    let again = next(&mut delivery, 200, r#"{"status":0,"content":{"session_id":"s2"}}"#);
    assert!(again.ends_with(r#"{"op":"updateArticle","sid":"s2"}"#), "{again}");
    for (body, expected) in [
        (r#"{"status":1,"content":{"error":"INCORRECT_USAGE"}}"#, "Refused"),
        (r#"{"status":0,"content":{}}"#, "Sent"),
        ("<html>", "Away"),
    ] {
        delivery.begin(change("tt-rss/api/", r#"{"op":"updateArticle"}"#));
        assert_eq!(next(&mut delivery, 200, body), expected, "{body}");
    }
    // A body that is a form remains a form.
    let form = line(&delivery.begin(change("tt-rss/api/", "op=updateArticle")));
    assert!(form.ends_with("| op=updateArticle&sid=s2"), "{form}");
}

#[test]
fn sessions_are_read_from_sign_in_responses() {
    for (interface, status, body, expected) in [
        (Interface::Google, 200, "SID=a\nAuth= b \n", Some("b")),
        (Interface::Google, 200, r#"{"Auth":"b"}"#, Some("b")),
        (Interface::Google, 403, "Auth=b", None),
        (Interface::TinyTinyRss, 200, r#"{"content":{"session_id":"b"}}"#, Some("b")),
        (Interface::TinyTinyRss, 200, r#"{"content":{"session_id":""}}"#, None),
        (Interface::TinyTinyRss, 500, r#"{"content":{"session_id":"b"}}"#, None),
        (Interface::Miniflux, 200, "Auth=b", None),
        (Interface::Nextcloud, 200, "Auth=b", None),
    ] {
        let session = interface.session(status, body.as_bytes());
        assert_eq!(session.as_deref(), expected, "{interface:?} {body}");
    }
}

#[test]
fn offline_sign_in_has_the_response_of_its_interface() {
    let text = |answer: feedsync_reader_api::RawResponse| String::from_utf8(answer.body).unwrap();
    let answer = Interface::TinyTinyRss.signed_in("s1", 9, true);
    assert!(text(answer).contains(r#""seq":9"#));
    let answer = Interface::Google.signed_in("s1", 0, false);
    assert_eq!(Interface::Google.session(200, &answer.body).as_deref(), Some("s1"));
    assert!(!text(answer).starts_with('{'));
    assert!(text(Interface::Google.signed_in("s1", 0, true)).starts_with('{'));
}

#[test]
fn requests_are_sent_unchanged_but_without_credentials() {
    let request = |interface: Interface, line: &str, body: &str| {
        let said = said(line, body);
        let call = Desk::new(interface, Server::new(&[])).read(&said, "Basic YTpi");
        match call.operation {
            feedsync_bitsy::newsreader::Operation::ChangeRequest(writing) => writing.request,
            operation => panic!("{operation:?}"),
        }
    };
    let line = "POST /api/greader.php/reader/api/0/edit-tag?client=x&T=t&&ac=edit";
    let google = request(Interface::Google, line, "T=t&i=1&a=read\r\n");
    assert_eq!(google.path, "api/greader.php/reader/api/0/edit-tag?client=x&ac=edit");
    assert_eq!((&*google.method, &*google.body), ("POST", "i=1&a=read"));
    let google = request(Interface::Google, "POST reader/api/0/edit-tag?T=t", "i=1&a=read");
    assert_eq!(google.path, "reader/api/0/edit-tag");
    let miniflux = request(Interface::Miniflux, "PUT /v1/feeds/1/mark-all-as-read?x=1", "");
    assert_eq!(miniflux.path, "v1/feeds/1/mark-all-as-read?x=1");
    assert_eq!(format!("{miniflux:?}"), "PUT v1/feeds/1/mark-all-as-read");
    let form = "op=updateArticle&sid=s1&seq=7&article_ids=1&field=2&mode=0";
    let ttrss = request(Interface::TinyTinyRss, "POST api/", form);
    assert_eq!(ttrss.body, "op=updateArticle&article_ids=1&field=2&mode=0");
    let json = r#"{"op":"unsubscribeFeed","sid":"s1","seq":7,"feed_id":1}"#;
    let ttrss = request(Interface::TinyTinyRss, "POST api/", json);
    assert_eq!(ttrss.body, r#"{"feed_id":1,"op":"unsubscribeFeed"}"#);
}
