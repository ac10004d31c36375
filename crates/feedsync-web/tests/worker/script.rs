//! The script of the worker: it loads what commands lack, and commits what they write.

use std::collections::BTreeMap;

use feedsync_bitsy::interceptor::Content;
use feedsync_web::{Found, Worker};
use serde_json::{Value, json};

/// A worker with its stored data.
pub(crate) struct Script {
    pub(crate) worker: Worker,
    pub(crate) rows: BTreeMap<String, String>,
    contents: BTreeMap<String, Vec<u8>>,
    pub(crate) now: u64,
    /// Whether the next commit fails.
    pub(crate) fails: bool,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self {
            worker: Worker::restored(&BTreeMap::new()),
            rows: BTreeMap::new(),
            contents: BTreeMap::new(),
            now: 1_700_000_000_000,
            fails: false,
        }
    }

    /// Stores bytes, and returns their name in commands.
    pub(crate) fn received(&mut self, bytes: &str) -> String {
        let content = Content::of(bytes.as_bytes());
        self.contents.insert(content.digest.to_string(), bytes.as_bytes().to_vec());
        format!("{} {}", content.digest, content.length)
    }

    /// Rows whose keys begin so.
    fn prefixed(&self, prefix: &str) -> BTreeMap<String, String> {
        let rows = self.rows.iter().filter(|(key, _)| key.starts_with(prefix));
        rows.map(|(key, text)| (key.clone(), text.clone())).collect()
    }

    /// Rows that are loaded at the start.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        self.prefixed(feedsync_web::STATE)
    }

    /// Ends the worker and starts another.
    pub(crate) fn again(&mut self) {
        self.worker = Worker::restored(&self.state());
    }

    fn found(&self, missing: &Value) -> Found {
        if let Some(digest) = missing["content"].as_str() {
            return Found::Content(self.contents.get(digest).cloned());
        }
        let rows = match (missing["row"].as_str(), missing["prefix"].as_str()) {
            (Some(key), _) => {
                self.rows.get(key).map(|text| (key.to_owned(), text.clone())).into_iter().collect()
            }
            (_, Some(prefix)) => self.prefixed(prefix).into_iter().collect(),
            _ => panic!("{missing} is nothing to load"),
        };
        Found::Rows(rows)
    }

    /// Runs a command to its end. The error is the one of the commit.
    pub(crate) fn try_run(&mut self, mut command: Value) -> Result<Value, Value> {
        self.now += 1;
        command["now"] = json!(self.now);
        command["random"] = json!(format!("{:032x}", self.now));
        loop {
            let out = self.worker.run(&command);
            if out["missing"].is_object() {
                let found = self.found(&out["missing"]);
                self.worker.add(&out["needed"], found).unwrap();
                continue;
            }
            if out["damaged"].is_array() {
                self.set_aside(&out["damaged"]);
                continue;
            }
            if let Some(digest) = out["lost"].as_str() {
                self.lost(digest);
                continue;
            }
            if out["invalid"].is_string() {
                return Err(out);
            }
            let Some(writes) = out.get("writes") else { return Ok(out["result"].clone()) };
            if std::mem::take(&mut self.fails) {
                self.worker.restore(&self.state());
                return Err(json!({ "failed": "the commit" }));
            }
            for row in writes["rows"].as_array().into_iter().flatten() {
                let key = row[0].as_str().unwrap().to_owned();
                match row[1].as_str() {
                    Some(text) => drop(self.rows.insert(key, text.to_owned())),
                    None => drop(self.rows.remove(&key)),
                }
            }
            let committed = json!({ "do": "committed", "now": self.now, "random": "0" });
            assert_eq!(self.worker.run(&committed), json!({ "result": null }));
            return Ok(out["result"].clone());
        }
    }

    /// Sets damaged rows aside. What the worker decided is forgotten, because it was not committed.
    fn set_aside(&mut self, keys: &Value) {
        self.worker.restore(&self.state());
        let damaged: Vec<&str> =
            keys.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let ends = |key: &&String| damaged.iter().any(|it| key.ends_with(&format!(" {it}")));
        let uses: Vec<String> =
            self.prefixed(feedsync_web::USES).keys().filter(ends).cloned().collect();
        self.run(json!({ "do": "setAside", "keys": keys, "uses": uses }));
    }

    /// Loses the bytes of a content.
    pub(crate) fn lose(&mut self, name: &str) {
        self.contents.remove(name.split(' ').next().unwrap());
    }

    /// Reports a content whose bytes are gone.
    pub(crate) fn lost(&mut self, digest: &str) {
        let uses = self.prefixed(&format!("{}{digest} ", feedsync_web::USES));
        let uses: Vec<String> = uses.into_keys().collect();
        self.run(json!({ "do": "damaged", "digests": [digest], "uses": uses }));
    }

    pub(crate) fn run(&mut self, command: Value) -> Value {
        self.try_run(command).unwrap()
    }

    pub(crate) fn control(&mut self, method: &str, path: &str, body: Value) -> Value {
        self.run(json!({
            "do": "control", "method": method, "path": path, "body": body, "page": "p", "open": ["p"],
        }))
    }
}
