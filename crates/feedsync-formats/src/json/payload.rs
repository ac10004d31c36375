//! The payload of a JSON item: its object without `sync` (R-P10).

use std::ops::Range;

use super::node::{Kind, Node};

/// Member name that is reserved in payloads.
pub(super) const SYNC: &str = "sync";

/// Returns the object without one of its members, which may be absent. See the rule in [`super`].
pub(crate) fn without(object: Node<'_>, name: &str) -> String {
    let mut text = object.raw().to_owned();
    if let Some(cut) = cut(object, name) {
        text.replace_range(cut.start - object.start()..cut.end - object.start(), "");
    }
    text
}

fn cut(object: Node<'_>, name: &str) -> Option<Range<usize>> {
    let mut end_of_previous = None;
    let mut members = object.members();
    while let Some(member) = members.next() {
        if member.name == name {
            let start = end_of_previous.unwrap_or(object.start() + 1);
            let end = match (end_of_previous, members.next()) {
                (None, Some(next)) => {
                    let between = &object.raw()[member.value.end() - object.start()..];
                    let comma = between.find(',').map_or(0, |comma| comma + 1);
                    (member.value.end() + comma).min(next.start)
                }
                _ => member.value.end(),
            };
            return Some(start..end);
        }
        end_of_previous = Some(member.value.end());
    }
    None
}

/// Appends the payload with one more member at its end, whose value `write` appends. An existing member of that name
/// is removed. A text that is not an object is written unchanged.
pub(crate) fn push_with(
    out: &mut String,
    payload: &str,
    name: &str,
    write: impl FnOnce(&mut String),
) {
    let object = Node::root(payload);
    if object.kind() != Kind::Object {
        out.push_str(payload);
        return;
    }
    let inside = object.start() + 1;
    let (mut first, mut at) = (None, inside);
    for member in object.members() {
        if member.name == name {
            return push_with(out, &without(object, name), name, write);
        }
        first.get_or_insert(member.start);
        at = member.value.end();
    }
    out.push_str(&payload[..at]);
    if let Some(first) = first {
        out.push(',');
        out.push_str(&payload[inside..first]);
    }
    super::string::push(out, name);
    out.push(':');
    write(out);
    out.push_str(&payload[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_what_belongs_to_the_member() {
        for (item, payload) in [
            ("{\"sync\":1}", "{}"),
            ("{ \"sync\" : 1 }", "{ }"),
            ("{\"a\":1,\"sync\":2}", "{\"a\":1}"),
            ("{ \"a\":1 , \"sync\":2 }", "{ \"a\":1 }"),
            ("{ \"sync\":[1,2] , \"a\":1 }", "{ \"a\":1 }"),
            ("{\"a\":1, \"sync\":2, \"b\":3}", "{\"a\":1, \"b\":3}"),
            ("{\"a\":\",\",\"sy\\u006ec\":2}", "{\"a\":\",\"}"),
            ("{\"a\":{\"sync\":1}}", "{\"a\":{\"sync\":1}}"),
        ] {
            assert_eq!(without(Node::root(item), "sync"), payload, "{item}");
        }
    }

    #[test]
    fn a_member_that_is_added_is_cut_out_again() {
        for payload in
            ["{}", "{ }", "{\"a\":1}", "{\n  \"a\": 1,\n  \"b\": {}\n}", "{\n\n\"a\":1 }"]
        {
            let mut item = String::new();
            push_with(&mut item, payload, "sync", |out| out.push_str("{\"x\":[1]}"));
            assert!(super::super::scan::check(&item, 8).is_ok_and(|flaws| flaws.is_empty()));
            assert_eq!(without(Node::root(&item), "sync"), payload);
        }
        let mut item = String::new();
        push_with(&mut item, "{\"sync\":0,\"a\":1,\"sync\":2}", "sync", |out| out.push('3'));
        assert_eq!(item, "{\"a\":1,\"sync\":3}");
        let mut item = String::new();
        push_with(&mut item, "{\n  \"a\": 1\n}", "sync", |out| out.push('1'));
        assert_eq!(item, "{\n  \"a\": 1,\n  \"sync\":1\n}");
    }
}
