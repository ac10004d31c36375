//! Selectors: which documents are meant, said in JSON.
//!
//! A selector is an object of conditions, all of which must hold: `{"type": {"$ne": "leaf"}}`. It is
//! what CouchDB calls Mango, and asked of documents as they stand in their text.
//!
//! - A name is a field, and dots descend: `a.b` is the member `b` of `a`, `a.0` the first element of
//!   `a`. A backslash takes the dot's meaning (`a\.b`); so `{"a": {"b": 1}}` is `{"a.b": 1}`. Of
//!   members of the same name the first one counts.
//! - What is no object, and the empty object, is meant to be equal: `{"a": 1}` is
//!   `{"a": {"$eq": 1}}`. Where no field is named yet, the empty object matches everything.
//! - `$eq $ne $gt $gte $lt $lte $in $nin` compare. Kinds are in the order null, false, true, numbers,
//!   strings, arrays, objects. Numbers compare by their value, to the last digit. Strings compare
//!   byte by byte in UTF-8, where CouchDB asks ICU; half of a surrogate pair equals only itself.
//!   Arrays compare element by element, then by length; objects likewise, as if sorted by name, so
//!   that the order of members does not matter.
//! - `$in` and `$nin` look at the elements of an array, and not at the array itself. `$all` is about
//!   arrays which have every element asked for, or are equal to the one array asked for.
//! - `$elemMatch`, `$allMatch` and `$keyMapMatch` ask one element, every element of an array that has
//!   any, or one name of an object.
//! - `$exists $type $size $mod $beginsWith $regex` look at a value by itself. `$mod` is about
//!   integers written as such, and its remainder has the sign of the value.
//! - `$and $or $nor $not` combine, of documents as well as of values. An empty `$or` holds.
//! - `$default` is what an index of words has found, and holds; there is no `$text`.
//!
//! A field that is not there fails every condition but `{"$exists": false}`. `$ne`, `$nin`, `$not`
//! and `$nor` are negations and nothing else: they hold exactly where `$eq`, `$in` and what they
//! negate do not, so also where there is no such field.
//!
//! `$regex` is matched on bytes, anywhere in the string, in time linear in its length: without back
//! references and looking around, and with `\w`, `\d` and `\s` for ASCII alone.
//!
//! Otherwise than in CouchDB, apart from the order of strings and of members:
//! - negations hold where there is no field, and `{"$exists": false}` where a path leads through what
//!   is neither object nor array; there both fail;
//! - `$all` compares numbers by value, where `1` and `1.0` are two things to CouchDB;
//! - an empty object in `$and`, `$or`, `$nor` and `$not` matches everything, if no field is named, and
//!   an operator on a value there is refused, where CouchDB would compare the document as a whole;
//! - what is refused is refused at once, not when the first document is looked at.
//!
//! The work for a document is bounded by the size of the selector times that of the document (and a
//! logarithm, where objects are compared); a selector has at most [`MAX_BYTES`] bytes,
//! [`MAX_CONDITIONS`] conditions, [`MAX_LEVELS`] levels and [`MAX_PATTERNS`] patterns.

use feedsync_formats::json::Node;

use parse::Parser;
use place::Place;
use rule::Rule;

mod bounds;
mod compare;
mod fields;
mod ids;
mod number;
mod parse;
mod place;
mod rule;
mod text;

#[cfg(test)]
mod tests;

pub use bounds::{
    MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_PATTERNS, SelectorError,
};
pub use fields::Fields;
pub use ids::IdRange;

/// Which documents are meant.
#[derive(Debug, Clone)]
pub struct Selector {
    rule: Rule,
}

/// A document, or rather one revision of it, that a selector is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its id, the field `_id`.
    pub id: &'a str,
    /// Its revision, the field `_rev`.
    pub revision: &'a str,
    /// Whether this revision is a deletion: the field `_deleted`, which is `true` or not there.
    pub is_deleted: bool,
    /// All other fields: an object of a checked text.
    pub body: Node<'a>,
}

impl Selector {
    /// Reads a selector from a checked text.
    pub fn parse(node: Node<'_>) -> Result<Self, SelectorError> {
        Parser::read(node).map(|rule| Self { rule })
    }

    /// Whether the document is meant.
    pub fn matches(&self, document: &Subject<'_>) -> bool {
        self.rule.decide(Place::Document(document)) == Some(true)
    }

    /// Whether documents of this type are meant, if the type alone says so: for certain all of them,
    /// for certain none, or `None` if one must look at the document.
    ///
    /// The type is what the document has in its field `type`, if that is a string, and `None` if it
    /// has no such field. Of documents with anything else in that field, ask
    /// [`matches`](Self::matches).
    pub fn decides_by_type(&self, kind: Option<&str>) -> Option<bool> {
        self.rule.decide(Place::OfType(kind))
    }

    /// A range that has the ids of all documents meant, as far as what is asked of `_id`, aside from
    /// alternatives and negations, tells it.
    pub fn ids(&self) -> IdRange {
        IdRange::of(&self.rule)
    }
}
