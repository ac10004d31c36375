//! Canonical text of a JSON value, to be digested.
//!
//! Members are sorted by name, strings are escaped in one way, and white space is removed. Numbers stay as
//! they are written: `1` and `1.0` are two different edits, since values are returned as they were sent.

use feedsync_formats::json::{Kind, Node};

/// Appends the canonical text of a value. The recursion depth is that of the value, which was checked.
pub(crate) fn push(out: &mut Vec<u8>, node: Node<'_>) {
    match node.kind() {
        Kind::Object => {
            let mut members: Vec<_> = node
                .members()
                .map(|member| {
                    let mut name = Vec::new();
                    push_string(&mut name, member.quoted());
                    (name, member.value)
                })
                .collect();
            // The sort is stable, because the order of repeated names matters.
            members.sort_by(|one, other| one.0.cmp(&other.0));
            push_all(out, (b'{', b'}'), members, |out, (name, value)| {
                out.extend_from_slice(&name);
                out.push(b':');
                push(out, value);
            });
        }
        Kind::Array => push_all(out, (b'[', b']'), node.elements(), push),
        Kind::String => push_string(out, node.raw()),
        Kind::Number | Kind::Boolean | Kind::Null => out.extend_from_slice(node.raw().as_bytes()),
    }
}

fn push_all<T>(
    out: &mut Vec<u8>,
    (open, close): (u8, u8),
    parts: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(open);
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, part);
    }
    out.push(close);
}

/// Appends a string in canonical form. Escaped pairs become their character, halves of pairs a lower-case
/// escape. Otherwise only quotes, backslashes and controls are escaped.
fn push_string(out: &mut Vec<u8>, quoted: &str) {
    let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    out.push(b'"');
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let (unit, length) = escape(rest);
        let (character, length) = match unit {
            0xd800..0xdc00 => match escape(&rest[length..]) {
                (low @ 0xdc00..0xe000, more) => {
                    let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code), length + more)
                }
                _ => (None, length),
            },
            _ => (char::from_u32(unit), length),
        };
        rest = &rest[length..];
        match character {
            Some(escaped @ ('"' | '\\')) => out.extend_from_slice(&[b'\\', escaped as u8]),
            Some(other @ ' '..) => {
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some('\0'..) | None => out.extend_from_slice(format!("\\u{unit:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

/// The UTF-16 unit of the escape at the start of a text, and the length of the escape; malformed escapes are
/// unchanged.
fn escape(text: &str) -> (u32, usize) {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'\\') {
        return (0, 0);
    }
    match bytes.get(1) {
        Some(b'u') => {
            let digits = text.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            digits.map_or((0, text.len()), |unit| (unit, 6))
        }
        Some(b'b') => (8, 2),
        Some(b'f') => (12, 2),
        Some(b'n') => (10, 2),
        Some(b'r') => (13, 2),
        Some(b't') => (9, 2),
        Some(byte) => (u32::from(*byte), 2),
        None => (0, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        assert!(feedsync_formats::json::check(text, 99).is_ok(), "{text}");
        let mut out = Vec::new();
        push(&mut out, Node::root(text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_spellings_of_a_value_have_one_text() {
        for (one, other) in [
            (" { \"b\" : [ 1 , true ] , \"a\":null}", "{\"a\":null,\"b\":[1,true]}"),
            ("\"\\u0061\\/\\u00e4\\ud83d\\ude00\\n\"", "\"a/\u{e4}\u{1f600}\\u000a\""),
            ("\"\\uD83D\\\"\"", "\"\\ud83d\\\"\""),
            ("{\"\\u0061\":1}", "{\"a\":1}"),
            ("{\"a\\\"b\":1}", "{\"a\\u0022b\":1}"),
        ] {
            assert_eq!(canonical(one), canonical(other));
            assert_eq!(canonical(&canonical(one)), canonical(one));
        }
    }

    #[test]
    fn different_values_have_different_texts() {
        let all = [
            "1",
            "1.0",
            "1e0",
            "9007199254740993",
            "9007199254740992",
            "\"1\"",
            "\"\\ud83d\"",
            "\"\\ud83e\"",
            "\"\\\\ud83d\"",
            "\"\u{fffd}\"",
            "{\"a\":1,\"a\":2}",
            "{\"a\":2,\"a\":1}",
            "{\"a\":[{}]}",
            "{\"a\":{}}",
            "[]",
            "null",
            "\"\"",
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(canonical(one), canonical(other));
            }
        }
    }
}
