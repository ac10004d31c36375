//! Mass losses of databases: a large part of the documents was deleted within an hour.
//!
//! Looking for one reads what changed in the hour. So the answer for a database is reused until the database changes, and for
//! a minute at most.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use feedsync_couch::DatabaseName;
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::history::MassLoss;
use feedsync_store::{ChangeNumber, Database, Epoch, StoreError};

/// Time after which an answer is not reused: the hour has gone on.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Maximum number of answers in memory.
const MAX_ANSWERS: usize = 1_000;

/// Recent answers.
#[derive(Debug, Default)]
pub(crate) struct MassLosses(Mutex<BTreeMap<DatabaseName, Answer>>);

#[derive(Debug)]
struct Answer {
    state: (Epoch, ChangeNumber),
    made: Instant,
    loss: Option<MassLoss>,
}

impl MassLosses {
    /// The loss of a database within the last hour, if it is a large one.
    pub(crate) async fn of(
        &self,
        endpoint: &Endpoint,
        database: &Database,
    ) -> Result<Option<MassLoss>, StoreError> {
        let state = (database.epoch, database.last);
        if let Some(answer) = self.answers().get(&database.name)
            && answer.state == state
            && answer.made.elapsed() < MAX_AGE
        {
            return Ok(answer.loss);
        }
        let loss = endpoint.mass_loss(&database.name).await?;
        let mut answers = self.answers();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(database.name.clone(), Answer { state, made: Instant::now(), loss });
        Ok(loss)
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, BTreeMap<DatabaseName, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
