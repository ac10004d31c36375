//! The documents of `_replicator` whose replications are to be carried out.

use feedsync_couch::DatabaseName;
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::replicator::final_state;
use feedsync_formats::json::Node;
use feedsync_store::{ChangeNumber, Databases, Epoch, LoadedDocument, StoreError};

use super::plan::WantedDocuments;

/// Maximum number of documents that are considered. Further ones wait until half of them have ended.
const MAX_DOCUMENTS: usize = 10_000;

/// Maximum number of documents that are read at once, and of bytes of their bodies.
const PAGE: usize = 500;
const PAGE_BYTES: u64 = 8 << 20;

/// Name of the database.
pub(super) fn name() -> DatabaseName {
    DatabaseName::REPLICATOR.parse().unwrap_or_else(|_| unreachable!("it is a known name"))
}

/// The documents up to a change.
#[derive(Debug, Default)]
pub(super) struct DocumentReader {
    wanted: WantedDocuments,
    /// The database that was read: its epoch, and its number of purges, which change documents without a change number.
    of: Option<(Epoch, u64)>,
    after: ChangeNumber,
    /// Whether documents were left out because there are too many.
    is_partial: bool,
}

impl DocumentReader {
    /// The documents that were found.
    pub(super) fn wanted(&self) -> &WantedDocuments {
        &self.wanted
    }

    /// Reads what changed since the last call. After an error, the next call goes on.
    pub(super) async fn refresh(&mut self, databases: &dyn Databases) -> Result<(), StoreError> {
        let name = name();
        let Some(database) = databases.database(&name).await? else {
            *self = Self::default();
            return Ok(());
        };
        let of = Some((database.epoch, database.purges));
        let has_space = self.is_partial && self.wanted.len() < MAX_DOCUMENTS / 2;
        if self.of != of || has_space {
            *self = Self { of, ..Self::default() };
        }
        while self.after < database.last {
            let changes = databases.document_changes(
                &name,
                self.after,
                PAGE,
                None,
                leaves::winner(),
                PAGE_BYTES,
            );
            let page = match changes.await {
                Err(StoreError::NoDatabase(_)) => return Ok(()),
                page => page?,
            };
            if page.database.epoch != database.epoch {
                // The next call begins again.
                return Ok(());
            }
            page.documents.iter().for_each(|document| self.add(document));
            self.after = page.reached.max(self.after);
            if page.is_end {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, document: &LoadedDocument) {
        let id = &document.document.id;
        let winner = document.document.tree.winner().filter(|it| !it.content.is_deleted);
        let winner = winner.filter(|_| !id.is_design()).map(|winner| winner.revision);
        let body = winner.and_then(|revision| document.bodies.get(revision));
        let is_open = body.is_some_and(|body| final_state(Node::root(&body.text)).is_none());
        let Some(revision) = winner.filter(|_| is_open) else {
            self.wanted.remove(id);
            return;
        };
        if self.wanted.len() < MAX_DOCUMENTS || self.wanted.contains_key(id) {
            self.wanted.insert(id.clone(), revision.clone());
        } else if !self.is_partial {
            self.is_partial = true;
            tracing::warn!(
                most = MAX_DOCUMENTS,
                "too many documents of _replicator describe replications that have not ended; \
                 further ones wait"
            );
        }
    }
}
