//! Databases of users: one for each, which is created when it is first used.

use feedsync_couch::{DatabaseName, hexadecimal_bytes, security_of};
use feedsync_store::{Database, History, NewDatabase, UserName};

use super::{CouchRequest, Failure};
use crate::access::{Principal, quotas};
use crate::configuration::Switch;
use crate::hub::Hub;

/// Beginning of their names, as in CouchDB. The user name follows in hexadecimal.
const PREFIX: &str = "userdb-";

impl CouchRequest {
    /// Creates the database of a user if the request is by that user or by an administrator, and databases of users are
    /// switched on.
    pub(super) async fn create_user_database(
        &self,
        name: &DatabaseName,
    ) -> Result<Option<Database>, Failure> {
        let Some(owner) = owner_of(&self.hub, name) else { return Ok(None) };
        if !is_user_or_administrator(&self.principal, &owner) {
            return Ok(None);
        }
        let Some(user) = self.hub.endpoint.user(&owner).await? else { return Ok(None) };
        // Serializes counting and creating on this node.
        let _permit = self.hub.collections.lock().await;
        if self.databases.database(name).await?.is_none() {
            quotas::databases(&self.hub, &self.principal).await?;
        }
        let new = NewDatabase {
            security: Some(security_of(owner.as_str())),
            history: History::Off,
            owner: Some(user.id),
        };
        self.databases.create_database(name, new).await?;
        Ok(self.databases.database(name).await?)
    }
}

/// Whether a database of this name is for another user.
pub(super) fn is_of_another(hub: &Hub, principal: &Principal, name: &DatabaseName) -> bool {
    owner_of(hub, name).is_some_and(|owner| !is_user_or_administrator(principal, &owner))
}

fn is_user_or_administrator(principal: &Principal, owner: &UserName) -> bool {
    let user = principal.user().filter(|_| principal.is_unbounded());
    user == Some(owner) || principal.administers()
}

/// The user whose database has this name, while databases of users are switched on.
fn owner_of(hub: &Hub, name: &DatabaseName) -> Option<UserName> {
    owner(name).filter(|_| hub.config.couch_user_databases == Switch::On)
}

fn owner(name: &DatabaseName) -> Option<UserName> {
    let bytes = hexadecimal_bytes(name.as_str().strip_prefix(PREFIX)?)?;
    UserName::new(&String::from_utf8(bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_the_user_in_hexadecimal() {
        for (name, user) in [
            ("userdb-616e6e61", Some("anna")),
            ("userdb-616e6e6", None),
            ("userdb-416e6e61", None),
            ("userdb-", None),
            ("userdb-+16e", None),
            ("userdb-ff", None),
            ("anna", None),
        ] {
            let found = owner(&name.parse().unwrap());
            assert_eq!(found.as_ref().map(UserName::as_str), user, "{name}");
        }
    }
}
