//! Admission of work on HTML: a few at once, each paid for by the client that asks, and ended when that client is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clients::{Clients, Work};
use crate::problem::Problem;
use crate::{request_log, room};

/// Number of requests whose HTML is cleaned at once.
const AT_ONCE: usize = 2;

const FULL: &str = "too much HTML is being made safe at once";

/// Admission of work on HTML. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cleaning {
    room: Arc<Semaphore>,
    clients: Clients,
}

/// Right to clean HTML, on behalf of the client whose request is being answered.
pub(crate) struct Ticket {
    work: Option<Work>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Cleaning {
    pub(crate) fn new(clients: Clients) -> Self {
        Self { room: Arc::new(Semaphore::new(AT_ONCE)), clients }
    }

    /// Waits for a permit. A client that has had more cleaned than its budget allows is refused at once, with 429.
    pub(crate) async fn admit(&self) -> Result<Ticket, Problem> {
        let work = request_log::key().map(|key| self.clients.work(key)).transpose()?;
        let permit = room::soon(&self.room, FULL).await?;
        Ok(Ticket { work, _permit: Some(permit) })
    }
}

impl Ticket {
    /// A ticket that nobody pays for, for tests.
    #[cfg(test)]
    pub(crate) fn free() -> Self {
        Self { work: None, _permit: None }
    }

    /// A ticket that this budget pays for, for tests.
    #[cfg(test)]
    pub(crate) fn of(work: Work) -> Self {
        Self { work: Some(work), _permit: None }
    }

    /// Takes so many bytes from the budget of the client.
    pub(super) fn charge(&self, bytes: usize) {
        if let Some(work) = &self.work {
            work.charge(bytes);
        }
    }
}

/// Tells work on another thread that the client is gone, once this is dropped.
#[derive(Default)]
pub(crate) struct Gone(Arc<AtomicBool>);

impl Gone {
    /// Flag for the other thread: true once the client is gone.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;

    #[tokio::test(start_paused = true)]
    async fn few_requests_clean_html_at_once() {
        let cleaning = Cleaning::new(Clients::new(Limits::default()));
        let held = [cleaning.admit().await.ok().unwrap(), cleaning.admit().await.ok().unwrap()];
        assert!(cleaning.admit().await.is_err());
        drop(held);
        assert!(cleaning.admit().await.is_ok());
    }

    #[test]
    fn work_is_told_when_the_client_is_gone() {
        let gone = Gone::default();
        let flag = gone.flag();
        assert!(!flag.load(Ordering::Relaxed));
        drop(gone);
        assert!(flag.load(Ordering::Relaxed));
    }
}
