//! Memory budget of responses.
//!
//! Starting a response takes a permit, and a permit is never held across network I/O. A response larger than
//! [`MAX_UNCOUNTED_BYTES`] then holds memory until its client has read it, however slowly. The number of such responses is
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
pub(crate) const MAX_UNCOUNTED_BYTES: usize = 64 << 10;

/// Divisor of the slots: one user may hold this fraction of them, but at least one.
const USER_SHARE_DIVISOR: usize = 4;

const BUSY: &str = "too many large responses are being sent; try again later";

/// Memory budget of responses. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ResponseBudget {
    turns: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Maximum number of large responses of one user, and the slots of each user that holds some.
    share: usize,
    user_slots: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

/// Permit to begin a response.
#[derive(Debug)]
pub(crate) struct ResponsePermit {
    large: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
}

/// Slot that the bytes of a response hold while they are in memory; empty for a small response.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseSlot {
    place: Option<Arc<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>>,
    /// Additional permit for a response of unusual size.
    _large_permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl ResponseBudget {
    /// Creates a budget for so many large responses, and for as many that are being started.
    pub(crate) fn new(large: usize) -> Self {
        let [turns, places] = [large, large].map(|permits| Arc::new(Semaphore::new(permits)));
        let share = (large / USER_SHARE_DIVISOR).max(1);
        Self { turns, large: places, share, user_slots: Arc::default() }
    }

    /// Waits for a permit.
    pub(crate) async fn permit(&self) -> Result<ResponsePermit, Problem> {
        let permit =
            permits::acquire(&self.turns, "too many responses are being prepared; try again later")
                .await?;
        Ok(ResponsePermit { large: Arc::clone(&self.large), _permit: permit })
    }

    /// Waits for a slot before the data is read, at most as long as clients wait. A signed-in user first
    /// waits for a slot of their own share.
    pub(crate) async fn place(&self, person: Option<&str>) -> Result<ResponseSlot, Problem> {
        let own = match person.map(|person| self.slots_of_user(person)) {
            Some(own) => {
                Some(permits::acquire_within(permits::MAX_LONG_WAIT, &own, 1, BUSY).await?)
            }
            None => None,
        };
        let permit = permits::acquire_within(permits::MAX_LONG_WAIT, &self.large, 1, BUSY).await?;
        Ok(ResponseSlot { place: Some(Arc::new((permit, own))), _large_permit: None })
    }

    fn slots_of_user(&self, person: &str) -> Arc<Semaphore> {
        let mut all = self.user_slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get(person).and_then(Weak::upgrade) {
            return own;
        }
        all.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.share));
        all.insert(person.to_owned(), Arc::downgrade(&own));
        own
    }
}

impl ResponsePermit {
    /// Ends the permit with a response that is larger than [`MAX_UNCOUNTED_BYTES`] or not.
    pub(crate) fn end(self, large: bool) -> Result<ResponseSlot, Problem> {
        let place = || Ok::<_, Problem>(Arc::new((permits::try_acquire(&self.large, BUSY)?, None)));
        let permit = if large { Some(place()?) } else { None };
        Ok(ResponseSlot { place: permit, _large_permit: None })
    }
}

impl ResponseSlot {
    /// Adds the permit for a response of unusual size.
    pub(crate) fn with(self, room: OwnedSemaphorePermit) -> Self {
        Self { _large_permit: Some(Arc::new(room)), ..self }
    }

    /// Bytes that hold the slot until they are dropped, unless they are few.
    pub(crate) fn hold(&self, bytes: impl Into<Bytes>) -> Bytes {
        let bytes = bytes.into();
        match &self.place {
            Some(_) if bytes.len() > MAX_UNCOUNTED_BYTES => {
                Bytes::from_owner(SlotBytes { bytes, _slot: self.clone() })
            }
            _ => bytes,
        }
    }
}

struct SlotBytes {
    bytes: Bytes,
    _slot: ResponseSlot,
}

impl AsRef<[u8]> for SlotBytes {
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
        let answers = ResponseBudget::new(8);
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
        assert_eq!(answers.user_slots.lock().unwrap().len(), 2);
        soon(Some("carl")).await.unwrap();
        assert_eq!(answers.user_slots.lock().unwrap().len(), 2, "who has none is forgotten");
    }
}
