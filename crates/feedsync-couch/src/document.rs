//! Documents in requests, and the rules by which an edit becomes a revision (section 5).

mod edit;
mod submission;
#[cfg(test)]
mod tests;
mod write;

use sha2::{Digest as _, Sha256};

use feedsync_formats::json::Node;

use crate::attachment::Attachment;
use crate::canonical;
use crate::json::quoted;
use crate::revision::{Revision, Signature};

pub use edit::edited;
pub(crate) use submission::push_compact;
pub use submission::{SpecialMembers, Submission};
pub use write::{DocumentWriter, push_revisions};

/// The contents of a document without its special members: a JSON object with its members unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(String);

impl Body {
    /// A body that was stored.
    pub fn kept(text: String) -> Self {
        Self(text)
    }

    /// The text of the body.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text of the body, for storing it.
    pub fn into_text(self) -> String {
        self.0
    }

    /// The JSON value of the body.
    pub fn root(&self) -> Node<'_> {
        Node::root(&self.0)
    }

    /// Copies the body without the members that are left out, and with added ones, whose values are JSON.
    pub fn with_members(
        body: Node<'_>,
        is_left_out: impl Fn(&str) -> bool,
        added: &[(&str, &str)],
    ) -> Self {
        let rest = body.members().filter(|member| !is_left_out(&member.name));
        let rest = rest.map(|member| member.raw().to_owned());
        let added = added.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
        let members: Vec<String> = rest.chain(added).collect();
        Self(format!("{{{}}}", members.join(",")))
    }
}

/// The text of a body without its braces.
pub fn members(body: &str) -> &str {
    body.get(1..body.len().saturating_sub(1)).unwrap_or_default()
}

impl Default for Body {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

/// Digest of a body that does not depend on its spelling. It is computed before the edit takes any lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Body {
    /// Computes the digest.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut text = Vec::new();
        canonical::push(&mut text, self.root());
        Fingerprint(Sha256::digest(&text).into())
    }
}

/// The signature of an edit. Every replica of this program computes the same signature for the same edit of
/// the same revision, so that identical edits do not conflict. Differently spelled numbers are different.
pub fn signature(
    parent: Option<&Revision>,
    is_deleted: bool,
    body: Fingerprint,
    attachments: &[Attachment],
) -> Signature {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    add(if is_deleted { b"deleted" } else { b"" });
    add(parent.map(ToString::to_string).unwrap_or_default().as_bytes());
    add(&body.0);
    let mut attachments: Vec<_> = attachments.iter().collect();
    attachments.sort_by(|one, other| one.name.cmp(&other.name));
    for attachment in attachments {
        add(attachment.name.as_bytes());
        add(attachment.content_type.as_bytes());
        add(attachment.digest.as_str().as_bytes());
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize()[..16]);
    Signature::of(digest)
}
