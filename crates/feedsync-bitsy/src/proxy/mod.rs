//! Client proxy emulation: requests to a proxy are answered here from the data of its AtomPub server (BITSY
//! 2.3).
//!
//! Each style has its own file and a variant of [`Style`].

mod cross_domain;
mod mapped;

use feedsync_formats::{
    ProxyNamespace, ProxyStyle, ReadError, ReadOptions, read_proxy_configuration,
};
use http::header::{HeaderMap, HeaderValue};
use http::{Method, Response};

use crate::location::{Location, LocationError};

pub use mapped::Mapping;

/// A style of proxy that is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// A cross-domain proxy, for pages of other origins than the server's.
    CrossDomain,
    /// A proxy that forwards requests to another server.
    Mapped,
}

impl Style {
    /// All emulated styles, in the order of `supportedProxies`.
    pub const ALL: [Self; 2] = [Self::CrossDomain, Self::Mapped];

    /// Name of the style, `{namespace}local`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrossDomain => cross_domain::NAME,
            Self::Mapped => mapped::NAME,
        }
    }

    /// Returns the style with a name (`supportsProxy`).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Response of the proxy itself to a page, before the request is handled like any other (BI112). Returns
    /// none for requests that go to the server.
    pub fn answer(self, method: &Method, headers: &HeaderMap) -> Option<Response<()>> {
        match self {
            Self::CrossDomain => cross_domain::answer(method, headers),
            Self::Mapped => None,
        }
    }

    /// Changes the headers of a response to those of the proxy. `page` is the origin of the requesting page,
    /// if a page made the request.
    pub fn adopt(self, headers: &mut HeaderMap, page: Option<&HeaderValue>) {
        match self {
            Self::CrossDomain => cross_domain::adopt(headers, page),
            Self::Mapped => {}
        }
    }
}

/// The emulated prefixes and their styles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration(Vec<Emulated>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Emulated {
    prefix: Location,
    style: Style,
    /// Mapping of the style that has one.
    mapping: Option<Mapping>,
}

/// Reason why a configuration is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// The document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A `urlPrefix` is not an address.
    #[error("line {line}, column {column}: {error}")]
    Prefix {
        /// Line of the namespace.
        line: u32,
        /// Column of the namespace.
        column: u32,
        /// Cause of the error.
        error: LocationError,
    },
    /// Two namespaces have the same prefix, or the prefix of one begins with that of the other (2.3, R-B24).
    #[error("line {line}, column {column}: the prefix {prefix} overlaps with {other}")]
    Overlap {
        /// Line of the second namespace.
        line: u32,
        /// Column of the second namespace.
        column: u32,
        /// Prefix of the second namespace.
        prefix: String,
        /// Prefix of the first namespace.
        other: String,
    },
    /// The element of a style is invalid.
    #[error("line {line}, column {column}: the style of the prefix {prefix}: {message}")]
    Element {
        /// Line of the namespace.
        line: u32,
        /// Column of the namespace.
        column: u32,
        /// Prefix of the namespace.
        prefix: String,
        /// Description of the fault.
        message: String,
    },
    /// None of the styles of a namespace is supported.
    #[error(
        "line {line}, column {column}: none of the styles of the prefix {prefix} is supported: \
         {styles}"
    )]
    Style {
        /// Line of the namespace.
        line: u32,
        /// Column of the namespace.
        column: u32,
        /// Prefix of the namespace.
        prefix: String,
        /// Styles that the namespace names.
        styles: String,
    },
}

impl Configuration {
    /// Reads a document that was fetched from this address.
    pub fn read(bytes: &[u8], address: &Location) -> Result<Self, ConfigurationError> {
        let mut emulated: Vec<Emulated> = Vec::new();
        for namespace in read_proxy_configuration(bytes, &ReadOptions::strict())? {
            let ProxyNamespace { url_prefix, styles, position } = namespace;
            let (line, column) = (position.line, position.column);
            let prefix = Location::resolve(Some(address), &url_prefix)
                .map_err(|error| ConfigurationError::Prefix { line, column, error })?;
            let overlaps = |other: &&Emulated| {
                prefix.as_str().starts_with(other.prefix.as_str())
                    || other.prefix.as_str().starts_with(prefix.as_str())
            };
            if let Some(other) = emulated.iter().find(overlaps) {
                let (prefix, other) = (prefix.to_string(), other.prefix.to_string());
                return Err(ConfigurationError::Overlap { line, column, prefix, other });
            }
            let known = |style: &ProxyStyle| Some((Style::named(&style.name)?, style.clone()));
            let Some((style, element)) = styles.iter().find_map(known) else {
                let names: Vec<String> = styles.into_iter().map(|style| style.name).collect();
                let (prefix, styles) = (prefix.to_string(), names.join(", "));
                return Err(ConfigurationError::Style { line, column, prefix, styles });
            };
            let mapping = match style {
                Style::CrossDomain => None,
                Style::Mapped => {
                    Some(mapped::read(&element, &prefix, address).map_err(|message| {
                        let prefix = prefix.to_string();
                        ConfigurationError::Element { line, column, prefix, message }
                    })?)
                }
            };
            emulated.push(Emulated { prefix, style, mapping });
        }
        Ok(Self(emulated))
    }

    /// Style for a request, by its address. It is determined before any other handling (2.3).
    pub fn style_of(&self, request: &Location) -> Option<Style> {
        self.of(request).map(|one| one.style)
    }

    /// Mapping for a request, by its address, if its style has one.
    pub fn mapping_of(&self, request: &Location) -> Option<&Mapping> {
        self.of(request)?.mapping.as_ref()
    }

    fn of(&self, request: &Location) -> Option<&Emulated> {
        self.0.iter().find(|one| request.as_str().starts_with(one.prefix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(namespaces: &[(&str, &str)]) -> Result<Configuration, ConfigurationError> {
        let namespace = |(prefix, style): &(&str, &str)| {
            format!("<namespace urlPrefix=\"{prefix}\"><{style}/></namespace>\n")
        };
        let inside: String = namespaces.iter().map(namespace).collect();
        let document = format!("<proxy xmlns=\"http://purl.org/BITSY\">\n{inside}</proxy>");
        let address = "http://example.org/app/proxy.xml".parse().unwrap();
        Configuration::read(document.as_bytes(), &address)
    }

    const XD: &str = "xd xmlns=\"http://purl.org/BITSY/xdp\"";

    #[test]
    fn requests_are_emulated_by_the_prefix_of_their_address() {
        let read = read(&[("http://www.example.com/calendar/full", XD), ("feeds/", XD)]).unwrap();
        let style = |address: &str| read.style_of(&address.parse().unwrap());
        for emulated in [
            "http://www.example.com/calendar/full",
            "HTTP://WWW.EXAMPLE.COM:80/calendar/full/1?x=y",
            "http://www.example.com/calendar/fuller",
            "http://example.org/app/feeds/a",
        ] {
            assert_eq!(style(emulated), Some(Style::CrossDomain), "{emulated}");
        }
        for other in ["http://www.example.com/calendar/", "https://www.example.com/calendar/full"] {
            assert_eq!(style(other), None, "{other}");
        }
        assert_eq!(Style::named("{http://purl.org/BITSY/xdp}xd"), Some(Style::CrossDomain));
        assert_eq!(Style::named("xd"), None);
    }

    #[test]
    fn overlapping_prefixes_are_rejected_in_any_spelling() {
        for other in ["http://a/b", "HTTP://A:80/b", "http://a/b/c", "http://a/", "http://a/%62"] {
            let refused = read(&[("http://a/b", XD), (other, XD)]).unwrap_err();
            assert!(matches!(refused, ConfigurationError::Overlap { line: 3, .. }), "{refused}");
        }
        assert!(read(&[("http://a/b", XD), ("http://a/c", XD), ("https://a/b", XD)]).is_ok());
    }

    #[test]
    fn invalid_configurations_are_rejected_with_their_position() {
        let refused = read(&[("http://a/", "xd")]).unwrap_err().to_string();
        assert!(refused.contains("is not allowed in a bitsy:namespace"), "{refused}");
        let refused = read(&[("http://a/", "x xmlns=\"urn:x\"")]).unwrap_err().to_string();
        assert!(refused.contains("line 2") && refused.contains("{urn:x}x"), "{refused}");
        let refused = read(&[("mailto:a@b", XD)]).unwrap_err();
        assert!(matches!(refused, ConfigurationError::Prefix { line: 2, .. }), "{refused}");
        assert!(matches!(read(&[]), Err(ConfigurationError::Read(_))));
        let foreign = "map xmlns=\"urn:feedsync:1\" to=\"http://b/\"";
        let refused = read(&[("http://a/", foreign)]).unwrap_err().to_string();
        assert!(refused.contains("line 2") && refused.contains("http://a/"), "{refused}");
    }

    #[test]
    fn a_prefix_may_be_mapped_to_another_server() {
        let map = "map xmlns=\"urn:feedsync:1\" to=\"http://atom.example/a&amp;b/\"";
        let read = read(&[("data/", map), ("feeds/", XD)]).unwrap();
        let at = |text: &str| text.parse::<Location>().unwrap();
        let requested = at("http://example.org/app/data/1");
        assert_eq!(read.style_of(&requested), Some(Style::Mapped));
        let mapped = read.mapping_of(&requested).unwrap().server_address(&requested);
        assert_eq!(mapped, Some(at("http://atom.example/a&b/1")));
        assert_eq!(read.mapping_of(&at("http://example.org/app/feeds/1")), None);
    }
}
