//! Documents on which selectors are evaluated.

use feedsync_formats::json::Node;

use super::location::{Location, Value};
use crate::collation::{Text, push_key, push_text_key};

/// A revision of a document on which a selector is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its id, the field `_id`.
    pub id: &'a str,
    /// Its revision, the field `_rev`.
    pub revision: &'a str,
    /// Whether this revision is a deletion: the field `_deleted`, which is `true` or absent.
    pub is_deleted: bool,
    /// All other fields: an object of a checked text.
    pub body: Node<'a>,
}

impl<'a> Subject<'a> {
    /// Appends the key of the field at a path. Returns whether there is such a field.
    pub(crate) fn push_key(&self, out: &mut Vec<u8>, path: &[String]) -> bool {
        let begin = Location::Document(self);
        match path.iter().fold(begin, |place, name| place.field(name)) {
            Location::Value(Value::Json(node)) => push_key(out, node),
            Location::Value(Value::Text(text) | Value::Id(text)) => {
                push_text_key(out, Text::plain(text));
            }
            _ => return false,
        }
        true
    }
}
