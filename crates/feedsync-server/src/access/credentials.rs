//! Credentials of a request: `Authorization` with Basic or Bearer (RFC 7617, RFC 6750) or a newsreader's
//! scheme (`GoogleLogin`, or `X-Auth-Token`), else a session cookie.
//!
//! Credentials are never read from the address, because addresses are logged, stored and forwarded (AD33).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_endpoint::TokenSecret;
use feedsync_reader_api::google;
use feedsync_store::UserName;
use http::{HeaderMap, HeaderName, header};

use super::session::{self, DatabaseCookie};

/// Header in which Miniflux clients send their token.
const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// Credentials of a request.
pub(super) enum Credentials {
    /// Nothing.
    None,
    /// An access token, with the user that the request names.
    Token(TokenSecret, Option<UserName>),
    /// A user's password.
    Password(UserName, String),
    /// A browser session.
    Session(TokenSecret),
    /// A JSON Web Token, for databases.
    Jwt(String),
    /// The cookie of a database client.
    DatabaseCookie(DatabaseCookie),
    /// Credentials that sign in nobody, whatever is stored.
    Invalid,
}

/// Reads the credentials of a request over http or https. An unknown scheme such as WSSE is not a bad
/// request: the response lists the accepted schemes, and the client retries with one (AP62). Requests to
/// databases may use the cookie of database clients.
pub(super) fn read(headers: &HeaderMap, secure: bool, is_for_databases: bool) -> Credentials {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (None, _) if headers.contains_key(AUTH_TOKEN) => {
            let token = headers.get(AUTH_TOKEN).and_then(|token| token.to_str().ok());
            let secret = token.and_then(|token| TokenSecret::parse(token.trim()));
            secret.map_or(Credentials::Invalid, |secret| Credentials::Token(secret, None))
        }
        (None, _) => {
            let kept = is_for_databases.then(|| DatabaseCookie::read(headers, secure)).flatten();
            let kept = kept.map(Credentials::DatabaseCookie);
            let session = || session::read(headers, secure).map(Credentials::Session);
            kept.or_else(session).unwrap_or(Credentials::None)
        }
        (Some(value), None) => {
            let text = value.to_str().ok();
            let read = text.and_then(|text| authorization(text, is_for_databases));
            read.unwrap_or(Credentials::Invalid)
        }
        (Some(_), Some(_)) => Credentials::Invalid,
    }
}

fn authorization(text: &str, is_for_databases: bool) -> Option<Credentials> {
    let (scheme, given) = text.split_once(' ')?;
    let given = given.trim();
    if scheme.eq_ignore_ascii_case("GoogleLogin") {
        return Some(Credentials::Token(TokenSecret::parse(google::authorization(text)?)?, None));
    }
    if scheme.eq_ignore_ascii_case("bearer") {
        let is_jwt = is_for_databases && given.split('.').count() == 3;
        return match TokenSecret::parse(given) {
            Some(secret) => Some(Credentials::Token(secret, None)),
            None => is_jwt.then(|| Credentials::Jwt(given.to_owned())),
        };
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(given).ok()?).ok()?;
    let (user, password) = pair.split_once(':')?;
    let user = UserName::new(user).ok()?;
    Some(match TokenSecret::parse(password) {
        Some(secret) => Credentials::Token(secret, Some(user)),
        None => Credentials::Password(user, password.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_signs_in_is_read() {
        let token = format!("fsy_{}", "0a".repeat(32));
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        let kind = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            match read(&headers, false, true) {
                Credentials::None => "none".to_owned(),
                Credentials::Token(_, user) => format!("token of {user:?}"),
                Credentials::Password(user, password) => format!("{user} {password}"),
                Credentials::Session(_) | Credentials::DatabaseCookie(_) => "session".to_owned(),
                Credentials::Jwt(token) => format!("JWT {token}"),
                Credentials::Invalid => "invalid".to_owned(),
            }
        };
        assert_eq!(kind("Bearer a.b.c"), "JWT a.b.c");
        assert_eq!(kind(&format!("Bearer {token}")), "token of None");
        assert_eq!(kind(&format!("bearer  {token}")), "token of None");
        assert_eq!(kind(&basic(&format!("anna:{token}"))), "token of Some(\"anna\")");
        assert_eq!(kind(&basic("anna:a:ü")), "anna a:ü");
        for invalid in [
            "",
            "Basic",
            "Basic ?",
            "Basic YW5uYQ",
            &basic("anna"),
            &basic("Anna:secret"),
            &STANDARD.encode([b'a', b':', 0xff]),
            "Bearer x",
            &format!("Digest {token}"),
            "WSSE profile=\"UsernameToken\"",
        ] {
            assert_eq!(kind(invalid), "invalid", "{invalid}");
        }
        let mut jwt = HeaderMap::new();
        jwt.insert(header::AUTHORIZATION, "Bearer a.b.c".parse().unwrap());
        assert!(matches!(read(&jwt, false, false), Credentials::Invalid), "for databases alone");
        let mut twice = HeaderMap::new();
        for _ in 0..2 {
            twice.append(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        }
        assert!(matches!(read(&twice, false, false), Credentials::Invalid));
        let mut kept = HeaderMap::new();
        kept.insert(header::COOKIE, format!("AuthSession={token}").parse().unwrap());
        assert!(matches!(read(&kept, false, true), Credentials::DatabaseCookie(_)));
        assert!(matches!(read(&kept, false, false), Credentials::None));
    }
}
