//! Queued updates of documents.

use tokio::sync::oneshot;

use crate::database::{Database, DecideDocuments, DocumentRequest};
use crate::error::StoreError;
use crate::postgres::queue::QueuedWrite;

/// An update, with the channel for its result.
pub(in crate::postgres) struct DocumentTask {
    pub(super) wanted: Vec<DocumentRequest>,
    pub(super) decide: DecideDocuments,
    pub(super) answer: oneshot::Sender<Result<Database, StoreError>>,
}

impl QueuedWrite for DocumentTask {
    fn keys(&self) -> usize {
        self.wanted.len()
    }
}
