//! Requests and responses of a replicator, and its checkpoints (sections 6 to 8, 10).
//!
//! A replicator forwards documents unchanged. It reads only their ids and revisions, and leaves the rest to
//! the databases.

mod checkpoint;
mod exchange;
mod rows;
mod update_sequence;

pub use checkpoint::{
    Checkpoint, CheckpointEntry, MAX_CHECKPOINTS, ReplicationStats, replication_id,
};
pub use exchange::{
    FetchedDocument, MissingDocument, RejectedDocument, UnavailableRevision, differences_request,
    documents_request, read_differences, read_documents, read_rejected_documents, write_request,
};
pub use rows::{ChangedDocument, ChangesPage};
pub use update_sequence::UpdateSequence;

/// A response that does not conform to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the response violates CouchDB's replication protocol: {0}")]
pub struct InvalidResponse(pub &'static str);
