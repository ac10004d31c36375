//! Groups of rows that a query reduces together.

use feedsync_formats::json::{Kind, Node};

use super::position::{KEPT_KEY_BYTES, key_part};
use super::range::PositionRange;
use crate::collation::unlimited_prefix;
use crate::refusal::{Refusal, RefusalKind};

/// The part of a key that the rows of a group have in common. Keys are in one group if they are equal in the [order of
/// values](crate::collation), also if they are written differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupLevel {
    /// The whole key.
    Exact,
    /// The first elements of an array, up to this number, which is not zero; the whole of another key.
    Elements(u64),
}

impl GroupLevel {
    /// Key of the group of a row, as JSON. `key` is the key of the row.
    pub fn group_key(self, key: &str) -> String {
        let node = Node::root(key);
        match self.prefix_of(node) {
            None => node.raw().to_owned(),
            Some(count) => {
                let elements: Vec<_> = node.elements().take(count).map(Node::raw).collect();
                format!("[{}]", elements.join(","))
            }
        }
    }

    /// The range of the positions of all rows of a group. `key` is the key of one of its rows. It is an error if the first
    /// elements of an array exceed [`KEPT_KEY_BYTES`], because the rows are not in the order of these elements.
    pub fn group_range(self, key: &str) -> Result<PositionRange, Refusal> {
        let node = Node::root(key);
        let Some(count) = self.prefix_of(node) else {
            return Ok(PositionRange::of_prefix(key_part(node)));
        };
        let (prefix, is_complete) = unlimited_prefix(node, count);
        if !is_complete || prefix.len() > KEPT_KEY_BYTES {
            let reason = format!(
                "the first elements of a key are too long for group_level: they take more than \
                 {KEPT_KEY_BYTES} bytes in the order of keys"
            );
            return Err(RefusalKind::QueryParse.with_reason(reason));
        }
        Ok(PositionRange::of_prefix(prefix))
    }

    /// Number of first elements by which the key is grouped; `None` for the whole key.
    fn prefix_of(self, key: Node<'_>) -> Option<usize> {
        let Self::Elements(count) = self else { return None };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // A shorter array is a group of its own.
        let is_long =
            key.kind() == Kind::Array && count > 0 && key.elements().nth(count - 1).is_some();
        is_long.then_some(count)
    }
}
