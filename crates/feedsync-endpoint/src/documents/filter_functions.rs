//! Functions of design documents that select the changes of a feed.
//!
//! A function gets each leaf that the feed could report, deleted ones too, with `_revisions` and its attachments as stubs.
//! The feed reports the leaves that it accepts. If a function cannot be executed or throws an exception, the feed fails:
//! otherwise it would hide changes or report too many.

use feedsync_couch::{BodyRef, DocumentWriter, Leaf, Refusal, Revision, boolean};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument};

use super::functions::{Call, DesignFunctions, DesignSource, list};
use super::show::{AttachmentContents, DocumentOptions};

/// Number of leaves that a function is asked about at once.
const CALL_DOCUMENTS: usize = 100;

/// Size of the documents of one call, in bytes. The document that reaches it is the last one.
const CALL_BYTES: usize = 4 << 20;

/// A function that selects changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterFunction {
    /// The design document.
    pub design: DesignSource,
    /// The function in the design document.
    pub call: FilterCall,
}

/// A function of a design document that selects changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterCall {
    /// A filter function.
    Filter {
        /// Its name.
        name: String,
        /// The request that it gets, as JSON.
        request: String,
    },
    /// The map function of a view. It accepts the documents of which the view has rows.
    View {
        /// Name of the view.
        name: String,
    },
}

/// Returns the leaves of each document that a function accepts: of all leaves, or of the winner only. The documents have
/// the revisions that [`chosen`](super::filter::chosen) selects.
pub async fn accepted_leaves(
    functions: &dyn DesignFunctions,
    function: &FilterFunction,
    (database, documents): (&Database, &[LoadedDocument]),
    all_leaves: bool,
) -> Result<Vec<Vec<Revision>>, Refusal> {
    let mut accepted = vec![Vec::new(); documents.len()];
    let mut leaves = candidates(documents, all_leaves).into_iter();
    loop {
        let (asked, texts) = batch(&mut leaves, database);
        if asked.is_empty() {
            return Ok(accepted);
        }
        let passes = function.accepts(functions, &texts).await?;
        for (candidate, _) in asked.iter().zip(passes).filter(|(_, passes)| *passes) {
            accepted[candidate.place].push(candidate.leaf.revision.clone());
        }
    }
}

impl FilterFunction {
    /// Returns whether the function accepts each of these documents, which are JSON. The error is that the function cannot be
    /// executed, or threw an exception.
    async fn accepts(
        &self,
        functions: &dyn DesignFunctions,
        documents: &[String],
    ) -> Result<Vec<bool>, Refusal> {
        let documents: Vec<&str> = documents.iter().map(|document| &**document).collect();
        let (name, call) = match &self.call {
            FilterCall::Filter { name, request } => {
                (name, Call::Filter { name, documents: &documents, request })
            }
            FilterCall::View { name } => {
                (name, Call::FilterByView { view: name, documents: &documents })
            }
        };
        let read = |said: Node<'_>| boolean(said) == Some(true);
        list(functions, (&self.design, name), &call, documents.len(), read).await
    }
}

/// A leaf that a function is asked about.
struct Candidate<'a> {
    /// Number of its document in the page.
    place: usize,
    read: &'a LoadedDocument,
    leaf: Leaf<'a, BodyRef>,
}

fn candidates(documents: &[LoadedDocument], all_leaves: bool) -> Vec<Candidate<'_>> {
    let count = if all_leaves { usize::MAX } else { 1 };
    let mut candidates = Vec::new();
    for (place, read) in documents.iter().enumerate() {
        let leaves = read.document.tree.leaves().into_iter().take(count);
        candidates.extend(leaves.map(|leaf| Candidate { place, read, leaf }));
    }
    candidates
}

/// The leaves of the next call, and their documents as JSON.
fn batch<'a>(
    leaves: &mut impl Iterator<Item = Candidate<'a>>,
    database: &Database,
) -> (Vec<Candidate<'a>>, Vec<String>) {
    let (mut asked, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
    while asked.len() < CALL_DOCUMENTS && bytes < CALL_BYTES {
        let Some(candidate) = leaves.next() else { break };
        let text = to_json(candidate.read, &candidate.leaf, database);
        bytes += text.len();
        texts.push(text);
        asked.push(candidate);
    }
    (asked, texts)
}

/// A leaf as a function sees it. If its body is not stored any more, it has no other members.
fn to_json(read: &LoadedDocument, leaf: &Leaf<'_, BodyRef>, database: &Database) -> String {
    let mut out = String::new();
    let show = DocumentOptions { revs: true, ..DocumentOptions::default() };
    if show.push(&mut out, read, leaf.revision, &AttachmentContents::new(), database).is_none() {
        out.clear();
        let (id, revision) = (read.document.id.as_str(), leaf.revision.to_string());
        DocumentWriter::begin(&mut out, id, &revision, leaf.content.is_deleted, "{}").end();
    }
    out
}
