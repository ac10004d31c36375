//! Removal of bodies of revisions that are not leaves.

use std::ops::Bound;

use deadpool_postgres::Transaction;
use feedsync_couch::{DatabaseName, DocumentId};

use super::documents::{self, Document};
use super::pages::{BY_ID, IN_ORDER, first_behind, first_within};
use super::rows::{self, LOCK};
use super::write;
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
        let write = DocumentWrite {
            id: document.stored.id.clone(),
            tree: document.stored.tree.clone(),
            is_change: false,
            kind: None,
            bodies: Vec::new(),
        };
        let counted = database_row.database.count(&before, &write)?;
        gone.extend(counted.gone.iter().map(|number| *number as i64));
        changed.push(document);
    }
    if !changed.is_empty() {
        write::rewrite(transaction, &database_row, &changed, &gone).await?;
    }
    Ok(last.filter(|_| rows.len() == most))
}
