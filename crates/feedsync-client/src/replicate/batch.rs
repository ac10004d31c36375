//! A batch of changed documents.

use std::collections::HashMap;

use feedsync_couch::replication::{ChangedDocument, ChangesPage, UpdateSequence};

/// Changed documents that are transferred together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) documents: Vec<ChangedDocument>,
    /// The checkpoint that is reached with it.
    pub(super) last: Option<UpdateSequence>,
}

impl Batch {
    /// Splits a page into batches with a maximum number of documents. A document that changed while the page
    /// was read occurs in it twice, and is transferred once.
    pub(super) fn of(page: ChangesPage, most: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut documents = united(page.documents).into_iter();
        loop {
            let part: Vec<_> = documents.by_ref().take(most).collect();
            let is_last = documents.len() == 0;
            let last = is_last.then(|| page.last.clone());
            batches.push(Self { documents: part, last });
            if is_last {
                return batches;
            }
        }
    }
}

/// Merges the rows of each document, with all revisions.
fn united(rows: Vec<ChangedDocument>) -> Vec<ChangedDocument> {
    let mut documents: Vec<ChangedDocument> = Vec::with_capacity(rows.len());
    let mut places: HashMap<String, usize> = HashMap::with_capacity(rows.len());
    for row in rows {
        let place = *places.entry(row.id.clone()).or_insert(documents.len());
        match documents.get_mut(place) {
            None => documents.push(row),
            Some(document) => {
                let known = &mut document.revisions;
                row.revisions.into_iter().for_each(|it| {
                    if !known.contains(&it) {
                        known.push(it);
                    }
                });
            }
        }
    }
    documents
}
