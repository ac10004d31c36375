//! Selectors: filters of documents in JSON.
//!
//! A selector is an object of conditions, all of which must hold: `{"type": {"$ne": "leaf"}}`. CouchDB calls
//! this query language Mango. Selectors are evaluated on the text of documents.
//!
//! - A name is a field, and dots descend: `a.b` is the member `b` of `a`, `a.0` the first element of `a`. A
//!   backslash removes the meaning of a dot (`a\.b`). Therefore `{"a": {"b": 1}}` is `{"a.b": 1}`. Of members
//!   with the same name the first one counts.
//! - A value that is not an object, and the empty object, test equality: `{"a": 1}` is `{"a": {"$eq": 1}}`.
//!   If no field is named yet, the empty object matches everything.
//! - `$eq $ne $gt $gte $lt $lte $in $nin` compare in the [order of CouchDB's views](crate::collation). The
//!   document's `_id` is an exception: it compares by code points, which is the order of `_all_docs`.
//! - `$in` and `$nin` test the elements of an array, and not the array itself. `$all` matches arrays that
//!   contain every given element, or that equal the only given array; there strings are equal if their code
//!   points are.
//! - `$elemMatch`, `$allMatch` and `$keyMapMatch` test one element, every element of a non-empty array, or
//!   one name of an object.
//! - `$exists $type $size $mod $beginsWith $regex` test a value by itself. `$mod` applies to integers that
//!   are written as such, and its remainder has the sign of the value.
//! - `$and $or $nor $not` combine conditions on documents as well as on values. An empty `$or` holds.
//! - `$default` is the result of a full-text index, and always holds; there is no `$text`.
//!
//! A missing field fails every condition except `{"$exists": false}`. `$ne`, `$nin`, `$not` and `$nor` are
//! pure negations. They hold exactly if `$eq`, `$in` or the negated condition does not, and therefore also if
//! the field is missing.
//!
//! `$regex` matches bytes anywhere in the string, in time linear in its length. It has no back references and
//! no look-around, and `\w`, `\d` and `\s` are ASCII only.
//!
//! Differences from CouchDB:
//! - Numbers compare by their exact value; CouchDB rounds those with a fraction or an exponent. It compares
//!   fields named `_id` below `$elemMatch` by code points, too.
//! - Negations hold for a missing field, and `{"$exists": false}` holds if a path leads through a value that
//!   is neither object nor array. In CouchDB both fail.
//! - `$all` compares numbers by value; CouchDB distinguishes `1` and `1.0`.
//! - An empty object in `$and`, `$or`, `$nor` and `$not` matches everything if no field is named. An operator
//!   on a value is rejected there, where CouchDB would compare the document as a whole.
//! - A selector is rejected when it is parsed, not when the first document is examined.
//!
//! The work for a document is limited by the size of the selector times that of the document. A selector has at most [`MAX_BYTES`] bytes, [`MAX_CONDITIONS`]
//! conditions, [`MAX_LEVELS`] levels and [`MAX_PATTERNS`] patterns.

use feedsync_formats::json::Node;

use crate::collation::{Text, push_key, push_text_key};
use crate::sort::SortField;
use location::{Location, Value};
use parse::Parser;
use rule::Rule;

mod bounds;
mod comparisons;
mod fields;
mod hints;
mod ids;
mod location;
mod normal;
mod parse;
mod rule;

#[cfg(test)]
mod tests;

pub use bounds::{
    MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_PATTERNS, SelectorError,
};
pub use fields::Fields;
pub use ids::IdRange;
pub(crate) use parse::path;
pub(crate) use rule::Relation;

/// A filter of documents.
#[derive(Debug, Clone)]
pub struct Selector {
    rule: Rule,
}

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

impl Selector {
    /// Parses a selector in a checked text.
    pub fn parse(node: Node<'_>) -> Result<Self, SelectorError> {
        Parser::read(node).map(|rule| Self { rule })
    }

    /// Whether the document matches.
    pub fn matches(&self, document: &Subject<'_>) -> bool {
        self.rule.decide(Location::Document(document)) == Some(true)
    }

    /// The selector in CouchDB's normal form: `{"a": 1, "b": {"c": 2}}` is
    /// `{"$and": [{"a": {"$eq": 1}}, {"b.c": {"$eq": 2}}]}`.
    pub fn normalized(&self) -> String {
        normal::written(&self.rule)
    }

    /// Whether documents of this type match, if the type alone decides: certainly all of them, certainly
    /// none, or `None` if the document must be examined.
    ///
    /// The type is the value of the document's field `type` if that is a string, and `None` if there is no
    /// such field. For documents with any other value in that field, call [`matches`](Self::matches).
    pub fn decides_by_type(&self, kind: Option<&str>) -> Option<bool> {
        self.rule.decide(Location::OfType(kind))
    }

    /// Whether the selector shows that every matching document has the field.
    pub fn requires(&self, field: &SortField) -> bool {
        self.rule.decide(Location::Lacking(&field.path)) == Some(false)
    }

    /// A range that contains the ids of all matching documents. It is derived from the conditions on `_id`,
    /// except those in alternatives and negations.
    pub fn ids(&self) -> IdRange {
        IdRange::of(&self.rule)
    }
}
