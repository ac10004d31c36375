//! The certificate of the hub's authority, for devices that are to trust it.

use std::fs;
use std::path::{Path, PathBuf};

use feedsync_server::{Config, Tls};
use http::{Method, StatusCode};
use tempfile::TempDir;

use crate::hub::{bytes, hub, hub_with, text};

/// Writes a file with a private key, a certificate and a second one, as some tools do; returns its path and the first certificate.
pub(crate) fn file(directory: &Path) -> (PathBuf, Vec<u8>) {
    let made = || rcgen::generate_simple_self_signed(vec!["hub.example.org".to_owned()]).unwrap();
    let (first, second) = (made(), made());
    let path = directory.join("authority.pem");
    let key = first.signing_key.serialize_pem();
    fs::write(&path, [key, first.cert.pem(), second.cert.pem()].concat()).unwrap();
    (path, first.cert.der().to_vec())
}

fn config(authority: PathBuf) -> Config {
    Config { tls: Tls { authority: Some(authority), ..Tls::default() }, ..Config::default() }
}

#[tokio::test]
async fn certificate_of_the_authority_is_served_and_nothing_else_of_its_file() {
    let directory = TempDir::new().unwrap();
    let (path, certificate) = file(directory.path());
    let hub = hub_with(config(path)).await;
    let response = hub.get("/authority.crt").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(text(&response, "content-type"), "application/x-x509-ca-cert");
    assert_eq!(bytes(response).await, certificate);
    let posted = hub.call(Method::POST, "/authority.crt", &[]).await;
    assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn files_without_a_certificate_are_not_served() {
    let directory = TempDir::new().unwrap();
    let (path, _) = file(directory.path());
    let whole = fs::read_to_string(&path).unwrap();
    let key = whole.split("-----BEGIN CERTIFICATE").next().unwrap();
    let large = format!("{whole}{}", "x".repeat(64 << 10));
    let of = |name: &str, content: &str| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    for path in [
        of("key", key),
        of("empty", ""),
        of("large", &large),
        directory.path().join("none"),
        directory.path().to_owned(),
    ] {
        let hub = hub_with(config(path.clone())).await;
        assert_eq!(hub.get("/authority.crt").await.status(), StatusCode::NOT_FOUND, "{path:?}");
    }
    assert_eq!(hub().await.get("/authority.crt").await.status(), StatusCode::NOT_FOUND);
}
