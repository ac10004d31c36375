//! Positions in the change order of a source.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node, push_string};

use crate::json::text;

/// A position in the change order of a source: opaque JSON that is sent back unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateSequence(String);

impl UpdateSequence {
    /// The position before all changes.
    pub fn beginning() -> Self {
        Self("0".to_owned())
    }

    /// A position that was received as text.
    pub fn of_text(text: &str) -> Self {
        let mut json = String::new();
        push_string(&mut json, text);
        Self(json)
    }

    /// Reads a position in a response; `None` for a value of another kind.
    pub fn read(node: Node<'_>) -> Option<Self> {
        let is_one = matches!(node.kind(), Kind::String | Kind::Number | Kind::Array);
        is_one.then(|| Self(node.raw().to_owned()))
    }

    /// The position as JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The position in a query: the text of a string, any other value as it is spelled.
    pub fn in_query(&self) -> Cow<'_, str> {
        text(Node::root(&self.0)).unwrap_or(Cow::Borrowed(&self.0))
    }
}
