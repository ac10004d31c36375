//! Edits of JSON texts that keep what the editor did not change, byte for byte.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Applies an edit to a stored JSON text. The editor read `old` as `known` and made `new` of it, which both come from
/// the same serializer. What is equal in both keeps the text that it has in `old`: members that the editor does not
/// know, numbers with more digits than it can hold, and members under another name.
pub(super) fn patched(old: &str, known: &str, new: &str) -> String {
    if known == new {
        return old.to_owned();
    }
    if let (Some(old), Some(known), Some(new)) = (members(old), members(known), members(new)) {
        return object(&old, &known, &new);
    }
    match (elements(old), elements(known), elements(new)) {
        (Some(old), Some(known), Some(new)) if old.len() == known.len() => {
            array(&old, &known, &new)
        }
        _ => new.to_owned(),
    }
}

/// The text of an object without one member.
pub(super) fn without(text: &str, name: &str) -> String {
    let members = members(text).unwrap_or_default();
    let left = members.list.iter().filter(|(other, _)| other != name);
    joined(left.map(|(name, value)| (&**name, value.get().to_owned())))
}

/// Adds the members of an object that are neither known nor in the text.
pub(super) fn with_unknown(text: &str, other: &str, known: &str) -> String {
    let (Some(mine), Some(other), Some(known)) = (members(text), members(other), members(known))
    else {
        return text.to_owned();
    };
    let is_new = |name: &str| mine.text(name).is_none() && known.text(name).is_none();
    let added = other.list.iter().filter(|(name, _)| is_new(name));
    joined(mine.list.iter().chain(added).map(|(name, value)| (&**name, value.get().to_owned())))
}

/// Names of the members of an object that another one does not have.
pub(super) fn unknown(text: &str, known: &str) -> Vec<String> {
    let (text, known) = (members(text).unwrap_or_default(), members(known).unwrap_or_default());
    let names = text.list.into_iter().map(|(name, _)| name);
    names.filter(|name| known.text(name).is_none()).collect()
}

type Member<'a> = (String, &'a RawValue);

fn object(old: &Members<'_>, known: &Members<'_>, new: &Members<'_>) -> String {
    let kept = old.list.iter().filter_map(|(name, value)| {
        let text = match (known.text(name), new.text(name)) {
            (Some(known), Some(new)) => patched(value.get(), known, new),
            (Some(_), None) => return None,
            (None, Some(new)) => new.to_owned(),
            (None, None) => value.get().to_owned(),
        };
        Some((&**name, text))
    });
    // A member that the editor knows without its being stored has its default, until an edit changes it.
    let is_added = |name: &str, value: &str| {
        old.text(name).is_none() && known.text(name).is_none_or(|known| known != value)
    };
    let added = new.list.iter().filter(|(name, value)| is_added(name, value.get()));
    let added = added.map(|(name, value)| (&**name, value.get().to_owned()));
    joined(kept.chain(added))
}

fn array(old: &[&RawValue], known: &[&RawValue], new: &[&RawValue]) -> String {
    let is_equal = |(known, new): &(&&RawValue, &&RawValue)| known.get() == new.get();
    let first = known.iter().zip(new).take_while(is_equal).count();
    let shorter = known.len().min(new.len());
    let last = known.iter().rev().zip(new.iter().rev()).take_while(is_equal).count();
    let last = last.min(shorter - first);
    let middle = new.len() - last;
    let text = |position: usize| {
        // Elements that were neither added nor removed stand at the same distance from one end.
        let before = match position {
            _ if position >= middle => Some(old.len() - (new.len() - position)),
            _ if position < first || known.len() == new.len() => Some(position),
            _ => None,
        };
        let value = new[position].get();
        before.map_or_else(
            || value.to_owned(),
            |before| patched(old[before].get(), known[before].get(), value),
        )
    };
    let texts: Vec<_> = (0..new.len()).map(text).collect();
    format!("[{}]", texts.join(","))
}

fn joined<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let members = members.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// The members of an object, each with its own name, in order. They are also found by name: an object may have many.
#[derive(Default)]
struct Members<'a> {
    list: Vec<Member<'a>>,
    positions: HashMap<String, usize>,
}

impl<'a> Members<'a> {
    /// The text of a member.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.positions.get(name).map(|position| self.list[*position].1.get())
    }
}

/// The members of an object; of several with one name only the last, which is the one that readers take.
fn members(text: &str) -> Option<Members<'_>> {
    struct All<'a>(Vec<Member<'a>>);

    struct Read;

    impl<'de> Visitor<'de> for Read {
        type Value = All<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<All<'de>, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(All(members))
        }
    }

    impl<'de> Deserialize<'de> for All<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Read)
        }
    }

    let All(all) = serde_json::from_str(text).ok()?;
    let last: HashMap<_, _> =
        all.iter().enumerate().map(|(position, (name, _))| (name.clone(), position)).collect();
    let mut list = Vec::with_capacity(last.len());
    for (position, member) in all.into_iter().enumerate() {
        if last[&member.0] == position {
            list.push(member);
        }
    }
    let positions = list.iter().enumerate().map(|(position, (name, _))| (name.clone(), position));
    Some(Members { positions: positions.collect(), list })
}

fn elements(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_an_edit_does_not_change_stays() {
        let huge = "123456789012345678901234567890.50";
        for (old, known, new, expected) in [
            // Members that the editor does not know, at any depth, and their order.
            (
                "{\"z\":1, \"a\": {\"x\":2,\"y\":3}}",
                "{\"a\":{\"x\":2}}",
                "{\"a\":{\"x\":4}}",
                "{\"z\":1,\"a\":{\"x\":4,\"y\":3}}",
            ),
            // Members that are taken away, added, or only a default.
            ("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", "{\"b\":2}", "{\"b\":2}"),
            ("{\"a\":1}", "{\"a\":1,\"d\":false}", "{\"a\":2,\"d\":false}", "{\"a\":2}"),
            ("{\"a\":1}", "{\"a\":1,\"d\":false}", "{\"a\":1,\"d\":true}", "{\"a\":1,\"d\":true}"),
            // Elements of lists.
            ("[1e2,2.50,3]", "[100.0,2.5,3]", "[100.0,9,3]", "[1e2,9,3]"),
            ("[1e2,2.50]", "[100.0,2.5]", "[100.0,7,2.5]", "[1e2,7,2.50]"),
            ("[1e2,2.50,3]", "[100.0,2.5,3]", "[2.5,3]", "[2.50,3]"),
            ("[1e2]", "[100.0]", "[]", "[]"),
            ("[]", "[]", "[1]", "[1]"),
            ("[{\"u\":1,\"a\":1},2]", "[{\"a\":1},2]", "[{\"a\":3},2]", "[{\"u\":1,\"a\":3},2]"),
            // Values of another kind.
            ("{\"a\":[1]}", "{\"a\":[1]}", "{\"a\":{}}", "{\"a\":{}}"),
            (
                "{\"a\":1,\"a\":2,\"b\":3}",
                "{\"a\":2,\"b\":3}",
                "{\"a\":2,\"b\":4}",
                "{\"a\":2,\"b\":4}",
            ),
        ] {
            assert_eq!(patched(old, known, new), expected, "{old} {known} {new}");
        }
        let old = format!("{{\"n\": {huge}, \"title\": \"Milk\"}}");
        let new = "{\"n\":1.2345678901234568e29,\"title\":\"Oat milk\"}";
        let known = "{\"n\":1.2345678901234568e29,\"title\":\"Milk\"}";
        assert!(patched(&old, known, new).contains(huge));
        assert_eq!(patched(&old, known, known), old);
    }
}
