//! Documents on which selectors are evaluated.

use feedsync_formats::json::Node;

use super::location::{Location, Value};
use crate::collation::{KeyError, Text, push_key, push_text_key};

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
    /// Appends the key of the field at a path; `None` if there is no such field.
    pub(crate) fn push_key(
        &self,
        out: &mut Vec<u8>,
        path: &[String],
    ) -> Option<Result<(), KeyError>> {
        let begin = Location::Document(self);
        match path.iter().fold(begin, |place, name| place.field(name)) {
            Location::Value(Value::Json(node)) => Some(push_key(out, node)),
            Location::Value(Value::Text(text) | Value::Id(text)) => {
                Some(push_text_key(out, Text::plain(text)))
            }
            _ => None,
        }
    }
}
