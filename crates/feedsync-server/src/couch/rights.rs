//! Access rights to databases.
//!
//! Administrators may do everything, and so may any client on this machine while no user exists. Other users
//! must be named in the `_security` of a database, which its creator is, or have a role that it names. If it names
//! no member, every signed-in user may read and write. Restricted tokens open no database. For a database that mirrors a
//! collection, the rights to that collection apply and nothing else: its editors read and write. A database
//! that no longer mirrors a collection is for administrators only. So is the database of users, except for the
//! document of the principal.

use feedsync_couch::{
    DEFAULT_SECURITY, DatabaseName, Json, Refusal, RefusalKind, Security, quoted,
};
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_store::{Database, Role, StoreError, UserName};

use super::users::UserAccess;
use super::{CouchRequest, Failure, no_database};
use crate::access::Principal;
use crate::configuration::UserRegistration;
use crate::http::problem::Problem;

/// Access that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Read and write documents.
    Use,
    /// Change its security and its settings; drop it.
    Administer,
}

impl CouchRequest {
    /// Returns the database if the principal has this access.
    pub(crate) async fn database(
        &self,
        name: &DatabaseName,
        need: Need,
    ) -> Result<Database, Failure> {
        if matches!(self.principal, Principal::Anonymous) && self.user_access == UserAccess::No {
            return Err(Problem::sign_in().into());
        }
        if name.as_str() == DatabaseName::USERS {
            self.hub.endpoint.create_users_database().await?;
        }
        let found = self.databases.database(name).await?;
        let found = match found {
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
    pub(crate) async fn may(&self, database: &Database, need: Need) -> Result<bool, StoreError> {
        let is_administrator = administers_server(&self.principal);
        if database.name.as_str() == DatabaseName::USERS {
            let is_own = self.user_access != UserAccess::No;
            let is_on = self.hub.config.couch_users != UserRegistration::Off;
            return Ok(is_on && (is_administrator || is_own && need == Need::Use));
        }
        // Documents of replications contain credentials, and the hub sends requests to the addresses in them.
        if database.name.as_str() == DatabaseName::REPLICATOR {
            return Ok(is_administrator);
        }
        Ok(match self.hub.endpoint.bridge_status(database).await? {
            BridgeStatus::Nothing => may(&self.principal, database.security.as_deref(), need),
            // Rights to a collection apply to its documents.
            BridgeStatus::Collection(collection) => {
                let least = if need == Need::Use { Role::Editor } else { Role::Owner };
                is_administrator || self.principal.role(&collection) >= Some(least)
            }
            BridgeStatus::Closed => is_administrator,
        })
    }

    /// Checks again after a body was received, which takes time: the principal must still have access to the
    /// same database. Returns its current row.
    pub(crate) async fn recheck(
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
    pub(super) fn check_may_create(&self) -> Result<(), Failure> {
        match &self.principal {
            Principal::Anonymous => Err(Problem::sign_in().into()),
            principal if principal.may_create() && principal.is_unbounded() => Ok(()),
            _ => Err(RefusalKind::Unauthorized.with_reason("You are not a server admin.").into()),
        }
    }

    /// Refuses a principal that does not administer the hub.
    pub(super) fn check_administers_server(&self) -> Result<(), Failure> {
        match administers_server(&self.principal) {
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

/// `_security` that names one user.
pub(super) fn security_of(user: &UserName) -> String {
    let names = quoted(user.as_str());
    format!(
        "{{\"members\":{{\"names\":[{names}],\"roles\":[]}},\"admins\":{{\"names\":[{names}],\"roles\":[]}}}}"
    )
}

/// Initial `_security` of a new database: it names its creator, if the creator is a user.
pub(super) fn initial_security(name: &DatabaseName, creator: &Principal) -> Option<String> {
    if name.as_str() == DatabaseName::REPLICATOR {
        return Some(ADMINISTRATORS_ONLY.to_owned());
    }
    creator.user().map(security_of)
}

/// `_security` of the database of replications, as in CouchDB.
const ADMINISTRATORS_ONLY: &str =
    r#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;

/// Whether a principal administers the hub, with all rights.
pub(crate) fn administers_server(principal: &Principal) -> bool {
    principal.administers() && principal.is_unbounded()
}

fn not_allowed() -> Refusal {
    RefusalKind::Forbidden.with_reason("You are not a db or server admin.")
}

fn may(principal: &Principal, security: Option<&str>, need: Need) -> bool {
    if administers_server(principal) {
        return true;
    }
    let Some(user) = principal.user().filter(|_| principal.is_unbounded()) else { return false };
    let security = security.unwrap_or(DEFAULT_SECURITY);
    let Ok(security) = Json::read(security.as_bytes().to_vec()) else { return false };
    let Ok(security) = Security::read(security.root()) else { return false };
    let (user, roles) = (user.as_str(), principal.database_roles());
    match need {
        Need::Use => security.is_member(user, roles),
        Need::Administer => security.is_administrator(user, roles),
    }
}
