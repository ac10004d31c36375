//! Negations in queries, as in CouchDB, and in filters of changes.

use feedsync_formats::json::{Node, check};

use super::super::{IdRange, Selector, Subject};

fn matches(selector: &Selector, body: &str) -> bool {
    check(body, 64).unwrap();
    let body = Node::root(body);
    selector.matches(&Subject { id: "id", revision: "1-a", is_deleted: false, body })
}

fn query(selector: &str) -> Selector {
    Selector::parse(Node::root(selector)).unwrap()
}

fn filter(selector: &str) -> Selector {
    Selector::parse_filter(Node::root(selector)).unwrap()
}

#[test]
fn a_missing_field_fails_the_negations_of_a_query() {
    for (selector, other) in [
        (r#"{"a":{"$ne":1}}"#, "null"),
        (r#"{"$not":{"a":1}}"#, "2"),
        (r#"{"a":{"$not":{"$eq":1}}}"#, "2"),
        (r#"{"$nor":[{"a":1}]}"#, "[]"),
        (r#"{"a":{"$nin":[1]}}"#, "[2]"),
        (r#"{"a":{"$nin":[]}}"#, "1"),
        (r#"{"$not":{"a":{"$in":[1]}}}"#, "2"),
        (r#"{"a":{"$not":{"$gt":1}}}"#, "1"),
        (r#"{"a":{"$not":{"$regex":"x"}}}"#, "1"),
        (r#"{"a":{"$not":{"$elemMatch":{"$gt":1}}}}"#, "[]"),
        (r#"{"a":{"$not":{"$allMatch":{"$gt":1}}}}"#, "[]"),
        (r#"{"a":{"$not":{"$keyMapMatch":{"$gt":"x"}}}}"#, "{}"),
        (r#"{"$not":{"a":{"$mod":[2,1]}}}"#, "1.5"),
        (r#"{"$nor":[{"a":{"$type":"string"}}]}"#, "1"),
        (r#"{"a":{"$not":{"$size":1}}}"#, "[]"),
        (r#"{"a":{"$not":{"$all":[1]}}}"#, "1"),
        (r#"{"a":{"$not":{"$beginsWith":"x"}}}"#, "\"y\""),
        (r#"{"$not":{"a":{}}}"#, "{\"b\":1}"),
    ] {
        let with = format!("{{\"a\":{other}}}");
        assert!(matches(&query(selector), &with), "{selector}");
        assert!(matches(&filter(selector), &with), "{selector}");
        assert!(!matches(&query(selector), "{\"b\":1}"), "{selector}");
        assert!(matches(&filter(selector), "{\"b\":1}"), "{selector}");
    }
}

#[test]
fn a_missing_field_passes_a_negation_that_allows_it() {
    for selector in [
        r#"{"a":{"$exists":false}}"#,
        r#"{"$not":{"a":{"$exists":true}}}"#,
        r#"{"a":{"$not":{"$exists":true,"$eq":0}}}"#,
        r#"{"$nor":[{"a":{"$exists":true}}]}"#,
        r#"{"$or":[{"a":{"$ne":1}},{"a":{"$exists":false}}]}"#,
        r#"{"a":{"$and":[]}}"#,
        r#"{"a":{"$or":[]}}"#,
        r#"{"a":{"$nor":[]}}"#,
    ] {
        assert!(matches(&query(selector), "{}"), "{selector}");
    }
}

/// A path that leads through a value without members is no missing field.
#[test]
fn a_bad_path_fails_every_condition_of_a_query() {
    let missing = r#"{"a.b":{"$exists":false}}"#;
    let not_there = r#"{"$not":{"a.b":{"$exists":true}}}"#;
    for (body, is_missing) in [
        ("{}", true),
        (r#"{"a":{}}"#, true),
        (r#"{"a":{"c":1}}"#, true),
        (r#"{"a":{"b":null}}"#, false),
        (r#"{"a":1}"#, false),
        (r#"{"a":null}"#, false),
        (r#"{"a":"b"}"#, false),
        (r#"{"a":[]}"#, false),
        (r#"{"a":[{"b":1}]}"#, false),
    ] {
        assert_eq!(matches(&query(missing), body), is_missing, "{body}");
        assert_eq!(matches(&query(not_there), body), is_missing, "{body}");
        assert!(matches(&filter(missing), body) || body.contains("null}}"), "{body}");
    }
    for (selector, body, expected) in [
        (r#"{"a.0":{"$exists":false}}"#, r#"{"a":[]}"#, false),
        (r#"{"a.0":{"$exists":false}}"#, r#"{"a":{}}"#, true),
        (r#"{"a.0.b":{"$exists":false}}"#, r#"{"a":[{}]}"#, true),
        (r#"{"a.b.c":{"$exists":false}}"#, r#"{"a":{}}"#, true),
        (r#"{"a.b.c":{"$exists":false}}"#, r#"{"a":1}"#, false),
        (r#"{"_id.b":{"$exists":false}}"#, "{}", false),
        (r#"{"_rev.b":{"$exists":false}}"#, "{}", false),
        (r#"{"_deleted.b":{"$exists":false}}"#, "{}", true),
    ] {
        assert_eq!(matches(&query(selector), body), expected, "{selector} {body}");
        assert!(matches(&filter(selector), body), "{selector} {body}");
    }
}

/// In CouchDB a negation inside an element does not move.
#[test]
fn not_of_an_element_matches_elements_without_the_field() {
    for (selector, expected) in [
        (r#"{"a":{"$elemMatch":{"$not":{"b":1}}}}"#, true),
        (r#"{"a":{"$elemMatch":{"b":{"$not":{"$eq":1}}}}}"#, true),
        (r#"{"a":{"$elemMatch":{"$nor":[{"b":1}]}}}"#, true),
        (r#"{"a":{"$elemMatch":{"b":{"$ne":1}}}}"#, false),
        (r#"{"a":{"$allMatch":{"b":{"$nin":[1]}}}}"#, false),
        (r#"{"a":{"$elemMatch":{"b":{"$exists":false}}}}"#, true),
        (r#"{"a":{"$not":{"$elemMatch":{"$not":{"b":1}}}}}"#, false),
    ] {
        assert_eq!(matches(&query(selector), r#"{"a":[{"c":1}]}"#), expected, "{selector}");
    }
}

#[test]
fn not_of_everything_matches_nothing() {
    for selector in [
        r#"{"$not":{}}"#,
        r#"{"$not":{"$and":[]}}"#,
        r#"{"a":{"$not":{"$or":[]}}}"#,
        r#"{"$nor":[{}]}"#,
        r#"{"$not":{"$default":{"$text":"word"}}}"#,
    ] {
        assert!(!matches(&query(selector), "{\"a\":1}"), "{selector}");
        assert!(!matches(&query(&query(selector).normalized()), "{\"a\":1}"), "{selector}");
    }
}

#[test]
fn the_normal_form_of_a_query_is_couchdbs() {
    for (selector, expected) in [
        (r#"{"$not":{"a":{"$gt":1}}}"#, r#"{"a":{"$lte":1}}"#),
        (r#"{"$not":{"a":{"$gte":1}}}"#, r#"{"a":{"$lt":1}}"#),
        (r#"{"a":{"$not":{"$lt":1}}}"#, r#"{"a":{"$gte":1}}"#),
        (r#"{"a":{"$not":{"$lte":1}}}"#, r#"{"a":{"$gt":1}}"#),
        (r#"{"$not":{"a":1}}"#, r#"{"a":{"$ne":1}}"#),
        (r#"{"$not":{"a":{"$ne":1}}}"#, r#"{"a":{"$eq":1}}"#),
        (r#"{"$not":{"a":{"$in":[1]}}}"#, r#"{"a":{"$nin":[1]}}"#),
        (r#"{"$not":{"a":{"$nin":[1]}}}"#, r#"{"a":{"$in":[1]}}"#),
        (r#"{"$not":{"a":{"$exists":true}}}"#, r#"{"a":{"$exists":false}}"#),
        (r#"{"$not":{"a":{"$exists":false}}}"#, r#"{"a":{"$exists":true}}"#),
        (r#"{"$not":{"$not":{"a":1}}}"#, r#"{"a":{"$eq":1}}"#),
        (r#"{"a":{"$not":{"$not":{"$size":1}}}}"#, r#"{"a":{"$size":1}}"#),
        (r#"{"$not":{"a":{"b":{"$regex":"x"}}}}"#, r#"{"a.b":{"$not":{"$regex":"x"}}}"#),
        (r#"{"$not":{"a":1,"b":{"$gt":2}}}"#, r#"{"$or":[{"a":{"$ne":1}},{"b":{"$lte":2}}]}"#),
        (
            r#"{"$not":{"$or":[{"a":1},{"b":{"$gt":2}}]}}"#,
            r#"{"$and":[{"a":{"$ne":1}},{"b":{"$lte":2}}]}"#,
        ),
        (
            r#"{"$nor":[{"a":1},{"$nor":[{"b":2}]}]}"#,
            r#"{"$and":[{"a":{"$ne":1}},{"$or":[{"b":{"$eq":2}}]}]}"#,
        ),
        (
            r#"{"a":{"$not":{"$elemMatch":{"$not":{"b":{"$not":{"$eq":1}}}}}}}"#,
            r#"{"a":{"$not":{"$elemMatch":{"$not":{"$not":{"b":{"$eq":1}}}}}}}"#,
        ),
        (r#"{"a":{"b":{}}}"#, r#"{"a.b":{"$eq":{}}}"#),
        (r#"{"$not":{"a":{}}}"#, r#"{"a":{"$ne":{}}}"#),
    ] {
        assert_eq!(query(selector).normalized(), expected, "{selector}");
        assert_eq!(query(expected).normalized(), expected);
    }
    let of_filter = filter(r#"{"a":{"$ne":1}}"#).normalized();
    assert_eq!(of_filter, r#"{"$not":{"a":{"$eq":1}}}"#);
}

#[test]
fn ids_have_a_range_below_a_negation() {
    let range = query(r#"{"$not":{"_id":{"$lt":"b"}}}"#).ids();
    assert!(range.contains("b") && !range.contains("a"));
    assert_eq!(query(r#"{"_id":{"$ne":"b"}}"#).ids(), IdRange::ALL);
    assert_eq!(filter(r#"{"$not":{"_id":{"$lt":"b"}}}"#).ids(), IdRange::ALL);
}
