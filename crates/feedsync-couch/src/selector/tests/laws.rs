//! Properties of all selectors and all documents.

use std::collections::BTreeSet;

use feedsync_formats::json::{Node, check};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::Selector;
use super::reference::{self, Meaning};
use super::strategies::{
    Document, FIELDS, IDS, POSITIVE, any_babble, any_condition, any_conjunction, any_document,
    any_selector,
};
use crate::collation::tests::model::{Tree, any_number, map, points, spell, text};
use crate::sort::SortField;

const MEANINGS: [Meaning; 2] = [Meaning::Query, Meaning::Filter];

fn any_meaning() -> impl Strategy<Value = Meaning> {
    select(MEANINGS.to_vec())
}

fn read(selector: &Tree, meaning: Meaning, seed: u64) -> Selector {
    let written = spell(selector, seed);
    check(&written, 64).unwrap();
    match meaning.parse(Node::root(&written)) {
        Ok(selector) => selector,
        Err(error) => panic!("{error}: {written}"),
    }
}

/// Whether the selector has an operator that tests elements or names.
fn looks_inside(selector: &Tree) -> bool {
    let inside = ["$elemMatch", "$allMatch", "$keyMapMatch"].map(points);
    match selector {
        Tree::Map(members) => {
            members.iter().any(|(name, value)| inside.contains(name) || looks_inside(value))
        }
        Tree::List(elements) => elements.iter().any(looks_inside),
        _ => false,
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
        for meaning in MEANINGS {
            let parsed = read(&selector, meaning, seed);
            for document in &documents {
                let expected = reference::matches(&selector, &document.whole(), meaning);
                prop_assert_eq!(
                    document.is_matched_by(&parsed, seed), expected, "{:?} {:?}", meaning, document
                );
            }
        }
    }

    #[test]
    fn the_normal_form_matches_the_same_documents(
        selector in any_selector(),
        meaning in any_meaning(),
        documents in vec(any_document(), 1..6),
        seed: u64,
    ) {
        let parsed = read(&selector, meaning, seed);
        let normal = parsed.normalized();
        check(&normal, 64).unwrap();
        let again = meaning.parse(Node::root(&normal)).map_err(|error| {
            TestCaseError::fail(format!("{error}: {normal}"))
        })?;
        prop_assert_eq!(again.normalized(), normal);
        for document in &documents {
            prop_assert_eq!(
                document.is_matched_by(&again, seed), document.is_matched_by(&parsed, seed)
            );
        }
    }

    #[test]
    fn a_required_field_is_in_all_matching_documents(
        selector in prop_oneof![any_selector(), any_conjunction()],
        meaning in any_meaning(),
        field in select(FIELDS.to_vec()),
        document in any_document(),
        seed: u64,
    ) {
        let parsed = read(&selector, meaning, seed);
        let required = SortField::of(field).unwrap();
        let exists = map([(field, map([("$exists", Tree::Boolean(true))]))]);
        if parsed.requires(&required) && document.is_matched_by(&parsed, seed) {
            prop_assert!(document.is_matched_by(&read(&exists, meaning, seed), seed), "{}", field);
        }
    }

    /// In a query, each test of a field but `{"$exists": false}` requires it.
    #[test]
    fn a_test_of_a_query_requires_its_field(
        condition in any_condition(),
        field in select(FIELDS.to_vec()),
        seed: u64,
    ) {
        let required = SortField::of(field).unwrap();
        let parsed = read(&map([(field, condition.clone())]), Meaning::Query, seed);
        let negated = read(&map([("$not", map([(field, condition)]))]), Meaning::Query, seed);
        for query in [parsed, negated] {
            let normal = query.normalized();
            let may_be_missing = ["\"$exists\":false", "\"$and\":[]"];
            if !may_be_missing.iter().any(|part| normal.contains(part)) {
                prop_assert!(query.requires(&required), "{}", normal);
            }
        }
    }

    #[test]
    fn a_range_of_ids_leaves_no_document_out(
        selector in prop_oneof![any_selector(), any_conjunction()],
        meaning in any_meaning(),
        document in any_document(),
        seed: u64,
    ) {
        let parsed = read(&selector, meaning, seed);
        let range = parsed.ids();
        let all: BTreeSet<String> = IDS.map(String::from).into();
        // `BTreeMap::range` panics for a range that ends before it begins.
        let within: Vec<_> = all.range::<str, _>(range.bounds()).collect();
        for id in IDS {
            let document = Document { id, ..document.clone() };
            prop_assert_eq!(range.contains(id), within.iter().any(|other| *other == id));
            prop_assert!(!document.is_matched_by(&parsed, seed) || range.contains(id), "{}", id);
        }
        prop_assert!(!range.is_empty() || within.is_empty());
    }

    #[test]
    fn a_range_of_ids_is_tight_for_relations(
        relations in vec((select(POSITIVE.to_vec()), select(IDS.to_vec())), 0..5),
        meaning in any_meaning(),
        seed: u64,
    ) {
        let tests = relations.iter().map(|(relation, id)| map([(*relation, text(id))]));
        let and = tests.map(|test| map([("_id", test)]));
        let parsed = read(&map([("$and", Tree::List(and.collect()))]), meaning, seed);
        for id in IDS {
            let document = Document { id, is_deleted: false, body: map([]) };
            let matches = document.is_matched_by(&parsed, seed);
            prop_assert_eq!(matches, parsed.ids().contains(id), "{}", id);
        }
    }

    #[test]
    fn decision_by_type_equals_full_evaluation(
        selector in prop_oneof![any_selector(), any_conjunction()],
        meaning in any_meaning(),
        documents in vec(any_document(), 1..6),
        seed: u64,
    ) {
        let parsed = read(&selector, meaning, seed);
        for document in &documents {
            let decided = document.kind().and_then(|kind| parsed.decides_by_type(kind.as_deref()));
            if let Some(decided) = decided {
                prop_assert_eq!(document.is_matched_by(&parsed, seed), decided, "{:?}", document);
            }
        }
    }

    #[test]
    fn selectors_on_the_type_only_are_decided_by_type(
        condition in any_condition(),
        meaning in any_meaning(),
        kind in select(vec![None, Some("leaf"), Some("plain"), Some("")]),
        seed: u64,
    ) {
        let parsed = read(&map([("type", condition)]), meaning, seed);
        prop_assert!(parsed.decides_by_type(kind).is_some());
    }

    #[test]
    fn a_negation_of_a_filter_matches_exactly_the_other_documents(
        selector in any_selector(),
        document in any_document(),
        seed: u64,
    ) {
        let not = map([("$not", selector.clone())]);
        let nor = map([("$nor", Tree::List(vec![selector.clone()]))]);
        let matched = |selector: &Tree| {
            document.is_matched_by(&read(selector, Meaning::Filter, seed), seed)
        };
        prop_assert_eq!(matched(&not), !matched(&selector));
        prop_assert_eq!(matched(&nor), !matched(&selector));
    }

    #[test]
    fn a_negation_of_a_query_matches_other_documents(
        selector in any_selector(),
        document in any_document(),
        seed: u64,
    ) {
        let not = map([("$not", selector.clone())]);
        let nor = map([("$nor", Tree::List(vec![selector.clone()]))]);
        let twice = map([("$not", not.clone())]);
        let matched = |selector: &Tree| {
            document.is_matched_by(&read(selector, Meaning::Query, seed), seed)
        };
        prop_assert!(!(matched(&not) && matched(&selector)));
        prop_assert_eq!(matched(&nor), matched(&not));
        prop_assert_eq!(matched(&twice), matched(&selector));
    }

    /// Inside elements a double negation of `$ne` would break this: there `$not` is the same in queries and filters.
    #[test]
    fn a_filter_passes_all_documents_that_the_same_query_matches(
        selector in any_selector(),
        document in any_document(),
        seed: u64,
    ) {
        let [query, filter] = MEANINGS.map(|meaning| read(&selector, meaning, seed));
        prop_assert!(
            looks_inside(&selector)
                || !document.is_matched_by(&query, seed)
                || document.is_matched_by(&filter, seed)
        );
    }

    #[test]
    fn any_json_is_a_selector_or_an_error(
        selector in any_babble(),
        meaning in any_meaning(),
        document in any_document(),
        (number, power) in any_number(),
        seed: u64,
    ) {
        let written = spell(&selector, seed);
        check(&written, 64).unwrap();
        let other = spell(&Tree::Number(number, power), seed);
        prop_assert!(meaning.parse(Node::root(&other)).is_err());
        match meaning.parse(Node::root(&written)) {
            Ok(selector) => {
                let matches = document.is_matched_by(&selector, seed);
                prop_assert!(!matches || selector.ids().contains(document.id));
                let kind = document.kind();
                let decided = kind.and_then(|kind| selector.decides_by_type(kind.as_deref()));
                prop_assert!(decided.is_none_or(|decided| decided == matches));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
