//! Reports namespaces that are almost those of FeedSync, SSE, Atom or AtomPub.
//!
//! Namespaces are compared character by character. A namespace in the wrong case, with a trailing slash or of a draft
//! therefore belongs to other elements, and a reader finds nothing to synchronize.

use super::findings::{Findings, quoted};
use super::placement::{Shape, Vocabulary};
use crate::remarks::Fault;
use crate::xml::{Attribute, Namespace, StartTag};

/// Maximum number of different namespaces that are reported.
const MAX_REPORTED: usize = 64;

/// A vocabulary with its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meant {
    name: &'static str,
    iri: &'static str,
    clause: &'static str,
    /// Elements whose occurrence shows that the vocabulary is used.
    elements: &'static [&'static str],
}

const OF_SX: &[&str] =
    &["sharing", "related", "sync", "history", "update", "conflicts", "conflict"];
const FEEDSYNC: Meant = Meant {
    name: "FeedSync",
    iri: "http://feedsync.org/2007/feedsync",
    clause: "FeedSync 1.1",
    elements: OF_SX,
};
const SSE: Meant = Meant {
    name: "SSE 0.91",
    iri: "http://www.microsoft.com/schemas/rss/sse",
    clause: "SSE 1.1",
    elements: OF_SX,
};
const ATOM: Meant = Meant {
    name: "Atom",
    iri: "http://www.w3.org/2005/Atom",
    clause: "RFC 4287 1.2",
    elements: &["feed", "entry"],
};
const APP: Meant = Meant {
    name: "AtomPub",
    iri: "http://www.w3.org/2007/app",
    clause: "RFC 5023 6.1",
    elements: &["service", "workspace", "collection", "categories", "accept", "control", "draft"],
};

struct Near {
    iri: String,
    meant: Meant,
    declared: usize,
    is_used: bool,
}

/// The doubtful namespaces of one document.
pub(super) struct Namespaces {
    shape: Shape,
    near: Vec<Near>,
    /// Unknown namespaces with elements that resemble FeedSync's, each with the first such element.
    unknown: Vec<(String, usize, String)>,
    /// Offset of the first declaration of SSE, and whether the namespace is used.
    sse: Option<usize>,
    uses_sse: bool,
}

impl Namespaces {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, near: Vec::new(), unknown: Vec::new(), sse: None, uses_sse: false }
    }

    /// Adds an attribute, which may declare a namespace.
    pub(super) fn declared(&mut self, text: &str, attribute: &Attribute) {
        if attribute.declared_prefix(text).is_none() {
            return;
        }
        let iri = attribute.value(text);
        if iri.ends_with("://www.microsoft.com/schemas/rss/sse") {
            self.sse.get_or_insert(attribute.start());
        }
        let Some(meant) = meant(&iri) else { return };
        let is_known = self.near.iter().any(|near| near.iri == *iri);
        if !is_known && self.near.len() < MAX_REPORTED {
            let declared = attribute.start();
            self.near.push(Near { iri: iri.into_owned(), meant, declared, is_used: false });
        }
    }

    /// Adds an element with its namespace and its attributes.
    pub(super) fn element(
        &mut self,
        text: &str,
        tag: &StartTag,
        (iri, attributes): (&str, &[Attribute]),
    ) {
        self.uses_sse |= tag.namespace.is_sse();
        if Vocabulary::of(tag.namespace).is_some() {
            return;
        }
        let local = tag.local_name(text);
        if let Some(near) = self.near.iter_mut().find(|near| near.iri == iri) {
            near.is_used |= near.meant.elements.contains(&local);
            return;
        }
        if !OF_SX.contains(&local) || tag.namespace == Namespace::OWN {
            return;
        }
        let name = &text[tag.start + 1..tag.start + 1 + tag.name_length as usize];
        let has = |wanted: &str| attributes.iter().any(|attribute| attribute.local(text) == wanted);
        let is_sync = local == "sync" && has("id") && (has("updates") || has("version"));
        let is_known = self.unknown.iter().any(|(known, ..)| known == iri);
        if (name.starts_with("sx:") || is_sync) && !is_known && self.unknown.len() < MAX_REPORTED {
            self.unknown.push((iri.to_owned(), tag.start, name.to_owned()));
        }
    }

    /// Reports the namespaces. It is a fault if elements of the vocabulary are in the wrong namespace.
    pub(super) fn report(self, findings: &mut Findings) {
        for Near { iri, meant, declared, is_used } in self.near {
            let Meant { name, iri: right, clause, .. } = meant;
            let iri = quoted(&iri);
            let message = format!("{iri} is not the namespace of {name}, which is {right:?}");
            if is_used {
                let message = format!("{message}; its elements here have no effect");
                findings.fault(Fault::new(declared, clause, message));
            } else {
                findings.warn(Fault::new(declared, clause, message));
            }
        }
        for (iri, start, name) in self.unknown {
            let (iri, name) = (quoted(&iri), quoted(&name));
            let message = format!(
                "{name} in the namespace {iri} is not an element of FeedSync, whose namespace is \
                 {:?}; it has no effect",
                FEEDSYNC.iri
            );
            findings.warn(Fault::new(start, "FeedSync 1.1", message));
        }
        if let (Some(start), false, false) = (self.sse, self.uses_sse, self.shape.has_sse()) {
            let message = "the namespace of SSE 0.91, which extends RSS and OPML only; that of \
                           FeedSync is \"http://feedsync.org/2007/feedsync\"";
            findings.warn(Fault::new(start, "SSE 1", message));
        }
    }
}

/// Returns the vocabulary whose namespace is similar to this one.
fn meant(iri: &str) -> Option<Meant> {
    let exact =
        [FEEDSYNC.iri, SSE.iri, ATOM.iri, APP.iri, "https://www.microsoft.com/schemas/rss/sse"];
    if exact.contains(&iri) {
        return None;
    }
    let lower = iri.trim().to_ascii_lowercase();
    let lower = lower.trim_end_matches(['/', '#']);
    let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    let rest = rest.unwrap_or(lower);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let is_draft_of = |start: &str| {
        rest.strip_prefix(start).is_some_and(|more| more.is_empty() || more.starts_with(['/', '#']))
    };
    if is_draft_of("feedsync.org") || rest.ends_with("/2007/feedsync") {
        Some(FEEDSYNC)
    } else if is_draft_of("microsoft.com/schemas/rss/sse") || rest.ends_with("/schemas/rss/sse") {
        Some(SSE)
    } else if rest == "w3.org/2005/atom" {
        Some(ATOM)
    } else if rest == "w3.org/2007/app" || is_draft_of("purl.org/atom/app") {
        Some(APP)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_that_are_almost_right_are_distinguished_from_right_and_foreign_ones() {
        for (iri, right) in [
            ("http://feedsync.org/2007/feedsync/", FEEDSYNC),
            ("http://feedsync.org/2007/FeedSync", FEEDSYNC),
            ("https://feedsync.org/2007/feedsync", FEEDSYNC),
            ("http://www.feedsync.org/2007/feedsync", FEEDSYNC),
            ("http://feedsync.org/2008/feedsync", FEEDSYNC),
            ("http://feedsync.org", FEEDSYNC),
            ("http://h.example/2007/feedsync", FEEDSYNC),
            ("http://microsoft.com/schemas/rss/sse/2005", SSE),
            ("http://h.example/schemas/rss/sse", SSE),
            ("https://purl.org/atom/app/1", APP),
            (" http://feedsync.org/2007/feedsync", FEEDSYNC),
            ("HTTP://www.microsoft.com/schemas/rss/sse/", SSE),
            ("http://microsoft.com/schemas/rss/sse", SSE),
            ("http://www.w3.org/2005/atom", ATOM),
            ("http://www.w3.org/2005/Atom/", ATOM),
            ("https://www.w3.org/2007/app", APP),
            ("http://purl.org/atom/app#", APP),
        ] {
            assert_eq!(meant(iri), Some(right), "{iri}");
        }
        for iri in [
            FEEDSYNC.iri,
            SSE.iri,
            "https://www.microsoft.com/schemas/rss/sse",
            ATOM.iri,
            APP.iri,
            "",
            "urn:feedsync:1",
            "http://purl.org/atom/ns#",
            "http://feedsync.organisation.example/",
            "http://purl.org/atom/application",
            "http://h.example/2005/Atom",
        ] {
            assert_eq!(meant(iri), None, "{iri}");
        }
    }
}
