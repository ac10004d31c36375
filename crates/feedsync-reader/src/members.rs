//! JSON as it is stored: members by name, numbers as they came, one way to write it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most members of a later version that are kept of one feed, the first by name.
const MOST_OTHERS: usize = 64;

/// The most bytes of such a member, and of its name.
const MOST_OTHER: usize = 64 << 10;

/// The deepest nesting of such a member.
const MOST_DEPTH: usize = 32;

/// The members of an object, in their order, one name perhaps more than once.
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

/// The members of a JSON object as they came. `Err` tells why it is none, or which one occurs twice.
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

/// An object of members that are JSON already, sorted by name.
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

/// Appends a character of JSON; those that no XML document can hold as what stands for them in JSON.
fn push_character(out: &mut String, character: char) {
    match character {
        '\u{fffe}' | '\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

/// JSON without the blanks between its parts; `None` if it nests too deeply. Numbers stay as they are: who
/// does not know what they mean must not round them.
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
        if depth > MOST_DEPTH {
            return None;
        }
        push_character(&mut out, character);
    }
    Some(out)
}

/// What a later version says that this one does not understand, by name. Joined by name; of two values the
/// greater text counts, so that it is the same one everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Others(BTreeMap<String, Box<str>>);

impl Others {
    /// Those of these members; `Err` names one that cannot be kept.
    pub(crate) fn read(members: BTreeMap<String, &RawValue>) -> Result<Self, String> {
        let mut others = BTreeMap::new();
        for (name, value) in members {
            let value = value.get();
            let is_small = name.len() <= MOST_OTHER && value.len() <= MOST_OTHER;
            match compact(value).filter(|_| is_small) {
                Some(value) => others.insert(name, value.into()),
                None => return Err(name),
            };
        }
        let mut read = Self::default();
        read.join(Self(others));
        Ok(read)
    }

    /// Takes in others; whether that changed anything.
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
        while self.0.len() > MOST_OTHERS {
            self.0.pop_last();
        }
        self.0 != before
    }

    /// Their names and values, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_go_and_what_is_said_stays() {
        let json = "{ \"a b\" : [ 1.10e400 , \"\\\" \\\\\" ] ,\n\"c\":null }";
        assert_eq!(compact(json).as_deref(), Some(r#"{"a b":[1.10e400,"\" \\"],"c":null}"#));
        assert_eq!(compact("\"\u{ffff}\"").as_deref(), Some(r#""\uffff""#));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(compact(&nested(MOST_DEPTH)).is_some());
        assert!(compact(&nested(MOST_DEPTH + 1)).is_none());
    }

    #[test]
    fn a_member_that_occurs_twice_is_a_fault() {
        assert!(members(r#"{"a":1,"a":1}"#).unwrap_err().contains("\"a\""));
        assert!(members("[]").is_err());
        assert_eq!(members(r#"{"b":1,"a":[ ]}"#).unwrap().len(), 2);
    }

    #[test]
    fn what_is_kept_of_later_versions_is_bounded_and_the_same_in_any_order() {
        let many = |range: std::ops::Range<usize>| {
            Others(range.map(|number| (format!("{number:03}"), "1".into())).collect())
        };
        let (mut one, mut other) = (many(50..100), many(0..50));
        assert!(one.join(many(0..50)));
        other.join(many(50..100));
        assert_eq!(one, other);
        assert_eq!(one.iter().count(), MOST_OTHERS);
        assert!(!one.join(many(0..100)));
    }
}
