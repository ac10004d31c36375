use std::ops::Bound;

use super::*;
use crate::index::IndexDefinition;
use crate::json::quoted;
use crate::name::DocumentId;
use crate::plan::{KeyRange, Pages, plan};
use crate::selector::IdRange;

fn parse(more: &str) -> Result<FindRequest, Refusal> {
    FindRequest::parse(Node::root(&format!("{{\"selector\":{{\"a\":{{\"$gt\":1}}}}{more}}}")))
}

fn index(fields: &str) -> IndexDefinition {
    IndexDefinition::read(Node::root(&format!("{{\"index\":{{\"fields\":{fields}}}}}"))).unwrap()
}

/// The documents that a request with a bookmark reads.
fn pages(more: &str, position: &Position, indexes: &[IndexDefinition]) -> Result<Pages, Refusal> {
    let request = parse(&format!("{more},\"bookmark\":{}", quoted(&position.bookmark())))?;
    assert_eq!(request.position, *position);
    plan(&request, indexes)?.pages(&request)
}

#[test]
fn sort_orders_are_checked() {
    for (sort, is_descending) in [
        ("[]", false),
        (r#"["_id"]"#, false),
        (r#"[{"_id":"asc"}]"#, false),
        (r#"[{"_id":"desc"}]"#, true),
    ] {
        let found = parse(&format!(",\"sort\":{sort}")).unwrap();
        assert_eq!(found.sort.is_descending, is_descending, "{sort}");
    }
    for (sort, kind) in [
        ("1", RefusalKind::InvalidSort),
        (r#"{"_id":"asc"}"#, RefusalKind::InvalidSort),
        ("[1]", RefusalKind::InvalidSortField),
        ("[{}]", RefusalKind::InvalidSortField),
        (r#"[{"_id":"x"}]"#, RefusalKind::InvalidSortField),
        (r#"[{"_id":1}]"#, RefusalKind::InvalidSortField),
    ] {
        let refused = parse(&format!(",\"sort\":{sort}")).unwrap_err();
        assert_eq!(refused.kind, kind, "{sort}");
    }
}

#[test]
fn invalid_requests_return_couchdb_errors() {
    for (sent, error, reason) in [
        ("{}", "missing_required_key", "Missing required key: selector"),
        (r#"{"selector":1}"#, "invalid_selector_json", "Selector must be a JSON object, not: 1"),
        (
            r#"{"selector":{},"limit":-1}"#,
            "invalid_non_neg_integer",
            "-1 is not an integer greater than or equal to zero",
        ),
        (
            r#"{"selector":{},"skip":"1"}"#,
            "invalid_non_neg_integer",
            "\"1\" is not an integer greater than or equal to zero",
        ),
        (
            r#"{"selector":{},"r":0}"#,
            "invalid_pos_integer",
            "0 is not an integer greater than zero",
        ),
        (r#"{"selector":{},"conflicts":1}"#, "invalid_boolean", "Invalid boolean value: 1"),
        (r#"{"selector":{},"update":"x"}"#, "invalid_boolean", "Invalid boolean value: \"x\""),
        (
            r#"{"selector":{},"stale":true}"#,
            "invalid_boolean",
            "Invalid value of stale: true, expected \"ok\" or false",
        ),
        (r#"{"selector":{},"nothing":1}"#, "invalid_key", "Invalid key nothing for this request."),
        (
            r#"{"selector":{},"partition":"p"}"#,
            "bad_request",
            "partition is not supported: this database is not partitioned",
        ),
        (r#"{"selector":{},"bookmark":1}"#, "invalid_bookmark", "Invalid bookmark value: 1"),
        (r#"{"selector":{},"bookmark":"?"}"#, "invalid_bookmark", "Invalid bookmark value: \"?\""),
    ] {
        let refused = FindRequest::parse(Node::root(sent)).unwrap_err();
        assert_eq!((refused.kind.error(), &*refused.reason), (error, reason), "{sent}");
    }
}

#[test]
fn options_have_couchdbs_defaults() {
    let request = parse("").unwrap();
    assert_eq!((request.limit, request.skip, request.allow_fallback), (25, 0, true));
    assert!(!request.conflicts && !request.execution_stats);
    let usual = ReplicaOptions { r: 1, update: true, stable: false, stale: false };
    assert_eq!(request.replicas, usual);
    let more =
        r#","r":3,"update":false,"stable":true,"stale":"ok","partition":"","execution_stats":true"#;
    let request = parse(more).unwrap();
    let unusual = ReplicaOptions { r: 3, update: false, stable: true, stale: true };
    assert_eq!((request.replicas, request.execution_stats), (unusual, true));
    assert!(!parse(r#","stale":"false""#).unwrap().replicas.stale);
    for none in ["\"nil\"", "\"\"", "null"] {
        let found = parse(&format!(",\"bookmark\":{none}")).unwrap();
        assert_eq!(found.position, Position::Start, "{none}");
    }
}

#[test]
fn bookmark_continues_after_its_document() {
    let after = Position::AfterId("b/\u{e4}".into());
    let bound = || Bound::Excluded("b/\u{e4}".to_owned());
    let up = IdRange { lower: bound(), upper: Bound::Unbounded };
    assert_eq!(pages("", &after, &[]), Ok(Pages::ById(up)));
    let down = IdRange { lower: Bound::Unbounded, upper: bound() };
    assert_eq!(pages(r#","sort":[{"_id":"desc"}]"#, &after, &[]), Ok(Pages::ById(down)));
    assert_eq!(pages("", &Position::Start, &[]), Ok(Pages::ById(IdRange::ALL)));
    let outside = format!(
        "{{\"selector\":{{\"_id\":{{\"$lt\":\"b\"}}}},\"bookmark\":\"{}\"}}",
        after.bookmark()
    );
    let request = FindRequest::parse(Node::root(&outside)).unwrap();
    let found = plan(&request, &[]).unwrap().pages(&request);
    assert_eq!(found, Ok(Pages::ById(IdRange::none())));
}

#[test]
fn bookmark_continues_after_its_key() {
    let index = index(r#"["a"]"#);
    let id: DocumentId = "i".parse().unwrap();
    let key = crate::collation::key(Node::root("2"));
    let after = Position::after_key(&index, key.clone(), id.clone());
    let indexes = [index];
    let whole = plan(&parse("").unwrap(), &indexes).unwrap().range;
    let expected = Pages::ByKey { keys: whole, after: Some((key, id.clone())) };
    assert_eq!(pages("", &after, &indexes), Ok(expected));
    // The client changed the key.
    for outside in [Vec::new(), vec![0xff; 3], crate::collation::key(Node::root("1"))] {
        let after = Position::after_key(&indexes[0], outside, id.clone());
        let Ok(Pages::ByKey { keys, .. }) = pages("", &after, &indexes) else { panic!() };
        assert_eq!(keys, KeyRange::none());
    }
}

#[test]
fn a_bookmark_of_another_order_is_invalid() {
    let one = [index(r#"["a"]"#)];
    let other = [index(r#"["a","_id"]"#)];
    let id: DocumentId = "i".parse().unwrap();
    let by_key = Position::after_key(&one[0], vec![1], id);
    for (position, indexes) in
        [(&by_key, &[][..]), (&by_key, &other[..]), (&Position::AfterId("i".into()), &one[..])]
    {
        let refused = pages("", position, indexes).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::InvalidBookmark);
    }
    for bytes in ["", "Ag", "aQ/", "a_8", "awA", "awAAAAAAAAAA", "awAAAAAAAAAAAAVh"] {
        assert!(Position::parse(bytes).is_err(), "{bytes}");
    }
}
