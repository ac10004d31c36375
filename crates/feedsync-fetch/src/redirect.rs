//! Redirects, which are followed here and not by the HTTP library.

use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, percent_encode};
use reqwest::Url;

use crate::address::is_http;
use crate::cookies::Cookies;
use crate::error::{FetchError, shown};

/// Whether a status redirects this request. A request with a body is sent again only where the server
/// requires the same request (307, 308).
pub(crate) fn is_redirect(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        307 | 308 => true,
        301..=303 => method.is_safe(),
        _ => false,
    }
}

/// Requests of one fetch so far: each address with the cookies that were sent to it.
pub(crate) struct RedirectHistory {
    way: Vec<(Url, Option<String>)>,
    here: Url,
    limit: usize,
    cookies: Cookies,
    /// Whether every redirect so far was permanent (RFC 9110 15.4.2, 15.4.9).
    is_permanent: bool,
}

impl RedirectHistory {
    pub(crate) fn new(start: Url, limit: usize) -> Self {
        Self {
            way: Vec::new(),
            here: start,
            limit,
            cookies: Cookies::default(),
            is_permanent: true,
        }
    }

    pub(crate) fn here(&self) -> &Url {
        &self.here
    }

    /// Returns the value of the `Cookie` header for the current address.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.cookies.header(&self.here)
    }

    /// Returns the new address of the document, if it moved permanently.
    pub(crate) fn moved_to(&self) -> Option<&Url> {
        let (start, _) = self.way.first()?;
        (self.is_permanent && *start != self.here).then_some(&self.here)
    }

    /// Follows the redirect of a response, and returns whether it leads to another origin. That origin gets
    /// no credentials, neither those of the request nor any that the server put into the address. A request
    /// with an address and cookies that were sent before closes a loop.
    pub(crate) fn follow(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<bool, FetchError> {
        self.is_permanent &= matches!(status.as_u16(), 301 | 308);
        let url = shown(&self.here);
        let bad =
            |reason: &str| FetchError::Redirect { url: url.clone(), reason: reason.to_owned() };
        let location =
            headers.get(LOCATION).ok_or_else(|| bad("a redirect without a Location header"))?;
        let mut next = self
            .here
            .join(&reference(location.as_bytes()))
            .map_err(|_| bad("a redirect to an invalid URL"))?;
        if !is_http(&next) {
            return Err(bad("a redirect to an address that is neither http nor https"));
        }
        if self.here.scheme() == "https" && next.scheme() == "http" {
            return Err(bad("a redirect from https to http"));
        }
        next.set_fragment(None);
        let other_origin = self.here.origin() != next.origin();
        let (user, password) =
            if other_origin { ("", None) } else { (self.here.username(), self.here.password()) };
        // Both fail only for addresses that have no host.
        let _ = next.set_username(user);
        let _ = next.set_password(password);
        let sent = self.cookies.header(&self.here);
        self.cookies.store(&self.here, headers);
        self.way.push((std::mem::replace(&mut self.here, next), sent));
        let cookie = self.cookies.header(&self.here);
        if self.way.iter().any(|(url, sent)| *url == self.here && *sent == cookie) {
            return Err(FetchError::RedirectLoop { url: shown(&self.here) });
        }
        if self.way.len() > self.limit {
            return Err(FetchError::TooManyRedirects { url: shown(&self.here), limit: self.limit });
        }
        Ok(other_origin)
    }
}

/// Leaves all ASCII characters as they are: [`Url::join`] escapes those that have to be.
const NONE: &AsciiSet = &AsciiSet::EMPTY;

/// Decodes a reference in a header. Servers send bytes beyond ASCII unescaped, in any charset, and browsers
/// escape them one by one.
pub(crate) fn reference(bytes: &[u8]) -> String {
    percent_encode(bytes, NONE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(from: &str, to: &str) -> Result<String, FetchError> {
        let mut trail = RedirectHistory::new(Url::parse(from).unwrap(), 5);
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().unwrap());
        trail.follow(StatusCode::FOUND, &headers)?;
        Ok(trail.here().to_string())
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let from = "http://anna:secret@a.example/x";
        assert_eq!(follow(from, "/y").unwrap(), "http://anna:secret@a.example/y");
        assert_eq!(follow(from, "http://b.example/y").unwrap(), "http://b.example/y");
        assert_eq!(follow(from, "http://a.example:81/y").unwrap(), "http://a.example:81/y");
        assert_eq!(
            follow("http://a.example/", "http://u:p@b.example/").unwrap(),
            "http://b.example/"
        );
    }

    #[test]
    fn raw_bytes_in_a_location_are_escaped_as_browsers_do() {
        let from_bytes = |location: &[u8]| {
            let mut trail = RedirectHistory::new(Url::parse("http://a.example/x").unwrap(), 5);
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, location.try_into().unwrap());
            trail.follow(StatusCode::FOUND, &headers).map(|_| trail.here().to_string())
        };
        for (location, expected) in [
            ("/caf\u{e9}/\u{65e5}".as_bytes(), "http://a.example/caf%C3%A9/%E6%97%A5"),
            (b"/caf\xe9", "http://a.example/caf%E9"),
            ("/a?q=\u{fc}".as_bytes(), "http://a.example/a?q=%C3%BC"),
            (b" /a b c ", "http://a.example/a%20b%20c"),
            ("http://b\u{fc}cher.example/".as_bytes(), "http://xn--bcher-kva.example/"),
            (b"/50%25", "http://a.example/50%25"),
        ] {
            assert_eq!(from_bytes(location).unwrap(), expected);
        }
        assert!(from_bytes(b"http://b\xfccher.example/").is_err());
    }

    #[test]
    fn https_never_leads_down_to_http() {
        assert!(matches!(
            follow("https://a.example/", "http://a.example/x"),
            Err(FetchError::Redirect { .. })
        ));
        assert!(follow("http://a.example/", "https://a.example/x").is_ok());
    }

    #[test]
    fn other_schemes_are_not_followed() {
        assert!(matches!(
            follow("http://a.example/", "file:///x"),
            Err(FetchError::Redirect { .. })
        ));
    }

    #[test]
    fn a_body_is_sent_again_only_where_the_request_must_stay_the_same() {
        assert!(!is_redirect(StatusCode::SEE_OTHER, &Method::POST));
        assert!(!is_redirect(StatusCode::FOUND, &Method::POST));
        assert!(is_redirect(StatusCode::PERMANENT_REDIRECT, &Method::POST));
        assert!(is_redirect(StatusCode::FOUND, &Method::GET));
    }
}
