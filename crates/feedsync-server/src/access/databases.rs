//! Access rights to databases, and writes by those who have them.
//!
//! Administrators may do everything, and so may any client on this machine while no user exists. Other users
//! must be named in the `_security` of a database, which its creator is, or have a role that it names. If it names
//! no member, every signed-in user may read and write. Restricted tokens open no database. For a database that mirrors a
//! collection, the rights to that collection apply and nothing else: its editors read and write. A database
//! that no longer mirrors a collection is for administrators only, and so are those of users and of replications.

use feedsync_couch::{DEFAULT_SECURITY, DatabaseName, Json, Security};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::bridge::BridgeStatus;
use feedsync_endpoint::documents::history::{RestoreError, RestoreRequest, RestoreSummary};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{DocumentsError, Edits, NewDocument, Written};
use feedsync_store::{Database, Dropped, Moment, Role, StoreError};

use crate::access::Principal;
use crate::access::call::Call;
use crate::hub::Hub;

/// Access that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Read and write documents.
    Use,
    /// Change its security and its settings; drop it.
    Administer,
}

/// Whether a principal has this access to a database.
pub(crate) async fn may_access(
    endpoint: &Endpoint,
    principal: &Principal,
    database: &Database,
    need: Need,
) -> Result<bool, StoreError> {
    // A database that was dropped is for nobody. Those who may read its history get it by its former name.
    if database.dropped.is_some() {
        return Ok(false);
    }
    let is_administrator = principal.administers();
    // Documents of replications contain credentials, and the hub sends requests to the addresses in them.
    if is_administrator || database.name.is_system() {
        return Ok(is_administrator);
    }
    Ok(match endpoint.bridge_status(database).await? {
        BridgeStatus::Nothing => is_admitted(principal, database.security.as_deref(), need),
        // Rights to a collection apply to its documents.
        BridgeStatus::Collection(collection) => {
            let least = if need == Need::Use { Role::Editor } else { Role::Owner };
            principal.role(&collection) >= Some(least)
        }
        BridgeStatus::Closed => false,
    })
}

/// Whether a principal had this access to a database that was dropped.
pub(crate) async fn may_access_dropped(
    endpoint: &Endpoint,
    principal: &Principal,
    kept: &Database,
    need: Need,
) -> Result<bool, StoreError> {
    let Some(Dropped { name, .. }) = &kept.dropped else { return Ok(false) };
    let before = Database { name: name.clone(), dropped: None, ..kept.clone() };
    may_access(endpoint, principal, &before, need).await
}

/// The database that had the name of a database at a moment, if the principal may use both.
pub(crate) async fn database_at(
    endpoint: &Endpoint,
    principal: &Principal,
    database: &Database,
    moment: Moment,
) -> Result<Option<Database>, StoreError> {
    let found = endpoint.database_at(&database.name, moment).await?;
    let Some(source) = found.filter(|source| source.dropped.is_some()) else {
        return Ok(Some(database.clone()));
    };
    let may_use = may_access_dropped(endpoint, principal, &source, Need::Use).await?;
    Ok(Some(source).filter(|_| may_use))
}

/// The principal as functions see it.
pub(crate) fn author(principal: &Principal, may_design: bool) -> Author {
    Author {
        name: principal.user().map(|user| user.as_str().to_owned()),
        is_administrator: principal.administers(),
        roles: principal.database_roles().to_vec(),
        may_design,
    }
}

/// Writes documents on behalf of a principal. Those of users change passwords and roles.
pub(crate) async fn write_documents(
    hub: &Hub,
    call: &Call,
    principal: &Principal,
    database: &Database,
    (documents, edits): (Vec<NewDocument>, Edits),
) -> Result<Written, DocumentsError> {
    // Most writes have no design document, and so do not need to know who administers the database.
    let designs = documents.iter().any(|document| document.id.is_design());
    let may_design =
        designs && may_access(&hub.endpoint, principal, database, Need::Administer).await?;
    // Users whom documents add are recorded with their author.
    let endpoint = call.endpoint_of(hub, principal.user().cloned());
    let writer = endpoint.documents_writer(author(principal, may_design));
    let written = writer.write(database, documents, edits).await;
    if database.name.as_str() == DatabaseName::USERS {
        hub.access.forget();
    }
    written
}

/// Brings documents back to a past moment of a source on behalf of a principal, as ordinary edits. The source is the database
/// itself, or one that had its name and that the principal may use.
pub(crate) async fn restore_documents(
    hub: &Hub,
    call: &Call,
    principal: &Principal,
    (database, source): (&Database, &Database),
    request: &RestoreRequest,
) -> Result<RestoreSummary, RestoreError> {
    let is_itself = source.epoch == database.epoch;
    if !is_itself && !may_access_dropped(&hub.endpoint, principal, source, Need::Use).await? {
        return Err(RestoreError::Unknown { since: database.past.since });
    }
    let may_design = may_access(&hub.endpoint, principal, database, Need::Administer).await?;
    let endpoint = call.endpoint_of(hub, principal.user().cloned());
    let writer = endpoint.documents_writer(author(principal, may_design));
    writer.restore(database, source, request).await
}

fn is_admitted(principal: &Principal, security: Option<&str>, need: Need) -> bool {
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
