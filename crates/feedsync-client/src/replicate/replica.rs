//! The interface of a replication to either side.

use async_trait::async_trait;
use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, MissingDocument, RejectedDocument,
    UnavailableRevision, UpdateSequence,
};

use super::{ReplicationError, ReplicationFilter};

/// A database that takes part in a replication.
#[async_trait]
pub trait Replica: Send + Sync {
    /// Returns the name of the database for people; without credentials.
    fn shown(&self) -> String;

    /// Opens the database; creates it if it does not exist and `creates` is set. Returns an identifier that
    /// never changes for the same database.
    async fn open(&self, creates: bool) -> Result<String, ReplicationError>;

    /// Returns documents that changed after a position, the oldest change first.
    async fn changes(&self, asked: ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError>;

    /// Returns the revisions that the database lacks.
    async fn missing(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Vec<MissingDocument>, ReplicationError>;

    /// Returns revisions of documents with the content of their attachments. Revisions that are no longer
    /// leaves are replaced by the leaves that descend from them. Fails with
    /// [`ReplicationError::is_too_large`] if the total exceeds `most_bytes`.
    async fn documents(
        &self,
        missing: &[MissingDocument],
        most_bytes: u64,
    ) -> Result<(Vec<FetchedDocument>, Vec<UnavailableRevision>), ReplicationError>;

    /// Merges revisions into the database; returns those that are refused.
    async fn write(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<RejectedDocument>, ReplicationError>;

    /// Returns once everything that was written is durable. The result changes if another database replaces
    /// this one.
    async fn settle(&self) -> Result<String, ReplicationError>;

    /// Returns a local document.
    async fn local(&self, id: &str) -> Result<Option<ReplicaLocalDocument>, ReplicationError>;

    /// Writes a local document, which names the revision that it replaces; returns its new revision.
    async fn put_local(&self, id: &str, text: String) -> Result<String, ReplicationError>;
}

/// A local document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaLocalDocument {
    /// Revision of the document.
    pub revision: String,
    /// Content of the document, as JSON.
    pub text: String,
}

/// A request for changes.
#[derive(Debug, Clone, Copy)]
pub struct ChangesQuery<'a> {
    /// Position after which changes are requested.
    pub after: &'a UpdateSequence,
    /// Maximum number of documents; fewer are returned only at the end.
    pub most: usize,
    /// Selection of documents.
    pub filter: &'a ReplicationFilter,
    /// Whether the request waits for a change if there is none.
    pub waits: bool,
}
