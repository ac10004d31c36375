//! Nodes of views: pages of them, and their contents.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use tokio_postgres::Row;

use super::sets::{self, STATE, in_state};
use crate::database::{NodeContent, ViewNode, ViewState};
use crate::error::StoreError;
use crate::postgres::databases::pages::IN_ORDER;
use crate::postgres::databases::rows::{self, BY_NAME, LOCK_SHARED, text};
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::pool;
use crate::postgres::rows::get;

pub(super) const NODES: &str = "
    SELECT position, rows, reduction FROM view_nodes
     WHERE view_set = $1 AND view = $2 AND level = $3 AND position >= $4 AND position < $5
     ORDER BY position LIMIT $6";

/// Each node is looked up by its key, even if the server's statistics suggest otherwise.
pub(super) const PUT: &str = "
    UPDATE view_nodes n SET rows = w.rows, reduction = w.reduction
      FROM (SELECT t.place, g.rows, g.reduction
              FROM unnest($4::bytea[], $5::bigint[], $6::bytea[]) g (position, rows, reduction),
                   LATERAL (SELECT ctid AS place FROM view_nodes
                             WHERE view_set = $1 AND view = $2 AND level = $3
                               AND position = g.position LIMIT 1) t) w
     WHERE n.ctid = w.place";

/// Forgets the content of the last node before each of some positions.
pub(super) const FORGET: &str = "
    UPDATE view_nodes SET rows = NULL, reduction = NULL WHERE rows IS NOT NULL AND ctid = ANY(ARRAY(
      SELECT t.ctid FROM unnest($3::bigint[], $4::bytea[]) w (level, position),
             LATERAL (SELECT n.ctid FROM view_nodes n
                       WHERE n.view_set = $1 AND n.view = $2 AND n.level = w.level
                         AND n.position < w.position ORDER BY n.position DESC LIMIT 1) t))";

const HAS_CONTENTS: &str =
    "UPDATE stored_views SET has_contents = true WHERE view_set = $1 AND view = $2";

pub(in crate::postgres::databases) async fn nodes(
    client: &mut Client,
    name: &DatabaseName,
    (state, level): (ViewState, u8),
    range: PositionRange,
    most: usize,
) -> Result<Option<Vec<ViewNode>>, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (set, view, level) = (state.views.set as i64, i64::from(state.view), i64::from(level));
    let name_text = name.as_str();
    let transaction = pool::snapshot(client).await?;
    let mut pipeline = Pipeline::default();
    pipeline.add(IN_ORDER, vec![]);
    pipeline.add(BY_NAME, vec![&name_text]);
    pipeline.add(STATE, vec![&name_text, &set, &view]);
    pipeline.add(NODES, vec![&set, &view, &level, &range.from, &range.to, &most]);
    let [_, database, found, nodes] = pipeline.run_all(&transaction).await?;
    rows::found(&database, name)?;
    match in_state(&found, &state)? {
        Some(_) => Ok(Some(nodes.iter().map(node).collect::<Result<_, _>>()?)),
        None => Ok(None),
    }
}

/// Reads three columns: position, number of rows, and reduction.
fn node(row: &Row) -> Result<ViewNode, StoreError> {
    let reduction = get::<Option<&[u8]>>(row, 2)?.map(text).transpose()?.map(str::to_owned);
    let content = get::<Option<i64>>(row, 1)?;
    let content = content.map(|rows| NodeContent { rows: rows as u64, reduction });
    Ok(ViewNode { position: get(row, 0)?, content })
}

pub(in crate::postgres::databases) async fn put_nodes(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    state: ViewState,
    level: u8,
    nodes: Vec<(Vec<u8>, NodeContent)>,
) -> Result<bool, StoreError> {
    let database = rows::lock(transaction, LOCK_SHARED, name).await?.id;
    if sets::lock(transaction, database, state.views).await?.is_none() {
        return Ok(false);
    }
    let (set, view, level) = (state.views.set as i64, i64::from(state.view), i64::from(level));
    let statement = transaction.prepare_cached(STATE).await?;
    let found = transaction.query(&statement, &[&name.as_str(), &set, &view]).await?;
    let Some(stored) = in_state(&found, &state)? else { return Ok(false) };
    let (mut positions, mut counts, mut reductions) = (Vec::new(), Vec::new(), Vec::new());
    for (position, NodeContent { rows, reduction }) in nodes {
        positions.push(position);
        counts.push(rows as i64);
        reductions.push(reduction.map(String::into_bytes));
    }
    let mut pipeline = Pipeline::default();
    let values: Vec<Parameter<'_>> = vec![&set, &view, &level, &positions, &counts, &reductions];
    pipeline.add_for(positions.len(), PUT, values);
    if !stored.has_contents {
        pipeline.add_for(positions.len(), HAS_CONTENTS, vec![&set, &view]);
    }
    pipeline.run(transaction).await?;
    Ok(true)
}
