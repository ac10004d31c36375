//! Rows of icons.

use feedsync_log::Millis;
use rusqlite::{Connection, params};

use super::columns::{Columns, moment};
use crate::library::error::LibraryError;
use crate::library::icon::{Icon, Origin, StoredIcon};

pub(super) fn icon(
    connection: &Connection,
    origin: &Origin,
) -> Result<Option<StoredIcon>, LibraryError> {
    let sql = "SELECT checked, media_type, bytes FROM icons WHERE origin = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([origin.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    let checked = columns.moment()?;
    let (media_type, bytes): (Option<String>, Option<Vec<u8>>) = (columns.get()?, columns.get()?);
    let icon = media_type.zip(bytes).map(|(media_type, bytes)| Icon { media_type, bytes });
    Ok(Some(StoredIcon { checked, icon }))
}

pub(super) fn set(
    connection: &Connection,
    origin: &Origin,
    icon: Option<&Icon>,
    now: Millis,
) -> Result<(), LibraryError> {
    let (media_type, bytes) = icon.map(|icon| (&icon.media_type, &icon.bytes)).unzip();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO icons (origin, checked, media_type, bytes)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![origin.as_str(), moment(now), media_type, bytes])?;
    Ok(())
}
