//! `_users`: the database of users. Each user reads and writes the own document; everything else is for
//! administrators.

use feedsync_couch::{DatabaseName, MAX_USER_BYTES, RefusalKind, Resource, user_of_id};
use http::Method;

use super::{COPY, CouchRequest, Failure};
use crate::access::Principal;
use crate::configuration::UserRegistration;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Maximum size, in bytes, of a request that writes a document of a user: with room for the password and spelling.
const MAX_BODY_BYTES: usize = 2 * MAX_USER_BYTES;

/// Access to the database of users for principals who are no administrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserAccess {
    /// Nothing.
    No,
    /// Use the own document, which the request names.
    Own,
    /// Add the user whom the request names.
    Register,
}

impl UserAccess {
    /// The access that a request needs. The database itself checks that no document of another user is changed.
    pub(super) fn of(
        hub: &Hub,
        resource: &Resource,
        method: &Method,
        principal: &Principal,
    ) -> Self {
        let Resource::Document(name, id) = resource else { return Self::No };
        let Some(user) = user_of_id(id).filter(|_| name.as_str() == DatabaseName::USERS) else {
            return Self::No;
        };
        let own = principal.user().filter(|_| principal.is_unbounded());
        match own.is_some_and(|own| own.as_str() == user) {
            true if *method != *COPY => Self::Own,
            false
                if *method == Method::PUT
                    && hub.config.couch_users == UserRegistration::Anyone
                    && !principal.administers() =>
            {
                Self::Register
            }
            _ => Self::No,
        }
    }
}

/// Refuses the database of users if it is switched off.
pub(super) fn check_supported(hub: &Hub, name: &DatabaseName) -> Result<(), Failure> {
    let is_users = name.as_str() == DatabaseName::USERS;
    if !is_users || hub.config.couch_users != UserRegistration::Off {
        return Ok(());
    }
    let reason =
        "_users is switched off: the operator can switch it on with the setting couch_users";
    Err(RefusalKind::NotImplemented.with_reason(reason).into())
}

/// Refuses to drop the database of users.
pub(super) fn check_droppable(name: &DatabaseName) -> Result<(), Failure> {
    match name.as_str() == DatabaseName::USERS {
        true => Err(RefusalKind::Forbidden.with_reason("_users cannot be deleted").into()),
        false => Ok(()),
    }
}

impl CouchRequest {
    /// Maximum size of the body in bytes.
    pub(super) fn most_body_bytes(&self) -> usize {
        let most = self.hub.config.limits.database_body_bytes;
        if self.user_access == UserAccess::No { most } else { most.min(MAX_BODY_BYTES) }
    }

    /// Refuses what a document of a user cannot have, and one registration too many.
    pub(super) async fn check_user_document(&self, is_in_parts: bool) -> Result<(), Failure> {
        if self.user_access != UserAccess::No && is_in_parts {
            let reason = "a document of a user has no attachments";
            return Err(RefusalKind::Forbidden.with_reason(reason).into());
        }
        match self.user_access {
            UserAccess::Register => Ok(self.count_registration().await?),
            UserAccess::No | UserAccess::Own => Ok(()),
        }
    }

    async fn count_registration(&self) -> Result<(), Problem> {
        self.hub.access.count_registration(self.call.from)?;
        let most = self.hub.config.limits.registered_users;
        let users = self.hub.endpoint.users().await?;
        let registered = users.iter().filter(|user| user.databases_only).count();
        if most > 0 && registered >= most {
            let detail = format!("{registered} users have registered, and the limit is {most}");
            return Err(Problem::quota("registered_users", detail));
        }
        Ok(())
    }
}
