//! Random selectors and documents.

use feedsync_formats::json::Node;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Selector, Subject};
use crate::collation::tests::model::{
    Tree, any_body, any_text, any_tree, map, points, spell, text,
};

const RELATIONS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];
pub(super) const POSITIVE: [&str; 5] = ["$eq", "$gt", "$gte", "$lt", "$lte"];
const OTHERS: [&str; 18] = [
    "$in",
    "$nin",
    "$all",
    "$exists",
    "$type",
    "$size",
    "$mod",
    "$beginsWith",
    "$regex",
    "$elemMatch",
    "$allMatch",
    "$keyMapMatch",
    "$and",
    "$or",
    "$nor",
    "$not",
    "$default",
    "$x",
];
pub(super) const FIELDS: [&str; 13] = [
    "a", "b", "type", "type", "_id", "_rev", "_deleted", "a.b", "a.0", "b.a.b", "a\\.b", "ü",
    "\u{fffd}",
];
pub(super) const IDS: [&str; 8] = ["", "a", "h", "h:", "h:1", "h;", "é\n", "😀"];

/// Operators that test a value.
fn any_test() -> impl Strategy<Value = (String, Tree)> {
    let trees = || vec(any_tree(), 0..3).prop_map(Tree::List);
    let kinds = ["null", "boolean", "number", "string", "array", "object", "date"];
    prop_oneof![
        4 => (select(RELATIONS.to_vec()), any_tree()),
        4 => (select(RELATIONS.to_vec()), any_text().prop_map(Tree::Text)),
        4 => (select(vec!["$in", "$nin", "$all"]), trees()),
        2 => (Just("$exists"), any::<bool>().prop_map(Tree::Boolean)),
        1 => (Just("$type"), select(kinds.to_vec()).prop_map(text)),
        1 => (Just("$size"), (0..4i64).prop_map(|size| Tree::Number(size, 0))),
        1 => (Just("$mod"), (select(vec![-3i64, 1, 2, 7]), -2..3i64).prop_map(|(d, r)| {
            Tree::List(vec![Tree::Number(d, 0), Tree::Number(r, 0)])
        })),
        1 => (Just("$beginsWith"), any_text().prop_map(Tree::Text)),
    ]
    .prop_map(|(operator, argument)| (operator.to_owned(), argument))
}

fn object(members: Vec<(String, Tree)>) -> Tree {
    Tree::Map(members.into_iter().map(|(name, value)| (points(&name), value)).collect())
}

/// Conditions on a field.
pub(super) fn any_condition() -> BoxedStrategy<Tree> {
    let leaf = prop_oneof![
        1 => any_tree().prop_filter("no field has this name", has_fields_only),
        3 => vec(any_test(), 1..3).prop_map(object),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let selector = || inner.clone().prop_filter("", |tree| matches!(tree, Tree::Map(_)));
        let inner_match = select(vec!["$not", "$elemMatch", "$allMatch", "$keyMapMatch"]);
        prop_oneof![
            (select(vec!["$and", "$or", "$nor"]), vec(inner.clone(), 0..3))
                .prop_map(|(operator, list)| map([(operator, Tree::List(list))])),
            (inner_match, selector()).prop_map(|(operator, inner)| map([(operator, inner)])),
            (any_test(), select(FIELDS.to_vec()), inner.clone()).prop_map(
                |((operator, argument), field, inner)| map([
                    (&*operator, argument),
                    (field, inner)
                ])
            ),
        ]
    })
    .boxed()
}

/// Whether a value can be parsed as a condition: a field name must not contain half a surrogate pair.
fn has_fields_only(tree: &Tree) -> bool {
    match tree {
        Tree::Map(members) => members.iter().all(|(name, value)| {
            name.iter().all(|point| char::from_u32(*point).is_some()) && has_fields_only(value)
        }),
        _ => true,
    }
}

pub(super) fn any_selector() -> BoxedStrategy<Tree> {
    let leaf = vec((select(FIELDS.to_vec()), any_condition()), 0..3).prop_map(|members| {
        object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (select(vec!["$and", "$or", "$nor"]), vec(inner.clone(), 0..3))
                .prop_map(|(operator, list)| map([(operator, Tree::List(list))])),
            inner.clone().prop_map(|inner| map([("$not", inner)])),
            (select(FIELDS.to_vec()), any_condition(), inner.clone()).prop_map(
                |(field, condition, inner)| map([
                    (field, condition),
                    ("$or", Tree::List(vec![inner]))
                ])
            ),
        ]
    })
    .boxed()
}

/// A selector on the fields that are not in the body.
pub(super) fn any_conjunction() -> impl Strategy<Value = Tree> {
    let field = select(vec!["_id", "_id", "type"]);
    let id = prop_oneof![select(IDS.to_vec()).prop_map(text), any_tree()];
    let operator = select(POSITIVE.to_vec());
    let test = prop_oneof![
        6 => (operator, id.clone()),
        2 => (Just("$in"), vec(id, 0..4).prop_map(Tree::List)),
        1 => (Just("$beginsWith"), select(IDS.to_vec()).prop_map(text)),
    ];
    let tests = vec(test, 1..3).prop_map(|tests| {
        let and = tests.into_iter().map(|(operator, argument)| map([(operator, argument)]));
        map([("$and", Tree::List(and.collect()))])
    });
    vec((field, tests), 1..4).prop_map(|fields| {
        let fields = fields.into_iter().map(|(field, tests)| map([(field, tests)]));
        map([("$and", Tree::List(fields.collect()))])
    })
}

#[derive(Debug, Clone)]
pub(super) struct Document {
    pub id: &'static str,
    pub is_deleted: bool,
    pub body: Tree,
}

pub(super) fn any_document() -> impl Strategy<Value = Document> {
    (select(IDS.to_vec()), any::<bool>(), any_body()).prop_map(|(id, is_deleted, body)| Document {
        id,
        is_deleted,
        body,
    })
}

impl Document {
    pub(super) fn is_matched_by(&self, selector: &Selector, seed: u64) -> bool {
        let body = spell(&self.body, seed);
        selector.matches(&Subject {
            id: self.id,
            revision: "1-a",
            is_deleted: self.is_deleted,
            body: Node::root(&body),
        })
    }

    /// The document with all its fields.
    pub(super) fn whole(&self) -> Tree {
        let Tree::Map(members) = &self.body else { unreachable!() };
        let mut all = vec![(points("_id"), text(self.id)), (points("_rev"), text("1-a"))];
        if self.is_deleted {
            all.push((points("_deleted"), Tree::Boolean(true)));
        }
        all.extend(members.clone());
        Tree::Map(all)
    }

    /// Its type as text; `None` if the field is neither text nor absent, so that it decides nothing.
    pub(super) fn kind(&self) -> Option<Option<String>> {
        let Tree::Map(members) = &self.body else { unreachable!() };
        match members.iter().find(|member| member.0 == points("type")) {
            None => Some(None),
            Some((_, Tree::Text(text))) => {
                text.iter().map(|point| char::from_u32(*point)).collect::<Option<_>>().map(Some)
            }
            Some(_) => None,
        }
    }
}

/// Values with names of operators in all positions.
pub(super) fn any_babble() -> impl Strategy<Value = Tree> {
    let names = [&RELATIONS[..], &OTHERS, &FIELDS, &["", ".", "a..b", "\\", "$text", "$"]].concat();
    any_tree().prop_recursive(4, 24, 4, move |inner| {
        let member = (select(names.clone()).prop_map(String::from), inner.clone());
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Tree::List),
            3 => vec(member, 0..3).prop_map(object),
        ]
    })
}
