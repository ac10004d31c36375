//! `_explain`: the indexes that were not chosen.

use super::*;

/// Design document, reason and ranking of each index that was not chosen; a `!` marks the unusable ones.
fn candidates(sent: &str, indexes: &[IndexDefinition]) -> String {
    let explained = explain("db", &request(sent), indexes).unwrap();
    let explained = crate::Json::read(explained.into_bytes()).unwrap();
    let listed = explained.root().member("index_candidates").unwrap().value;
    let each = listed.elements().map(|candidate| {
        let member = |node: Node<'_>, name: &str| node.member(name).unwrap().value.raw().to_owned();
        let [index, analysis] =
            ["index", "analysis"].map(|name| candidate.member(name).unwrap().value);
        let reasons = analysis.member("reasons").unwrap().value;
        let reason = member(reasons.elements().next().unwrap(), "name");
        let unusable = if member(analysis, "usable") == "true" { "" } else { "!" };
        let design = member(index, "ddoc").replace("_design/", "");
        format!("{unusable}{design} {reason} {}", member(analysis, "ranking")).replace('"', "")
    });
    each.collect::<Vec<_>>().join(", ")
}

#[test]
fn indexes_that_were_not_chosen_are_listed_with_couchdbs_reasons() {
    let indexes = [
        index(&["a"], "{}", "a"),
        index(&["a"], "{}", "b"),
        index(&["a", "b"], "{}", "c"),
        index(&["z"], "{}", "d"),
        index(&["a"], r#"{"b":1}"#, "e"),
        index(&["a", "_id"], "{}", "f"),
    ];
    for (sent, expected) in [
        (
            r#"{"selector":{"a":1}}"#,
            "f too_many_fields 2, !e is_partial 5, !d field_mismatch 4, !c field_mismatch 4, \
             b alphabetically_comes_after 1, null unfavored_type 3",
        ),
        (
            r#"{"selector":{"a":1,"b":1}}"#,
            "f less_overlap 3, !e is_partial 6, !d field_mismatch 5, b less_overlap 2, a less_overlap 1, null unfavored_type 4",
        ),
        (
            r#"{"selector":{"a":1},"use_index":"b"}"#,
            "f excluded_by_user 1, !e is_partial 3, !d field_mismatch 2, !c field_mismatch 2, \
             a excluded_by_user 1, null excluded_by_user 1",
        ),
        (
            r#"{"selector":{"a":{"$gt":1},"b":1},"sort":["b"]}"#,
            "!f sort_order_mismatch 1, !e is_partial 2, !d field_mismatch 1, !c sort_order_mismatch 1, \
             !b sort_order_mismatch 1, !a sort_order_mismatch 1, !null field_mismatch 1",
        ),
        (
            r#"{"selector":{"q":1}}"#,
            "!f field_mismatch 1, !e is_partial 2, !d field_mismatch 1, !c field_mismatch 1, \
             !b field_mismatch 1, !a field_mismatch 1",
        ),
    ] {
        assert_eq!(candidates(sent, &indexes), expected, "{sent}");
    }
    assert_eq!(candidates(r#"{"selector":{"q":1}}"#, &[]), "");
    let by_id = r#"{"selector":{"_id":{"$gt":null}},"sort":["q"]}"#;
    assert_eq!(candidates(by_id, &[]), "!null sort_order_mismatch 1");
}

/// The index is `null`, and nothing is said about a range.
#[test]
fn a_request_without_a_usable_index_is_explained() {
    let explained = explain("db", &request(r#"{"selector":{},"sort":["q"]}"#), &[]).unwrap();
    assert!(explained.contains(r#""index":null,"#) && !explained.contains("mrargs"), "{explained}");
}

#[test]
fn other_indexes_are_refused_where_the_request_says_so() {
    let indexes = [index(&["a"], "{}", "x")];
    for (sent, expected) in [
        (r#"{"selector":{"a":1},"allow_fallback":false}"#, None),
        (r#"{"selector":{"a":1},"use_index":"x","allow_fallback":false}"#, None),
        (r#"{"selector":{"b":1},"allow_fallback":true}"#, None),
        (
            r#"{"selector":{"b":1},"allow_fallback":false}"#,
            Some(("no_usable_index", "There is no index available for this selector.")),
        ),
        (
            r#"{"selector":{"a":1},"use_index":"y","allow_fallback":false}"#,
            Some((
                "invalid_index",
                "_design/y specified by `use_index` could not be found or it is not suitable.",
            )),
        ),
        (
            r#"{"selector":{"b":1},"use_index":["x","n"],"allow_fallback":false}"#,
            Some((
                "invalid_index",
                "_design/x, n specified by `use_index` could not be found or it is not suitable.",
            )),
        ),
    ] {
        let request = request(sent);
        let errors = [plan(&request, &indexes).err(), explain("db", &request, &indexes).err()];
        for refusal in errors {
            let found = refusal.as_ref().map(|it| (it.kind.error(), &*it.reason));
            assert_eq!(found, expected, "{sent}");
        }
    }
}
