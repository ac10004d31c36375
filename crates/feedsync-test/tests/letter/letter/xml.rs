//! Elements as values, read with a parser that is independent of this project, and written here.

use std::fmt::Write as _;

const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// A name with its namespace, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    /// The namespace.
    pub(crate) namespace: String,
    /// The local name.
    pub(crate) local: String,
}

impl Name {
    /// Creates a name in a namespace.
    pub(crate) fn new(namespace: &str, local: &str) -> Self {
        Self { namespace: namespace.to_owned(), local: local.to_owned() }
    }

    /// Whether the name is this one.
    pub(crate) fn is(&self, namespace: &str, local: &str) -> bool {
        self.namespace == namespace && self.local == local
    }
}

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its name.
    pub(crate) name: Name,
    /// Its attributes with their values.
    pub(crate) attributes: Vec<(Name, String)>,
    /// Its elements and texts, without comments and processing instructions.
    pub(crate) children: Vec<Node>,
}

/// A part of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// An element.
    Element(Element),
    /// Text.
    Text(String),
}

impl Element {
    /// Creates an empty element.
    pub(crate) fn new(namespace: &str, local: &str) -> Self {
        Self { name: Name::new(namespace, local), attributes: Vec::new(), children: Vec::new() }
    }

    /// Parses a document; returns its root.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
        Ok(Self::of(document.root_element()))
    }

    fn of(node: roxmltree::Node<'_, '_>) -> Self {
        let name = node.tag_name();
        let attributes = node.attributes().map(|attribute| {
            let name = Name::new(attribute.namespace().unwrap_or_default(), attribute.name());
            (name, attribute.value().to_owned())
        });
        let children = node.children().filter_map(|child| match child.node_type() {
            roxmltree::NodeType::Element => Some(Node::Element(Self::of(child))),
            roxmltree::NodeType::Text => Some(Node::Text(child.text()?.to_owned())),
            _ => None,
        });
        Self {
            name: Name::new(name.namespace().unwrap_or_default(), name.name()),
            attributes: attributes.collect(),
            children: children.collect(),
        }
    }

    /// Returns the child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Returns the first child element of a name.
    pub(crate) fn child(&self, namespace: &str, local: &str) -> Option<&Self> {
        self.elements().find(|element| element.name.is(namespace, local))
    }

    /// Returns the value of an attribute without a namespace.
    pub(crate) fn attribute(&self, local: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(name, _)| name.is("", local));
        found.map(|(_, value)| &**value)
    }

    /// Sets an attribute without a namespace, or removes it.
    pub(crate) fn set(&mut self, local: &str, value: Option<&str>) {
        self.attributes.retain(|(name, _)| !name.is("", local));
        let value = value.map(|value| (Name::new("", local), value.to_owned()));
        self.attributes.extend(value);
    }

    /// Returns all text in the element.
    pub(crate) fn text(&self) -> String {
        let parts = self.children.iter().map(|child| match child {
            Node::Element(element) => element.text(),
            Node::Text(text) => text.clone(),
        });
        parts.collect()
    }

    /// Returns the element with one more child element.
    #[must_use]
    pub(crate) fn with(mut self, child: Self) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    /// Returns the element with this text at its end.
    #[must_use]
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.children.push(Node::Text(text.to_owned()));
        self
    }

    /// Returns the document with this root.
    pub(crate) fn document(&self) -> String {
        let mut out = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned();
        self.write(&mut out, "");
        out
    }

    /// Writes the element in a context where `default` is the default namespace. Each namespace is declared
    /// where it is used: by default for elements, by a prefix for attributes.
    fn write(&self, out: &mut String, default: &str) {
        let Name { namespace, local } = &self.name;
        let _ = write!(out, "<{local}");
        if namespace != default {
            let _ = write!(out, " xmlns=\"{}\"", escaped(namespace));
        }
        for (index, (name, value)) in self.attributes.iter().enumerate() {
            let value = escaped(value);
            let _ = match &*name.namespace {
                "" => write!(out, " {}=\"{value}\"", name.local),
                XML => write!(out, " xml:{}=\"{value}\"", name.local),
                namespace => {
                    let namespace = escaped(namespace);
                    let local = &name.local;
                    write!(out, " xmlns:n{index}=\"{namespace}\" n{index}:{local}=\"{value}\"")
                }
            };
        }
        if self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for child in &self.children {
            match child {
                Node::Element(element) => element.write(out, namespace),
                Node::Text(text) => out.push_str(&escaped(text)),
            }
        }
        let _ = write!(out, "</{local}>");
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out
}
