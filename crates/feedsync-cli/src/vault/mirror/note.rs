//! Notes of the plugin: documents that name a path and chunks, and the chunks, which have the content.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_couch::{boolean, quoted, text};
use feedsync_formats::json::{Kind, Node};

use super::path::{is_text, path_of_note};
use super::split::pieces;
use super::text::JoinedText;
use super::trouble::{MAX_CHUNKS, MAX_FILE_BYTES, Trouble};

/// Beginning of a chunk that the plugin has compressed.
const COMPRESSED: &str = "\u{e}LZ\u{1d}";

/// A note without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoteHead {
    /// Path below the directory, unchecked.
    pub(super) path: String,
    /// Whether its body marks it as deleted.
    pub(super) is_deleted: bool,
    /// Whether its content is text, and not Base64.
    pub(super) is_text: bool,
    /// Time of creation in milliseconds since 1970.
    pub(super) created: u64,
    /// Time of the last edit in milliseconds since 1970.
    pub(super) modified: u64,
}

/// Sources of the content of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoteContent {
    /// Ids of chunks in order.
    Chunks(Vec<String>),
    /// Bodies of early versions contain the content.
    Inline,
}

impl NoteHead {
    /// Reads a document. `None` if it is not a note.
    pub(super) fn read(id: &str, body: Node<'_>) -> Option<Self> {
        let kind = body.member("type").and_then(|member| text(member.value));
        let is_note = match kind.as_deref() {
            Some("plain" | "newnote" | "notes") => true,
            // The first versions wrote no type.
            None => body.member("data").is_some() && body.member("type").is_none(),
            Some(_) => false,
        };
        let path = body.member("path").and_then(|member| text(member.value));
        let path = path_of_note(id, path.as_deref()).to_owned();
        let time = |name| body.member(name).map_or(0, |member| milliseconds(member.value));
        is_note.then(|| Self {
            is_deleted: body.member("deleted").and_then(|it| boolean(it.value)) == Some(true),
            is_text: kind.as_deref() == Some("plain") || is_text(&path),
            created: time("ctime"),
            modified: time("mtime"),
            path,
        })
    }
}

/// A time that may have a fraction.
fn milliseconds(value: Node<'_>) -> u64 {
    let number: f64 = value.raw().parse().unwrap_or_default();
    // A conversion of a negative or too large number gives the nearest one.
    number as u64
}

impl NoteContent {
    /// Reads where the content of a note is.
    pub(super) fn read(body: Node<'_>) -> Result<Self, Trouble> {
        let Some(children) = body.member("children").filter(|_| !is_early(body)) else {
            return Ok(Self::Inline);
        };
        let children = children.value;
        if children.kind() != Kind::Array {
            return Err(Trouble::Damaged);
        }
        if children.elements().nth(MAX_CHUNKS).is_some() {
            return Err(Trouble::TooManyChunks);
        }
        let ids = children.elements().map(|child| text(child).map(|id| id.into_owned()));
        ids.collect::<Option<_>>().map(Self::Chunks).ok_or(Trouble::Damaged)
    }
}

fn is_early(body: Node<'_>) -> bool {
    let kind = body.member("type").and_then(|member| text(member.value));
    matches!(kind.as_deref(), None | Some("notes"))
}

/// Returns the chunks that the body of a note has itself, by id.
pub(super) fn chunks_within(body: Node<'_>) -> BTreeMap<String, Node<'_>> {
    let Some(eden) = body.member("eden") else { return BTreeMap::new() };
    let chunks = eden.value.members().filter_map(|chunk| {
        let data = chunk.value.member("data")?.value;
        Some((chunk.name.into_owned(), data))
    });
    chunks.collect()
}

/// Content of a note, joined from its pieces.
#[derive(Debug)]
pub(super) struct ContentBuilder {
    is_text: bool,
    text: JoinedText,
    bytes: Vec<u8>,
}

impl ContentBuilder {
    pub(super) fn new(is_text: bool) -> Self {
        Self { is_text, text: JoinedText::default(), bytes: Vec::new() }
    }

    /// Appends the member `data` of the next chunk.
    pub(super) fn push(&mut self, data: Node<'_>) -> Result<(), Trouble> {
        if data.kind() != Kind::String {
            return Err(Trouble::Damaged);
        }
        let is_first = self.text.len() == 0 && self.bytes.is_empty();
        if let Some(text) = text(data) {
            if text.starts_with(COMPRESSED) {
                return Err(Trouble::Compressed);
            }
            if is_first && !self.is_text && text.starts_with('%') {
                return Err(Trouble::OldEncoding);
            }
        }
        self.text.push(data)?;
        if !self.is_text {
            // Each piece is Base64 of its own, or all of them together are; so whole groups are decoded.
            let text = std::mem::take(&mut self.text).finish()?;
            let whole = text.len() / 4 * 4;
            let (groups, rest) = text.split_at_checked(whole).ok_or(Trouble::NotBase64)?;
            STANDARD.decode_vec(groups, &mut self.bytes).map_err(|_| Trouble::NotBase64)?;
            self.text = JoinedText::of(rest);
        }
        match (self.text.len() + self.bytes.len()) as u64 > MAX_FILE_BYTES {
            true => Err(Trouble::TooLarge),
            false => Ok(()),
        }
    }

    /// Appends the content that the body of an early version has.
    pub(super) fn push_inline(&mut self, body: Node<'_>) -> Result<(), Trouble> {
        let data = body.member("data").ok_or(Trouble::Damaged)?.value;
        match data.kind() {
            Kind::Array => data.elements().try_for_each(|piece| self.push(piece)),
            _ => self.push(data),
        }
    }

    /// Returns the bytes of the file.
    pub(super) fn finish(self) -> Result<Vec<u8>, Trouble> {
        let text = self.text.finish()?;
        match self.is_text {
            true => Ok(text.into_bytes()),
            false if text.is_empty() => Ok(self.bytes),
            false => Err(Trouble::NotBase64),
        }
    }
}

/// Content of a file as the plugin divides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitContent {
    is_text: bool,
    size: usize,
    /// Members `data` of the chunks, in order.
    pub(super) pieces: Vec<String>,
}

impl SplitContent {
    /// Splits the content of a file. The name decides whether it is text, as on devices.
    pub(super) fn of(path: &str, bytes: &[u8]) -> Result<Self, Trouble> {
        let is_text = is_text(path);
        let ranges = pieces(bytes, is_text).into_iter();
        let pieces = if is_text {
            let text = std::str::from_utf8(bytes).map_err(|_| Trouble::NotUtf8)?;
            ranges.map(|range| text[range].to_owned()).collect()
        } else {
            ranges.map(|range| STANDARD.encode(&bytes[range])).collect()
        };
        Ok(Self { is_text, size: bytes.len(), pieces })
    }

    /// Returns the document of a note with this content, as JSON. `head` has the path and the times.
    pub(super) fn note(&self, head: &NoteHead, children: &[String]) -> String {
        let children: Vec<_> = children.iter().map(|id| quoted(id)).collect();
        format!(
            r#"{{"children":[{}],"path":{},"ctime":{},"mtime":{},"size":{},"type":"{}","eden":{{}}}}"#,
            children.join(","),
            quoted(&head.path),
            head.created,
            head.modified,
            self.size,
            if self.is_text { "plain" } else { "newnote" },
        )
    }
}

/// Returns the document of a chunk, as JSON.
pub(super) fn chunk(piece: &str) -> String {
    format!(r#"{{"data":{},"type":"leaf"}}"#, quoted(piece))
}

/// Returns the document of a note, marked as deleted at a time in milliseconds since 1970. All other members stay.
pub(super) fn deleted(body: Node<'_>, now: u64) -> String {
    let others = body.members().filter(|member| !matches!(&*member.name, "deleted" | "mtime"));
    let mut members: Vec<_> = others.map(|member| member.raw().to_owned()).collect();
    members.extend([format!(r#""mtime":{now}"#), r#""deleted":true"#.to_owned()]);
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests;
