//! The package for web pages below `/bitsy/`: known files of one directory and nothing else.

use std::fs;

use feedsync_server::Config;
use http::{Method, StatusCode};
use tempfile::TempDir;

use crate::hub::{TestHub, bytes, hub, hub_with, text};

/// A directory with some files of the package, and with files that are none of it.
pub(crate) fn package() -> TempDir {
    let directory = TempDir::new().unwrap();
    let at = directory.path();
    fs::create_dir_all(at.join("demo")).unwrap();
    for (name, content) in [
        ("bitsy-worker.js", "worker"),
        ("bitsy_bg.wasm", "\0asm"),
        ("demo/index.html", "<!doctype html><title>demo</title>"),
        ("secret.txt", "secret"),
    ] {
        fs::write(at.join(name), content).unwrap();
    }
    // Not a regular file, and a file that is too large.
    fs::create_dir(at.join("bitsy.js")).unwrap();
    let large = fs::File::create(at.join("bitsy.mjs")).unwrap();
    large.set_len((8 << 20) + 1).unwrap();
    directory
}

async fn packaged() -> (TestHub, TempDir) {
    let directory = package();
    let web_package = Some(directory.path().to_owned());
    (hub_with(Config { web_package, ..Config::default() }).await, directory)
}

#[tokio::test]
async fn files_of_the_package_have_their_media_types_and_a_policy_for_scripts() {
    let (hub, _directory) = packaged().await;
    for (path, media_type, content) in [
        ("/bitsy/bitsy-worker.js", "text/javascript; charset=utf-8", "worker"),
        ("/bitsy/bitsy_bg.wasm", "application/wasm", "\0asm"),
        ("/bitsy/demo/", "text/html; charset=utf-8", "<!doctype html><title>demo</title>"),
    ] {
        let response = hub.call(Method::GET, path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(text(&response, "content-type"), media_type, "{path}");
        assert_eq!(text(&response, "cache-control"), "no-cache", "{path}");
        // The worker must not control pages outside of its directory.
        assert_eq!(text(&response, "service-worker-allowed"), "", "{path}");
        let policy = text(&response, "content-security-policy");
        assert!(!policy.contains("sandbox") && !policy.contains("'unsafe-"), "{path}: {policy}");
        let tag = text(&response, "etag").to_owned();
        assert_eq!(bytes(response).await, content, "{path}");
        let again = hub.call(Method::GET, path, &[("if-none-match", &*tag)]).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
    }
}

#[tokio::test]
async fn other_files_of_the_directory_and_beyond_are_not_found() {
    let (hub, _directory) = packaged().await;
    for path in [
        "/bitsy/secret.txt",
        "/bitsy/demo",
        "/bitsy/demo/index.html",
        "/bitsy/demo/../secret.txt",
        "/bitsy/demo/%2e%2e/secret.txt",
        "/bitsy/demo%2F..%2Fsecret.txt",
        "/bitsy//secret.txt",
        "/bitsy/bitsy-worker.js/",
        "/bitsy/BITSY-WORKER.JS",
        "/bitsy/offline.html",
        "/bitsy/bitsy.js",
        "/bitsy/bitsy.mjs",
    ] {
        let response = hub.call(Method::GET, path, &[]).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(text(&response, "content-security-policy").contains("sandbox"), "{path}");
        let body = bytes(response).await;
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("the web package has no such file"), "{path}: {body}");
    }
}

#[tokio::test]
async fn a_hub_without_a_package_says_how_to_get_it() {
    let hub = hub().await;
    let response = hub.call(Method::GET, "/bitsy/demo/", &[]).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let body = bytes(response).await;
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("this hub has no web package"), "{body}");
    assert!(body.contains("--web-package DIRECTORY"), "{body}");
}
