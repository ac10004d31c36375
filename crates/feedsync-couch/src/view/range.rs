//! Ranges of positions.

use feedsync_formats::json::Node;

use super::position::{AFTER, key_part, push_id};

/// Number of bytes that are greater than everything that follows a key, an id, or a part of them: a digest and a byte.
const AFTER_BYTES: usize = 33;

/// A range of positions, in byte order. It is the same for both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionRange {
    /// Lower bound, which is in the range.
    pub from: Vec<u8>,
    /// Upper bound, which is not in the range.
    pub to: Vec<u8>,
}

/// One end of a range: a key, the id of a document, and whether their rows are in the range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<'a> {
    pub key: Node<'a>,
    pub document: Option<&'a str>,
    pub is_inclusive: bool,
}

impl PositionRange {
    /// The range of all positions.
    pub fn all() -> Self {
        Self { from: Vec::new(), to: vec![AFTER] }
    }

    /// Whether the range contains the position.
    pub fn contains(&self, position: &[u8]) -> bool {
        self.from.as_slice() <= position && position < self.to.as_slice()
    }

    /// Whether the range contains no positions.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// The part that both ranges contain.
    #[must_use]
    pub fn intersection(self, other: &Self) -> Self {
        Self {
            from: self.from.max(other.from.clone()),
            to: if self.to < other.to { self.to } else { other.to.clone() },
        }
    }

    /// The range of positions that begin with these bytes.
    pub(super) fn of_prefix(prefix: Vec<u8>) -> Self {
        let to = after(prefix.clone());
        Self { from: prefix, to }
    }

    /// The range between two bounds, both in ascending order.
    pub(super) fn between(lower: Option<Bound<'_>>, upper: Option<Bound<'_>>) -> Self {
        let all = Self::all();
        let from = lower.map(|bound| (bound.bytes(), bound.is_inclusive));
        let to = upper.map(|bound| (bound.bytes(), bound.is_inclusive));
        Self {
            from: from
                .map_or(all.from, |(bytes, inside)| if inside { bytes } else { after(bytes) }),
            to: to.map_or(all.to, |(bytes, inside)| if inside { after(bytes) } else { bytes }),
        }
    }
}

impl Bound<'_> {
    /// The bytes with which its positions begin.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = key_part(self.key);
        if let Some(document) = self.document {
            push_id(&mut bytes, document);
        }
        bytes
    }
}

/// Bytes after all positions that begin with the given ones, and before all others that are greater.
fn after(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend([AFTER; AFTER_BYTES]);
    bytes
}
