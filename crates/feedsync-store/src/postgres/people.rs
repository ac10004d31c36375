//! Rows of users, and the implementation of [`People`].

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Transaction};
use futures_util::FutureExt as _;
use tokio_postgres::Row;

use super::acts;
use super::pipeline::Parameter;
use super::rows::{digest, get, maybe_moment, micros, optional, parsed, text};
use super::{PostgresStore, bridges, charges, collections, pool, rounds};
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

/// Changes of users are serialized, because the check for a remaining administrator concerns all of them.
const LOCK: &str = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE";

macro_rules! select_tokens {
    () => {
        "SELECT digest, t.user_name, session, label, t.role, c.name, t.created, expires \
           FROM tokens t LEFT JOIN collections c ON c.id = t.collection "
    };
}

#[async_trait]
impl People for PostgresStore {
    async fn users(&self) -> Result<Vec<User>, StoreError> {
        self.run(|node| async move {
            let client = node.connection().await?;
            let sql = "SELECT name, password, administrator, disabled, created, id, databases_only FROM users
                        ORDER BY name";
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, &[]).await?.iter().map(user).collect()
        })
        .await
    }

    async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError> {
        let name = name.clone();
        self.run(|node| async move { find(&node.connection().await?, &name).await }).await
    }

    async fn add_user(&self, user: User) -> Result<(), StoreError> {
        self.write(move |transaction, _| {
            async move {
                let added = transaction
                    .execute(
                        "INSERT INTO users (name, password, administrator, disabled, created, id, databases_only)
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (name) DO NOTHING",
                        &[
                            &user.name.as_str(),
                            &user.password,
                            &user.administrator,
                            &user.disabled,
                            &micros(user.created),
                            &user.id.as_str(),
                            &user.databases_only,
                        ],
                    )
                    .await?;
                if added == 0 {
                    return Err(StoreError::UserExists(user.name));
                }
                bridges::remove_user_from_security(transaction, &user.name).await
            }
            .boxed()
        })
        .await
    }

    async fn change_user(&self, user: User) -> Result<(), StoreError> {
        self.write(move |transaction, _| {
            async move {
                transaction.batch_execute(LOCK).await?;
                let known = find(transaction, &user.name).await?;
                if known.is_none_or(|known| known.id != user.id) {
                    return Err(StoreError::NoUser(user.name));
                }
                if !user.may_administer() && is_last_administrator(transaction, &user.name).await? {
                    return Err(StoreError::LastAdministrator(user.name));
                }
                transaction
                    .execute(
                        "UPDATE users SET password = $2, administrator = $3, disabled = $4,
                         databases_only = $5 WHERE name = $1",
                        &[
                            &user.name.as_str(),
                            &user.password,
                            &user.administrator,
                            &user.disabled,
                            &user.databases_only,
                        ],
                    )
                    .await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn usage(&self, user: &UserId) -> Result<Usage, StoreError> {
        let user = user.clone();
        self.run(|node| async move {
            let client = node.connection().await?;
            charges::usage(&client, &user).await
        })
        .await
    }

    async fn charge_collection(
        &self,
        collection: &CollectionName,
        owner: &UserId,
    ) -> Result<(), StoreError> {
        let (collection, owner) = (collection.clone(), owner.clone());
        self.write(move |transaction, _| {
            async move {
                let id = lock_collection(transaction, &collection).await?;
                charges::charge(transaction, id, &owner).await
            }
            .boxed()
        })
        .await
    }

    async fn collection_charged_to(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError> {
        let collection = collection.clone();
        self.run(move |node| async move {
            let client = node.connection().await?;
            charges::owner(&client, charges::OF_COLLECTION, collection.as_str()).await
        })
        .await
    }

    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError> {
        let name = name.clone();
        self.write(move |transaction, node| {
            let now = node.environment.now();
            async move {
                transaction.batch_execute(LOCK).await?;
                let user = find(transaction, &name).await?;
                let user = user.ok_or_else(|| StoreError::NoUser(name.clone()))?;
                let others = "SELECT 1 FROM users WHERE name <> $1 LIMIT 1";
                let others = transaction.query_opt(others, &[&name.as_str()]).await?.is_some();
                if others && is_last_administrator(transaction, &name).await? {
                    return Err(StoreError::LastAdministrator(name));
                }
                for private in collections::private_to(transaction, &user.id).await? {
                    let collection_row = collections::lock(transaction, &private).await?;
                    collections::alter(transaction, collection_row, Alteration::Drop, now).await?;
                }
                bridges::remove_user_from_security(transaction, &name).await?;
                transaction.execute("DELETE FROM users WHERE name = $1", &[&name.as_str()]).await?;
                charges::end(transaction, &user.id).await
            }
            .boxed()
        })
        .await
    }

    async fn grants(&self, of: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError> {
        let (user, collection) = match of {
            GrantFilter::User(user) => (Some(user.clone()), None),
            GrantFilter::Collection(collection) => (None, Some(collection.clone())),
        };
        self.run(|node| async move {
            let mut client = node.connection().await?;
            let transaction = pool::snapshot(&mut client).await?;
            if let Some(user) = &user {
                require(&transaction, user).await?;
            }
            if let Some(collection) = &collection {
                collections::require(&transaction, collection).await?;
            }
            let sql = "SELECT g.user_name, c.name, g.role
                         FROM grants g JOIN collections c ON c.id = g.collection
                        WHERE g.user_name = $1 OR c.name = $2 ORDER BY c.name, g.user_name";
            let statement = transaction.prepare_cached(sql).await?;
            let user = user.as_ref().map(UserName::as_str);
            let collection = collection.as_ref().map(CollectionName::as_str);
            let rows = transaction.query(&statement, &[&user, &collection]).await?;
            rows.iter().map(granted).collect()
        })
        .await
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.write(move |transaction, _| {
            async move {
                self::grant(transaction, &grant).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, StoreError> {
        let (user, collection) = (user.clone(), collection.clone());
        self.write(move |transaction, _| {
            async move {
                require(transaction, &user).await?;
                let collection_row = collections::require(transaction, &collection).await?;
                let sql = "DELETE FROM grants WHERE user_name = $1 AND collection = $2";
                let revoked =
                    transaction.execute(sql, &[&user.as_str(), &collection_row.id]).await? > 0;
                Ok(revoked)
            }
            .boxed()
        })
        .await
    }

    async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError> {
        let user = user.clone();
        self.run(|node| async move {
            let mut client = node.connection().await?;
            let transaction = pool::snapshot(&mut client).await?;
            require(&transaction, &user).await?;
            let sql =
                concat!(select_tokens!(), "WHERE t.user_name = $1 ORDER BY t.created, digest");
            let statement = transaction.prepare_cached(sql).await?;
            let rows = transaction.query(&statement, &[&user.as_str()]).await?;
            rows.iter().map(token).collect()
        })
        .await
    }

    async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError> {
        self.run(move |node| async move {
            let client = node.connection().await?;
            let sql = concat!(select_tokens!(), "WHERE digest = $1");
            let statement = client.prepare_cached(sql).await?;
            let row = client.query_opt(&statement, &[&&digest.as_bytes()[..]]).await?;
            row.as_ref().map(token).transpose()
        })
        .await
    }

    async fn add_token(&self, token: Token) -> Result<(), StoreError> {
        self.write(move |transaction, _| {
            async move {
                lock_user(transaction, &token.user).await?;
                let collection = match &token.scope.collection {
                    Some(name) => Some(lock_collection(transaction, name).await?),
                    None => None,
                };
                transaction
                    .execute(
                        "INSERT INTO tokens
                            (digest, user_name, session, label, role, collection, created, expires)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                        &[
                            &&token.digest.as_bytes()[..],
                            &token.user.as_str(),
                            &(token.kind == TokenKind::Session),
                            &text(&token.label),
                            &token.scope.role.map(|role| role.name()),
                            &collection,
                            &micros(token.created),
                            &token.expires.map(micros),
                        ],
                    )
                    .await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn remove_token(&self, digest: Digest) -> Result<(), StoreError> {
        self.write(move |transaction, _| {
            async move {
                let sql = "DELETE FROM tokens WHERE digest = $1";
                match transaction.execute(sql, &[&&digest.as_bytes()[..]]).await? {
                    0 => Err(StoreError::NoToken),
                    _ => Ok(()),
                }
            }
            .boxed()
        })
        .await
    }

    async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError> {
        let sql = "DELETE FROM tokens WHERE digest IN
                     (SELECT digest FROM tokens WHERE expires < $1 ORDER BY expires LIMIT $2)";
        self.run(move |node| async move { rounds::remove(&node, sql, before).await }).await
    }

    async fn record(&self, act: AuditAction) -> Result<(), StoreError> {
        self.write(move |transaction, node| {
            acts::record(transaction, node.environment.now(), Some(act)).boxed()
        })
        .await
    }

    async fn acts(&self, selection: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError> {
        let before = selection.before.and_then(|place| i64::try_from(place).ok());
        let user = selection.user.cloned();
        let collection = selection.collection.cloned();
        let limit = i64::try_from(selection.limit).unwrap_or(i64::MAX);
        self.run(move |node| async move {
            let client = node.connection().await?;
            let mut sql = "SELECT place, at, user_name, address, action, collection, item, detail
                             FROM acts WHERE true"
                .to_owned();
            let mut parameters: Vec<Parameter<'_>> = Vec::new();
            let (user, collection) = (
                user.as_ref().map(UserName::as_str),
                collection.as_ref().map(CollectionName::as_str),
            );
            let mut only = |condition: &str, value| {
                parameters.push(value);
                sql.push_str(&format!(" AND {condition} ${}", parameters.len()));
            };
            // Each condition is separate, so that the server finds the index for it.
            if let Some(before) = &before {
                only("place <", before);
            }
            if let Some(user) = &user {
                only("user_name =", user);
            }
            if let Some(collection) = &collection {
                only("collection =", collection);
            }
            parameters.push(&limit);
            sql.push_str(&format!(" ORDER BY place DESC LIMIT ${}", parameters.len()));
            let statement = client.prepare_cached(&sql).await?;
            client.query(&statement, &parameters).await?.iter().map(recorded).collect()
        })
        .await
    }

    async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError> {
        let sql = "DELETE FROM acts WHERE place IN
                     (SELECT place FROM acts WHERE at < $1 ORDER BY at LIMIT $2)";
        self.run(move |node| async move { rounds::remove(&node, sql, before).await }).await
    }
}

async fn find(client: &impl GenericClient, name: &UserName) -> Result<Option<User>, StoreError> {
    let sql =
        "SELECT name, password, administrator, disabled, created, id, databases_only FROM users
                WHERE name = $1";
    let statement = client.prepare_cached(sql).await?;
    client.query_opt(&statement, &[&name.as_str()]).await?.as_ref().map(user).transpose()
}

fn user(row: &Row) -> Result<User, StoreError> {
    Ok(User {
        name: parsed(row, 0)?,
        password: get(row, 1)?,
        administrator: get(row, 2)?,
        disabled: get(row, 3)?,
        created: moment(get(row, 4)?),
        id: parsed(row, 5)?,
        databases_only: get(row, 6)?,
    })
}

async fn require(client: &impl GenericClient, name: &UserName) -> Result<(), StoreError> {
    match find(client, name).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoUser(name.clone())),
    }
}

/// Prevents the removal of the user until the transaction ends.
async fn lock_user(transaction: &Transaction<'_>, name: &UserName) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM users WHERE name = $1 FOR KEY SHARE";
    match transaction.query_opt(sql, &[&name.as_str()]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoUser(name.clone())),
    }
}

/// Gives a user a role in a collection, and returns the id of the collection's row.
async fn grant(transaction: &Transaction<'_>, grant: &Grant) -> Result<i64, StoreError> {
    lock_user(transaction, &grant.user).await?;
    let collection = lock_collection(transaction, &grant.collection).await?;
    transaction
        .execute(
            "INSERT INTO grants (user_name, collection, role) VALUES ($1, $2, $3)
             ON CONFLICT (user_name, collection) DO UPDATE SET role = excluded.role",
            &[&grant.user.as_str(), &collection, &grant.role.name()],
        )
        .await?;
    Ok(collection)
}

/// Makes a user the owner of the collection that they create, and charges it to them.
pub(super) async fn found(
    transaction: &Transaction<'_>,
    user: UserName,
    collection: &CollectionName,
) -> Result<(), StoreError> {
    let owner = Grant { user: user.clone(), collection: collection.clone(), role: Role::Owner };
    let id = grant(transaction, &owner).await?;
    match find(transaction, &user).await? {
        Some(user) => charges::charge(transaction, id, &user.id).await,
        None => Ok(()),
    }
}

/// Prevents the removal of the collection until the transaction ends; returns the id of its row.
async fn lock_collection(
    transaction: &Transaction<'_>,
    name: &CollectionName,
) -> Result<i64, StoreError> {
    let sql = "SELECT id FROM collections WHERE name = $1 FOR KEY SHARE";
    match transaction.query_opt(sql, &[&name.as_str()]).await? {
        Some(row) => get(&row, 0),
        None => Err(StoreError::NoCollection(name.clone())),
    }
}

async fn is_last_administrator(
    transaction: &Transaction<'_>,
    name: &UserName,
) -> Result<bool, StoreError> {
    let sql = "SELECT count(*), min(name) FROM users WHERE administrator AND NOT disabled";
    let row = transaction.query_one(sql, &[]).await?;
    let first: Option<&str> = get(&row, 1)?;
    Ok(get::<i64>(&row, 0)? == 1 && first == Some(name.as_str()))
}

fn granted(row: &Row) -> Result<Grant, StoreError> {
    Ok(Grant { user: parsed(row, 0)?, collection: parsed(row, 1)?, role: parsed(row, 2)? })
}

fn token(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        digest: digest(row, 0)?,
        user: parsed(row, 1)?,
        kind: if get(row, 2)? { TokenKind::Session } else { TokenKind::Access },
        label: get(row, 3)?,
        scope: Scope { role: optional(row, 4)?, collection: optional(row, 5)? },
        created: moment(get(row, 6)?),
        expires: maybe_moment(row, 7)?,
    })
}

fn recorded(row: &Row) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        place: get::<i64>(row, 0)? as u64,
        at: moment(get(row, 1)?),
        act: AuditAction {
            user: optional(row, 2)?,
            address: get(row, 3)?,
            action: get(row, 4)?,
            collection: optional(row, 5)?,
            item: optional(row, 6)?,
            detail: get(row, 7)?,
        },
    })
}
