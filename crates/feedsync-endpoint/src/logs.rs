//! Changes of logs on a user's behalf (REST-logging). The creation, compaction and removal of a log are
//! recorded with the user who did it. Appended records state their author themselves.

use feedsync_store::{Append, AuditAction, CollectionName, Expected, LogOutcome, NewGeneration};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

impl Endpoint {
    /// Appends to a log, or creates it.
    pub async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, EndpointError> {
        let act = self.act_on_log("begin-log", collection);
        Ok(self.store.append_to_log(collection, Append { act, ..append }).await?)
    }

    /// Starts the next generation of a log.
    pub async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, EndpointError> {
        let act = self.act_on_log("compact-log", collection);
        Ok(self.store.begin_log_generation(collection, NewGeneration { act, ..new }).await?)
    }

    /// Removes a log with all generations and its snapshot.
    pub async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
    ) -> Result<LogOutcome, EndpointError> {
        let act = self.act_on_log("remove-log", collection);
        Ok(self.store.remove_log(collection, expected, act).await?)
    }

    fn act_on_log(&self, action: &str, collection: &CollectionName) -> Option<AuditAction> {
        let actor = self.actor.as_ref()?;
        Some(AuditAction { collection: Some(collection.clone()), ..actor.act(action) })
    }
}
