//! Absolute addresses of this hub's resources.

use std::fmt;
use std::str::FromStr;

use feedsync_store::CollectionName;

use crate::http::negotiation::Representation;

/// Prefix of absolute links: scheme, authority and perhaps a path, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicBase(String);

/// Error for a text that is not a public base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a public base URL: use an absolute http or https URL without user name, query \
     and fragment"
)]
pub struct PublicBaseError(String);

impl PublicBase {
    /// The host, with its port if it has one.
    pub(crate) fn authority(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    /// Scheme and authority, as an `Origin` header writes them.
    pub(crate) fn origin(&self) -> &str {
        let path = self.0.find("://").and_then(|at| self.0[at + 3..].find('/').map(|n| at + 3 + n));
        &self.0[..path.unwrap_or(self.0.len())]
    }

    /// Prefix of every path of the hub: empty, or a path without a slash at its end.
    pub(crate) fn path(&self) -> &str {
        &self.0[self.origin().len()..]
    }

    /// Public base for the host of a request, which was accepted before.
    pub(crate) fn of_host(host: &str, secure: bool) -> Self {
        let scheme = if secure { "https" } else { "http" };
        Self(format!("{scheme}://{host}"))
    }

    /// Whether clients reach the hub over https.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Absolute URL of a path, which begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for PublicBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PublicBase {
    type Err = PublicBaseError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PublicBaseError(text.to_owned());
        let uri: http::Uri = text.parse().map_err(|_| error())?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let named = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        if !web || !named || uri.query().is_some() || text.contains('#') {
            return Err(error());
        }
        Ok(Self(with_lower_case_origin(text.trim_end_matches('/'))))
    }
}

/// Address of a proxy: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyAddress(String);

/// Error for a text that is not the address of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the address of a proxy: use http:// or https:// with a host and optionally a port, \
     without user name and path"
)]
pub struct ProxyAddressError;

impl ProxyAddress {
    /// Text of the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProxyAddress {
    type Err = ProxyAddressError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: http::Uri = text.parse().map_err(|_| ProxyAddressError)?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        // The settings are displayed, and a password would be displayed with them.
        let is_bare = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        match is_web && is_bare && uri.path() == "/" && uri.query().is_none() {
            true => Ok(Self(with_lower_case_origin(text.trim_end_matches('/')))),
            false => Err(ProxyAddressError),
        }
    }
}

/// Origin of pages, as a browser writes it: scheme and host, and the port unless it is the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Error for a text that is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an origin: use http:// or https:// with a host and optionally a port, without a \
     path"
)]
pub struct OriginError(String);

impl Origin {
    /// Its text, in lower case.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = OriginError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let base = text.parse::<PublicBase>().ok().filter(|base| base.path().is_empty());
        let base = base.ok_or_else(|| OriginError(text.to_owned()))?;
        let usual = if base.is_secure() { ":443" } else { ":80" };
        Ok(Self(base.origin().strip_suffix(usual).unwrap_or(base.origin()).to_owned()))
    }
}

/// Converts scheme and host to lower case, since they are compared without case; the path is left as
/// it is.
fn with_lower_case_origin(url: &str) -> String {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url[authority..].find('/').map_or(url.len(), |at| authority + at);
    format!("{}{}", url[..path].to_ascii_lowercase(), &url[path..])
}

/// A resource of a collection that is available in every format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Listing,
    Changes,
    Complete,
}

impl View {
    /// The path, with a suffix or without.
    pub(crate) fn path(self, collection: &CollectionName, shown: Option<Representation>) -> String {
        let view = match self {
            Self::Listing => "",
            Self::Changes => "/changes",
            Self::Complete => "/complete",
        };
        let suffix = shown.map_or("", Representation::suffix);
        format!("/collections/{collection}{view}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_base_is_an_absolute_web_address() {
        let base: PublicBase = "HTTPS://Feeds.example.org:8443/Anna/".parse().unwrap();
        assert_eq!(base.url("/healthz"), "https://feeds.example.org:8443/Anna/healthz");
        assert_eq!(base.authority(), "feeds.example.org:8443");
        assert_eq!(base.path(), "/Anna");
        assert_eq!(base.origin(), "https://feeds.example.org:8443");
        assert_eq!(PublicBase::of_host("localhost:1", false).origin(), "http://localhost:1");
        for text in ["", "/a", "example.org", "ftp://a", "http://", "http://u@a", "http://a?b"] {
            assert!(text.parse::<PublicBase>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for (text, origin) in [
            ("https://Reader.example.org", "https://reader.example.org"),
            ("https://reader.example.org:443/", "https://reader.example.org"),
            ("http://localhost:80", "http://localhost"),
            ("http://localhost:443", "http://localhost:443"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().as_str(), origin, "{text}");
        }
        for text in ["", "*", "null", "example.org", "https://a/b", "https://u@a", "file:///a"] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
