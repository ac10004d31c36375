//! The leaves of a document side by side.

use std::time::Instant;

use feedsync_couch::Revision;
use feedsync_formats::json::Node;
use feedsync_http::pages::{Side, sides};
use feedsync_store::LoadedDocument;

use super::json_text;
use crate::http::html::content::cut;

/// A conflict beside the winner.
pub(super) struct Pair {
    /// Number of the conflict, from 1.
    pub(super) number: usize,
    pub(super) revision: String,
    pub(super) winner: Side,
    pub(super) conflict: Side,
    /// Names of attachments that only one of them has.
    pub(super) attachments: Vec<String>,
}

/// The leaves that are not deleted, the winner first.
pub(super) fn live(found: &LoadedDocument) -> Vec<Revision> {
    let leaves = found.document.tree.leaves();
    let live = leaves.into_iter().filter(|leaf| !leaf.content.is_deleted);
    live.map(|leaf| leaf.revision.clone()).collect()
}

/// The leaves as a form returns them.
pub(super) fn seen(found: &LoadedDocument) -> String {
    let leaves = found.document.tree.leaves();
    leaves.iter().map(|leaf| leaf.revision.to_string()).collect::<Vec<_>>().join(" ")
}

/// The body of a revision as it is shown; empty if it was not read.
pub(super) fn text(found: &LoadedDocument, revision: &Revision) -> String {
    let body = found.bodies.get(revision);
    body.map(|body| json_text::object(Node::root(&body.text), |_| false)).unwrap_or_default()
}

impl Pair {
    pub(super) fn of(
        number: usize,
        found: &LoadedDocument,
        (winner, conflict): (&Revision, &Revision),
        deadline: Instant,
    ) -> Self {
        let (left, right) = (cut(&text(found, winner)).0, cut(&text(found, conflict)).0);
        let (left, right) = sides(&left, &right, deadline);
        let (ours, theirs) = (attachments(found, winner), attachments(found, conflict));
        let only = |all: &[NamedDigest], others: &[NamedDigest]| -> Vec<String> {
            let lonely = all.iter().filter(|one| !others.contains(one));
            lonely.map(|(name, _)| name.clone()).collect()
        };
        let mut lonely = [only(&ours, &theirs), only(&theirs, &ours)].concat();
        lonely.sort();
        lonely.dedup();
        Self {
            number,
            revision: conflict.to_string(),
            winner: left,
            conflict: right,
            attachments: lonely,
        }
    }
}

/// Name and digest of an attachment.
type NamedDigest = (String, String);

/// The attachments of a revision.
fn attachments(found: &LoadedDocument, revision: &Revision) -> Vec<NamedDigest> {
    let body = found.bodies.get(revision);
    let all = body.into_iter().flat_map(|body| body.attachments.iter());
    all.map(|it| (it.name.clone(), it.digest.as_str().to_owned())).collect()
}
