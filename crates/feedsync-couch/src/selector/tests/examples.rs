//! Selectors that clients send, and tests of single rules.

use std::ops::Bound;

use feedsync_formats::json::{Node, check};

use crate::sort::SortField;

use super::super::{IdRange, MAX_BYTES, MAX_CONDITIONS, Selector, SelectorError, Subject};

fn read(selector: &str) -> Result<Selector, SelectorError> {
    check(selector, 64).unwrap();
    Selector::parse(Node::root(selector))
}

fn matches(selector: &str, body: &str) -> bool {
    let selector = read(selector).unwrap();
    check(body, 64).unwrap();
    let body = Node::root(body);
    selector.matches(&Subject { id: "id", revision: "1-a", is_deleted: false, body })
}

/// All documents except chunks, including tombstones without fields (CL32); the type alone decides.
#[test]
fn changes_of_all_but_chunks() {
    let selector = Node::root("{\"type\":{\"$ne\":\"leaf\"}}");
    let selector = Selector::parse_filter(selector).unwrap();
    let asked = |is_deleted, body| {
        let body = Node::root(body);
        selector.matches(&Subject { id: "h:1", revision: "1-a", is_deleted, body })
    };
    assert!(!asked(false, "{\"type\":\"leaf\",\"data\":\"x\"}"));
    assert!(!asked(true, "{\"type\":\"leaf\"}"));
    assert!(asked(false, "{\"type\":\"plain\",\"children\":[]}"));
    assert!(asked(false, "{\"type\":null}"));
    assert!(asked(true, "{}"));
    assert_eq!(selector.decides_by_type(Some("leaf")), Some(false));
    assert_eq!(selector.decides_by_type(Some("plain")), Some(true));
    assert_eq!(selector.decides_by_type(None), Some(true));
    assert_eq!(selector.ids(), IdRange::ALL);
}

/// Chunks with ids below and above the range of chunk ids (CL40).
#[test]
fn chunks_that_are_badly_named() {
    let before = read("{\"_id\":{\"$lt\":\"h:\"},\"type\":\"leaf\"}").unwrap();
    let after = read("{\"_id\":{\"$gt\":\"h;\"},\"type\":\"leaf\"}").unwrap();
    let range = |lower, upper| IdRange { lower, upper };
    assert_eq!(before.ids(), range(Bound::Unbounded, Bound::Excluded("h:".into())));
    assert_eq!(after.ids(), range(Bound::Excluded("h;".into()), Bound::Unbounded));
    let chunks = read("{\"_id\":{\"$beginsWith\":\"h:\"}}").unwrap();
    let all_with = range(Bound::Included("h:".into()), Bound::Excluded("h;".into()));
    assert_eq!(chunks.ids(), all_with);
    assert_eq!(before.decides_by_type(Some("plain")), Some(false));
    assert_eq!(before.decides_by_type(None), Some(false));
    assert_eq!(before.decides_by_type(Some("leaf")), None);
    let found = |selector: &Selector, id| {
        let body = Node::root("{\"type\":\"leaf\"}");
        selector.matches(&Subject { id, revision: "1-a", is_deleted: false, body })
    };
    for (id, is_before, is_after) in [
        ("a", true, false),
        ("h:", false, false),
        ("h:+1", false, false),
        ("h;", false, false),
        ("i", false, true),
    ] {
        assert_eq!((found(&before, id), found(&after, id)), (is_before, is_after), "{id}");
    }
}

#[test]
fn single_rules() {
    for (selector, body, expected) in [
        ("{}", "{}", true),
        ("{\"a\":{}}", "{\"a\":{}}", true),
        ("{\"a\":{}}", "{\"a\":{\"b\":1}}", false),
        ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1.0,\"c\":2}}", true),
        ("{\"a\":9007199254740993}", "{\"a\":9007199254740992}", false),
        ("{\"a\":1e999999999}", "{\"a\":10e999999998}", true),
        ("{\"a.1\":2}", "{\"a\":[1,2]}", true),
        ("{\"a\\\\.b\":1}", "{\"a.b\":1}", true),
        ("{\"\\\\$a\":1}", "{\"$a\":1}", true),
        ("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"b\":1}}", true),
        ("{\"a\":{\"$in\":[[1]]}}", "{\"a\":[1]}", false),
        ("{\"a\":{\"$in\":[[1]]}}", "{\"a\":[[1]]}", true),
        ("{\"a\":{\"$all\":[]}}", "{\"a\":[]}", false),
        ("{\"a\":{\"$all\":[[1,2]]}}", "{\"a\":[1,2]}", true),
        ("{\"a\":{\"$allMatch\":{\"$gt\":0}}}", "{\"a\":[]}", false),
        (
            "{\"a\":{\"$elemMatch\":{\"b\":1,\"c\":2}}}",
            "{\"a\":[{\"b\":1},{\"b\":1,\"c\":2}]}",
            true,
        ),
        ("{\"a\":{\"$keyMapMatch\":{\"$eq\":\"é\"}}}", "{\"a\":{\"\\u00e9\":1}}", true),
        ("{\"$or\":[]}", "{}", true),
        ("{\"$nor\":[]}", "{}", true),
        ("{\"$and\":[{}]}", "{\"a\":1}", true),
        ("{\"$default\":{\"$text\":\"word\"}}", "{}", true),
        ("{\"a\":{\"$regex\":\"^h[0-9]+$\"}}", "{\"a\":\"\\u006812\"}", true),
        ("{\"a\":{\"$regex\":\"(?i)LE\"}}", "{\"a\":\"leaf\"}", true),
        ("{\"a\":{\"$regex\":\"^.é..$\"}}", "{\"a\":\"xéé\"}", true),
        ("{\"a\":{\"$regex\":\"1\"}}", "{\"a\":1}", false),
        (
            "{\"_id\":{\"$regex\":\"^i\"},\"_rev\":\"1-a\",\"_deleted\":{\"$exists\":false}}",
            "{}",
            true,
        ),
    ] {
        assert_eq!(matches(selector, body), expected, "{selector} {body}");
    }
}

#[test]
fn operators_treat_arrays_and_objects_as_in_couchdb() {
    for (condition, value, expected) in [
        ("{}", "{}", true),
        ("{}", "[]", false),
        ("{}", "{\"b\":1}", false),
        ("{\"b\":{}}", "{\"b\":{}}", true),
        ("{\"b\":{}}", "{\"b\":{\"c\":1}}", false),
        ("{\"b\":{}}", "{}", false),
        ("{\"$in\":[]}", "0", false),
        ("{\"$in\":[7,{\"b\":2}]}", "[0,7]", true),
        ("{\"$in\":[7,{\"b\":2}]}", "[0,{\"b\":2}]", true),
        ("{\"$in\":[{\"b\":2}]}", "{\"b\":2,\"c\":3}", false),
        ("{\"$in\":[[[1],2]]}", "[[1],2]", false),
        ("{\"$in\":[[[1],2]]}", "[0,[[1],2]]", true),
        ("{\"$nin\":[[[1],2]]}", "[[1],2]", true),
        ("{\"$nin\":[7]}", "[0,7]", false),
        ("{\"$nin\":[]}", "0", true),
        ("{\"$all\":[]}", "[7]", false),
        ("{\"$all\":[1,2]}", "[2,0,1]", true),
        ("{\"$all\":[1,2]}", "[2]", false),
        ("{\"$all\":[[1,2]]}", "[2,1]", false),
        ("{\"$all\":[[1,2]]}", "[5,[1,2]]", true),
        ("{\"$all\":[\"x\"]}", "\"x\"", false),
        ("{\"$all\":[{\"b\":1}]}", "[{\"b\":1,\"c\":2}]", false),
        ("{\"$elemMatch\":{\"$eq\":0}}", "[]", false),
        ("{\"$elemMatch\":{\"$eq\":0}}", "0", false),
        ("{\"$elemMatch\":{\"$ne\":0}}", "[0,1]", true),
        ("{\"$elemMatch\":{}}", "[1,{}]", true),
        ("{\"$allMatch\":{\"$eq\":0}}", "[0,1]", false),
        ("{\"$allMatch\":{\"$eq\":0}}", "0", false),
        ("{\"$not\":{\"$allMatch\":{\"$eq\":0}}}", "[]", true),
        ("{\"$keyMapMatch\":{\"$regex\":\"^x\"}}", "{\"x\":1,\"y\":2}", true),
        ("{\"$keyMapMatch\":{\"$regex\":\"^x\"}}", "{\"y\":2}", false),
        ("{\"$keyMapMatch\":{\"$gt\":null}}", "{}", false),
        ("{\"$keyMapMatch\":{\"$gt\":null}}", "[\"a\"]", false),
        ("{\"$size\":3}", "\"abc\"", false),
        ("{\"$size\":1}", "{\"b\":1}", false),
        ("{\"$mod\":[5,1]}", "6", true),
        ("{\"$mod\":[5,1]}", "6.0", false),
        ("{\"$mod\":[5,1]}", "\"6\"", false),
        ("{\"$mod\":[2,-1]}", "-3", true),
        ("{\"$type\":\"object\"}", "[]", false),
        ("{\"$type\":\"array\"}", "{}", false),
        ("{\"$type\":\"null\"}", "null", true),
        ("{\"$type\":\"date\"}", "\"2020\"", false),
        ("{\"$beginsWith\":\"note\"}", "\"notes\"", true),
        ("{\"$beginsWith\":\"note\"}", "[\"notes\"]", false),
        ("{\"$regex\":\"7\"}", "7", false),
        ("{\"$regex\":\"7\"}", "[\"7\"]", false),
        ("{\"$exists\":true}", "null", true),
    ] {
        let (selector, body) = (format!("{{\"a\":{condition}}}"), format!("{{\"a\":{value}}}"));
        assert_eq!(matches(&selector, &body), expected, "{selector} {body}");
        let negation = format!("{{\"a\":{{\"$not\":{condition}}}}}");
        let may_be_missing = condition == "{\"b\":{}}" && value == "{}";
        assert_eq!(matches(&negation, &body), !expected && !may_be_missing, "{negation} {body}");
    }
}

/// The root collation orders strings and names, except ids and in `$all`.
#[test]
fn strings_compare_as_in_couchdb() {
    for (selector, body, expected) in [
        ("{\"a\":{\"$gt\":\"B\"}}", "{\"a\":\"a\"}", false),
        ("{\"a\":{\"$gt\":\"a\"}}", "{\"a\":\"B\"}", true),
        ("{\"a\":{\"$gte\":\"a\",\"$lte\":\"a\u{fff0}\"}}", "{\"a\":\"AZ\"}", true),
        ("{\"a\":\"\u{e4}\"}", "{\"a\":\"a\u{308}\"}", true),
        ("{\"a\":{\"$in\":[\"\u{e4}\"]}}", "{\"a\":[\"a\u{308}\"]}", true),
        ("{\"a\":{\"$all\":[\"\u{e4}\"]}}", "{\"a\":[\"a\u{308}\"]}", false),
        ("{\"a\":{\"$all\":[[\"\u{e4}\"]]}}", "{\"a\":[\"a\u{308}\"]}", false),
        ("{\"a\":{\"$eq\":{\"b\":1,\"c\":2}}}", "{\"a\":{\"b\":1,\"c\":2}}", true),
        ("{\"a\":{\"$eq\":{\"b\":1,\"c\":2}}}", "{\"a\":{\"c\":2,\"b\":1}}", false),
        ("{\"_rev\":{\"$gt\":\"1-A\"}}", "{}", false),
        ("{\"_id\":{\"$gt\":\"Z\"}}", "{}", true),
        ("{\"_id\":{\"$gt\":{}}}", "{}", true),
        ("{\"_id\":{\"$lt\":[]}}", "{}", false),
        ("{\"_rev\":{\"$lt\":[]}}", "{}", true),
        ("{\"_id\":{\"$gt\":\"ID\",\"$lt\":\"iD\"}}", "{}", false),
        ("{\"_id\":{\"$in\":[\"id\\u0000\"]}}", "{}", false),
    ] {
        assert_eq!(matches(selector, body), expected, "{selector} {body}");
    }
    let by_type = read("{\"type\":{\"$gt\":\"B\"}}").unwrap();
    assert_eq!(by_type.decides_by_type(Some("a")), Some(false));
}

#[test]
fn required_fields_are_recognized() {
    for (selector, field, expected) in [
        (r#"{"a":1}"#, "a", true),
        (r#"{"a":1}"#, "a.b", false),
        (r#"{"a":1}"#, "b", false),
        (r#"{"a.b":1}"#, "a", true),
        (r#"{"a":{"b":{"$lt":1}}}"#, "a.b", true),
        (r#"{"a":{"$exists":true}}"#, "a", true),
        (r#"{"a":{"$exists":false}}"#, "a", false),
        (r#"{"$not":{"a":{"$exists":false}}}"#, "a", true),
        (r#"{"a":{"$exists":false,"$ne":1}}"#, "a", true),
        (r#"{"a":{"$ne":1}}"#, "a", true),
        (r#"{"a":{"$nin":[1]}}"#, "a", true),
        (r#"{"a":{"$not":{"$lt":1}}}"#, "a", true),
        (r#"{"a":{"$not":{"$size":1}}}"#, "a", true),
        (r#"{"a":{"$not":{"$elemMatch":{"b":1}}}}"#, "a", true),
        (r#"{"$not":{"a":1,"b":1}}"#, "a", false),
        (r#"{"$or":[{"a":1},{"a":2,"b":3}]}"#, "a", true),
        (r#"{"$or":[{"a":1},{"b":3}]}"#, "a", false),
        (r#"{"$nor":[{"a":{"$exists":false}},{"b":1}]}"#, "a", true),
        ("{}", "a", false),
    ] {
        let required = read(selector).unwrap().requires(&SortField::of(field).unwrap());
        assert_eq!(required, expected, "{selector} {field}");
    }
}

#[test]
fn malformed_selectors_are_rejected_with_their_fault() {
    for (selector, expected) in [
        ("[]", "a selector must be an object"),
        ("{\"a\":{\"$x\":1}}", "a: invalid operator: $x"),
        ("{\"$where\":1}", "invalid operator: $where"),
        (
            "{\"a\":{\"b\":[],\"c.d\":{\"$and\":{}}}}",
            "a.c.d: bad argument for operator $and: expected an array of selectors",
        ),
        ("{\"$or\":[1]}", "bad argument for operator $or: expected an array of selectors"),
        ("{\"$eq\":1}", "$eq must be inside a field"),
        ("{\"$and\":[{\"$elemMatch\":{}}]}", "$elemMatch must be inside a field"),
        ("{\"a\":{\"$not\":1}}", "a: bad argument for operator $not: expected a selector"),
        (
            "{\"a\":{\"$mod\":[0,1]}}",
            "a: bad argument for operator $mod: expected two integers, of which the first is not zero",
        ),
        ("{\"a\":{\"$size\":-1}}", "a: bad argument for operator $size: expected a length"),
        ("{\"a\":{\"$exists\":1}}", "a: bad argument for operator $exists: expected true or false"),
        ("{\"a\":{\"$default\":{\"$text\":\"\"}}}", "a: invalid operator: $default"),
        ("{\"a..b\":1}", "invalid field name: \"a..b\""),
        ("{\"a\":{\"\":1}}", "invalid field name: \"a.\""),
        ("{\"\\ud800\":1}", "invalid field name: \"\u{fffd}\""),
    ] {
        assert_eq!(read(selector).unwrap_err().to_string(), expected, "{selector}");
    }
    for pattern in ["(", "(a)\\\\1", "(?=a)", "((((a{99}){99}){99}){99}){99}", "\\ud800"] {
        let selector = format!("{{\"a\":{{\"$regex\":\"{pattern}\"}}}}");
        let error = read(&selector).unwrap_err().to_string();
        assert!(error.starts_with("a: bad argument for operator $regex: "), "{error}");
    }
}

#[test]
fn a_selector_is_bounded() {
    let many = |part: &str, times| format!("{{\"$and\":[{}]}}", vec![part; times].join(","));
    assert!(read(&many("{}", MAX_CONDITIONS - 1)).is_ok());
    assert_eq!(read(&many("{}", MAX_CONDITIONS)).unwrap_err(), SelectorError::TooManyConditions);
    let patterns = |times| many("{\"a\":{\"$regex\":\"x\"}}", times);
    assert!(read(&patterns(8)).is_ok());
    assert!(matches!(read(&patterns(9)), Err(SelectorError::TooManyPatterns { .. })));
    let deep = |levels| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    assert!(read(&deep(32)).is_ok());
    assert_eq!(read(&deep(33)).unwrap_err(), SelectorError::TooDeep);
    let long = |bytes| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
    assert!(read(&long(MAX_BYTES)).is_ok());
    assert_eq!(read(&long(MAX_BYTES + 1)).unwrap_err(), SelectorError::TooLong);
    let pattern = format!("{{\"a\":{{\"$regex\":\"{}\"}}}}", "x".repeat(1_001));
    assert!(matches!(read(&pattern), Err(SelectorError::BadArgument { operator: "$regex", .. })));
}

#[test]
fn a_document_may_nest_deeper_than_any_selector() {
    let deep = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    let body = deep(1_000_000);
    let selector = read(&deep(31)).unwrap();
    let body = Node::root(&body);
    assert!(!selector.matches(&Subject { id: "", revision: "", is_deleted: false, body }));
}
