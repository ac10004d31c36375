//! Namespaces as small numbers, and the declarations in scope.

use std::borrow::Cow;
use std::collections::HashMap;

use super::attributes::Attribute;
use super::error::XmlError;

/// A namespace, which can be compared by number within one document. The constants have the same
/// number in every document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Namespace(pub(super) u32);

macro_rules! known {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $iri:expr;)*) => {
        impl Namespace {
            $($(#[$doc])* pub(crate) const $name: Self = Self($number);)*
        }
        const KNOWN: &[&str] = &[$($iri),*];
    };
}

known! {
    /// No namespace.
    NONE = 0, "";
    /// Namespace of the prefix `xml`.
    XML = 1, "http://www.w3.org/XML/1998/namespace";
    /// Namespace of the prefix `xmlns`.
    XMLNS = 2, "http://www.w3.org/2000/xmlns/";
    /// Atom 1.0.
    ATOM = 3, "http://www.w3.org/2005/Atom";
    /// FeedSync 1.0.2 (1.1).
    FEEDSYNC = 4, "http://feedsync.org/2007/feedsync";
    /// SSE 0.91 as all implementations write it.
    SSE = 5, "http://www.microsoft.com/schemas/rss/sse";
    /// SSE 0.91 as its specification prints it.
    SSE_HTTPS = 6, "https://www.microsoft.com/schemas/rss/sse";
    /// FeedSync's own extensions.
    OWN = 7, "urn:feedsync:1";
    /// RDF, the root of RSS 0.90 and 1.0.
    RDF = 8, "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    /// RSS 1.0.
    RSS1 = 9, "http://purl.org/rss/1.0/";
    /// RSS 0.90.
    RSS090 = 10, "http://my.netscape.com/rdf/simple/0.9/";
    /// RSS 2.0 as in some early feeds.
    RSS2 = 11, "http://backend.userland.com/rss2";
    /// Atom 0.3.
    ATOM03 = 12, "http://purl.org/atom/ns#";
    /// The Atom Publishing Protocol (RFC 5023 6.1).
    APP = 13, "http://www.w3.org/2007/app";
    /// XHTML.
    XHTML = 14, "http://www.w3.org/1999/xhtml";
}

impl Namespace {
    /// Whether this is either spelling of SSE's namespace (reading 27).
    pub(crate) fn is_sse(self) -> bool {
        self == Self::SSE || self == Self::SSE_HTTPS
    }
}

#[derive(Debug, Clone)]
struct Binding<'a> {
    prefix: &'a str,
    namespace: Namespace,
}

/// The namespaces of a document, and the declarations in scope with the innermost last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Namespaces<'a> {
    bindings: Vec<Binding<'a>>,
    default: Namespace,
    others: Vec<Cow<'a, str>>,
    numbers: HashMap<Cow<'a, str>, Namespace>,
}

impl Default for Namespace {
    fn default() -> Self {
        Self::NONE
    }
}

/// State of the declarations before an element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    bindings: usize,
    default: Namespace,
}

impl<'a> Namespaces<'a> {
    /// Returns the IRI of a namespace, or an empty string for no namespace.
    pub(crate) fn iri(&self, namespace: Namespace) -> &str {
        let number = namespace.0 as usize;
        match KNOWN.get(number) {
            Some(iri) => iri,
            None => self.others.get(number - KNOWN.len()).map_or("", Cow::as_ref),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { bindings: self.bindings.len(), default: self.default }
    }

    pub(super) fn restore(&mut self, mark: Mark) {
        self.bindings.truncate(mark.bindings);
        self.default = mark.default;
    }

    /// Number of declarations in scope, including shadowed ones.
    pub(super) fn depth(&self) -> usize {
        self.bindings.len()
    }

    fn number(&mut self, iri: Cow<'a, str>) -> Namespace {
        if let Some(number) = KNOWN.iter().position(|known| *known == iri) {
            return Namespace(number as u32);
        }
        if let Some(&namespace) = self.numbers.get(&iri) {
            return namespace;
        }
        // There are fewer declarations than bytes, and the number of bytes fits in 32 bits.
        let namespace = Namespace((KNOWN.len() + self.others.len()) as u32);
        self.others.push(iri.clone());
        self.numbers.insert(iri, namespace);
        namespace
    }

    /// Adds the declaration in an attribute `xmlns` or `xmlns:prefix`.
    pub(super) fn declare(&mut self, text: &'a str, attribute: &Attribute) -> Result<(), XmlError> {
        let fault = |message| Err(XmlError::new(attribute.start(), message));
        let prefix = attribute.declared_prefix(text).unwrap_or_default();
        let namespace = self.number(attribute.value(text));
        match (prefix, namespace) {
            ("xmlns", _) => return fault("the prefix 'xmlns' cannot be declared"),
            ("xml", Namespace::XML) => return Ok(()),
            ("xml", _) => return fault("the prefix 'xml' stands for its own namespace only"),
            (_, Namespace::XML) => return fault("only the prefix 'xml' can have this namespace"),
            (_, Namespace::XMLNS) => return fault("this namespace cannot be declared"),
            ("", _) => self.default = namespace,
            (_, Namespace::NONE) => return fault("a prefix cannot be bound to no namespace"),
            _ => {}
        }
        self.bindings.push(Binding { prefix, namespace });
        Ok(())
    }

    /// Returns the namespace of elements without a prefix.
    pub(super) fn default_namespace(&self) -> Namespace {
        self.default
    }

    /// Returns the namespace of a prefix in scope.
    pub(super) fn resolve(&self, prefix: &str) -> Option<Namespace> {
        self.bindings
            .iter()
            .rev()
            .find(|binding| binding.prefix == prefix)
            .map(|binding| binding.namespace)
            .or(match prefix {
                "xml" => Some(Namespace::XML),
                _ => None,
            })
    }
}
