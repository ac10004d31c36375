//! Style sheet and script: those of the hub with additions. Their names contain a hash of their bytes, so that
//! browsers may cache them indefinitely.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use feedsync_http::{Problem, pages};
use feedsync_store::Digest;
use http::{HeaderValue, header};

/// A static file that pages refer to.
pub(super) struct Asset {
    /// Last segment of its path.
    pub(super) name: String,
    kind: &'static str,
    text: String,
}

const OWN: &str = include_str!("../../../web/gateway.css");

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", [pages::STYLE, OWN].concat())
});

pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("script", "js", "text/javascript; charset=utf-8", pages::SCRIPT.to_owned())
});

impl Asset {
    fn new(stem: &str, suffix: &str, kind: &'static str, text: String) -> Self {
        let digest = Digest::of(text.as_bytes()).to_string();
        Self { name: format!("{stem}-{:.16}.{suffix}", digest), kind, text }
    }
}

/// `GET /pages/assets/{name}`.
pub(super) async fn read(Path(name): Path<String>) -> Result<Response, Problem> {
    let asset = [&*STYLE, &*SCRIPT].into_iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| {
        Problem::not_found("this file belongs to another version of the gateway: reload the page")
    })?;
    let fixed = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((fixed.map(|(name, value)| (name, HeaderValue::from_static(value))), asset.text.clone())
        .into_response())
}
