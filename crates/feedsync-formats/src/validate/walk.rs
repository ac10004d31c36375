//! Checks the positions of elements in one pass over an XML document, and other properties that reading ignores.
//!
//! Only the open elements are in memory. The findings do not affect what readers accept.

use feedsync_core::Format;

use super::findings::{Findings, quoted};
use super::namespaces::Namespaces;
use super::placement::{Part, Rule, Shape, Spot, Tag, Vocabulary};
use super::{stamps, window};
use crate::options::ReadOptions;
use crate::remarks::Fault;
use crate::xml::{Attribute, Namespace, Reader, StartTag, Token, XmlError};

/// Maximum length of an item's id in a finding, in characters.
const MAX_ID: usize = 1_024;

/// An open element.
struct Open<'a> {
    name: &'a str,
    spot: Spot,
    /// Bit set of the parts that it already contains.
    held: u32,
    /// Index of its first finding, and the id in its `sx:sync`.
    first: usize,
    id: Option<String>,
}

/// Walks a document of this shape and collects findings.
pub(super) struct Walk<'a, 'f> {
    text: &'a str,
    shape: Shape,
    findings: &'f mut Findings,
    root: Namespace,
    open: Vec<Open<'a>>,
}

impl<'a, 'f> Walk<'a, 'f> {
    pub(super) fn new(text: &'a str, shape: Shape, findings: &'f mut Findings) -> Self {
        let document =
            Open { name: "the document", spot: Spot::Document, held: 0, first: 0, id: None };
        Self { text, shape, findings, root: Namespace::NONE, open: vec![document] }
    }

    /// Walks to the end of the document, or to text that is not well-formed.
    pub(super) fn run(mut self, options: &ReadOptions<'_>) -> Result<(), XmlError> {
        let mut reader = Reader::new(self.text, options.mode, &options.limits)?;
        let mut namespaces = Namespaces::new(self.shape);
        let mut attributes = Vec::new();
        loop {
            attributes.clear();
            match reader.token(&mut attributes)? {
                Token::Start(tag) => {
                    if self.open.len() == 1 {
                        self.root = tag.namespace;
                    }
                    for attribute in &attributes {
                        namespaces.declared(self.text, attribute);
                    }
                    let iri = reader.namespaces().iri(tag.namespace);
                    namespaces.element(self.text, &tag, (iri, &attributes));
                    self.start(&tag, &attributes);
                    if tag.empty {
                        self.end();
                    }
                }
                Token::End { .. } => self.end(),
                Token::EndOfDocument => break,
                _ => {}
            }
        }
        namespaces.report(self.findings);
        Ok(())
    }

    fn start(&mut self, tag: &StartTag, attributes: &[Attribute]) {
        let local = tag.local_name(self.text);
        let name = &self.text[tag.start + 1..tag.start + 1 + tag.name_length as usize];
        let first = self.findings.len();
        let vocabulary = Vocabulary::of(tag.namespace);
        let spot = match vocabulary.map(|known| (known, known.rule(local))) {
            Some((_, Some(rule))) => self.part(rule, tag.start, name, attributes),
            Some((known, None)) => {
                self.undefined(known, tag.start, name, local);
                Spot::Elsewhere
            }
            None if self.open.len() == 1 => self.shape.root(),
            None => self.inside(tag, attributes),
        };
        if vocabulary != Some(Vocabulary::AtomPub) {
            self.prefixed(attributes);
        }
        self.open.push(Open { name, spot, held: 0, first, id: None });
    }

    fn end(&mut self) {
        if let Some(Open { first, id: Some(id), .. }) = self.open.pop() {
            self.findings.about(first, &id);
        }
    }

    fn parent(&self) -> Option<&Open<'a>> {
        self.open.last()
    }

    /// Returns the position inside an element that belongs to no vocabulary.
    fn inside(&self, tag: &StartTag, attributes: &[Attribute]) -> Spot {
        let parent = self.parent().map_or(Spot::Document, |parent| parent.spot);
        let local = tag.local_name(self.text);
        let is_content = tag.namespace == Namespace::ATOM && local == "content";
        if is_content && matches!(parent, Spot::Item | Spot::Version) {
            let value = attributes.iter().find(|attribute| {
                attribute.namespace() == Namespace::NONE && attribute.local(self.text) == "type"
            });
            let is_xml = |kind: &str| kind.ends_with("+xml") || kind.ends_with("/xml");
            if value.is_some_and(|it| is_xml(&it.value(self.text).trim().to_ascii_lowercase())) {
                return Spot::Data;
            }
        }
        self.shape.inside(parent, Tag { local, namespace: tag.namespace, root: self.root })
    }

    /// Checks the position of a part. Returns the position inside it.
    fn part(
        &mut self,
        rule: &'static Rule,
        start: usize,
        name: &'a str,
        attributes: &[Attribute],
    ) -> Spot {
        let shape = self.shape;
        let is_sync = matches!(rule.part, Part::Sync | Part::SseSync);
        let Some(parent) = self.open.last_mut() else { return Spot::In(rule.part) };
        if rule.parents.contains(&parent.spot) {
            let bit = 1 << rule.part as u32;
            if rule.once && parent.held & bit != 0 {
                let message = format!("a second {name} in {}", parent.name);
                self.findings.fault_read_too(Fault::new(start, rule.clause, message));
            } else if is_sync {
                let id = attributes.iter().find(|attribute| {
                    attribute.namespace() == Namespace::NONE && attribute.local(self.text) == "id"
                });
                parent.id = id.map(|id| id.value(self.text).chars().take(MAX_ID).collect());
            }
            parent.held |= bit;
        } else {
            misplaced(self.findings, parent, rule, (start, name, shape));
        }
        if rule.part.vocabulary() == Vocabulary::Sse
            && !shape.has_sse()
            && rule.parents.contains(&parent.spot)
            && !matches!(parent.spot, Spot::In(_))
        {
            let message = format!("{name} of SSE: SSE 0.91 extends RSS and OPML, no other format");
            self.findings.fault(Fault::new(start, "SSE 1", message));
        }
        match rule.part {
            Part::Sharing => window::check(self.text, start, attributes, self.findings),
            Part::SseSharing => window::check_sse(self.text, start, attributes, self.findings),
            Part::History | Part::SseHistory | Part::SseUpdate | Part::SseConflict => {
                stamps::check(self.text, (start, name), attributes, (rule.clause, self.findings));
            }
            _ => {}
        }
        Spot::In(rule.part)
    }

    /// Reports an element that its vocabulary does not define.
    fn undefined(&mut self, known: Vocabulary, start: usize, name: &str, local: &str) {
        let is_of_sse = known == Vocabulary::FeedSync && Vocabulary::Sse.rule(local).is_some();
        if is_of_sse {
            let message = format!("{name} is an element of SSE; FeedSync does not have it");
            self.findings.fault(Fault::new(start, "FeedSync 2", message));
            return;
        }
        let clause = match known {
            Vocabulary::FeedSync => "FeedSync 2",
            Vocabulary::Sse => "SSE 2",
            Vocabulary::AtomPub => "RFC 5023 6.2",
        };
        let vocabulary = known.name();
        let message = format!("{vocabulary} defines no element {}; it has no effect", quoted(name));
        self.findings.warn(Fault::new(start, clause, message));
    }

    /// Reports prefixed attributes. Attributes of FeedSync and SSE have no prefix.
    fn prefixed(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            if let Some(known @ (Vocabulary::FeedSync | Vocabulary::Sse)) =
                Vocabulary::of(attribute.namespace())
            {
                let (prefix, local) = (attribute.prefix(self.text), attribute.local(self.text));
                let name = quoted(&format!("{prefix}:{local}"));
                let clause = if known == Vocabulary::FeedSync { "FeedSync 2.1" } else { "SSE 2" };
                let vocabulary = known.name();
                let message =
                    format!("attributes of {vocabulary} have no prefix: {name} has no effect");
                self.findings.warn(Fault::new(attribute.start(), clause, message));
            }
        }
    }
}

/// Reports a part at a wrong position. In a document of another type, or in foreign markup of AtomPub, this is only a
/// warning, since the part may be data of an application.
fn misplaced(
    findings: &mut Findings,
    parent: &Open<'_>,
    rule: &Rule,
    (start, name, shape): (usize, &str, Shape),
) {
    let own = rule.part.vocabulary();
    let (of, of_parent) = match parent.spot {
        Spot::In(other) if other.vocabulary() != own => {
            (format!(" of {}", own.name()), format!(" of {}", other.vocabulary().name()))
        }
        _ => (String::new(), String::new()),
    };
    let message = format!(
        "{name}{of} stands in {}{of_parent}, where it has no effect; its place is {}",
        parent.name,
        rule.part.place(shape)
    );
    let fault = Fault::new(start, rule.clause, message);
    let is_data =
        parent.spot == Spot::Data || (own == Vocabulary::AtomPub && parent.spot == Spot::Elsewhere);
    if is_data {
        findings.warn(fault);
    } else if rule.part == Part::Sync && shape == Shape::Feed(Format::Pox) {
        findings.fault_read_too(fault);
    } else {
        findings.fault(fault);
    }
}
