//! Documents, one and many.

use http::Method;
use serde_json::{Value, json};

use super::{Couch, JSON, said};
use crate::hub::{bytes, text};

async fn revision(couch: &Couch, path: &str) -> String {
    couch.get(path).await.1["_rev"].as_str().unwrap().to_owned()
}

/// Values come back unchanged to the byte (CG16, CL28).
#[tokio::test]
async fn values_pass_through_unmodified() {
    let couch = Couch::new().await;
    let members = r#""n":1.0,"big":12345678901234567890,"e":1e400,"s":"\ud83dA\/ \" ","d":1,"d":2,"deep":{"a":[1]}"#;
    couch.put("/db/x", &format!("{{{}}}", members.replace("[1]", "[ 1\n]"))).await;
    let whole = couch.send(Method::GET, "/db/x", &[], "").await;
    let whole = String::from_utf8(bytes(whole).await.to_vec()).unwrap();
    assert!(whole.contains(members), "{whole}");
    let feed = "/db/_changes?feed=continuous&timeout=20&include_docs=true";
    for path in [feed, "/db/_changes?include_docs=true", "/db/_all_docs?include_docs=true"] {
        let rows = couch.send(Method::GET, path, &[], "").await;
        let rows = String::from_utf8(bytes(rows).await.to_vec()).unwrap();
        assert!(rows.contains(members), "{rows}");
    }
}

#[tokio::test]
async fn a_document_is_asked_for_with_what_stands_beside_it() {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"x","_revisions":{"start":2,"ids":["b","a"]},"n":1},
               {"_id":"x","_revisions":{"start":2,"ids":["c","a"]},"n":2},
               {"_id":"x","_revisions":{"start":3,"ids":["d","z"]},"_deleted":true,"why":"x"}"#,
        )
        .await;
    let get = async |query: &str| couch.get(&format!("/db/x?{query}")).await;
    let plain = get("").await.1;
    assert_eq!(plain, json!({"_id": "x", "_rev": "2-c", "n": 2}));
    let beside = get("conflicts=true&deleted_conflicts=true&revs=true&revs_info=true").await.1;
    assert_eq!(beside["_conflicts"], json!(["2-b"]));
    assert_eq!(beside["_deleted_conflicts"], json!(["3-d"]));
    assert_eq!(beside["_revisions"], json!({"start": 2, "ids": ["c", "a"]}));
    let info = json!([{"rev": "2-c", "status": "available"}, {"rev": "1-a", "status": "missing"}]);
    assert_eq!(beside["_revs_info"], info);
    assert_eq!(get("meta=true").await.1["_conflicts"], json!(["2-b"]));
    assert!(get("local_seq=true").await.1["_local_seq"].is_string());
    let tombstone = get("rev=3-d").await;
    assert_eq!(tombstone, (200, json!({"_id": "x", "_rev": "3-d", "_deleted": true, "why": "x"})));
    assert_eq!(get("rev=1-a").await.0, 404);
    assert_eq!(get("rev=1-a&latest=true").await.1["_rev"], "2-c");
    let accept = [("accept", "application/json")];
    let open = async |query: &str| {
        let path = format!("/db/x?{query}");
        said(couch.send(Method::GET, &path, &accept, "").await).await
    };
    let revisions = |found: &Value| -> Vec<String> {
        let name = |one: &Value| {
            let of = |it: &Value| it.as_str().map(str::to_owned);
            of(&one["ok"]["_rev"])
                .or_else(|| Some(format!("missing {}", of(&one["missing"])?)))
                .unwrap()
        };
        found.as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(revisions(&open("open_revs=all").await.1), ["2-c", "2-b", "3-d"]);
    let named = "open_revs=%5B%221-a%22,%222-b%22,%229-x%22%5D";
    assert_eq!(revisions(&open(named).await.1), ["missing 1-a", "2-b", "missing 9-x"]);
    let latest = format!("{named}&latest=true");
    assert_eq!(revisions(&open(&latest).await.1), ["2-c", "2-b", "missing 9-x"]);
    let unknown =
        said(couch.send(Method::GET, "/db/y?open_revs=%5B%221-a%22%5D", &accept, "").await).await;
    assert_eq!(unknown, (200, json!([{"missing": "1-a"}])));
    let all = said(couch.send(Method::GET, "/db/y?open_revs=all", &accept, "").await).await;
    assert_eq!(all.0, 404);
}

#[tokio::test]
async fn an_edit_names_what_it_is_made_on_in_any_of_three_ways() {
    let couch = Couch::new().await;
    let made = couch.send(Method::PUT, "/db/x", &[JSON], "{}").await;
    let first = text(&made, "etag").to_owned();
    assert_eq!(said(made).await.1["rev"].as_str().unwrap(), first.trim_matches('"'));
    assert_eq!(couch.put("/db/x", "{\"a\":1}").await.0, 409);
    let header = [JSON, ("if-match", &*first)];
    assert_eq!(couch.send(Method::PUT, "/db/x", &header, "{\"a\":1}").await.status(), 201);
    let second = revision(&couch, "/db/x").await;
    assert_eq!(couch.put(&format!("/db/x?rev={second}"), "{\"a\":2}").await.0, 201);
    let third = revision(&couch, "/db/x").await;
    assert_eq!(couch.put("/db/x", &format!("{{\"_rev\":\"{third}\"}}")).await.0, 201);
    let last = revision(&couch, "/db/x").await;
    let known = [("if-none-match", &*format!("\"{last}\""))];
    assert_eq!(couch.send(Method::GET, "/db/x", &known, "").await.status(), 304);
    assert_eq!(couch.ask(Method::DELETE, "/db/x", "").await.0, 409);
    assert_eq!(couch.ask(Method::DELETE, &format!("/db/x?rev={last}"), "").await.0, 200);
    let again = couch.put("/db/x", "{}").await.1;
    assert!(again["rev"].as_str().unwrap().starts_with("6-"));
    let (status, made) = couch.post("/db", "{\"a\":1}").await;
    assert_eq!((status, made["id"].as_str().unwrap().len()), (201, 32));
}

/// A revision anywhere in the tree is not missing (CG5).
#[tokio::test]
async fn revisions_anywhere_in_the_tree_are_not_missing() {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"x","_revisions":{"start":3,"ids":["c","b","a"]}},
               {"_id":"x","_revisions":{"start":2,"ids":["y","a"]}}"#,
        )
        .await;
    let asked = r#"{"x":["1-a","2-b","3-c","2-y"],"y":["1-a"],"_bad":["1-a"]}"#;
    let (status, said) = couch.post("/db/_revs_diff", asked).await;
    assert_eq!(
        (status, said),
        (200, json!({"y": {"missing": ["1-a"]}, "_bad": {"missing": ["1-a"]}}))
    );
    let said = couch.post("/db/_revs_diff", r#"{"x":["1-b","3-d"]}"#).await.1;
    assert_eq!(said, json!({"x": {"missing": ["1-b", "3-d"], "possible_ancestors": ["2-y"]}}));
    let said = couch.post("/db/_revs_diff", r#"{"x":["2-b"]}"#).await.1;
    assert_eq!(said, json!({}));
    let said = couch.post("/db/_missing_revs", r#"{"x":["2-b","9-z"]}"#).await.1;
    assert_eq!(said, json!({"missing_revs": {"x": ["9-z"]}}));
}

/// The response has one result for each request, in the same order, and nothing else (CG3). If it
/// does not fit into one piece, it is sent in several, still in order.
#[tokio::test]
async fn however_much_is_asked_for_is_answered() {
    let couch = Couch::new().await;
    let large = "x".repeat(3 << 20);
    for at in 0..8 {
        couch.put(&format!("/db/large{at}"), &format!("{{\"text\":\"{large}\"}}")).await;
    }
    for at in 0..20 {
        couch.put(&format!("/db/small{at}"), "{}").await;
    }
    let ids: Vec<String> = (0..2_500)
        .map(|at| match at % 500 {
            0 => format!("large{}", at / 500),
            1 => "_none".to_owned(),
            2 => "missing".to_owned(),
            at => format!("small{}", at % 20),
        })
        .chain((0..8).map(|at| format!("large{at}")))
        .collect();
    let docs: Vec<String> = ids.iter().map(|id| format!("{{\"id\":\"{id}\"}}")).collect();
    let asked = format!("{{\"docs\":[{}]}}", docs.join(","));
    let (status, said) = couch.post("/db/_bulk_get", &asked).await;
    let results = said["results"].as_array().unwrap();
    assert_eq!((status, results.len()), (200, ids.len()));
    for (id, result) in ids.iter().zip(results) {
        assert_eq!(result["id"], **id);
        let is_there = id.starts_with("large") || id.starts_with("small");
        let answer = &result["docs"][0][if is_there { "ok" } else { "error" }];
        assert!(answer.is_object(), "{id}: {result}");
        assert!(!id.starts_with("large") || answer["text"].as_str() == Some(&*large), "{id}");
    }
    let keys = json!({ "keys": ids }).to_string();
    let (status, said) = couch.post("/db/_all_docs?include_docs=true", &keys).await;
    let rows = said["rows"].as_array().unwrap();
    assert_eq!((status, rows.len(), &said["total_rows"]), (200, ids.len(), &json!(28)));
    for (id, row) in ids.iter().zip(rows) {
        assert_eq!(row["key"], **id);
        let is_there = id.starts_with("large") || id.starts_with("small");
        assert_eq!(row["error"].is_null(), is_there, "{row}");
        assert!(!id.starts_with("large") || row["doc"]["text"].as_str() == Some(&*large), "{id}");
    }
    for none in ["[]", "[7]"] {
        let keys = format!("{{\"keys\":{none}}}");
        let rows = couch.post("/db/_all_docs", &keys).await.1["rows"].take();
        let error = json!([{"key": 7, "error": "not_found"}]);
        assert_eq!(rows, if none == "[]" { json!([]) } else { error });
    }
}

#[tokio::test]
async fn bulk_get_answers_each_question() {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"x","_revisions":{"start":2,"ids":["b","a"]}},
               {"_id":"x","_revisions":{"start":2,"ids":["c","a"]}}"#,
        )
        .await;
    let asked = r#"{"docs":[{"id":"x","rev":"2-b"},{"id":"none","rev":"1-a"},{"id":"x"},{"id":"x","rev":"1-a"},
        {"id":"none"},{"rev":"1-a"},{"id":"x","rev":"bad"},{"id":"x","rev":"2-b"}]}"#;
    let (status, said) = couch.post("/db/_bulk_get?revs=true&latest=true", asked).await;
    assert_eq!((status, said.as_object().unwrap().len()), (200, 1));
    let results = said["results"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|one| one["id"].as_str()).collect();
    let (x, none) = (Some("x"), Some("none"));
    assert_eq!(ids, [x, none, x, x, none, None, x, x]);
    let docs = |at: usize| results[at]["docs"].as_array().unwrap();
    let one = json!({"_id": "x", "_rev": "2-b", "_revisions": {"start": 2, "ids": ["b", "a"]}});
    assert_eq!((docs(0), docs(7)), (&vec![json!({"ok": one})], &vec![json!({"ok": one})]));
    let missing = |id, rev| json!({"error": {"id": id, "rev": rev, "error": "not_found", "reason": "missing"}});
    assert_eq!(docs(1), &[missing("none", "1-a")]);
    assert_eq!((docs(2).len(), docs(3).len()), (2, 2), "all leaves");
    assert_eq!(docs(4), &[missing("none", "undefined")]);
    let unsaid = json!({"error": {"id": null, "rev": null, "error": "bad_request", "reason": "document id missed"}});
    assert_eq!(docs(5), &[unsaid]);
    assert_eq!(docs(6)[0]["error"]["error"], "bad_request");
}

#[tokio::test]
async fn documents_are_listed_by_id_and_by_key() {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"b","_rev":"1-b"},{"_id":"a","_rev":"1-a","n":1},{"_id":"B","_rev":"1-c"},
               {"_id":"gone","_rev":"2-d","_deleted":true},{"_id":"_design/x","_rev":"1-e"}"#,
        )
        .await;
    let ids = async |query: &str| -> Vec<String> {
        let said = couch.get(&format!("/db/_all_docs?{query}")).await.1;
        assert_eq!(said["total_rows"], 4, "{query}");
        let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
        said["rows"].as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!(ids("").await, ["B", "_design/x", "a", "b"]);
    assert_eq!(ids("descending=true&limit=2").await, ["b", "a"]);
    assert_eq!(ids("startkey=%22_%22&endkey=%22a%22").await, ["_design/x", "a"]);
    assert_eq!(ids("start_key=%22a%22&skip=1").await, ["b"]);
    assert_eq!(ids("endkey=%22a%22&inclusive_end=false").await, ["B", "_design/x"]);
    assert_eq!(ids("descending=true&startkey=%22a%22&endkey=%22C%22").await, ["a", "_design/x"]);
    assert_eq!(ids("key=%22a%22").await, ["a"]);
    assert_eq!(ids("limit=0").await, [""; 0]);
    for nothing in ["key=5", "startkey=%7B%7D", "endkey=null", "descending=true&startkey=null"] {
        assert_eq!(ids(nothing).await, [""; 0], "{nothing}");
    }
    assert_eq!(ids("startkey=null&limit=1").await, ["B"]);
    let (_, said) = couch.post("/db/_all_docs", r#"{"limit":1,"descending":true}"#).await;
    assert_eq!(said["rows"][0]["id"], "b");
    let keys = r#"{"keys":["a","none","gone","_bad","a",5]}"#;
    let (_, said) = couch.post("/db/_all_docs?include_docs=true", keys).await;
    let rows = said["rows"].as_array().unwrap();
    assert_eq!(rows[0]["doc"], json!({"_id": "a", "_rev": "1-a", "n": 1}));
    assert_eq!(rows[1], json!({"key": "none", "error": "not_found"}));
    let gone =
        json!({"id": "gone", "key": "gone", "value": {"rev": "2-d", "deleted": true}, "doc": null});
    assert_eq!(rows[2], gone);
    assert_eq!(rows[3], json!({"key": "_bad", "error": "not_found"}));
    let (_, said) = couch
        .post("/db/_all_docs?descending=true&skip=1&limit=1", r#"{"keys":["a","b","B"]}"#)
        .await;
    assert_eq!(said["rows"].as_array().unwrap().len(), 1);
    assert_eq!(said["rows"][0]["id"], "b");
    assert_eq!(rows[4], rows[0]);
    assert_eq!(rows[5], json!({"key": 5, "error": "not_found"}));
}

/// Local documents are not replicated or listed among changes, and are written without conflicts
/// (section 8, CL24).
#[tokio::test]
async fn local_documents_are_written_by_whoever_comes_last() {
    let couch = Couch::new().await;
    let path = "/db/_local/a.b_c%3D%3D";
    let put = async |body: &str| couch.put(path, body).await;
    let written = json!({"ok": true, "id": "_local/a.b_c==", "rev": "0-1"});
    assert_eq!(put(r#"{"n":1,"_revisions":{"start":1,"ids":["x"]}}"#).await, (201, written));
    let document = json!({"_id": "_local/a.b_c==", "_rev": "0-1", "n": 1});
    assert_eq!(couch.get(path).await, (200, document));
    assert_eq!(put(r#"{"_rev":"0-5"}"#).await.1["rev"], "0-6");
    assert_eq!(put("{}").await.1["rev"], "0-1");
    let (_, info) = couch.get("/db").await;
    assert_eq!((&info["doc_count"], &info["update_seq"].as_str().unwrap()[..2]), (&json!(0), "0-"));
    assert_eq!(couch.get("/db/_all_docs").await.1["rows"], json!([]));
    assert_eq!(couch.ask(Method::DELETE, path, "").await.1["rev"], "0-0");
    assert_eq!(couch.get(path).await.0, 404);
}

/// The query that the note plugin sends at each start (CL40).
#[tokio::test]
async fn documents_are_found_by_a_selector() {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"h:+a","_rev":"1-a","type":"leaf"},{"_id":"note","_rev":"1-b","type":"plain","size":3},
               {"_id":"a-bad-leaf","_rev":"1-c","type":"leaf"},{"_id":"z","_rev":"2-d","_deleted":true,"type":"leaf"}"#,
        )
        .await;
    let find = async |body: &str| couch.post("/db/_find", body).await.1["docs"].clone();
    let below = find(r#"{"selector":{"_id":{"$lt":"h:"},"type":"leaf"}}"#).await;
    assert_eq!(below, json!([{"_id": "a-bad-leaf", "_rev": "1-c", "type": "leaf"}]));
    assert_eq!(find(r#"{"selector":{"_id":{"$gt":"h;"},"type":"leaf"}}"#).await, json!([]));
    let fields = find(r#"{"selector":{"size":{"$gt":2}},"fields":["_id","size"]}"#).await;
    assert_eq!(fields, json!([{"_id": "note", "size": 3}]));
    let limited = find(r#"{"selector":{},"limit":1,"skip":1}"#).await;
    assert_eq!(limited[0]["_id"], "h:+a");
}

/// Results are paged, in ascending or descending order, and each response contains the bookmark of
/// the next page.
#[tokio::test]
async fn find_results_are_paged_by_bookmarks() {
    let couch = Couch::new().await;
    let all: Vec<String> = (0..7).map(|it| format!("{it}/\u{e4}")).collect();
    for id in &all {
        let document = json!({"_id": id, "n": {"of": id.len()}, "odd": id.as_bytes()[0] % 2 == 1});
        assert_eq!(couch.post("/db", &document.to_string()).await.0, 201);
    }
    for (sort, is_descending) in [("[]", false), (r#"[{"_id":"desc"}]"#, true)] {
        let (mut bookmark, mut found) = ("nil".to_owned(), Vec::new());
        loop {
            let asked = format!(
                r#"{{"selector":{{"odd":false}},"limit":3,"fields":["_id","n.of"],"sort":{sort},"bookmark":"{bookmark}"}}"#
            );
            let (status, told) = couch.post("/db/_find", &asked).await;
            assert_eq!(status, 200, "{told}");
            let docs = told["docs"].as_array().unwrap().clone();
            assert!(docs.len() <= 3);
            let next = told["bookmark"].as_str().unwrap().to_owned();
            assert_eq!(next == bookmark, docs.is_empty());
            bookmark = next;
            if docs.is_empty() {
                break;
            }
            found.extend(docs);
        }
        let even = all.iter().step_by(2).map(|id| json!({"_id": id, "n": {"of": 4}}));
        let mut even: Vec<Value> = even.collect();
        if is_descending {
            even.reverse();
        }
        assert_eq!(found, even, "{sort}");
    }
    let asked = r#"{"selector":{},"sort":["n"]}"#;
    let (status, told) = couch.post("/db/_find", asked).await;
    assert_eq!((status, &told["error"]), (400, &json!("no_usable_index")));
    couch.replicate(r#"{"_id":"c","_rev":"1-a"},{"_id":"c","_rev":"1-b"}"#).await;
    let (_, told) = couch.post("/db/_find", r#"{"selector":{"_id":"c"},"conflicts":true}"#).await;
    assert_eq!(told["docs"][0]["_conflicts"], json!(["1-a"]));
    // A selector without matches gets an empty result, and an invalid one is refused.
    let (_, told) = couch.post("/db/_find", r#"{"selector":{"_id":"none"}}"#).await;
    assert_eq!((&told["docs"], &told["bookmark"]), (&json!([]), &json!("nil")));
    let (status, _) =
        couch.post("/db/_find", r#"{"selector":{"_attachments":{"$exists":true}}}"#).await;
    assert_eq!(status, 400);
}

/// Local documents may be sent among others, and are written after them (section 8).
#[tokio::test]
async fn local_documents_may_come_among_others() {
    let couch = Couch::new().await;
    let body =
        r#"{"docs":[{"_id":"_local/c","n":1},{"_id":"x"},{"_id":"_local/c","_rev":"0-4","n":2}]}"#;
    let (status, told) = couch.post("/db/_bulk_docs", body).await;
    assert_eq!(status, 201);
    assert_eq!(told[0], json!({"ok": true, "id": "_local/c", "rev": "0-1"}));
    assert_eq!((&told[1]["id"], &told[2]["rev"]), (&json!("x"), &json!("0-5")));
    assert_eq!(
        couch.get("/db/_local/c").await.1,
        json!({"_id": "_local/c", "_rev": "0-5", "n": 2})
    );
    couch.replicate(r#"{"_id":"_local/d","n":3},{"_id":"y","_rev":"1-a"}"#).await;
    assert_eq!(couch.get("/db/_local/d").await.1["n"], 3);
    let posted = couch.post("/db", r#"{"_id":"_local/e","n":4}"#).await;
    assert_eq!(posted, (201, json!({"ok": true, "id": "_local/e", "rev": "0-1"})));
    let gone = r#"{"docs":[{"_id":"_local/e","_deleted":true}]}"#;
    assert_eq!(couch.post("/db/_bulk_docs", gone).await.1[0]["rev"], "0-0");
    assert_eq!(couch.get("/db/_local/e").await.0, 404);
    // One invalid document prevents all of them from being written.
    let faulty = r#"{"docs":[{"_id":"z"},{"_id":"_local/f"},{"_id":"_local/g","_rev":"1-a"}]}"#;
    assert_eq!(couch.post("/db/_bulk_docs", faulty).await.0, 400);
    assert_eq!((couch.get("/db/z").await.0, couch.get("/db/_local/f").await.0), (404, 404));
    assert_eq!(couch.get("/db").await.1["doc_count"], 2);
}

/// The location of a created resource leads to it.
#[tokio::test]
async fn location_leads_to_the_created_resource() {
    let couch = Couch::new().await;
    let design = "/db/_design/views";
    for (method, path, location) in [
        (Method::PUT, "/db/a%2Fb%20c", "/couch/db/a%2Fb%20c"),
        (Method::PUT, design, "/couch/db/_design/views"),
        (Method::PUT, "/db/n/p/q%20r", "/couch/db/n/p/q%20r"),
        (Method::PUT, "/a%2Fb", "/couch/a%2Fb"),
    ] {
        let made = couch.send(method, path, &[JSON], "{}").await;
        assert_eq!(made.status(), 201, "{path}");
        let found = text(&made, "location").to_owned();
        assert_eq!(found, format!("http://localhost:4287{location}"));
        let there = couch.send(Method::GET, location.trim_start_matches("/couch"), &[], "").await;
        assert_eq!(there.status(), 200, "{path}");
    }
    let posted = couch.send(Method::POST, "/db", &[JSON], "{}").await;
    assert!(text(&posted, "location").starts_with("http://localhost:4287/couch/db/"));
}

/// The depth limit of a document is the same for a single PUT and among others (section 6).
#[tokio::test]
async fn documents_are_as_deep_however_they_come() {
    let couch = Couch::new().await;
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, fits) in [(511, true), (512, false)] {
        let document = format!("{{\"deep\":{}}}", deep(levels));
        let put = couch.put(&format!("/db/put{levels}"), &document).await.0;
        assert_eq!(put, if fits { 201 } else { 400 });
        let sent = format!("{{\"docs\":[{{\"_id\":\"sent{levels}\",\"deep\":{}}}]}}", deep(levels));
        let (sent, told) = couch.post("/db/_bulk_docs", &sent).await;
        assert_eq!(sent, if fits { 201 } else { 400 }, "{told}");
    }
    let asked = r#"{"docs":[{"id":"put511"}]}"#;
    let (status, _) = couch.post("/db/_bulk_get", asked).await;
    assert_eq!(status, 200);
}

/// The limits on the number and types of attachments hold for every way of sending them.
#[tokio::test]
async fn attachments_have_bounds_also_one_by_one() {
    let couch = Couch::new().await;
    let stubs: Vec<String> = (0..1_000).map(|it| format!("\"{it}\":{{\"data\":\"\"}}")).collect();
    let full = format!("{{\"_attachments\":{{{}}}}}", stubs.join(","));
    let (status, told) = couch.put("/db/full", &full).await;
    assert_eq!(status, 201);
    let path = format!("/db/full/more?rev={}", told["rev"].as_str().unwrap());
    assert_eq!(couch.put(&path, "x").await.0, 400);
    let path = path.replace("/more", "/7");
    assert_eq!(couch.put(&path, "x").await.0, 201, "one of them is replaced");
    let long = format!("text/{}", "x".repeat(4_096));
    let kind = [("content-type", &*long)];
    assert_eq!(couch.send(Method::PUT, "/db/new/a", &kind, "x").await.status(), 400);
}

/// Signatures are any text, including characters that JSON must escape.
#[tokio::test]
async fn odd_revisions_stand_in_answers_as_json() {
    let couch = Couch::new().await;
    couch.replicate(r#"{"_id":"x","_rev":"1-a\"b"}"#).await;
    let path = "/db/x?open_revs=%5B%221-c%5C%22d%22%5D";
    let answer = couch.send(Method::GET, path, &[], "").await;
    let told = String::from_utf8(bytes(answer).await.to_vec()).unwrap();
    assert!(told.contains(r#"{"missing":"1-c\"d"}"#), "{told}");
    let (status, purged) = couch.post("/db/_purge", r#"{"x":["1-a\"b"]}"#).await;
    assert_eq!((status, &purged["purged"]["x"]), (201, &json!(["1-a\"b"])));
}

/// Many revisions of one document are read together, and each is sent in its position.
#[tokio::test]
async fn many_revisions_of_one_document_are_told_each_in_its_place() {
    let couch = Couch::new().await;
    let leaf =
        |number: usize| format!("{{\"_id\":\"x\",\"_rev\":\"1-{number:05}\",\"n\":{number}}}");
    couch.replicate(&(0..3_000).map(leaf).collect::<Vec<_>>().join(",")).await;
    couch.replicate("{\"_id\":\"y\",\"_rev\":\"1-y\"}").await;
    let ask = |number: usize| match number % 100 {
        7 => r#"{"id":"y","rev":"1-y"}"#.to_owned(),
        8 => r#"{"id":"none"}"#.to_owned(),
        9 => r#"{"id":"x","rev":"9-x"}"#.to_owned(),
        _ => format!("{{\"id\":\"x\",\"rev\":\"1-{number:05}\"}}"),
    };
    let asked: Vec<String> = (0..3_000).map(ask).collect();
    for latest in [false, true] {
        let body = format!("{{\"docs\":[{}]}}", asked.join(","));
        let (_, told) = couch.post(&format!("/db/_bulk_get?latest={latest}"), &body).await;
        let told = told["results"].as_array().unwrap();
        assert_eq!(told.len(), 3_000);
        for (number, one) in told.iter().enumerate() {
            let one = &one["docs"][0];
            match number % 100 {
                7 => assert_eq!(one["ok"]["_rev"], "1-y"),
                8 | 9 => assert_eq!(one["error"]["error"], "not_found"),
                _ => assert_eq!(one["ok"]["n"], number),
            }
        }
    }
}
