//! Requests and responses of a replicator, and its checkpoints (sections 6 to 8, 10).
//!
//! A replicator forwards documents unchanged. It reads only their ids and revisions, and leaves the rest to
//! the databases.

mod checkpoint;
mod exchange;
mod place;
mod rows;

pub use checkpoint::{Checkpoint, MOST_CHECKPOINTS, Passed, Worked, replication_id};
pub use exchange::{
    FetchedDocument, MissingDocument, NotWritten, Unread, differences_request, documents_request,
    read_differences, read_documents, read_not_written, write_request,
};
pub use place::Place;
pub use rows::{ChangedDocument, ChangesPage};

/// A response that does not conform to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer is none that CouchDB's replication protocol knows: {0}")]
pub struct BadAnswer(pub &'static str);
