//! Queries and indexes: the requests and responses that CouchDB's documentation describes.

mod explain;
mod indexes;
mod pages;
mod queries;
mod waiting;

use serde_json::{Value, json};

use super::Couch;

impl Couch {
    /// Writes documents, and returns the hub.
    async fn holding(documents: Value) -> Self {
        let couch = Self::new().await;
        couch.write(documents).await;
        couch
    }

    async fn write(&self, documents: Value) {
        let (status, rows) =
            self.post("/db/_bulk_docs", &json!({"docs": documents}).to_string()).await;
        let is_written = |row: &Value| row["ok"] == true;
        assert!(status == 201 && rows.as_array().unwrap().iter().all(is_written), "{rows}");
    }

    /// Creates an index in a design document with its name.
    async fn index(&self, name: &str, fields: Value) {
        let index = json!({"index": {"fields": fields}, "ddoc": name, "name": name});
        let (status, said) = self.post("/db/_index", &index.to_string()).await;
        assert_eq!((status, &said["result"]), (200, &json!("created")), "{said}");
    }

    /// Response to a query.
    async fn find(&self, query: Value) -> Value {
        let (status, said) = self.post("/db/_find", &query.to_string()).await;
        assert_eq!(status, 200, "{query}: {said}");
        said
    }

    /// The ids that a query returns, with spaces between them.
    async fn found(&self, query: Value) -> String {
        ids(&self.find(query).await)
    }

    /// Error of a query.
    async fn refusal(&self, path: &str, body: Value) -> (u16, String, String) {
        let (status, said) = self.post(&format!("/db/{path}"), &body.to_string()).await;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        (status, text("error"), text("reason"))
    }

    async fn explained(&self, query: Value) -> Value {
        let (status, said) = self.post("/db/_explain", &query.to_string()).await;
        assert_eq!(status, 200, "{query}: {said}");
        said
    }

    /// Design document of the index that a query uses; null for that of all documents.
    async fn used(&self, query: Value) -> Value {
        self.explained(query).await["index"]["ddoc"].clone()
    }

    /// Names of all indexes.
    async fn index_names(&self) -> Vec<String> {
        let (status, said) = self.get("/db/_index").await;
        assert_eq!(status, 200);
        let names = said["indexes"].as_array().unwrap().iter();
        names.map(|index| index["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn ids(response: &Value) -> String {
    let documents = response["docs"].as_array().unwrap().iter();
    documents.map(|it| it["_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// People with a name, an age, and for some of them a company and a manager.
fn people() -> Value {
    json!([
        {"_id": "ann", "name": {"first": "Ann", "last": "Hall"}, "age": 33, "company": "Acme", "manager": true},
        {"_id": "bob", "name": {"first": "Bob", "last": "Ives"}, "age": 21, "company": "Acme", "manager": false},
        {"_id": "cyd", "name": {"first": "Cyd", "last": "Hall"}, "age": 48, "company": "Zeta"},
        {"_id": "dan", "name": {"first": "Dan", "last": "Jens"}, "age": 33, "manager": true},
        {"_id": "eve", "name": {"first": "Eve", "last": "Kirk"}, "age": null},
        {"_id": "fay", "name": {"first": "Fay", "last": "Lord"}},
    ])
}
