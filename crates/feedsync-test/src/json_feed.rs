//! Validator of JSON Feed 1.1, for whole documents. Its parser is independent of this project's.

use serde_json::{Map, Value};

/// Returns the faults of a document, each with its location; none if it is a valid JSON Feed.
pub fn faults(document: &str) -> Vec<String> {
    let value: Value = match serde_json::from_str(document) {
        Ok(value) => value,
        Err(error) => return vec![format!("not JSON: {error}")],
    };
    let mut check = Check { faults: Vec::new() };
    match value.as_object() {
        Some(feed) => check.feed(feed),
        None => check.fault("", "not an object"),
    }
    check.faults
}

/// Types of the members of JSON Feed.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Address,
    Date,
    Count,
    Tags,
    Authors,
    Attachments,
    Items,
}

type Members = &'static [(&'static str, Kind)];

const FEED: Members = &[
    ("version", Kind::Address),
    ("title", Kind::Text),
    ("home_page_url", Kind::Address),
    ("feed_url", Kind::Address),
    ("next_url", Kind::Address),
    ("authors", Kind::Authors),
    ("language", Kind::Text),
    ("items", Kind::Items),
];

const ITEM: Members = &[
    ("id", Kind::Text),
    ("url", Kind::Address),
    ("external_url", Kind::Address),
    ("title", Kind::Text),
    ("content_html", Kind::Text),
    ("content_text", Kind::Text),
    ("summary", Kind::Text),
    ("date_published", Kind::Date),
    ("date_modified", Kind::Date),
    ("authors", Kind::Authors),
    ("tags", Kind::Tags),
    ("language", Kind::Text),
    ("attachments", Kind::Attachments),
];

const AUTHOR: Members = &[("name", Kind::Text), ("url", Kind::Address)];

const ATTACHMENT: Members = &[
    ("url", Kind::Address),
    ("mime_type", Kind::Text),
    ("title", Kind::Text),
    ("size_in_bytes", Kind::Count),
];

struct Check {
    faults: Vec<String>,
}

impl Check {
    fn feed(&mut self, feed: &Map<String, Value>) {
        self.members("", feed, FEED, &["version", "title", "items"]);
        if feed.get("version").and_then(Value::as_str) != Some("https://jsonfeed.org/version/1.1") {
            self.fault("/version", "not that of JSON Feed 1.1");
        }
        if feed.contains_key("next_url") && feed.get("next_url") == feed.get("feed_url") {
            self.fault("/next_url", "the feed itself");
        }
    }

    /// Checks the members of an object: known ones must have their type, and others are extensions.
    fn members(
        &mut self,
        place: &str,
        object: &Map<String, Value>,
        known: Members,
        required: &[&str],
    ) {
        for name in required.iter().filter(|name| !object.contains_key(**name)) {
            self.fault(place, &format!("no {name}"));
        }
        for (name, value) in object {
            let place = format!("{place}/{name}");
            match known.iter().find(|(known, _)| known == name) {
                Some((_, kind)) => self.value(&place, value, *kind),
                None => {
                    let mut start = name.chars();
                    let named = start.next() == Some('_')
                        && start.next().is_some_and(char::is_alphabetic)
                        && !name.contains('.');
                    if !named || !value.is_object() {
                        self.fault(&place, "neither a member of JSON Feed nor an extension");
                    }
                }
            }
        }
    }

    fn value(&mut self, place: &str, value: &Value, kind: Kind) {
        match kind {
            Kind::Text => {
                self.text(place, value);
            }
            Kind::Address => {
                let text = self.text(place, value).unwrap_or_default();
                let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
                let legal = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                if scheme.is_empty() || !scheme.chars().all(legal) || text.contains([' ', '<', '"'])
                {
                    self.fault(place, "not an absolute address");
                }
            }
            Kind::Date => {
                let text = self.text(place, value).unwrap_or_default();
                let pattern = "dddd-dd-ddTdd:dd:ddZ";
                let fits =
                    |(c, p): (char, char)| if p == 'd' { c.is_ascii_digit() } else { c == p };
                if text.len() != pattern.len() || !text.chars().zip(pattern.chars()).all(fits) {
                    self.fault(place, "not a date as RFC 3339 has it");
                }
            }
            Kind::Count => {
                if !value.is_u64() {
                    self.fault(place, "not a count");
                }
            }
            Kind::Tags => self.list(place, value, |check, place, tag| {
                check.text(place, tag);
            }),
            Kind::Authors => self.objects(place, value, AUTHOR, &["name"]),
            Kind::Attachments => self.objects(place, value, ATTACHMENT, &["url", "mime_type"]),
            Kind::Items => {
                self.objects(place, value, ITEM, &["id"]);
                self.list(place, value, |check, place, item| {
                    if item.get("content_html").or(item.get("content_text")).is_none() {
                        check.fault(place, "neither text nor HTML");
                    }
                });
            }
        }
    }

    fn text<'v>(&mut self, place: &str, value: &'v Value) -> Option<&'v str> {
        if !value.is_string() {
            self.fault(place, "not a string");
        }
        value.as_str()
    }

    fn list(&mut self, place: &str, value: &Value, each: impl Fn(&mut Self, &str, &Value)) {
        match value.as_array() {
            Some(values) => {
                for (index, value) in values.iter().enumerate() {
                    each(self, &format!("{place}/{index}"), value);
                }
            }
            None => self.fault(place, "not an array"),
        }
    }

    fn objects(&mut self, place: &str, value: &Value, known: Members, required: &[&str]) {
        self.list(place, value, |check, place, value| match value.as_object() {
            Some(object) => check.members(place, object, known, required),
            None => check.fault(place, "not an object"),
        });
    }

    fn fault(&mut self, place: &str, what: &str) {
        self.faults.push(format!("{place}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_each_kind_is_found() {
        let feed = |members: &str| {
            format!(
                "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"\",\"items\":[]{members}}}"
            )
        };
        let item = |members: &str| {
            feed("").replace("[]", &format!("[{{\"id\":\"1\",\"content_text\":\"\"{members}}}]"))
        };
        for valid in [
            feed(",\"_x\":{}"),
            item(""),
            item(",\"date_published\":\"2005-05-21T09:43:33Z\",\"tags\":[\"a\"],\"url\":\"urn:x\""),
        ] {
            assert_eq!(faults(&valid), Vec::<String>::new(), "{valid}");
        }
        for faulty in [
            "{".to_owned(),
            "[]".to_owned(),
            feed("").replace("1.1", "1"),
            feed("").replace("\"title\":\"\",", ""),
            feed(",\"feed_url\":\"http://h/\",\"next_url\":\"http://h/\""),
            feed(",\"x\":1"),
            feed(",\"_1\":{}"),
            feed(",\"_x\":1"),
            feed(",\"authors\":[{}]"),
            feed(",\"home_page_url\":\"relative\""),
            item("").replace("\"1\"", "1"),
            item("").replace("content_text", "summary"),
            item(",\"tags\":\"a\""),
            item(",\"date_modified\":\"2005-05-21 09:43:33Z\""),
            item(",\"attachments\":[{\"url\":\"http://h/a\"}]"),
            item(
                ",\"attachments\":[{\"url\":\"http://h/a\",\"mime_type\":\"a/b\",\"size_in_bytes\":\"1\"}]",
            ),
        ] {
            assert_eq!(faults(&faulty).len(), 1, "{faulty}: {:?}", faults(&faulty));
        }
    }
}
