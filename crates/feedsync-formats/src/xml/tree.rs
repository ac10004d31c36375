//! One element with its content, as a flat list of offsets into the text.

use std::borrow::Cow;
use std::ops::Range;

use super::attributes::Attribute;
use super::characters::unescape;
use super::error::XmlError;
use super::namespace::{Namespace, Namespaces};
use super::reader::{Reader, StartTag, Token};
use crate::options::{Limits, Mode};

/// Type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// An element.
    Element,
    /// Character data with its references.
    Text,
    /// A CDATA section.
    CData,
    /// A comment or a processing instruction.
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    kind: NodeKind,
    namespace: Namespace,
    start: u32,
    end: u32,
    /// Range between the tags. Both bounds are `end` for an empty element.
    content: (u32, u32),
    name_length: u32,
    local: u32,
    attributes: (u32, u32),
    /// Index after the last node inside this one.
    after: u32,
}

/// An element with its content. It can be refilled and reuses its memory, so that a feed is read
/// item by item in constant space.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree<'a> {
    text: &'a str,
    records: Vec<Record>,
    attributes: Vec<Attribute>,
    /// Indexes of the open elements while the tree is filled.
    open: Vec<usize>,
}

impl<'a> Tree<'a> {
    /// Reads a whole document. Returns its root element and its namespaces.
    pub(crate) fn parse(
        text: &'a str,
        mode: Mode,
        limits: &Limits,
    ) -> Result<(Self, Namespaces<'a>), XmlError> {
        let mut reader = Reader::new(text, mode, limits)?;
        let mut tree = Self::default();
        let mut attributes = Vec::new();
        loop {
            match reader.token(&mut attributes)? {
                Token::Start(tag) => tree.fill(&mut reader, tag, &attributes)?,
                Token::EndOfDocument => return Ok((tree, reader.namespaces().clone())),
                _ => {}
            }
        }
    }

    /// Reads the element whose start tag the reader has just returned, with these attributes, up to
    /// its end tag. The previous content of the tree is removed.
    pub(crate) fn fill(
        &mut self,
        reader: &mut Reader<'a>,
        tag: StartTag,
        attributes: &[Attribute],
    ) -> Result<(), XmlError> {
        self.text = reader.text();
        self.records.clear();
        self.attributes.clear();
        self.attributes.extend_from_slice(attributes);
        self.push_element(tag, 0);
        if tag.empty {
            return Ok(());
        }
        self.open.clear();
        self.open.push(0);
        while let Some(&innermost) = self.open.last() {
            let first = self.attributes.len();
            match reader.token(&mut self.attributes)? {
                Token::Start(tag) => {
                    if !tag.empty {
                        self.open.push(self.records.len());
                    }
                    self.push_element(tag, first);
                }
                Token::End { start, end } => {
                    let after = self.records.len() as u32;
                    let record = &mut self.records[innermost];
                    record.content.1 = start as u32;
                    record.end = end as u32;
                    record.after = after;
                    self.open.pop();
                }
                Token::Text { start, end } => self.push_leaf(NodeKind::Text, start, end),
                Token::CData { start, end } => self.push_leaf(NodeKind::CData, start, end),
                Token::Other { start, end } => self.push_leaf(NodeKind::Other, start, end),
                // The reader refuses a document that ends inside an element.
                Token::EndOfDocument => return Ok(()),
            }
        }
        Ok(())
    }

    fn push_element(&mut self, tag: StartTag, first_attribute: usize) {
        self.records.push(Record {
            kind: NodeKind::Element,
            namespace: tag.namespace,
            start: tag.start as u32,
            end: tag.end as u32,
            content: (tag.end as u32, tag.end as u32),
            name_length: tag.name_length,
            local: tag.local,
            attributes: (first_attribute as u32, self.attributes.len() as u32),
            after: self.records.len() as u32 + 1,
        });
    }

    fn push_leaf(&mut self, kind: NodeKind, start: usize, end: usize) {
        self.records.push(Record {
            kind,
            namespace: Namespace::NONE,
            start: start as u32,
            end: end as u32,
            content: (start as u32, end as u32),
            name_length: 0,
            local: 0,
            attributes: (0, 0),
            after: self.records.len() as u32 + 1,
        });
    }

    /// Returns the element that was read.
    pub(crate) fn root(&self) -> Element<'_, 'a> {
        Element(Node { tree: self, index: 0 })
    }
}

/// A node of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Node<'t, 'a> {
    tree: &'t Tree<'a>,
    index: usize,
}

impl<'t, 'a> Node<'t, 'a> {
    fn record(self) -> &'t Record {
        &self.tree.records[self.index]
    }

    /// Returns the type of the node.
    pub(crate) fn kind(self) -> NodeKind {
        self.record().kind
    }

    /// Returns the range from its first byte to after its last.
    pub(crate) fn span(self) -> Range<usize> {
        self.record().start as usize..self.record().end as usize
    }

    /// Returns the source text of the node.
    pub(crate) fn source(self) -> &'a str {
        &self.tree.text[self.span()]
    }

    /// Returns the element if the node is one.
    pub(crate) fn element(self) -> Option<Element<'t, 'a>> {
        (self.kind() == NodeKind::Element).then_some(Element(self))
    }

    /// Returns the decoded text of a text or CDATA node, and an empty string for others.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let source = self.source();
        match self.kind() {
            NodeKind::Text => unescape(source),
            NodeKind::CData => {
                let body = &source["<![CDATA[".len()..source.len() - "]]>".len()];
                if body.contains('\r') {
                    Cow::Owned(body.replace("\r\n", "\n").replace('\r', "\n"))
                } else {
                    Cow::Borrowed(body)
                }
            }
            NodeKind::Element | NodeKind::Other => Cow::Borrowed(""),
        }
    }
}

/// An element of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Element<'t, 'a>(Node<'t, 'a>);

impl<'t, 'a> Element<'t, 'a> {
    /// Returns the whole text to which the offsets refer.
    pub(crate) fn document(self) -> &'a str {
        self.0.tree.text
    }

    /// Returns the range from `<` of the start tag to after `>` of the end tag.
    pub(crate) fn span(self) -> Range<usize> {
        self.0.span()
    }

    /// Returns the range of the start tag, including `<` and `>`.
    pub(crate) fn start_tag_span(self) -> Range<usize> {
        self.span().start..self.0.record().content.0 as usize
    }

    /// Returns the range between the tags. It is empty at the end of the tag for `<a/>`.
    pub(crate) fn content_span(self) -> Range<usize> {
        self.0.record().content.0 as usize..self.0.record().content.1 as usize
    }

    /// Returns the offset after the name in the start tag.
    pub(crate) fn name_end(self) -> usize {
        self.span().start + 1 + self.0.record().name_length as usize
    }

    /// Returns the name as written, with its prefix.
    pub(crate) fn name(self) -> &'a str {
        &self.0.tree.text[self.span().start + 1..self.name_end()]
    }

    /// Returns the prefix, or an empty string if there is none.
    pub(crate) fn prefix(self) -> &'a str {
        &self.name()[..(self.0.record().local as usize).saturating_sub(1)]
    }

    /// Returns the name without prefix.
    pub(crate) fn local(self) -> &'a str {
        &self.name()[self.0.record().local as usize..]
    }

    /// Returns the namespace.
    pub(crate) fn namespace(self) -> Namespace {
        self.0.record().namespace
    }

    /// Whether this is the element with that namespace and local name.
    pub(crate) fn is(self, namespace: Namespace, local: &str) -> bool {
        self.namespace() == namespace && self.local() == local
    }

    /// Returns the attributes in order, including declarations.
    pub(crate) fn attributes(self) -> &'t [Attribute] {
        let (first, last) = self.0.record().attributes;
        &self.0.tree.attributes[first as usize..last as usize]
    }

    /// Returns the attribute with that namespace and local name.
    pub(crate) fn attribute(self, namespace: Namespace, local: &str) -> Option<&'t Attribute> {
        self.attributes().iter().find(|attribute| {
            attribute.namespace() == namespace && attribute.local(self.document()) == local
        })
    }

    /// Returns the value of an attribute without prefix.
    pub(crate) fn value(self, local: &str) -> Option<Cow<'a, str>> {
        self.attribute(Namespace::NONE, local).map(|attribute| attribute.value(self.document()))
    }

    /// Returns the child nodes, in order.
    pub(crate) fn nodes(self) -> impl Iterator<Item = Node<'t, 'a>> + Clone {
        let tree = self.0.tree;
        let end = self.0.record().after as usize;
        let mut index = self.0.index + 1;
        std::iter::from_fn(move || {
            (index < end).then(|| {
                let node = Node { tree, index };
                index = node.record().after as usize;
                node
            })
        })
    }

    /// Returns the child elements, in order.
    pub(crate) fn children(self) -> impl Iterator<Item = Element<'t, 'a>> + Clone {
        self.nodes().filter_map(Node::element)
    }

    /// Returns the first child element with that namespace and local name.
    pub(crate) fn child(self, namespace: Namespace, local: &str) -> Option<Element<'t, 'a>> {
        self.children().find(|child| child.is(namespace, local))
    }

    /// Returns all descendant elements, in document order.
    pub(crate) fn descendants(self) -> impl Iterator<Item = Element<'t, 'a>> + Clone {
        let tree = self.0.tree;
        (self.0.index + 1..self.0.record().after as usize)
            .filter_map(move |index| Node { tree, index }.element())
    }

    /// Returns the concatenated text of the element and its descendants.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let tree = self.0.tree;
        let mut parts = (self.0.index..self.0.record().after as usize)
            .map(|index| Node { tree, index })
            .filter(|node| matches!(node.kind(), NodeKind::Text | NodeKind::CData))
            .map(Node::text);
        let Some(mut text) = parts.next() else { return Cow::Borrowed("") };
        for part in parts {
            text.to_mut().push_str(&part);
        }
        text
    }
}
