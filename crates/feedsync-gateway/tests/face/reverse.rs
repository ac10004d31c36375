//! Tests of the gateway in reverse mode.

use crate::support::{Gateway, Origin};

async fn answered(lines: &str, path: &str) -> crate::support::Answer {
    let answer = format!("HTTP/1.1 201 Created\r\n{lines}Content-Length: 0\r\n\r\n");
    let origin = Origin::saying(answer.replace("ORIGIN", "127.0.0.1:1")).await;
    let mounts = [format!("o={}", origin.url()), "far=http://127.0.0.1:1/deep/".to_owned()];
    let mounts: Vec<_> = mounts.iter().map(String::as_str).collect();
    let gateway = Gateway::with(&mounts, &[]).await;
    let mut answer = gateway.get(path, &["Host: localhost:99"]).await;
    answer.head = answer.head.replace(&origin.address.to_string(), "SELF");
    answer
}

#[tokio::test]
async fn an_answer_is_no_page_of_the_gateway() {
    let answer = answered(
        "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: other\r\n",
        "/o/",
    )
    .await;
    assert_eq!(answer.values("content-security-policy"), ["default-src 'none'", "sandbox"]);
    assert_eq!(answer.values("x-content-type-options"), ["nosniff"]);
    let refused = answered("", "/unknown/").await;
    assert_eq!(refused.status(), 404);
    assert_eq!(refused.values("content-security-policy"), ["default-src 'none'; sandbox"]);
}

#[tokio::test]
async fn cookies_are_kept_from_a_browser() {
    let answer = answered("Set-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\n", "/o/").await;
    assert_eq!(answer.values("set-cookie"), [""; 0]);
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let gateway = Gateway::before(&origin).await;
    gateway.get("/o/", &["Cookie: a=b", "Sec-Fetch-Site: none"]).await;
    gateway.get("/o/", &["Cookie: a=b"]).await;
    // Over plain HTTP to another machine, a browser is only recognised by its name and by other fields.
    let browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64)";
    for says in ["Accept: text/html,*/*;q=0.8", "Referer: http://a.example/", "Sec-GPC: 1"] {
        gateway.get("/o/", &["Cookie: a=b", browser, says]).await;
    }
    // Programs use the name of browsers, too.
    gateway.get("/o/", &["Cookie: a=b", browser, "Accept: application/atom+xml"]).await;
    gateway.get("/o/", &["Cookie: a=b", "Accept: text/html", "User-Agent: curl/8"]).await;
    let cookies: Vec<_> = origin.received().iter().map(|got| got.contains("Cookie: a=b")).collect();
    assert_eq!(cookies, [false, true, false, false, false, true, true]);
}

#[tokio::test]
async fn clear_site_data_of_one_origin_does_not_affect_others() {
    let answer = answered("Clear-Site-Data: \"*\"\r\n", "/o/").await;
    assert_eq!(answer.values("clear-site-data"), [""; 0]);
}

#[tokio::test]
async fn addresses_lead_back_through_the_gateway() {
    for (named, shown) in [
        ("/notes/1#end", "http://localhost:99/o/notes/1#end"),
        ("1?x=%2f", "http://localhost:99/o/a/1?x=%2F"),
        ("../c", "http://localhost:99/o/c"),
        ("//ORIGIN/deep/2", "http://127.0.0.1:1/deep/2"),
        ("http://ORIGIN/deep/2", "http://127.0.0.1:1/deep/2"),
        ("http://ORIGIN/else", "http://127.0.0.1:1/else"),
        ("https://elsewhere.example/x", "https://elsewhere.example/x"),
        ("mailto:a@example.org", "mailto:a@example.org"),
    ] {
        let lines = format!("Location: {named}\r\nContent-Location: {named}\r\n");
        let answer = answered(&lines, "/o/a/b").await;
        assert_eq!(answer.values("location"), [shown], "{named}");
        assert_eq!(answer.values("content-location"), [shown], "{named}");
    }
}

#[tokio::test]
async fn links_and_refreshes_lead_back_through_the_gateway() {
    let lines = "Link: </notes/2>; rel=next, <//ORIGIN/x>; rel=\"a\"; title=\"</b>\"\r\n\
        Link: <b>; rel=edit\r\nRefresh: 5; url=/notes/1#end\r\n";
    let answer = answered(lines, "/o/a/b").await;
    assert_eq!(
        answer.values("link"),
        [
            "<http://localhost:99/o/notes/2>; rel=next, <http://127.0.0.1:1/x>; rel=\"a\"; title=\"</b>\"",
            "<http://localhost:99/o/a/b>; rel=edit"
        ]
    );
    assert_eq!(answer.values("refresh"), ["5; url=http://localhost:99/o/notes/1#end"]);
}

#[tokio::test]
async fn a_browser_keeps_the_passwords_of_two_mounts_apart() {
    let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"notes\"\r\n\
        Content-Length: 0\r\n\r\n";
    let (one, other) = (Origin::saying(refusal).await, Origin::saying(refusal).await);
    let mounts = [format!("one={}", one.url()), format!("other={}", other.url())];
    let mounts: Vec<_> = mounts.iter().map(String::as_str).collect();
    let gateway = Gateway::with(&mounts, &[]).await;
    for (path, origin) in [("/one/", &one), ("/other/", &other)] {
        let expected = format!("Basic realm=\"http://{} notes\"", origin.address);
        // A browser is not always recognised as one.
        for headers in [&["Sec-Fetch-Site: none"][..], &[]] {
            let answer = gateway.get(path, headers).await;
            assert_eq!(answer.values("www-authenticate"), [expected.as_str()]);
        }
    }
    // A client that uses the gateway as a proxy gets the original field.
    let answer = gateway.get(&one.url(), &[&format!("Host: {}", one.address)]).await;
    assert_eq!(answer.values("www-authenticate"), ["Basic realm=\"notes\""]);
}

#[tokio::test]
async fn a_mount_or_an_origin_without_its_slash_is_at_its_slash() {
    for method in ["GET", "POST"] {
        let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let gateway = Gateway::before(&origin).await;
        let answer = gateway.ask(method, "/o?x=1", &[]).await;
        assert_eq!((answer.status(), answer.values("location")), (308, vec!["/o/?x=1"]));
        assert_eq!(answer.values("cache-control"), ["no-store"]);
        let bare = format!("/http/{}", origin.address);
        let answer = gateway.ask(method, &bare, &[]).await;
        assert_eq!((answer.status(), answer.values("location")), (308, vec![&*format!("{bare}/")]));
        assert!(origin.received().is_empty());
        assert_eq!(gateway.ask(method, "/o/?x=1", &[]).await.status(), 200);
        assert_eq!(gateway.ask(method, "/other", &[]).await.status(), 404);
    }
}

#[tokio::test]
async fn only_the_gateways_own_names_are_answered_for() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let gateway = Gateway::before(&origin).await;
    for host in
        ["evil.example", "127.0.0.1.evil.example:5023", "192.168.1.1", "localhost.evil.example"]
    {
        let answer = gateway.get("/o/", &[&format!("Host: {host}")]).await;
        assert_eq!(answer.status(), 421, "{host}");
    }
    for host in [
        "Host: localhost\r\nHost: localhost",
        "Host: ",
        "Host: a b",
        "Host: u@localhost",
        "Host: localhost/x",
    ] {
        assert_eq!(gateway.get("/o/", &[host]).await.status(), 400, "{host}");
    }
    let none = gateway.raw("GET /o/ HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert_eq!(none.status(), 400);
    assert!(origin.received().is_empty());
    for host in ["localhost", "LocalHost:1", "[::1]:5023", "a.localhost"] {
        let answer = gateway.get("/o/", &[&format!("Host: {host}")]).await;
        assert_eq!(answer.status(), 200, "{host}");
    }
}
