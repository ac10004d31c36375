//! Histories of databases: the documents at a past moment, the versions of a document, and the removal of what is
//! kept no longer.

mod mass_loss;
mod restore;

use std::time::Duration;

use feedsync_couch::{BodyRef, DatabaseName, DocumentId, Leaf, Revision};
use feedsync_store::{
    Database, DatabaseChange, Databases, EndedPosition, History, Moment, PastPage, PastRange,
    StoreError, StoredDocument, WriteOrigin,
};

pub use mass_loss::{LOSS_PERCENT, LOSS_PERIOD, MIN_LOST_DOCUMENTS, MassLoss};
pub use restore::{MAX_REFUSALS, RestoreError, RestoreRequest, RestoreSummary};

use super::{PAGE, leaves};
use crate::endpoint::Endpoint;

/// Maximum number of ended revisions that one transaction removes.
const EXPIRY_BATCH: usize = 500;

/// A version of a document: a revision that is or was one of its leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// The revision.
    pub revision: Revision,
    /// Whether the document is deleted in it.
    pub is_deleted: bool,
    /// The write that made it; `None` if it is older than the history.
    pub written: Option<WriteOrigin>,
    /// The write that ended it; `None` if it is a leaf.
    pub ended: Option<WriteOrigin>,
}

/// Versions of a document, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersions {
    /// The versions.
    pub versions: Vec<DocumentVersion>,
    /// Position after which the next page begins; `None` at the end.
    pub next: Option<EndedPosition>,
}

impl Endpoint {
    /// Switches the history of a database on or off, if the database still has the same epoch. A history that is
    /// switched off is given up: [`expire_histories`](Self::expire_histories) removes it.
    pub async fn set_history(
        &self,
        Database { name, epoch, .. }: &Database,
        history: History,
    ) -> Result<Database, StoreError> {
        let change = DatabaseChange { history: Some(history), ..DatabaseChange::default() };
        self.databases().change_database(name, *epoch, change).await
    }

    /// Returns documents as they were at a moment.
    pub async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError> {
        self.databases().documents_at(name, moment, range, most_bytes).await
    }

    /// Returns versions of a document, the leaves first, then up to a number of ended revisions before a position.
    pub async fn document_versions(
        &self,
        name: &DatabaseName,
        id: &DocumentId,
        before: Option<EndedPosition>,
        most: usize,
    ) -> Result<DocumentVersions, StoreError> {
        let databases = self.databases();
        let mut versions = Vec::new();
        if before.is_none() {
            let ids = std::slice::from_ref(id);
            let found = databases.documents(name, ids, leaves::none(), u64::MAX).await?;
            let origins = databases.leaf_origins(name, id).await?;
            let found = found.documents.into_iter().flatten();
            versions.extend(found.flat_map(|found| present_versions(&found.document, &origins)));
        }
        let ended = databases.ended_revisions(name, Some(id), before, most).await?;
        let next = ended.last().filter(|_| ended.len() == most).map(|row| row.position());
        versions.extend(ended.into_iter().map(|row| DocumentVersion {
            revision: row.revision,
            is_deleted: row.content.is_deleted,
            written: row.written,
            ended: Some(row.ended),
        }));
        Ok(DocumentVersions { versions, next })
    }

    /// Removes revisions that ended longer ago than the histories of their databases keep them, and histories that
    /// are switched off; returns the number of databases with a history. A failure does not stop the others and is
    /// returned at the end.
    pub async fn expire_histories(&self) -> Result<u64, StoreError> {
        let databases = self.databases();
        let (mut after, mut count, mut failure) = (None, 0, Ok(()));
        loop {
            let page = Databases::databases(&*databases, after.as_ref(), PAGE).await?;
            let Some(last) = page.last().map(|database| database.name.clone()) else {
                return failure.map(|()| count);
            };
            // A database that never had a history has no moment of a last write.
            for database in page.iter().filter(|it| it.past.last > Moment::default()) {
                match self.expire_history(database).await {
                    Ok(()) => count += 1,
                    // It was dropped in the meantime.
                    Err(StoreError::NoDatabase(_)) => {}
                    failed => failure = failure.and(failed),
                }
            }
            after = Some(last);
        }
    }

    async fn expire_history(&self, database: &Database) -> Result<(), StoreError> {
        let before = match database.history {
            History::Off => Moment::default(),
            History::Kept { seconds } => self.ago(Duration::from_secs(seconds)),
        };
        let databases = self.databases();
        while databases.expire_history(&database.name, before, EXPIRY_BATCH).await? {}
        Ok(())
    }

    /// The moment that is this period ago.
    fn ago(&self, period: Duration) -> Moment {
        let period = u64::try_from(period.as_micros()).unwrap_or(u64::MAX);
        Moment::from_micros(self.environment().now().micros().saturating_sub(period))
    }
}

/// The leaves of a document, as versions.
fn present_versions(
    document: &StoredDocument,
    origins: &[(Revision, WriteOrigin)],
) -> Vec<DocumentVersion> {
    let version = |leaf: Leaf<'_, BodyRef>| {
        let origin = origins.iter().find(|(revision, _)| revision == leaf.revision);
        DocumentVersion {
            revision: leaf.revision.clone(),
            is_deleted: leaf.content.is_deleted,
            written: origin.map(|(_, origin)| origin.clone()),
            ended: None,
        }
    };
    document.tree.leaves().into_iter().map(version).collect()
}
