//! Mapping between the body of a document and the payload of an item.
//!
//! Both are JSON objects. Names that have a meaning on one side only get the prefix `fs:` there, once more
//! for each prefix that they already have. A body that the other side cannot represent is embedded as one
//! string.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node, check, push_string};

use crate::document::push_compact;

/// Prefix of our own names.
const RESERVED_PREFIX: &str = "fs:";

/// Member of a payload that has the whole document as a string.
const DOCUMENT: &str = "fs:document";

/// Member of a document with the part of its history that its path cannot represent.
pub(super) const VERSION: &str = "fs:version";

/// Member of a document with the blobs of a payload, which are the attachments of the document.
pub(super) const BLOBS: &str = "fs:blobs";

/// Maximum depth of a payload, so that it fits into a feed as the conflict of an item.
const MAX_DEPTH: usize = 200;

/// The contents of a document.
pub(super) struct DocumentContents<'a> {
    /// The members of the payload, without braces.
    pub(super) members: String,
    /// The history that it states.
    pub(super) version: Option<Node<'a>>,
}

/// Reads the contents of a document for an item.
pub(super) fn contents(body: &str) -> DocumentContents<'_> {
    let root = Node::root(body);
    let version = root.member(VERSION).map(|member| member.value);
    let is_sound = check(body, MAX_DEPTH).is_ok_and(|flaws| flaws.is_empty());
    let members = is_sound.then(|| renamed(root, in_payload)).flatten();
    DocumentContents { members: members.unwrap_or_else(|| as_string(body)), version }
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
        let is_document = check(&body, crate::MAX_DEPTH).is_ok()
            && Node::root(&body).kind() == Kind::Object
            && Node::root(&body).span() == (0..body.len());
        // A document with a regular payload is not valid here: it would be mapped back to that payload.
        let is_needed = is_document && contents(&body).members == as_string(&body);
        return is_needed.then(|| crate::members(&body).to_owned());
    }
    renamed(payload, in_document)
}

/// Result of renaming a member.
enum RenamedMember {
    /// The name is unchanged.
    Unchanged,
    /// The member gets this name.
    Other(String),
    /// The member has another meaning on that side, and is removed.
    Removed,
    /// The member cannot be represented.
    None,
}

fn in_payload(name: &str) -> RenamedMember {
    match split(name) {
        (0, "sync") => add_prefix(name),
        (0, base) if base.starts_with('_') => RenamedMember::None,
        (0, _) => RenamedMember::Unchanged,
        (1, "version") => RenamedMember::Removed,
        (_, "sync" | "document" | "blobs") => add_prefix(name),
        (_, "version") => remove_prefix(name),
        (_, base) if base.starts_with('_') => remove_prefix(name),
        _ => RenamedMember::Unchanged,
    }
}

fn in_document(name: &str) -> RenamedMember {
    match split(name) {
        (0, "sync") | (1, "blobs") => RenamedMember::Removed,
        (0, base) if base.starts_with('_') => add_prefix(name),
        (0, _) => RenamedMember::Unchanged,
        (1, "document") => RenamedMember::None,
        (_, "sync" | "document" | "blobs") => remove_prefix(name),
        (_, "version") => add_prefix(name),
        (_, base) if base.starts_with('_') => add_prefix(name),
        _ => RenamedMember::Unchanged,
    }
}

/// Number of `fs:` prefixes of a name, and the rest of the name.
fn split(name: &str) -> (usize, &str) {
    let (mut count, mut base) = (0, name);
    while let Some(rest) = base.strip_prefix(RESERVED_PREFIX) {
        (count, base) = (count + 1, rest);
    }
    (count, base)
}

fn add_prefix(name: &str) -> RenamedMember {
    RenamedMember::Other(format!("{RESERVED_PREFIX}{name}"))
}

fn remove_prefix(name: &str) -> RenamedMember {
    RenamedMember::Other(name.strip_prefix(RESERVED_PREFIX).unwrap_or(name).to_owned())
}

fn renamed(object: Node<'_>, rename: impl Fn(&str) -> RenamedMember) -> Option<String> {
    let mut out = String::with_capacity(object.raw().len());
    for member in object.members() {
        let name: Cow<'_, str> = match rename(&member.name) {
            RenamedMember::Unchanged => member.name.clone(),
            RenamedMember::Other(name) => name.into(),
            RenamedMember::Removed => continue,
            RenamedMember::None => return None,
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
