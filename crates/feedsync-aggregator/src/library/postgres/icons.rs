//! Rows of icons.

use feedsync_log::Millis;
use feedsync_store::postgres_support::Transaction;

use super::columns::Columns;
use crate::library::error::LibraryError;
use crate::library::icon::{Icon, Origin, StoredIcon};
use crate::library::stored::moment;

pub(super) async fn icon(
    transaction: &Transaction<'_>,
    origin: &Origin,
) -> Result<Option<StoredIcon>, LibraryError> {
    let sql = "SELECT checked, media_type, bytes FROM icons WHERE origin = $1";
    let statement = transaction.prepare_cached(sql).await?;
    let Some(row) = transaction.query_opt(&statement, &[&origin.as_str()]).await? else {
        return Ok(None);
    };
    let mut columns = Columns::of(&row);
    let checked = columns.moment()?;
    let (media_type, bytes): (Option<String>, Option<Vec<u8>>) = (columns.get()?, columns.get()?);
    let icon = media_type.zip(bytes).map(|(media_type, bytes)| Icon { media_type, bytes });
    Ok(Some(StoredIcon { checked, icon }))
}

pub(super) async fn set(
    transaction: &Transaction<'_>,
    origin: &Origin,
    icon: Option<&Icon>,
    now: Millis,
) -> Result<(), LibraryError> {
    let media_type = icon.map(|icon| icon.media_type.replace('\0', "\u{fffd}"));
    let bytes = icon.map(|icon| &*icon.bytes);
    let sql = "INSERT INTO icons (origin, checked, media_type, bytes) VALUES ($1, $2, $3, $4)
               ON CONFLICT (origin) DO UPDATE SET checked = excluded.checked,
                 media_type = excluded.media_type, bytes = excluded.bytes";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&origin.as_str(), &moment(now), &media_type, &bytes]).await?;
    Ok(())
}
