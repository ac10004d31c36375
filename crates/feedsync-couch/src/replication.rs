//! What a replicator asks of a source and of a target, what they answer, and where it goes on (sections 6 to 8, 10).
//!
//! A replicator passes documents on as they are: of their JSON it reads what they are called and which revision they are,
//! and leaves the rest to whoever stores them.

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

/// An answer is none of this protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer is none that CouchDB's replication protocol knows: {0}")]
pub struct BadAnswer(pub &'static str);
