//! Properties that an element inherits from its ancestors: namespace declarations, `xml:base`, `xml:lang` and
//! `xml:space`.
//!
//! An item is stored with everything that it inherits. In a document with many items inside large declarations, the
//! stored size would grow with the product of both. The inherited bytes of one document are therefore counted, and
//! have the same limit as the document itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iri_string::types::{IriReferenceStr, IriStr};

use crate::options::ReadOptions;
use crate::xml::{Attribute, Namespace, XmlError};

/// Maximum length of a base or an address that references are resolved against, in bytes.
pub(crate) const MAX_BASE_BYTES: usize = 2_048;

/// Resolves a reference against a base. Returns it unchanged if there is no base.
pub(crate) fn resolved<'r>(base: Option<&IriStr>, reference: &'r str) -> Cow<'r, str> {
    let Some(base) = base else {
        return Cow::Borrowed(reference);
    };
    match IriReferenceStr::new(reference) {
        Ok(relative) => {
            let resolved = relative.resolve_against(base.to_absolute()).to_string();
            if resolved == reference { Cow::Borrowed(reference) } else { Cow::Owned(resolved) }
        }
        Err(_) => Cow::Borrowed(reference),
    }
}

/// A namespace prefix in scope.
#[derive(Debug, Clone)]
pub(crate) struct Declaration<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) iri: Cow<'a, str>,
}

/// The properties that are in scope at a position in the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context<'a> {
    /// The default namespace, if there is one.
    pub(crate) default: Option<Cow<'a, str>>,
    /// Prefixes in ascending order, without `xml`.
    pub(crate) prefixes: Vec<Declaration<'a>>,
    /// The base, resolved as far as possible.
    pub(crate) base: Option<String>,
    /// Address that references are resolved against where there is no base. Items do not inherit it.
    address: Option<String>,
    pub(crate) lang: Option<Cow<'a, str>>,
    pub(crate) space: Option<Cow<'a, str>>,
    inherited: Arc<Inherited>,
}

/// Counter of the bytes that items of a document have inherited so far.
#[derive(Debug)]
struct Inherited {
    bytes: AtomicUsize,
    most: usize,
}

/// Number of bytes that each item may inherit without being counted. It covers the usual declarations of feeds.
const UNCOUNTED_BYTES: usize = 512;

impl Default for Inherited {
    fn default() -> Self {
        Self { bytes: AtomicUsize::new(0), most: usize::MAX }
    }
}

impl<'a> Context<'a> {
    /// Returns the context outside the root of a document.
    pub(crate) fn outside(options: &ReadOptions<'_>) -> Self {
        let inherited = Inherited { most: options.limits.bytes, ..Inherited::default() };
        let base = options.base.map(str::to_owned);
        Self { base, inherited: Arc::new(inherited), ..Self::default() }
    }

    /// Returns the context outside the root of a web feed. The feed's address is not a base of its items, which have
    /// addresses of their own.
    pub(crate) fn at_address(options: &ReadOptions<'_>) -> Self {
        let outside = Self::outside(options);
        Self { address: outside.base, base: None, ..outside }
    }

    /// Counts inherited bytes beyond the usual number.
    pub(crate) fn inherit(&self, bytes: usize) {
        self.inherited.bytes.fetch_add(bytes.saturating_sub(UNCOUNTED_BYTES), Ordering::Relaxed);
    }

    /// Makes a reference absolute and counts the bytes that this adds. Returns an empty string once the limit is
    /// exceeded.
    pub(crate) fn absolute(&self, reference: &str) -> String {
        if self.is_spent() {
            return String::new();
        }
        let found = self.resolve(reference).into_owned();
        let added = found.len().saturating_sub(reference.len());
        self.inherited.bytes.fetch_add(added, Ordering::Relaxed);
        found
    }

    /// Whether the limit is exceeded. The document is then refused.
    pub(crate) fn is_spent(&self) -> bool {
        self.inherited.bytes.load(Ordering::Relaxed) > self.inherited.most
    }

    /// Returns an error at this offset if the items so far inherit more than the limit.
    pub(crate) fn check(&self, start: usize) -> Result<(), XmlError> {
        if self.is_spent() {
            let most = self.inherited.most;
            let message = format!(
                "items inherit more than {most} bytes of namespaces and attributes from their \
                 ancestors"
            );
            return Err(XmlError::new(start, message));
        }
        Ok(())
    }

    fn weight(&self) -> usize {
        let texts = self.default.iter().chain(&self.lang).chain(&self.space).map(|text| text.len());
        let prefixes = self.prefixes.iter().map(|one| one.prefix.len() + one.iri.len());
        texts.chain(prefixes).sum::<usize>() + self.base.as_ref().map_or(0, String::len)
    }

    /// Returns the context inside an element with these attributes.
    pub(crate) fn enter(&self, text: &'a str, attributes: &[Attribute]) -> Cow<'_, Self> {
        let counts = |attribute: &Attribute| {
            matches!(attribute.namespace(), Namespace::XMLNS | Namespace::XML)
        };
        if !attributes.iter().any(counts) {
            return Cow::Borrowed(self);
        }
        self.inherit(self.weight());
        if self.is_spent() {
            return Cow::Borrowed(self);
        }
        let mut inner = self.clone();
        for attribute in attributes {
            let value = attribute.value(text);
            if let Some(prefix) = attribute.declared_prefix(text) {
                inner.declare(prefix, value);
            } else if attribute.namespace() == Namespace::XML {
                match attribute.local(text) {
                    "base" => inner.base = Some(self.resolve(&value).into_owned()),
                    "lang" => inner.lang = Some(value),
                    "space" => inner.space = Some(value),
                    _ => {}
                }
            }
        }
        Cow::Owned(inner)
    }

    /// Adds a namespace declaration. An empty prefix declares the default namespace.
    pub(crate) fn declare(&mut self, prefix: &'a str, iri: Cow<'a, str>) {
        if prefix.is_empty() {
            self.default = Some(iri).filter(|iri| !iri.is_empty());
            return;
        }
        match self.prefixes.binary_search_by(|declaration| declaration.prefix.cmp(prefix)) {
            Ok(index) => self.prefixes[index].iri = iri,
            Err(_) if prefix == "xml" => {}
            Err(index) => self.prefixes.insert(index, Declaration { prefix, iri }),
        }
    }

    /// Resolves a reference against the base in scope. Returns it unchanged if there is no absolute base.
    pub(crate) fn resolve<'r>(&self, reference: &'r str) -> Cow<'r, str> {
        let base = self.base.as_deref().or(self.address.as_deref());
        resolved(base.and_then(|base| IriStr::new(base).ok()), reference)
    }

    /// Returns a prefix that is bound to the IRI here, if any.
    pub(crate) fn prefix_of(&self, iri: &str) -> Option<&'a str> {
        self.prefixes
            .iter()
            .find(|declaration| declaration.iri == iri)
            .map(|declaration| declaration.prefix)
    }
}
