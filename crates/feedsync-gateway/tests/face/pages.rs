//! Tests of pages in browsers that use the gateway, allowed and forbidden.

use crate::support::{Gateway, Origin, config, knowing};

async fn before(origin: &Origin, other: &Origin) -> Gateway {
    let mounts = [format!("o={}", origin.url()), format!("other={}", other.url())];
    let mounts: Vec<_> = mounts.iter().map(String::as_str).collect();
    let mut config = config(&mounts, &[]);
    config.allow_origins = vec!["https://app.example".parse().unwrap()];
    Gateway::of(config, knowing(&[])).await
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let (origin, other) = (Origin::saying(OK).await, Origin::saying(OK).await);
    let gateway = before(&origin, &other).await;
    let own = format!("http://{}", gateway.address);
    for headers in [
        vec!["Origin: https://evil.example".to_owned()],
        vec!["Origin: null".to_owned()],
        vec!["Origin: https://app.example.evil.example".to_owned()],
        vec!["Origin: http://app.example".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned()],
        vec!["Sec-Fetch-Site: same-site".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned(), "Sec-Fetch-Mode: navigate".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned(), "Referer: https://evil.example/".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned(), format!("Origin: {own}")],
        vec!["Origin: https://app.example".to_owned(), "Origin: https://evil.example".to_owned()],
        vec!["Sec-Fetch-Site: none".to_owned(), "Sec-Fetch-Site: cross-site".to_owned()],
    ] {
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        for method in ["GET", "POST", "DELETE"] {
            let answer = gateway.ask(method, "/o/", &headers).await;
            assert_eq!(answer.status(), 403, "{method} {headers:?}");
            assert!(answer.text().contains("--allow-origin") || !headers[0].contains("evil"));
        }
    }
    assert!(origin.received().is_empty());
}

#[tokio::test]
async fn an_allowed_page_a_person_and_a_program_are_answered() {
    let (origin, other) = (Origin::saying(OK).await, Origin::saying(OK).await);
    let gateway = before(&origin, &other).await;
    for headers in [
        vec![],
        vec!["Sec-Fetch-Site: none"],
        vec!["Origin: https://app.example"],
        vec!["Origin: https://app.example", "Sec-Fetch-Site: cross-site"],
        vec!["Referer: https://app.example/page", "Sec-Fetch-Site: cross-site"],
    ] {
        assert_eq!(gateway.get("/o/", &headers).await.status(), 200, "{headers:?}");
    }
    assert_eq!(origin.received().len(), 5);
    assert!(origin.received()[2].contains("Origin: https://app.example\r\n"));
}

#[tokio::test]
async fn pages_of_one_mount_cannot_access_another() {
    let (origin, other) = (Origin::saying(OK).await, Origin::saying(OK).await);
    let gateway = before(&origin, &other).await;
    let own = format!("http://{}", gateway.address);
    for (referer, status) in [
        (format!("Referer: {own}/o/page"), 200),
        (format!("Referer: {own}/http/{}/page", origin.address), 200),
        (format!("Referer: {own}/other/page"), 403),
        (format!("Referer: {own}/http/{}/page", other.address), 403),
        (format!("Referer: {own}/"), 403),
        ("Referer: https://app.example/".to_owned(), 403),
        ("X-None: 1".to_owned(), 403),
    ] {
        let answer = gateway.ask("PUT", "/o/x", &["Sec-Fetch-Site: same-origin", &referer]).await;
        assert_eq!(answer.status(), status, "{referer}");
        let answer = gateway.ask("PUT", "/o/x", &[&format!("Origin: {own}"), &referer]).await;
        assert_eq!(answer.status(), status, "{referer}");
    }
    assert!(other.received().is_empty());
    for got in origin.received() {
        // The origin gets the address of its own page, as if it were accessed directly.
        assert!(got.contains(&format!("Referer: {}page\r\n", origin.url())), "{got}");
        let named = format!("Origin: http://{}\r\n", origin.address);
        assert!(!got.contains("Origin: ") || got.contains(&named), "{got}");
        assert!(!got.contains(&own), "{got}");
    }
}
