//! The blobs (media, attachments) that a payload names (`docs/formats.md`, Blobs).
//!
//! A payload names a blob in an extension: in XML a child element `fs:blob` of the item, in JSON an
//! element of the item's member `fs:blobs`. An element that lacks a part or has an invalid one is
//! treated as foreign markup: it stays in the payload and names no blob. A projection also contains
//! the list, so that a peer that supports only one format keeps it (`docs/mapping.md`).

use feedsync_core::{Format, Payload};

use crate::compose::{fits_xml, push_attribute};
use crate::json::{Kind, Node, push_string};
use crate::options::{Limits, Mode};
use crate::payload::{OWN, with_end};
use crate::server_parts::without_children;
use crate::xml::{Element, Namespace, Namespaces, Tree};

const ELEMENT: &str = "blob";
const MEMBER: &str = "fs:blobs";

/// A blob as a payload names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Blob {
    /// File name shown to people. It contains only characters that XML can hold.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Length in bytes.
    pub length: u64,
    /// SHA-256 digest, under which the blob is stored.
    pub sha256: [u8; 32],
}

/// Returns the blobs that a payload names, in document order.
pub fn blobs(payload: &Payload) -> Vec<Blob> {
    match payload.format() {
        Format::Json => in_object(payload.text()),
        _ => in_element(payload.text()),
    }
}

/// Returns an Atom entry with this blob in place of all blobs that it named.
pub fn with_blob(payload: &Payload, blob: &Blob) -> Payload {
    let is_blob = |child: Element<'_, '_>, _: &Namespaces<'_>| child.is(Namespace::OWN, ELEMENT);
    let rest = without_children(payload, is_blob);
    let text = rest.as_ref().map_or(payload.text(), |rest| rest.text());
    payload.with_parsed_text(with_end(text, &element(blob)))
}

/// Returns the list of blobs as an extension for a projection into the given format, or an empty
/// string for an empty list.
pub(crate) fn extension(blobs: &[Blob], format: Format) -> String {
    match format {
        _ if blobs.is_empty() => String::new(),
        Format::Json => member(blobs),
        _ => blobs.iter().map(element).collect(),
    }
}

fn in_element(text: &str) -> Vec<Blob> {
    let mentions = |name: &str| crate::search::find(text.as_bytes(), name.as_bytes()).is_some();
    if ![OWN, ELEMENT].into_iter().all(mentions) {
        return Vec::new();
    }
    let Ok((tree, _)) = Tree::parse(text, Mode::Tolerant, &Limits::default()) else {
        return Vec::new();
    };
    let of = |child: Element<'_, '_>| {
        let part = |name| child.value(name);
        Blob::from_parts(&part("name")?, &part("type")?, &part("length")?, &part("sha-256")?)
    };
    let children = tree.root().children();
    children.filter(|child| child.is(Namespace::OWN, ELEMENT)).filter_map(of).collect()
}

fn in_object(text: &str) -> Vec<Blob> {
    if crate::search::find(text.as_bytes(), MEMBER.as_bytes()).is_none() {
        return Vec::new();
    }
    let Some(list) = Node::root(text).member(MEMBER) else { return Vec::new() };
    let of = |blob: Node<'_>| {
        let part = |name| blob.member(name)?.value.string();
        let length = blob.member("length")?.value;
        let length = match length.kind() {
            Kind::Number => length.raw().into(),
            _ => length.string()?,
        };
        Blob::from_parts(&part("name")?, &part("type")?, &length, &part("sha-256")?)
    };
    list.value.elements().filter_map(of).collect()
}

impl Blob {
    /// Creates a blob. Returns `None` if a format cannot hold its name or its media type.
    pub fn new(name: &str, media_type: &str, length: u64, sha256: [u8; 32]) -> Option<Self> {
        let legible = |text: &str| !text.is_empty() && text.chars().all(fits_xml);
        (legible(name) && legible(media_type)).then(|| Self {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            length,
            sha256,
        })
    }

    /// Creates a blob from its textual parts. Returns `None` if one of them is invalid.
    fn from_parts(name: &str, media_type: &str, length: &str, sha256: &str) -> Option<Self> {
        let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|_| digits)?;
        Self::new(name, media_type, length, digest(sha256)?)
    }

    /// Names and values of the parts, in the order in which they are written.
    fn parts(&self) -> [(&'static str, String); 4] {
        let sha256 = self.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        [
            ("name", self.name.clone()),
            ("type", self.media_type.clone()),
            ("length", self.length.to_string()),
            ("sha-256", sha256),
        ]
    }
}

/// Parses a digest from 64 lower-case hexadecimal digits.
fn digest(text: &str) -> Option<[u8; 32]> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut digest = [0; 32];
    (text.len() == 64).then_some(())?;
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = nibble(pair[0])? * 16 + nibble(pair[1])?;
    }
    Some(digest)
}

fn element(blob: &Blob) -> String {
    let mut out = format!("<fs:{ELEMENT}");
    push_attribute(&mut out, "xmlns:fs", Some(OWN));
    for (name, value) in blob.parts() {
        push_attribute(&mut out, name, Some(&value));
    }
    out.push_str("/>");
    out
}

/// Returns the member of a JSON payload that names the blobs, as name and value.
pub fn member(blobs: &[Blob]) -> String {
    let mut out = String::new();
    push_string(&mut out, MEMBER);
    for (index, blob) in blobs.iter().enumerate() {
        out.push_str(if index == 0 { ":[{" } else { ",{" });
        for (name, value) in blob.parts() {
            push_string(&mut out, name);
            out.push(':');
            push_string(&mut out, &value);
            out.push(',');
        }
        out.pop();
        out.push('}');
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests;
