//! Namespace prefixes that a document uses and its root does not declare.

use std::collections::{BTreeMap, BTreeSet};

use super::write::{Written, push_value};
use crate::entry::{CONTENT, DUBLIN_CORE, FEEDBURNER, ITUNES, MEDIA};
use crate::payload::push_declaration;

/// Namespaces that these prefixes usually have in feeds.
const USUAL_NAMESPACES: [(&str, &str); 12] = [
    ("atom", "http://www.w3.org/2005/Atom"),
    ("content", CONTENT),
    ("dc", DUBLIN_CORE),
    ("feedburner", FEEDBURNER),
    ("itunes", ITUNES),
    ("media", MEDIA),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("sy", "http://purl.org/rss/1.0/modules/syndication/"),
    ("slash", "http://purl.org/rss/1.0/modules/slash/"),
    ("wfw", "http://wellformedweb.org/CommentAPI/"),
    ("georss", "http://www.georss.org/georss"),
    ("xhtml", "http://www.w3.org/1999/xhtml"),
];

/// Maximum number of prefixes that are tracked.
const MAX_PREFIXES: usize = 64;

/// Prefixes in a document.
#[derive(Debug, Default)]
pub(super) struct Prefixes<'a> {
    /// Prefixes of elements and attributes.
    used: BTreeSet<&'a str>,
    /// Prefixes that the root declares.
    of_root: BTreeSet<&'a str>,
    /// All declared prefixes, with the raw value of their first declaration.
    known: BTreeMap<&'a str, &'a str>,
}

impl<'a> Prefixes<'a> {
    /// Adds the prefix of a qualified name.
    pub(super) fn using(&mut self, name: &'a str) {
        if let Some((prefix, _)) = name.split_once(':')
            && !matches!(prefix, "xml" | "xmlns")
            && self.used.len() < MAX_PREFIXES
        {
            self.used.insert(prefix);
        }
    }

    /// Adds a declaration.
    pub(super) fn declaring(&mut self, prefix: &'a str, value: &'a str, is_root: bool) {
        if self.known.len() < MAX_PREFIXES {
            self.known.entry(prefix).or_insert(value);
        }
        if is_root {
            self.of_root.insert(prefix);
        }
    }
}

/// Returns the document with its undeclared prefixes declared at the root. The namespace is that of a declaration
/// elsewhere in the document, or else the usual one.
pub(super) fn declared(written: Written<'_>) -> String {
    let Written { mut text, root_name_end, prefixes } = written;
    let mut declarations = String::new();
    for prefix in prefixes.used.difference(&prefixes.of_root) {
        if let Some(value) = prefixes.known.get(prefix) {
            declarations.push_str(&format!(" xmlns:{prefix}=\""));
            push_value(&mut declarations, value);
            declarations.push('"');
            continue;
        }
        let usual = USUAL_NAMESPACES.iter().find(|(usual, _)| usual == prefix).map(|(_, iri)| *iri);
        let iri = usual.map_or_else(|| format!("urn:undeclared:{prefix}"), str::to_owned);
        push_declaration(&mut declarations, prefix, &iri);
    }
    text.insert_str(root_name_end, &declarations);
    text
}
