//! JSON as it was received: checked once, then read without being copied.

use std::borrow::Cow;

use feedsync_formats::json::{Flaw, Kind, Node, check, check_grammar, push_string};

use crate::refusal::{Refusal, RefusalKind};

/// Maximum nesting depth of objects and arrays.
pub const MAX_DEPTH: usize = 512;

/// Maximum number of levels that a request or response has around a document.
const ENVELOPE_LEVELS: usize = 8;

/// A text that was checked to be JSON.
///
/// Repeated names and halves of surrogate pairs are accepted (CG16) and returned unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Checks bytes.
    pub fn read(bytes: Vec<u8>) -> Result<Self, Refusal> {
        Self::read_to(bytes, MAX_DEPTH)
    }

    /// Checks a text that contains documents: a response, or a request with several documents.
    pub fn read_envelope(bytes: Vec<u8>) -> Result<Self, Refusal> {
        Self::read_to(bytes, MAX_DEPTH + ENVELOPE_LEVELS)
    }

    fn read_to(bytes: Vec<u8>, depth: usize) -> Result<Self, Refusal> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            RefusalKind::BadRequest.with_reason(format_args!("invalid UTF-8 JSON: at byte {at}"))
        })?;
        match check_grammar(&text, depth) {
            Ok(()) => Ok(Self(text)),
            Err(fault) => Err(RefusalKind::BadRequest.with_reason(format_args!(
                "invalid UTF-8 JSON: at byte {}: {}",
                fault.offset, fault.message
            ))),
        }
    }

    /// Rejects a document within a larger text if it has more levels than a document may have.
    pub fn check_document(document: Node<'_>) -> Result<(), Refusal> {
        let refuse = || {
            let reason = format_args!("invalid UTF-8 JSON: more than {MAX_DEPTH} levels");
            RefusalKind::BadRequest.with_reason(reason)
        };
        if document.is_deeper_than(MAX_DEPTH) { Err(refuse()) } else { Ok(()) }
    }

    /// Its value.
    pub fn root(&self) -> Node<'_> {
        Node::of_checked(&self.0)
    }
}

/// The text of a string. `None` for other values, and for a string with half of a surrogate pair, which is
/// not text.
pub fn text<'a>(node: Node<'a>) -> Option<Cow<'a, str>> {
    let text = node.string()?;
    // Only an escaped character can be half a pair.
    let is_whole = matches!(text, Cow::Borrowed(_))
        || check(node.raw(), MAX_DEPTH)
            .is_ok_and(|flaws| flaws.iter().all(|(_, flaw)| *flaw != Flaw::LoneSurrogate));
    is_whole.then_some(text)
}

/// A value that is `true` or `false`.
pub fn boolean(node: Node<'_>) -> Option<bool> {
    (node.kind() == Kind::Boolean).then(|| node.raw() == "true")
}

/// A number without sign, fraction or exponent.
pub fn integer(node: Node<'_>) -> Option<u64> {
    node.raw().parse().ok().filter(|_| node.kind() == Kind::Number)
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}
