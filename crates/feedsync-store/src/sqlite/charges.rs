//! Users to whom databases and collections are charged, and their usage.

use rusqlite::{Connection, params};

use super::rows::parsed;
use crate::error::StoreError;
use crate::name::UserId;
use crate::people::Usage;

/// Owner of the collection of a name.
pub(super) const OF_COLLECTION: &str = "SELECT owner FROM collection_owners
    WHERE collection = (SELECT id FROM collections WHERE name = ?1)";

/// Owner of the database of a name.
pub(super) const OF_DATABASE: &str = "SELECT owner FROM database_owners
    WHERE database = (SELECT id FROM databases WHERE name = ?1)";

/// Sums over the databases and collections that a user created, and over the databases of these collections.
const USAGE: &str = "
    WITH owned AS (SELECT collection AS id FROM collection_owners WHERE owner = ?1),
         charged AS (SELECT database AS id, 1 AS made FROM database_owners WHERE owner = ?1
                      UNION ALL
                     SELECT d.id, 0 FROM owned JOIN collections c ON c.id = owned.id
                       JOIN databases d ON d.name = c.name AND d.security = '{\"fs:collection\":\"' || c.feed_id || '\"}')
    SELECT coalesce(sum(charged.made) FILTER (WHERE d.dropped_name IS NULL), 0), coalesce(sum(d.documents + d.deleted), 0),
           coalesce(sum(d.bytes + d.local_bytes + coalesce(octet_length(d.security), 0)), 0),
           (SELECT coalesce(sum(c.bytes), 0) FROM owned JOIN collections c ON c.id = owned.id),
           (SELECT coalesce(sum(l.length), 0) FROM owned JOIN logs l ON l.collection = owned.id AND NOT l.removed)
           + (SELECT coalesce(sum(g.length), 0) FROM owned JOIN log_generations g ON g.collection = owned.id)
           + (SELECT coalesce(sum(octet_length(s.content)), 0)
                FROM owned JOIN log_snapshots s ON s.collection = owned.id),
           EXISTS (SELECT 1 FROM users WHERE id = ?1 AND administrator)
      FROM charged JOIN databases d ON d.id = charged.id WHERE d.name IS NOT NULL";

/// Statements that end the charges of a removed user. A collection is charged to another owner then, if there is one.
const END_CHARGES: [&str; 3] = [
    "DELETE FROM database_owners WHERE owner = ?1",
    "UPDATE collection_owners SET owner = coalesce(
       (SELECT min(u.id) FROM grants g JOIN users u ON u.name = g.user AND NOT u.administrator
         WHERE g.collection = collection_owners.collection AND g.role = 'owner'), '')
      WHERE owner = ?1",
    "DELETE FROM collection_owners WHERE owner IN ('', ?1)",
];

/// Returns the usage of a user.
pub(super) fn usage(connection: &Connection, user: &UserId) -> Result<Usage, StoreError> {
    let mut statement = connection.prepare_cached(USAGE)?;
    let usage = statement.query_row([user.as_str()], |row| {
        let count = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)? as u64);
        Ok(Usage {
            databases: count(0)?,
            documents: count(1)?,
            database_bytes: count(2)?,
            item_bytes: count(3)?,
            log_bytes: count(4)?,
            administers: row.get(5)?,
        })
    })?;
    Ok(usage)
}

/// The user to whom the collection or database of a name is charged.
pub(super) fn owner(
    connection: &Connection,
    sql: &str,
    name: &str,
) -> Result<Option<UserId>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([name])?;
    rows.next()?.map(|row| parsed(row, 0)).transpose()
}

/// Charges a database to a user from now on.
pub(super) fn charge_database(
    connection: &Connection,
    database: i64,
    owner: &UserId,
) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO database_owners (database, owner) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params![database, owner.as_str()])?;
    Ok(())
}

/// Charges a collection to a user from now on.
pub(super) fn charge(
    connection: &Connection,
    collection: i64,
    owner: &UserId,
) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO collection_owners (collection, owner) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params![collection, owner.as_str()])?;
    Ok(())
}

/// Ends the charges of a removed user.
pub(super) fn end(connection: &Connection, user: &UserId) -> Result<(), StoreError> {
    for sql in END_CHARGES {
        connection.execute(sql, [user.as_str()])?;
    }
    Ok(())
}
