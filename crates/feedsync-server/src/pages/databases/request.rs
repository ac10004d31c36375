//! A request for a page about databases: the principal's access to them, and writes on its behalf.

use std::sync::Arc;

use feedsync_couch::{DatabaseName, Refusal};
use feedsync_endpoint::documents::{DocumentsError, Edits, NewDocument};
use feedsync_store::{Database, Databases};

use crate::access::call::Call;
use crate::access::databases::{Need, may_access, may_access_dropped, write_documents};
use crate::access::{Principal, quotas};
use crate::http::problem::Problem;
use crate::hub::Hub;

/// A request for a page about databases.
#[derive(Clone)]
pub(super) struct DatabasesRequest {
    pub(super) hub: Hub,
    pub(super) call: Arc<Call>,
    pub(super) databases: Arc<dyn Databases>,
}

/// Reason for not writing documents.
pub(super) enum WriteFailure {
    /// A document was refused.
    Refused(Refusal),
    /// The request cannot be carried out.
    Problem(Problem),
}

impl From<Problem> for WriteFailure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Refusal> for WriteFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl DatabasesRequest {
    pub(super) fn new(hub: Hub, call: Call) -> Self {
        let databases = hub.endpoint.databases();
        Self { hub, call: Arc::new(call), databases }
    }

    /// Whether the principal may use a database.
    pub(super) async fn may_use(&self, database: &Database) -> Result<bool, Problem> {
        self.may(&self.call.principal, database).await
    }

    /// Whether this principal may use a database.
    pub(super) async fn may(
        &self,
        principal: &Principal,
        database: &Database,
    ) -> Result<bool, Problem> {
        Ok(may_access(&self.hub.endpoint, principal, database, Need::Use).await?)
    }

    /// The database that the address names. One that the principal may not use looks like one that does not exist.
    pub(super) async fn database(&self) -> Result<Database, Problem> {
        let name = self.call.query.text("name").unwrap_or_default();
        let missing = || Problem::not_found(format!("there is no database {name:?}"));
        let name: DatabaseName = name.parse().map_err(|_| missing())?;
        let found = self.databases.database(&name).await?.ok_or_else(missing)?;
        if self.may_use(&found).await? { Ok(found) } else { Err(missing()) }
    }

    /// The dropped databases that a principal may bring back, the last one first.
    pub(super) async fn dropped(&self, principal: &Principal) -> Result<Vec<Database>, Problem> {
        let endpoint = &self.hub.endpoint;
        let mut found = Vec::new();
        for kept in endpoint.dropped_databases(None).await? {
            if may_access_dropped(endpoint, principal, &kept, Need::Administer).await? {
                found.push(kept);
            }
        }
        Ok(found)
    }

    /// The principal with its current rights: after a body was received.
    pub(super) async fn current_principal(&self) -> Result<Principal, Problem> {
        let principal = self.hub.access.now(&self.call.principal).await?;
        principal.ok_or_else(Problem::sign_in)
    }

    /// The principal with its current rights, which must include the use of a database.
    pub(super) async fn current_user_of(&self, database: &Database) -> Result<Principal, Problem> {
        let principal = self.current_principal().await?;
        if self.may(&principal, database).await? {
            Ok(principal)
        } else {
            Err(Problem::forbidden())
        }
    }

    /// Writes documents with the principal's current rights, within the quotas.
    pub(super) async fn write(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
    ) -> Result<(), WriteFailure> {
        let principal = self.current_user_of(database).await?;
        let bytes: usize = documents.iter().map(|document| document.sent.body.as_str().len()).sum();
        quotas::documents(&self.hub, &database.name, 0, bytes as u64).await?;
        let change = (documents, Edits::New);
        let written = write_documents(&self.hub, &self.call, &principal, database, change).await;
        match written {
            Ok(written) => Ok(written.into_iter().try_for_each(|one| one.map(drop))?),
            Err(DocumentsError::Refused(refusal)) => Err(refusal.into()),
            Err(DocumentsError::Store(error)) => Err(Problem::from(error).into()),
        }
    }
}
