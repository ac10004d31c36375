//! A fetch without cookies: those that a redirect sets are ignored.

use http::header::HeaderMap;
use reqwest::Url;

/// No cookies. It is not a unit, so that it is made as the other one is.
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
