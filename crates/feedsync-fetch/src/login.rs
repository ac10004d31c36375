//! Logins: a token, or a user name and a password.
//!
//! A login belongs to one origin (scheme, host and port) and is sent to no other, by no redirect and by no
//! link. Its origin is `https`, or this machine. Over plain HTTP to another machine it could be read by
//! others, so such a login cannot be created. No message of this program contains it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{RequestBuilder, Url};
use serde::{Deserialize, Serialize};

use crate::address::{address, is_loopback};
use crate::error::{FetchError, shown};

/// Origin for which a login is valid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LoginOrigin(String);

impl LoginOrigin {
    /// Returns the origin of an address, if a login may be sent there.
    pub fn of(url: &Url) -> Result<Self, FetchError> {
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(url) => {}
            _ => return Err(FetchError::Insecure { url: shown(url) }),
        }
        Ok(Self(url.origin().ascii_serialization()))
    }

    /// Returns its text: `https://hub.example`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_plain(&self) -> bool {
        self.0.starts_with("http:")
    }
}

impl fmt::Display for LoginOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for LoginOrigin {
    type Error = FetchError;
    fn try_from(text: String) -> Result<Self, FetchError> {
        Self::of(&address(&text)?)
    }
}

impl From<LoginOrigin> for String {
    fn from(origin: LoginOrigin) -> Self {
        origin.0
    }
}

/// A token (RFC 6750), or a user's name and password (RFC 7617).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredLogin", into = "StoredLogin")]
pub struct Login(StoredLogin);

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLogin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    secret: String,
}

/// A text that cannot be sent as a login; the message does not contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The token is invalid (RFC 6750, 2.1).
    #[error(
        "a token can have letters, digits and -._~+/ with = at its end, at most 4096 characters"
    )]
    Token,
    /// The user name or password is invalid (RFC 7617, 2).
    #[error(
        "the user name must not contain a colon; user name and password must have 1 to 4096 bytes \
         and no control characters"
    )]
    Password,
}

const MAX_LENGTH: usize = 4_096;

impl Login {
    /// Creates a login with a token.
    pub fn token(text: impl Into<String>) -> Result<Self, LoginError> {
        StoredLogin { user: None, secret: text.into() }.try_into()
    }

    /// Creates a login with a user name and a password.
    pub fn password(
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Result<Self, LoginError> {
        StoredLogin { user: Some(user.into()), secret: password.into() }.try_into()
    }

    /// Returns the user name, if the login has a password.
    pub fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    /// Adds the login to a request, marked so that logs do not show it.
    pub(crate) fn sign(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.0.user {
            Some(user) => request.basic_auth(user, Some(&self.0.secret)),
            None => request.bearer_auth(&self.0.secret),
        }
    }

    /// Returns the texts of a request that must not be shown: the secret itself, and its encoded form.
    pub(crate) fn secrets(&self, request: &reqwest::Request) -> Vec<String> {
        let sent = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|text| text.split_once(' ')).map(|(_, sent)| sent.to_owned());
        [self.0.secret.clone()].into_iter().chain(sent).collect()
    }
}

impl TryFrom<StoredLogin> for Login {
    type Error = LoginError;
    fn try_from(kept: StoredLogin) -> Result<Self, LoginError> {
        let fits = |text: &str| {
            !text.is_empty() && text.len() <= MAX_LENGTH && !text.chars().any(char::is_control)
        };
        match &kept.user {
            None => {
                let bare = kept.secret.trim_end_matches('=');
                let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
                if bare.is_empty() || !fits(&kept.secret) || !bare.bytes().all(allowed) {
                    return Err(LoginError::Token);
                }
            }
            Some(user) => {
                if !fits(user) || user.contains(':') || !fits(&kept.secret) {
                    return Err(LoginError::Password);
                }
            }
        }
        Ok(Self(kept))
    }
}

impl From<Login> for StoredLogin {
    fn from(login: Login) -> Self {
        login.0
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.0.user).finish_non_exhaustive()
    }
}

/// Logins by their origins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Logins(BTreeMap<LoginOrigin, Login>);

impl Logins {
    /// Returns the login for an address.
    pub fn of(&self, url: &Url) -> Option<&Login> {
        self.0.get(&LoginOrigin::of(url).ok()?)
    }

    /// Stores a login, which replaces another one of its origin.
    pub fn keep(&mut self, origin: LoginOrigin, login: Login) {
        self.0.insert(origin, login);
    }

    /// Removes the login of an origin; returns whether there was one.
    pub fn forget(&mut self, origin: &LoginOrigin) -> bool {
        self.0.remove(origin).is_some()
    }

    /// Returns all logins with their origins.
    pub fn iter(&self) -> impl Iterator<Item = (&LoginOrigin, &Login)> {
        self.0.iter()
    }

    /// Whether any login is for this machine over plain HTTP.
    pub(crate) fn has_plain(&self) -> bool {
        self.0.keys().any(LoginOrigin::is_plain)
    }
}

/// Resolves names to addresses of this machine only, so that a name that was taken for this machine is
/// connected to it.
pub(crate) struct LoopbackResolver;

impl Resolve for LoopbackResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let here: Vec<SocketAddr> = found.filter(|found| found.ip().is_loopback()).collect();
            if here.is_empty() {
                return Err(format!("{} does not resolve to this machine", name.as_str()).into());
            }
            Ok(Box::new(here.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Result<String, FetchError> {
        LoginOrigin::of(&Url::parse(text).unwrap()).map(Into::into)
    }

    #[test]
    fn a_login_counts_for_https_and_for_this_machine_only() {
        for (text, kept) in [
            ("https://hub.example/collections", "https://hub.example"),
            ("https://HUB.example:443/x", "https://hub.example"),
            ("https://anna:secret@hub.example:8443/", "https://hub.example:8443"),
            ("http://127.0.0.1:4287/x", "http://127.0.0.1:4287"),
            ("http://[::1]/", "http://[::1]"),
            ("http://localhost:80/", "http://localhost"),
        ] {
            assert_eq!(origin(text).unwrap(), kept);
        }
        for text in ["http://hub.example/", "http://192.168.1.2:4287/", "http://localhost.example/"]
        {
            assert!(matches!(origin(text), Err(FetchError::Insecure { .. })), "{text}");
        }
        let stored = r#"{"http://hub.example": {"secret": "t0ken"}}"#;
        let error = serde_json::from_str::<Logins>(stored).unwrap_err().to_string();
        assert!(error.contains("https") && !error.contains("t0ken"), "{error}");
    }

    #[test]
    fn a_login_is_found_by_its_whole_origin() {
        let mut logins = Logins::default();
        let here = LoginOrigin::of(&Url::parse("https://hub.example/x").unwrap()).unwrap();
        logins.keep(here.clone(), Login::token("t0ken").unwrap());
        let of = |text: &str| logins.of(&Url::parse(text).unwrap()).is_some();
        assert!(of("https://hub.example/collections/notes"));
        for other in ["http://hub.example/", "https://hub.example:444/", "https://a.hub.example/"] {
            assert!(!of(other), "{other}");
        }
        let stored = serde_json::to_string(&logins).unwrap();
        assert_eq!(stored, r#"{"https://hub.example":{"secret":"t0ken"}}"#);
        assert_eq!(serde_json::from_str::<Logins>(&stored).unwrap(), logins);
        assert!(logins.forget(&here) && !logins.forget(&here));
    }

    #[test]
    fn invalid_login_is_refused_and_none_is_shown() {
        for token in ["", "==", "a b", "a\nb", "a=b", "é", &"x".repeat(MAX_LENGTH + 1)] {
            assert_eq!(Login::token(token), Err(LoginError::Token), "{token:?}");
        }
        for (user, password) in [("", "x"), ("a:b", "x"), ("anna", ""), ("anna", "x\r\ny")] {
            assert_eq!(Login::password(user, password), Err(LoginError::Password));
        }
        let login = Login::password("anna", "käse 1").unwrap();
        assert_eq!(format!("{login:?}"), "Login { user: Some(\"anna\"), .. }");
    }
}
