//! What the control port acts on: what decides, and the store under it.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use feedsync_offline::authentication::Partition;
use feedsync_offline::event::ErrorId;
use feedsync_offline::interceptor::{
    Content, ControlError, Event, Interceptor, Representation, Step,
};
use feedsync_offline::location::Location;
use feedsync_offline::time::Time;
use tokio::sync::broadcast;

/// A change that somebody asks for, at a time.
pub type Asked = Box<dyn FnOnce(&mut Interceptor, Time) -> Result<Step, ControlError> + Send>;

/// Decisions that are acted on.
#[async_trait]
pub trait Decisions: Send + Sync + 'static {
    /// Shows how things stand. What was told by [`events`](Self::events) shows already.
    fn look(&self, look: &mut dyn FnMut(&Interceptor));

    /// Makes a change: what follows from it is stored once this is ready. One that is refused has changed
    /// nothing.
    async fn change(&self, asked: Asked) -> Result<(), ChangeError>;

    /// Makes an edit again that was refused ([`Interceptor::retry`]).
    async fn retry(&self, error: ErrorId) -> Result<(), ChangeError>;

    /// Bytes that are stored, all of them.
    async fn content(&self, content: Content) -> Result<Vec<u8>, StoreFailed>;

    /// Representation that is stored of an address for these people.
    async fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreFailed>;

    /// Bytes that are stored, as they are read.
    async fn stream(&self, content: Content) -> Result<Body, StoreFailed>;

    /// What happens from now on.
    fn events(&self) -> broadcast::Receiver<Arc<Event>>;
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// It cannot be.
    #[error(transparent)]
    Refused(#[from] ControlError),
    /// The store is at fault.
    #[error(transparent)]
    Store(#[from] StoreFailed),
}

/// The store cannot be used, or has no room.
#[derive(Debug, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreFailed(pub Box<dyn std::error::Error + Send + Sync>);
