//! A view with a map and a reduce function, and the results that it has for the documents that were written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Client;

/// Queries of the view whose results are compared.
pub(crate) const QUERIES: [&str; 4] =
    ["reduce=false", "", "group=true", "group=true&descending=true"];

/// A design document with the view `totals`: a row for each of the numbers of a document under its group, reduced to
/// their count, sum and maximum. Each version has rows of its own. The loop makes the map function slow.
pub(crate) fn design(version: u64, revision: Option<&str>) -> Value {
    let map = format!(
        "function (doc) {{ // version {version}
           for (var number = 0; number < 5000; number++);
           doc.numbers.forEach(function (number) {{ emit(doc.group, number); }});
         }}"
    );
    let reduce = "function (keys, values, again) {
      var total = {count: 0, sum: 0, most: 0};
      values.forEach(function (value) {
        total.count += again ? value.count : 1;
        total.sum += again ? value.sum : value;
        total.most = Math.max(total.most, again ? value.most : value);
      });
      return total;
    }";
    let views = json!({"totals": {"map": map, "reduce": reduce}});
    let mut design = json!({"language": "javascript", "views": views});
    if let Some(revision) = revision {
        design["_rev"] = json!(revision);
    }
    design
}

/// The documents of the database.
#[derive(Default)]
pub(crate) struct Documents {
    by_id: BTreeMap<String, Document>,
    /// Number of times that documents were written.
    rounds: u64,
}

struct Document {
    revision: String,
    group: String,
    numbers: Vec<u64>,
}

impl Documents {
    /// Writes a number of new documents, edits some of the others and deletes some.
    pub(crate) fn write(&mut self, client: &Client<'_>, new: u64) {
        self.rounds += 1;
        let round = self.rounds;
        let content = |at: u64| {
            let numbers: Vec<u64> = (0..at % 4).map(|nth| round * 7 + at * 3 + nth).collect();
            json!({"group": format!("g{}", (at + round) % 5), "numbers": numbers})
        };
        let mut documents = Vec::new();
        for at in 0..new {
            let mut document = content(at);
            document["_id"] = json!(format!("{round:05}-{at:03}"));
            documents.push(document);
        }
        for (at, (id, stored)) in (round..).zip(&self.by_id) {
            let mut document = match (at % 17, at % 11) {
                (0, _) => json!({"_deleted": true}),
                (_, 0) => content(at),
                _ => continue,
            };
            document["_id"] = json!(id);
            document["_rev"] = json!(stored.revision);
            documents.push(document);
        }
        let (status, told) = client.ask("POST", "notes/_bulk_docs", &json!({"docs": documents}));
        assert_eq!(status, 201, "{told}");
        for (document, told) in documents.iter().zip(told.as_array().unwrap()) {
            assert_eq!(told["ok"], true, "{told}");
            let id = document["_id"].as_str().unwrap().to_owned();
            let Some(numbers) = document["numbers"].as_array() else {
                self.by_id.remove(&id);
                continue;
            };
            let stored = Document {
                revision: told["rev"].as_str().unwrap().to_owned(),
                group: document["group"].as_str().unwrap().to_owned(),
                numbers: numbers.iter().map(|number| number.as_u64().unwrap()).collect(),
            };
            self.by_id.insert(id, stored);
        }
    }

    /// The rows of the response to a query.
    pub(crate) fn rows(&self, query: &str) -> Value {
        let mut rows = Vec::new();
        for (id, Document { group, numbers, .. }) in &self.by_id {
            rows.extend(numbers.iter().map(|number| (group.as_str(), id.as_str(), *number)));
        }
        rows.sort_unstable();
        let total = |numbers: &[u64]| {
            let (sum, most) = (numbers.iter().sum::<u64>(), numbers.iter().max());
            json!({"count": numbers.len(), "sum": sum, "most": most})
        };
        if query == "reduce=false" {
            let row = |(key, id, value)| json!({"id": id, "key": key, "value": value});
            return rows.into_iter().map(row).collect();
        }
        let mut groups: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (group, _, number) in rows {
            let key = if query.is_empty() { "" } else { group };
            groups.entry(key).or_default().push(number);
        }
        let key = |group: &str| if group.is_empty() { Value::Null } else { json!(group) };
        let row = |(group, numbers): (&str, Vec<u64>)| json!({"key": key(group), "value": total(&numbers)});
        let mut reduced: Vec<Value> = groups.into_iter().map(row).collect();
        if query.ends_with("descending=true") {
            reduced.reverse();
        }
        Value::Array(reduced)
    }
}
