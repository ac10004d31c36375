//! Tests that the gateway gives no access to networks that the client cannot reach itself.

use std::net::SocketAddr;

use crate::support::{Gateway, Origin, config, knowing};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn a_public_name_leads_to_no_private_address() {
    let origin = Origin::saying(OK).await;
    let port = origin.address.port();
    let private = |text: &str| SocketAddr::new(text.parse().unwrap(), port);
    let names = [
        ("rebound.example", private("127.0.0.1")),
        ("lan.example", private("192.168.1.1")),
        ("ten.example", private("10.0.0.1")),
        ("shared.example", private("100.64.0.1")),
        ("metadata.example", private("169.254.169.254")),
        ("six.example", private("::1")),
        ("unique.example", private("fd00::1")),
        ("mapped.example", private("::ffff:127.0.0.1")),
        ("nobody.example", private("0.0.0.0")),
    ];
    let below = format!("*.example:{port}");
    for allowed in [below.as_str(), "*"] {
        let gateway = Gateway::of(config(&[], &[allowed]), knowing(&names)).await;
        for (name, _) in names {
            for path in [format!("/http/{name}:{port}/"), format!("http://{name}:{port}/")] {
                let answer = gateway.get(&path, &[]).await;
                assert_eq!(answer.status(), 403, "{path}: {answer:?}");
                assert!(answer.text().contains(&format!("--allow {name}:{port}")), "{answer:?}");
            }
        }
    }
    let gateway = Gateway::of(config(&[], &["*"]), knowing(&names)).await;
    for literal in ["127.0.0.1", "[::1]", "127.1", "2130706433", "[::ffff:7f00:1]", "0.0.0.0"] {
        let answer = gateway.get(&format!("/http/{literal}:{port}/"), &[]).await;
        assert_eq!(answer.status(), 403, "{literal}: {answer:?}");
    }
    let tunnel = gateway
        .raw("CONNECT lan.example:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(tunnel.status(), 403);
    assert!(origin.received().is_empty());
}

#[tokio::test]
async fn a_private_address_is_reached_by_who_was_named() {
    let origin = Origin::saying(OK).await;
    let port = origin.address.port();
    let names = [("box.lan", origin.address)];
    let mount = format!("box=http://box.lan:{port}/");
    let named = format!("box.lan:{port}");
    for (mounts, allow) in [(vec![mount.as_str()], vec![]), (vec![], vec!["*", named.as_str()])] {
        let gateway = Gateway::of(config(&mounts, &allow), knowing(&names)).await;
        let path = format!("/http/box.lan:{port}/");
        assert_eq!(gateway.get(&path, &[]).await.text(), "ok");
    }
    // Reachable while it is subscribed to, and not afterwards; an idle connection does not change that.
    let gateway = Gateway::of(config(&[], &["*"]), knowing(&names)).await;
    let path = format!("/http/{named}/");
    assert_eq!(gateway.get(&path, &[]).await.status(), 403);
    let reachable = gateway.serving().proxy().addresses().reachable.clone();
    reachable.subscribe(named.parse().unwrap());
    assert_eq!(gateway.get(&path, &[]).await.status(), 200);
    reachable.unsubscribe(&named.parse().unwrap());
    assert_eq!(gateway.get(&path, &[]).await.status(), 403);
}

#[tokio::test]
async fn unnamed_authorities_are_not_reached() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::with(&[], &[]).await;
    let url = origin.url();
    let path = format!("/http/{}/", origin.address);
    for path in [url.as_str(), path.as_str()] {
        let answer = gateway.get(path, &[]).await;
        assert_eq!(answer.status(), 403);
        assert_eq!(answer.values("content-type"), ["application/problem+json"]);
        assert!(answer.text().contains(&format!("--allow {}", origin.address)), "{answer:?}");
    }
    let answer = gateway.get("https://example.org/", &[]).await;
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("CONNECT"), "{answer:?}");
    assert!(origin.received().is_empty());
}
