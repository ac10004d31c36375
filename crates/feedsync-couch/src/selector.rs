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
//! A missing field fails every condition except `{"$exists": false}`. This includes negations, because
//! [`Selector::parse`] moves `$not` and `$nor` down to the tests of values, as CouchDB does:
//! `{"$not": {"a": {"$gt": 1}}}` is `{"a": {"$lte": 1}}`. `{"$exists": false}` fails, too, if the path leads through
//! an array without such an element, or through a value that is neither object nor array.
//!
//! In the conditions of `$elemMatch`, `$allMatch` and `$keyMapMatch`, CouchDB leaves `$not` where it is. There `$not`
//! and `$nor` hold exactly if the negated condition does not. In filters of changes this is the meaning of all
//! negations: see [`Selector::parse_filter`].
//!
//! `$regex` matches bytes anywhere in the string, in time linear in its length. It has no back references and
//! no look-around, and `\w`, `\d` and `\s` are ASCII only.
//!
//! Differences from CouchDB:
//! - Numbers compare by their exact value; CouchDB rounds those with a fraction or an exponent. It compares
//!   fields named `_id` below `$elemMatch` by code points, too.
//! - Negations in filters of changes hold for a missing field. In CouchDB a filter has the meaning of a query.
//! - `$all` compares numbers by value; CouchDB distinguishes `1` and `1.0`.
//! - `$beginsWith` compares code points. In CouchDB no combining mark can follow the prefix.
//! - An empty object in `$and`, `$or`, `$nor` and `$not` matches everything if no field is named. An operator
//!   on a value is rejected there, where CouchDB would compare the document as a whole.
//! - `$not` of an empty `$and` or `$or`, or of `$default`, matches nothing. In CouchDB the negation of an empty array
//!   matches everything, and that of `$default` is an error.
//! - `$nor` can be used below `$elemMatch`, `$allMatch` and `$keyMapMatch`, where CouchDB fails at evaluation.
//! - A selector is rejected when it is parsed, not when the first document is examined.
//!
//! The work for a document is limited by the size of the selector times that of the document. A selector has at most
//! [`MAX_BYTES`] bytes, [`MAX_CONDITIONS`] conditions, [`MAX_LEVELS`] levels and [`MAX_PATTERNS`] patterns.
//!
//! Source: CouchDB's `mango_selector.erl` and `mango_doc.erl`, and their tests.

use feedsync_formats::json::Node;

use crate::sort::SortField;
use location::Location;
use parse::{Negations, Parser};
use rule::Rule;

mod bounds;
mod comparisons;
mod fields;
mod hints;
mod ids;
mod location;
mod negation;
mod normal;
mod parse;
mod rule;
mod subject;

#[cfg(test)]
mod tests;

pub use bounds::{
    MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_PATTERNS, SelectorError,
};
pub use fields::Fields;
pub use ids::IdRange;
pub(crate) use parse::path;
pub(crate) use rule::Relation;
pub use subject::Subject;

/// A condition on documents: a query, or a filter of changes.
#[derive(Debug, Clone)]
pub struct Selector {
    rule: Rule,
}

impl Selector {
    /// Parses the selector of a query in a checked text. A missing field fails negations, too.
    pub fn parse(node: Node<'_>) -> Result<Self, SelectorError> {
        let rule = Parser::read(node, Negations::OfValues)?;
        Ok(Self { rule: rule.with_negations_at_tests() })
    }

    /// Parses the selector of a filter of changes in a checked text. There `$ne`, `$nin`, `$not` and `$nor` hold
    /// exactly if the negated condition does not, and so does `{"$exists": false}`. They hold for a missing field.
    ///
    /// A feed of changes must not hide deletions, and most tombstones have no fields. A client whose filter is
    /// `{"type": {"$ne": "leaf"}}` must receive the deletions of notes.
    pub fn parse_filter(node: Node<'_>) -> Result<Self, SelectorError> {
        Parser::read(node, Negations::Pure).map(|rule| Self { rule })
    }

    /// Whether the document matches.
    pub fn matches(&self, document: &Subject<'_>) -> bool {
        self.rule.decide(Location::Document(document)) == Some(true)
    }

    /// The selector in CouchDB's normal form: `{"a": 1, "b": {"c": 2}}` is
    /// `{"$and": [{"a": {"$eq": 1}}, {"b.c": {"$eq": 2}}]}`, and `{"$not": {"a": {"$gt": 1}}}` is
    /// `{"a": {"$lte": 1}}`. The negations of a filter are written as `$not` where they are.
    ///
    /// The same function parses it again, as a selector that matches the same documents and has the same normal form.
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
