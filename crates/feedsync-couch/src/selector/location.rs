//! Location that a condition examines, and the value there.

use std::cmp::Ordering;

use feedsync_formats::json::{Kind, Node};

use super::subject::Subject;
use crate::collation::{Text, compare};

/// Location on which a rule is evaluated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Location<'a> {
    /// A document.
    Document(&'a Subject<'a>),
    /// A document of which only the field `type` is known.
    OfType(Option<&'a str>),
    /// A value of which only one thing is known: it has nothing at this path, which is not empty.
    Lacking(&'a [String]),
    /// A value.
    Value(Value<'a>),
    /// A missing value: an object on the path lacks the next name.
    Missing,
    /// A missing value whose path leads through an array without such an index, or through a value that is neither
    /// object nor array.
    BadPath,
    /// An unknown value.
    Unknown,
}

/// A value in a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// A value in the document's text.
    Json(Node<'a>),
    /// A string that is not part of the text.
    Text(&'a str),
    /// The document's id. Ids compare by code points, as in `_all_docs`.
    Id(&'a str),
}

impl<'a> Location<'a> {
    /// Follows one step of a path.
    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Document(document) => match name {
                "_id" => Self::Value(Value::Id(document.id)),
                "_rev" => Self::Value(Value::Text(document.revision)),
                "_deleted" if document.is_deleted => Self::Value(Value::Json(Node::root("true"))),
                "_deleted" => Self::Missing,
                _ => Self::of(member(document.body, name)),
            },
            Self::OfType(kind) if name == "type" => {
                kind.map_or(Self::Missing, |kind| Self::Value(Value::Text(kind)))
            }
            Self::Lacking([first, rest @ ..]) if first == name => match rest {
                // A bad path passes no condition that a missing value fails.
                [] => Self::Missing,
                _ => Self::Lacking(rest),
            },
            Self::OfType(_) | Self::Lacking(_) | Self::Unknown => Self::Unknown,
            Self::Value(Value::Json(node)) if node.kind() == Kind::Object => {
                Self::of(member(node, name))
            }
            Self::Value(Value::Json(node)) if node.kind() == Kind::Array => {
                let element = name.parse().ok().and_then(|index| node.elements().nth(index));
                element.map_or(Self::BadPath, |element| Self::Value(Value::Json(element)))
            }
            Self::Value(_) | Self::BadPath => Self::BadPath,
            Self::Missing => Self::Missing,
        }
    }

    fn of(node: Option<Node<'a>>) -> Self {
        node.map_or(Self::Missing, |node| Self::Value(Value::Json(node)))
    }
}

/// The first member of that name. [`Node::member`] cannot be used: it treats half a surrogate pair in a name
/// as U+FFFD.
fn member<'a>(object: Node<'a>, name: &str) -> Option<Node<'a>> {
    object
        .members()
        .find(|member| Text::of(Node::root(member.raw())).compare(Text::plain(name)).is_eq())
        .map(|member| member.value)
}

impl<'a> Value<'a> {
    pub(super) fn kind(self) -> Kind {
        self.node().map_or(Kind::String, Node::kind)
    }

    pub(super) fn node(self) -> Option<Node<'a>> {
        match self {
            Self::Json(node) => Some(node),
            Self::Text(_) | Self::Id(_) => None,
        }
    }

    /// The text of a string.
    pub(super) fn text(self) -> Option<Text<'a>> {
        match self {
            Self::Json(node) => (node.kind() == Kind::String).then(|| Text::of(node)),
            Self::Text(text) | Self::Id(text) => Some(Text::plain(text)),
        }
    }

    /// Compares in CouchDB's order of values. An id is greater than any value that is no string, as in CouchDB.
    pub(super) fn compare(self, other: Node<'_>) -> Ordering {
        match (self, other.kind()) {
            (Self::Json(node), _) => compare(node, other),
            (Self::Text(text), Kind::String) => Text::plain(text).collate(Text::of(other)),
            (Self::Id(id), Kind::String) => Text::plain(id).compare(Text::of(other)),
            (Self::Id(_), _) => Ordering::Greater,
            // Any string suffices to compare kinds.
            (Self::Text(_), _) => compare(Node::root("\"\""), other),
        }
    }

    pub(super) fn is_equal(self, other: Node<'_>) -> bool {
        self.compare(other).is_eq()
    }
}
