//! A fetch without cookies: those that a redirect sets are ignored.

use http::header::HeaderMap;
use reqwest::Url;

/// No cookies. The private field makes callers write `Cookies::default()`, as with the feature `cookies`.
#[derive(Debug, Default)]
pub(crate) struct Cookies(());

impl Cookies {
    /// Ignores the cookies of a response.
    pub(crate) fn store(&mut self, _from: &Url, _headers: &HeaderMap) {}

    /// `None`: no request has a `Cookie` header.
    pub(crate) fn header(&self, _to: &Url) -> Option<String> {
        None
    }
}
