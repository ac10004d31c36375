//! Texts of rows: JSON behind a checksum of the key and the JSON, so that a changed bit is noticed.
//!
//! The layout has a version, which is that of the database of the browser. A newer worker brings all rows to its version
//! in one transaction.

use feedsync_bitsy::interceptor::Content;
use serde_json::Value;

use crate::codec::Damaged;

/// First characters of the keys of rows that are loaded at the start.
pub const STATE: &str = "s/";

/// First characters of the keys of candidates of a sweep.
pub const CANDIDATES: &str = "c/";

/// First characters of the keys of rows that say which row refers to a content.
pub const USES: &str = "u/";

/// Number of hexadecimal digits of a checksum: 64 bits of SHA-256.
const CHECKSUM_LENGTH: usize = 16;

/// Row of version 1 with the instance of the worker that owned the store. It has another key now.
const FORMER_OWNER: &str = "s/owner";

/// Puts the checksum before a text.
pub fn seal(key: &str, text: &str) -> String {
    format!("{} {text}", checksum(key, text))
}

/// Returns the text behind the checksum. The error says that the text or its key has changed.
pub fn unseal<'t>(key: &str, sealed: &'t str) -> Result<&'t str, Damaged> {
    let parts = sealed.split_once(' ').filter(|(sum, text)| checksum(key, text) == **sum);
    let (_, text) = parts.ok_or_else(|| Damaged::new("row", "its checksum does not fit"))?;
    Ok(text)
}

/// The text of a row of an older version of the store as this version has it; none if the row is to be deleted.
///
/// Version 1 had no checksums. Rows without data are empty in all versions.
pub fn migrated(version: u32, key: &str, text: &str) -> Option<String> {
    match version {
        1 if key == FORMER_OWNER => None,
        1 if !text.is_empty() => Some(seal(key, text)),
        _ => Some(text.to_owned()),
    }
}

/// Text of a row with this value.
pub(crate) fn text_of(key: &str, value: &Value) -> String {
    seal(key, &value.to_string())
}

/// Reads a row.
pub(crate) fn read(key: &str, sealed: &str) -> Result<Value, Damaged> {
    serde_json::from_str(unseal(key, sealed)?).map_err(|error| Damaged::new("row", error))
}

/// Reads what is left of a damaged row: the members whose values can still be read, which may be wrong.
pub(crate) fn remains(sealed: &str) -> Value {
    let text = sealed.get(CHECKSUM_LENGTH + 1..).unwrap_or(sealed);
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return value;
    }
    let mut members = serde_json::Map::new();
    for (at, _) in text.match_indices("\":") {
        let name = text[..at].rsplit('"').next().unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(&text[at + 2..]).into_iter();
        if let Some(Ok(value)) = values.next() {
            members.entry(name).or_insert(value);
        }
    }
    Value::Object(members)
}

fn checksum(key: &str, text: &str) -> String {
    let mut digest = Content::of(format!("{key}\n{text}").as_bytes()).digest.to_string();
    digest.truncate(CHECKSUM_LENGTH);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_returned_only_under_its_key_and_unchanged() {
        let sealed = seal("s/policy", "{}");
        assert_eq!(unseal("s/policy", &sealed).unwrap(), "{}");
        for (key, text) in [
            ("s/polizy", &*sealed),
            ("s/policy", &sealed[1..]),
            ("s/policy", "{}"),
            ("s/policy", ""),
            ("s/policy", &format!("{sealed} ")),
        ] {
            assert!(unseal(key, text).is_err(), "{key} {text}");
        }
    }

    #[test]
    fn members_before_and_after_the_damage_remain() {
        let text = r#"{"id":7,"location":"https://a.example/","method":"PUT","queue":"x"}"#;
        let broken = text.replace(r#""method""#, "\"method");
        for text in [seal("k", text), seal("k", &broken)] {
            let left = remains(&text);
            assert_eq!((&left["id"], &left["location"]), (&7.into(), &"https://a.example/".into()));
        }
        assert_eq!(remains(""), Value::Object(Default::default()));
        assert_eq!(remains("ä\":\":"), Value::Object(Default::default()));
    }
}
