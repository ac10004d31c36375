//! Commands of a script: a page subscribes, reads, and edits with and without a network.

use serde_json::{Value, json};

use crate::script::Script;

pub(crate) const FEED: &str = "https://notes.example/feed";
pub(crate) const ENTRY: &str = "https://notes.example/entry/a";
pub(crate) const ATOM: &str = "application/atom+xml";

pub(crate) fn entry(title: &str) -> String {
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom'><id>urn:{title}</id><title>{title}</title>\
         <updated>2026-01-01T00:00:00Z</updated><author><name>a</name></author></entry>"
    )
}

pub(crate) fn feed() -> String {
    let entry = entry("a").replace("</entry>", "<link rel='edit' href='/entry/a'/></entry>");
    format!(
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'><id>urn:f</id>\
         <title>f</title><updated>2026-01-01T00:00:00Z</updated><app:collection href='/feed'/>{entry}</feed>"
    )
}

/// Status and text of a response; none if the server cannot be reached.
pub(crate) type Answer = Option<(u16, String)>;

/// Answers the requests of the worker itself until none is due.
pub(crate) fn serve(script: &mut Script, answer: &mut dyn FnMut(&str, &str, &str) -> Answer) {
    loop {
        let begun = script.run(json!({ "do": "begin" }));
        let tasks = begun["tasks"].as_array().unwrap().clone();
        if tasks.is_empty() {
            return;
        }
        for task in tasks {
            let (method, url) = (task["method"].as_str().unwrap(), task["url"].as_str().unwrap());
            let body = task["body"].as_str().unwrap_or_default();
            let finished = match answer(method, url, body) {
                Some((status, text)) => {
                    let content = script.received(&text);
                    let headers =
                        json!([["content-type", ATOM], ["etag", format!("\"{}\"", &content[..8])]]);
                    json!({ "response": { "status": status, "headers": headers, "content": content } })
                }
                None => json!({ "perhapsArrived": false }),
            };
            let mut command = finished;
            command["do"] = json!("finished");
            command["id"] = task["id"].clone();
            script.run(command);
        }
    }
}

pub(crate) fn origin(_: &str, url: &str, _: &str) -> Answer {
    Some((200, if url == FEED { feed() } else { entry("a") }))
}

pub(crate) fn subscribed() -> Script {
    let mut script = Script::new();
    let made =
        script.control("POST", "/subscriptions", json!({ "feed": FEED, "follows": ["edit"] }));
    assert_eq!(made["status"], 201, "{made}");
    serve(&mut script, &mut origin);
    let list = script.control("GET", "/subscriptions", Value::Null);
    assert_eq!(list["body"][0]["state"], "WAITING", "{list}");
    script
}

pub(crate) fn request(script: &mut Script, method: &str, url: &str) -> Value {
    let headers = json!([["content-type", "application/atom+xml;type=entry"]]);
    script.run(json!({ "do": "request", "method": method, "url": url, "headers": headers }))
}

pub(crate) fn edit(script: &mut Script, method: &str, url: &str, body: &str) -> Value {
    let content = script.received(body);
    let headers = json!([["content-type", "application/atom+xml;type=entry"]]);
    script.run(json!({
        "do": "edit", "method": method, "url": url, "headers": headers, "content": content, "page": "p",
    }))
}

pub(crate) fn offline(script: &mut Script) {
    script.run(json!({ "do": "reached", "url": FEED, "did": false }));
}

#[test]
fn page_reads_and_edits_without_a_network_and_the_edit_leaves_later() {
    let mut script = subscribed();
    offline(&mut script);
    let read = request(&mut script, "GET", ENTRY);
    assert_eq!(read["reply"]["status"], 200, "{read}");
    assert_eq!(request(&mut script, "PUT", ENTRY), json!({ "edit": true, "location": ENTRY }));
    let taken = edit(&mut script, "PUT", ENTRY, &entry("mine"));
    assert_eq!(taken["reply"]["status"], 200, "{taken}");
    script.again();
    let shown = request(&mut script, "GET", ENTRY);
    assert_eq!(shown["reply"]["body"]["length"], entry("mine").len(), "{shown}");
    let feed = request(&mut script, "GET", FEED);
    let composed = script.worker.take_composed();
    assert_eq!(feed["reply"]["body"]["composed"], composed.len());
    assert!(String::from_utf8(composed).unwrap().contains("<title>mine</title>"));
    script.control("POST", "/outbox/retry", Value::Null);
    let mut sent = Vec::new();
    serve(&mut script, &mut |method, url, body| {
        sent.push(format!("{method} {url}"));
        origin(method, url, body)
    });
    assert!(sent.contains(&format!("PUT {ENTRY}")), "{sent:?}");
    assert_eq!(script.control("GET", "/outbox", Value::Null)["body"], json!([]));
}

#[test]
fn commit_that_fails_leaves_the_worker_as_it_was() {
    let mut script = subscribed();
    offline(&mut script);
    let content = script.received(&entry("mine"));
    let command = json!({
        "do": "edit", "method": "PUT", "url": ENTRY, "content": content, "page": "p",
        "headers": [["content-type", "application/atom+xml;type=entry"]],
    });
    let rows = script.rows.clone();
    script.fails = true;
    script.try_run(command.clone()).unwrap_err();
    assert_eq!(script.rows, rows);
    assert_eq!(script.control("GET", "/outbox", Value::Null)["body"], json!([]));
    offline(&mut script);
    assert_eq!(script.run(command)["reply"]["status"], 200, "the next attempt succeeds");
    assert_eq!(script.control("GET", "/outbox", Value::Null)["body"].as_array().unwrap().len(), 1);
}

#[test]
fn edit_with_a_network_is_forwarded_and_its_response_is_the_servers() {
    let mut script = subscribed();
    let taken = edit(&mut script, "PUT", ENTRY, &entry("mine"));
    assert_eq!(taken["forward"]["url"], ENTRY, "{taken}");
    let response = json!({ "status": 200, "headers": [["etag", "\"new\""]] });
    let told = script
        .run(json!({ "do": "forwarded", "id": taken["forward"]["id"], "response": response }));
    assert_eq!(told, json!({ "reply": null }));
    let again = json!({ "do": "forwarded", "id": taken["forward"]["id"], "perhapsArrived": true });
    assert_eq!(script.run(again), Value::Null, "it is known once");
}

#[test]
fn commands_that_cannot_be_read_are_refused_by_name_and_change_nothing() {
    let mut script = subscribed();
    let rows = script.rows.clone();
    for (command, part) in [
        (json!({}), "do"),
        (json!({ "do": "unknown" }), "unknown"),
        (json!({ "do": "request", "method": "GET", "url": "no address", "headers": [] }), "url"),
        (json!({ "do": "request", "method": "A B", "url": FEED, "headers": [] }), "method"),
        (
            json!({ "do": "request", "method": "GET", "url": FEED, "headers": [["a b", "c"]] }),
            "headers",
        ),
        (
            json!({ "do": "edit", "method": "PUT", "url": ENTRY, "headers": [], "content": "short" }),
            "content",
        ),
        (json!({ "do": "finished", "id": "x" }), "id"),
        (json!({ "do": "control", "method": "GET" }), "page"),
    ] {
        let failed = script.try_run(command.clone()).unwrap_err();
        let text = failed["invalid"].as_str().unwrap();
        assert!(text.contains(part), "{command}: {text}");
    }
    assert_eq!(script.rows, rows);
    assert_eq!(script.worker.run(&json!([1])).get("result"), None);
}

#[test]
fn messages_of_a_page_begin_with_the_whole_state_and_continue_with_its_changes() {
    let mut script = Script::new();
    script.run(json!({ "do": "connect", "page": "p" }));
    let names = |script: &mut Script| -> Vec<String> {
        let messages = script.run(json!({ "do": "messages" }));
        let all = messages.as_array().unwrap().iter();
        all.map(|message| message[1].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut script), ["all", "filled", "outbox"]);
    script.control("POST", "/subscriptions", json!({ "feed": FEED, "follows": ["edit"] }));
    assert_eq!(names(&mut script), ["subscription"]);
    serve(&mut script, &mut origin);
    let changes = names(&mut script);
    assert_eq!(changes.first().map(String::as_str), Some("subscription"), "{changes:?}");
    assert!(changes.contains(&"state".to_owned()), "{changes:?}");
    script.run(json!({ "do": "disconnect", "page": "p" }));
    script.control("POST", "/refresh", Value::Null);
    assert_eq!(names(&mut script), [""; 0]);
}

#[test]
fn request_that_comes_again_after_the_worker_was_stopped_is_the_same_edit() {
    let mut script = subscribed();
    offline(&mut script);
    let taken = edit(&mut script, "POST", FEED, &entry("new"));
    script.again();
    offline(&mut script);
    assert_eq!(edit(&mut script, "POST", FEED, &entry("new")), taken);
    let outbox = |script: &mut Script| {
        script.control("GET", "/outbox", Value::Null)["body"].as_array().unwrap().len()
    };
    assert_eq!(outbox(&mut script), 1);
    // The same request of a page that has its response is another edit.
    script.now += 120_000;
    assert_eq!(edit(&mut script, "POST", FEED, &entry("new"))["reply"]["status"], 201);
    assert_eq!(outbox(&mut script), 2);
}

#[test]
fn edit_that_was_being_sent_when_the_worker_was_stopped_is_looked_for_before_it_is_sent() {
    let mut script = subscribed();
    let sent = edit(&mut script, "POST", FEED, &entry("new"));
    assert_eq!(sent["forward"]["url"], FEED, "{sent}");
    script.again();
    let again = edit(&mut script, "POST", FEED, &entry("new"));
    assert_eq!(again["reply"]["status"], 201, "{again}");
    let outbox = script.control("GET", "/outbox", Value::Null)["body"].clone();
    assert_eq!((outbox.as_array().unwrap().len(), &outbox[0]["progress"]), (1, &json!("doubtful")));
}

#[test]
fn response_of_a_server_is_given_again_to_a_page_whose_worker_was_stopped() {
    let mut script = subscribed();
    let sent = edit(&mut script, "POST", FEED, &entry("new"));
    let content = script.received(&entry("made"));
    let response =
        json!({ "status": 201, "headers": [["location", "/entry/new"]], "content": content });
    script.run(json!({ "do": "forwarded", "id": sent["forward"]["id"], "response": response }));
    script.again();
    let again = edit(&mut script, "POST", FEED, &entry("new"));
    assert_eq!(again["reply"]["status"], 201, "{again}");
    assert_eq!(again["reply"]["body"]["length"], entry("made").len(), "{again}");
    assert_eq!(again["reply"]["headers"], json!([["location", "/entry/new"]]));
}
