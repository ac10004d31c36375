//! Pages of documents by their keys in an index.

use feedsync_couch::DatabaseName;
use feedsync_couch::plan::KeyRange;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::definitions::is_current;
use crate::database::{IndexId, IndexPage, IndexRange, SelectBodies};
use crate::error::StoreError;
use crate::sqlite::database_reads::Page;
use crate::sqlite::database_rows::{self, DatabaseRow};

// The planner must not begin with the documents. Of two bounds on one side it would use the first one only, so there is
// one: the beginning of the range, or the last row of the page before it.
macro_rules! select {
    ($bounds:literal, $order:literal) => {
        concat!(
            "SELECT r.key, d.id, d.number, d.tree
               FROM index_rows r CROSS JOIN documents d ON d.database = ?1 AND d.id = r.document
              WHERE r.index_id = ?2 AND ",
            $bounds,
            " ORDER BY r.key ",
            $order,
            ", r.document ",
            $order,
            " LIMIT ?6"
        )
    };
}

const ASCENDING: &str = select!("(r.key, r.document) > (?3, ?4) AND r.key < ?5", "");
const DESCENDING: &str = select!("(r.key, r.document) < (?3, ?4) AND r.key >= ?5", "DESC");

pub(in crate::sqlite) fn by_key(
    connection: &Connection,
    name: &DatabaseName,
    range: IndexRange,
    choose: &SelectBodies,
    most_bytes: u64,
) -> Result<Option<IndexPage>, StoreError> {
    let database_row = database_rows::require(connection, name)?;
    if !is_built(connection, &database_row, range.index)? {
        return Ok(None);
    }
    let DatabaseRow { id, database, .. } = database_row;
    let IndexRange { index, keys: KeyRange { start, end }, after, is_descending, most } = range;
    let (sql, first, last) = match is_descending {
        false => (ASCENDING, start, end),
        true => (DESCENDING, end, start),
    };
    // No id is empty, so a range without a row before it begins with the first row of its key.
    let (key, document) = match after.filter(|(key, _)| is_descending == (*key < first)) {
        Some((key, document)) => (key, document.as_str().to_owned()),
        None => (first, String::new()),
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![id, index.0 as i64, key, document, last, most])?;
    let mut page = Page::new(connection, id, choose, most_bytes);
    let mut documents: Vec<(Vec<u8>, _)> = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(read) = page.read(database_rows::stored(row, 1)?)? else { break };
        documents.push((row.get(0)?, read));
    }
    Ok(Some(IndexPage { database, documents }))
}

fn is_built(
    connection: &Connection,
    database_row: &DatabaseRow,
    index: IndexId,
) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM document_indexes WHERE id = ?1 AND database = ?2 AND reached IS NULL",
    )?;
    let values = [index.0 as i64, database_row.id];
    let found = statement.query_row(values, |_| Ok(())).optional()?;
    Ok(found.is_some() && is_current(database_row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema::SCHEMA;

    /// Reads by key use the order of the rows in both directions. No page scans or sorts all rows.
    #[test]
    fn every_page_is_read_along_the_rows() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in SCHEMA.migrations {
            connection.execute_batch(migration).unwrap();
        }
        for sql in [ASCENDING, DESCENDING] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.query_map([1; 6], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps.len(), 2, "{steps:?}");
            assert!(
                steps[0].starts_with("SEARCH r USING PRIMARY KEY (index_id=? AND "),
                "{steps:?}"
            );
            assert!(
                steps[1].starts_with("SEARCH d USING PRIMARY KEY (database=? AND id=?)"),
                "{steps:?}"
            );
        }
    }
}
