//! What a replication needs of either side.

use async_trait::async_trait;
use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, MissingDocument, NotWritten, Place, Unread,
};

use super::{ReplicationError, ReplicationFilter};

/// A database that takes part in a replication.
#[async_trait]
pub trait Replica: Send + Sync {
    /// What it is called, for people; without credentials.
    fn shown(&self) -> String;

    /// Looks whether it is there, and makes it if it is not and `creates`; what is the same for the same database for
    /// ever.
    async fn open(&self, creates: bool) -> Result<String, ReplicationError>;

    /// Documents that changed after a place, the oldest change first.
    async fn changes(&self, asked: Changes<'_>) -> Result<ChangesPage, ReplicationError>;

    /// Which revisions are not here.
    async fn missing(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Vec<MissingDocument>, ReplicationError>;

    /// Revisions of documents with what their attachments hold; those that are no leaves any more are replaced by the leaves
    /// that came of them. [`ReplicationError::is_too_large`] where all of it has more bytes than `most_bytes`.
    async fn documents(
        &self,
        missing: &[MissingDocument],
        most_bytes: u64,
    ) -> Result<(Vec<FetchedDocument>, Vec<Unread>), ReplicationError>;

    /// Joins revisions to those that are here; those that are refused.
    async fn write(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<NotWritten>, ReplicationError>;

    /// Returns once all that was written is durable; what changes where another database takes its place.
    async fn settle(&self) -> Result<String, ReplicationError>;

    /// A local document.
    async fn local(&self, id: &str) -> Result<Option<Local>, ReplicationError>;

    /// Writes a local document, which names the revision that it replaces; its new revision.
    async fn put_local(&self, id: &str, text: String) -> Result<String, ReplicationError>;
}

/// A local document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// Its revision.
    pub revision: String,
    /// What it says, as JSON.
    pub text: String,
}

/// Which changes are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    /// After which place.
    pub after: &'a Place,
    /// So many documents at most; fewer come only at the end.
    pub most: usize,
    /// Of which documents.
    pub filter: &'a ReplicationFilter,
    /// Whether it is waited for a change if there is none.
    pub waits: bool,
}
