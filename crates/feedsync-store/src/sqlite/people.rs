//! Rows of users, and the implementation of [`People`] on the threads of a [`SqliteStore`].

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::SqliteStore;
use super::acts::{insert_act, recorded};
use super::rows::{optional, parsed};
use super::{charges, collections, database_rows, log_rows};
use crate::blob::Digest;
use crate::collection::Alteration;
use crate::columns::moment;
use crate::error::StoreError;
use crate::name::{CollectionName, UserId, UserName};
use crate::order::Moment;
use crate::people::{
    AuditAction, AuditEntry, AuditSelection, Grant, GrantFilter, People, Role, Scope, Token,
    TokenKind, Usage, User,
};

#[async_trait]
impl People for SqliteStore {
    async fn users(&self) -> Result<Vec<User>, StoreError> {
        self.readers.read(users).await
    }

    async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError> {
        let name = name.clone();
        self.readers.read(move |connection| find(connection, &name)).await
    }

    async fn add_user(&self, user: User) -> Result<(), StoreError> {
        self.writer
            .run(move |connection| {
                if find(connection, &user.name)?.is_some() {
                    return Err(StoreError::UserExists(user.name));
                }
                database_rows::remove_user_from_security(connection, &user.name)?;
                connection.execute(
                    "INSERT INTO users (name, password, administrator, disabled, created, id, databases_only)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        user.name.as_str(),
                        user.password,
                        user.administrator,
                        user.disabled,
                        user.created,
                        user.id.as_str(),
                        user.databases_only
                    ],
                )?;
                Ok(())
            })
            .await
    }

    async fn change_user(&self, user: User) -> Result<(), StoreError> {
        self.writer
            .run(move |connection| {
                let known = find(connection, &user.name)?.filter(|known| known.id == user.id);
                if known.is_none() {
                    return Err(StoreError::NoUser(user.name));
                }
                if !user.may_administer() && is_last_administrator(connection, &user.name)? {
                    return Err(StoreError::LastAdministrator(user.name));
                }
                connection.execute(
                    "UPDATE users SET password = ?2, administrator = ?3, disabled = ?4, databases_only = ?5
                      WHERE name = ?1",
                    params![
                        user.name.as_str(),
                        user.password,
                        user.administrator,
                        user.disabled,
                        user.databases_only
                    ],
                )?;
                Ok(())
            })
            .await
    }

    async fn usage(&self, user: &UserId) -> Result<Usage, StoreError> {
        let user = user.clone();
        self.readers.read(move |connection| charges::usage(connection, &user)).await
    }

    async fn charge_collection(
        &self,
        collection: &CollectionName,
        owner: &UserId,
    ) -> Result<(), StoreError> {
        let (collection, owner) = (collection.clone(), owner.clone());
        self.writer
            .run(move |connection| {
                let id = collections::require(connection, &collection)?.id;
                charges::charge(connection, id, &owner)
            })
            .await
    }

    async fn collection_charged_to(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError> {
        let collection = collection.clone();
        self.readers
            .read(move |connection| {
                charges::owner(connection, charges::OF_COLLECTION, collection.as_str())
            })
            .await
    }

    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError> {
        let (name, files) = (name.clone(), Arc::clone(&self.files));
        let now = self.environment.now();
        self.writer
            .run(move |connection| {
                let user = find(connection, &name)?;
                let user = user.ok_or_else(|| StoreError::NoUser(name.clone()))?;
                let others = connection
                    .prepare_cached("SELECT 1 FROM users WHERE name <> ?1 LIMIT 1")?
                    .exists([name.as_str()])?;
                if others && is_last_administrator(connection, &name)? {
                    return Err(StoreError::LastAdministrator(name));
                }
                let mut gone = Vec::new();
                for collection_row in collections::private_to(connection, &user.id)? {
                    gone.extend(log_rows::keys(connection, collection_row.id)?);
                    collections::alter(connection, collection_row, Alteration::Drop, now)?;
                }
                database_rows::remove_user_from_security(connection, &name)?;
                connection.execute("DELETE FROM users WHERE name = ?1", [name.as_str()])?;
                charges::end(connection, &user.id)?;
                files.forget(gone);
                Ok(())
            })
            .await
    }

    async fn grants(&self, of: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError> {
        let (user, collection) = match of {
            GrantFilter::User(user) => (Some(user.clone()), None),
            GrantFilter::Collection(collection) => (None, Some(collection.clone())),
        };
        self.readers
            .read(move |connection| match (user, collection) {
                (Some(user), _) => {
                    require(connection, &user)?;
                    grants(connection, "grants.user = ?1", user.as_str())
                }
                (None, Some(collection)) => {
                    collections::require(connection, &collection)?;
                    grants(connection, "collections.name = ?1", collection.as_str())
                }
                (None, None) => Ok(Vec::new()),
            })
            .await
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.writer.run(move |connection| self::grant(connection, &grant).map(drop)).await
    }

    async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, StoreError> {
        let (user, collection) = (user.clone(), collection.clone());
        self.writer
            .run(move |connection| {
                require(connection, &user)?;
                let collection_row = collections::require(connection, &collection)?;
                let removed = connection.execute(
                    "DELETE FROM grants WHERE user = ?1 AND collection = ?2",
                    params![user.as_str(), collection_row.id],
                )?;
                Ok(removed > 0)
            })
            .await
    }

    async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError> {
        let user = user.clone();
        self.readers
            .read(move |connection| {
                require(connection, &user)?;
                tokens(connection, "tokens.user = ?1", user.as_str())
            })
            .await
    }

    async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError> {
        self.readers
            .read(move |connection| {
                Ok(tokens(connection, "digest = ?1", &digest.to_string())?.pop())
            })
            .await
    }

    async fn add_token(&self, token: Token) -> Result<(), StoreError> {
        self.writer
            .run(move |connection| {
                require(connection, &token.user)?;
                let collection = match &token.scope.collection {
                    Some(name) => Some(collections::require(connection, name)?.id),
                    None => None,
                };
                connection.execute(
                    "INSERT INTO tokens
                            (digest, user, session, label, role, collection, created, expires)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        token.digest.to_string(),
                        token.user.as_str(),
                        token.kind == TokenKind::Session,
                        token.label,
                        token.scope.role.map(|role| role.name()),
                        collection,
                        token.created,
                        token.expires,
                    ],
                )?;
                Ok(())
            })
            .await
    }

    async fn remove_token(&self, digest: Digest) -> Result<(), StoreError> {
        self.writer
            .run(move |connection| {
                let digest = digest.to_string();
                match connection.execute("DELETE FROM tokens WHERE digest = ?1", [digest])? {
                    0 => Err(StoreError::NoToken),
                    _ => Ok(()),
                }
            })
            .await
    }

    async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError> {
        self.writer
            .run(move |connection| {
                Ok(connection.execute("DELETE FROM tokens WHERE expires < ?1", [before])? as u64)
            })
            .await
    }

    async fn record(&self, act: AuditAction) -> Result<(), StoreError> {
        let environment = Arc::clone(&self.environment);
        self.writer.run(move |connection| insert_act(connection, environment.now(), &act)).await
    }

    async fn acts(&self, selection: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError> {
        let before = selection.before.and_then(|place| i64::try_from(place).ok());
        let user = selection.user.map(ToString::to_string);
        let collection = selection.collection.map(ToString::to_string);
        let limit = i64::try_from(selection.limit).unwrap_or(i64::MAX);
        self.readers
            .read(move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT place, at, user, address, action, collection, item, detail FROM acts
                      WHERE (?1 IS NULL OR place < ?1) AND (?2 IS NULL OR user = ?2)
                        AND (?3 IS NULL OR collection = ?3)
                      ORDER BY place DESC LIMIT ?4",
                )?;
                let mut rows = statement.query(params![before, user, collection, limit])?;
                let mut acts = Vec::new();
                while let Some(row) = rows.next()? {
                    acts.push(recorded(row)?);
                }
                Ok(acts)
            })
            .await
    }

    async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError> {
        self.writer
            .run(move |connection| {
                Ok(connection.execute("DELETE FROM acts WHERE at < ?1", [before])? as u64)
            })
            .await
    }
}

fn users(connection: &Connection) -> Result<Vec<User>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, password, administrator, disabled, created, id, databases_only FROM users ORDER BY name",
    )?;
    let mut rows = statement.query([])?;
    let mut users = Vec::new();
    while let Some(row) = rows.next()? {
        users.push(user(row)?);
    }
    Ok(users)
}

fn find(connection: &Connection, name: &UserName) -> Result<Option<User>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, password, administrator, disabled, created, id, databases_only FROM users WHERE name = ?1",
    )?;
    let mut rows = statement.query([name.as_str()])?;
    rows.next()?.map(user).transpose()
}

fn user(row: &Row<'_>) -> Result<User, StoreError> {
    Ok(User {
        name: parsed(row, 0)?,
        password: row.get(1)?,
        administrator: row.get(2)?,
        disabled: row.get(3)?,
        created: moment(row.get(4)?),
        id: parsed(row, 5)?,
        databases_only: row.get(6)?,
    })
}

fn require(connection: &Connection, name: &UserName) -> Result<(), StoreError> {
    match find(connection, name)? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoUser(name.clone())),
    }
}

fn is_last_administrator(connection: &Connection, name: &UserName) -> Result<bool, StoreError> {
    let administrators: Option<(String, i64)> = connection
        .query_row(
            "SELECT min(name), count(*) FROM users WHERE administrator AND NOT disabled
             HAVING count(*) > 0",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(administrators.is_some_and(|(first, count)| count == 1 && first == name.as_str()))
}

/// Makes a user the owner of the collection that they create, and charges it to them.
pub(super) fn found(
    connection: &Connection,
    user: UserName,
    collection: &CollectionName,
) -> Result<(), StoreError> {
    let owner = find(connection, &user)?.map(|owner| owner.id);
    let id = grant(connection, &Grant { user, collection: collection.clone(), role: Role::Owner })?;
    owner.map_or(Ok(()), |owner| charges::charge(connection, id, &owner))
}

/// Gives a user a role in a collection, and returns the id of the collection's row.
fn grant(connection: &Connection, grant: &Grant) -> Result<i64, StoreError> {
    require(connection, &grant.user)?;
    let collection_row = collections::require(connection, &grant.collection)?;
    connection.execute(
        "INSERT OR REPLACE INTO grants (user, collection, role) VALUES (?1, ?2, ?3)",
        params![grant.user.as_str(), collection_row.id, grant.role.name()],
    )?;
    Ok(collection_row.id)
}

fn grants(connection: &Connection, only: &str, value: &str) -> Result<Vec<Grant>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT grants.user, collections.name, role
           FROM grants JOIN collections ON collections.id = grants.collection
          WHERE {only} ORDER BY collections.name, grants.user"
    ))?;
    let mut rows = statement.query([value])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        grants.push(Grant {
            user: parsed(row, 0)?,
            collection: parsed(row, 1)?,
            role: parsed(row, 2)?,
        });
    }
    Ok(grants)
}

fn tokens(connection: &Connection, only: &str, value: &str) -> Result<Vec<Token>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT digest, tokens.user, session, label, role, collections.name, tokens.created, expires
           FROM tokens LEFT JOIN collections ON collections.id = tokens.collection
          WHERE {only} ORDER BY tokens.created, digest"
    ))?;
    let mut rows = statement.query([value])?;
    let mut tokens = Vec::new();
    while let Some(row) = rows.next()? {
        let session: bool = row.get(2)?;
        tokens.push(Token {
            digest: parsed(row, 0)?,
            user: parsed(row, 1)?,
            kind: if session { TokenKind::Session } else { TokenKind::Access },
            label: row.get(3)?,
            scope: Scope { role: optional(row, 4)?, collection: optional(row, 5)? },
            created: moment(row.get(6)?),
            expires: row.get::<_, Option<i64>>(7)?.map(moment),
        });
    }
    Ok(tokens)
}
