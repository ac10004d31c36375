//! Writer of delimiters and headers of parts, in CouchDB's form.

use super::parameters::push_extended;
use super::{Boundary, Kind};

/// The headers of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartHead<'a> {
    /// A document in JSON.
    Document,
    /// `{"missing":"3-abc"}` in place of a revision that does not exist.
    Missing,
    /// A multipart nested in this one.
    Multipart(Kind, &'a Boundary),
    /// An attachment of the document before it.
    Attachment {
        /// Its name, which may be any text.
        name: &'a str,
        /// Its media type. A value that is not valid in a header is replaced by `application/octet-stream`.
        media_type: &'a str,
        /// The length of the following content, after compression.
        length: u64,
        /// Whether the content is compressed with gzip.
        is_gzip: bool,
    },
}

/// Writes one multipart body; the caller writes the content of each part after its head.
///
/// ```
/// use feedsync_couch::multipart::{PartHead, Writer, boundary_of};
///
/// let mut body = Vec::new();
/// let mut writer = Writer::new(boundary_of(11));
/// writer.part(&mut body, PartHead::Document);
/// body.extend_from_slice(b"{}");
/// writer.close(&mut body);
/// assert!(body.ends_with(b"\r\n\r\n{}\r\n--0000000000000000000000000000000b--"));
/// ```
#[derive(Debug)]
pub struct Writer {
    boundary: Boundary,
    has_parts: bool,
}

impl Writer {
    /// A writer that has written nothing.
    pub fn new(boundary: Boundary) -> Self {
        Self { boundary, has_parts: false }
    }

    /// Ends the previous part, if there is one, and begins the next; the caller writes its content.
    pub fn part(&mut self, out: &mut Vec<u8>, head: PartHead<'_>) {
        self.delimiter(out);
        self.has_parts = true;
        out.extend_from_slice(b"\r\n");
        push_head(out, head);
        out.extend_from_slice(b"\r\n");
    }

    /// Ends the last part and the body.
    pub fn close(self, out: &mut Vec<u8>) {
        self.delimiter(out);
        out.extend_from_slice(b"--");
    }

    fn delimiter(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.has_parts { b"\r\n--" } else { b"--" });
        out.extend_from_slice(self.boundary.as_str().as_bytes());
    }
}

fn push_head(out: &mut Vec<u8>, head: PartHead<'_>) {
    match head {
        PartHead::Document => push(out, "Content-Type", "application/json"),
        PartHead::Missing => push(out, "Content-Type", "application/json; error=\"true\""),
        PartHead::Multipart(kind, boundary) => {
            push(out, "Content-Type", &kind.content_type(boundary));
        }
        PartHead::Attachment { name, media_type, length, is_gzip } => {
            push_disposition(out, name);
            let is_written = is_media_type(media_type);
            let media_type = if is_written { media_type } else { "application/octet-stream" };
            push(out, "Content-Type", media_type);
            push(out, "Content-Length", &length.to_string());
            if is_gzip {
                push(out, "Content-Encoding", "gzip");
            }
        }
    }
}

/// Writes the name in UTF-8, as CouchDB does, with quotes and backslashes escaped. Control characters are
/// left out; a name that has some is also written in full as `filename*`.
fn push_disposition(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"Content-Disposition: attachment; filename=\"");
    for character in name.chars().filter(|character| !character.is_control()) {
        if matches!(character, '"' | '\\') {
            out.push(b'\\');
        }
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out.push(b'"');
    if name.contains(char::is_control) {
        out.extend_from_slice(b"; filename*=");
        push_extended(out, name);
    }
    out.extend_from_slice(b"\r\n");
}

/// The value must be checked, or a constant of this program.
fn push(out: &mut Vec<u8>, name: &str, value: &str) {
    for text in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Whether a text is printable ASCII that a reader parses as the same value. Its meaning is not checked.
fn is_media_type(text: &str) -> bool {
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
    (1..=255).contains(&text.len()) && text.bytes().all(is_printable) && text.trim() == text
}
