//! Ranges of keys that contain all documents which a selector matches.

use std::cmp::Ordering;

use feedsync_formats::json::Node;

use crate::collation::{MAX_KEY_BYTES, key};
use crate::selector::{Relation, Selector};
use crate::sort::SortField;

/// A byte that is greater than the first byte of every key.
const AFTER_KEYS: u8 = 0xff;

/// A range of the keys of an index, in byte order. A store may append anything to the keys that does not begin with
/// the byte 0xFF, such as the id of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Lower bound, which is in the range.
    pub start: Vec<u8>,
    /// Upper bound, which is not in the range.
    pub end: Vec<u8>,
}

impl KeyRange {
    /// The empty range.
    pub fn none() -> Self {
        Self { start: Vec::new(), end: Vec::new() }
    }

    /// Whether the key is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && key < self.end.as_slice()
    }

    /// Whether no key is in the range.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// The range of an index whose fields have these bounds.
    pub(super) fn of(fields: &[FieldBounds]) -> Self {
        if fields.iter().any(FieldBounds::is_contradiction) {
            return Self::none();
        }
        let mut start = Vec::new();
        for bound in fields.iter().map_while(|field| field.lower.as_ref()) {
            let is_cut_off = push(&mut start, bound);
            if !bound.is_inclusive && !is_cut_off {
                start.push(AFTER_KEYS);
            }
            if !bound.is_inclusive || is_cut_off {
                break;
            }
        }
        let mut end = Vec::new();
        for bound in fields.iter().map_while(|field| field.upper.as_ref()) {
            let is_cut_off = push(&mut end, bound);
            if !bound.is_inclusive && !is_cut_off {
                return Self { start, end };
            }
            if is_cut_off {
                break;
            }
        }
        end.push(AFTER_KEYS);
        Self { start, end }
    }
}

/// Appends the key of a bound. Returns whether the joined keys are cut off, as those in the index are. Then documents
/// with these keys can be on both sides of the bound.
fn push(keys: &mut Vec<u8>, bound: &Bound) -> bool {
    keys.extend_from_slice(&bound.key);
    keys.truncate(MAX_KEY_BYTES);
    keys.len() == MAX_KEY_BYTES
}

/// The bounds that a selector sets for the values of a field.
#[derive(Debug, Default)]
pub(super) struct FieldBounds {
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
    /// Whether the selector compares the field.
    pub is_compared: bool,
    /// Whether the selector requires one value.
    pub is_constant: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Bound {
    key: Vec<u8>,
    is_inclusive: bool,
    /// The value, as written in the selector.
    pub value: String,
}

impl FieldBounds {
    pub(super) fn of(selector: &Selector, field: &SortField) -> Self {
        let mut bounds = Self::default();
        // Ids are in the order of the collation in an index, but selectors compare them by code points. Only
        // equality is the same.
        let is_id = field.path == ["_id"];
        selector.comparisons(&field.path, &mut |relation, operand| {
            bounds.is_compared = true;
            bounds.is_constant |= matches!(relation, Relation::Equal);
            if !is_id || matches!(relation, Relation::Equal) {
                bounds.narrow(relation, operand);
            }
        });
        bounds
    }

    /// Takes a comparison into account.
    fn narrow(&mut self, relation: Relation, operand: Node<'_>) {
        let key = key(operand);
        let is_inclusive =
            !matches!(relation, Relation::Less | Relation::Greater) || key.len() == MAX_KEY_BYTES;
        let bound = Bound { key, is_inclusive, value: operand.raw().into() };
        if !matches!(relation, Relation::Less | Relation::AtMost) {
            tighten(&mut self.lower, bound.clone(), Ordering::Greater);
        }
        if !matches!(relation, Relation::Greater | Relation::AtLeast) {
            tighten(&mut self.upper, bound, Ordering::Less);
        }
    }

    fn is_contradiction(&self) -> bool {
        let (Some(lower), Some(upper)) = (&self.lower, &self.upper) else { return false };
        match lower.key.cmp(&upper.key) {
            Ordering::Less => false,
            Ordering::Equal => !(lower.is_inclusive && upper.is_inclusive),
            Ordering::Greater => true,
        }
    }
}

/// Replaces a bound by one that is further on a side, or equal and exclusive.
fn tighten(old: &mut Option<Bound>, new: Bound, side: Ordering) {
    let is_tighter = old.as_ref().is_none_or(|old| match new.key.cmp(&old.key) {
        Ordering::Equal => !new.is_inclusive,
        order => order == side,
    });
    if is_tighter {
        *old = Some(new);
    }
}
