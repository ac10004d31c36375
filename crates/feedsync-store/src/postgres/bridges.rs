//! Databases that are bridged to collections, and user names in access rules of databases.

use deadpool_postgres::Transaction;
use feedsync_couch::without_user;

use super::rows::get;
use crate::collection::Collection;
use crate::error::StoreError;
use crate::name::{CollectionName, UserName};

/// Drops the database that is bridged to a collection.
pub(super) async fn remove(
    transaction: &Transaction<'_>,
    of: &Collection,
) -> Result<(), StoreError> {
    let sql = "UPDATE databases SET name = NULL WHERE name = $1 AND security = $2";
    let security = of.bridge_security();
    transaction.execute(sql, &[&of.name.as_str(), &security.as_bytes()]).await?;
    Ok(())
}

/// Renames the database that is bridged to a collection, unless the new name is in use.
pub(super) async fn rename(
    transaction: &Transaction<'_>,
    of: &Collection,
    to: &CollectionName,
) -> Result<(), StoreError> {
    if *to == of.name {
        return Ok(());
    }
    let sql = "UPDATE databases SET name = $3 WHERE name = $1 AND security = $2
                AND NOT EXISTS (SELECT 1 FROM databases WHERE name = $3)";
    let security = of.bridge_security();
    transaction.execute(sql, &[&of.name.as_str(), &security.as_bytes(), &to.as_str()]).await?;
    Ok(())
}

/// Removes a user's name from the `_security` of each database.
pub(super) async fn remove_user_from_security(
    transaction: &Transaction<'_>,
    user: &UserName,
) -> Result<(), StoreError> {
    let sql =
        "SELECT id, security FROM databases WHERE security IS NOT NULL ORDER BY id FOR UPDATE";
    for row in transaction.query(sql, &[]).await? {
        let (id, security): (i64, &[u8]) = (get(&row, 0)?, get(&row, 1)?);
        let without = std::str::from_utf8(security)
            .ok()
            .and_then(|security| without_user(security, user.as_str()));
        if let Some(without) = without {
            let sql = "UPDATE databases SET security = $2 WHERE id = $1";
            transaction.execute(sql, &[&id, &without.as_bytes()]).await?;
        }
    }
    Ok(())
}
