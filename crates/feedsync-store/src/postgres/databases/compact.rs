//! Removal of bodies of revisions that are not leaves.

use std::collections::HashSet;
use std::ops::Bound;

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DatabaseName, DocumentId};

use super::documents::{self, Document};
use super::pages::{BY_ID, IN_ORDER, first_behind, first_within};
use super::rows::{self, LOCK};
use super::{past_rows, write};
use crate::database::DocumentWrite;
use crate::error::StoreError;

pub(super) async fn compact(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    after: Option<&DocumentId>,
    most: usize,
) -> Result<Option<DocumentId>, StoreError> {
    let mut database_row = rows::lock(transaction, LOCK, name).await?;
    let after = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.to_string()));
    let (from, to) = (first_within(after), first_behind(Bound::Unbounded));
    let ((from, from_rest), (to, to_rest)) = (documents::split(&from), documents::split(&to));
    let most_rows = i64::try_from(most).unwrap_or(i64::MAX);
    let in_order = transaction.prepare_cached(IN_ORDER).await?;
    transaction.query(&in_order, &[]).await?;
    let statement = transaction.prepare_cached(BY_ID).await?;
    let rows = transaction
        .query(&statement, &[&name.as_str(), &from, &from_rest, &to, &to_rest, &most_rows, &0i64])
        .await?;
    let (mut last, mut changed, mut gone) = (None, Vec::new(), Vec::new());
    for row in &rows {
        let mut document: Document = documents::document(row)?;
        let before = document.stored.tree.clone();
        last = Some(document.stored.id.clone());
        if document.stored.tree.compact().is_empty() {
            continue;
        }
        let (id, tree) = (document.stored.id.clone(), document.stored.tree.clone());
        let write = DocumentWrite::compaction(id, tree);
        gone.extend(database_row.database.count(&before, &write, 0)?.gone);
        changed.push(document);
    }
    if !changed.is_empty() {
        let numbers: Vec<i64> = gone.iter().map(|body: &BodyRef| body.number as i64).collect();
        let held = match database_row.database.keeps_history() {
            true => past_rows::hold(transaction, database_row.id, &numbers).await?,
            false => Vec::new(),
        };
        let held: HashSet<u64> = held.into_iter().collect();
        let (held, gone): (Vec<BodyRef>, _) =
            gone.into_iter().partition(|body| held.contains(&body.number));
        held.iter().for_each(|body| database_row.database.hold(body.whole()));
        let gone: Vec<i64> = gone.iter().map(|body| body.number as i64).collect();
        write::rewrite(transaction, &database_row, &changed, &gone).await?;
    }
    Ok(last.filter(|_| rows.len() == most))
}
