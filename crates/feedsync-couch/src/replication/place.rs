//! Places in the order of a source.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node, push_string};

use crate::json::text;

/// A place in the order of a source, as it was told: JSON that is given back, and that nothing is read out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// Before all changes.
    pub fn beginning() -> Self {
        Self("0".to_owned())
    }

    /// A place that is told as a text.
    pub fn of_text(text: &str) -> Self {
        let mut json = String::new();
        push_string(&mut json, text);
        Self(json)
    }

    /// A place in an answer; nothing is none.
    pub fn read(node: Node<'_>) -> Option<Self> {
        let is_one = matches!(node.kind(), Kind::String | Kind::Number | Kind::Array);
        is_one.then(|| Self(node.raw().to_owned()))
    }

    /// As JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// As it stands in a query: the text of a string, anything else as it is spelt.
    pub fn in_query(&self) -> Cow<'_, str> {
        text(Node::root(&self.0)).unwrap_or(Cow::Borrowed(&self.0))
    }
}
