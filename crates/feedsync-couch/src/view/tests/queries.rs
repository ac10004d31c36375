use proptest::option;
use proptest::prelude::*;

use super::model::{Row, any_id, any_key, any_row, order};
use crate::json::{Json, quoted};
use crate::query::Parameters;
use crate::refusal::{Refusal, RefusalKind};
use crate::view::{Builtin, GroupLevel, PositionRange, Reduction, ViewQuery, ViewUpdate};

const COUNT: Option<&Reduction> = Some(&Reduction::Builtin(Builtin::Count));

fn read(query: &str, body: &str) -> Result<ViewQuery, Refusal> {
    let body = (!body.is_empty()).then(|| Json::read(body.as_bytes().to_vec()).unwrap());
    ViewQuery::read(&Parameters::read(query), body.as_ref().map(Json::root))
}

/// A range of a request.
#[derive(Debug)]
struct Requested {
    start: Option<String>,
    end: Option<String>,
    start_document: Option<String>,
    end_document: Option<String>,
    is_descending: bool,
    includes_end: bool,
}

impl Requested {
    /// The request with these bounds in its body.
    fn query(&self) -> ViewQuery {
        let mut members = vec![
            format!("\"descending\":{}", self.is_descending),
            format!("\"inclusive_end\":{}", self.includes_end),
        ];
        let json = [("startkey", &self.start), ("end_key", &self.end)];
        members.extend(
            json.iter()
                .filter_map(|(name, key)| Some(format!("{}:{}", quoted(name), key.as_ref()?))),
        );
        let texts =
            [("start_key_doc_id", &self.start_document), ("endkey_docid", &self.end_document)];
        members.extend(
            texts.iter().filter_map(|(name, id)| {
                Some(format!("{}:{}", quoted(name), quoted(id.as_ref()?)))
            }),
        );
        read("", &format!("{{{}}}", members.join(","))).unwrap()
    }

    /// Whether the row is in the range, as CouchDB defines it.
    fn contains(&self, row: &Row) -> bool {
        let side = |key: &str, document: Option<&String>| {
            let by_key = order(&row.key, key);
            let by_document = document.map(|id| row.document.as_bytes().cmp(id.as_bytes()));
            // Without a document, the bound is before or after all rows with its key.
            let order = by_document.map(|by_document| by_key.then(by_document)).unwrap_or(by_key);
            if self.is_descending { order.reverse() } else { order }
        };
        let start = self.start.as_ref().map(|key| side(key, self.start_document.as_ref()));
        let end = self.end.as_ref().map(|key| side(key, self.end_document.as_ref()));
        start.is_none_or(|order| order.is_ge())
            && end.is_none_or(|order| order.is_lt() || order.is_eq() && self.includes_end)
    }
}

fn any_request() -> impl Strategy<Value = Requested> {
    let keys = (option::of(any_key()), option::of(any_key()));
    let ids = (option::of(any_id()), option::of(any_id()));
    (keys, ids, any::<bool>(), any::<bool>()).prop_map(|(keys, ids, descending, inclusive)| {
        Requested {
            start: keys.0,
            end: keys.1,
            start_document: ids.0,
            end_document: ids.1,
            is_descending: descending,
            includes_end: inclusive,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_range_contains_the_rows_between_its_bounds(
        requested in any_request(),
        row in any_row(),
    ) {
        let query = requested.query();
        let ranges: Vec<PositionRange> = query.ranges().collect();
        prop_assert_eq!(ranges.len(), 1);
        let mut rows = vec![row.clone()];
        // Rows at the bounds, which are rare among random ones.
        for key in [&requested.start, &requested.end].into_iter().flatten() {
            rows.push(Row { key: key.clone(), ..row.clone() });
            for id in [&requested.start_document, &requested.end_document].into_iter().flatten() {
                rows.push(Row { key: key.clone(), document: id.clone(), nth: row.nth });
            }
        }
        for row in rows {
            let is_inside = ranges[0].contains(&row.position());
            prop_assert_eq!(is_inside, requested.contains(&row), "{:?}", row);
        }
    }

    #[test]
    fn ranges_of_keys_contain_the_rows_with_each_key(
        keys in proptest::collection::vec(any_key(), 0..4),
        row in any_row(),
    ) {
        let query = read("", &format!("{{\"keys\":[{}]}}", keys.join(","))).unwrap();
        let ranges: Vec<PositionRange> = query.ranges().collect();
        prop_assert_eq!(ranges.len(), keys.len());
        for (key, range) in keys.iter().zip(&ranges) {
            let equal = Row { key: key.clone(), ..row.clone() };
            prop_assert!(range.contains(&equal.position()));
            prop_assert_eq!(range.contains(&row.position()), order(key, &row.key).is_eq());
        }
    }
}

#[test]
fn parameters_are_read_from_the_query_and_the_body() {
    let query = "startkey=%5B1%5D&endkey=%5B2%5D&startkey_docid=a&limit=10&skip=2&reduce=false\
                 &include_docs=true&conflicts=true&update_seq=true&sorted=false&stale=update_after";
    let query = read(query, "").unwrap();
    assert_eq!((query.limit, query.skip, query.reduce), (Some(10), 2, Some(false)));
    assert!(query.include_docs && query.conflicts && query.update_seq && !query.is_sorted);
    assert_eq!((query.update, query.group), (ViewUpdate::After, None));
    let body = r#"{"keys":[1,"a"],"limit":3,"descending":true,"update":"lazy","group_level":2}"#;
    let query = read("limit=4&keys=%5B%5D&update=false", body).unwrap();
    assert_eq!(query.keys.as_deref(), Some(&["1".to_owned(), "\"a\"".to_owned()][..]));
    assert_eq!((query.limit, query.is_descending), (Some(3), true));
    assert_eq!((query.update, query.group), (ViewUpdate::After, Some(GroupLevel::Elements(2))));
    for (query, update) in [
        ("", ViewUpdate::Before),
        ("stale=ok", ViewUpdate::Never),
        ("update=false", ViewUpdate::Never),
        ("update=true&stale=ok", ViewUpdate::Before),
        ("stale=false", ViewUpdate::Before),
    ] {
        assert_eq!(read(query, "").unwrap().update, update, "{query}");
    }
    for (query, group) in [
        ("group=true", Some(GroupLevel::Exact)),
        ("group=true&group_level=1", Some(GroupLevel::Elements(1))),
        ("group=false&group_level=0", None),
        ("group_level=0", None),
        ("group=true&group_level=0", None),
    ] {
        assert_eq!(read(query, "").unwrap().group, group, "{query}");
    }
    assert_eq!(read("update=false", r#"{"update":true}"#).unwrap().update, ViewUpdate::Before);
    assert_eq!(read("limit=99999999999999999999", "").unwrap().limit, Some(u64::MAX));
}

#[test]
fn invalid_parameters_return_couchdb_errors() {
    for (query, reason) in [
        ("limit=-1", "Invalid value for positive integer: \"-1\""),
        ("skip=-1", "Invalid value for positive integer: \"-1\""),
        ("group_level=-1", "Invalid value for positive integer: \"-1\""),
        ("limit=x", "Invalid value for integer: \"x\""),
        ("stale=x", "Invalid value for `stale`."),
        ("update=x", "Invalid value for `update`."),
        ("keys=1", "`keys` must be an array of strings."),
        (
            "group=false&group_level=1",
            "Can't specify group=false and group_level>0 at the same time",
        ),
    ] {
        let refused = read(query, "").unwrap_err();
        assert_eq!((refused.kind, &*refused.reason), (RefusalKind::QueryParse, reason), "{query}");
    }
    for query in ["reduce=x", "key=x", "startkey=%5B", "descending=1", "inclusive_end=1"] {
        assert_eq!(read(query, "").unwrap_err().kind.status(), 400, "{query}");
    }
    assert_eq!(read("", r#"{"startkey_docid":1}"#).unwrap_err().kind.status(), 400);
    assert!(read("", "[]").is_err());
}

#[test]
fn requests_that_do_not_fit_the_view_return_couchdb_errors() {
    for (query, reduction, reason) in [
        ("reduce=true", None, "Reduce is invalid for map-only views."),
        ("group=true", None, "Invalid use of grouping on a map view."),
        ("group=true&reduce=false", COUNT, "Invalid use of grouping on a map view."),
        ("include_docs=true", COUNT, "`include_docs` is invalid for reduce"),
        ("conflicts=true", COUNT, "`conflicts` is invalid for reduce views."),
        (
            "keys=%5B1,2%5D&key=1",
            None,
            "`keys` is incompatible with `key`, `start_key` and `end_key`",
        ),
        ("keys=%5B1,2%5D", COUNT, "Multi-key fetches for reduce views must use `group=true`"),
        (
            "keys=%5B1,2%5D&group_level=1",
            COUNT,
            "Multi-key fetches for reduce views must use `group=true`",
        ),
        (
            "startkey=2&endkey=1",
            None,
            "No rows can match your key range, reverse your start_key and end_key or set \
             descending=true",
        ),
        (
            "startkey=1&endkey=2&descending=true",
            COUNT,
            "No rows can match your key range, reverse your start_key and end_key or set \
             descending=false",
        ),
    ] {
        let refused = read(query, "").unwrap().check(reduction).unwrap_err();
        assert_eq!((refused.kind, &*refused.reason), (RefusalKind::QueryParse, reason), "{query}");
    }
    for (query, reduction) in [
        ("", None),
        ("reduce=false&include_docs=true", COUNT),
        ("keys=%5B1,2%5D&group=true", COUNT),
        ("keys=%5B1,2%5D&reduce=false", COUNT),
        ("keys=%5B1%5D", COUNT),
        ("keys=%5B1%5D&key=1", None),
        ("keys=%5B%5D&key=1", None),
        ("startkey=1&endkey=1.0&inclusive_end=false", None),
        ("startkey=2&endkey=1&descending=true", COUNT),
        ("group_level=0", None),
        ("reduce=false", None),
    ] {
        assert_eq!(read(query, "").unwrap().check(reduction), Ok(()), "{query}");
    }
}

/// The examples of "Finding Your Data with Views": keys are arrays, and `{}` is greater than the elements in use.
#[test]
fn ranges_of_the_guide_to_views_find_their_rows() {
    let keys = ["[\"a\",0]", "[\"a\",1]", "[\"b\",0]"];
    let found = |query: &str| -> Vec<usize> {
        let range = read(query, "").unwrap().ranges().next().unwrap();
        let row = |key: &str| Row { key: key.into(), document: "x".into(), nth: 0 };
        (0..keys.len()).filter(|at| range.contains(&row(keys[*at]).position())).collect()
    };
    assert_eq!(found("startkey=%5B%22a%22%5D&endkey=%5B%22a%22%2C%7B%7D%5D"), [0, 1]);
    assert_eq!(
        found("endkey=%5B%22a%22%5D&startkey=%5B%22a%22%2C%7B%7D%5D&descending=true"),
        [0, 1]
    );
    assert_eq!(found("key=%5B%22b%22%2C0%5D"), [2]);
    assert_eq!(found("keys=%5B%5B%22b%22%2C0%5D%5D&startkey=0"), [2]);
    // The last parameter counts.
    assert_eq!(found("endkey=%5B%22b%22%5D&key=%5B%22a%22%2C1%5D"), [1]);
    assert_eq!(found("key=%5B%22a%22%2C1%5D&endkey=%5B%22b%22%2C0%5D"), [1, 2]);
    assert_eq!(found("startkey=%5B%22a%22%2C1%5D"), [1, 2]);
    assert_eq!(found(""), [0, 1, 2]);
    assert!(read("key=1&inclusive_end=false", "").unwrap().ranges().all(|range| range.is_empty()));
}

/// Rows whose keys are cut off are not in the order of their keys, so a range between such keys would miss some.
#[test]
fn ranges_between_long_keys_are_refused() {
    let long = |end: &str| super::model::long_key(end);
    let checked = |members: &str| {
        let body = Json::read(format!("{{{members}}}").into_bytes()).unwrap();
        let query = ViewQuery::read(&Parameters::read(""), Some(body.root())).unwrap();
        query.check(None).map_err(|refusal| refusal.kind)
    };
    let (one, other) = (long("a"), long("b"));
    for members in [
        format!("\"startkey\":{one}"),
        format!("\"endkey\":{one}"),
        format!("\"startkey\":1,\"endkey\":[{one}]"),
        format!("\"startkey\":{one},\"endkey\":{other}"),
    ] {
        assert_eq!(checked(&members), Err(RefusalKind::QueryParse), "{}", &members[..20]);
    }
    for members in [
        format!("\"key\":{one}"),
        format!("\"keys\":[{one},{other}]"),
        format!("\"startkey\":{one},\"endkey\":{one}"),
    ] {
        assert_eq!(checked(&members), Ok(()), "{}", &members[..20]);
    }
}
