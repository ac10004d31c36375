//! `_changes` whose rows are selected by functions of design documents.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use feedsync_endpoint::documents::functions::{Call, CallError, DesignFunctions, DesignSource};
use feedsync_server::Config;
use futures_util::StreamExt as _;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{Couch, JSON};
use crate::hub::{TestHub, hub_in};

/// Accepts the documents whose text contains the text of the function. It fails if that is `fail`, or if that is `fail
/// later` and one of the documents is `0200`. It takes long if that is `slow`.
#[derive(Default)]
struct Words {
    calls: Mutex<Vec<Called>>,
}

/// The name of the function, the request if it is a filter function, and the documents.
type Called = (String, Option<Value>, Vec<Value>);

#[async_trait]
impl DesignFunctions for Words {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        let source: Value = serde_json::from_str(&design.source).unwrap();
        let (word, name, request, documents) = match call {
            Call::Filter { name, documents, request } => {
                (&source["filters"][name], name, serde_json::from_str(request).ok(), documents)
            }
            Call::FilterByView { view, documents } => {
                (&source["views"][view]["map"], view, None, documents)
            }
            other => unreachable!("{other:?}"),
        };
        let read = documents.iter().map(|text| serde_json::from_str(text).unwrap());
        self.calls.lock().unwrap().push(((*name).to_owned(), request, read.collect()));
        let is_late = documents.iter().any(|text| text.contains("\"0200\""));
        match word.as_str().unwrap() {
            "slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "fail later" if !is_late => {}
            "fail" | "fail later" => return Err(CallError::Thrown("it".to_owned())),
            _ => {}
        }
        let accepted = documents.iter().map(|text| text.contains(word.as_str().unwrap()));
        Ok(json!(accepted.collect::<Vec<bool>>()).to_string())
    }
}

async fn couch() -> (Couch, Arc<Words>) {
    let (directory, words) = (TempDir::new().unwrap(), Arc::new(Words::default()));
    let TestHub { endpoint, .. } = hub_in(directory.path()).await;
    let endpoint = endpoint.with_functions(Arc::clone(&words) as _);
    let couch = Couch::over(endpoint, Config::default(), directory).await;
    couch
        .replicate(
            r#"{"_id":"_design/d","_rev":"1-d","filters":{"note":"type\":\"note","fail":"fail","slow":"slow","later":"fail later"},
                "views":{"v":{"map":"type\":\"leaf"}}},
               {"_id":"_design/erlang","_rev":"1-d","language":"erlang","filters":{"f":"x"}},
               {"_id":"a","_rev":"1-a","type":"note"},{"_id":"b","_rev":"1-b","type":"leaf"},
               {"_id":"a","_rev":"1-c","type":"leaf"},{"_id":"c","_rev":"1-c","type":"leaf"},
               {"_id":"g","_rev":"2-g","_revisions":{"start":2,"ids":["g","f"]},"_deleted":true,"type":"note"}"#,
        )
        .await;
    (couch, words)
}

fn rows(said: &Value) -> Vec<(&str, &Value)> {
    let rows = said["results"].as_array().unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap(), &row["changes"])).collect()
}

#[tokio::test]
async fn functions_select_changes() {
    let (couch, words) = couch().await;
    let all = couch.get("/db/_changes").await.1;
    let (status, notes) = couch.get("/db/_changes?filter=d/note").await;
    assert_eq!(status, 200);
    // The winner of `a` is a leaf; a deleted document is a note.
    assert_eq!(rows(&notes), [("g", &json!([{"rev": "2-g"}]))]);
    assert_eq!((&notes["last_seq"], &notes["pending"]), (&all["last_seq"], &json!(0)));
    assert_eq!(notes["results"][0]["deleted"], true);
    // Of all leaves those are listed that the function accepts.
    let (_, notes) = couch.get("/db/_changes?filter=d/note&style=all_docs").await;
    assert_eq!(rows(&notes), [("a", &json!([{"rev": "1-a"}])), ("g", &json!([{"rev": "2-g"}]))]);
    let (_, leaves) =
        couch.get("/db/_changes?filter=_view&view=d/v&include_docs=true&descending=true").await;
    let found: Vec<_> = rows(&leaves).iter().map(|(id, _)| *id).collect();
    assert_eq!(found, ["c", "b", "a"]);
    assert_eq!(leaves["results"][2]["doc"]["_rev"], "1-c");
    let calls = words.calls.lock().unwrap();
    let given: Vec<&Value> = calls[1].2.iter().collect();
    let deleted = json!({"_id": "g", "_rev": "2-g", "_deleted": true, "type": "note",
        "_revisions": {"start": 2, "ids": ["g", "f"]}});
    assert!(given.contains(&&deleted), "{given:?}");
    assert_eq!((&*calls[2].0, &calls[2].1), ("v", &None));
}

#[tokio::test]
async fn functions_get_the_request_without_credentials() {
    let (couch, words) = couch().await;
    let path = "/db/_changes?filter=d/note&owner=anna%20b&key=%5B1%5D&descending=true";
    let headers = [
        JSON,
        ("accept-language", "de"),
        ("authorization", "Basic c2VjcmV0"),
        ("cookie", "AuthSession=secret"),
        ("x-auth-token", "secret"),
    ];
    // Where no one signs in, credentials are ignored.
    couch.send(Method::POST, path, &headers[..2], "{}").await;
    couch.send(Method::POST, path, &headers, "{}").await;
    let calls = words.calls.lock().unwrap();
    for (_, request, _) in calls.iter() {
        let request = request.as_ref().unwrap();
        assert!(!request.to_string().contains("ecret"), "{request}");
        assert_eq!(
            request["query"],
            json!({"filter": "d/note", "owner": "anna b", "key": [1], "descending": true})
        );
        assert_eq!((&request["method"], &request["id"]), (&json!("POST"), &Value::Null));
        assert_eq!(request["path"], json!(["db", "_changes"]));
        assert_eq!(request["headers"]["Accept-Language"], "de");
        assert_eq!(request["userCtx"]["db"], "db");
        assert_eq!(request["info"]["db_name"], "db");
        assert!(request["secObj"]["members"].is_object());
    }
    assert!(!calls.is_empty());
}

#[tokio::test]
async fn failing_functions_end_the_feed_with_an_error() {
    let (couch, _) = couch().await;
    for feed in ["normal", "longpoll", "continuous", "eventsource"] {
        let (status, said) = couch.get(&format!("/db/_changes?filter=d/fail&feed={feed}")).await;
        assert_eq!((status, &said["error"]), (500, &json!("os_process_error")), "{feed}");
    }
    for (path, status, reason) in [
        ("filter=d/none", 404, "missing json key: none"),
        ("filter=none/note", 404, "missing"),
        ("filter=_view&view=d/none", 404, "missing_named_view"),
        ("filter=erlang/f", 501, "the functions of _design/erlang are not in JavaScript"),
    ] {
        let (found, said) = couch.get(&format!("/db/_changes?{path}")).await;
        assert_eq!((found, &said["reason"]), (status, &json!(reason)), "{path}");
    }
    // After the first rows, an error interrupts the response.
    let document = |at: usize| format!("{{\"_id\":\"{at:04}\",\"_rev\":\"1-a\"}}");
    couch.replicate(&(0..250).map(document).collect::<Vec<_>>().join(",")).await;
    let response = couch.send(Method::GET, "/db/_changes?filter=d/later", &[], "").await;
    assert_eq!(response.status(), 200);
    let pieces: Vec<_> = response.into_body().into_data_stream().collect().await;
    assert!(pieces.last().unwrap().is_err());
}

#[tokio::test]
async fn selected_changes_are_paged_and_limited() {
    let (couch, words) = couch().await;
    let document = |at: usize| {
        let kind = if at.is_multiple_of(2) { "note" } else { "leaf" };
        format!("{{\"_id\":\"{at:04}\",\"_rev\":\"1-a\",\"type\":\"{kind}\"}}")
    };
    couch.replicate(&(0..450).map(document).collect::<Vec<_>>().join(",")).await;
    let (_, notes) = couch.get("/db/_changes?filter=d/note").await;
    assert_eq!(rows(&notes).len(), 226);
    let (mut since, mut walked) = (json!("0"), 0);
    loop {
        let since_text = since.as_str().unwrap();
        let path = format!("/db/_changes?filter=d/note&limit=60&since={since_text}");
        let (_, said) = couch.get(&path).await;
        walked += rows(&said).len();
        since = said["last_seq"].clone();
        if rows(&said).len() < 60 {
            break;
        }
    }
    assert_eq!(walked, 226);
    let calls = words.calls.lock().unwrap();
    assert!(calls.iter().all(|(_, _, documents)| documents.len() <= 100));
}

#[tokio::test]
async fn feeds_beat_while_functions_reject_everything() {
    let (couch, _) = couch().await;
    let path = "/db/_changes?filter=d/slow&feed=continuous&since=now&heartbeat=50";
    let mut open = couch.send(Method::GET, path, &[], "").await.into_body().into_data_stream();
    let document = |at: usize| format!("{{\"_id\":\"{at:04}\",\"_rev\":\"1-a\"}}");
    couch.replicate(&(0..250).map(document).collect::<Vec<_>>().join(",")).await;
    for _ in 0..12 {
        // A page takes longer than this.
        let next = timeout(Duration::from_millis(250), open.next()).await.unwrap();
        assert_eq!(next.unwrap().unwrap(), "\n");
    }
    couch.put("/db/slow", "{}").await;
    let row = async {
        loop {
            let piece = open.next().await.unwrap().unwrap();
            if piece != "\n" {
                return String::from_utf8(piece.to_vec()).unwrap();
            }
        }
    };
    let row = timeout(Duration::from_secs(20), row).await.unwrap();
    assert!(row.contains("\"slow\""), "{row}");
    let path = "/db/_changes?filter=d/note&feed=longpoll&since=now&timeout=20";
    let (_, said) = couch.get(path).await;
    assert_eq!((rows(&said).len(), &said["pending"]), (0, &json!(0)));
}
