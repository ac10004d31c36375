//! Projection of documents: the values at some paths, each at its original location.

use feedsync_formats::json::{Node, push_string};

use super::location::{Location, Value};
use super::normal::joined;
use super::parse::path;
use crate::query::texts;
use crate::refusal::{Refusal, RefusalKind};

/// Maximum number of paths, and maximum size of all paths.
const MAX_PATHS: usize = 1_000;
const MAX_PATH_BYTES: usize = 64 << 10;

/// Paths whose values are returned; an empty list selects the whole document.
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<Vec<String>>);

/// Values found at the paths, in the order of the request.
enum Found<'a> {
    Value(&'a str),
    Object(Vec<(&'a str, Self)>),
}

impl Fields {
    /// Parses an array of paths, which are written as in a selector.
    pub fn read(node: Node<'_>) -> Result<Self, Refusal> {
        let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
        let said = texts(node).map_err(|_| refuse("fields must be an array of field names"))?;
        if said.len() > MAX_PATHS || said.iter().map(String::len).sum::<usize>() > MAX_PATH_BYTES {
            return Err(refuse("too many fields"));
        }
        let read = |text: &String| path(text).ok_or_else(|| refuse("a field must not be empty"));
        said.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The paths as they are written in requests; none for the whole document.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|path| joined(path))
    }

    /// Appends the selected parts of an object of a checked text.
    pub fn push(&self, out: &mut String, document: Node<'_>) {
        if self.0.is_empty() {
            return out.push_str(document.raw());
        }
        let mut found = Found::Object(Vec::new());
        for path in &self.0 {
            let begin = Location::Value(Value::Json(document));
            let place = path.iter().fold(begin, |place, name| place.field(name));
            if let Location::Value(Value::Json(value)) = place {
                found.put(path, value.raw());
            }
        }
        found.push(out);
    }
}

impl<'a> Found<'a> {
    fn put(&mut self, path: &'a [String], value: &'a str) {
        // A value that was selected as a whole contains all nested paths.
        let Self::Object(members) = self else { return };
        let Some((name, rest)) = path.split_first() else {
            *self = Self::Value(value);
            return;
        };
        let place = match members.iter().position(|(known, _)| known == name) {
            Some(place) => place,
            None => {
                members.push((name, Self::Object(Vec::new())));
                members.len() - 1
            }
        };
        members[place].1.put(rest, value);
    }

    fn push(&self, out: &mut String) {
        match self {
            Self::Value(raw) => out.push_str(raw),
            Self::Object(members) => {
                out.push('{');
                for (at, (name, found)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    push_string(out, name);
                    out.push(':');
                    found.push(out);
                }
                out.push('}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_fields_keep_their_location() {
        let document = r#"{"_id":"x","a":{"b":1.0,"c":[{"d":2}],"e.f":3},"g":"\ud83d"}"#;
        for (fields, expected) in [
            ("[]", document),
            (r#"["_id"]"#, r#"{"_id":"x"}"#),
            (r#"["g","_id","none","a.none"]"#, r#"{"g":"\ud83d","_id":"x"}"#),
            (r#"["a.b","_id","a.e\\.f"]"#, r#"{"a":{"b":1.0,"e.f":3},"_id":"x"}"#),
            (r#"["a.c.0.d"]"#, r#"{"a":{"c":{"0":{"d":2}}}}"#),
            (r#"["a.b","a"]"#, r#"{"a":{"b":1.0,"c":[{"d":2}],"e.f":3}}"#),
            (r#"["a","a.b"]"#, r#"{"a":{"b":1.0,"c":[{"d":2}],"e.f":3}}"#),
        ] {
            let fields = Fields::read(Node::root(fields)).unwrap();
            let mut out = String::new();
            fields.push(&mut out, Node::root(document));
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn malformed_field_list_is_rejected() {
        let many = format!("[{}\"a\"]", "\"a\",".repeat(MAX_PATHS));
        let long = format!("[\"{}\"]", "a".repeat(MAX_PATH_BYTES + 1));
        for fields in ["1", "{}", "[1]", "[\"\"]", "[\".a\"]", "[\"a.\"]", &many, &long] {
            assert!(Fields::read(Node::root(fields)).is_err(), "{fields}");
        }
    }

    /// Paths are followed no deeper than the document.
    #[test]
    fn paths_are_followed_no_deeper_than_the_document() {
        let deep = vec!["a"; 512].join(".");
        let document = format!("{}1{}", "{\"a\":".repeat(512), "}".repeat(512));
        let fields = Fields::read(Node::root(&format!("[\"{deep}\",\"{deep}.a\"]"))).unwrap();
        let mut out = String::new();
        fields.push(&mut out, Node::root(&document));
        assert_eq!(out, document);
        let endless = format!("[\"{}\"]", vec!["a"; 30_000].join("."));
        let mut out = String::new();
        Fields::read(Node::root(&endless)).unwrap().push(&mut out, Node::root(&document));
        assert_eq!(out, "{}");
    }
}
