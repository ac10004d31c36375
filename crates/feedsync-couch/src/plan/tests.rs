use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::collation::MAX_KEY_BYTES;
use crate::selector::Subject;

mod candidates;

fn index(fields: &[&str], filter: &str, name: &str) -> IndexDefinition {
    let fields: Vec<_> = fields.iter().map(|field| format!("\"{field}\"")).collect();
    let sent = format!(
        r#"{{"index":{{"fields":[{}],"partial_filter_selector":{filter}}},"ddoc":"{name}","name":"n"}}"#,
        fields.join(",")
    );
    IndexDefinition::read(Node::root(&sent)).unwrap()
}

fn request(sent: &str) -> FindRequest {
    FindRequest::parse(Node::root(sent)).unwrap()
}

/// The design document of the index that is chosen; `_all_docs` without one.
fn chosen(sent: &str, indexes: &[IndexDefinition]) -> Result<String, Refusal> {
    let plan = plan(&request(sent), indexes)?;
    Ok(plan.index.map_or_else(|| "_all_docs".into(), |index| index.design.as_str()[8..].into()))
}

const FIELDS: [&str; 5] = ["a", "b", "c", "a.x", "_id"];

fn any_value() -> impl Strategy<Value = &'static str> {
    select(vec![
        "null",
        "false",
        "1",
        "1.5",
        "2",
        "\"\"",
        "\"a\"",
        "\"A\"",
        "\"B\"",
        "\"\u{e4}\"",
        "\"ab\"",
        "[]",
        "[1]",
        "{}",
        "{\"x\":1}",
        "{\"x\":\"a\"}",
    ])
}

fn any_condition() -> impl Strategy<Value = String> {
    let relation = select(vec!["$eq", "$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]);
    prop_oneof![
        8 => (relation, any_value()).prop_map(|(relation, value)| format!("{{\"{relation}\":{value}}}")),
        1 => any::<bool>().prop_map(|exists| format!("{{\"$exists\":{exists}}}")),
        1 => (select(vec!["$in", "$nin", "$all"]), any_value())
            .prop_map(|(operator, value)| format!("{{\"{operator}\":[{value}]}}")),
        1 => (select(vec!["$lt", "$gte", "$eq", "$ne"]), any_value())
            .prop_map(|(operator, value)| format!("{{\"$not\":{{\"{operator}\":{value}}}}}")),
        1 => select(vec!["{\"$size\":1}", "{\"$beginsWith\":\"a\"}", "{\"$exists\":true}"])
            .prop_map(|test| format!("{{\"$not\":{test}}}")),
    ]
}

fn any_test(fields: Vec<&'static str>) -> impl Strategy<Value = String> {
    (select(fields), any_condition())
        .prop_map(|(field, condition)| format!("{{\"{field}\":{condition}}}"))
}

fn any_selector(fields: Vec<&'static str>) -> impl Strategy<Value = String> {
    any_test(fields).prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 1..4).prop_map(|all| format!("{{\"$and\":[{}]}}", all.join(","))),
            1 => vec(inner.clone(), 1..3).prop_map(|any| format!("{{\"$or\":[{}]}}", any.join(","))),
            1 => inner.prop_map(|inner| format!("{{\"$not\":{inner}}}")),
        ]
    })
}

fn any_fields(count: usize) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(FIELDS.to_vec(), 1..=count).prop_shuffle()
}

/// An index, a sort order that begins in it, and a selector that compares its fields.
fn any_case() -> impl Strategy<Value = (Vec<&'static str>, Vec<&'static str>, String)> {
    any_fields(3).prop_flat_map(|fields| {
        let all = select(vec![
            any_selector(fields.clone()).boxed(),
            any_selector(FIELDS.to_vec()).boxed(),
        ]);
        let each: Vec<_> = fields
            .clone()
            .into_iter()
            .map(|field| any_condition().prop_map(move |it| format!("{{\"{field}\":{it}}}")))
            .collect();
        let sort = (0..=fields.len(), 0..=fields.len())
            .prop_map(|(one, other)| (one.min(other), one.max(other)));
        (Just(fields), sort, each, all.prop_flat_map(|all| all)).prop_map(
            |(fields, (from, to), each, all)| {
                let sort = fields[from..to].to_vec();
                (fields, sort, format!("{{\"$and\":[{},{all}]}}", each.join(",")))
            },
        )
    })
}

type Values = Vec<Option<&'static str>>;

fn any_documents() -> impl Strategy<Value = Vec<(&'static str, Values)>> {
    let values = vec(prop_oneof![5 => any_value().prop_map(Some), 1 => Just(None)], 3);
    vec((select(vec!["a", "A", "B", "\u{e4}", "ab"]), values), 1..8)
}

fn body(values: &Values) -> String {
    let members = ["a", "b", "c"].iter().zip(values);
    let members = members.filter_map(|(name, value)| value.map(|it| format!("\"{name}\":{it}")));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

proptest! {
    // Of some cases no index is usable.
    #![proptest_config(ProptestConfig {
        cases: 6_000,
        max_global_rejects: 6_000,
        ..ProptestConfig::default()
    })]

    /// Every match with the fields of the sort order is in the range, and the keys are in the sort order.
    #[test]
    fn an_index_hides_no_match_and_serves_the_sort_order(
        (fields, sort, selector) in any_case(),
        filter in prop_oneof![3 => Just(String::from("{}")), 1 => any_test(FIELDS.to_vec())],
        others in vec(any_fields(4), 0..3),
        documents in any_documents(),
    ) {
        let mut indexes = vec![index(&fields, &filter, "use")];
        indexes.extend(others.iter().map(|fields| index(fields, "{}", "other")));
        let quoted: Vec<_> = sort.iter().map(|field| format!("\"{field}\"")).collect();
        let sent = format!(r#"{{"selector":{selector},"sort":[{}],"use_index":"use"}}"#, quoted.join(","));
        let request = request(&sent);
        let planned = plan(&request, &indexes);
        prop_assume!(planned.as_ref().is_ok_and(|plan| plan.index.is_some()));
        let plan = planned.unwrap();
        let index = plan.index.unwrap();
        let mut rows = Vec::new();
        for (id, values) in &documents {
            let body = body(values);
            let subject = Subject { id, revision: "1-a", is_deleted: false, body: Node::root(&body) };
            let mut order = Vec::new();
            let is_sorted = request.sort.fields.iter().all(|field| {
                subject.push_key(&mut order, &field.path)
            });
            let is_filtered = index.filter.as_ref().is_none_or(|filter| filter.matches(&subject));
            if request.selector.matches(&subject) && is_sorted && is_filtered {
                let key = index.key(&subject);
                prop_assert!(key.is_some(), "{} {} is not in {}", id, body, index.definition());
                let key = key.unwrap();
                prop_assert!(plan.range.contains(&key), "{} {} {:?} {:?}", id, body, key, plan.range);
                rows.push((key, order));
            }
        }
        rows.sort();
        prop_assert!(rows.is_sorted_by(|one, other| one.1 <= other.1), "{:?}", rows);
    }
}

#[test]
fn ranges_are_tight() {
    let found = |fields: &[&str], selector: &str| {
        let indexes = [index(fields, "{}", "x")];
        let request = request(&format!(r#"{{"selector":{selector}}}"#));
        let plan = plan(&request, &indexes).unwrap();
        let found = |a: u32, b: u32| {
            let body = format!("{{\"a\":{a},\"b\":{b}}}");
            let body = Node::root(&body);
            let subject = Subject { id: "i", revision: "1-a", is_deleted: false, body };
            plan.range.contains(&plan.index.unwrap().key(&subject).unwrap())
        };
        let all = (1..4).flat_map(|a| (1..4).map(move |b| (a, b)));
        all.filter(|(a, b)| found(*a, *b)).map(|(a, b)| 10 * a + b).collect::<Vec<_>>()
    };
    for (selector, expected) in [
        (r#"{"a":2,"b":3}"#, vec![23]),
        (r#"{"a":2,"b":{"$gt":1}}"#, vec![22, 23]),
        (r#"{"a":2,"b":{"$lt":3}}"#, vec![21, 22]),
        (r#"{"a":{"$gt":1,"$lte":2},"b":{"$exists":true}}"#, vec![21, 22, 23]),
        (r#"{"a":{"$gte":2,"$lt":3},"b":{"$gte":2}}"#, vec![22, 23]),
        (r#"{"a":{"$lte":1},"b":{"$lt":2}}"#, vec![11]),
        (r#"{"a":{"$gt":2,"$lt":1},"b":1}"#, vec![]),
        (r#"{"a":{"$gt":2,"$lte":2},"b":1}"#, vec![]),
        (r#"{"a":{"$gte":1},"b":{"$gt":2,"$lt":1}}"#, vec![]),
        (
            r#"{"$and":[{"a":{"$gt":1}},{"a":{"$gte":1}},{"a":{"$lte":3}},{"a":{"$lt":3}},{"b":{"$gte":1}}]}"#,
            vec![21, 22, 23],
        ),
        (
            r#"{"$and":[{"a":{"$gt":1}},{"a":{"$gte":1}},{"a":{"$gte":3}},{"b":{"$ne":null}},{"b":{"$exists":true}}]}"#,
            vec![31, 32, 33],
        ),
    ] {
        assert_eq!(found(&["a", "b"], selector), expected, "{selector}");
    }
    // Ids are not in the order in which selectors compare them.
    assert_eq!(found(&["_id"], r#"{"_id":{"$lt":"B"}}"#).len(), 9);
    assert_eq!(found(&["_id"], r#"{"_id":"I"}"#), []);
}

#[test]
fn best_usable_index_is_chosen() {
    let indexes = [
        index(&["a", "b"], "{}", "ab"),
        index(&["a"], "{}", "z"),
        index(&["a"], "{}", "y"),
        index(&["a", "c"], "{}", "ac"),
        index(&["b"], r#"{"a":1}"#, "partial"),
        index(&["d", "_rev"], "{}", "revision"),
        index(&["e", "_id"], "{}", "id"),
    ];
    for (sent, expected) in [
        (r#"{"selector":{}}"#, "_all_docs"),
        (r#"{"selector":{"b":1}}"#, "_all_docs"),
        (r#"{"selector":{"d":1}}"#, "revision"),
        (r#"{"selector":{"e":1}}"#, "id"),
        (r#"{"selector":{"a":1}}"#, "y"),
        (r#"{"selector":{"a":1,"b":1}}"#, "ab"),
        (r#"{"selector":{"a":1,"c":{"$exists":true}}}"#, "y"),
        (r#"{"selector":{"a":1,"b":{"$gt":1},"c":1}}"#, "ab"),
        (r#"{"selector":{"a":{"$ne":1}}}"#, "y"),
        (r#"{"selector":{"a":{"$nin":[1]}}}"#, "y"),
        (r#"{"selector":{"a":{"$not":{"$regex":"x"}}}}"#, "y"),
        (r#"{"selector":{"$nor":[{"a":{"$lt":1}},{"b":{"$gt":1}}]}}"#, "ab"),
        (r#"{"selector":{"$not":{"a":1,"b":1}}}"#, "_all_docs"),
        (r#"{"selector":{"$not":{"a":{"$exists":false}}}}"#, "y"),
        (r#"{"selector":{"$not":{"a":{"$exists":true}}}}"#, "_all_docs"),
        (r#"{"selector":{"$or":[{"a":{"$ne":1}},{"a":{"$exists":false}}]}}"#, "_all_docs"),
        (r#"{"selector":{"a":{"$exists":false,"$ne":1}}}"#, "y"),
        (r#"{"selector":{"a":{"$exists":false}}}"#, "_all_docs"),
        (r#"{"selector":{"$or":[{"a":1},{"a":2}]}}"#, "y"),
        (r#"{"selector":{"$or":[{"a":1},{"b":2}]}}"#, "_all_docs"),
        (r#"{"selector":{"a":1},"sort":["_id"]}"#, "_all_docs"),
        (r#"{"selector":{},"sort":["a"]}"#, "y"),
        (r#"{"selector":{"b":1},"sort":[{"a":"desc"}]}"#, "y"),
        (r#"{"selector":{"a":1},"sort":["c"]}"#, "ac"),
        (r#"{"selector":{},"sort":["a","c"]}"#, "ac"),
        (r#"{"selector":{"a":1},"use_index":"z"}"#, "z"),
        (r#"{"selector":{"a":1},"use_index":["_design/z","n"]}"#, "z"),
        (r#"{"selector":{"a":1},"use_index":"z/m"}"#, "y"),
        (r#"{"selector":{"b":1},"use_index":"_design/partial"}"#, "partial"),
        (r#"{"selector":{"a":1},"use_index":["partial"]}"#, "y"),
    ] {
        assert_eq!(chosen(sent, &indexes).as_deref(), Ok(expected), "{sent}");
    }
    for sent in [
        r#"{"selector":{},"sort":["b"]}"#,
        r#"{"selector":{"a":{"$gt":1}},"sort":["c"]}"#,
        r#"{"selector":{"a":1},"sort":["c","a"]}"#,
    ] {
        let refusal = chosen(sent, &indexes).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::NoUsableIndex, "{sent}");
        assert_eq!(
            refusal.reason,
            "No index exists for this sort, try indexing by the sort fields."
        );
    }
}

#[test]
fn unused_indexes_cause_couchdbs_warnings() {
    let indexes = [index(&["a"], "{}", "x")];
    let warning = |sent: &str| {
        let request = request(sent);
        plan(&request, &indexes).unwrap().warning(&request)
    };
    let unindexed = "No matching index found, create an index to optimize query time.";
    assert_eq!(warning(r#"{"selector":{"a":1},"use_index":"x"}"#), None);
    assert_eq!(warning(r#"{"selector":{"b":1}}"#).as_deref(), Some(unindexed));
    assert_eq!(
        warning(r#"{"selector":{"a":1},"use_index":"_design/y"}"#).as_deref(),
        Some("_design/y was not used because it does not contain a valid index for this query.")
    );
    assert_eq!(
        warning(r#"{"selector":{"b":1},"use_index":["x","n"]}"#),
        Some(format!(
            "_design/x, n was not used because it is not a valid index for this query.\n{unindexed}"
        ))
    );
    for wrong in ["1", "{}", "[1]", r#"["a","b","c"]"#] {
        let sent = format!(r#"{{"selector":{{}},"use_index":{wrong}}}"#);
        let refusal = FindRequest::parse(Node::root(&sent)).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::InvalidIndexName, "{wrong}");
    }
    assert_eq!(request(r#"{"selector":{},"use_index":null}"#).use_index, None);
    assert_eq!(request(r#"{"selector":{},"use_index":[]}"#).use_index, None);
}

#[test]
fn a_plan_is_explained_as_in_couchdb() {
    let indexes = [index(&["year", "title"], "{}", "x")];
    let explained = |sent: &str| explain("movies", &request(sent), &indexes).unwrap();
    assert_eq!(
        explained(
            r#"{"selector":{"year":{"$gt":2010},"title":{"$exists":true}},"fields":["_id","a.b"],"sort":[{"year":"asc"}],"limit":2}"#
        ),
        concat!(
            r#"{"dbname":"movies","index":{"ddoc":"_design/x","name":"n","type":"json","partitioned":false,"#,
            r#""def":{"fields":[{"year":"asc"},{"title":"asc"}]}},"partitioned":false,"#,
            r#""selector":{"$and":[{"year":{"$gt":2010}},{"title":{"$exists":true}}]},"#,
            r#""opts":{"use_index":[],"bookmark":"nil","limit":2,"skip":0,"sort":{"year":"asc"},"fields":["_id","a.b"],"#,
            r#""partition":"","r":1,"conflicts":false,"stale":false,"update":true,"stable":false,"execution_stats":false,"#,
            r#""allow_fallback":true},"limit":2,"skip":0,"fields":["_id","a.b"],"index_candidates":[{"index":{"ddoc":null,"#,
            r#""name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}},"analysis":{"usable":false,"#,
            r#""reasons":[{"name":"field_mismatch"}],"ranking":1,"covering":null}}],"selector_hints":[{"type":"json","#,
            r#""indexable_fields":["year"],"unindexable_fields":["title"]}],"#,
            r#""mrargs":{"include_docs":true,"view_type":"map","reduce":false,"#,
            r#""partition":null,"start_key":[2010],"end_key":["<MAX>"],"direction":"fwd","stable":false,"update":true,"#,
            r#""conflicts":"undefined"},"covering":false}"#,
            "\n"
        )
    );
    for (sent, range) in [
        (
            r#"{"selector":{"year":1,"title":{"$lt":"b"}},"sort":[{"year":"desc"}]}"#,
            r#""start_key":[1,"b","<MAX>"],"end_key":[1],"direction":"rev""#,
        ),
        (
            r#"{"selector":{"year":{"$gt":1,"$lt":1},"title":1}}"#,
            r#""start_key":null,"end_key":null,"direction":"fwd""#,
        ),
        (
            r#"{"selector":{"_id":{"$gt":"a"}}}"#,
            r#""start_key":"a","end_key":"<MAX>","direction":"fwd""#,
        ),
        (r#"{"selector":{}}"#, r#""start_key":"","end_key":"<MAX>","direction":"fwd""#),
    ] {
        let explained = explained(sent);
        assert!(explained.contains(range), "{explained}");
        crate::Json::read(explained.into_bytes()).unwrap();
    }
    let all = explained(r#"{"selector":{},"use_index":"x/n","conflicts":true}"#);
    assert!(all.contains(r#""index":{"ddoc":null,"name":"_all_docs","type":"special""#), "{all}");
    assert!(
        all.contains(r#""use_index":["x","n"]"#) && all.contains(r#""conflicts":true}"#),
        "{all}"
    );
}

/// Keys of long values are cut off, so that documents on both sides of a bound can have the same key.
#[test]
fn an_index_hides_no_match_with_long_values() {
    let indexes = [index(&["a", "b"], "{}", "x")];
    let texts: Vec<_> =
        (0..3).map(|last| format!("\"{}{last}\"", "\u{e9}".repeat(MAX_KEY_BYTES))).collect();
    for operator in ["$eq", "$gt", "$gte", "$lt", "$lte"] {
        for selector in [
            format!(r#"{{"a":{{"{operator}":{}}},"b":{{"$gt":null}}}}"#, texts[1]),
            format!(r#"{{"a":1,"b":{{"{operator}":{}}}}}"#, texts[1]),
        ] {
            let request = request(&format!(r#"{{"selector":{selector}}}"#));
            let plan = plan(&request, &indexes).unwrap();
            let mut matches = 0;
            for text in &texts {
                for body in [format!(r#"{{"a":{text},"b":1}}"#), format!(r#"{{"a":1,"b":{text}}}"#)]
                {
                    let body = Node::root(&body);
                    let subject = Subject { id: "i", revision: "1-a", is_deleted: false, body };
                    let key = plan.index.unwrap().key(&subject).unwrap();
                    if request.selector.matches(&subject) {
                        matches += 1;
                        assert!(plan.range.contains(&key), "{operator} {body:?}");
                    }
                }
            }
            assert!(matches > 0, "{operator}");
        }
    }
    let none = format!(r#"{{"selector":{{"a":{{"$gt":{},"$lt":2}}}}}}"#, texts[1]);
    assert!(plan(&request(&none), &[index(&["a"], "{}", "x")]).unwrap().range.is_empty());
}
