//! Serialization of documents in responses.

use std::fmt::Write as _;

use feedsync_formats::json::push_string;

use super::members;
use crate::attachment::{Attachment, AttachmentForm, push_attachments};
use crate::revision::Revision;
use crate::tree::Path;

/// Writes a document: `_id` and `_rev`, the unchanged body, then the requested special members.
#[derive(Debug)]
pub struct DocumentWriter<'a> {
    out: &'a mut String,
}

impl<'a> DocumentWriter<'a> {
    /// Begins a document at the end of a text; `body` is the text of a [`Body`](super::Body).
    pub fn begin(
        out: &'a mut String,
        id: &str,
        revision: &str,
        is_deleted: bool,
        body: &str,
    ) -> Self {
        out.push_str("{\"_id\":");
        push_string(out, id);
        out.push_str(",\"_rev\":");
        push_string(out, revision);
        let members = members(body);
        if !members.is_empty() {
            out.push(',');
            out.push_str(members);
        }
        if is_deleted {
            out.push_str(",\"_deleted\":true");
        }
        Self { out }
    }

    /// Adds `_attachments`, each in its requested form; nothing if there are none.
    pub fn attachments<'b>(
        self,
        attachments: &'b [Attachment],
        form: impl Fn(&'b Attachment) -> AttachmentForm<'b>,
    ) -> Self {
        if !attachments.is_empty() {
            self.out.push_str(",\"_attachments\":");
            push_attachments(self.out, attachments, form);
        }
        self
    }

    /// Adds `_revisions`.
    pub fn revisions(self, path: &Path) -> Self {
        self.out.push_str(",\"_revisions\":");
        push_revisions(self.out, path);
        self
    }

    /// Adds a list of revisions under a name; nothing if it is empty.
    pub fn list<'r>(self, name: &str, revisions: impl Iterator<Item = &'r Revision>) -> Self {
        let mut is_first = true;
        for revision in revisions {
            self.out.push_str(if is_first { ",\"" } else { "," });
            if is_first {
                self.out.push_str(name);
                self.out.push_str("\":[");
            }
            is_first = false;
            push_string(self.out, &revision.to_string());
        }
        if !is_first {
            self.out.push(']');
        }
        self
    }

    /// Adds a member whose value is JSON already.
    pub fn member(self, name: &str, json: &str) -> Self {
        // Names are constants of this program and need no escaping.
        let _ = write!(self.out, ",\"{name}\":{json}");
        self
    }

    /// Ends the document.
    pub fn end(self) {
        self.out.push('}');
    }
}

/// Appends `{"start": N, "ids": [newest, ..., oldest]}`.
pub fn push_revisions(out: &mut String, path: &Path) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{{\"start\":{},\"ids\":[", path.start());
    for (at, signature) in path.signatures().iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, &signature.to_string());
    }
    out.push_str("]}");
}
