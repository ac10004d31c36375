//! Rows of open errors, edits that are shown until their feed contains them, addresses that members were given,
//! the network policy, and the counters.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::{ErrorId, Interaction, SyncError};
use feedsync_bitsy::interceptor::{Content, Counters, OverlayEdit, Policy};
use feedsync_bitsy::location::Location;
use rusqlite::{Connection, params};

use super::columns::{self, Columns, damaged};
use super::error::StoreError;

pub(super) fn put_error(
    connection: &Connection,
    error: &SyncError<Option<Content>>,
) -> Result<(), StoreError> {
    let interaction = &error.interaction;
    let (request, response) = (&interaction.request_body, &interaction.response_body);
    let sql = "INSERT INTO error VALUES
         (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    error_gone(connection, error.id)?;
    connection.prepare_cached(sql)?.execute(params![
        error.id.0.cast_signed(),
        error.partition.bytes(),
        error.feed.as_str(),
        interaction.status.as_u16(),
        columns::time(interaction.time),
        interaction.location.as_str(),
        interaction.method,
        columns::headers_out(&interaction.request_headers),
        columns::digest(request.as_ref()),
        columns::length(request.as_ref()),
        columns::headers_out(&interaction.response_headers),
        columns::digest(response.as_ref()),
        columns::length(response.as_ref()),
        columns::digest(error.previous.as_ref()),
        columns::length(error.previous.as_ref()),
    ])?;
    Ok(())
}

pub(super) fn error_gone(connection: &Connection, ErrorId(id): ErrorId) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM error WHERE id = ?1")?.execute([id.cast_signed()])?;
    Ok(())
}

pub(super) fn errors(
    connection: &Connection,
) -> Result<Vec<SyncError<Option<Content>>>, StoreError> {
    let mut errors = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM error ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let id = ErrorId(row.number()?);
        let (partition, feed) = (row.partition()?, row.location()?);
        let status: u16 = row.small()?;
        let interaction = Interaction {
            status: http::StatusCode::from_u16(status).map_err(|_| damaged("a status", status))?,
            time: row.time()?,
            location: row.location()?,
            method: row.get()?,
            request_headers: row.headers()?,
            request_body: row.optional_content()?,
            response_headers: row.headers()?,
            response_body: row.optional_content()?,
        };
        let previous = row.optional_content()?;
        errors.push(SyncError { id, partition, feed, interaction, previous });
    }
    Ok(errors)
}

pub(super) fn put_shown(connection: &Connection, shown: &OverlayEdit) -> Result<(), StoreError> {
    let sql = "INSERT INTO shown VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (place) DO UPDATE SET
           partition = excluded.partition, feed = excluded.feed, resource = excluded.resource,
           pending = excluded.pending, headers = excluded.headers, body = excluded.body,
           body_length = excluded.body_length, generation = excluded.generation";
    let content = shown.entity.as_ref().map(|entity| &entity.content);
    connection.prepare_cached(sql)?.execute(params![
        shown.place.cast_signed(),
        shown.partition.bytes(),
        shown.feed.as_str(),
        shown.resource.as_str(),
        shown.pending.as_ref().map(Location::as_str),
        shown.entity.as_ref().map(|entity| columns::headers_out(&entity.headers)),
        columns::digest(content),
        columns::length(content),
        shown.generation.cast_signed(),
    ])?;
    Ok(())
}

pub(super) fn shown_gone(connection: &Connection, place: u64) -> Result<(), StoreError> {
    let place = place.cast_signed();
    connection.prepare_cached("DELETE FROM shown WHERE place = ?1")?.execute([place])?;
    Ok(())
}

pub(super) fn shown(connection: &Connection) -> Result<Vec<OverlayEdit>, StoreError> {
    let mut shown = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM shown ORDER BY place")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        shown.push(OverlayEdit {
            place: row.number()?,
            partition: row.partition()?,
            feed: row.location()?,
            resource: row.location()?,
            pending: row.optional_location()?,
            entity: row.optional_entity()?,
            generation: row.number()?,
        });
    }
    Ok(shown)
}

pub(super) fn put_named(
    connection: &Connection,
    partition: Partition,
    pending: &Location,
    member: Option<&Location>,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO named VALUES (?1, ?2, ?3)
         ON CONFLICT (partition, pending) DO UPDATE SET member = excluded.member";
    let member = member.map(Location::as_str);
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        pending.as_str(),
        member
    ])?;
    Ok(())
}

pub(super) fn named_gone(
    connection: &Connection,
    partition: Partition,
    pending: &Location,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM named WHERE partition = ?1 AND pending = ?2";
    connection.prepare_cached(sql)?.execute(params![partition.bytes(), pending.as_str()])?;
    Ok(())
}

pub(super) fn named(
    connection: &Connection,
) -> Result<Vec<(Partition, Location, Option<Location>)>, StoreError> {
    let mut named = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM named ORDER BY partition, pending")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        named.push((row.partition()?, row.location()?, row.optional_location()?));
    }
    Ok(named)
}

pub(super) fn put_policy(connection: &Connection, policy: Policy) -> Result<(), StoreError> {
    let is_offline = policy == Policy::Offline;
    connection.prepare_cached("UPDATE policy SET is_offline = ?1")?.execute([is_offline])?;
    Ok(())
}

pub(super) fn policy(connection: &Connection) -> Result<Policy, StoreError> {
    let is_offline = connection.query_row("SELECT is_offline FROM policy", [], |row| row.get(0))?;
    Ok(if is_offline { Policy::Offline } else { Policy::Auto })
}

pub(super) fn put_counters(connection: &Connection, next: Counters) -> Result<(), StoreError> {
    let Counters { stored_subscription, holder, edit, error, shown, generation } = next;
    let sql = "UPDATE counters SET keeping = ?1, holder = ?2, edit = ?3, error = ?4, shown = ?5,
         generation = ?6";
    let places =
        [stored_subscription, holder, edit, error, shown, generation].map(u64::cast_signed);
    connection.prepare_cached(sql)?.execute(places)?;
    Ok(())
}

pub(super) fn counters(connection: &Connection) -> Result<Counters, StoreError> {
    let sql = "SELECT keeping, holder, edit, error, shown, generation FROM counters";
    let places: [i64; 6] = connection.query_row(sql, [], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?])
    })?;
    let [stored_subscription, holder, edit, error, shown, generation] =
        places.map(i64::cast_unsigned);
    Ok(Counters { stored_subscription, holder, edit, error, shown, generation })
}
