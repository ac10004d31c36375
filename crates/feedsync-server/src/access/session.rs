//! The cookie of a browser's session: a token that scripts cannot read and other sites cannot send.
//!
//! Over https it has the prefix `__Host-`, so that no neighbouring host can set it (RFC 6265bis 4.1.3).

use feedsync_endpoint::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::problem::Problem;

const SESSION: Cookie = Cookie::new("feedsync-session", "__Host-feedsync-session");

/// A cookie that scripts cannot read and other sites cannot send, by its name over http and over https.
#[derive(Debug)]
pub struct Cookie {
    plain: &'static str,
    secure: &'static str,
}

/// The value of `Set-Cookie` that begins a session of so many seconds.
pub(crate) fn begin(secret: &Secret, seconds: u64, secure: bool) -> HeaderValue {
    SESSION.set(secret.as_str(), seconds, secure)
}

/// The value of `Set-Cookie` that ends a session.
pub(crate) fn end(secure: bool) -> HeaderValue {
    SESSION.set("", 0, secure)
}

/// The token of a session, over http or https.
pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<Secret> {
    Secret::parse(&SESSION.read(headers, secure)?)
}

impl Cookie {
    /// A cookie of these names.
    pub const fn new(plain: &'static str, secure: &'static str) -> Self {
        Self { plain, secure }
    }

    /// The value of `Set-Cookie` for so many seconds; the value is ASCII without marks.
    pub fn set(&self, value: &str, seconds: u64, secure: bool) -> HeaderValue {
        let (name, more) = (self.name(secure), if secure { "; Secure" } else { "" });
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{more}");
        let mut value = HeaderValue::from_str(&text)
            .unwrap_or_else(|_| unreachable!("tokens and numbers are ASCII"));
        value.set_sensitive(true);
        value
    }

    /// Its value. Over https that without the prefix is not ours: whoever can write into a connection
    /// that is not encrypted, or owns a neighbouring host, could have set it.
    pub fn read(&self, headers: &HeaderMap, secure: bool) -> Option<String> {
        let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            given.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(known, _)| *known == self.name(secure))?;
        Some(value.to_owned())
    }

    fn name(&self, secure: bool) -> &'static str {
        if secure { self.secure } else { self.plain }
    }
}

/// Refuses to change anything for a cookie unless the browser says that a page of ours asks (AP64).
/// That an `Origin` is ours was checked before.
pub(super) fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let ours = headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin");
    if method.is_safe() || ours {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-origin",
        "A page of another origin",
        "a session changes something only for a page of this hub, and the browser does not say that \
         one asks; programs use a token",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_this_hub_alone_and_comes_back() {
        let token = format!("fsy_{}", "0a".repeat(32));
        let secret = Secret::parse(&token).unwrap();
        let text = |value: HeaderValue| value.to_str().unwrap().to_owned();
        let plain = text(begin(&secret, 60, false));
        assert_eq!(
            plain,
            format!("feedsync-session={token}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict")
        );
        let secure = text(begin(&secret, 60, true));
        assert!(secure.starts_with("__Host-feedsync-session=fsy_"), "{secure}");
        assert!(secure.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{secure}");
        assert!(text(end(true)).starts_with("__Host-feedsync-session=; Path=/; Max-Age=0;"));
        for (cookie, is_secure) in [(plain, false), (secure, true)] {
            let mut headers = HeaderMap::new();
            let sent = format!("a=b; {}; c", cookie.split(';').next().unwrap());
            headers.insert(header::COOKIE, sent.parse().unwrap());
            assert_eq!(read(&headers, is_secure), Some(secret.clone()), "{sent}");
            assert_eq!(read(&headers, !is_secure), None, "{sent}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "feedsync-session=fsy_1".parse().unwrap());
        assert_eq!(read(&headers, false), None);
    }
}
