//! The cookie of a browser's session: a token that scripts cannot read and other sites cannot send.
//!
//! Over https it has the prefix `__Host-`, so that no neighbouring host can set it (RFC 6265bis 4.1.3).

use feedsync_endpoint::TokenSecret;
use feedsync_http::Cookie;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::http::problem::Problem;

const SESSION_COOKIE: Cookie = Cookie::new("feedsync-session", "__Host-feedsync-session");

/// Cookie of database clients: over http it has CouchDB's name.
const DATABASE_COOKIE: Cookie = Cookie::new("AuthSession", "__Host-AuthSession");

/// The same cookie over https for programs such as CouchDB's replicator, which expect CouchDB's name. The
/// prefix protects browsers, in which a neighbouring host may set cookies, so this name signs in no page.
const PROGRAM_COOKIE: Cookie = Cookie::new("AuthSession", "AuthSession");

/// Header in which a browser states how the site of the requesting page relates to this one.
const FETCH_SITE: &str = "sec-fetch-site";

/// Prefix of a cookie value that holds the access token itself. The client stores the token, and no session
/// begins.
const TOKEN_PREFIX: &str = "token.";

/// `Set-Cookie` value that begins a session of so many seconds.
pub(crate) fn begin(secret: &TokenSecret, seconds: u64, secure: bool) -> HeaderValue {
    SESSION_COOKIE.set(secret.as_str(), seconds, secure)
}

/// `Set-Cookie` value that ends a session.
pub(crate) fn end(secure: bool) -> HeaderValue {
    SESSION_COOKIE.set("", 0, secure)
}

/// Session token of a request, over http or https.
pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<TokenSecret> {
    TokenSecret::parse(&SESSION_COOKIE.read(headers, secure)?)
}

/// Credentials of a database client: a session or an access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseCookie {
    Session(TokenSecret),
    Token(TokenSecret),
}

impl DatabaseCookie {
    /// Whether a request sends this cookie under any of its names. The cookie need not be valid.
    pub(crate) fn is_sent(headers: &HeaderMap) -> bool {
        [false, true].into_iter().any(|secure| DATABASE_COOKIE.read(headers, secure).is_some())
    }

    /// Credentials that a request sends in such a cookie, over http or https.
    pub(crate) fn read(headers: &HeaderMap, secure: bool) -> Option<Self> {
        let of_a_program =
            || if is_from_browser(headers) { None } else { PROGRAM_COOKIE.read(headers, secure) };
        let value = DATABASE_COOKIE.read(headers, secure).or_else(of_a_program)?;
        match value.strip_prefix(TOKEN_PREFIX) {
            Some(token) => TokenSecret::parse(token).map(Self::Token),
            None => TokenSecret::parse(&value).map(Self::Session),
        }
    }

    /// Cookie value that represents these credentials.
    pub(crate) fn value(&self) -> String {
        match self {
            Self::Session(secret) => secret.as_str().to_owned(),
            Self::Token(secret) => format!("{TOKEN_PREFIX}{}", secret.as_str()),
        }
    }
}

/// `Set-Cookie` values that store a value in a database client for so many seconds. Over https a program gets
/// the cookie under both names.
pub(crate) fn database_cookies(
    value: &str,
    seconds: u64,
    secure: bool,
    headers: &HeaderMap,
) -> Vec<HeaderValue> {
    let mut cookies = vec![DATABASE_COOKIE.set(value, seconds, secure)];
    if secure && !is_from_browser(headers) {
        cookies.push(PROGRAM_COOKIE.set(value, seconds, secure));
    }
    cookies
}

/// Refuses an unsafe request with a cookie unless the browser states that a page of this hub sends it (AP64).
/// The `Origin` header was checked before.
pub(super) fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if method.is_safe() || is_of_ours(headers) { Ok(()) } else { Err(foreign()) }
}

/// The same check for database clients, which may be programs. Programs send no such headers, whereas a
/// browser always sends one with an unsafe request from another site.
pub(super) fn check_site(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let is_program = !headers.contains_key(FETCH_SITE);
    if method.is_safe() || is_program || is_of_ours(headers) { Ok(()) } else { Err(foreign()) }
}

/// Whether a browser sends the request. Over https, each browser that supports cookie prefixes sends one of
/// these headers with every unsafe request.
fn is_from_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(FETCH_SITE) || headers.contains_key(header::ORIGIN)
}

fn is_of_ours(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
        || headers.get(FETCH_SITE).is_some_and(|site| site == "same-origin")
}

fn foreign() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-origin",
        "Request from another origin",
        "changes with a browser session must come from a page of this hub, and the browser did not \
         confirm that; programs must use a token instead of the session",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_this_hub_alone_and_comes_back() {
        let token = format!("fsy_{}", "0a".repeat(32));
        let secret = TokenSecret::parse(&token).unwrap();
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
        let secret = TokenSecret::parse(&format!("fsy_{}", "0a".repeat(32))).unwrap();
        for kept in [DatabaseCookie::Session(secret.clone()), DatabaseCookie::Token(secret.clone())]
        {
            let program = HeaderMap::new();
            let mut browser = HeaderMap::new();
            browser.insert(FETCH_SITE, "same-origin".parse().unwrap());
            let names = |headers: &HeaderMap, secure: bool| {
                let set = database_cookies(&kept.value(), 60, secure, headers);
                let of = |value: &HeaderValue| value.to_str().unwrap().to_owned();
                set.iter().map(of).collect::<Vec<_>>()
            };
            let value = kept.value();
            let plain =
                format!("AuthSession={value}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
            assert_eq!(names(&program, false), [&*plain]);
            assert_eq!(names(&browser, false), [&*plain]);
            let prefixed = format!("__Host-{plain}; Secure");
            assert_eq!(names(&program, true), [prefixed.clone(), format!("{plain}; Secure")]);
            assert_eq!(names(&browser, true), [prefixed]);
            for (name, secure, is_browser, is_read) in [
                ("AuthSession", false, false, true),
                ("AuthSession", false, true, true),
                ("__Host-AuthSession", false, false, false),
                ("__Host-AuthSession", true, false, true),
                ("__Host-AuthSession", true, true, true),
                ("AuthSession", true, false, true),
                // A neighbouring host could have set it in this browser.
                ("AuthSession", true, true, false),
            ] {
                let mut headers = if is_browser { browser.clone() } else { program.clone() };
                let cookie = format!("a=b; {name}={value}");
                headers.insert(header::COOKIE, cookie.parse().unwrap());
                let expected = is_read.then(|| kept.clone());
                assert_eq!(
                    DatabaseCookie::read(&headers, secure),
                    expected,
                    "{name} {secure} {is_browser}"
                );
                assert!(DatabaseCookie::is_sent(&headers));
                assert_eq!(read(&headers, secure), None);
            }
        }
        for none in ["AuthSession=open", "AuthSession=token.", "feedsync-session=fsy_1", "x"] {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, none.parse().unwrap());
            assert_eq!(DatabaseCookie::read(&headers, false), None, "{none}");
        }
    }

    #[test]
    fn a_page_of_another_site_changes_nothing_for_a_cookie() {
        for (site, origin, is_for_pages, is_for_programs) in [
            (None, false, false, true),
            (Some("same-origin"), false, true, true),
            (Some("cross-site"), false, false, false),
            (Some("none"), false, false, false),
            // The origin was checked before.
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
