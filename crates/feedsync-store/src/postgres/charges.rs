//! Users to whom databases and collections are charged, and their usage.

use deadpool_postgres::{Client, Transaction};

use super::rows::{get, parsed};
use crate::error::StoreError;
use crate::name::UserId;
use crate::people::Usage;

/// Owner of the collection of a name.
pub(super) const OF_COLLECTION: &str = "SELECT owner FROM collection_owners
    WHERE collection = (SELECT id FROM collections WHERE name = $1)";

/// Owner of the database of a name.
pub(super) const OF_DATABASE: &str = "SELECT owner FROM database_owners
    WHERE database = (SELECT id FROM databases WHERE name = $1)";

/// Sums over the databases and collections that a user created, and over the databases of these collections.
const USAGE: &str = "
    WITH owned AS (SELECT collection AS id FROM collection_owners WHERE owner = $1),
         charged AS (SELECT database AS id, 1 AS made FROM database_owners WHERE owner = $1
                      UNION ALL
                     SELECT d.id, 0 FROM owned JOIN collections c ON c.id = owned.id
                       JOIN databases d ON d.name = c.name AND d.security = convert_to('{\"fs:collection\":\"' || c.feed_id || '\"}', 'UTF8'))
    SELECT coalesce(sum(charged.made) FILTER (WHERE d.dropped_name IS NULL), 0)::bigint, coalesce(sum(d.documents + d.deleted), 0)::bigint,
           coalesce(sum(d.bytes + coalesce(l.bytes, 0) + coalesce(octet_length(d.security), 0)), 0)::bigint,
           (SELECT coalesce(sum(c.bytes), 0)::bigint FROM owned JOIN collections c ON c.id = owned.id),
           (SELECT coalesce(sum(l.length), 0)::bigint FROM owned JOIN logs l ON l.collection = owned.id AND NOT l.removed)
           + (SELECT coalesce(sum(g.length), 0)::bigint FROM owned JOIN log_generations g ON g.collection = owned.id)
           + (SELECT coalesce(sum(octet_length(s.content)), 0)::bigint
                FROM owned JOIN log_snapshots s ON s.collection = owned.id),
           EXISTS (SELECT 1 FROM users WHERE id = $1 AND administrator)
      FROM charged JOIN databases d ON d.id = charged.id LEFT JOIN local_bytes l ON l.database = d.id
     WHERE d.name IS NOT NULL";

/// Statements that end the charges of a removed user. A collection is charged to another owner then, if there is one.
const END_CHARGES: [&str; 3] = [
    "DELETE FROM database_owners WHERE owner = $1",
    "UPDATE collection_owners SET owner = coalesce(
       (SELECT min(u.id) FROM grants g JOIN users u ON u.name = g.user_name AND NOT u.administrator
         WHERE g.collection = collection_owners.collection AND g.role = 'owner'), '')
      WHERE owner = $1",
    "DELETE FROM collection_owners WHERE owner IN ('', $1)",
];

/// Returns the usage of a user.
pub(super) async fn usage(client: &Client, user: &UserId) -> Result<Usage, StoreError> {
    let statement = client.prepare_cached(USAGE).await?;
    let row = client.query_one(&statement, &[&user.as_str()]).await?;
    let count = |column| Ok::<_, StoreError>(get::<i64>(&row, column)? as u64);
    Ok(Usage {
        databases: count(0)?,
        documents: count(1)?,
        database_bytes: count(2)?,
        item_bytes: count(3)?,
        log_bytes: count(4)?,
        administers: get(&row, 5)?,
    })
}

/// The user to whom the collection or database of a name is charged.
pub(super) async fn owner(
    client: &Client,
    sql: &str,
    name: &str,
) -> Result<Option<UserId>, StoreError> {
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&name]).await?;
    row.as_ref().map(|row| parsed(row, 0)).transpose()
}

/// Charges a database to a user from now on.
pub(super) async fn charge_database(
    transaction: &Transaction<'_>,
    database: i64,
    owner: &UserId,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO database_owners (database, owner) VALUES ($1, $2)
               ON CONFLICT (database) DO UPDATE SET owner = excluded.owner";
    transaction.execute(sql, &[&database, &owner.as_str()]).await?;
    Ok(())
}

/// Charges a collection to a user from now on.
pub(super) async fn charge(
    transaction: &Transaction<'_>,
    collection: i64,
    owner: &UserId,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO collection_owners (collection, owner) VALUES ($1, $2)
               ON CONFLICT (collection) DO UPDATE SET owner = excluded.owner";
    transaction.execute(sql, &[&collection, &owner.as_str()]).await?;
    Ok(())
}

/// Ends the charges of a removed user.
pub(super) async fn end(transaction: &Transaction<'_>, user: &UserId) -> Result<(), StoreError> {
    for sql in END_CHARGES {
        transaction.execute(sql, &[&user.as_str()]).await?;
    }
    Ok(())
}
