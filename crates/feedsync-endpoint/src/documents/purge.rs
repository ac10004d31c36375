//! Purging revisions, so that no trace of them is left (`_purge`).

use std::collections::BTreeMap;

use feedsync_couch::{DocumentId, Revision};
use feedsync_store::{
    Database, Databases, DatabasesExt as _, DocumentRequest, DocumentWrite, Kind, StoreError,
};

/// Purges leaves of documents with the ancestors that only they have, if the database still has the same
/// epoch. Returns the purged leaves.
pub async fn purge_documents(
    databases: &dyn Databases,
    Database { name, epoch, .. }: &Database,
    named: BTreeMap<DocumentId, Vec<Revision>>,
) -> Result<Vec<(DocumentId, Vec<Revision>)>, StoreError> {
    let wanted = |id: &DocumentId| DocumentRequest { id: id.clone(), with_attachments: false };
    let wanted: Vec<DocumentRequest> = named.keys().map(wanted).collect();
    let epoch = *epoch;
    let (_, purged) = databases
        .decide_documents(name, wanted, move |snapshot| {
            let (mut writes, mut purged) = (Vec::new(), Vec::new());
            for (id, revisions) in &named {
                let found = snapshot.document(id).filter(|_| snapshot.database().epoch == epoch);
                let mut tree = found.map(|it| it.tree.clone()).unwrap_or_default();
                let gone = tree.purge(revisions).revisions;
                if !gone.is_empty() {
                    let (id, kind, bodies) = (id.clone(), Some(Kind::Unknown), Vec::new());
                    // A remaining document is reported as changed: another leaf may win.
                    let is_change = !tree.is_empty();
                    writes.push(DocumentWrite {
                        id,
                        tree,
                        is_change,
                        kind,
                        bodies,
                        is_purge: true,
                        author: None,
                    });
                }
                purged.push((id.clone(), gone));
            }
            (writes, purged)
        })
        .await?;
    Ok(purged)
}
