//! The extension in JSON: a member `fs:native` whose parts are strings.

use super::{Found, Native, feedsync_json};
use feedsync_json::{Kind, Node, push_string, push_with, without};

const NAME: &str = "fs:native";

/// Returns the member as name and value.
pub(super) fn member(native: &Native) -> String {
    let mut out = String::new();
    push_string(&mut out, NAME);
    out.push_str(":{");
    let parts = [
        ("format", Some(&native.format)),
        ("sequence", Some(&native.sequence)),
        ("when", native.when.as_ref()),
        ("by", native.by.as_ref()),
        ("sync", native.sync.as_ref()),
        ("text", Some(&native.text)),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            push_string(&mut out, name);
            out.push(':');
            push_string(&mut out, value);
            out.push(',');
        }
    }
    out.pop();
    out.push('}');
    out
}

/// Returns an object with the extension as its last member, in place of any other.
pub(super) fn with(object: &str, native: &Native) -> String {
    let mut out = String::new();
    push_with(&mut out, object, NAME, |out| out.push_str(&member(native)[NAME.len() + 3..]));
    out
}

pub(super) fn find(text: &str) -> Option<Found> {
    if !text.contains(NAME) {
        return None;
    }
    let object = Node::root(text);
    let extension = object.member(NAME)?.value;
    let part = |name| extension.member(name)?.value.string().map(String::from);
    let native = (extension.kind() == Kind::Object).then(|| Native {
        format: part("format").unwrap_or_default(),
        sequence: part("sequence").unwrap_or_default(),
        when: part("when"),
        by: part("by"),
        sync: part("sync"),
        text: part("text").unwrap_or_default(),
    });
    Some(Found { natives: native.into_iter().collect(), rest: without(object, NAME) })
}
