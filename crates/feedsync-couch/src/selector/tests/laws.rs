//! Properties of all selectors and all documents.

use std::collections::BTreeSet;

use feedsync_formats::json::{Node, check};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Selector, Subject};
use super::reference;
use crate::collation::tests::model::{
    Tree, any_body, any_number, any_text, any_tree, map, points, spell, text,
};
use crate::sort::SortField;

const RELATIONS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];
const POSITIVE: [&str; 5] = ["$eq", "$gt", "$gte", "$lt", "$lte"];
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
const FIELDS: [&str; 13] = [
    "a", "b", "type", "type", "_id", "_rev", "_deleted", "a.b", "a.0", "b.a.b", "a\\.b", "ü",
    "\u{fffd}",
];
const IDS: [&str; 8] = ["", "a", "h", "h:", "h:1", "h;", "é\n", "😀"];

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
fn any_condition() -> BoxedStrategy<Tree> {
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

fn any_selector() -> BoxedStrategy<Tree> {
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
fn any_conjunction() -> impl Strategy<Value = Tree> {
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
struct Document {
    id: &'static str,
    is_deleted: bool,
    body: Tree,
}

fn any_document() -> impl Strategy<Value = Document> {
    (select(IDS.to_vec()), any::<bool>(), any_body()).prop_map(|(id, is_deleted, body)| Document {
        id,
        is_deleted,
        body,
    })
}

impl Document {
    fn asked(&self, selector: &Selector, seed: u64) -> bool {
        let body = spell(&self.body, seed);
        selector.matches(&Subject {
            id: self.id,
            revision: "1-a",
            is_deleted: self.is_deleted,
            body: Node::root(&body),
        })
    }

    /// The document with all its fields.
    fn whole(&self) -> Tree {
        let Tree::Map(members) = &self.body else { unreachable!() };
        let mut all = vec![(points("_id"), text(self.id)), (points("_rev"), text("1-a"))];
        if self.is_deleted {
            all.push((points("_deleted"), Tree::Boolean(true)));
        }
        all.extend(members.clone());
        Tree::Map(all)
    }

    /// Its type as text; `None` if the field is neither text nor absent, so that it decides nothing.
    fn kind(&self) -> Option<Option<String>> {
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

fn read(selector: &Tree, seed: u64) -> Selector {
    let written = spell(selector, seed);
    check(&written, 64).unwrap();
    match Selector::parse(Node::root(&written)) {
        Ok(selector) => selector,
        Err(error) => panic!("{error}: {written}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn selector_matches_like_the_reference(
        selector in any_selector(),
        documents in vec(any_document(), 1..6),
        seed: u64,
    ) {
        let parsed = read(&selector, seed);
        for document in &documents {
            let expected = reference::matches(&selector, &document.whole());
            prop_assert_eq!(parsed.asked_about(document, seed), expected, "{:?}", document);
        }
    }

    #[test]
    fn the_normal_form_matches_the_same_documents(
        selector in any_selector(),
        documents in vec(any_document(), 1..6),
        seed: u64,
    ) {
        let parsed = read(&selector, seed);
        let normal = parsed.normalized();
        check(&normal, 64).unwrap();
        let again = Selector::parse(Node::root(&normal)).map_err(|error| {
            TestCaseError::fail(format!("{error}: {normal}"))
        })?;
        prop_assert_eq!(again.normalized(), normal);
        for document in &documents {
            prop_assert_eq!(document.asked(&again, seed), document.asked(&parsed, seed));
        }
    }

    #[test]
    fn a_required_field_is_in_all_matching_documents(
        selector in prop_oneof![any_selector(), any_conjunction()],
        field in select(FIELDS.to_vec()),
        document in any_document(),
        seed: u64,
    ) {
        let parsed = read(&selector, seed);
        let required = SortField::of(field).unwrap();
        let exists = read(&map([(field, map([("$exists", Tree::Boolean(true))]))]), seed);
        if parsed.requires(&required) && document.asked(&parsed, seed) {
            prop_assert!(document.asked(&exists, seed), "{}", field);
        }
    }

    #[test]
    fn a_range_of_ids_leaves_no_document_out(
        selector in prop_oneof![any_selector(), any_conjunction()],
        document in any_document(),
        seed: u64,
    ) {
        let parsed = read(&selector, seed);
        let range = parsed.ids();
        let all: BTreeSet<String> = IDS.map(String::from).into();
        // `BTreeMap::range` panics for a range that ends before it begins.
        let within: Vec<_> = all.range::<str, _>(range.bounds()).collect();
        for id in IDS {
            let document = Document { id, ..document.clone() };
            prop_assert_eq!(range.contains(id), within.iter().any(|other| *other == id));
            prop_assert!(!parsed.asked_about(&document, seed) || range.contains(id), "{}", id);
        }
        prop_assert!(!range.is_empty() || within.is_empty());
    }

    #[test]
    fn a_range_of_ids_is_tight_for_relations(
        relations in vec((select(POSITIVE.to_vec()), select(IDS.to_vec())), 0..5),
        seed: u64,
    ) {
        let tests = relations.iter().map(|(relation, id)| map([(*relation, text(id))]));
        let and = tests.map(|test| map([("_id", test)]));
        let parsed = read(&map([("$and", Tree::List(and.collect()))]), seed);
        for id in IDS {
            let document = Document { id, is_deleted: false, body: map([]) };
            let matches = parsed.asked_about(&document, seed);
            prop_assert_eq!(matches, parsed.ids().contains(id), "{}", id);
        }
    }

    #[test]
    fn decision_by_type_equals_full_evaluation(
        selector in prop_oneof![any_selector(), any_conjunction()],
        documents in vec(any_document(), 1..6),
        seed: u64,
    ) {
        let parsed = read(&selector, seed);
        for document in &documents {
            let decided = document.kind().and_then(|kind| parsed.decides_by_type(kind.as_deref()));
            if let Some(decided) = decided {
                prop_assert_eq!(parsed.asked_about(document, seed), decided, "{:?}", document);
            }
        }
    }

    #[test]
    fn selectors_on_the_type_only_are_decided_by_type(
        condition in any_condition(),
        kind in select(vec![None, Some("leaf"), Some("plain"), Some("")]),
        seed: u64,
    ) {
        let parsed = read(&map([("type", condition)]), seed);
        prop_assert!(parsed.decides_by_type(kind).is_some());
    }

    #[test]
    fn a_negation_matches_what_is_not_matched(
        selector in any_selector(),
        document in any_document(),
        seed: u64,
    ) {
        let not = read(&map([("$not", selector.clone())]), seed);
        let nor = read(&map([("$nor", Tree::List(vec![selector.clone()]))]), seed);
        let matches = read(&selector, seed).asked_about(&document, seed);
        prop_assert_eq!(not.asked_about(&document, seed), !matches);
        prop_assert_eq!(nor.asked_about(&document, seed), !matches);
    }

    #[test]
    fn any_json_is_a_selector_or_an_error(
        selector in any_babble(),
        document in any_document(),
        (number, power) in any_number(),
        seed: u64,
    ) {
        let written = spell(&selector, seed);
        check(&written, 64).unwrap();
        let other = spell(&Tree::Number(number, power), seed);
        prop_assert!(Selector::parse(Node::root(&other)).is_err());
        match Selector::parse(Node::root(&written)) {
            Ok(selector) => {
                let matches = selector.asked_about(&document, seed);
                prop_assert!(!matches || selector.ids().contains(document.id));
                let kind = document.kind();
                let decided = kind.and_then(|kind| selector.decides_by_type(kind.as_deref()));
                prop_assert!(decided.is_none_or(|decided| decided == matches));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Values with names of operators in all positions.
fn any_babble() -> impl Strategy<Value = Tree> {
    let names = [&RELATIONS[..], &OTHERS, &FIELDS, &["", ".", "a..b", "\\", "$text", "$"]].concat();
    any_tree().prop_recursive(4, 24, 4, move |inner| {
        let member = (select(names.clone()).prop_map(String::from), inner.clone());
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Tree::List),
            3 => vec(member, 0..3).prop_map(object),
        ]
    })
}

impl Selector {
    fn asked_about(&self, document: &Document, seed: u64) -> bool {
        document.asked(self, seed)
    }
}
