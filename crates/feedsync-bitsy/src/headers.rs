//! The request headers that an application registers for a subscription (BITSY 2.1.1).
//!
//! All request headers of RFC 2616 5.3 and `Cookie` can be registered. Not all are sent. Headers that would
//! interfere with our validators, or reach another host than intended, are stored, returned on request, and
//! not sent (R-B8, R-B10).

use http::header::{self, HeaderName, HeaderValue};

use crate::location::Location;

/// Maximum number of registered headers.
const MAX_HEADERS: usize = 64;

/// Maximum size of a value, in bytes.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// The registered headers, in the order of their registration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegisteredHeaders(Vec<Field>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: HeaderName,
    /// The name in the application's spelling.
    written: String,
    value: HeaderValue,
}

/// Reason why a header cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The name is not a field name of HTTP.
    #[error("{0:?} is not a valid header name")]
    Name(String),
    /// The value is not a field value of HTTP. It is not repeated in the message, since it may be a secret.
    #[error("the value of {0} is not a valid header value")]
    Value(String),
    /// A second value was added to a header that has only one.
    #[error("{0} has one value; set it instead of adding another")]
    Single(String),
    /// Too many headers are registered.
    #[error("more than {MAX_HEADERS} headers")]
    TooMany,
    /// The value is longer than the limit.
    #[error("the value of {0} is longer than {MAX_VALUE_BYTES} bytes")]
    TooLong(String),
}

/// Headers that identify an application (4.3).
pub const AUTHORIZATION: [HeaderName; 2] = [header::AUTHORIZATION, header::COOKIE];

/// Headers of content negotiation (3).
pub const NEGOTIATION: [HeaderName; 4] =
    [header::ACCEPT, header::ACCEPT_CHARSET, header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE];

/// Headers that are never sent as registered. Requests have their own values or none.
pub(crate) const NEVER_REGISTERED: [HeaderName; 12] = [
    header::EXPECT,
    header::HOST,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::MAX_FORWARDS,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::TE,
    header::ACCEPT_ENCODING,
];

/// Headers that belong to one connection or frame a message. An application cannot register them.
const FRAMING: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Other headers that say nothing secret about a message.
const NON_SECRET: [HeaderName; 6] = [
    header::CACHE_CONTROL,
    header::DATE,
    HeaderName::from_static("idempotency-key"),
    header::PRAGMA,
    HeaderName::from_static("slug"),
    header::VIA,
];

/// Headers whose values are not lists.
const SINGLE_VALUED: [HeaderName; 12] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::FROM,
    header::HOST,
    header::IF_MODIFIED_SINCE,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::MAX_FORWARDS,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::REFERER,
    header::USER_AGENT,
];

impl RegisteredHeaders {
    /// Registers a header and replaces the registered value of its name (`setRequestHeader`).
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), HeaderError> {
        let field = field(name, value)?;
        match self.0.iter_mut().find(|known| known.name == field.name) {
            Some(known) => *known = field,
            None => self.append(field)?,
        }
        Ok(())
    }

    /// Adds a value to a header (`addRequestHeader`). Cookies are joined according to RFC 6265 5.4, and lists
    /// according to RFC 9110 5.3. A header that is not a list takes no second value (R-B7).
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), HeaderError> {
        let field = field(name, value)?;
        let Some(known) = self.0.iter_mut().find(|known| known.name == field.name) else {
            return self.append(field);
        };
        if SINGLE_VALUED.contains(&field.name) {
            return Err(HeaderError::Single(field.written));
        }
        let separator: &[u8] = if field.name == header::COOKIE { b"; " } else { b", " };
        let joined = [known.value.as_bytes(), separator, field.value.as_bytes()].concat();
        if joined.len() > MAX_VALUE_BYTES {
            return Err(HeaderError::TooLong(field.written));
        }
        let joined = HeaderValue::from_maybe_shared(joined);
        known.value = joined.map_err(|_| HeaderError::Value(field.written))?;
        known.value.set_sensitive(field.value.is_sensitive());
        Ok(())
    }

    /// The registered value of a header (`getRequestHeader`).
    pub fn get(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.0.iter().find(|field| field.name == *name).map(|field| &field.value)
    }

    /// All headers as `Name: value` (`getRequestHeaders`, R-B16).
    pub fn lines(&self) -> Vec<String> {
        let line = |field: &Field| {
            format!("{}: {}", field.written, String::from_utf8_lossy(field.value.as_bytes()))
        };
        self.0.iter().map(line).collect()
    }

    /// Name and value of each header.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|field| (&field.name, &field.value))
    }

    /// Restores the headers of a store that is opened again, from the values of [`fields`](Self::fields).
    pub fn restored(
        fields: impl IntoIterator<Item = (String, HeaderValue)>,
    ) -> Result<Self, HeaderError> {
        let fields = fields.into_iter().map(|(written, mut value)| {
            let Ok(name) = HeaderName::from_bytes(written.as_bytes()) else {
                return Err(HeaderError::Name(written));
            };
            value.set_sensitive(is_secret(&name));
            Ok(Field { name, written, value })
        });
        fields.collect::<Result<_, _>>().map(Self)
    }

    /// Name and value of each header, for storage.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &HeaderValue)> {
        self.0.iter().map(|field| (field.written.as_str(), &field.value))
    }

    /// Returns the headers that are sent with our requests to a resource of a feed. Another origin than the
    /// feed's receives only the headers of content negotiation and `User-Agent` (R-B8).
    pub fn sent<'r>(
        &'r self,
        feed: &Location,
        to: &Location,
    ) -> impl Iterator<Item = (&'r HeaderName, &'r HeaderValue)> {
        let at_home = feed.is_same_origin(to);
        self.0
            .iter()
            .filter(move |field| !NEVER_REGISTERED.contains(&field.name))
            .filter(move |field| at_home || is_harmless(&field.name))
            .map(|field| (&field.name, &field.value))
    }

    fn append(&mut self, field: Field) -> Result<(), HeaderError> {
        if self.0.len() == MAX_HEADERS {
            return Err(HeaderError::TooMany);
        }
        self.0.push(field);
        Ok(())
    }
}

/// Whether a header of an edit may be sent to another origin than the one that the edit was made for. It must
/// be about the bytes or the message, and not a secret (R-B8).
pub fn may_cross_origins(name: &HeaderName) -> bool {
    let is_of_message = is_of_one_request(name) || NON_SECRET.contains(name);
    let may = is_of_message || is_harmless(name) || name.as_str().starts_with("content-");
    may && !is_secret(name)
}

/// Whether a header belongs to one request or its connection, so that another request has its own value or none.
pub(crate) fn is_of_one_request(name: &HeaderName) -> bool {
    FRAMING.contains(name) || NEVER_REGISTERED.contains(name)
}

/// Whether a header reveals neither a person's identity nor their permissions.
fn is_harmless(name: &HeaderName) -> bool {
    NEGOTIATION.contains(name) || *name == header::USER_AGENT
}

fn field(written: &str, value: &str) -> Result<Field, HeaderError> {
    let name = HeaderName::from_bytes(written.as_bytes());
    let name = name.map_err(|_| HeaderError::Name(written.to_owned()))?;
    if FRAMING.contains(&name) {
        return Err(HeaderError::Name(written.to_owned()));
    }
    let value = value.trim_matches([' ', '\t']);
    if value.len() > MAX_VALUE_BYTES {
        return Err(HeaderError::TooLong(written.to_owned()));
    }
    let value = HeaderValue::from_bytes(value.as_bytes());
    let mut value = value.map_err(|_| HeaderError::Value(written.to_owned()))?;
    value.set_sensitive(is_secret(&name));
    Ok(Field { name, written: written.to_owned(), value })
}

/// Whether the value of a header is kept out of logs and lists.
fn is_secret(name: &HeaderName) -> bool {
    AUTHORIZATION.contains(name) || *name == header::PROXY_AUTHORIZATION
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Request headers of RFC 2616 5.3, and `Cookie`.
    const REQUEST: [&str; 20] = [
        "Accept",
        "Accept-Charset",
        "Accept-Encoding",
        "Accept-Language",
        "Authorization",
        "Expect",
        "From",
        "Host",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "If-Range",
        "If-Unmodified-Since",
        "Max-Forwards",
        "Proxy-Authorization",
        "Range",
        "Referer",
        "TE",
        "User-Agent",
        "Cookie",
    ];

    fn at(text: &str) -> Location {
        text.parse().unwrap()
    }

    fn value(registered: &RegisteredHeaders, name: HeaderName) -> &str {
        registered.get(&name).unwrap().to_str().unwrap()
    }

    #[test]
    fn every_request_header_can_be_registered_and_listed() {
        let mut registered = RegisteredHeaders::default();
        for name in REQUEST {
            registered.set(name, "x").unwrap();
        }
        let lines: Vec<String> = REQUEST.iter().map(|name| format!("{name}: x")).collect();
        assert_eq!(registered.lines(), lines);
    }

    #[test]
    fn stored_headers_are_restored_with_names_values_and_secrecy() {
        let mut registered = RegisteredHeaders::default();
        for (name, value) in [
            ("COOKIE", "a=1"),
            ("cookie", ""),
            ("X-Note", "gr\u{fc}n"),
            ("Authorization", "Basic eA=="),
        ] {
            registered.add(name, value).unwrap();
        }
        let fields = || registered.fields().map(|(name, value)| (name.to_owned(), value.clone()));
        let plain = fields().map(|(name, mut value)| {
            value.set_sensitive(false);
            (name, value)
        });
        let again = RegisteredHeaders::restored(plain).unwrap();
        assert_eq!(again, registered);
        assert_eq!(again.lines(), registered.lines());
        let secrets = again.fields().map(|(_, value)| value.is_sensitive());
        assert_eq!(secrets.collect::<Vec<_>>(), [true, false, true]);
        let odd = ("a b".to_owned(), HeaderValue::from_static("x"));
        assert!(matches!(RegisteredHeaders::restored([odd]), Err(HeaderError::Name(_))));
    }

    #[test]
    fn setting_replaces_and_adding_appends() {
        let mut registered = RegisteredHeaders::default();
        registered.set("Accept-Language", "da").unwrap();
        registered.set("accept-language", "en").unwrap();
        registered.add("Accept-Language", "de;q=0.5").unwrap();
        assert_eq!(value(&registered, header::ACCEPT_LANGUAGE), "en, de;q=0.5");
        registered.add("Cookie", "PREF=ID=28face613556316e").unwrap();
        registered.add("Cookie", "S=DkEaab7_F7PtM3ZX").unwrap();
        assert_eq!(
            value(&registered, header::COOKIE),
            "PREF=ID=28face613556316e; S=DkEaab7_F7PtM3ZX"
        );
        assert!(registered.get(&header::COOKIE).unwrap().is_sensitive(), "joined it is no less");
        assert!(!format!("{registered:?}").contains("DkEaab7_F7PtM3ZX"));
        registered.add("Authorization", "Scheme token=\"secret\"").unwrap();
        let second = registered.add("authorization", "Basic eA==").unwrap_err();
        assert_eq!(second, HeaderError::Single("authorization".to_owned()));
        assert_eq!(value(&registered, header::AUTHORIZATION), "Scheme token=\"secret\"");
    }

    #[test]
    fn identifying_headers_are_sent_to_the_origin_of_the_feed_only() {
        let feed = at("https://example.org/feed");
        let mut registered = RegisteredHeaders::default();
        for name in REQUEST {
            registered.set(name, "x").unwrap();
        }
        registered.set("X-Api-Key", "secret").unwrap();
        let names = |to: &str| -> Vec<String> {
            let to = at(to);
            registered.sent(&feed, &to).map(|(name, _)| name.to_string()).collect()
        };
        let everywhere = ["accept", "accept-charset", "accept-language", "user-agent"];
        let elsewhere = names("https://cdn.example.net/enclosure");
        assert_eq!(elsewhere, everywhere);
        assert_eq!(names("http://example.org/feed"), everywhere, "unencrypted");
        let home = names("https://EXAMPLE.org:443/x");
        assert_eq!(home.len(), everywhere.len() + 5);
        assert!(home.contains(&"authorization".to_owned()) && home.contains(&"cookie".to_owned()));
    }

    #[test]
    fn headers_with_invalid_names_values_or_sizes_are_rejected() {
        let mut registered = RegisteredHeaders::default();
        for name in ["", "a b", "a:b", "a\r\nb", "ä", "Content-Length", "Transfer-Encoding"] {
            assert!(matches!(registered.set(name, "x"), Err(HeaderError::Name(_))), "{name:?}");
        }
        for value in ["a\r\nInjected: 1", "a\nb", "a\0b", "\u{7f}"] {
            let refused = registered.add("Cookie", value).unwrap_err();
            assert_eq!(refused, HeaderError::Value("Cookie".to_owned()), "{value:?}");
            assert!(!refused.to_string().contains("Injected"));
        }
        let mut joined = RegisteredHeaders::default();
        joined.add("Accept", &"x".repeat(MAX_VALUE_BYTES - 3)).unwrap();
        assert!(matches!(joined.add("Accept", "yz"), Err(HeaderError::TooLong(_))));
        joined.add("Accept", "y").unwrap();
        let value = joined.get(&header::ACCEPT).unwrap();
        assert_eq!(
            (value.len(), &value.as_bytes()[MAX_VALUE_BYTES - 4..]),
            (MAX_VALUE_BYTES, &b"x, y"[..])
        );
        let long = "x".repeat(MAX_VALUE_BYTES);
        assert!(registered.set("Cookie", &long).is_ok());
        assert!(matches!(registered.add("Cookie", "a=b"), Err(HeaderError::TooLong(_))));
        assert!(matches!(registered.set("From", &(long + "x")), Err(HeaderError::TooLong(_))));
        let many =
            (0..=MAX_HEADERS).find_map(|number| registered.set(&format!("X-{number}"), "x").err());
        assert_eq!(many, Some(HeaderError::TooMany));
    }
}
