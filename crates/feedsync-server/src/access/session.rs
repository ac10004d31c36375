//! The cookie of a browser's session: a token that scripts cannot read and other sites cannot send.
//!
//! Over https it has the prefix `__Host-`, so that no neighbouring host can set it (RFC 6265bis 4.1.3).

use feedsync_endpoint::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::problem::Problem;

const SESSION: Cookie = Cookie::new("feedsync-session", "__Host-feedsync-session");

/// A cookie that scripts cannot read and other sites cannot send, by its name over http and over https.
pub(crate) struct Cookie {
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

/// The token of a session.
pub(crate) fn read(headers: &HeaderMap) -> Option<Secret> {
    Secret::parse(&SESSION.read(headers)?)
}

impl Cookie {
    pub(crate) const fn new(plain: &'static str, secure: &'static str) -> Self {
        Self { plain, secure }
    }

    /// The value of `Set-Cookie` for so many seconds; the value is ASCII without marks.
    pub(crate) fn set(&self, value: &str, seconds: u64, secure: bool) -> HeaderValue {
        let (name, more) = if secure { (self.secure, "; Secure") } else { (self.plain, "") };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{more}");
        let mut value = HeaderValue::from_str(&text)
            .unwrap_or_else(|_| unreachable!("tokens and numbers are ASCII"));
        value.set_sensitive(true);
        value
    }

    /// Its value; that of the secure one, where both are there.
    pub(crate) fn read(&self, headers: &HeaderMap) -> Option<String> {
        let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs: Vec<(&str, &str)> = given
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .collect();
        let named = |name: &str| pairs.iter().find(|(known, _)| *known == name);
        Some(named(self.secure).or_else(|| named(self.plain))?.1.to_owned())
    }
}

/// Refuses to change anything for a cookie unless the browser says that a page of ours asks (A64).
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
        for cookie in [plain, secure] {
            let mut headers = HeaderMap::new();
            let sent = format!("a=b; {}; c", cookie.split(';').next().unwrap());
            headers.insert(header::COOKIE, sent.parse().unwrap());
            assert_eq!(read(&headers), Some(secret.clone()), "{sent}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "feedsync-session=fsy_1".parse().unwrap());
        assert_eq!(read(&headers), None);
    }
}
