//! The package for web pages, served below `/bitsy/`: the Service Worker, its scripts and pages, and the demonstrations.
//!
//! The hub serves a fixed list of files from one directory, and reads them once when it starts. So no address can
//! name another file. The worker is below `/bitsy/` and the hub sends no `Service-Worker-Allowed`. A browser therefore
//! lets the worker control pages below `/bitsy/` only, and none of the hub's other pages.

use std::path::Path;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_http::browser_policy;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::http::bounded_file;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

/// Maximum size of one file, in bytes.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// Content security policy of the package. `wasm-unsafe-eval` permits WebAssembly, and no evaluation of text. The
/// demonstrations show a picture before it is sent (`blob:`).
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
                      img-src 'self' blob:; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Addresses below `/bitsy/`, with the file of the package and its media type.
const FILES: [(&str, &str, &str); 14] = [
    ("bitsy-worker.js", "bitsy-worker.js", SCRIPT),
    ("bitsy_bg.wasm", "bitsy_bg.wasm", "application/wasm"),
    ("bitsy.js", "bitsy.js", SCRIPT),
    ("bitsy.mjs", "bitsy.mjs", SCRIPT),
    ("offline.html", "offline.html", HTML),
    ("offline.mjs", "offline.mjs", SCRIPT),
    ("messages.mjs", "messages.mjs", SCRIPT),
    ("offline-page.js", "offline-page.js", SCRIPT),
    ("offline.css", "offline.css", STYLE),
    ("demo/", "demo/index.html", HTML),
    ("demo/notes.js", "demo/notes.js", SCRIPT),
    ("demo/notes.css", "demo/notes.css", STYLE),
    ("plain/", "plain/index.html", HTML),
    ("plain/plain.js", "plain/plain.js", SCRIPT),
];

/// Files of the package in memory.
#[derive(Debug, Default)]
pub(crate) struct WebPackage {
    files: Vec<PackageFile>,
    is_configured: bool,
}

#[derive(Debug)]
struct PackageFile {
    address: &'static str,
    media_type: &'static str,
    bytes: Bytes,
    tag: EntityTag,
}

impl WebPackage {
    /// Reads the files of a directory. Missing, unreadable and too large files are logged and not served.
    pub(crate) fn load(directory: Option<&Path>) -> Self {
        let Some(directory) = directory else { return Self::default() };
        let mut files = Vec::new();
        for (address, file, media_type) in FILES {
            let path = directory.join(file);
            match bounded_file::read(&path, MAX_FILE_BYTES) {
                Ok(bytes) => {
                    let tag = EntityTag::of_bytes(&bytes);
                    files.push(PackageFile { address, media_type, bytes: bytes.into(), tag });
                }
                Err(error) => tracing::warn!(
                    file = %path.display(), %error,
                    "a file of the web package cannot be read and is not served"
                ),
            }
        }
        Self { files, is_configured: true }
    }
}

/// `GET /bitsy/{*path}`.
pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let package = &hub.web_package;
    let address = call.segment("path");
    let Some(file) = package.files.iter().find(|file| file.address == address) else {
        return Err(Problem::not_found(match package.is_configured {
            true => "the web package has no such file",
            false => {
                "this hub has no web package: build packages/bitsy and start the hub with \
                 --web-package DIRECTORY"
            }
        }));
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ETAG, file.tag.value());
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    match file.tag.evaluate(&call.headers) {
        Condition::Proceed => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
            headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
            let mut response = (headers, file.bytes.clone()).into_response();
            // A worker has the policy of its script, so scripts get the policy of the pages.
            browser_policy::mark_page(&mut response, POLICY);
            Ok(response)
        }
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response())
        }
        Condition::Failed => Err(failed(&file.tag)),
    }
}
