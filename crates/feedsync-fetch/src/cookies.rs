//! Cookies of one fetch: those that a redirect sets are returned to its server in later requests of the fetch
//! (RFC 6265).
//!
//! Some servers answer the first request with a cookie and a redirect to the same address. The cookies are
//! dropped with the fetch, and bounded: at most [`MAX_COOKIES`] of at most [`MAX_BYTES`] each.

use cookie_store::CookieStore;
use http::header::{HeaderMap, SET_COOKIE};
use reqwest::Url;

/// Maximum number of cookies in one fetch.
const MAX_COOKIES: usize = 32;

/// Maximum number of bytes of a `Set-Cookie` header; a longer one is ignored.
const MAX_BYTES: usize = 4 << 10;

/// Cookies that redirects of one fetch have set.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    store: CookieStore,
    taken: usize,
}

impl Cookies {
    /// Stores the cookies of a response from this address.
    pub(crate) fn store(&mut self, from: &Url, headers: &HeaderMap) {
        for value in headers.get_all(SET_COOKIE) {
            let text = value.to_str().ok().filter(|text| text.len() <= MAX_BYTES);
            let Some(text) = text.filter(|_| self.taken < MAX_COOKIES) else { continue };
            self.taken += 1;
            // A cookie that is not for this server, or cannot be read, is ignored.
            let _ = self.store.parse(text, from);
        }
    }

    /// Value of the `Cookie` header of a request to this address; `None` without a cookie for it.
    pub(crate) fn header(&self, to: &Url) -> Option<String> {
        let mut pairs: Vec<_> = self
            .store
            .get_request_values(to)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.sort_unstable();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(from: &str, set: &[&str], to: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        for text in set {
            headers.append(SET_COOKIE, text.parse().unwrap());
        }
        let mut cookies = Cookies::default();
        cookies.store(&Url::parse(from).unwrap(), &headers);
        cookies.header(&Url::parse(to).unwrap())
    }

    #[test]
    fn cookies_return_to_their_own_server_only() {
        let from = "https://www.a.example/x/feed";
        let sent = |set: &str, to: &str| after(from, &[set], to);
        assert_eq!(sent("s=1", from).as_deref(), Some("s=1"));
        assert_eq!(sent("s=1; Path=/", "https://www.a.example/y").as_deref(), Some("s=1"));
        assert_eq!(sent("s=1; Path=/y", from), None);
        assert_eq!(sent("s=1", "https://b.example/x/feed"), None);
        assert_eq!(sent("s=1", "https://a.example/x/feed"), None);
        let domain = "s=1; Domain=a.example; Path=/";
        assert_eq!(sent(domain, "https://a.example/").as_deref(), Some("s=1"));
        assert_eq!(sent("s=1; Domain=b.example", "https://b.example/x/feed"), None);
        assert_eq!(sent("s=1; Path=/; Secure", "http://www.a.example/"), None);
        assert_eq!(sent("s=1; Max-Age=0", from), None);
    }

    #[test]
    fn cookies_of_one_fetch_are_bounded() {
        let many: Vec<_> = (0..MAX_COOKIES * 4).map(|n| format!("c{n}=1")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let sent = after("http://a.example/", &many, "http://a.example/").unwrap();
        assert_eq!(sent.split("; ").count(), MAX_COOKIES);
        let large = format!("s={}", "x".repeat(MAX_BYTES));
        assert_eq!(after("http://a.example/", &[&large], "http://a.example/"), None);
    }
}
