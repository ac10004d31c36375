//! The outbound fetch policy against servers that behave oddly.

use std::time::Duration;

use feedsync_fetch::{FetchError, Fetched, Fetcher, Policy, Private, Request, RetryAfter, address};
use feedsync_test::site::{Act, Answer, Site, answer, document, gzipped, raw, redirect};

fn policy() -> Policy {
    Policy {
        idle: Duration::from_millis(400),
        overall: Duration::from_millis(1_500),
        bytes: 4 << 20,
        ..Policy::new(Private::Allowed)
    }
}

async fn read(site: &Site, path: &str) -> Result<Vec<u8>, FetchError> {
    let fetcher = Fetcher::new(policy())?;
    let response = fetcher.document(address(&site.url(path))?, "*/*").await?;
    Ok(response.bytes().to_vec())
}

async fn read_from(answer: Answer) -> Result<Vec<u8>, FetchError> {
    let site = Site::start(move |_| answer.clone()).await;
    read(&site, "/feed").await
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n";

#[tokio::test]
async fn user_agent_is_sent_and_plain_and_compressed_bodies_are_read() {
    let body = "x".repeat(100_000);
    let packed = gzipped(body.as_bytes());
    let plain = body.clone();
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/packed" => answer(200, &[("Content-Encoding", "gzip")], &packed),
        _ => document("text/plain", &plain),
    })
    .await;
    assert_eq!(read(&site, "/plain").await.unwrap(), body.as_bytes());
    assert_eq!(read(&site, "/packed").await.unwrap(), body.as_bytes());
    let asked = &site.asked()[0];
    assert_eq!(asked.headers["user-agent"], "feedsync/0.1.0");
    // The server is on this machine.
    assert_eq!(asked.headers["accept-encoding"], "identity");
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_bound_and_loops_are_reported() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/loop" => redirect(302, "/back"),
        "/back" => redirect(302, "/loop"),
        "/self" => redirect(301, "/self#again"),
        "/3" => redirect(307, "/2"),
        "/2" => redirect(308, "1?a"),
        "/1?a" => redirect(303, "/0"),
        "/0" => document("text/plain", "there"),
        "/nowhere" => answer(302, &[], ""),
        endless => redirect(302, &format!("{endless}x")),
    })
    .await;
    assert_eq!(read(&site, "/3").await.unwrap(), b"there");
    for path in ["/loop", "/self"] {
        assert!(matches!(read(&site, path).await, Err(FetchError::RedirectLoop { .. })), "{path}");
    }
    assert!(matches!(read(&site, "/nowhere").await, Err(FetchError::Redirect { .. })));
    site.forget();
    let error = read(&site, "/endless").await.unwrap_err();
    assert!(matches!(error, FetchError::TooManyRedirects { limit: 5, .. }), "{error}");
    assert_eq!(site.asked().len(), 6);
}

/// Some servers answer the first request with a cookie and a redirect to the same address.
#[tokio::test]
async fn cookies_of_redirects_are_returned_within_one_fetch_only() {
    let other = Site::start(|_| document("text/plain", "other")).await;
    let elsewhere = other.url("/x").replace("127.0.0.1", "localhost");
    let set = |cookie: &str, to: &str| answer(302, &[("Set-Cookie", cookie), ("Location", to)], "");
    let site = Site::start(move |asked| {
        let cookie = asked.headers.get("cookie").map(String::as_str);
        match (asked.target.as_str(), cookie) {
            ("/self", None) => set("seen=1; Path=/; HttpOnly", "/self"),
            ("/self", Some("seen=1")) => document("text/plain", "there"),
            ("/two", None) => set("a=1", "/two"),
            ("/two", Some("a=1")) => set("b=2", "/two"),
            ("/two", Some("a=1; b=2")) => document("text/plain", "there"),
            ("/away", None) => set("secret=1; Path=/", &elsewhere),
            // The same cookie again is a loop; a new one each time continues up to the limit.
            ("/loop", _) => set("same=1", "/loop"),
            ("/endless", before) => {
                set(&format!("n={}", before.map_or(0, str::len) + 1).replace(' ', ""), "/endless")
            }
            _ => answer(404, &[], ""),
        }
    })
    .await;
    assert_eq!(read(&site, "/self").await.unwrap(), b"there");
    assert_eq!(read(&site, "/self").await.unwrap(), b"there", "and again");
    let first: Vec<_> =
        site.asked().iter().map(|asked| asked.headers.contains_key("cookie")).collect();
    assert_eq!(first, [false, true, false, true]);
    assert_eq!(read(&site, "/two").await.unwrap(), b"there");
    assert_eq!(read(&site, "/away").await.unwrap(), b"other");
    assert!(!other.asked()[0].headers.contains_key("cookie"));
    site.forget();
    assert!(matches!(read(&site, "/loop").await, Err(FetchError::RedirectLoop { .. })));
    assert_eq!(site.asked().len(), 2);
    site.forget();
    assert!(read(&site, "/endless").await.is_err());
    assert!(site.asked().len() <= 6);
}

#[tokio::test]
async fn a_location_of_raw_utf8_or_with_spaces_is_followed() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/utf8" => redirect(301, "/caf\u{e9}/\u{65e5}\u{672c}"),
        "/spaces" => redirect(302, "/a feed?of=this and that"),
        "/caf%C3%A9/%E6%97%A5%E6%9C%AC" | "/a%20feed?of=this%20and%20that" => {
            document("text/plain", "there")
        }
        _ => answer(404, &[], ""),
    })
    .await;
    for path in ["/utf8", "/spaces"] {
        assert_eq!(read(&site, path).await.unwrap(), b"there", "{path}");
    }
}

#[tokio::test]
async fn credentials_go_to_their_own_origin_only() {
    let other = Site::start(|_| document("text/plain", "other")).await;
    let elsewhere = other.url("/x");
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/here" => redirect(302, "/there"),
        "/there" => redirect(302, &elsewhere),
        _ => answer(404, &[], ""),
    })
    .await;
    let url = site.url("/here").replace("http://", "http://anna:secret@");
    let fetcher = Fetcher::new(policy()).unwrap();
    fetcher.document(address(&url).unwrap(), "*/*").await.unwrap();
    let asked = site.asked();
    assert!(asked.iter().all(|asked| asked.headers.contains_key("authorization")));
    assert_eq!(asked.len(), 2);
    assert!(!other.asked()[0].headers.contains_key("authorization"));
    let missing = site.url("/none").replace("http://", "http://anna:secret@");
    let error = fetcher.document(address(&missing).unwrap(), "*/*").await.unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_document_is_not_sent_on_to_another_server() {
    let other = Site::start(|_| document("text/plain", "thanks")).await;
    let elsewhere = other.url("/x");
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/away" => redirect(307, &elsewhere),
        "/along" => redirect(308, "/here"),
        "/see" => redirect(303, "/here"),
        _ => document("text/plain", "thanks"),
    })
    .await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let send = async |path: &str| {
        let url = address(&site.url(path)).unwrap();
        fetcher.fetch(Request::post(url, "text/plain", "mine")).await
    };
    assert!(matches!(send("/away").await, Err(FetchError::Redirect { .. })));
    assert_eq!(other.asked().len(), 0);
    assert!(matches!(send("/along").await, Ok(Fetched::Answer(_))));
    assert_eq!(site.asked().last().unwrap().body, b"mine");
    let seen = send("/see").await.unwrap_err();
    assert_eq!(seen.status().map(|status| status.as_u16()), Some(303));
}

#[tokio::test]
async fn a_body_over_the_bound_is_refused_announced_or_not() {
    let announced = raw(format!("{HEAD}Content-Length: 99999999999\r\n\r\nx"));
    assert!(matches!(read_from(announced).await, Err(FetchError::TooLarge { .. })));
    let endless = vec![Act::Send(format!("{HEAD}\r\n").into()), Act::Forever(vec![b'x'; 65_536])];
    let error = read_from(endless).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { limit: 4_194_304, .. }), "{error}");
}

#[tokio::test]
async fn a_body_that_is_shorter_than_it_says_is_no_answer() {
    let short = raw(format!("{HEAD}Content-Length: 100\r\n\r\nonly this"));
    assert!(matches!(read_from(short).await, Err(FetchError::Interrupted { .. })));
    let chunked = raw(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\nonly this"));
    assert!(matches!(read_from(chunked).await, Err(FetchError::Interrupted { .. })));
    let mut packed = gzipped(b"a document that breaks off in the middle of what it says");
    packed.truncate(packed.len() - 9);
    let cut = answer(200, &[("Content-Encoding", "gzip")], packed);
    assert!(matches!(read_from(cut).await, Err(FetchError::Encoding { .. })));
}

#[tokio::test]
async fn a_body_that_is_not_encoded_as_it_says_is_no_answer() {
    for coding in ["gzip", "br", "zstd", "deflate", "gzip, gzip", "identity, br"] {
        let lie = answer(200, &[("Content-Encoding", coding)], "plain text");
        assert!(matches!(read_from(lie).await, Err(FetchError::Encoding { .. })), "{coding}");
    }
}

#[tokio::test]
async fn a_decompression_bomb_is_stopped_by_the_bound_before_it_is_unpacked() {
    let bomb = gzipped(&vec![0; 64 << 20]);
    // An eighth of the body decompresses to twice the limit. The rest is never sent, and must not be waited
    // for.
    let head = format!("{HEAD}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", bomb.len());
    let begun = [head.as_bytes(), &bomb[..bomb.len() / 8]].concat();
    let error = read_from(vec![Act::Send(begun), Act::Pause(Duration::from_secs(20))]).await;
    assert!(matches!(error, Err(FetchError::TooLarge { limit: 4_194_304, .. })), "{error:?}");
}

#[tokio::test]
async fn text_that_repeats_itself_is_read_however_well_it_is_packed() {
    let body = vec![b'='; 4 << 20];
    let packed = gzipped(&body);
    assert!(packed.len() < body.len() / 500);
    let packed = answer(200, &[("Content-Encoding", "gzip")], packed);
    assert!(read_from(packed).await.unwrap() == body);
}

#[tokio::test]
async fn waiting_is_bounded_for_a_silent_server_and_for_a_slow_one() {
    let silent = vec![Act::Pause(Duration::from_secs(20))];
    assert!(matches!(read_from(silent).await, Err(FetchError::Timeout { .. })));
    let mut slow = vec![Act::Send(format!("{HEAD}\r\n").into())];
    for _ in 0..100 {
        slow.push(Act::Send(b"x".to_vec()));
        slow.push(Act::Pause(Duration::from_millis(100)));
    }
    let started = std::time::Instant::now();
    assert!(matches!(read_from(slow).await, Err(FetchError::Timeout { .. })));
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn an_address_that_nobody_serves_is_unreachable() {
    let site = Site::start(|_| Vec::new()).await;
    let url = address(&site.url("/")).unwrap();
    drop(site);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let error = fetcher.document(url, "*/*").await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
    assert!(error.is_temporary());
}

#[tokio::test]
async fn an_unchanged_document_is_not_sent_again() {
    let site = Site::start(|asked| {
        if asked.headers.get("if-none-match").is_some_and(|tag| tag == "\"1\"") {
            answer(304, &[], "")
        } else {
            answer(
                200,
                &[
                    ("ETag", "\"1\""),
                    ("Date", "Sun, 06 Nov 1994 08:49:38 GMT"),
                    ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ],
                "x",
            )
        }
    })
    .await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let url = address(&site.url("/")).unwrap();
    let Fetched::Answer(first) = fetcher.fetch(Request::read(url.clone())).await.unwrap() else {
        panic!("not modified since never");
    };
    let known = first.validators();
    let again = fetcher.fetch(Request::read(url.clone()).unless(&known)).await.unwrap();
    assert!(matches!(again, Fetched::NotModified));
    assert_eq!(site.asked()[1].headers["if-modified-since"], "Sun, 06 Nov 1994 08:49:37 GMT");
}

#[tokio::test]
async fn a_document_changed_within_the_second_of_its_answer_is_asked_for_unconditionally() {
    let site = Site::start(|_| {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        answer(200, &[("Date", now), ("Last-Modified", now)], "x")
    })
    .await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let url = address(&site.url("/")).unwrap();
    let first = fetcher.document(url.clone(), "*/*").await.unwrap();
    fetcher.fetch(Request::read(url).unless(&first.validators())).await.unwrap();
    assert!(!site.asked()[1].headers.contains_key("if-modified-since"));
}

#[tokio::test]
async fn unrequested_304_is_an_error() {
    let error = read_from(answer(304, &[], "")).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(304));
}

#[tokio::test]
async fn a_refusal_tells_why_and_when_to_come_back() {
    let problem = br#"{"type":"about:blank","title":"Bad feed","status":400,
        "detail":"'by' is missing","line":3,"column":14}"#;
    let site = Site::start(move |asked| match asked.target.as_str() {
        "/busy" => answer(503, &[("Retry-After", "120")], "busy"),
        _ => answer(400, &[("Content-Type", "application/problem+json; charset=utf-8")], problem),
    })
    .await;
    let error = read(&site, "/busy").await.unwrap_err();
    assert_eq!(error.retry_after(), Some(RetryAfter::Delay(Duration::from_secs(120))));
    assert!(error.is_temporary());
    let error = read(&site, "/bad").await.unwrap_err();
    assert!(error.to_string().ends_with("400 Bad Request: 3:14: 'by' is missing"), "{error}");
    assert!(!error.is_temporary());
}

#[tokio::test]
async fn fetch_for_a_stranger_reaches_no_private_address() {
    let site = Site::start(|_| document("text/plain", "secret")).await;
    let fetcher = Fetcher::new(Policy::new(Private::Refused)).unwrap();
    for url in [site.url("/"), site.url("/").replace("127.0.0.1", "localhost")] {
        let error = fetcher.document(address(&url).unwrap(), "*/*").await.unwrap_err();
        assert!(matches!(error, FetchError::Private { .. }), "{error}");
    }
    assert_eq!(site.asked().len(), 0);
}

#[tokio::test]
async fn a_public_address_that_a_person_gave_leads_to_no_private_one_and_a_private_one_does() {
    let site = Site::start(|_| document("text/plain", "inside")).await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let ask = async |url: &str, given: &str| {
        let fetcher = fetcher.given(address(given).unwrap());
        fetcher.fetch(Request::read(address(url).unwrap())).await
    };
    let named = site.url("/").replace("127.0.0.1", "localhost");
    for url in [site.url("/"), named.clone()] {
        let error = ask(&url, "http://8.8.8.8/feed").await.unwrap_err();
        assert!(matches!(error, FetchError::Private { .. }), "{error}");
    }
    assert_eq!(site.asked().len(), 0);
    for given in ["http://localhost:1/feed", "http://10.0.0.1/feed", "http://[::1]/feed", &named] {
        assert!(matches!(ask(&site.url("/"), given).await, Ok(Fetched::Answer(_))), "{given}");
    }
}

#[tokio::test]
async fn traffic_is_counted() {
    let site = Site::start(|_| document("text/plain", "12345")).await;
    let fetcher = Fetcher::new(policy()).unwrap();
    let counted = fetcher.metered();
    counted.document(address(&site.url("/")).unwrap(), "*/*").await.unwrap();
    let traffic = counted.traffic();
    assert_eq!((traffic.requests(), traffic.sent(), traffic.received()), (1, 0, 5));
    assert_eq!(fetcher.traffic().requests(), 0);
}
