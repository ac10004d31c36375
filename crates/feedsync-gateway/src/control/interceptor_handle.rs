//! Interface between the control port and the driver with its store.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{self, Content, ControlError, Event, Representation, Step};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use tokio::sync::broadcast;

/// A change to be made at a given time.
pub type ChangeRequest =
    Box<dyn FnOnce(&mut interceptor::State, Time) -> Result<Step, ControlError> + Send>;

/// The interceptor, as the control port uses it.
#[async_trait]
pub trait InterceptorHandle: Send + Sync + 'static {
    /// Passes the current state to `inspect`. It includes everything that [`events`](Self::events) has reported.
    fn inspect(&self, inspect: &mut dyn FnMut(&interceptor::State));

    /// Makes a change; completes once the result is stored. A refused change has no effect.
    async fn change(&self, requested: ChangeRequest) -> Result<(), ChangeError>;

    /// Repeats a refused edit ([`Delivery::retry`](interceptor::Delivery::retry)).
    async fn retry(&self, error: ErrorId) -> Result<(), ChangeError>;

    /// Reads stored bytes completely.
    async fn content(&self, content: Content) -> Result<Vec<u8>, StoreFailed>;

    /// Returns the stored representation of an address in a partition.
    async fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreFailed>;

    /// Streams stored bytes.
    async fn stream(&self, content: Content) -> Result<Body, StoreFailed>;

    /// Subscribes to the events from now on.
    fn events(&self) -> broadcast::Receiver<Arc<Event>>;
}

/// Error of a change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The change is not possible.
    #[error(transparent)]
    Refused(#[from] ControlError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFailed),
}

/// The store failed or is full.
#[derive(Debug, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreFailed(pub Box<dyn std::error::Error + Send + Sync>);
