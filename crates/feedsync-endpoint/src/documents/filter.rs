//! Selection of the changes that a changes feed reports (section 7).

use std::sync::Arc;

use feedsync_couch::selector::Subject;
use feedsync_couch::{BodyRef, ChangesFilter, Leaf, Revision};
use feedsync_formats::json::Node;
use feedsync_store::{Kind, LoadedDocument, SelectBodies, SkipKind};

use super::leaves;

/// Returns the leaves of a document that are reported: all of them that pass the filter, or the winner. Functions are not
/// executed here, but by [`accepted_leaves`](super::filter_functions::accepted_leaves).
/// `read` has the revisions that [`chosen`] selects.
pub fn listed_leaves<'a>(
    filter: &ChangesFilter,
    read: &'a LoadedDocument,
    all_leaves: bool,
) -> Vec<Leaf<'a, BodyRef>> {
    let leaves = read.document.tree.leaves().into_iter();
    let count = if all_leaves { usize::MAX } else { 1 };
    leaves.take(count).filter(|leaf| matches_filter(filter, read, leaf)).collect()
}

/// Selects the revisions that are read to report a change, with or without the document.
pub fn chosen(filter: &Arc<ChangesFilter>, all_leaves: bool, with_document: bool) -> SelectBodies {
    let looks = matches!(**filter, ChangesFilter::Selector(_) | ChangesFilter::Function(..));
    if !looks && !with_document {
        return leaves::none();
    }
    Box::new(move |document| {
        let leaves = document.tree.leaves();
        let count = match (looks, all_leaves) {
            (true, true) => leaves.len(),
            _ => 1,
        };
        leaves.into_iter().take(count).map(|leaf| leaf.revision.clone()).collect::<Vec<Revision>>()
    })
}

/// Returns a test for documents that the filter excludes, by what is known without reading them.
pub fn skips_kind(filter: &Arc<ChangesFilter>) -> Option<SkipKind> {
    let filter = Arc::clone(filter);
    match *filter {
        ChangesFilter::None | ChangesFilter::Function(..) => None,
        _ => Some(Box::new(move |id, kind| match (&*filter, kind) {
            (ChangesFilter::Ids(ids), _) => !ids.contains(id),
            (ChangesFilter::Design, _) => !id.is_design(),
            (ChangesFilter::Selector(selector), Kind::None) => {
                selector.decides_by_type(None) == Some(false)
            }
            (ChangesFilter::Selector(selector), Kind::Text(kind)) => {
                selector.decides_by_type(Some(kind)) == Some(false)
            }
            _ => false,
        })),
    }
}

/// Whether a filter lets a leaf pass.
fn matches_filter(filter: &ChangesFilter, read: &LoadedDocument, leaf: &Leaf<'_, BodyRef>) -> bool {
    let id = &read.document.id;
    match filter {
        ChangesFilter::None => true,
        ChangesFilter::Ids(ids) => ids.contains(id),
        ChangesFilter::Design => id.is_design(),
        ChangesFilter::Function(..) => false,
        ChangesFilter::Selector(selector) => read.bodies.get(leaf.revision).is_some_and(|kept| {
            selector.matches(&Subject {
                id: id.as_str(),
                revision: &leaf.revision.to_string(),
                is_deleted: leaf.content.is_deleted,
                body: Node::root(&kept.text),
            })
        }),
    }
}
