//! Tests of requests to `_replicate`.

use super::{ReplicateCommand, ReplicateRequest, ReplicationFilter, ReplicationSide};
use crate::json::Json;
use crate::refusal::Refusal;

fn parse(text: &str) -> Result<ReplicateCommand, Refusal> {
    ReplicateCommand::parse(Json::read(text.as_bytes().to_vec()).unwrap().root())
}

/// Parses a request for a replication between two local databases with more members.
fn with(members: &str) -> Result<ReplicateRequest, Refusal> {
    match parse(&format!("{{\"source\":\"a\",\"target\":\"b\"{members}}}"))? {
        ReplicateCommand::Begin(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

#[test]
fn databases_are_names_addresses_or_objects() {
    let text = r#"{"source":{"url":"https://x.example/db","headers":{"X-A":"secret"},
        "auth":{"basic":{"username":"anna","password":"secret"}}},"target":"db"}"#;
    let ReplicateCommand::Begin(request) = parse(text).unwrap() else { panic!() };
    let ReplicationSide::Remote(source) = &request.source else { panic!() };
    assert_eq!(source.url, "https://x.example/db");
    assert_eq!(source.credentials, Some(("anna".to_owned(), "secret".to_owned())));
    assert_eq!(source.headers, [("X-A".to_owned(), "secret".to_owned())]);
    assert_eq!(request.target, ReplicationSide::Local("db".parse().unwrap()));
    assert!(!format!("{request:?}").contains("secret"));
    for (side, status) in [
        ("1", 400),
        ("\"Capital\"", 400),
        ("{}", 400),
        (r#"{"url":"a","headers":{"a":"b"}}"#, 400),
        (r#"{"url":"https://x.example/db","headers":{"a":1}}"#, 400),
        (r#"{"url":"https://x.example/db","headers":[]}"#, 400),
        (r#"{"url":"https://x.example/db","auth":{"basic":{"username":"a"}}}"#, 400),
        (r#"{"url":"https://x.example/db","auth":{"oauth":{}}}"#, 400),
        (r#"{"url":"https://x.example/db","proxy":"x"}"#, 400),
    ] {
        let refusal = parse(&format!("{{\"source\":{side},\"target\":\"b\"}}")).unwrap_err();
        assert_eq!(refusal.kind.status(), status, "{side}");
    }
}

#[test]
fn members_that_would_change_the_result_are_refused() {
    for members in [
        r#","checkpoint_interval":5000,"http_connections":4,"worker_processes":2,"retries_per_request":1"#,
        r#","winning_revs_only":false,"use_bulk_get":true,"create_target_params":{"q":1}"#,
        r#","query_params":{},"socket_options":"[]","connection_timeout":1,"worker_batch_size":9"#,
    ] {
        with(members).unwrap();
    }
    for (members, status) in [
        (r#","winning_revs_only":true"#, 501),
        (r#","filter":"d/f""#, 501),
        (r#","source_proxy":"http://x.example""#, 501),
        (r#","user_ctx":{"name":"x"}"#, 501),
        (r#","create_target_params":{"partitioned":true}"#, 501),
        (r#","doc_id":["a"]"#, 400),
        (r#","worker_processes":"4""#, 400),
        (r#","continuous":"true""#, 400),
        (r#","doc_ids":"a""#, 400),
        (r#","doc_ids":[1]"#, 400),
        (r#","doc_ids":[],"selector":{}"#, 400),
        (r#","selector":{"$a":1}"#, 400),
        (r#","since_seq":{}"#, 400),
        (r#","replication_id":"a""#, 400),
    ] {
        assert_eq!(with(members).unwrap_err().kind.status(), status, "{members}");
    }
    for text in ["[]", "{}", r#"{"source":"a"}"#, r#"{"target":"a"}"#, r#"{"cancel":true}"#] {
        assert_eq!(parse(text).unwrap_err().kind.status(), 400, "{text}");
    }
}

#[test]
fn options_are_read() {
    let request = with("").unwrap();
    assert!(!request.is_continuous && !request.creates_target && request.uses_checkpoints);
    assert!(request.since.is_none() && request.filter.identity().is_empty());
    let request = with(
        r#","continuous":true,"create_target":true,"use_checkpoints":false,"since_seq":"7-x","doc_ids":["b","a","b"]"#,
    );
    let request = request.unwrap();
    assert!(request.is_continuous && request.creates_target && !request.uses_checkpoints);
    assert_eq!(request.since.unwrap().as_json(), "\"7-x\"");
    assert!(matches!(request.filter, ReplicationFilter::Ids(ids) if ids == ["a", "b"]));
    let request = with(r#","selector":{"n":1.0}"#).unwrap();
    assert_eq!(request.filter.identity(), r#"selector {"n":1.0}"#);
    let cancel = parse(r#"{"source":"a","target":"b","cancel":true}"#).unwrap();
    assert!(matches!(cancel, ReplicateCommand::Cancel(_)));
    let cancel = parse(r#"{"replication_id":"x+continuous","cancel":true}"#).unwrap();
    assert!(matches!(cancel, ReplicateCommand::CancelId(id) if id == "x+continuous"));
}

#[test]
fn documents_describe_replications_with_the_members_of_requests() {
    let read = |text: &str| {
        ReplicateRequest::of_document(Json::read(text.as_bytes().to_vec()).unwrap().root())
    };
    let text = r#"{"source":"a","target":"b","continuous":true,"owner":"anna","user_ctx":{"roles":[]},
        "_replication_state":"triggered","_replication_id":"x"}"#;
    assert!(read(text).unwrap().is_continuous);
    for (text, status) in [
        (r#"{"source":"a"}"#, 400),
        (r#"{"target":"a"}"#, 400),
        (r#"{"source":"a","target":"b","cancel":true}"#, 400),
        (r#"{"source":"a","target":"b","replication_id":"x"}"#, 400),
        (r#"{"source":"a","target":"b","doc_id":["x"]}"#, 400),
        (r#"{"source":"a","target":"b","filter":"d/f"}"#, 501),
    ] {
        assert_eq!(read(text).unwrap_err().kind.status(), status, "{text}");
    }
}
