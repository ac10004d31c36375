//! Rows of documents and of their bodies.

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::Transaction;
use feedsync_couch::{Attachment, BodyRef, DocumentId, Revision, Tree};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use super::rows::text;
use crate::columns::parse;
use crate::database::{LoadedDocument, StoredBody, StoredDocument};
use crate::error::StoreError;
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::{get, number};

/// Number of leading bytes of an id that are indexed; the server limits an index key to about 2700 bytes in
/// all.
pub(super) const HEAD: usize = 1_024;

/// Documents of a database by their keys; missing ones are left out. Each document is looked up by its key,
/// even if the server's statistics suggest otherwise.
pub(super) const BY_KEYS: &str = "
    SELECT d.head, d.rest, d.number, d.tree, d.deleted, d.kind
      FROM (SELECT id FROM databases WHERE name = $1) n,
           unnest($2::bytea[], $3::bytea[]) w (head, digest),
           LATERAL (SELECT * FROM documents t
                     WHERE t.database = n.id AND t.head = w.head AND t.digest = w.digest LIMIT 1) d";

pub(super) const BODIES: &str = "SELECT number, text, attachments FROM bodies
                       WHERE database = $1 AND number = ANY($2)";

const ATTACHMENTS: &str = "SELECT number, attachments FROM bodies
                            WHERE database = $1 AND number = ANY($2) AND attachments IS NOT NULL";

const WRITE_DOCUMENTS: &str = "
    INSERT INTO documents (database, head, digest, rest, number, deleted, kind, tree)
    SELECT $1, * FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::boolean[],
                             $7::bytea[], $8::bytea[])
    ON CONFLICT (database, head, digest) DO UPDATE
      SET number = excluded.number, deleted = excluded.deleted, kind = excluded.kind,
          tree = excluded.tree";

/// An id as it is stored, in two columns.
pub(super) struct Key<'a> {
    pub(super) head: &'a [u8],
    pub(super) digest: Vec<u8>,
    pub(super) rest: &'a [u8],
}

impl<'a> Key<'a> {
    pub(super) fn of(id: &'a DocumentId) -> Self {
        let (head, rest) = split(id.as_str().as_bytes());
        let digest = if rest.is_empty() { Vec::new() } else { Sha256::digest(rest).to_vec() };
        Self { head, digest, rest }
    }
}

pub(super) fn split(id: &[u8]) -> (&[u8], &[u8]) {
    id.split_at(id.len().min(HEAD))
}

/// The keys of ids, as parameters of [`BY_KEYS`].
#[derive(Default)]
pub(super) struct Keys<'a> {
    pub(super) heads: Vec<&'a [u8]>,
    pub(super) digests: Vec<Vec<u8>>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(ids: impl IntoIterator<Item = &'a DocumentId>) -> Self {
        let mut keys = Self::default();
        for key in ids.into_iter().map(Key::of) {
            keys.heads.push(key.head);
            keys.digests.push(key.digest);
        }
        keys
    }
}

/// A document with the other columns of its row.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) stored: StoredDocument,
    pub(super) is_deleted: bool,
    pub(super) kind: Option<Vec<u8>>,
}

/// Joins an id from its two columns.
pub(super) fn id(head: &[u8], rest: &[u8]) -> Result<DocumentId, StoreError> {
    match rest {
        [] => parse(text(head)?),
        rest => parse(text(&[head, rest].concat())?),
    }
}

/// Reads four columns: head, rest, number and tree.
pub(super) fn stored(row: &Row) -> Result<StoredDocument, StoreError> {
    let tree = Tree::of_bytes(get(row, 3)?);
    let tree = tree.map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(StoredDocument { id: id(get(row, 0)?, get(row, 1)?)?, number: number(row, 2)?, tree })
}

/// Reads two more columns: the deletion flag, and the kind.
pub(super) fn document(row: &Row) -> Result<Document, StoreError> {
    Ok(Document { stored: stored(row)?, is_deleted: get(row, 4)?, kind: get(row, 5)? })
}

/// The stored list of a body's attachments.
pub(super) type AttachmentList = Arc<[Attachment]>;

fn attachments(bytes: &[u8]) -> Result<AttachmentList, StoreError> {
    let attachments = Attachment::of_text(text(bytes)?);
    let attachments = attachments.map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(attachments.into())
}

/// The attachments of all bodies that have any.
pub(super) async fn all_attachments(
    transaction: &Transaction<'_>,
    database: i64,
    bodies: &[i64],
) -> Result<HashMap<u64, AttachmentList>, StoreError> {
    if bodies.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = transaction.prepare_cached(ATTACHMENTS).await?;
    let rows = transaction.query(&statement, &[&database, &bodies]).await?;
    let read = |row: &Row| Ok((get::<i64>(row, 0)? as u64, attachments(get(row, 1)?)?));
    rows.iter().map(read).collect()
}

/// Bodies by their numbers.
pub(super) async fn bodies(
    transaction: &Transaction<'_>,
    database: i64,
    numbers: &[i64],
) -> Result<HashMap<u64, StoredBody>, StoreError> {
    if numbers.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = transaction.prepare_cached(BODIES).await?;
    let rows = transaction.query(&statement, &[&database, &numbers]).await?;
    rows.iter().map(body).collect()
}

/// Documents with their chosen bodies.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    database: i64,
    chosen: Vec<(StoredDocument, Vec<Revision>)>,
) -> Result<Vec<LoadedDocument>, StoreError> {
    let place = |document: &StoredDocument, revision: &Revision| -> Option<BodyRef> {
        Some(document.tree.content(revision)?.body)
    };
    let places = chosen.iter().flat_map(|(document, revisions)| {
        revisions.iter().filter_map(|revision| place(document, revision))
    });
    let numbers: Vec<i64> = places.map(|place| place.number as i64).collect();
    let bodies = bodies(transaction, database, &numbers).await?;
    let mut read = Vec::with_capacity(chosen.len());
    for (document, revisions) in chosen {
        let mut kept = std::collections::BTreeMap::new();
        for revision in revisions {
            let Some(place) = place(&document, &revision) else { continue };
            let body = bodies.get(&place.number).cloned().ok_or_else(|| {
                StoreError::Damaged(format!("the body of {} {revision} is missing", document.id))
            })?;
            kept.insert(revision, body);
        }
        read.push(LoadedDocument { document, bodies: kept });
    }
    Ok(read)
}

/// Reads three columns: number, text and attachments.
pub(super) fn body(row: &Row) -> Result<(u64, StoredBody), StoreError> {
    let attachments = match get::<Option<&[u8]>>(row, 2)? {
        None => Arc::from([]),
        Some(bytes) => attachments(bytes)?,
    };
    let text = text(get(row, 1)?)?.into();
    Ok((get::<i64>(row, 0)? as u64, StoredBody { text, attachments }))
}

/// The columns of documents, to write them in one statement.
#[derive(Default)]
pub(super) struct Documents<'a> {
    heads: Vec<&'a [u8]>,
    digests: Vec<Vec<u8>>,
    rests: Vec<&'a [u8]>,
    numbers: Vec<i64>,
    deleted: Vec<bool>,
    kinds: Vec<Option<&'a [u8]>>,
    trees: Vec<Vec<u8>>,
}

impl<'a> Documents<'a> {
    pub(super) fn of(documents: impl IntoIterator<Item = &'a Document>) -> Self {
        let mut columns = Self::default();
        for Document { stored, is_deleted, kind } in documents {
            let Key { head, digest, rest } = Key::of(&stored.id);
            columns.heads.push(head);
            columns.digests.push(digest);
            columns.rests.push(rest);
            columns.numbers.push(stored.number.get() as i64);
            columns.deleted.push(*is_deleted);
            columns.kinds.push(kind.as_deref());
            columns.trees.push(stored.tree.to_bytes());
        }
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        let all: Vec<Parameter<'b>> = vec![
            database,
            &self.heads,
            &self.digests,
            &self.rests,
            &self.numbers,
            &self.deleted,
            &self.kinds,
            &self.trees,
        ];
        pipeline.add_for(self.numbers.len(), WRITE_DOCUMENTS, all);
    }
}
