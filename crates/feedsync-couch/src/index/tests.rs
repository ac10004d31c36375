use super::*;
use crate::collation::{MAX_KEY_BYTES, key};

fn read(sent: &str) -> Result<IndexDefinition, Refusal> {
    IndexDefinition::read(Node::root(sent))
}

fn key_of(index: &IndexDefinition, id: &str, body: &str) -> Option<Vec<u8>> {
    let body = Node::root(body);
    index.key(&Subject { id, revision: "1-a", is_deleted: false, body })
}

#[test]
fn an_index_is_stored_and_listed_as_in_couchdb() {
    let index = read(
        r#"{"index":{"fields":["a.b",{"c":"asc"}],"partial_filter_selector":{"d":1,"e":{"$ne":2}}},"ddoc":"x","name":"n"}"#,
    )
    .unwrap();
    assert_eq!(index.design.as_str(), "_design/x");
    let stored = r#"{"language":"query","views":{"n":{"map":{"fields":{"a.b":"asc","c":"asc"},"partial_filter_selector":{"$and":[{"d":{"$eq":1}},{"e":{"$ne":2}}]}},"reduce":"_count","options":{"def":{"fields":["a.b",{"c":"asc"}],"partial_filter_selector":{"d":1,"e":{"$ne":2}}}}}}}"#;
    assert_eq!(index.added_to(None).unwrap().unwrap(), stored);
    let again = IndexDefinition::of_design_document(&index.design, Node::root(stored));
    let [again] = again.as_slice() else { panic!("{again:?}") };
    assert_eq!((&again.name, &again.fields), (&index.name, &index.fields));
    assert_eq!(again.view(), index.view());
    assert_eq!(index.added_to(Some(Node::root(stored))), Ok(None));
    let first =
        read(r#"{"index":{"fields":[{"z":"desc"}]},"ddoc":"_design/a","name":"z"}"#).unwrap();
    assert_eq!(
        Listing(&[index, first]).written(0, 9),
        r#"{"total_rows":3,"indexes":[{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}},{"ddoc":"_design/a","name":"z","type":"json","partitioned":false,"def":{"fields":[{"z":"desc"}]}},{"ddoc":"_design/x","name":"n","type":"json","partitioned":false,"def":{"fields":[{"a.b":"asc"},{"c":"asc"}],"partial_filter_selector":{"$and":[{"d":{"$eq":1}},{"e":{"$ne":2}}]}}}]}"#
    );
    assert_eq!(Listing(&[]).written(1, 1), r#"{"total_rows":1,"indexes":[]}"#);
}

#[test]
fn views_that_are_no_indexes_are_left_out() {
    let design = "_design/x".parse().unwrap();
    let names = |body: &str| -> Vec<String> {
        let all = IndexDefinition::of_design_document(&design, Node::root(body));
        all.into_iter().map(|index| index.name).collect()
    };
    let views = r#"{"a":{"map":"function (doc) {}"},"b":{"map":{"fields":{"f":"up"}},"options":{}},"c":{"map":{"fields":{"f":"asc"},"selector":{"g":1}},"options":{}},"d":1}"#;
    assert_eq!(names(&format!(r#"{{"language":"query","views":{views}}}"#)), ["c"]);
    assert!(names(&format!(r#"{{"language":"javascript","views":{views}}}"#)).is_empty());
    assert!(names(r#"{"language":"query"}"#).is_empty());
    let body = format!(r#"{{"language":"query","views":{views}}}"#);
    let all = IndexDefinition::of_design_document(&design, Node::root(&body));
    assert_eq!(all[0].filter.as_ref().unwrap().normalized(), r#"{"g":{"$eq":1}}"#);
}

#[test]
fn generated_names_depend_on_the_definition_only() {
    let one = read(r#"{"index":{"fields":["a"]}}"#).unwrap();
    let same = read(r#"{ "index" : {"fields": [{"a":"asc"}], "partial_filter_selector":{}} }"#);
    let same = same.unwrap();
    let other = read(r#"{"index":{"fields":["b"]}}"#).unwrap();
    assert_eq!((&one.name, &one.design), (&same.name, &same.design));
    assert_eq!(one.design.as_str(), format!("_design/{}", one.name));
    assert_eq!(one.name.len(), 40);
    assert_ne!(one.name, other.name);
}

#[test]
fn invalid_definitions_return_couchdb_errors() {
    for (sent, error, reason) in [
        ("{}", "missing_required_key", "Missing required key: index"),
        (r#"{"index":{}}"#, "missing_required_key", "Missing required key: fields"),
        (r#"{"index":1}"#, "invalid_index", "JSON indexes must be an object, not: 1"),
        (r#"{"index":{"fields":["a"]},"x":1}"#, "invalid_key", "Invalid key x for this request."),
        (r#"{"index":{"fields":[],"y":1}}"#, "invalid_key", "Invalid key y for this request."),
        (r#"{"index":{"fields":["a"]},"name":1}"#, "invalid_string", "Invalid string: 1"),
        (r#"{"index":{"fields":["a"]},"ddoc":[]}"#, "invalid_string", "Invalid string: []"),
        (
            r#"{"index":{"fields":["a"]},"type":"geo"}"#,
            "invalid_index",
            "Invalid type for index: geo",
        ),
        (
            r#"{"index":{"fields":["a"]},"type":"text"}"#,
            "required index service unavailable",
            "text",
        ),
        (
            r#"{"index":{"fields":"a"}}"#,
            "invalid_sort_json",
            "Sort must be an array of sort specs, not: \"a\"",
        ),
        (r#"{"index":{"fields":[""]}}"#, "invalid_sort_field", "Invalid sort field: \"\""),
        (
            r#"{"index":{"fields":[{"a":2}]}}"#,
            "invalid_sort_field",
            "Invalid sort field: {\"a\":2}",
        ),
        (
            r#"{"index":{"fields":[{"a":"asc","b":"asc"}]}}"#,
            "invalid_sort_field",
            "Invalid sort field: {\"a\":\"asc\",\"b\":\"asc\"}",
        ),
        (
            r#"{"index":{"fields":["a",{"b":"desc"}]}}"#,
            "unsupported_mixed_sort",
            "Sorts currently only support a single direction for all fields.",
        ),
        (
            r#"{"index":{"fields":["a"],"partial_filter_selector":[]}}"#,
            "invalid_selector_json",
            "Selector must be a JSON object, not: []",
        ),
        (
            r#"{"index":{"fields":["a"],"partial_filter_selector":{"a":{"$x":1}}}}"#,
            "bad_request",
            "a: invalid operator: $x",
        ),
        (
            r#"{"index":{"fields":["a"]},"partitioned":true}"#,
            "bad_request",
            "partitioned option cannot be true in a non-partitioned database.",
        ),
    ] {
        let refusal = read(sent).unwrap_err();
        assert_eq!((refusal.kind.error(), &*refusal.reason), (error, reason), "{sent}");
    }
    let many = format!(r#"{{"index":{{"fields":[{}"a"]}}}}"#, "\"a\",".repeat(100));
    assert_eq!(read(&many).unwrap_err().kind, RefusalKind::InvalidSort);
}

#[test]
fn other_views_of_a_design_document_stay() {
    let index = read(r#"{"index":{"fields":["a"]},"name":"n"}"#).unwrap();
    let changed = |body: &str| index.added_to(Some(Node::root(body)));
    let view = index.view();
    let body = r#"{"views":{"m":1,"n":2},"language":"query","x":3}"#;
    let with = format!(r#"{{"language":"query","x":3,"views":{{"m":1,"n":{view}}}}}"#);
    assert_eq!(changed(body), Ok(Some(with.clone())));
    for other in [r#"{"language":"javascript","views":{}}"#, "{}"] {
        assert_eq!(changed(other).unwrap_err().kind, RefusalKind::InvalidDesignLanguage);
    }
    let without = |body: &str, name| without_index(Node::root(body), name);
    let left = r#"{"language":"query","x":3,"views":{"m":1}}"#;
    assert_eq!(without(&with, "n"), Ok(Some(left.to_owned())));
    assert_eq!(without(&index.added_to(None).unwrap().unwrap(), "n"), Ok(None));
    assert_eq!(without(&with, "o"), Err(Refusal::missing()));
}

#[test]
fn an_index_has_documents_with_all_its_fields() {
    let index =
        read(r#"{"index":{"fields":["a.b","_id"],"partial_filter_selector":{"c":{"$gt":1}}}}"#);
    let index = index.unwrap();
    let found = key_of(&index, "i", r#"{"a":{"b":null},"c":2}"#).unwrap();
    let expected = [key(Node::root("null")), key(Node::root("\"i\""))].concat();
    assert_eq!(found, expected);
    for (id, body) in [
        ("i", r#"{"a":{},"c":2}"#),
        ("i", r#"{"a":{"b":1},"c":1}"#),
        ("_design/i", r#"{"a":{"b":1},"c":2}"#),
    ] {
        assert_eq!(key_of(&index, id, body), None, "{id} {body}");
    }
    let body = Node::root(r#"{"a":{"b":1},"c":2}"#);
    let deleted = Subject { id: "i", revision: "1-a", is_deleted: true, body };
    assert_eq!(index.key(&deleted), None);
    let long = format!(r#"{{"a":{{"b":"{}"}},"c":2}}"#, "x".repeat(MAX_KEY_BYTES));
    assert_eq!(key_of(&index, "i", &long).unwrap().len(), MAX_KEY_BYTES);
}
