//! Address of a resource: an absolute URL of the web in a normalised spelling (BITSY 1.3, 2.1.2).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The parser of URLs.
#[cfg_attr(not(all(feature = "browser", target_arch = "wasm32")), path = "native.rs")]
#[cfg_attr(all(feature = "browser", target_arch = "wasm32"), path = "browser.rs")]
mod parser;

/// An absolute `http` or `https` URL, normalised by its scheme (RFC 3987 5.3.3). Two spellings of one address
/// are equal. The fragment is removed, since requests have none. Clones share their memory, because the same
/// address is noted many times.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(Arc<str>);

/// Reason why a text is not a location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The reference is relative, and there is no document to resolve it against (2.1.1).
    #[error(
        "{0:?} is relative, but the application has no address that it could be resolved against; \
         use an address that begins with https:// or http://"
    )]
    Relative(String),
    /// The text is not a URL; with the reason.
    #[error("{0:?} is not a URL: {1}")]
    NotUrl(String, String),
    /// The URL has another scheme.
    #[error("{0:?} is not an http or https URL")]
    NotWeb(String),
    /// The URL has a user or a password, which would appear in lists and logs.
    #[error(
        "a URL must not contain a user name or password: register an Authorization header instead"
    )]
    Credentials,
    /// The URL is longer than the limit.
    #[error("a URL of {0} bytes is longer than {MAX_BYTES}")]
    TooLong(usize),
}

/// Fault that a parser of URLs finds.
enum UrlFault {
    /// The reference is relative, and there is no base.
    Relative,
    /// The text is not a URL; with the reason.
    Other(String),
}

/// Maximum length of a URL, in bytes.
const MAX_BYTES: usize = 8 << 10;

impl Location {
    /// Resolves a reference of an application against the address of the document that contains it (2.1.1).
    pub fn resolve(base: Option<&Self>, reference: &str) -> Result<Self, LocationError> {
        if reference.len() > MAX_BYTES {
            return Err(LocationError::TooLong(reference.len()));
        }
        let parsed = parser::resolve(base.map(Self::as_str), reference);
        let mut url = parsed.map_err(|fault| match fault {
            UrlFault::Relative => LocationError::Relative(reference.to_owned()),
            UrlFault::Other(reason) => LocationError::NotUrl(reference.to_owned(), reason),
        })?;
        url.truncate(url.find('#').unwrap_or(url.len()));
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(LocationError::NotWeb(reference.to_owned()));
        }
        let path = path_start(&url);
        if url[..path].contains('@') {
            return Err(LocationError::Credentials);
        }
        // Escapes and a long base make the URL longer than the reference. Each stored location must be
        // readable again.
        let location = Self(format!("{}{}", &url[..path], unescaped(&url[path..])).into());
        match location.as_str().len() {
            length if length > MAX_BYTES => Err(LocationError::TooLong(length)),
            _ => Ok(location),
        }
    }

    /// Text of the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Host, as a name or an address.
    pub fn host(&self) -> &str {
        let authority = self.authority();
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        match authority.rsplit_once(':') {
            Some((host, port)) if is_port(port) => host,
            _ => authority,
        }
    }

    /// Port, by default that of the scheme.
    pub fn port(&self) -> u16 {
        let port = self.authority()[self.host().len()..].strip_prefix(':');
        let of_scheme = if self.is_secure() { 443 } else { 80 };
        port.and_then(|port| port.parse().ok()).unwrap_or(of_scheme)
    }

    /// Host and port, as they are written.
    fn authority(&self) -> &str {
        self.origin().split_once("://").map_or("", |(_, authority)| authority)
    }

    /// Scheme, host and port, in the form of an `Origin` header.
    pub fn origin(&self) -> &str {
        &self.0[..path_start(&self.0)]
    }

    /// Whether requests to the location are encrypted (4.1).
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// Whether scheme, host and port are the same (1.3). Data of a person that one may know, the other may
    /// know.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.origin() == other.origin()
    }
}

/// Returns where the path of an absolute URL begins.
fn path_start(url: &str) -> usize {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find(['/', '?']).map_or(url.len(), |at| host + at)
}

/// Normalises the escapes of a path and a query: hexadecimal digits in upper case, and no escape where none is needed
/// (RFC 3986 6.2.2).
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escape = rest.get(at + 1..at + 3);
        let escape = escape.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            Some(byte) => {
                out.push_str(&format!("%{byte:02X}"));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::resolve(None, text)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Location {
        text.parse().unwrap()
    }

    #[test]
    fn spellings_of_one_address_are_one_location() {
        let one = at("http://example.org/a%20b/~c?x=%C3%A4");
        for other in [
            "HTTP://Example.ORG:80/a%20b/~c?x=%c3%a4",
            "http://example.org/a%20b/%7ec?x=%c3%A4",
            "http://example.org/./a%20b/d/../~c?x=ä#part",
            "http://example.org/a b/~c?x=%C3%A4",
        ] {
            assert_eq!(at(other), one, "{other}");
        }
        assert_eq!(one.as_str(), "http://example.org/a%20b/~c?x=%C3%A4");
        assert_eq!(at("http://example.org").as_str(), "http://example.org/");
        assert_eq!(at("http://exämple.org/").as_str(), "http://xn--exmple-cua.org/");
        // Reserved characters stay as they are, because their escapes may have another meaning.
        assert_ne!(at("http://example.org/a%2Fb"), at("http://example.org/a/b"));
        for odd in
            ["http://example.org/100%", "http://example.org/?q=50%+a", "http://example.org/%+5"]
        {
            assert_eq!(at(odd).as_str(), odd);
        }
    }

    #[test]
    fn relative_addresses_need_a_document_with_an_address() {
        let document = at("https://example.org/app/index.html");
        let feed = Location::resolve(Some(&document), "../feed").unwrap();
        assert_eq!(feed.as_str(), "https://example.org/feed");
        assert!(matches!("../feed".parse::<Location>(), Err(LocationError::Relative(_))));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let feed = at("https://example.org/feed");
        for same in ["https://example.org:443/x", "HTTPS://EXAMPLE.org"] {
            assert!(feed.is_same_origin(&at(same)), "{same}");
        }
        for other in
            ["http://example.org/", "https://example.org:8443/", "https://www.example.org/"]
        {
            assert!(!feed.is_same_origin(&at(other)), "{other}");
        }
        assert_eq!(at("http://example.org:8080/a").origin(), "http://example.org:8080");
    }

    #[test]
    fn addresses_that_are_not_of_the_web_are_rejected() {
        for text in ["mailto:a@example.org", "file:///etc/passwd", "urn:x:y"] {
            assert!(matches!(text.parse::<Location>(), Err(LocationError::NotWeb(_))), "{text}");
        }
        for text in ["http://", "http://a b/", "https://[::g]/", "http://a:99999/"] {
            assert!(matches!(text.parse::<Location>(), Err(LocationError::NotUrl(..))), "{text}");
        }
        let secret = "https://user:secret@example.org/".parse::<Location>().unwrap_err();
        assert_eq!(secret, LocationError::Credentials);
        assert!(!secret.to_string().contains("secret"));
        let long = format!("http://example.org/{}", "a".repeat(MAX_BYTES));
        assert!(matches!(long.parse::<Location>(), Err(LocationError::TooLong(_))));
        let escaped = format!("http://example.org/{}", "\u{e4}".repeat(MAX_BYTES / 3));
        assert!(escaped.len() < MAX_BYTES);
        assert!(matches!(escaped.parse::<Location>(), Err(LocationError::TooLong(_))));
    }

    #[test]
    fn a_location_has_at_most_eight_kibibytes() {
        let of = |length: usize| format!("http://example.org/{}", "a".repeat(length - 19));
        assert_eq!(at(&of(MAX_BYTES)).as_str().len(), MAX_BYTES);
        assert_eq!(
            of(MAX_BYTES + 1).parse::<Location>(),
            Err(LocationError::TooLong(MAX_BYTES + 1))
        );
        // A relative reference may be short where its base is long.
        let document = at(&format!("{}/", &of(MAX_BYTES - 1)));
        let resolved = |reference: &str| Location::resolve(Some(&document), reference);
        assert_eq!(resolved("a"), Err(LocationError::TooLong(MAX_BYTES + 1)));
        assert_eq!(resolved("?"), Err(LocationError::TooLong(MAX_BYTES + 1)));
        assert_eq!(resolved(""), Ok(document.clone()));
        let error = LocationError::TooLong(MAX_BYTES + 1).to_string();
        assert_eq!(error, "a URL of 8193 bytes is longer than 8192");
    }

    #[test]
    fn location_returns_host_port_and_security() {
        for (text, host, port, is_secure) in [
            ("http://example.org/a", "example.org", 80, false),
            ("https://example.org/a", "example.org", 443, true),
            ("https://[::1]:8443/a", "[::1]", 8443, true),
            ("http://127.0.0.1:8080/a", "127.0.0.1", 8080, false),
        ] {
            let location = at(text);
            assert_eq!((location.host(), location.is_secure()), (host, is_secure), "{text}");
            assert_eq!(location.port(), port, "{text}");
            assert_eq!(
                (location.to_string(), format!("{location:?}")),
                (text.to_owned(), format!("{text:?}"))
            );
        }
    }

    #[test]
    fn user_or_password_alone_is_rejected() {
        for text in ["http://anna@example.org/", "http://:secret@example.org/"] {
            assert_eq!(text.parse::<Location>(), Err(LocationError::Credentials), "{text}");
        }
    }

    #[test]
    fn only_unnecessary_escapes_are_removed() {
        let path = |text: &str| at(&format!("http://example.org/{text}")).as_str()[19..].to_owned();
        for (escaped, plain) in [
            ("%41%5a%61%7A%30%39", "AZaz09"),
            ("a%2Db%2eb%5Fc%7e", "a-b.b_c~"),
            ("%2f%3f%23%25%20%21", "%2F%3F%23%25%20%21"),
            ("%e2%82%ac", "%E2%82%AC"),
            ("%4", "%4"),
            ("%zz%61", "%zza"),
            ("?%41%2d%2f", "?A-%2F"),
        ] {
            assert_eq!(path(escaped), plain, "{escaped}");
        }
    }

    proptest::proptest! {
        #[test]
        fn location_text_parses_back(path in "[-a-z%0-9A-F./~?&=#ä +\\\\:@]{0,40}") {
            if let Ok(location) = format!("http://example.org/{path}").parse::<Location>() {
                proptest::prop_assert_eq!(location.as_str().parse(), Ok(location.clone()));
            }
        }
    }
}
