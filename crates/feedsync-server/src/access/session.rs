//! The cookie of a browser's session: a token that scripts cannot read and other sites cannot send.
//!
//! Over https it has the prefix `__Host-`, so that no neighbouring host can set it (RFC 6265bis 4.1.3).

use feedsync_endpoint::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::problem::Problem;

const SESSION: Cookie = Cookie::new("feedsync-session", "__Host-feedsync-session");

/// What clients of databases keep, under the name that they know it by.
pub(crate) const OF_DATABASES: Cookie = Cookie::new("AuthSession", "AuthSession");

/// What stands before a token that was signed in with: it is what the client keeps, and no session is begun.
const TOKEN: &str = "token.";

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

/// What a client of databases signs in with: a session, or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OfDatabases {
    Session(Secret),
    Token(Secret),
}

impl OfDatabases {
    /// What a request sends.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let value = OF_DATABASES.read(headers, false)?;
        match value.strip_prefix(TOKEN) {
            Some(token) => Secret::parse(token).map(Self::Token),
            None => Secret::parse(&value).map(Self::Session),
        }
    }

    /// The value of `Set-Cookie` by which a client keeps it for so many seconds.
    pub(crate) fn begin(&self, seconds: u64, secure: bool) -> HeaderValue {
        match self {
            Self::Session(secret) => OF_DATABASES.set(secret.as_str(), seconds, secure),
            Self::Token(secret) => {
                OF_DATABASES.set(&format!("{TOKEN}{}", secret.as_str()), seconds, secure)
            }
        }
    }
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
    if method.is_safe() || is_of_ours(headers) { Ok(()) } else { Err(foreign()) }
}

/// The same of clients of databases, which are programs as well: those say nothing of pages, and no page can say
/// nothing that asks from elsewhere to change something.
pub(super) fn check_site(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let is_of_a_page = headers.contains_key("sec-fetch-site");
    if method.is_safe() || !is_of_a_page || is_of_ours(headers) { Ok(()) } else { Err(foreign()) }
}

fn is_of_ours(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

fn foreign() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-origin",
        "A page of another origin",
        "a session changes something only for a page of this hub, and the browser does not say that \
         one asks; programs use a token",
    )
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

    #[test]
    fn a_client_of_databases_keeps_a_session_or_its_token() {
        let secret = Secret::parse(&format!("fsy_{}", "0a".repeat(32))).unwrap();
        for kept in [OfDatabases::Session(secret.clone()), OfDatabases::Token(secret.clone())] {
            let set = kept.begin(60, true).to_str().unwrap().to_owned();
            assert!(
                set.ends_with("; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"),
                "{set}"
            );
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, set.split(';').next().unwrap().parse().unwrap());
            assert_eq!(OfDatabases::read(&headers), Some(kept));
            assert_eq!(read(&headers, true), None);
        }
        for none in ["AuthSession=open", "AuthSession=token.", "feedsync-session=fsy_1", "x"] {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, none.parse().unwrap());
            assert_eq!(OfDatabases::read(&headers), None, "{none}");
        }
    }

    #[test]
    fn a_page_of_another_site_changes_nothing_for_a_cookie() {
        for (site, origin, is_for_pages, is_for_programs) in [
            (None, false, false, true),
            (Some("same-origin"), false, true, true),
            (Some("cross-site"), false, false, false),
            (Some("none"), false, false, false),
            // That it is ours was checked.
            (Some("same-origin"), true, true, true),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(site) = site {
                headers.insert("sec-fetch-site", site.parse().unwrap());
            }
            if origin {
                headers.insert(header::ORIGIN, "http://localhost".parse().unwrap());
            }
            assert_eq!(check_origin(&Method::POST, &headers).is_ok(), is_for_pages, "{site:?}");
            assert_eq!(check_site(&Method::POST, &headers).is_ok(), is_for_programs, "{site:?}");
            assert!(check_origin(&Method::GET, &headers).is_ok());
            assert!(check_site(&Method::GET, &headers).is_ok());
        }
    }
}
