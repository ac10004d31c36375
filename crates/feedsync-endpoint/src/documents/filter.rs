//! Selection of the changes that a changes feed reports (section 7).

use std::sync::Arc;

use feedsync_couch::selector::Subject;
use feedsync_couch::{BodyPlace, ChangesFilter, Leaf, Revision};
use feedsync_formats::json::Node;
use feedsync_store::{Choose, Kind, PassOver, ReadDocument};

use super::leaves;

/// Returns the leaves of a document that are reported: all of them that pass the filter, or the winner.
/// `read` has the revisions that [`chosen`] selects.
pub fn told<'a>(
    filter: &ChangesFilter,
    read: &'a ReadDocument,
    all_leaves: bool,
) -> Vec<Leaf<'a, BodyPlace>> {
    let leaves = read.document.tree.leaves().into_iter();
    let count = if all_leaves { usize::MAX } else { 1 };
    leaves.take(count).filter(|leaf| is_meant(filter, read, leaf)).collect()
}

/// Selects the revisions that are read to report a change, with or without the document.
pub fn chosen(filter: &Arc<ChangesFilter>, all_leaves: bool, with_document: bool) -> Choose {
    let looks = matches!(**filter, ChangesFilter::Selector(_));
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
pub fn passes_over(filter: &Arc<ChangesFilter>) -> Option<PassOver> {
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
fn is_meant(filter: &ChangesFilter, read: &ReadDocument, leaf: &Leaf<'_, BodyPlace>) -> bool {
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
