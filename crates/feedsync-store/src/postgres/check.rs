//! Consistency check of a store in a database, and of the server's settings.

use deadpool_postgres::Client;

use super::PostgresStore;
#[cfg(feature = "queries")]
use super::databases::indexes;
use super::pool;
use super::rows::get;
use crate::digests;
use crate::error::StoreError;
use crate::inconsistencies::INCONSISTENCIES;

/// Further kinds of inconsistent rows; each query selects them, and has a description.
const BACKEND_CHECKS: [(&str, &str); 27] = [
    (
        "ended revisions whose body is missing",
        "SELECT 1 FROM ended_revisions t JOIN databases d ON d.id = t.database
          WHERE d.name IS NOT NULL AND t.ended > d.history_since
            AND NOT EXISTS (SELECT FROM bodies b WHERE (b.database, b.number) = (t.database, t.number))",
    ),
    (
        "writers of bodies that are not stored",
        "SELECT 1 FROM body_origins t JOIN databases d ON d.id = t.database
          WHERE d.name IS NOT NULL
            AND NOT EXISTS (SELECT FROM bodies b WHERE (b.database, b.number) = (t.database, t.number))",
    ),
    (
        "items without a collection",
        "SELECT 1 FROM items t WHERE NOT EXISTS (SELECT FROM collections c WHERE c.id = t.collection)",
    ),
    (
        "conflicts without an item",
        "SELECT 1 FROM conflicts t WHERE NOT EXISTS (SELECT FROM items i WHERE (i.collection, i.number) = (t.collection, t.number))",
    ),
    (
        "files named by no item",
        "SELECT 1 FROM item_blobs t WHERE NOT EXISTS (SELECT FROM items i WHERE (i.collection, i.number) = (t.collection, t.number))",
    ),
    (
        "purged items without a collection",
        "SELECT 1 FROM purged t WHERE NOT EXISTS (SELECT FROM collections c WHERE c.id = t.collection)",
    ),
    (
        "discarded items without a collection",
        "SELECT 1 FROM discarded t WHERE NOT EXISTS (SELECT FROM collections c WHERE c.id = t.collection)",
    ),
    (
        "versions without a discarded item",
        "SELECT 1 FROM discarded_versions t WHERE NOT EXISTS (SELECT FROM discarded d WHERE (d.collection, d.place) = (t.collection, t.place))",
    ),
    (
        "files named by no discarded item",
        "SELECT 1 FROM discarded_blobs t WHERE NOT EXISTS (SELECT FROM discarded d WHERE (d.collection, d.place) = (t.collection, t.place))",
    ),
    (
        "remotes without a collection",
        "SELECT 1 FROM remotes t WHERE NOT EXISTS (SELECT FROM collections c WHERE c.id = t.collection)",
    ),
    (
        "items with a change number that their collection has not reached",
        "SELECT 1 FROM items i JOIN collections c ON c.id = i.collection WHERE i.number > c.last",
    ),
    (
        "collections with a wrong byte count",
        "SELECT 1 FROM collections c WHERE bytes <>
           (SELECT coalesce(sum(octet_length(i.payload) + coalesce(octet_length(i.sync_foreign), 0)), 0)
              FROM items i WHERE i.collection = c.id)
           + (SELECT coalesce(sum(octet_length(t.payload) + coalesce(octet_length(t.sync_foreign), 0)), 0)
                FROM conflicts t WHERE t.collection = c.id)",
    ),
    (
        "databases with a wrong byte count of local documents",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL
            AND coalesce((SELECT bytes FROM local_bytes WHERE database = d.id), 0) <>
           (SELECT coalesce(sum(octet_length(text)), 0) FROM local_documents WHERE database = d.id)",
    ),
    (
        "items with a wrong count of conflicts",
        "SELECT 1 FROM items i WHERE conflicts <> (SELECT count(*) FROM conflicts t WHERE (t.collection, t.number) = (i.collection, i.number))",
    ),
    (
        "items with a wrong count of files",
        "SELECT 1 FROM items i WHERE blobs <> (SELECT count(*) FROM item_blobs t WHERE (t.collection, t.number) = (i.collection, i.number))",
    ),
    (
        "logs without a collection",
        "SELECT 1 FROM logs t WHERE NOT EXISTS (SELECT FROM collections c WHERE c.id = t.collection)",
    ),
    (
        "logs with missing bytes",
        "SELECT 1 FROM (SELECT collection, generation, length FROM logs WHERE NOT removed UNION ALL SELECT collection, generation, length FROM log_generations) l WHERE length <> (SELECT coalesce(sum(octet_length(t.bytes)), 0) FROM log_bytes t WHERE (t.collection, t.generation) = (l.collection, l.generation))",
    ),
    (
        "collections with a later epoch than the store",
        "SELECT 1 FROM collections c, endpoint e WHERE e.last_epoch IS NULL OR c.epoch_began > e.last_epoch",
    ),
    (
        "documents stored under a wrong id",
        "SELECT 1 FROM documents WHERE digest <> CASE WHEN octet_length(rest) = 0 THEN ''::bytea ELSE sha256(rest) END OR (octet_length(rest) > 0 AND octet_length(head) <> 1024)",
    ),
    (
        "document bodies without a database",
        "SELECT 1 FROM bodies t WHERE NOT EXISTS (SELECT FROM databases d WHERE d.id = t.database)",
    ),
    (
        "document bodies with a number that their database has not issued",
        "SELECT 1 FROM bodies t JOIN databases d ON d.id = t.database WHERE t.number >= d.next_body",
    ),
    (
        "unused attachments that are marked as used",
        "SELECT 1 FROM attachment_uses t JOIN databases d ON d.id = t.database WHERE d.name IS NOT NULL AND NOT EXISTS (SELECT FROM bodies b WHERE (b.database, b.number) = (t.database, t.number) AND b.attachments IS NOT NULL)",
    ),
    (
        "indexes without a database",
        "SELECT 1 FROM document_indexes i WHERE database IS NOT NULL AND NOT EXISTS (SELECT FROM databases d WHERE d.id = i.database)",
    ),
    (
        "index rows without an index",
        "SELECT 1 FROM index_rows r WHERE NOT EXISTS (SELECT FROM document_indexes i WHERE i.id = r.index_id)",
    ),
    (
        "databases with a wrong count of indexes",
        "SELECT 1 FROM databases d WHERE indexes <> (SELECT count(*) FROM document_indexes i WHERE i.database = d.id)",
    ),
    (
        "rows of views without a document",
        "SELECT 1 FROM view_rows r JOIN view_sets s ON s.id = r.view_set
                                   JOIN databases b ON b.id = s.database
          WHERE b.name IS NOT NULL AND NOT EXISTS
           (SELECT FROM documents d WHERE d.database = b.id AND d.head = r.head AND d.digest = r.digest)",
    ),
    (
        "contents of a wrong number of rows in views",
        "SELECT 1 FROM view_nodes n JOIN view_sets s ON s.id = n.view_set
          WHERE s.database IS NOT NULL AND n.rows <>
           (SELECT count(*) FROM view_rows r WHERE r.view_set = n.view_set AND r.view = n.view
               AND r.position >= n.position AND r.position < coalesce(
                 (SELECT m.position FROM view_nodes m
                   WHERE m.view_set = n.view_set AND m.view = n.view AND m.level = n.level
                     AND m.position > n.position ORDER BY m.position LIMIT 1), '\\xffff'))",
    ),
];

/// Queries for the names of contents that do not have their digests.
const DIGEST_MISMATCHES: [(&str, &str); 3] = [
    (
        "files",
        "SELECT encode(digest, 'hex') FROM blobs WHERE sha256(content) <> digest ORDER BY digest",
    ),
    (
        "attachments",
        "SELECT d.name || '/' || a.digest FROM attachments a JOIN databases d ON d.id = a.database
          WHERE d.name IS NOT NULL AND a.digest LIKE 'md5-%'
            AND a.digest <> 'md5-' || encode(decode(md5(a.content), 'hex'), 'base64')
          ORDER BY d.name, a.digest",
    ),
    (
        "snapshots of logs",
        "SELECT c.name FROM log_snapshots s JOIN collections c ON c.id = s.collection
          WHERE sha256(s.content) <> s.digest ORDER BY c.name",
    ),
];

/// Settings of the server that durability requires, and the consequence of other values.
const SERVER: [(&str, &str, &str); 3] = [
    ("full_page_writes", "on", "it is off: a power cut can damage a page"),
    ("data_checksums", "on", "it is off: damage by the disk goes unnoticed"),
    ("autovacuum", "on", "it is off: the database grows with each edit"),
];

impl PostgresStore {
    /// Returns the inconsistencies in the store's rows, one line each; empty if there are none. Reads every
    /// row.
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.run(|node| async move { rows(&mut node.connection().await?).await }).await
    }

    /// Returns settings of the server that endanger acknowledged writes, each with the reason.
    pub async fn check_server(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.run(|node| async move {
            let client = node.connection().await?;
            let mut found = Vec::new();
            for (setting, wanted, why) in SERVER {
                let sql = "SELECT current_setting($1, true)";
                let value: Option<String> = get(&client.query_one(sql, &[&setting]).await?, 0)?;
                if value.is_some_and(|value| value != wanted) {
                    found.push((setting.to_owned(), why.to_owned()));
                }
            }
            Ok(found)
        })
        .await
    }
}

/// Reads a snapshot. Unlike elsewhere, whole tables are read, in the order that suits the server.
async fn rows(client: &mut Client) -> Result<Vec<String>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on")
        .await?;
    let mut faults = Vec::new();
    for (what, sql) in INCONSISTENCIES.into_iter().chain(BACKEND_CHECKS) {
        let row = transaction.query_one(&format!("SELECT count(*) FROM ({sql}) t"), &[]).await?;
        match get::<i64>(&row, 0)? {
            0 => {}
            count => faults.push(format!("{what}: {count}")),
        }
    }
    for (what, sql) in DIGEST_MISMATCHES {
        let rows = transaction.query(sql, &[]).await?;
        let names = rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<String>, _>>()?;
        faults.extend(digests::finding(what, &names));
    }
    #[cfg(feature = "queries")]
    faults.extend(indexes::faults(&transaction).await?);
    Ok(faults)
}
