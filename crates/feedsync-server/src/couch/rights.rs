//! Who may do what with a database.
//!
//! Who administers the hub, and who is on this machine while there is no user, may do everything. Everybody else needs to
//! be named in the `_security` of a database, which whoever made it is; where that names no member, whoever has signed in
//! may read and write. Tokens that are bound to less than their user open no database. To a database that is a collection, too,
//! the rights to that collection count, and nothing is said beside them: its editors read and write. One that was that is for who administers the hub.

use feedsync_couch::{Json, Refusal, RefusalKind, quoted, texts};
use feedsync_endpoint::doors::DoorOf;
use feedsync_formats::json::{Kind, Node};
use feedsync_store::{Database, Role, StoreError};

use super::{Asked, Failure, no_database};
use crate::access::{Principal, sign_in};

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Read and write documents.
    Use,
    /// Change who may do that, and what it is set to; drop it.
    Administer,
}

/// What is said of a database of which nothing was said.
pub(super) const UNSAID: &str =
    "{\"members\":{\"roles\":[\"_admin\"]},\"admins\":{\"roles\":[\"_admin\"]}}";

impl Asked {
    /// The database, if whoever asks may do this with it.
    pub(super) async fn database(
        &self,
        name: &feedsync_couch::DatabaseName,
        need: Need,
    ) -> Result<Database, Failure> {
        if matches!(self.principal, Principal::Anonymous) {
            return Err(sign_in().into());
        }
        let found = self.databases.database(name).await?;
        let database = found.ok_or_else(|| Failure::from(no_database()))?;
        if self.may(&database, need).await? {
            return Ok(database);
        }
        // Only who may use a database learns that it exists.
        match need == Need::Administer && self.may(&database, Need::Use).await? {
            true => Err(not_allowed().into()),
            false => Err(no_database().into()),
        }
    }

    /// Whether whoever asks may do this with a database.
    pub(super) async fn may(&self, database: &Database, need: Need) -> Result<bool, StoreError> {
        let is_administrator = self.principal.administers() && self.principal.is_unbounded();
        Ok(match self.hub.endpoint.door_of(database).await? {
            DoorOf::Nothing => may(&self.principal, database.security.as_deref(), need),
            // What may be done with a collection may be done with its documents.
            DoorOf::Collection(collection) => {
                let least = if need == Need::Use { Role::Editor } else { Role::Owner };
                is_administrator || self.principal.role(&collection) >= Some(least)
            }
            DoorOf::Closed => is_administrator,
        })
    }

    /// The same once a body has come, which takes its time: whoever asks may still do it, with the same database, as it
    /// is now.
    pub(super) async fn still(&self, database: &Database, need: Need) -> Result<Database, Failure> {
        let now = self.hub.access.now(&self.principal).await?;
        let principal = now.ok_or_else(sign_in)?;
        let asked = Self { principal, ..self.clone() };
        let found = asked.database(&database.name, need).await?;
        match found.epoch == database.epoch {
            true => Ok(found),
            false => Err(no_database().into()),
        }
    }

    /// The same, to do what only a database that stands alone bears.
    pub(super) async fn alone(
        &self,
        name: &feedsync_couch::DatabaseName,
        what: &str,
    ) -> Result<Database, Failure> {
        let database = self.database(name, Need::Administer).await?;
        match self.hub.endpoint.door_of(&database).await? {
            DoorOf::Nothing | DoorOf::Closed => Ok(database),
            DoorOf::Collection(collection) => {
                let reason = format!(
                    "{name} is the collection {collection}: {what}, or set its `documents` to false first"
                );
                Err(RefusalKind::Forbidden.because(reason).into())
            }
        }
    }

    /// Refuses who may make no database.
    pub(super) fn check_may_create(&self) -> Result<(), Failure> {
        match &self.principal {
            Principal::Anonymous => Err(sign_in().into()),
            principal if principal.may_create() && principal.is_unbounded() => Ok(()),
            _ => Err(RefusalKind::Unauthorized.because("You are not a server admin.").into()),
        }
    }

    /// What is said of a database that is made: who makes it, if that is somebody.
    pub(super) fn own_security(&self) -> Option<String> {
        let user = self.principal.user()?;
        let names = quoted(user.as_str());
        Some(format!(
            "{{\"members\":{{\"names\":[{names}],\"roles\":[]}},\"admins\":{{\"names\":[{names}],\"roles\":[]}}}}"
        ))
    }
}

fn not_allowed() -> Refusal {
    RefusalKind::Forbidden.because("You are not allowed to access this db.")
}

fn may(principal: &Principal, security: Option<&str>, need: Need) -> bool {
    if principal.administers() && principal.is_unbounded() {
        return true;
    }
    let Some(user) = principal.user().filter(|_| principal.is_unbounded()) else { return false };
    let security = security.unwrap_or(UNSAID);
    let Ok(security) = Json::read(security.as_bytes().to_vec()) else { return false };
    let Ok(Named { admins, members, has_roles }) = Named::read(security.root()) else {
        return false;
    };
    let is_in = |names: &[String]| names.iter().any(|name| name == user.as_str());
    let is_open = members.is_empty() && !has_roles;
    is_in(&admins) || need == Need::Use && (is_in(&members) || is_open)
}

/// Whom `_security` names.
pub(super) struct Named {
    admins: Vec<String>,
    members: Vec<String>,
    /// Whether members are told by roles, too: nobody has any here but who administers the hub.
    has_roles: bool,
}

impl Named {
    /// Refuses what cannot be understood, since it would name nobody, or everybody.
    pub(super) fn read(security: Node<'_>) -> Result<Self, Refusal> {
        let refuse = |reason: String| RefusalKind::BadRequest.because(reason);
        let listed = |part: &str, list: &str| -> Result<Vec<String>, Refusal> {
            let Some(member) = security.member(part) else { return Ok(Vec::new()) };
            if member.value.kind() != Kind::Object {
                return Err(refuse(format!("{part} must be a JSON object")));
            }
            let Some(list_of) = member.value.member(list) else { return Ok(Vec::new()) };
            texts(list_of.value)
                .map_err(|_| refuse(format!("{part}.{list} must be a JSON list of strings")))
        };
        listed("admins", "roles")?;
        let has_roles = !listed("members", "roles")?.is_empty();
        let (admins, members) = (listed("admins", "names")?, listed("members", "names")?);
        Ok(Self { admins, members, has_roles })
    }
}
