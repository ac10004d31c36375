//! Answers that take memory, and how many of them may at once.
//!
//! An answer is begun when it is its turn, and whoever has a turn waits for nobody's network. What is
//! then larger than [`SMALL`] takes memory until its client has read it, however slowly: of such there
//! is a bound, and one too many is refused at once, before anything of it was sent. So small answers,
//! which keep clients in step, are never held up by those who read large ones.
//!
//! Clients of databases ask for many large answers at once, and take a refusal for the end. So what may turn out large
//! waits for its place before any of it is read, in a room of their own; what is small by its nature needs none, and is held
//! up by nobody.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;
use crate::room;

/// Answers up to so many bytes are not counted.
pub(crate) const SMALL: usize = 64 << 10;

const BUSY: &str = "too many large answers are being sent at once";

/// Room for answers. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    turns: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The right to begin an answer.
#[derive(Debug)]
pub(crate) struct Turn {
    large: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
}

/// What the bytes of an answer hold while they are in memory: a place among the large, or nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    place: Option<Arc<OwnedSemaphorePermit>>,
    /// Room beside it, for what is larger than others.
    _room: Option<Arc<OwnedSemaphorePermit>>,
}

impl Answers {
    /// Room for so many large answers, and for as many that are being begun.
    pub(crate) fn new(large: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(large)), large: Arc::new(Semaphore::new(large)) }
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) -> Result<Turn, Problem> {
        let permit = room::soon(&self.turns, "too many answers are being made at once").await?;
        Ok(Turn { large: Arc::clone(&self.large), _permit: permit })
    }

    /// Waits for a place for what is not read yet; as long as clients wait.
    pub(crate) async fn place(&self) -> Result<Place, Problem> {
        let permit = room::within(room::LONG, &self.large, 1, BUSY).await?;
        Ok(Place { place: Some(Arc::new(permit)), _room: None })
    }
}

impl Turn {
    /// Ends the turn with an answer that is larger than [`SMALL`], or is not.
    pub(crate) fn end(self, large: bool) -> Result<Place, Problem> {
        let permit = if large { Some(Arc::new(room::now(&self.large, BUSY)?)) } else { None };
        Ok(Place { place: permit, _room: None })
    }
}

impl Place {
    /// The same, with room beside it.
    pub(crate) fn with(self, room: OwnedSemaphorePermit) -> Self {
        Self { _room: Some(Arc::new(room)), ..self }
    }

    /// Bytes that hold the place until they are dropped, unless they are few.
    pub(crate) fn hold(&self, bytes: Vec<u8>) -> Bytes {
        match &self.place {
            Some(_) if bytes.len() > SMALL => {
                Bytes::from_owner(Held { bytes, _place: self.clone() })
            }
            _ => bytes.into(),
        }
    }
}

struct Held {
    bytes: Vec<u8>,
    _place: Place,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
