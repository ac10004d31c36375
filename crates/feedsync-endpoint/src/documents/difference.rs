//! What is here of revisions that somebody else has (6.1).

use std::collections::BTreeMap;

use feedsync_couch::{DatabaseName, DocumentId, Revision};
use feedsync_store::{Databases, StoreError};

use super::leaves;

/// What is missing of a document, and what is here that it may have come of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which document; perhaps what can be no id.
    pub id: String,
    /// The revisions that are not here.
    pub missing: Vec<Revision>,
    /// The leaves that are.
    pub ancestors: Vec<Revision>,
}

/// Compares documents, in their order; of those of which all is here nothing is told.
pub async fn compare(
    databases: &dyn Databases,
    name: &DatabaseName,
    wanted: Vec<(String, Vec<Revision>)>,
) -> Result<Vec<Difference>, StoreError> {
    // What can be no id is missing, like any other that is not here.
    let ids: Vec<DocumentId> = wanted.iter().filter_map(|(id, _)| id.parse().ok()).collect();
    let page = databases.documents(name, &ids, leaves::none(), u64::MAX).await?;
    let found = page.documents.into_iter().flatten().map(|it| it.document);
    let found: BTreeMap<String, _> =
        found.map(|document| (document.id.as_str().to_owned(), document.tree)).collect();
    let mut differences = Vec::new();
    for (id, revisions) in wanted {
        let tree = found.get(&id);
        // A revision is here wherever it is in the tree (gotcha 5).
        let is_missing = |it: &Revision| !tree.is_some_and(|tree| tree.contains(it));
        let missing: Vec<Revision> = revisions.into_iter().filter(is_missing).collect();
        let Some(greatest) = missing.iter().map(Revision::generation).max() else { continue };
        let leaves = tree.map(|tree| tree.leaves()).unwrap_or_default();
        let ancestors = leaves.iter().filter(|leaf| leaf.revision.generation() < greatest);
        let ancestors = ancestors.map(|leaf| leaf.revision.clone()).collect();
        differences.push(Difference { id, missing, ancestors });
    }
    Ok(differences)
}
