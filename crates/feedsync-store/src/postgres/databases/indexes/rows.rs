//! Writing and removing rows of indexes, many rows at a time.

use feedsync_couch::DocumentId;

use crate::database::IndexId;
use crate::postgres::databases::documents::Key;
use crate::postgres::pipeline::{Parameter, Pipeline};

/// Each row is looked up by its key, even if the server's statistics suggest otherwise. The lock of the database
/// excludes others who change the rows.
pub(in crate::postgres::databases) const REMOVE: &str = "
    DELETE FROM index_rows WHERE ctid = ANY(ARRAY(
      SELECT r.ctid FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) w (index_id, key, head, digest),
             LATERAL (SELECT t.ctid FROM index_rows t
                       WHERE t.index_id = w.index_id AND t.key = w.key AND t.head = w.head
                         AND t.digest = w.digest LIMIT 1) r))";

pub(super) const INSERT: &str = "
    INSERT INTO index_rows (index_id, key, head, digest)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) ON CONFLICT DO NOTHING";

/// Approximate number of bytes of rows that one statement writes.
const STATEMENT_BYTES: usize = 8 << 20;

/// Approximate number of bytes of a row besides its key and its id.
const ROW_BYTES: usize = 64;

/// A document in an index. Rows are in the order of the primary key, apart from documents with long ids.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexRow {
    pub(super) index: IndexId,
    pub(super) key: Vec<u8>,
    pub(super) id: DocumentId,
}

/// The columns of rows, to write them in few statements.
#[derive(Default)]
pub(super) struct RowColumns {
    chunks: Vec<RowChunk>,
}

#[derive(Default)]
pub(super) struct RowChunk {
    pub(super) indexes: Vec<i64>,
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) heads: Vec<Vec<u8>>,
    pub(super) digests: Vec<Vec<u8>>,
    bytes: usize,
}

impl RowColumns {
    /// Sorts the rows first, since neighbours are written together faster.
    pub(super) fn of(mut rows: Vec<IndexRow>) -> Self {
        rows.sort_unstable();
        let (mut chunks, mut chunk) = (Vec::new(), RowChunk::default());
        for row in rows {
            chunk.push(row);
            if chunk.bytes >= STATEMENT_BYTES {
                chunks.push(std::mem::take(&mut chunk));
            }
        }
        chunks.push(chunk);
        Self { chunks }
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, sql: &'static str) {
        for chunk in &self.chunks {
            pipeline.add_for(chunk.indexes.len(), sql, chunk.parameters());
        }
    }
}

impl RowChunk {
    pub(super) fn push(&mut self, row: IndexRow) {
        let IndexRow { index, key, id } = row;
        let Key { head, digest, .. } = Key::of(&id);
        self.bytes += key.len() + head.len() + ROW_BYTES;
        self.indexes.push(index.0 as i64);
        self.keys.push(key);
        self.heads.push(head.to_vec());
        self.digests.push(digest);
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![&self.indexes, &self.keys, &self.heads, &self.digests]
    }
}
