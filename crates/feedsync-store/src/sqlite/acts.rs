//! Rows of the audit record.

use rusqlite::{Connection, Row, params};

use super::rows::optional;
use crate::columns::moment;
use crate::error::StoreError;
use crate::name::{CollectionName, UserName};
use crate::order::Moment;
use crate::people::{AuditAction, AuditEntry};

/// Writes an entry into the audit record.
pub(super) fn insert_act(
    connection: &Connection,
    at: Moment,
    act: &AuditAction,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO acts (at, user, address, action, collection, item, detail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            at,
            act.user.as_ref().map(UserName::as_str),
            act.address,
            act.action,
            act.collection.as_ref().map(CollectionName::as_str),
            act.item.as_ref().map(feedsync_core::ItemId::as_str),
            act.detail,
        ])?;
    Ok(())
}

/// Reads an entry: its position, its moment, and the columns that [`insert_act`] writes.
pub(super) fn recorded(row: &Row<'_>) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        place: row.get::<_, i64>(0)? as u64,
        at: moment(row.get(1)?),
        act: AuditAction {
            user: optional(row, 2)?,
            address: row.get(3)?,
            action: row.get(4)?,
            collection: optional(row, 5)?,
            item: optional(row, 6)?,
            detail: row.get(7)?,
        },
    })
}
