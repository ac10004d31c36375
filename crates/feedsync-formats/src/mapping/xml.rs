//! The extension in XML: the last child of the item, an element `native` in FeedSync's own
//! namespace. Its parts are attributes, and the native text is its text.
//!
//! A JSON text may contain characters that XML cannot hold, such as U+FFFE. Such a text is written
//! with the escapes of JSON strings and is marked with `escaped="json"`.

use super::{Found, Native, OWN, feedsync_json};
use crate::compose::{fits_xml, push_attribute, stands_alone};
use crate::options::{Limits, Mode};
use crate::xml::{Element, Namespace, Tree, escape_text, is_space};
use feedsync_json::{push_escape, unescape};

pub(super) fn element(native: &Native) -> String {
    let mut out = String::from("<fs:native");
    push_attribute(&mut out, "xmlns:fs", Some(OWN));
    push_attribute(&mut out, "format", Some(&native.format));
    push_attribute(&mut out, "sequence", Some(&native.sequence));
    push_attribute(&mut out, "when", native.when.as_deref());
    push_attribute(&mut out, "by", native.by.as_deref());
    let sync = native.sync.as_deref();
    if native.text.chars().chain(sync.unwrap_or_default().chars()).all(fits_xml) {
        push_attribute(&mut out, "sync", sync);
        out.push('>');
        escape_text(&mut out, &native.text);
    } else {
        push_attribute(&mut out, "sync", sync.map(escaped).as_deref());
        push_attribute(&mut out, "escaped", Some("json"));
        out.push('>');
        escape_text(&mut out, &escaped(&native.text));
    }
    out.push_str("</fs:native>");
    out
}

/// Doubles backslashes and writes characters that XML cannot hold as `\uXXXX`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            _ if fits_xml(character) => out.push(character),
            _ => push_escape(&mut out, character),
        }
    }
    out
}

pub(super) fn find(text: &str) -> Option<Found> {
    // The claims of outlines use the same namespace, so the element name is searched as well.
    if !text.contains(OWN) || !text.contains("native") {
        return None;
    }
    let (tree, _) = Tree::parse(text, Mode::Tolerant, &Limits::default()).ok()?;
    let mut found = Found { natives: Vec::new(), rest: String::with_capacity(text.len()) };
    let mut end = 0;
    for extension in extensions(tree.root()) {
        found.natives.push(native(extension));
        let before = text[end..extension.span().start]
            .trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8));
        found.rest.push_str(before);
        end = extension.span().end;
    }
    found.rest.push_str(&text[end..]);
    // An element that is left without content ends in `/>`, as it does when `sx:sync` is cut out.
    let item = tree.root();
    let close = text.len() - item.content_span().end;
    let open = item.start_tag_span().end;
    if found.rest.len() == open + close {
        found.rest.replace_range(open - 1.., "/>");
    }
    (!found.natives.is_empty()).then_some(found)
}

fn extensions<'t, 'a>(item: Element<'t, 'a>) -> impl Iterator<Item = Element<'t, 'a>> {
    item.children().filter(|child| child.is(Namespace::OWN, "native"))
}

fn native(element: Element<'_, '_>) -> Native {
    let part = |name| element.value(name).map(String::from);
    let mut native = Native {
        format: part("format").unwrap_or_default(),
        sequence: part("sequence").unwrap_or_default(),
        when: part("when"),
        by: part("by"),
        sync: part("sync"),
        text: element.text().into_owned(),
    };
    if element.value("escaped").as_deref() == Some("json") {
        native.text = unescape(&native.text);
        native.sync = native.sync.as_deref().map(unescape);
    }
    native
}

/// Whether the text is foreign markup of an `sx:sync`, as reading produces it: one element.
pub(super) fn is_foreign(markup: &str) -> bool {
    stands_alone(markup)
}
