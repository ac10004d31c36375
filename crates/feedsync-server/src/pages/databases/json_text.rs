//! JSON with one member or element a line, for people. Names, numbers and texts stay as they are.

use feedsync_formats::json::{Kind, Node};

/// Maximum depth to which values are indented; deeper ones stay on one line.
const MAX_DEPTH: usize = 20;

/// The members of an object, without those for which `is_hidden` is true.
pub(super) fn object(node: Node<'_>, is_hidden: impl Fn(&str) -> bool) -> String {
    let mut out = String::from("{");
    let members = node.members().filter(|member| !is_hidden(&member.name));
    for (at, member) in members.enumerate() {
        out.push_str(if at == 0 { "\n  " } else { ",\n  " });
        push_name(&mut out, member.raw());
        push(&mut out, member.value, 1);
    }
    out.push_str(if out.len() > 1 { "\n}" } else { "}" });
    out
}

fn push(out: &mut String, node: Node<'_>, depth: usize) {
    let (open, close) = match node.kind() {
        Kind::Object => ('{', '}'),
        Kind::Array => ('[', ']'),
        _ => return out.push_str(node.raw()),
    };
    if depth >= MAX_DEPTH {
        return out.push_str(node.raw());
    }
    let begin = out.len();
    out.push(open);
    let separate = |out: &mut String| {
        out.push_str(if out.len() == begin + 1 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
    };
    if open == '{' {
        for member in node.members() {
            separate(out);
            push_name(out, member.raw());
            push(out, member.value, depth + 1);
        }
    } else {
        for element in node.elements() {
            separate(out);
            push(out, element, depth + 1);
        }
    }
    if out.len() > begin + 1 {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

/// Appends the name of a member as it is spelled, with a colon.
fn push_name(out: &mut String, member: &str) {
    let bytes = member.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    out.push_str(member.get(..=at).unwrap_or(member));
    out.push_str(": ");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_indented_and_stay_as_they_are_spelled() {
        let text = r#"{"a":1.0e2,"b\"c":[1,{"d":null},[],{}],"_id":"x","\u0065":"y"}"#;
        let expected = "{\n  \"a\": 1.0e2,\n  \"b\\\"c\": [\n    1,\n    {\n      \"d\": null\n    },\n    [],\n    {}\n  ],\n  \"\\u0065\": \"y\"\n}";
        assert_eq!(object(Node::root(text), |name| name == "_id"), expected);
        assert_eq!(object(Node::root("{}"), |_| false), "{}");
        assert_eq!(object(Node::root(r#"{"_id":"x"}"#), |_| true), "{}");
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
        let shown = object(Node::root(&deep), |_| false);
        assert_eq!(shown.split_whitespace().collect::<String>(), deep);
        assert!(shown.len() < 3_000);
    }
}
