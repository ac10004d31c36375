//! Memory budget of responses.
//!
//! Starting a response takes a permit, and a permit is never held across network I/O. A response larger than
//! [`SMALL`] then holds memory until its client has read it, however slowly. The number of such responses is
//! limited, and one above the limit is refused before any byte is sent. So clients that read large responses
//! slowly never delay small responses, which keep clients in sync.
//!
//! Database clients request many large responses at once and treat a refusal as the end. So a response that
//! may be large first waits for a slot in a separate budget, before its data is read. Responses that are
//! always small need no slot and do not wait. One user has at most a quarter of these slots, so a slow reader
//! does not block other users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::permits;
use crate::http::problem::Problem;

/// Responses up to this size, in bytes, are not counted.
pub(crate) const SMALL: usize = 64 << 10;

/// Divisor of the slots: one user may hold this fraction of them, but at least one.
const SHARE: usize = 4;

const BUSY: &str = "too many large answers are being sent at once";

/// Memory budget of responses. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    turns: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Maximum number of large responses of one user, and the slots of each user that holds some.
    share: usize,
    of_persons: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

/// Permit to begin a response.
#[derive(Debug)]
pub(crate) struct Turn {
    large: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
}

/// Slot that the bytes of a response hold while they are in memory; empty for a small response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    place: Option<Arc<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>>,
    /// Additional permit for a response of unusual size.
    _room: Option<Arc<OwnedSemaphorePermit>>,
}

impl Answers {
    /// Creates a budget for so many large responses, and for as many that are being started.
    pub(crate) fn new(large: usize) -> Self {
        let [turns, places] = [large, large].map(|permits| Arc::new(Semaphore::new(permits)));
        let share = (large / SHARE).max(1);
        Self { turns, large: places, share, of_persons: Arc::default() }
    }

    /// Waits for a permit.
    pub(crate) async fn turn(&self) -> Result<Turn, Problem> {
        let permit = permits::soon(&self.turns, "too many answers are being made at once").await?;
        Ok(Turn { large: Arc::clone(&self.large), _permit: permit })
    }

    /// Waits for a slot before the data is read, at most as long as clients wait. A signed-in user first
    /// waits for a slot of their own share.
    pub(crate) async fn place(&self, person: Option<&str>) -> Result<Place, Problem> {
        let own = match person.map(|person| self.of_person(person)) {
            Some(own) => Some(permits::within(permits::LONG, &own, 1, BUSY).await?),
            None => None,
        };
        let permit = permits::within(permits::LONG, &self.large, 1, BUSY).await?;
        Ok(Place { place: Some(Arc::new((permit, own))), _room: None })
    }

    fn of_person(&self, person: &str) -> Arc<Semaphore> {
        let mut all = self.of_persons.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get(person).and_then(Weak::upgrade) {
            return own;
        }
        all.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.share));
        all.insert(person.to_owned(), Arc::downgrade(&own));
        own
    }
}

impl Turn {
    /// Ends the permit with a response that is larger than [`SMALL`] or not.
    pub(crate) fn end(self, large: bool) -> Result<Place, Problem> {
        let place = || Ok::<_, Problem>(Arc::new((permits::now(&self.large, BUSY)?, None)));
        let permit = if large { Some(place()?) } else { None };
        Ok(Place { place: permit, _room: None })
    }
}

impl Place {
    /// Adds the permit for a response of unusual size.
    pub(crate) fn with(self, room: OwnedSemaphorePermit) -> Self {
        Self { _room: Some(Arc::new(room)), ..self }
    }

    /// Bytes that hold the slot until they are dropped, unless they are few.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_person_takes_no_other_persons_places() {
        let answers = Answers::new(8);
        let soon = async |person: Option<&str>| {
            timeout(Duration::from_secs(1), answers.place(person)).await.map(Result::unwrap).ok()
        };
        let held = [soon(Some("anna")).await, soon(Some("anna")).await].map(Option::unwrap);
        assert!(soon(Some("anna")).await.is_none());
        let others: Vec<_> =
            [soon(Some("bert")).await, soon(None).await, soon(None).await, soon(None).await].into();
        assert!(others.iter().all(Option::is_some));
        let [first, _second] = held;
        drop(first);
        assert!(soon(Some("anna")).await.is_some());
        drop(others);
        assert_eq!(answers.of_persons.lock().unwrap().len(), 2);
        soon(Some("carl")).await.unwrap();
        assert_eq!(answers.of_persons.lock().unwrap().len(), 2, "who has none is forgotten");
    }
}
