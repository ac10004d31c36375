//! What a document says as the payload of an item, and back.
//!
//! Both are JSON objects. Some names mean something on one side only: there they are told apart by `fs:` before them,
//! once more for each that stands there already. What the other side cannot hold at all goes along as one string.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node, check, push_string};

use crate::document::push_compact;

/// What our own names begin with.
const OWN: &str = "fs:";

/// A payload that is one document as a string.
const DOCUMENT: &str = "fs:document";

/// What a document says of its history where its path cannot.
pub(super) const VERSION: &str = "fs:version";

/// The blobs of a payload, which are the attachments of a document.
pub(super) const BLOBS: &str = "fs:blobs";

/// So deep may a payload be, to fit into a feed as the conflict of an item.
const MOST_DEPTH: usize = 200;

/// What a document says.
pub(super) struct Said<'a> {
    /// The members of the payload, without braces.
    pub(super) members: String,
    /// What it says of its history.
    pub(super) version: Option<Node<'a>>,
}

/// What a document says of an item.
pub(super) fn said(body: &str) -> Said<'_> {
    let root = Node::root(body);
    let version = root.member(VERSION).map(|member| member.value);
    let is_sound = check(body, MOST_DEPTH).is_ok_and(|flaws| flaws.is_empty());
    let members = is_sound.then(|| renamed(root, in_payload)).flatten();
    Said { members: members.unwrap_or_else(|| as_string(body)), version }
}

/// A document as the string that is all its payload says.
fn as_string(body: &str) -> String {
    let mut members = String::new();
    push_string(&mut members, DOCUMENT);
    members.push(':');
    push_string(&mut members, body);
    members
}

/// The members of a document whose item has this payload, `sync` cut out; none if it cannot be said.
pub(super) fn members(payload: Node<'_>) -> Option<String> {
    let mut all = payload.members().filter(|member| member.name != "sync" && member.name != BLOBS);
    if let (Some(only), None) = (all.next(), all.next())
        && only.name == DOCUMENT
    {
        let body = only.value.string()?.into_owned();
        let is_document = check(&body, crate::MOST_DEPTH).is_ok()
            && Node::root(&body).kind() == Kind::Object
            && Node::root(&body).span() == (0..body.len());
        // One that a payload could have said would come back as that.
        let is_needed = is_document && said(&body).members == as_string(&body);
        return is_needed.then(|| crate::members(&body).to_owned());
    }
    renamed(payload, in_document)
}

/// What becomes of a member.
enum Name {
    /// It stays.
    Kept,
    /// It is called so.
    Other(String),
    /// It says something else, and goes.
    Left,
    /// There is no name for it.
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

/// How often a name says that it is ours, and what stands behind that.
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
