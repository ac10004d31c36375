//! Malicious input of a client: nothing changes, nothing breaks.

use http::{Method, Request, StatusCode};

use super::{LOG, begun, held, post, send};
use crate::hub::{bytes, hub, text};

#[tokio::test]
async fn thousands_of_tags_are_one_condition() {
    let hub = hub().await;
    let tag = begun(&hub, "1\n").await;
    let many: Vec<_> = (1..3_000).map(|number| format!("\"{number}.00000000-1\"")).collect();
    let none = many.join(",");
    let refused = post(&hub, &[("if-match", &none)], "2\n").await;
    assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED);
    let one_of_them = format!("{none}, {tag}");
    let response = hub.call(Method::GET, LOG, &[("if-none-match", &one_of_them)]).await;
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(post(&hub, &[("if-match", &one_of_them)], "2\n").await.status(), 204);
    let endless = "\"".to_owned() + &"9".repeat(50_000);
    for header in ["if-match", "if-none-match"] {
        let refused = post(&hub, &[(header, &endless)], "3\n").await;
        assert!(refused.status().is_client_error(), "{header}");
    }
    assert_eq!(held(&hub).await, "1\n2\n");
}

/// The media type of a log is chosen by its creator, and a browser must not interpret the log.
#[tokio::test]
async fn a_media_type_gets_into_no_other_header_and_makes_no_page() {
    let hub = hub().await;
    for kind in [
        "text/html\u{e9}",
        "text/html, application/json",
        "application/x; a=\"b\"; c",
        "a/b; c=\"d\"e\"",
        "text /html",
        "application/*",
        &format!("a/{}", "b".repeat(300)),
    ] {
        let headers = [("if-none-match", "*"), ("content-type", kind)];
        let refused = post(&hub, &headers, "1\n").await;
        assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
    }
    let split = Request::builder().header("content-type", "a/b\r\nset-cookie: x=y").body(());
    assert!(split.is_err(), "nor does it come that far");
    let headers = [("if-none-match", "*"), ("content-type", "text/html")];
    assert_eq!(post(&hub, &headers, "<script>1</script>\n").await.status(), 201);
    let response = hub.get(LOG).await;
    assert_eq!(text(&response, "content-type"), "text/html");
    assert_eq!(text(&response, "content-security-policy"), "default-src 'none'; sandbox");
}

#[tokio::test]
async fn names_that_no_collection_has_are_not_found_and_made() {
    let hub = hub().await;
    for name in ["Notes", "notes.json", "notes.atom", "%2e%2e", "a%2fb", "%00", "%ff", "a%0d%0ab"] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            let condition = if method == Method::POST { "if-none-match" } else { "if-match" };
            let path = format!("/logs/{name}");
            let answer = send(&hub, method.clone(), &path, &[(condition, "*")], "1\n").await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method} {name}");
        }
    }
    assert_eq!(hub.endpoint.store().collections().await.unwrap().len(), 1);
    for path in ["/logs", "/logs/", "/logs/notes/", "/logs/notes/snapshot/x"] {
        assert_eq!(hub.get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

/// An endless body is cut at the limit; one with a false length is refused by its head.
#[tokio::test]
async fn endless_and_packed_bodies_are_bounded() {
    let hub = hub().await;
    let tag = begun(&hub, "1\n").await;
    let part = bytes::Bytes::from(vec![b'\n'; 1 << 16]);
    let endless = futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(part.clone()));
    let body = axum::body::Body::from_stream(endless);
    let refused = post(&hub, &[("if-match", &tag)], body).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let huge = [("if-match", &*tag), ("content-length", "18446744073709551615")];
    assert_eq!(post(&hub, &huge, "2\n").await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let bomb = crate::offer::packed(&vec![b'\n'; 8 << 20]);
    let packed = [("if-match", &*tag), ("content-encoding", "gzip")];
    assert_eq!(post(&hub, &packed, bomb).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let whole = post(&hub, &packed, crate::offer::packed(b"2\n")).await;
    assert_eq!(whole.status(), StatusCode::NO_CONTENT);
    assert_eq!(bytes(hub.get(LOG).await).await, "1\n2\n");
}
