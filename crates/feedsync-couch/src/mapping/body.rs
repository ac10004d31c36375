//! Mapping between the body of a document and the payload of an item.
//!
//! Both are JSON objects. Names that have a meaning on one side only get the prefix `fs:` there, once more
//! for each prefix that they already have. A body that the other side cannot represent is embedded as one
//! string.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node, check, push_string};

use crate::document::push_compact;

/// Prefix of our own names.
const OWN: &str = "fs:";

/// Member of a payload that has the whole document as a string.
const DOCUMENT: &str = "fs:document";

/// Member of a document with the part of its history that its path cannot represent.
pub(super) const VERSION: &str = "fs:version";

/// Member of a document with the blobs of a payload, which are the attachments of the document.
pub(super) const BLOBS: &str = "fs:blobs";

/// Maximum depth of a payload, so that it fits into a feed as the conflict of an item.
const MOST_DEPTH: usize = 200;

/// The contents of a document.
pub(super) struct Said<'a> {
    /// The members of the payload, without braces.
    pub(super) members: String,
    /// The history that it states.
    pub(super) version: Option<Node<'a>>,
}

/// Reads the contents of a document for an item.
pub(super) fn said(body: &str) -> Said<'_> {
    let root = Node::root(body);
    let version = root.member(VERSION).map(|member| member.value);
    let is_sound = check(body, MOST_DEPTH).is_ok_and(|flaws| flaws.is_empty());
    let members = is_sound.then(|| renamed(root, in_payload)).flatten();
    Said { members: members.unwrap_or_else(|| as_string(body)), version }
}

/// The payload that embeds a document as a string.
fn as_string(body: &str) -> String {
    let mut members = String::new();
    push_string(&mut members, DOCUMENT);
    members.push(':');
    push_string(&mut members, body);
    members
}

/// The members of the document for this payload, without `sync`; `None` if they cannot be represented.
pub(super) fn members(payload: Node<'_>) -> Option<String> {
    let mut all = payload.members().filter(|member| member.name != "sync" && member.name != BLOBS);
    if let (Some(only), None) = (all.next(), all.next())
        && only.name == DOCUMENT
    {
        let body = only.value.string()?.into_owned();
        let is_document = check(&body, crate::MOST_DEPTH).is_ok()
            && Node::root(&body).kind() == Kind::Object
            && Node::root(&body).span() == (0..body.len());
        // A document with a regular payload is not valid here: it would be mapped back to that payload.
        let is_needed = is_document && said(&body).members == as_string(&body);
        return is_needed.then(|| crate::members(&body).to_owned());
    }
    renamed(payload, in_document)
}

/// Result of renaming a member.
enum Name {
    /// The name is unchanged.
    Kept,
    /// The member gets this name.
    Other(String),
    /// The member has another meaning on that side, and is removed.
    Left,
    /// The member cannot be represented.
    None,
}

fn in_payload(name: &str) -> Name {
    match split(name) {
        (0, "sync") => more(name),
        (0, base) if base.starts_with('_') => Name::None,
        (0, _) => Name::Kept,
        (1, "version") => Name::Left,
        (_, "sync" | "document" | "blobs") => more(name),
        (_, "version") => less(name),
        (_, base) if base.starts_with('_') => less(name),
        _ => Name::Kept,
    }
}

fn in_document(name: &str) -> Name {
    match split(name) {
        (0, "sync") | (1, "blobs") => Name::Left,
        (0, base) if base.starts_with('_') => more(name),
        (0, _) => Name::Kept,
        (1, "document") => Name::None,
        (_, "sync" | "document" | "blobs") => less(name),
        (_, "version") => more(name),
        (_, base) if base.starts_with('_') => more(name),
        _ => Name::Kept,
    }
}

/// Number of `fs:` prefixes of a name, and the rest of the name.
fn split(name: &str) -> (usize, &str) {
    let (mut count, mut base) = (0, name);
    while let Some(rest) = base.strip_prefix(OWN) {
        (count, base) = (count + 1, rest);
    }
    (count, base)
}

fn more(name: &str) -> Name {
    Name::Other(format!("{OWN}{name}"))
}

fn less(name: &str) -> Name {
    Name::Other(name.strip_prefix(OWN).unwrap_or(name).to_owned())
}

fn renamed(object: Node<'_>, rename: impl Fn(&str) -> Name) -> Option<String> {
    let mut out = String::with_capacity(object.raw().len());
    for member in object.members() {
        let name: Cow<'_, str> = match rename(&member.name) {
            Name::Kept => member.name.clone(),
            Name::Other(name) => name.into(),
            Name::Left => continue,
            Name::None => return None,
        };
        if !out.is_empty() {
            out.push(',');
        }
        match name == member.name {
            true => push_compact(&mut out, member.raw()),
            false => {
                push_string(&mut out, &name);
                out.push(':');
                push_compact(&mut out, member.value.raw());
            }
        }
    }
    Some(out)
}
