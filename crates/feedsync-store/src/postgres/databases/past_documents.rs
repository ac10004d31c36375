//! Implementation of [`PastDocuments`].

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{DatabaseName, DocumentId, Revision};
use futures_util::FutureExt as _;
use tokio_postgres::Row;

use super::documents::{self, BY_KEYS, Keys};
use super::pages::{BY_ID, CHUNK, IN_ORDER, first_behind, first_within};
use super::past_rows::{self, ENDED_OF, REMOVE_ENDED, ended_columns};
use super::rows::{self, DatabaseRow, LOCK};
use super::{bodies, transfer};
use crate::database::{
    Database, EndedPosition, EndedRevision, PageBudget, PastDocument, PastDocuments, PastLeaf,
    PastPage, PastRange, StoredDocument, WriteOrigin, expired_piece,
};
use crate::error::StoreError;
use crate::order::{Epoch, Moment};
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::{get, micros};
use crate::postgres::{PostgresStore, pool};

macro_rules! select_ended {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            ended_columns!(),
            " FROM ended_revisions WHERE database = $1 AND ",
            $rest
        )
    };
}

pub(super) const LATEST_ENDED: &str = select_ended!(
    "ended > $2 AND (ended, number) < ($3, $4) ORDER BY ended DESC, number DESC LIMIT $5"
);

pub(super) const LATEST_ENDED_OF: &str = select_ended!(
    "ended > $2 AND (ended, number) < ($3, $4) AND head = $6 AND digest = $7
     ORDER BY ended DESC, number DESC LIMIT $5"
);

pub(super) const FIRST_ENDED: &str = select_ended!("ended <= $2 ORDER BY ended, number LIMIT $3");

pub(super) const ENDED_AFTER: &str = select_ended!("number > $2 ORDER BY number LIMIT $3");

pub(super) const ORIGINS_AFTER: &str = "SELECT number, since, author FROM body_origins
    WHERE database = $1 AND number > $2 ORDER BY number LIMIT $3";

pub(super) const REMOVE_ORIGINS: &str =
    "DELETE FROM body_origins WHERE database = $1 AND number = ANY
    (ARRAY(SELECT number FROM body_origins WHERE database = $1 ORDER BY number LIMIT $2))";

#[async_trait]
impl PastDocuments for PostgresStore {
    async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            let mut client = node.connection().await?;
            let transaction = pool::snapshot(&mut client).await?;
            documents_at(&transaction, &name, moment, range, most_bytes).await
        })
        .await
    }

    async fn ended_revisions(
        &self,
        name: &DatabaseName,
        of: Option<&DocumentId>,
        before: Option<EndedPosition>,
        most: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        let (name, of) = (name.clone(), of.cloned());
        self.run(move |node| async move {
            latest(&mut node.connection().await?, &name, of.as_ref(), before, most).await
        })
        .await
    }

    async fn leaf_origins(
        &self,
        name: &DatabaseName,
        id: &DocumentId,
    ) -> Result<Vec<(Revision, WriteOrigin)>, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.run(move |node| async move {
            let mut client = node.connection().await?;
            let transaction = pool::snapshot(&mut client).await?;
            let DatabaseRow { id: database, .. } = transfer::require(&transaction, &name).await?;
            let documents = by_keys(&transaction, &name, &[id]).await?;
            let origins = past_rows::origins(&transaction, database, &leaves(&documents)).await?;
            let all = documents.iter().flat_map(|document| document.tree.leaves());
            let origins = all.filter_map(|leaf| {
                let origin = origins.get(&leaf.content.body.number)?;
                Some((leaf.revision.clone(), origin.clone()))
            });
            Ok(origins.collect())
        })
        .await
    }

    async fn drop_and_keep_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            let (gone, now) = (name.clone(), node.environment.now());
            let is_kept = node
                .write(move |transaction, _| {
                    async move {
                        rows::drop_and_keep(transaction, (&gone, epoch), now, author).await
                    }
                    .boxed()
                })
                .await?;
            node.database_changed(&name);
            Ok(is_kept)
        })
        .await
    }

    async fn undrop_database(&self, kept: &DatabaseName, epoch: Epoch) -> Result<bool, StoreError> {
        let kept = kept.clone();
        self.run(move |node| async move {
            let now = node.environment.now();
            let back = node
                .write(move |transaction, _| {
                    async move { rows::undrop(transaction, (&kept, epoch), now).await }.boxed()
                })
                .await?;
            if let Some(name) = &back {
                node.database_changed(name);
            }
            Ok(back.is_some())
        })
        .await
    }

    async fn dropped_databases(
        &self,
        name: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError> {
        let name = name.cloned();
        self.run(move |node| async move {
            let client = node.connection().await?;
            rows::dropped(&client, name.as_ref()).await
        })
        .await
    }

    async fn expire_history(
        &self,
        name: &DatabaseName,
        ended_before: Moment,
        most: usize,
    ) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write(move |transaction, node| {
            let now = node.environment.now();
            async move { expire(transaction, &name, (ended_before, now), most).await }.boxed()
        })
        .await
    }
}

/// Numbers of the bodies of the documents' leaves.
fn leaves(documents: &[StoredDocument]) -> Vec<i64> {
    let leaves = documents.iter().flat_map(|document| document.tree.leaves());
    leaves.map(|leaf| leaf.content.body.number as i64).collect()
}

/// Documents of ids, in their order; those that never existed are left out.
async fn by_keys(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    ids: &[DocumentId],
) -> Result<Vec<StoredDocument>, StoreError> {
    let keys = Keys::of(ids);
    let statement = transaction.prepare_cached(BY_KEYS).await?;
    let parameters: [Parameter<'_>; 3] = [&name.as_str(), &keys.heads, &keys.digests];
    let mut known = HashMap::new();
    for row in &transaction.query(&statement, &parameters).await? {
        let document = documents::stored(row)?;
        known.insert(document.id.clone(), document);
    }
    Ok(ids.iter().filter_map(|id| known.get(id).cloned()).collect())
}

/// The first documents after an id.
async fn after(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    after: Option<&DocumentId>,
    most: usize,
) -> Result<Vec<StoredDocument>, StoreError> {
    let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.to_string()));
    let (from, to) = (first_within(from), first_behind(Bound::Unbounded));
    let ((from, from_rest), (to, to_rest)) = (documents::split(&from), documents::split(&to));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut pipeline = Pipeline::default();
    let name = name.as_str();
    pipeline.add(IN_ORDER, vec![]);
    pipeline.add(BY_ID, vec![&name, &from, &from_rest, &to, &to_rest, &most, &0i64]);
    let [_, rows] = pipeline.run_all(transaction).await?;
    rows.iter().map(documents::stored).collect()
}

async fn documents_at(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    moment: Moment,
    range: PastRange,
    most_bytes: u64,
) -> Result<PastPage, StoreError> {
    let DatabaseRow { id: database_row, database, .. } =
        transfer::require(transaction, name).await?;
    if let Some(unknown) = database.unknown(moment) {
        return Ok(unknown);
    }
    let (mut documents, mut left) = (Vec::new(), PageBudget::of(most_bytes));
    let (mut last, mut rest) = match range.clone() {
        PastRange::After { after, .. } => (after, Vec::new()),
        PastRange::Ids(ids) => (None, ids),
    };
    let mut count = 0;
    loop {
        let (chunk, is_end) = match &range {
            PastRange::Ids(_) => {
                let later = rest.split_off(rest.len().min(CHUNK));
                let ids = std::mem::replace(&mut rest, later);
                (by_keys(transaction, name, &ids).await?, rest.is_empty())
            }
            PastRange::After { most, .. } => {
                let limit = CHUNK.min(most - count);
                let chunk = after(transaction, name, last.as_ref(), limit).await?;
                let is_end = chunk.len() < limit;
                (chunk, is_end)
            }
        };
        let examined = chunk.len();
        let chosen = choose(transaction, database_row, chunk, moment, &mut left).await?;
        let is_full = chosen.len() < examined;
        let read = read(transaction, database_row, chosen).await?;
        count += read.len();
        last = read.last().map(|it| it.document.id.clone()).or(last);
        documents.extend(read);
        let is_page = matches!(range, PastRange::After { most, .. } if count == most);
        if is_full || is_end || is_page {
            let last = last.filter(|_| is_full || !is_end);
            return Ok(PastPage::Known { database: Box::new(database), documents, last });
        }
    }
}

/// The documents with their leaves at a moment, until the page is full.
async fn choose(
    transaction: &Transaction<'_>,
    database: i64,
    documents: Vec<StoredDocument>,
    moment: Moment,
    left: &mut PageBudget,
) -> Result<Vec<(StoredDocument, Vec<PastLeaf>)>, StoreError> {
    let origins = past_rows::origins(transaction, database, &leaves(&documents)).await?;
    let mut ended: HashMap<DocumentId, Vec<PastLeaf>> = HashMap::new();
    let keys = Keys::of(documents.iter().map(|document| &document.id));
    let statement = transaction.prepare_cached(ENDED_OF).await?;
    let parameters: [Parameter<'_>; 4] = [&database, &keys.heads, &keys.digests, &micros(moment)];
    for row in &transaction.query(&statement, &parameters).await? {
        let row = past_rows::ended(row)?;
        ended.entry(row.id.clone()).or_default().push(row.leaf());
    }
    let mut chosen = Vec::with_capacity(documents.len());
    for document in documents {
        let mut leaves: Vec<PastLeaf> = ended.remove(&document.id).unwrap_or_default();
        leaves.extend(document.tree.leaves().into_iter().map(|leaf| PastLeaf {
            revision: leaf.revision.clone(),
            content: *leaf.content,
            written: origins.get(&leaf.content.body.number).cloned(),
        }));
        leaves.retain(|leaf| leaf.was_there(moment));
        PastLeaf::sort(&mut leaves);
        if !left.fits_past(&document, &leaves) {
            break;
        }
        chosen.push((document, leaves));
    }
    Ok(chosen)
}

/// Reads the bodies of leaves.
async fn read(
    transaction: &Transaction<'_>,
    database: i64,
    chosen: Vec<(StoredDocument, Vec<PastLeaf>)>,
) -> Result<Vec<PastDocument>, StoreError> {
    let leaves = chosen.iter().flat_map(|(_, leaves)| leaves);
    let numbers: Vec<i64> = leaves.map(|leaf| leaf.content.body.number as i64).collect();
    let bodies = documents::bodies(transaction, database, &numbers).await?;
    let mut read = Vec::with_capacity(chosen.len());
    for (document, leaves) in chosen {
        let with_body = |leaf: PastLeaf| {
            let body = bodies.get(&leaf.content.body.number).cloned();
            let missing = format!("the body of {} {} is missing", document.id, leaf.revision);
            Ok(leaf.with(body.ok_or(StoreError::Damaged(missing))?))
        };
        let leaves = leaves.into_iter().map(with_body).collect::<Result<_, StoreError>>()?;
        read.push(PastDocument { document, leaves });
    }
    Ok(read)
}

/// Ended revisions, the last one that ended first.
async fn latest(
    client: &mut Client,
    name: &DatabaseName,
    of: Option<&DocumentId>,
    before: Option<EndedPosition>,
    most: usize,
) -> Result<Vec<EndedRevision>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let DatabaseRow { id, database, .. } = transfer::require(&transaction, name).await?;
    let Some(since) = database.past.since.map(micros) else { return Ok(Vec::new()) };
    let (ended, number) =
        before.map_or((i64::MAX, i64::MAX), |before| (micros(before.ended), before.body as i64));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let keys = Keys::of(of);
    let mut parameters: Vec<Parameter<'_>> = vec![&id, &since, &ended, &number, &most];
    let sql = match (keys.heads.first(), keys.digests.first()) {
        (Some(head), Some(digest)) => {
            parameters.extend([head as Parameter<'_>, digest]);
            LATEST_ENDED_OF
        }
        _ => LATEST_ENDED,
    };
    let mut pipeline = Pipeline::default();
    pipeline.add(IN_ORDER, vec![]);
    pipeline.add(sql, parameters);
    let [_, rows] = pipeline.run_all(&transaction).await?;
    rows.iter().map(past_rows::ended).collect()
}

async fn expire(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    (ended_before, now): (Moment, Moment),
    most: usize,
) -> Result<bool, StoreError> {
    let mut database_row = rows::lock(transaction, LOCK, name).await?;
    if database_row.database.was_dropped_by(ended_before) {
        return rows::remove(transaction, database_row.id).await.map(|()| false);
    }
    let before = database_row.database.clone();
    let through = micros(database_row.database.expire(ended_before, now));
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut pipeline = Pipeline::default();
    pipeline.add(IN_ORDER, vec![]);
    pipeline.add(FIRST_ENDED, vec![&database_row.id, &through, &limit]);
    let [_, rows] = pipeline.run_all(transaction).await?;
    let due = rows.iter().map(past_rows::ended).collect::<Result<Vec<_>, _>>()?;
    let piece = expired_piece(due);
    let (mut numbers, mut held) = (Vec::new(), Vec::new());
    for EndedRevision { content, is_held, .. } in &piece {
        numbers.push(content.body.number as i64);
        if *is_held {
            database_row.database.release(content.body.whole());
            held.push(content.body.number as i64);
        }
    }
    let (id, held) = (database_row.id, &held[..]);
    let mut pipeline = Pipeline::default();
    pipeline.add_for(numbers.len(), REMOVE_ENDED, vec![&id, &numbers]);
    bodies::remove(&mut pipeline, &id, &held);
    pipeline.run(transaction).await?;
    if database_row.database != before {
        rows::write(transaction, &database_row).await?;
    }
    let is_more = rows.len() == most || piece.len() < rows.len();
    if is_more || database_row.database.keeps_history() {
        return Ok(is_more);
    }
    // Nobody asks any more who wrote the present revisions.
    let statement = transaction.prepare_cached(REMOVE_ORIGINS).await?;
    let removed = transaction.execute(&statement, &[&database_row.id, &limit]).await?;
    Ok(removed > 0)
}

/// The writes that made bodies, ascending, after one.
pub(in crate::postgres) async fn origins(
    client: &mut Client,
    name: &DatabaseName,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, WriteOrigin)>, StoreError> {
    let rows = rows_after(client, name, ORIGINS_AFTER, (after, limit)).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let number = get::<i64>(row, 0)? as u64;
        found.extend(past_rows::write_origin(row, 1)?.map(|origin| (number, origin)));
    }
    Ok(found)
}

/// All ended revisions, ascending by body, after one.
pub(in crate::postgres) async fn all_ended(
    client: &mut Client,
    name: &DatabaseName,
    after: u64,
    limit: usize,
) -> Result<Vec<EndedRevision>, StoreError> {
    let rows = rows_after(client, name, ENDED_AFTER, (after, limit)).await?;
    rows.iter().map(past_rows::ended).collect()
}

async fn rows_after(
    client: &mut Client,
    name: &DatabaseName,
    sql: &'static str,
    (after, limit): (u64, usize),
) -> Result<Vec<Row>, StoreError> {
    let id = transfer::require(&*client, name).await?.id;
    let (after, limit) = (after as i64, i64::try_from(limit).unwrap_or(i64::MAX));
    transfer::in_order(client, sql, vec![&id, &after, &limit]).await
}
