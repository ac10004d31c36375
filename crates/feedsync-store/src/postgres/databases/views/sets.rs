//! Sets of views: their creation, their state, and the counts of their rows.

use deadpool_postgres::{Client, GenericClient, Transaction};
use feedsync_couch::DatabaseName;
use tokio_postgres::Row;

use crate::database::{Database, MAX_VIEWS, StoredViews, ViewState, ViewsId, ViewsSignature};
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::postgres::databases::rows::{self, BY_NAME, DatabaseRow, LOCK, LOCK_SHARED};
use crate::postgres::pipeline::Pipeline;
use crate::postgres::pool;
use crate::postgres::rows::{get, number};

pub(super) const FIND: &str = "SELECT id, removals, reached FROM view_sets
     WHERE database = (SELECT id FROM databases WHERE name = $1) AND signature = $2";

pub(super) const VIEWS: &str =
    "SELECT view, rows, has_contents FROM stored_views WHERE view_set = $1 ORDER BY view";

pub(super) const STATE: &str = "
    SELECT s.id, s.removals, s.reached, v.view, v.rows, v.has_contents
      FROM view_sets s JOIN stored_views v ON v.view_set = s.id
     WHERE s.id = $2 AND s.database = (SELECT id FROM databases WHERE name = $1) AND v.view = $3";

const LOCK_SET: &str = "SELECT id, removals, reached FROM view_sets
                         WHERE id = $1 AND database = $2 FOR NO KEY UPDATE";

const COUNT: &str = "SELECT count(*) FROM view_sets WHERE database = $1";

const INSERT: &str = "INSERT INTO view_sets (database, signature) VALUES ($1, $2)
                      RETURNING id, removals, reached";

const INSERT_VIEWS: &str =
    "INSERT INTO stored_views (view_set, view) SELECT $1, generate_series(0, $2::bigint - 1)";

const DROP_OTHERS: &str =
    "UPDATE view_sets SET database = NULL WHERE database = $1 AND signature <> ALL($2)";

/// A view in the store.
pub(super) struct StoredView {
    pub(super) set: i64,
    pub(super) number: i64,
    pub(super) rows: u64,
    /// Whether contents of its nodes may be stored.
    pub(super) has_contents: bool,
}

/// The stored views of a signature, if there are any.
pub(in crate::postgres::databases) async fn find(
    client: &mut Client,
    name: &DatabaseName,
    signature: &ViewsSignature,
) -> Result<Option<StoredViews>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let (name_text, signature) = (name.as_str(), &signature.0[..]);
    let mut pipeline = Pipeline::default();
    pipeline.add(BY_NAME, vec![&name_text]);
    pipeline.add(FIND, vec![&name_text, &signature]);
    let [database, set] = pipeline.run_all(&transaction).await?;
    let database = rows::found(&database, name)?.database;
    match set.first() {
        Some(set) => Ok(Some(stored(&transaction, database, set).await?)),
        None => Ok(None),
    }
}

/// The stored views of a signature. If there are none, they are created, unless there are too many others. The lock of
/// the database excludes others who create some, or remove documents.
pub(in crate::postgres::databases) async fn begin(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    signature: &ViewsSignature,
    views: usize,
) -> Result<Option<StoredViews>, StoreError> {
    let DatabaseRow { id, database, .. } = rows::lock(transaction, LOCK, name).await?;
    let signature = &signature.0[..];
    let statement = transaction.prepare_cached(FIND).await?;
    if let Some(set) = transaction.query_opt(&statement, &[&name.as_str(), &signature]).await? {
        return Ok(Some(stored(transaction, database, &set).await?));
    }
    let count: i64 = get(&transaction.query_one(COUNT, &[&id]).await?, 0)?;
    if count >= MAX_VIEWS as i64 {
        return Ok(None);
    }
    let set = transaction.query_one(INSERT, &[&id, &signature]).await?;
    let views = [get::<i64>(&set, 0)?, views as i64];
    transaction.execute(INSERT_VIEWS, &[&views[0], &views[1]]).await?;
    Ok(Some(stored(transaction, database, &set).await?))
}

/// Drops the views of a database, except those of some signatures. Their rows are swept later.
pub(in crate::postgres::databases) async fn drop_others(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    kept: &[ViewsSignature],
) -> Result<(), StoreError> {
    let database = rows::lock(transaction, LOCK_SHARED, name).await?.id;
    let kept: Vec<&[u8]> = kept.iter().map(|signature| &signature.0[..]).collect();
    let statement = transaction.prepare_cached(DROP_OTHERS).await?;
    transaction.execute(&statement, &[&database, &kept]).await?;
    Ok(())
}

/// Locks a set of a database until the transaction ends; returns the change that its rows follow. `None` if the
/// database has no such set.
pub(super) async fn lock(
    transaction: &Transaction<'_>,
    database: i64,
    views: ViewsId,
) -> Result<Option<ChangeNumber>, StoreError> {
    let statement = transaction.prepare_cached(LOCK_SET).await?;
    let found = transaction.query_opt(&statement, &[&(views.set as i64), &database]).await?;
    found.map(|row| number(&row, 2)).transpose()
}

/// Reads the result of [`STATE`]: the view, if it is in a state.
pub(super) fn in_state(found: &[Row], state: &ViewState) -> Result<Option<StoredView>, StoreError> {
    let Some(row) = found.first() else { return Ok(None) };
    let (id, reached) = id_and_change(row)?;
    let is_met = state.is_met(id, reached);
    is_met.then(|| view(row, id.set as i64, 3)).transpose()
}

/// The views of a set, in the order of their numbers.
pub(super) async fn views(
    client: &impl GenericClient,
    set: i64,
) -> Result<Vec<StoredView>, StoreError> {
    let statement = client.prepare_cached(VIEWS).await?;
    client.query(&statement, &[&set]).await?.iter().map(|row| view(row, set, 0)).collect()
}

/// Reads three columns from one on: the number of a view, the count of its rows, and whether it has contents.
pub(super) fn view(row: &Row, set: i64, first: usize) -> Result<StoredView, StoreError> {
    let rows = get::<i64>(row, first + 1)? as u64;
    Ok(StoredView { set, number: get(row, first)?, rows, has_contents: get(row, first + 2)? })
}

async fn stored(
    client: &impl GenericClient,
    database: Database,
    set: &Row,
) -> Result<StoredViews, StoreError> {
    let (id, reached) = id_and_change(set)?;
    let views = views(client, id.set as i64).await?;
    Ok(StoredViews { id, database, reached, rows: views.iter().map(|view| view.rows).collect() })
}

/// Reads the id of a set, the number of removals, and the change that its rows follow.
fn id_and_change(row: &Row) -> Result<(ViewsId, ChangeNumber), StoreError> {
    let (set, removals) = (get::<i64>(row, 0)? as u64, get::<i64>(row, 1)? as u64);
    Ok((ViewsId { set, removals }, number(row, 2)?))
}
