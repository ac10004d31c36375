//! Answers that take memory, and how many of them may at once.
//!
//! An answer is begun when it is its turn, and whoever has a turn waits for nobody's network. What is
//! then larger than [`SMALL`] takes memory until its client has read it, however slowly: of such there
//! is a bound, and one too many is refused at once, before anything of it was sent. So small answers,
//! which keep clients in step, are never held up by those who read large ones.
//!
//! Clients of databases ask for many large answers at once, and take a refusal for the end. So what may turn out large
//! waits for its place before any of it is read, in a room of their own; what is small by its nature needs none, and is held
//! up by nobody. Of these places one person has a quarter at most: who reads slowly holds up no other person.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;
use crate::room;

/// Answers up to so many bytes are not counted.
pub(crate) const SMALL: usize = 64 << 10;

/// One person has one of so many places, or one.
const SHARE: usize = 4;

const BUSY: &str = "too many large answers are being sent at once";

/// Room for answers. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    turns: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// How many of the large one person may have at once, and the room of each who has some.
    share: usize,
    of_persons: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
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
    place: Option<Arc<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>>,
    /// Room beside it, for what is larger than others.
    _room: Option<Arc<OwnedSemaphorePermit>>,
}

impl Answers {
    /// Room for so many large answers, and for as many that are being begun.
    pub(crate) fn new(large: usize) -> Self {
        let [turns, places] = [large, large].map(|permits| Arc::new(Semaphore::new(permits)));
        let share = (large / SHARE).max(1);
        Self { turns, large: places, share, of_persons: Arc::default() }
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) -> Result<Turn, Problem> {
        let permit = room::soon(&self.turns, "too many answers are being made at once").await?;
        Ok(Turn { large: Arc::clone(&self.large), _permit: permit })
    }

    /// Waits for a place for what is not read yet; as long as clients wait. A person, if somebody asks who is known, waits
    /// for their own first.
    pub(crate) async fn place(&self, person: Option<&str>) -> Result<Place, Problem> {
        let own = match person.map(|person| self.of_person(person)) {
            Some(own) => Some(room::within(room::LONG, &own, 1, BUSY).await?),
            None => None,
        };
        let permit = room::within(room::LONG, &self.large, 1, BUSY).await?;
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
    /// Ends the turn with an answer that is larger than [`SMALL`], or is not.
    pub(crate) fn end(self, large: bool) -> Result<Place, Problem> {
        let place = || Ok::<_, Problem>(Arc::new((room::now(&self.large, BUSY)?, None)));
        let permit = if large { Some(place()?) } else { None };
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
