//! Checks of the access rights of a request, and the response to a refusal.

use feedsync_couch::{DatabaseName, Refusal, RefusalKind, security_of};
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_store::{Database, StoreError};

use super::users::UserAccess;
use super::{CouchRequest, Failure, no_database};
use crate::access::Principal;
use crate::access::databases::{Need, may_access};
use crate::configuration::UserRegistration;
use crate::http::problem::Problem;

impl CouchRequest {
    /// Returns the database if the principal has this access.
    pub(super) async fn database(
        &self,
        name: &DatabaseName,
        need: Need,
    ) -> Result<Database, Failure> {
        if matches!(self.principal, Principal::Anonymous) && self.user_access == UserAccess::No {
            return Err(Problem::sign_in().into());
        }
        let found = match self.databases.database(name).await? {
            None if name.as_str() == DatabaseName::USERS => {
                self.hub.endpoint.create_users_database().await?;
                self.databases.database(name).await?
            }
            None => self.create_user_database(name).await?,
            found => found,
        };
        let database = found.ok_or_else(|| Failure::from(no_database()))?;
        if self.may(&database, need).await? {
            return Ok(database);
        }
        // Only users of a database learn that it exists.
        match need == Need::Administer && self.may(&database, Need::Use).await? {
            true => Err(not_allowed().into()),
            false => Err(no_database().into()),
        }
    }

    /// Whether the principal has this access to a database.
    pub(super) async fn may(&self, database: &Database, need: Need) -> Result<bool, StoreError> {
        if database.name.as_str() == DatabaseName::USERS {
            let is_on = self.hub.config.couch_users != UserRegistration::Off;
            let is_own = self.user_access != UserAccess::No && need == Need::Use;
            if !is_on || is_own {
                return Ok(is_on);
            }
        }
        may_access(&self.hub.endpoint, &self.principal, database, need).await
    }

    /// Checks again after a body was received, which takes time: the principal must still have access to the
    /// same database. Returns its current row.
    pub(super) async fn recheck(
        &self,
        database: &Database,
        need: Need,
    ) -> Result<Database, Failure> {
        let now = self.hub.access.now(&self.principal).await?;
        let principal = now.ok_or_else(Problem::sign_in)?;
        let asked = Self { principal, ..self.clone() };
        let found = asked.database(&database.name, need).await?;
        match found.epoch == database.epoch {
            true => Ok(found),
            false => Err(no_database().into()),
        }
    }

    /// The same, for actions that only a database without a collection supports.
    pub(super) async fn alone(&self, name: &DatabaseName, what: &str) -> Result<Database, Failure> {
        let database = self.database(name, Need::Administer).await?;
        match self.hub.endpoint.bridge_status(&database).await? {
            BridgeStatus::Nothing | BridgeStatus::Closed => Ok(database),
            BridgeStatus::Collection(collection) => {
                let reason = format!(
                    "the database {name} mirrors the collection {collection}: {what}, or set the \
                     setting `documents` of the collection to false first"
                );
                Err(RefusalKind::Forbidden.with_reason(reason).into())
            }
        }
    }

    /// Refuses a principal that may not create databases.
    pub(super) fn check_may_create(&self, name: &DatabaseName) -> Result<(), Failure> {
        match &self.principal {
            Principal::Anonymous => Err(Problem::sign_in().into()),
            principal if principal.may_create() && principal.is_unbounded() => Ok(()),
            _ if self.is_own_vault(name) => Ok(()),
            _ => Err(RefusalKind::Unauthorized.with_reason("You are not a server admin.").into()),
        }
    }

    /// Whether a database is that of a user who may use databases alone: it has the user's name. Devices with notes delete
    /// it and create it again. Where strangers may register, they would create databases so, too.
    pub(super) fn is_own_vault(&self, name: &DatabaseName) -> bool {
        let principal = &self.principal;
        principal.uses_databases_only()
            && principal.is_unbounded()
            && principal.user().is_some_and(|user| user.as_str() == name.as_str())
            && self.hub.config.couch_users != UserRegistration::Anyone
    }

    /// Refuses a principal that does not administer the hub.
    pub(super) fn check_administers_server(&self) -> Result<(), Failure> {
        match self.principal.administers() {
            true => Ok(()),
            false => {
                Err(RefusalKind::Unauthorized.with_reason("You are not a server admin.").into())
            }
        }
    }

    /// The same, with current rights: after a body was received.
    pub(super) async fn recheck_administers_server(&self) -> Result<(), Failure> {
        let now = self.hub.access.now(&self.principal).await?;
        let principal = now.ok_or_else(Problem::sign_in)?;
        Self { principal, ..self.clone() }.check_administers_server()
    }
}

/// Initial `_security` of a new database: it names its creator, if the creator is a user.
pub(super) fn initial_security(name: &DatabaseName, creator: &Principal) -> Option<String> {
    if name.as_str() == DatabaseName::REPLICATOR {
        return Some(ADMINISTRATORS_ONLY.to_owned());
    }
    creator.user().map(|user| security_of(user.as_str()))
}

/// `_security` of the database of replications, as in CouchDB.
const ADMINISTRATORS_ONLY: &str =
    r#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;

fn not_allowed() -> Refusal {
    RefusalKind::Forbidden.with_reason("You are not a db or server admin.")
}
