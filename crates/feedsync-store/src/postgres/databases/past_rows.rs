//! Rows of ended revisions, and of the writes that made bodies.

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, Content};
use tokio_postgres::Row;

use super::documents::{self, Key};
use super::rows::text;
use crate::columns::moment;
use crate::database::{EndedRevision, WriteOrigin};
use crate::error::StoreError;
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::{get, micros, parsed};

/// The columns that [`ended`] reads, in order.
macro_rules! ended_columns {
    () => {
        "number, head, rest, revision, deleted, length, attached, since, author, ended, ended_by, held"
    };
}
pub(super) use ended_columns;

pub(super) const ORIGINS: &str = "SELECT number, since, author FROM body_origins
                                   WHERE database = $1 AND number = ANY($2)";

const INSERT_ORIGINS: &str = "INSERT INTO body_origins (database, number, since, author)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[])";

const REMOVE_ORIGINS: &str = "DELETE FROM body_origins WHERE database = $1 AND number = ANY($2)";

const INSERT_ENDED: &str = "
    INSERT INTO ended_revisions (database, number, head, digest, rest, revision, deleted, length, attached,
                                 since, author, ended, ended_by, held)
    SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::boolean[],
                             $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $12::bigint[],
                             $13::bytea[], $14::boolean[])";

/// Marks that no tree names bodies any longer; returns those that the history keeps.
pub(super) const HOLD: &str = "UPDATE ended_revisions SET held = true
                                WHERE database = $1 AND number = ANY($2) RETURNING number";

pub(super) const REMOVE_ENDED: &str =
    "DELETE FROM ended_revisions WHERE database = $1 AND number = ANY($2)";

/// Ended revisions of documents by their keys.
pub(super) const ENDED_OF: &str = concat!(
    "SELECT e.* FROM unnest($2::bytea[], $3::bytea[]) w (head, digest),
            LATERAL (SELECT ",
    ended_columns!(),
    " FROM ended_revisions t
       WHERE t.database = $1 AND t.head = w.head AND t.digest = w.digest AND t.ended > $4
         AND coalesce(t.since, 0) <= $4
      OFFSET 0) e"
);

/// Reads a moment and an author from a column on.
pub(super) fn write_origin(row: &Row, first: usize) -> Result<Option<WriteOrigin>, StoreError> {
    let Some(at) = get::<Option<i64>>(row, first)? else { return Ok(None) };
    let author = get::<Option<&[u8]>>(row, first + 1)?.map(text).transpose()?;
    Ok(Some(WriteOrigin { moment: moment(at), author: author.map(Arc::from) }))
}

pub(super) fn ended(row: &Row) -> Result<EndedRevision, StoreError> {
    let count = |column| Ok::<_, StoreError>(get::<i64>(row, column)? as u64);
    let body = BodyRef { number: count(0)?, length: count(5)?, attached: count(6)? };
    let ended = write_origin(row, 9)?;
    Ok(EndedRevision {
        id: documents::id(get(row, 1)?, get(row, 2)?)?,
        revision: parsed(row, 3)?,
        content: Content { is_deleted: get(row, 4)?, body },
        written: write_origin(row, 7)?,
        ended: ended.ok_or_else(|| StoreError::Damaged("an end without a moment".to_owned()))?,
        is_held: get(row, 11)?,
    })
}

/// The writes that made bodies, where they are known.
pub(super) async fn origins(
    transaction: &Transaction<'_>,
    database: i64,
    bodies: &[i64],
) -> Result<HashMap<u64, WriteOrigin>, StoreError> {
    if bodies.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = transaction.prepare_cached(ORIGINS).await?;
    let mut found = HashMap::new();
    for row in &transaction.query(&statement, &[&database, &bodies]).await? {
        let number = get::<i64>(row, 0)? as u64;
        found.extend(write_origin(row, 1)?.map(|origin| (number, origin)));
    }
    Ok(found)
}

/// Marks bodies that left their trees; returns the numbers of those that the history keeps.
pub(super) async fn hold(
    transaction: &Transaction<'_>,
    database: i64,
    gone: &[i64],
) -> Result<Vec<u64>, StoreError> {
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let statement = transaction.prepare_cached(HOLD).await?;
    let rows = transaction.query(&statement, &[&database, &gone]).await?;
    rows.iter().map(|row| Ok(get::<i64>(row, 0)? as u64)).collect()
}

/// The columns of writes that made bodies.
#[derive(Default)]
pub(super) struct OriginColumns<'a> {
    numbers: Vec<i64>,
    moments: Vec<i64>,
    authors: Vec<Option<&'a [u8]>>,
}

impl<'a> OriginColumns<'a> {
    pub(super) fn of(origins: impl IntoIterator<Item = (&'a u64, &'a WriteOrigin)>) -> Self {
        let mut columns = Self::default();
        for (number, WriteOrigin { moment, author }) in origins {
            columns.numbers.push(*number as i64);
            columns.moments.push(micros(*moment));
            columns.authors.push(author.as_deref().map(str::as_bytes));
        }
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        let all: Vec<Parameter<'b>> = vec![database, &self.numbers, &self.moments, &self.authors];
        pipeline.add_for(self.numbers.len(), INSERT_ORIGINS, all);
    }
}

/// The columns of ended revisions.
#[derive(Default)]
pub(super) struct EndedColumns<'a> {
    numbers: Vec<i64>,
    heads: Vec<&'a [u8]>,
    digests: Vec<Vec<u8>>,
    rests: Vec<&'a [u8]>,
    revisions: Vec<String>,
    deleted: Vec<bool>,
    lengths: Vec<i64>,
    attached: Vec<i64>,
    since: Vec<Option<i64>>,
    authors: Vec<Option<&'a [u8]>>,
    ended: Vec<i64>,
    ended_by: Vec<Option<&'a [u8]>>,
    held: Vec<bool>,
}

impl<'a> EndedColumns<'a> {
    pub(super) fn of(rows: impl IntoIterator<Item = &'a EndedRevision>) -> Self {
        let mut columns = Self::default();
        let author = |origin: &'a WriteOrigin| origin.author.as_deref().map(str::as_bytes);
        for EndedRevision { id, revision, content, written, ended, is_held } in rows {
            let Key { head, digest, rest } = Key::of(id);
            columns.numbers.push(content.body.number as i64);
            columns.heads.push(head);
            columns.digests.push(digest);
            columns.rests.push(rest);
            columns.revisions.push(revision.to_string());
            columns.deleted.push(content.is_deleted);
            columns.lengths.push(content.body.length as i64);
            columns.attached.push(content.body.attached as i64);
            columns.since.push(written.as_ref().map(|written| micros(written.moment)));
            columns.authors.push(written.as_ref().and_then(author));
            columns.ended.push(micros(ended.moment));
            columns.ended_by.push(author(ended));
            columns.held.push(*is_held);
        }
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        let all: Vec<Parameter<'b>> = vec![
            database,
            &self.numbers,
            &self.heads,
            &self.digests,
            &self.rests,
            &self.revisions,
            &self.deleted,
            &self.lengths,
            &self.attached,
            &self.since,
            &self.authors,
            &self.ended,
            &self.ended_by,
            &self.held,
        ];
        pipeline.add_for(self.numbers.len(), INSERT_ENDED, all);
    }
}

/// Removes the writes that made bodies.
pub(super) fn remove_origins<'b>(
    pipeline: &mut Pipeline<'b>,
    database: &'b i64,
    gone: &'b &'b [i64],
) {
    pipeline.add_for(gone.len(), REMOVE_ORIGINS, vec![database, gone]);
}
