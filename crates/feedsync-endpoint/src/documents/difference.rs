//! Comparison of stored revisions with those that a client has (6.1).

use std::collections::HashMap;

use feedsync_couch::{DatabaseName, DocumentId, Revision};
use feedsync_store::{Databases, StoreError};

use super::leaves;

/// Missing revisions of a document, and stored leaves that may be their ancestors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRevisions {
    /// Id of the document; it may be invalid.
    pub id: String,
    /// Revisions that the database lacks.
    pub missing: Vec<Revision>,
    /// Leaves that the database has.
    pub ancestors: Vec<Revision>,
}

/// Number of documents in one page, and maximum number of bytes of their trees.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// Compares documents in the order of the request, each once. Documents of which no revision is missing are
/// left out.
pub async fn find_missing(
    databases: &dyn Databases,
    name: &DatabaseName,
    wanted: Vec<(String, Vec<Revision>)>,
) -> Result<Vec<MissingRevisions>, StoreError> {
    let wanted = united(wanted);
    // A document with an invalid id is missing, like any other that is not stored.
    let ids: Vec<Option<DocumentId>> = wanted.iter().map(|(id, _)| id.parse().ok()).collect();
    let can_be: Vec<bool> = ids.iter().map(Option::is_some).collect();
    let ids: Vec<DocumentId> = ids.into_iter().flatten().collect();
    let (mut rest, mut epoch) = (&ids[..], None);
    // They are found in the order of the request.
    let mut found = Vec::new().into_iter();
    let mut differences = Vec::new();
    for ((id, revisions), can_be) in wanted.into_iter().zip(can_be) {
        if can_be && found.len() == 0 {
            let some = &rest[..rest.len().min(PAGE)];
            let page = databases.documents(name, some, leaves::none(), PAGE_BYTES).await?;
            if *epoch.get_or_insert(page.database.epoch) != page.database.epoch {
                return Err(StoreError::NoDatabase(name.clone()));
            }
            rest = &rest[page.documents.len()..];
            found = page.documents.into_iter();
        }
        let read = if can_be { found.next().flatten() } else { None };
        let tree = read.as_ref().map(|read| &read.document.tree);
        // A revision is known wherever it is in the tree (CG5).
        let is_missing = |it: &Revision| !tree.is_some_and(|tree| tree.contains(it));
        let missing: Vec<Revision> = revisions.into_iter().filter(is_missing).collect();
        let Some(greatest) = missing.iter().map(Revision::generation).max() else { continue };
        let leaves = tree.map(|tree| tree.leaves()).unwrap_or_default();
        let ancestors = leaves.iter().filter(|leaf| leaf.revision.generation() < greatest);
        let ancestors = ancestors.map(|leaf| leaf.revision.clone()).collect();
        differences.push(MissingRevisions { id, missing, ancestors });
    }
    Ok(differences)
}

/// Merges the requests for one document at its first position, with all revisions.
fn united(wanted: Vec<(String, Vec<Revision>)>) -> Vec<(String, Vec<Revision>)> {
    let mut places: HashMap<String, usize> = HashMap::with_capacity(wanted.len());
    let mut all: Vec<(String, Vec<Revision>)> = Vec::with_capacity(wanted.len());
    for (id, mut revisions) in wanted {
        match places.get(&id) {
            Some(place) => all[*place].1.append(&mut revisions),
            None => {
                places.insert(id.clone(), all.len());
                all.push((id, revisions));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_looked_at_once() {
        let of = |id: &str, revisions: &str| {
            let revisions = revisions.split(' ').map(|it| it.parse().unwrap()).collect();
            (id.to_owned(), revisions)
        };
        let wanted = vec![of("a", "1-a"), of("b", "1-b"), of("a", "2-a 1-a")];
        assert_eq!(united(wanted), [of("a", "1-a 2-a 1-a"), of("b", "1-b")]);
    }
}
