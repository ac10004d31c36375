//! Canonical JSON: members by name, unchanged numbers, and one representation of each value.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum number of members of later versions that are preserved for one feed, the first by name.
const MAX_UNKNOWN_MEMBERS: usize = 64;

/// Maximum size of such a member, and of its name, in bytes.
const MAX_UNKNOWN_MEMBER_BYTES: usize = 64 << 10;

/// Maximum nesting depth of such a member.
const MAX_DEPTH: usize = 32;

/// The members of an object in order; a name may occur more than once.
pub(crate) struct Pairs<V>(pub(crate) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

/// The members of a JSON object, with unparsed values. The error states the fault, or which member occurs
/// twice.
pub(crate) fn members(json: &str) -> Result<BTreeMap<String, &RawValue>, String> {
    let pairs: Pairs<&RawValue> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut members = BTreeMap::new();
    for (name, value) in pairs.0 {
        if members.contains_key(&name) {
            return Err(format!("the member {name:?} occurs twice"));
        }
        members.insert(name, value);
    }
    Ok(members)
}

/// An object of members whose values are JSON, sorted by name.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::from("{");
    for (name, json) in members {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        out.push_str(json);
    }
    out.push('}');
    out
}

/// Appends a text as JSON.
pub(crate) fn push_string(out: &mut String, text: &str) {
    let json = serde_json::Value::from(text).to_string();
    json.chars().for_each(|character| push_character(out, character));
}

/// Appends a character within JSON; a character that XML documents cannot contain is escaped.
fn push_character(out: &mut String, character: char) {
    match character {
        '\u{fffe}' | '\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

/// Removes the blanks between the tokens of JSON; `None` if it is nested too deeply. Numbers stay as they
/// are: a program that does not know their meaning must not round them.
pub(crate) fn compact(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let (mut is_text, mut is_escaped, mut depth) = (false, false, 0_usize);
    for character in json.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '[' | '{' if !is_text => depth += 1,
            ']' | '}' if !is_text => depth = depth.saturating_sub(1),
            ' ' | '\t' | '\n' | '\r' if !is_text => continue,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return None;
        }
        push_character(&mut out, character);
    }
    Some(out)
}

/// Members of later versions that this version does not understand. They are joined by name; the greater of
/// two texts counts, so that the result is the same everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnknownMembers(BTreeMap<String, Box<str>>);

impl UnknownMembers {
    /// Takes these members; the error names one that cannot be preserved.
    pub(crate) fn read(members: BTreeMap<String, &RawValue>) -> Result<Self, String> {
        let mut others = BTreeMap::new();
        for (name, value) in members {
            let value = value.get();
            let is_small =
                name.len() <= MAX_UNKNOWN_MEMBER_BYTES && value.len() <= MAX_UNKNOWN_MEMBER_BYTES;
            match compact(value).filter(|_| is_small) {
                Some(value) => others.insert(name, value.into()),
                None => return Err(name),
            };
        }
        let mut read = Self::default();
        read.join(Self(others));
        Ok(read)
    }

    /// Joins others; returns whether anything changed.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        if others.0.is_empty() {
            return false;
        }
        let before = self.0.clone();
        for (name, value) in others.0 {
            let known = self.0.entry(name).or_default();
            if *known < value {
                *known = value;
            }
        }
        while self.0.len() > MAX_UNKNOWN_MEMBERS {
            self.0.pop_last();
        }
        self.0 != before
    }

    /// The names and values, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_removes_blanks_only() {
        let json = "{ \"a b\" : [ 1.10e400 , \"\\\" \\\\\" ] ,\n\"c\":null }";
        assert_eq!(compact(json).as_deref(), Some(r#"{"a b":[1.10e400,"\" \\"],"c":null}"#));
        assert_eq!(compact("\"\u{ffff}\"").as_deref(), Some(r#""\uffff""#));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(compact(&nested(MAX_DEPTH)).is_some());
        assert!(compact(&nested(MAX_DEPTH + 1)).is_none());
    }

    #[test]
    fn a_member_that_occurs_twice_is_a_fault() {
        assert!(members(r#"{"a":1,"a":1}"#).unwrap_err().contains("\"a\""));
        assert!(members("[]").is_err());
        assert_eq!(members(r#"{"b":1,"a":[ ]}"#).unwrap().len(), 2);
    }

    #[test]
    fn preserved_members_are_bounded_and_independent_of_order() {
        let many = |range: std::ops::Range<usize>| {
            UnknownMembers(range.map(|number| (format!("{number:03}"), "1".into())).collect())
        };
        let (mut one, mut other) = (many(50..100), many(0..50));
        assert!(one.join(many(0..50)));
        other.join(many(50..100));
        assert_eq!(one, other);
        assert_eq!(one.iter().count(), MAX_UNKNOWN_MEMBERS);
        assert!(!one.join(many(0..100)));
    }
}
