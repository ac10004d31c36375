//! Limits on cleaning HTML: few documents at once, each paid for by the requesting client, and cancelled when
//! that client disconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::clients::{Clients, HtmlBudget};
use crate::http::problem::Problem;
use crate::http::{current_request, permits};

/// Number of requests whose HTML is cleaned at once.
const MAX_CONCURRENT: usize = 2;

const FULL: &str = "too much HTML is being sanitized at the moment; try again later";

/// Admission of work on HTML. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cleaning {
    room: Arc<Semaphore>,
    clients: Clients,
}

/// Permit to clean HTML for the client of the current request.
pub(crate) struct Ticket {
    work: Option<HtmlBudget>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Cleaning {
    pub(crate) fn new(clients: Clients) -> Self {
        Self { room: Arc::new(Semaphore::new(MAX_CONCURRENT)), clients }
    }

    /// Waits for a permit. A client whose budget is exhausted is refused at once, with 429.
    pub(crate) async fn admit(&self) -> Result<Ticket, Problem> {
        let work = current_request::key().map(|key| self.clients.work(key)).transpose()?;
        let permit = permits::acquire(&self.room, FULL).await?;
        Ok(Ticket { work, _permit: Some(permit) })
    }
}

impl Ticket {
    /// A ticket without a budget, for tests.
    #[cfg(test)]
    pub(crate) fn free() -> Self {
        Self { work: None, _permit: None }
    }

    /// A ticket with this budget, for tests.
    #[cfg(test)]
    pub(crate) fn of(work: HtmlBudget) -> Self {
        Self { work: Some(work), _permit: None }
    }

    /// Takes so many bytes from the budget of the client.
    pub(super) fn charge(&self, bytes: usize) {
        if let Some(work) = &self.work {
            work.charge(bytes);
        }
    }
}

/// Cancels work on another thread when it is dropped.
#[derive(Default)]
pub(crate) struct CancelOnDrop(Arc<AtomicBool>);

impl CancelOnDrop {
    /// Flag for the other thread: true once the client has disconnected.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for CancelOnDrop {
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
        let gone = CancelOnDrop::default();
        let flag = gone.flag();
        assert!(!flag.load(Ordering::Relaxed));
        drop(gone);
        assert!(flag.load(Ordering::Relaxed));
    }
}
