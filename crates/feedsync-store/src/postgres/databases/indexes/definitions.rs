//! Rows of the definitions of indexes, and the definitions as a transaction leaves them.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::index::{INDEX_VERSION, IndexDefinition};
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_formats::json::Node;
use tokio_postgres::Row;

use crate::columns::{damaged, parse};
use crate::database::indexing::{MaintainedIndex, Progress, Winner, definition_changes};
use crate::database::{IndexId, Indexes, StoredIndex};
use crate::error::StoreError;
use crate::postgres::databases::rows::{Indexing, text};
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::get;

/// A database with its indexes, in one statement, which sees one moment.
pub(in crate::postgres::databases) const WITH_DATABASE: &str = "
    SELECT i.id, i.design, i.name, i.view, i.reached, d.index_version
      FROM databases d LEFT JOIN document_indexes i ON i.database = d.id WHERE d.name = $1";

pub(in crate::postgres::databases) const OF_DATABASE: &str =
    "SELECT id, design, name, view, reached FROM document_indexes WHERE database = $1";

const INSERT: &str = "
    INSERT INTO document_indexes (database, design, name, view, reached)
    SELECT $1, *, '' FROM unnest($2::bytea[], $3::bytea[], $4::bytea[])";

/// The rows of a dropped index are swept later.
const DROP: &str =
    "UPDATE document_indexes SET database = NULL WHERE database = $1 AND id = ANY($2)";

const DROP_ALL: &str = "UPDATE document_indexes SET database = NULL WHERE database = $1";

const SET_PROGRESS: &str = "UPDATE document_indexes SET reached = $2 WHERE id = ANY($1)";

/// Ids of indexes that are not stored yet are greater than those of the server.
const PROVISIONAL: u64 = 1 << 63;

/// Whether the rows of the indexes are those of this program.
pub(super) fn is_current(indexing: Indexing) -> bool {
    indexing.version == INDEX_VERSION
}

pub(in crate::postgres::databases) async fn indexes(
    client: &Client,
    name: &DatabaseName,
) -> Result<Indexes, StoreError> {
    let statement = client.prepare_cached(WITH_DATABASE).await?;
    let rows = client.query(&statement, &[&name.as_str()]).await?;
    let first = rows.first().ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
    if get::<i64>(first, 5)? != i64::from(INDEX_VERSION) {
        return Ok(Indexes { indexes: Vec::new(), are_built: false });
    }
    let mut indexes: Vec<StoredIndex> = Vec::new();
    for row in &rows {
        // The only row of a database without indexes has no id of an index.
        if get::<Option<i64>>(row, 0)?.is_some() {
            indexes.push(index(row)?.into());
        }
    }
    indexes.sort_by_key(|index| index.definition.full_name());
    Ok(Indexes { are_built: indexes.iter().all(|index| index.is_built), indexes })
}

/// The indexes of a database whose version is current.
pub(super) async fn all(
    transaction: &Transaction<'_>,
    database: i64,
    indexing: Indexing,
) -> Result<Vec<MaintainedIndex>, StoreError> {
    if indexing.count == 0 {
        return Ok(Vec::new());
    }
    let statement = transaction.prepare_cached(OF_DATABASE).await?;
    transaction.query(&statement, &[&database]).await?.iter().map(index).collect()
}

/// Reads five columns: id, design document, name, view and progress.
fn index(row: &Row) -> Result<MaintainedIndex, StoreError> {
    let (design, name, view) = (text(get(row, 1)?)?, text(get(row, 2)?)?, text(get(row, 3)?)?);
    let definition = IndexDefinition::of_view(parse(design)?, name.to_owned(), Node::root(view));
    let reached = get::<Option<&[u8]>>(row, 4)?.map(text).transpose()?;
    Ok(MaintainedIndex {
        id: IndexId(get::<i64>(row, 0)? as u64),
        definition: definition.ok_or_else(|| damaged(view, &"no definition of an index"))?,
        progress: Progress::of_column(reached.map(str::to_owned)),
    })
}

pub(super) async fn drop_all(
    transaction: &Transaction<'_>,
    database: i64,
) -> Result<(), StoreError> {
    let statement = transaction.prepare_cached(DROP_ALL).await?;
    transaction.execute(&statement, &[&database]).await?;
    Ok(())
}

pub(super) async fn set_progress(
    transaction: &Transaction<'_>,
    indexes: &[i64],
    progress: &Progress,
) -> Result<(), StoreError> {
    let statement = transaction.prepare_cached(SET_PROGRESS).await?;
    let reached = progress.to_column().map(str::as_bytes);
    transaction.execute(&statement, &[&indexes, &reached]).await?;
    Ok(())
}

/// The indexes of a database, as design documents change them. New ones get their ids when they are stored.
#[derive(Clone, Default)]
pub(super) struct Definitions {
    pub(super) indexes: Vec<MaintainedIndex>,
    /// Number of indexes that were defined.
    defined: u64,
}

impl Definitions {
    pub(super) fn of(indexes: Vec<MaintainedIndex>) -> Self {
        Self { indexes, defined: 0 }
    }

    /// Applies the definitions of a design document.
    pub(super) fn define(&mut self, design: &DocumentId, winner: Option<&Winner>) {
        let (removed, added) = definition_changes(&self.indexes, design, winner);
        self.indexes.retain(|index| !removed.contains(&index.id));
        for definition in added {
            let id = IndexId(PROVISIONAL + self.defined);
            self.defined += 1;
            self.indexes.push(MaintainedIndex::begun(id, definition));
        }
    }

    /// The changes to store, if these indexes are stored already.
    pub(super) fn changes_since(&self, stored: &[IndexId]) -> DefinitionChanges {
        let mut changes = DefinitionChanges::default();
        let is_here = |id: &IndexId| self.indexes.iter().any(|index| index.id == *id);
        let removed = stored.iter().filter(|id| !is_here(id));
        changes.removed.extend(removed.map(|id| id.0 as i64));
        for index in self.indexes.iter().filter(|index| index.id.0 >= PROVISIONAL) {
            changes.designs.push(index.definition.design.to_string().into_bytes());
            changes.names.push(index.definition.name.clone().into_bytes());
            changes.views.push(index.definition.view().into_bytes());
        }
        changes
    }
}

/// Columns of the indexes that a transaction removes and adds.
#[derive(Default)]
pub(super) struct DefinitionChanges {
    removed: Vec<i64>,
    designs: Vec<Vec<u8>>,
    names: Vec<Vec<u8>>,
    views: Vec<Vec<u8>>,
}

impl DefinitionChanges {
    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        pipeline.add_for(self.removed.len(), DROP, vec![database, &self.removed]);
        let added: Vec<Parameter<'b>> = vec![database, &self.designs, &self.names, &self.views];
        pipeline.add_for(self.designs.len(), INSERT, added);
    }
}
