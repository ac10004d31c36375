//! Style sheet and scripts of the pages, embedded in the program. Their names contain a hash of their
//! bytes, so that a cached copy needs no revalidation.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use feedsync_http::pages;
use http::{HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::validators::{Condition, EntityTag, failed};

/// A file that pages load.
pub(super) struct Asset {
    /// The last segment of its address.
    pub(super) name: String,
    kind: &'static str,
    text: &'static str,
    tag: EntityTag,
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style", "css", "text/css; charset=utf-8", pages::STYLE));

pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("script", "js", "text/javascript; charset=utf-8", pages::SCRIPT));

/// Script for keyboard shortcuts, and for marks without leaving the page.
pub(super) static READING: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "reading",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../web/reading.js"),
    )
});

/// Script that the scripts of the reading pages share.
pub(super) static READING_COMMON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "reading-common",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../web/reading-common.js"),
    )
});

/// Script that keeps articles and waiting marks in the browser.
pub(super) static OFFLINE_STORE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "offline-store",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../web/offline-store.js"),
    )
});

/// Script of the page for reading without a network.
pub(super) static OFFLINE_PAGE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "offline-page",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../web/offline-page.js"),
    )
});

impl Asset {
    fn new(stem: &str, suffix: &str, kind: &'static str, text: &'static str) -> Self {
        let tag = EntityTag::of(&[text]);
        Self { name: format!("{stem}-{}.{suffix}", tag.text()), kind, text, tag }
    }
}

/// `GET /pages/assets/{name}`.
pub(crate) async fn read(call: Call) -> Result<Response, Problem> {
    let name = call.segment("name");
    let all = [&*STYLE, &*SCRIPT, &*READING, &*READING_COMMON, &*OFFLINE_STORE, &*OFFLINE_PAGE];
    let asset = all.into_iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| {
        Problem::not_found("this file belongs to another version of the hub: reload the page")
    })?;
    let mut headers = http::HeaderMap::new();
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, forever);
    headers.insert(header::ETAG, asset.tag.value());
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    match asset.tag.evaluate(&call.headers) {
        Condition::Proceed => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
            Ok((headers, asset.text).into_response())
        }
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response())
        }
        Condition::Failed => Err(failed(&asset.tag)),
    }
}
