//! What an element inherits from those around it: namespace declarations, `xml:base`, `xml:lang` and
//! `xml:space`.

use std::borrow::Cow;

use iri_string::types::{IriReferenceStr, IriStr};

use crate::xml::{Attribute, Namespace};

/// Bytes of an `xml:base`, `xml:lang`, `xml:space` or namespace name that holds further inside.
pub(crate) const LONGEST: usize = 2_048;

/// A reference made absolute against a base; as it is, where there is none.
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

/// A prefix in scope.
#[derive(Debug, Clone)]
pub(crate) struct Declaration<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) iri: Cow<'a, str>,
}

/// The declarations in scope at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context<'a> {
    /// The default namespace, if there is one.
    pub(crate) default: Option<Cow<'a, str>>,
    /// Ascending by prefix; `xml` is not among them.
    pub(crate) prefixes: Vec<Declaration<'a>>,
    /// The base, resolved as far as it can be.
    pub(crate) base: Option<String>,
    pub(crate) lang: Option<Cow<'a, str>>,
    pub(crate) space: Option<Cow<'a, str>>,
}

impl<'a> Context<'a> {
    /// Outside the root of a document that came from this address.
    pub(crate) fn outside(base: Option<&str>) -> Self {
        Self { base: base.map(str::to_owned), ..Self::default() }
    }

    /// Inside an element with these attributes.
    pub(crate) fn enter(&self, text: &'a str, attributes: &[Attribute]) -> Cow<'_, Self> {
        let counts = |attribute: &Attribute| {
            matches!(attribute.namespace(), Namespace::XMLNS | Namespace::XML)
        };
        if !attributes.iter().any(counts) {
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

    /// Takes up one more declaration; an empty prefix is the default namespace.
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

    /// A reference made absolute against the base here; as it is, where there is no absolute base.
    pub(crate) fn resolve<'r>(&self, reference: &'r str) -> Cow<'r, str> {
        resolved(self.base.as_deref().and_then(|base| IriStr::new(base).ok()), reference)
    }

    /// The prefix that stands for an IRI here, if any.
    pub(crate) fn prefix_of(&self, iri: &str) -> Option<&'a str> {
        self.prefixes
            .iter()
            .find(|declaration| declaration.iri == iri)
            .map(|declaration| declaration.prefix)
    }
}
