//! A document in a request.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node};

use super::Body;
use crate::attachment::SentAttachment;
use crate::json::{boolean, integer, text};
use crate::many::MAX_NAMED;
use crate::name::DocumentId;
use crate::refusal::{Refusal, RefusalKind};
use crate::revision::{Revision, Signature};
use crate::tree::Path;

/// A document in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// `_id`.
    pub id: Option<DocumentId>,
    /// `_rev`.
    pub revision: Option<Revision>,
    /// `_revisions`.
    pub path: Option<Path>,
    /// `_deleted`.
    pub is_deleted: bool,
    /// `_attachments`, in order.
    pub attachments: Vec<SentAttachment>,
    /// All other members.
    pub body: Body,
}

/// Treatment of unknown members whose name begins with `_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialMembers {
    /// They are rejected.
    Checked,
    /// They are dropped, because they have no meaning in local documents.
    Dropped,
}

impl Submission {
    /// Reads an object of a checked text.
    pub fn read(node: Node<'_>) -> Result<Self, Refusal> {
        Self::read_with(node, SpecialMembers::Checked)
    }

    /// The same, also for local documents; their `_id` and `_rev` are ignored here.
    pub fn read_with(node: Node<'_>, special: SpecialMembers) -> Result<Self, Refusal> {
        if node.kind() != Kind::Object {
            return Err(RefusalKind::BadRequest.with_reason("Document must be a JSON object"));
        }
        let mut read = Self::default();
        let mut body = String::with_capacity(node.raw().len());
        body.push('{');
        for member in node.members() {
            let is_kept = match member.name.strip_prefix('_') {
                None => true,
                Some(_) if special == SpecialMembers::Dropped => {
                    if member.name == "_deleted" {
                        read.is_deleted = boolean(member.value) == Some(true);
                    }
                    false
                }
                Some(name) => read.special(name, member.value)?,
            };
            if is_kept {
                if body.len() > 1 {
                    body.push(',');
                }
                push_compact(&mut body, member.raw());
            }
        }
        body.push('}');
        body.shrink_to_fit();
        read.body = Body(body);
        Ok(read)
    }

    /// Reads a member whose name begins with `_`; returns whether it stays in the body.
    fn special(&mut self, name: &str, value: Node<'_>) -> Result<bool, Refusal> {
        match name {
            "id" => {
                let id = text(value).ok_or_else(|| {
                    RefusalKind::IllegalDocumentId.with_reason("Document id must be a string")
                })?;
                self.id = Some(id.parse()?);
            }
            "rev" => self.revision = Some(revision(value)?),
            "revisions" => self.path = Some(path(value)?),
            "deleted" => {
                self.is_deleted = boolean(value).ok_or_else(|| {
                    RefusalKind::DocumentValidation.with_reason("_deleted must be true or false")
                })?;
            }
            "attachments" => self.attachments = SentAttachment::read_all(value)?,
            "revs_info" | "local_seq" | "conflicts" | "deleted_conflicts" => {}
            _ if name == "access" || name.starts_with("replication_") => return Ok(true),
            _ => {
                return Err(RefusalKind::DocumentValidation
                    .with_reason(format_args!("Bad special document member: _{name}")));
            }
        }
        Ok(false)
    }

    /// The path that is joined to the tree unchanged (`new_edits: false`).
    pub fn replicated(&self) -> Result<Path, Refusal> {
        match (&self.path, &self.revision) {
            (Some(path), _) => Ok(path.clone()),
            (None, Some(revision)) => Ok(Path::root(revision)),
            (None, None) => Err(RefusalKind::BadRequest.with_reason(
                "When `new_edits: false`, the document needs `_rev` or `_revisions` specified",
            )),
        }
    }

    /// The revision on which the edit is based, if it states one.
    pub fn base(&self) -> Option<Revision> {
        self.revision.clone().or_else(|| self.path.as_ref().map(Path::newest))
    }
}

/// Appends JSON without the white space between its tokens, because a document that is sent on one line must
/// not contain line ends.
pub(crate) fn push_compact(out: &mut String, json: &str) {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let bytes = json.as_bytes();
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            byte if is_blank(byte) => {
                out.push_str(&json[from..at]);
                while at < bytes.len() && is_blank(bytes[at]) {
                    at += 1;
                }
                from = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(json.get(from..).unwrap_or_default());
}

/// Reads a revision in a request.
pub(crate) fn revision(node: Node<'_>) -> Result<Revision, Refusal> {
    let given: Option<Cow<'_, str>> = text(node);
    Ok(given.ok_or(crate::revision::RevisionError)?.parse::<Revision>()?)
}

/// Reads `_revisions`: `{"start": N, "ids": [newest, ..., oldest]}`.
fn path(node: Node<'_>) -> Result<Path, Refusal> {
    let refuse = |reason: &str| RefusalKind::DocumentValidation.with_reason(reason);
    let start = node.member("start").and_then(|start| integer(start.value));
    let start = start.ok_or_else(|| refuse("_revisions.start isn't an integer."))?;
    let ids = node.member("ids").filter(|ids| ids.value.kind() == Kind::Array);
    let ids = ids.ok_or_else(|| refuse("_revisions.ids isn't a array."))?;
    let signature = |id: Node<'_>| -> Result<Signature, Refusal> {
        let id = text(id).ok_or_else(|| refuse("RevId isn't a string"))?;
        Ok(id.parse()?)
    };
    // No path stores more revisions.
    let ids = ids.value.elements().take(MAX_NAMED);
    let signatures = ids.map(signature).collect::<Result<Vec<_>, _>>()?;
    Path::new(start, signatures).map_err(|error| refuse(&format!("_revisions: {error}")))
}
