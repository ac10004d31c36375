//! Implementation of [`PastDocuments`] on the threads of a [`SqliteStore`].

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{DatabaseName, DocumentId, Revision};
use rusqlite::{Connection, params};

use super::body_rows::{self, body_key};
use super::database_rows::{self, DatabaseRow, Finder};
use super::past_rows::{self, ended_columns};
use super::{SqliteStore, rows};
use crate::database::{
    Database, EndedPosition, EndedRevision, PageBudget, PastDocument, PastDocuments, PastLeaf,
    PastPage, PastRange, StoredDocument, WriteOrigin, expired_piece,
};
use crate::error::StoreError;
use crate::order::{Epoch, Moment};

#[async_trait]
impl PastDocuments for SqliteStore {
    async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| documents_at(connection, &name, moment, range, most_bytes))
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
        self.readers
            .read(move |connection| latest(connection, &name, of.as_ref(), before, most))
            .await
    }

    async fn leaf_origins(
        &self,
        name: &DatabaseName,
        id: &DocumentId,
    ) -> Result<Vec<(Revision, WriteOrigin)>, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.readers
            .read(move |connection| {
                let database_row = database_rows::require(connection, &name)?.id;
                let found = Finder::new(connection, database_row)?.find(id.as_str())?;
                let mut origins = Vec::new();
                for leaf in found.iter().flat_map(|(_, tree)| tree.leaves()) {
                    let key = body_key(database_row, leaf.content.body.number);
                    let origin = past_rows::origin(connection, key)?;
                    origins.extend(origin.map(|origin| (leaf.revision.clone(), origin)));
                }
                Ok(origins)
            })
            .await
    }

    async fn drop_and_keep_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        let (gone, environment) = (name.clone(), Arc::clone(&self.environment));
        let is_kept = self
            .writer
            .run_without_growth(move |connection| {
                let mut database_row = database_rows::require(connection, &gone)?;
                database_row.database.require(epoch)?;
                let is_kept = database_row.database.is_kept_when_dropped();
                if is_kept {
                    database_row.database.drop_now(environment.now(), author.clone())?;
                    database_rows::write_name(connection, &database_row)?;
                } else {
                    database_rows::drop(connection, database_row.id)?;
                }
                Ok(is_kept)
            })
            .await?;
        self.database_notifier.notify_subscribers(name);
        Ok(is_kept)
    }

    async fn undrop_database(&self, kept: &DatabaseName, epoch: Epoch) -> Result<bool, StoreError> {
        let (kept, environment) = (kept.clone(), Arc::clone(&self.environment));
        let back = self
            .writer
            .run_without_growth(move |connection| {
                let mut database_row = database_rows::require(connection, &kept)?;
                database_row.database.require(epoch)?;
                let is_back = database_row.database.undrop(environment.now())
                    && database_rows::find(connection, &database_row.database.name)?.is_none();
                if is_back {
                    database_rows::write_name(connection, &database_row)?;
                }
                Ok(Some(database_row.database.name).filter(|_| is_back))
            })
            .await?;
        if let Some(name) = &back {
            self.database_notifier.notify_subscribers(name);
        }
        Ok(back.is_some())
    }

    async fn dropped_databases(
        &self,
        name: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError> {
        let name = name.cloned();
        self.readers.read(move |connection| database_rows::dropped(connection, name.as_ref())).await
    }

    async fn expire_history(
        &self,
        name: &DatabaseName,
        ended_before: Moment,
        most: usize,
    ) -> Result<bool, StoreError> {
        let (name, environment) = (name.clone(), Arc::clone(&self.environment));
        self.writer
            .run_without_growth(move |connection| {
                expire(connection, &name, (ended_before, environment.now()), most)
            })
            .await
    }
}

fn documents_at(
    connection: &Connection,
    name: &DatabaseName,
    moment: Moment,
    range: PastRange,
    most_bytes: u64,
) -> Result<PastPage, StoreError> {
    let DatabaseRow { id: database_row, database, .. } = database_rows::require(connection, name)?;
    if let Some(unknown) = database.unknown(moment) {
        return Ok(unknown);
    }
    let (mut documents, mut left) = (Vec::new(), PageBudget::of(most_bytes));
    let mut take = |document: StoredDocument| {
        let leaves = past_rows::leaves_at(connection, database_row, &document, moment)?;
        let is_taken = left.fits_past(&document, &leaves);
        if is_taken {
            let read = |leaf: PastLeaf| {
                let number = leaf.content.body.number;
                let body = body_rows::stored_body(connection, database_row, number)?;
                let missing = format!("the body of {} {} is missing", document.id, leaf.revision);
                Ok(leaf.with(body.ok_or(StoreError::Damaged(missing))?))
            };
            let leaves = leaves.into_iter().map(read).collect::<Result<_, StoreError>>()?;
            documents.push(PastDocument { document, leaves });
        }
        Ok::<_, StoreError>(is_taken)
    };
    let (mut last, mut is_end) = (None, true);
    match range {
        PastRange::Ids(ids) => {
            let mut finder = Finder::new(connection, database_row)?;
            for id in ids {
                let Some((number, tree)) = finder.find(id.as_str())? else { continue };
                if !take(StoredDocument { id: id.clone(), number, tree })? {
                    is_end = false;
                    break;
                }
                last = Some(id);
            }
        }
        PastRange::After { after, most } => {
            let sql = "SELECT id, number, tree FROM documents
                        WHERE database = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let limit = i64::try_from(most).unwrap_or(i64::MAX);
            let after = after.as_ref().map_or("", DocumentId::as_str);
            let mut rows = statement.query(params![database_row, after, limit])?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                let document = database_rows::stored(row, 0)?;
                let id = document.id.clone();
                is_end = take(document)?;
                if !is_end {
                    break;
                }
                (last, count) = (Some(id), count + 1);
            }
            is_end &= count < most;
        }
    }
    let last = last.filter(|_| !is_end);
    Ok(PastPage::Known { database: Box::new(database), documents, last })
}

/// Ended revisions, the last one that ended first.
fn latest(
    connection: &Connection,
    name: &DatabaseName,
    of: Option<&DocumentId>,
    before: Option<EndedPosition>,
    most: usize,
) -> Result<Vec<EndedRevision>, StoreError> {
    let DatabaseRow { id, database, .. } = database_rows::require(connection, name)?;
    let Some(since) = database.past.since else { return Ok(Vec::new()) };
    macro_rules! select {
        ($condition:literal) => {
            concat!(
                "SELECT ",
                ended_columns!(),
                " FROM ended_revisions INDEXED BY ",
                $condition,
                " AND database = ?1 AND ended > ?3 AND (ended, key) < (?4, ?5)
                   ORDER BY ended DESC, key DESC LIMIT ?6"
            )
        };
    }
    let sql = match of {
        Some(_) => select!("ended_by_document WHERE document = ?2"),
        None => select!("ended_by_time WHERE ?2 IS NULL"),
    };
    let (ended, key) =
        before.map_or((Moment::MAX, i64::MAX), |before| (before.ended, body_key(id, before.body)));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let of = of.map(DocumentId::as_str);
    let mut rows = statement.query(params![id, of, since, ended, key, most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(past_rows::ended(row)?);
    }
    Ok(found)
}

fn expire(
    connection: &Connection,
    name: &DatabaseName,
    (ended_before, now): (Moment, Moment),
    most: usize,
) -> Result<bool, StoreError> {
    let mut database_row = database_rows::require(connection, name)?;
    if database_row.database.was_dropped_by(ended_before) {
        return database_rows::drop(connection, database_row.id).map(|()| false);
    }
    let before = database_row.database.clone();
    let through = database_row.database.expire(ended_before, now);
    let sql = concat!(
        "SELECT ",
        ended_columns!(),
        " FROM ended_revisions INDEXED BY ended_by_time
           WHERE database = ?1 AND ended <= ?2 ORDER BY ended, key LIMIT ?3"
    );
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![database_row.id, through, limit])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(past_rows::ended(row)?);
    }
    drop(rows);
    let found = all.len();
    let all = expired_piece(all);
    database_row.database.release(past_rows::remove(connection, database_row.id, &all)?);
    if database_row.database != before {
        database_rows::write(connection, &database_row)?;
    }
    let is_more = found == most || all.len() < found;
    if is_more || database_row.database.keeps_history() {
        return Ok(is_more);
    }
    // Nobody asks any more who wrote the present revisions.
    past_rows::remove_origins(connection, database_row.id, limit)
}

/// The writes that made bodies, ascending, after one.
pub(super) fn origins(
    connection: &Connection,
    name: &DatabaseName,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, WriteOrigin)>, StoreError> {
    let id = database_rows::require(connection, name)?.id;
    let sql = "SELECT key, since, author FROM body_origins WHERE key > ?1 AND key <= ?2
                ORDER BY key LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query([body_key(id, after), body_key(id, u64::MAX), limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let number = rows::number(row.get(0)?).get();
        found.extend(past_rows::write_origin(row, 1)?.map(|origin| (number, origin)));
    }
    Ok(found)
}

/// All ended revisions, ascending by body, after one.
pub(super) fn all_ended(
    connection: &Connection,
    name: &DatabaseName,
    after: u64,
    limit: usize,
) -> Result<Vec<EndedRevision>, StoreError> {
    let id = database_rows::require(connection, name)?.id;
    let sql = concat!(
        "SELECT ",
        ended_columns!(),
        " FROM ended_revisions WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query([body_key(id, after), body_key(id, u64::MAX), limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(past_rows::ended(row)?);
    }
    Ok(found)
}
