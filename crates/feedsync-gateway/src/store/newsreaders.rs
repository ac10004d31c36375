//! Rows of newsreader accounts, their stored responses and their changes.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::newsreader::{
    Account, CachedResponse, Change, ChangeId, Facts, Key, Rows, SignIn, StoredChange,
};
use rusqlite::{Connection, params};

use super::columns::{self, Columns, damaged};
use super::error::StoreError;

pub(super) fn put_account(connection: &Connection, account: &Account) -> Result<(), StoreError> {
    let Account { partition, interface, base, sign_in, sessions, seen } = account;
    let sql = "INSERT OR REPLACE INTO account VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        interface.name(),
        base.as_str(),
        sign_in.to_text(),
        serde_json::to_string(sessions).unwrap_or_default(),
        columns::time(*seen),
    ])?;
    Ok(())
}

pub(super) fn account_gone(
    connection: &Connection,
    partition: Partition,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM account WHERE partition = ?1";
    connection.prepare_cached(sql)?.execute([partition.bytes()])?;
    Ok(())
}

pub(super) fn put_kept(connection: &Connection, kept: &CachedResponse) -> Result<(), StoreError> {
    let CachedResponse { partition, key, kind, stamp, fetched, media_type, content, facts } = kept;
    let sql = "INSERT INTO kept VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (partition, key) DO UPDATE SET
           kind = excluded.kind, stamp = excluded.stamp, fetched = excluded.fetched,
           media_type = excluded.media_type, content = excluded.content,
           length = excluded.length, facts = excluded.facts";
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        key.0,
        kind,
        stamp.0.cast_signed(),
        columns::time(*fetched),
        media_type,
        content.digest.0,
        content.length.cast_signed(),
        facts.to_bytes(),
    ])?;
    Ok(())
}

pub(super) fn kept_gone(
    connection: &Connection,
    partition: Partition,
    key: Key,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM kept WHERE partition = ?1 AND key = ?2";
    connection.prepare_cached(sql)?.execute(params![partition.bytes(), key.0])?;
    Ok(())
}

pub(super) fn put_written(
    connection: &Connection,
    written: &StoredChange,
) -> Result<(), StoreError> {
    let StoredChange { id, partition, is_sent, change } = written;
    let sql = "INSERT INTO written VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET
           partition = excluded.partition, is_sent = excluded.is_sent, change = excluded.change";
    let row = params![id.0.cast_signed(), partition.bytes(), is_sent, change.to_text()];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

pub(super) fn written_gone(
    connection: &Connection,
    ChangeId(id): ChangeId,
) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM written WHERE id = ?1")?.execute([id.cast_signed()])?;
    Ok(())
}

pub(super) fn all(connection: &Connection) -> Result<Rows, StoreError> {
    Ok(Rows {
        accounts: accounts(connection)?,
        kept: kept(connection)?,
        written: written(connection)?,
    })
}

fn accounts(connection: &Connection) -> Result<Vec<Account>, StoreError> {
    let mut accounts = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM account ORDER BY partition")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let (partition, interface) = (row.partition()?, row.parsed()?);
        let base = row.location()?;
        // These columns contain secrets, so errors do not quote them.
        let secret = |what| damaged(what, "a text");
        let sign_in: String = row.get()?;
        let sign_in = SignIn::of_text(&sign_in).ok_or_else(|| secret("a sign-in method"))?;
        let sessions: String = row.get()?;
        let sessions = serde_json::from_str(&sessions).map_err(|_| secret("a list of sessions"))?;
        let seen = row.time()?;
        accounts.push(Account { partition, interface, base, sign_in, sessions, seen });
    }
    Ok(accounts)
}

fn kept(connection: &Connection) -> Result<Vec<CachedResponse>, StoreError> {
    let mut all = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM kept ORDER BY partition, key")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        all.push(CachedResponse {
            partition: row.partition()?,
            key: Key(row.get()?),
            kind: row.small()?,
            stamp: ChangeId(row.number()?),
            fetched: row.time()?,
            media_type: row.get()?,
            content: row.content()?,
            facts: {
                let facts: Vec<u8> = row.get()?;
                Facts::of_bytes(&facts)
                    .ok_or_else(|| damaged("the content of a response", "a row"))?
            },
        });
    }
    Ok(all)
}

fn written(connection: &Connection) -> Result<Vec<StoredChange>, StoreError> {
    let mut all = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM written ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let (id, partition) = (ChangeId(row.number()?), row.partition()?);
        let (is_sent, change): (bool, String) = (row.get()?, row.get()?);
        let change = Change::of_text(&change).ok_or_else(|| damaged("a change", "a text"))?;
        all.push(StoredChange { id, partition, is_sent, change });
    }
    Ok(all)
}
