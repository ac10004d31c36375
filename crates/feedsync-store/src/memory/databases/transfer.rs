//! Transfer of a database from and to memory.

use std::ops::Bound;

use feedsync_couch::{AttachmentDigest, LocalId};

use super::{DatabaseContents, Document};
use crate::database::{Database, LocalDocument, StoredBody};
use crate::order::ChangeNumber;
use crate::stored::{Page, PageLimit};
use crate::transfer::TransferredDocument;

impl DatabaseContents {
    /// An empty database.
    pub(in crate::memory) fn moved(database: Database, next_body: u64) -> Self {
        Self {
            next_body,
            #[cfg(feature = "queries")]
            indexing: super::indexing::Indexing::unknown(),
            ..Self::new(database)
        }
    }

    pub(in crate::memory) fn next_body(&self) -> u64 {
        self.next_body
    }

    pub(in crate::memory) fn ordered_documents(
        &self,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Vec<TransferredDocument> {
        let mut order: Vec<_> =
            self.documents.iter().filter(|(_, document)| document.number > after).collect();
        order.sort_by_key(|(_, document)| document.number);
        let moved = order.into_iter().filter_map(|(id, document)| {
            let kind = document.kind.clone();
            Some(TransferredDocument { document: self.stored(id)?, kind })
        });
        page(moved, limit, |moved| moved.document.tree.to_bytes().len())
    }

    pub(in crate::memory) fn bodies(&self, after: u64, limit: PageLimit) -> Vec<(u64, StoredBody)> {
        let bodies = self.bodies.range((Bound::Excluded(after), Bound::Unbounded));
        let bodies = bodies.map(|(number, body)| (*number, body.clone()));
        page(bodies, limit, |(_, body)| body.length() as usize)
    }

    pub(in crate::memory) fn local_documents(
        &self,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Vec<(LocalId, LocalDocument)> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let documents = self.local.range::<LocalId, _>((after, Bound::Unbounded));
        let documents = documents.map(|(id, document)| (id.clone(), document.clone()));
        page(documents, limit, |(_, document)| document.body.len())
    }

    pub(in crate::memory) fn attachments(
        &self,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Vec<AttachmentDigest> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let here = self.attachments.range::<AttachmentDigest, _>((after, Bound::Unbounded));
        here.take(limit).map(|(digest, _)| digest.clone()).collect()
    }

    pub(in crate::memory) fn take_documents(&mut self, documents: Vec<TransferredDocument>) {
        for TransferredDocument { document, kind } in documents {
            let (number, tree) = (document.number, document.tree);
            self.documents.insert(document.id, Document { number, tree, kind });
        }
    }

    pub(in crate::memory) fn take_bodies(&mut self, bodies: Vec<(u64, StoredBody)>) {
        self.bodies.extend(bodies);
    }
}

fn page<T>(
    rows: impl Iterator<Item = T>,
    limit: PageLimit,
    weight: impl Fn(&T) -> usize,
) -> Vec<T> {
    let mut page = Page::new(limit);
    for row in rows {
        if !page.fits(weight(&row)) {
            break;
        }
        page.items.push(row);
    }
    page.items
}
