//! Rows of databases that are moved.

use deadpool_postgres::{Client, GenericClient, Transaction};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use tokio_postgres::Row;

use super::bodies::Bodies;
use super::documents::{self, Document, Documents};
use super::local;
use super::pages::IN_ORDER;
use super::past_rows::{EndedColumns, OriginColumns};
use super::rows::{self, BY_NAME, DatabaseRow, Indexing, text};
use crate::columns::parse;
use crate::database::{Database, EndedRevision, Kind, LocalDocument, StoredBody, WriteOrigin};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::{bound, get, parsed};
use crate::postgres::{collections, pool};
use crate::stored::PageLimit;
use crate::transfer::TransferredDocument;

/// Rows of a table in key order, after a key. The number of rows and of bytes is limited, but the first row
/// is always included. The server counts the bytes, so that it sends none in vain.
macro_rules! select_page {
    ($columns:literal, $table:literal, $key:literal, $bytes:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM (SELECT *, sum(",
            $bytes,
            ") OVER so_far AS bytes, row_number() OVER so_far AS place
                 FROM (SELECT * FROM ",
            $table,
            " WHERE database = (SELECT id FROM databases WHERE name = $1) AND ",
            $key,
            " > $2 ORDER BY ",
            $key,
            " LIMIT $3) page WINDOW so_far AS (ORDER BY ",
            $key,
            ")) page WHERE bytes <= $4 OR place = 1 ORDER BY ",
            $key
        )
    };
}

pub(super) const DOCUMENTS_AFTER: &str = select_page!(
    "head, rest, number, tree, deleted, kind",
    "documents",
    "number",
    "octet_length(tree)"
);

pub(super) const BODIES_AFTER: &str = select_page!(
    "number, text, attachments",
    "bodies",
    "number",
    "octet_length(text) + coalesce(octet_length(attachments), 0)"
);

pub(super) const LOCAL_DOCUMENTS_AFTER: &str =
    select_page!("id, revision, text", "local_documents", "digest", "octet_length(text)");

pub(super) const ATTACHMENTS_AFTER: &str = "SELECT digest FROM attachments
                            WHERE database = (SELECT id FROM databases WHERE name = $1) AND digest > $2
                            ORDER BY digest LIMIT $3";

pub(in crate::postgres) async fn next_body(
    client: &impl GenericClient,
    name: &DatabaseName,
) -> Result<u64, StoreError> {
    Ok(require(client, name).await?.next_body)
}

pub(in crate::postgres) async fn documents(
    client: &mut Client,
    name: &DatabaseName,
    after: ChangeNumber,
    limit: PageLimit,
) -> Result<Vec<TransferredDocument>, StoreError> {
    let rows = page(client, DOCUMENTS_AFTER, name, &bound(after), limit).await?;
    let read = |row: &Row| {
        let Document { stored, kind, .. } = documents::document(row)?;
        let kind = kind.as_deref().map(text).transpose()?;
        Ok(TransferredDocument { document: stored, kind: Kind::of_column(kind) })
    };
    rows.iter().map(read).collect()
}

pub(in crate::postgres) async fn bodies(
    client: &mut Client,
    name: &DatabaseName,
    after: u64,
    limit: PageLimit,
) -> Result<Vec<(u64, StoredBody)>, StoreError> {
    let rows = page(client, BODIES_AFTER, name, &(after as i64), limit).await?;
    rows.iter().map(documents::body).collect()
}

/// Local documents in the order of their digests.
pub(in crate::postgres) async fn local_documents(
    client: &mut Client,
    name: &DatabaseName,
    after: Option<&LocalId>,
    limit: PageLimit,
) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
    let after = after.map_or(Vec::new(), local::key);
    let rows = page(client, LOCAL_DOCUMENTS_AFTER, name, &after, limit).await?;
    let read = |row: &Row| {
        let revision = get::<i64>(row, 1)? as u64;
        let body = text(get(row, 2)?)?.to_owned();
        Ok((parse(text(get(row, 0)?)?)?, LocalDocument { revision, body }))
    };
    rows.iter().map(read).collect()
}

pub(in crate::postgres) async fn attachments(
    client: &mut Client,
    name: &DatabaseName,
    after: Option<&AttachmentDigest>,
    limit: usize,
) -> Result<Vec<AttachmentDigest>, StoreError> {
    let after = after.map_or("", AttachmentDigest::as_str);
    let (name, limit) = (name.as_str(), limit as i64);
    let rows = in_order(client, ATTACHMENTS_AFTER, vec![&name, &after, &limit]).await?;
    rows.iter().map(|row| parsed(row, 0)).collect()
}

async fn page(
    client: &mut Client,
    sql: &'static str,
    name: &DatabaseName,
    after: Parameter<'_>,
    limit: PageLimit,
) -> Result<Vec<Row>, StoreError> {
    let at_most = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let (name, items, bytes) = (name.as_str(), at_most(limit.items), at_most(limit.bytes));
    in_order(client, sql, vec![&name, after, &items, &bytes]).await
}

pub(super) async fn in_order(
    client: &mut Client,
    sql: &'static str,
    parameters: Vec<Parameter<'_>>,
) -> Result<Vec<Row>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let mut pipeline = Pipeline::default();
    pipeline.add(IN_ORDER, vec![]);
    pipeline.add(sql, parameters);
    let [_, rows] = pipeline.run_all(&transaction).await?;
    Ok(rows)
}

/// Creates an empty database in a new epoch.
pub(in crate::postgres) async fn begin(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
    database: Database,
    next_body: u64,
) -> Result<(), StoreError> {
    let epoch = collections::begin_epoch(transaction, environment).await?;
    let database = Database { epoch, ..database };
    // The indexes of the documents are not known yet.
    let indexing = Indexing::default();
    rows::insert(transaction, &database, indexing.version).await?;
    let DatabaseRow { id, .. } = require(transaction, &database.name).await?;
    rows::write(transaction, &DatabaseRow { id, next_body, database, indexing }).await
}

pub(in crate::postgres) async fn take_documents(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    documents: Vec<TransferredDocument>,
) -> Result<(), StoreError> {
    let DatabaseRow { id, .. } = require(transaction, name).await?;
    let documents: Vec<Document> = documents
        .into_iter()
        .map(|TransferredDocument { document, kind }| Document {
            is_deleted: document.tree.winner().is_some_and(|leaf| leaf.content.is_deleted),
            kind: kind.to_column().map(String::into_bytes),
            stored: document,
        })
        .collect();
    let columns = Documents::of(&documents);
    let mut pipeline = Pipeline::default();
    columns.add_to(&mut pipeline, &id);
    pipeline.run(transaction).await.map(drop)
}

pub(in crate::postgres) async fn take_bodies(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    bodies: &[(u64, StoredBody)],
) -> Result<(), StoreError> {
    let DatabaseRow { id, .. } = require(transaction, name).await?;
    let columns = Bodies::of(bodies.iter().map(|(number, body)| (number, body)));
    let mut pipeline = Pipeline::default();
    columns.add_to(&mut pipeline, &id);
    pipeline.run(transaction).await.map(drop)
}

pub(super) async fn require(
    client: &impl GenericClient,
    name: &DatabaseName,
) -> Result<DatabaseRow, StoreError> {
    let database_row = rows::find(client, BY_NAME, name).await?;
    database_row.ok_or_else(|| StoreError::NoDatabase(name.clone()))
}

pub(in crate::postgres) async fn take_origins(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    origins: &[(u64, WriteOrigin)],
) -> Result<(), StoreError> {
    let DatabaseRow { id, .. } = require(transaction, name).await?;
    let columns = OriginColumns::of(origins.iter().map(|(number, origin)| (number, origin)));
    let mut pipeline = Pipeline::default();
    columns.add_to(&mut pipeline, &id);
    pipeline.run(transaction).await.map(drop)
}

pub(in crate::postgres) async fn take_ended(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    ended: &[EndedRevision],
) -> Result<(), StoreError> {
    let DatabaseRow { id, .. } = require(transaction, name).await?;
    let columns = EndedColumns::of(ended);
    let mut pipeline = Pipeline::default();
    columns.add_to(&mut pipeline, &id);
    pipeline.run(transaction).await.map(drop)
}
