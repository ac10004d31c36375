//! Documents as they are returned, with the additional members that a request asks for.

use std::collections::{BTreeMap, HashMap};

use feedsync_couch::{
    Attachment, AttachmentDigest, AttachmentForm, BodyRef, DatabaseName, DocumentWriter, Leaf,
    Parameters, Refusal, RefusalKind, Revision, Tree, quoted,
};
use feedsync_store::{Database, Databases, LoadedDocument};

use super::{DocumentsError, sequence};

/// Additional members that a request asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct DocumentOptions {
    /// `_revisions`.
    pub revs: bool,
    /// `_revs_info`.
    pub revs_info: bool,
    /// `_conflicts`.
    pub conflicts: bool,
    /// `_deleted_conflicts`.
    pub deleted_conflicts: bool,
    /// `_local_seq`.
    pub local_seq: bool,
    /// Whether the content of attachments is included, and not only stubs.
    pub attachments: bool,
    /// Whether attachments follow the document, whether or not their content was read into memory.
    pub follows: bool,
    /// Attachments of this generation and earlier ones are returned as stubs.
    pub newer_than: u64,
}

/// Content of attachments, by digest.
pub type AttachmentContents = HashMap<AttachmentDigest, Vec<u8>>;

impl DocumentOptions {
    /// Parses the members from request parameters.
    pub fn of(parameters: &Parameters) -> Result<Self, Refusal> {
        let meta = parameters.flag("meta")?;
        Ok(Self {
            revs: parameters.flag("revs")?,
            revs_info: meta || parameters.flag("revs_info")?,
            conflicts: meta || parameters.flag("conflicts")?,
            deleted_conflicts: meta || parameters.flag("deleted_conflicts")?,
            local_seq: parameters.flag("local_seq")?,
            attachments: parameters.flag("attachments")?,
            follows: false,
            newer_than: 0,
        })
    }

    /// Whether an attachment is returned with its content. An attachment of generation 0 may be of any
    /// generation.
    pub fn includes_content(&self, attachment: &Attachment) -> bool {
        let generation = attachment.generation;
        generation > self.newer_than || self.newer_than == 0 || generation == 0
    }

    /// Whether the content of any of these attachments is sent, and not only stubs of them.
    pub fn includes_any_content(&self, attachments: &[Attachment]) -> bool {
        attachments.iter().any(|attachment| self.includes_content(attachment))
    }

    /// Returns the same for a client that has the attachments of earlier revisions.
    pub fn since(self, had: &[Revision], tree: &Tree<BodyRef>, revision: &Revision) -> Self {
        let Some(path) = tree.path(revision).filter(|_| !had.is_empty()) else { return self };
        let known = path.revisions().find(|it| had.contains(it));
        Self { newer_than: known.map_or(0, |it| it.generation()), ..self }
    }

    /// Appends a revision of a document, or nothing if its body is not stored.
    pub fn push(
        &self,
        out: &mut String,
        read: &LoadedDocument,
        revision: &Revision,
        held: &AttachmentContents,
        database: &Database,
    ) -> Option<()> {
        let kept = read.bodies.get(revision)?;
        let tree = &read.document.tree;
        let is_deleted = tree.content(revision)?.is_deleted;
        let id = read.document.id.as_str();
        let mut writer =
            DocumentWriter::begin(out, id, &revision.to_string(), is_deleted, &kept.text)
                .attachments(&kept.attachments, |attachment| match held.get(&attachment.digest) {
                    _ if !self.includes_content(attachment) => AttachmentForm::Stub,
                    _ if self.follows => AttachmentForm::Follows,
                    Some(bytes) => AttachmentForm::Data(bytes),
                    None => AttachmentForm::Stub,
                });
        if self.revs {
            writer = writer.revisions(&tree.path(revision)?);
        }
        if self.revs_info {
            writer = writer.member("_revs_info", &revisions_info(tree, revision)?);
        }
        let names_others = self.conflicts || self.deleted_conflicts;
        let others = if names_others { tree.leaves() } else { Vec::new() };
        let others = others.iter().skip(1);
        let of = |is_deleted: bool| {
            let of = others.clone().filter(move |leaf| leaf.content.is_deleted == is_deleted);
            of.map(|leaf: &Leaf<'_, BodyRef>| leaf.revision)
        };
        if self.conflicts {
            writer = writer.list("_conflicts", of(false));
        }
        if self.deleted_conflicts {
            writer = writer.list("_deleted_conflicts", of(true));
        }
        if self.local_seq {
            let place = quoted(&sequence::text(database, read.document.number));
            writer = writer.member("_local_seq", &place);
        }
        writer.end();
        Some(())
    }
}

/// `[{"rev": ..., "status": ...}, ...]`, the newest first.
fn revisions_info(tree: &Tree<BodyRef>, revision: &Revision) -> Option<String> {
    let info = |revision: Revision| {
        let status = match tree.content(&revision) {
            None => "missing",
            Some(content) if content.is_deleted => "deleted",
            Some(_) => "available",
        };
        format!("{{\"rev\":{},\"status\":\"{status}\"}}", quoted(&revision.to_string()))
    };
    let all: Vec<String> = tree.path(revision)?.revisions().map(info).collect();
    Some(format!("[{}]", all.join(",")))
}

/// Reads the contents of a document's attachments in the revisions that were read, up to a total number of
/// bytes.
pub async fn held(
    databases: &dyn Databases,
    name: &DatabaseName,
    document: &LoadedDocument,
    most: u64,
) -> Result<AttachmentContents, DocumentsError> {
    let all = document.bodies.values().flat_map(|body| body.attachments.iter());
    let all: BTreeMap<_, _> = all.map(|it| (&it.digest, it.length)).collect();
    if all.values().sum::<u64>() > most {
        let reason = "the attachments do not fit into one answer; ask for them one by one";
        return Err(RefusalKind::TooLarge.with_reason(reason).into());
    }
    let mut held = AttachmentContents::new();
    for digest in all.into_keys() {
        if let Some(bytes) = databases.attachment(name, digest).await? {
            held.insert(digest.clone(), bytes);
        }
    }
    Ok(held)
}
