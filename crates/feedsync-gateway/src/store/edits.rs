//! Pending edits.

use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{Content, Entity};
use feedsync_bitsy::outbox::{Edit, EditId, NewEdit, Progress, Stall};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::time::Time;
use http::StatusCode;
use rusqlite::{Connection, params};

use super::columns::{self, Columns, damaged};
use super::error::StoreError;

const PUT: &str = "INSERT INTO edit VALUES
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
      ?22, ?23, ?24)
     ON CONFLICT (id) DO UPDATE SET
       partition = excluded.partition, method = excluded.method, location = excluded.location,
       feed = excluded.feed, resource = excluded.resource, line = excluded.line,
       base = excluded.base, is_conditional = excluded.is_conditional, was_headers = excluded.was_headers, was = excluded.was,
       was_length = excluded.was_length, body_headers = excluded.body_headers,
       body = excluded.body, body_length = excluded.body_length, slug = excluded.slug,
       generation = excluded.generation, key = excluded.key, tries = excluded.tries, progress = excluded.progress,
       until = excluded.until, status = excluded.status, since = excluded.since,
       error = excluded.error";

pub(super) fn put(connection: &Connection, edit: &Edit<Entity>) -> Result<(), StoreError> {
    let requested = &edit.requested;
    let headers = |entity: Option<&Entity>| entity.map(|it| columns::headers_out(&it.headers));
    let content = |entity: Option<&Entity>| entity.map(|it| it.content);
    let (previous, body) = (requested.previous.as_ref(), requested.body.as_ref());
    let (was_content, body_content): (Option<Content>, Option<Content>) =
        (content(previous), content(body));
    let (progress, until) = progress_out(&edit.progress);
    connection.prepare_cached(PUT)?.execute(params![
        edit.id.0.cast_signed(),
        requested.partition.bytes(),
        method_out(requested.method),
        requested.location.as_str(),
        requested.feed.as_str(),
        requested.resource.as_str(),
        requested.queue.as_str(),
        requested.base,
        requested.is_conditional,
        headers(previous),
        columns::digest(was_content.as_ref()),
        columns::length(was_content.as_ref()),
        headers(body),
        columns::digest(body_content.as_ref()),
        columns::length(body_content.as_ref()),
        requested.slug,
        requested.generation.cast_signed(),
        requested.key,
        edit.tries,
        progress,
        until,
        edit.stall.map(|stall| stall.status.as_u16()),
        edit.stall.map(|stall| columns::time(stall.since)),
        edit.stall.and_then(|stall| stall.error).map(|error| error.0.cast_signed()),
    ])?;
    Ok(())
}

pub(super) fn gone(connection: &Connection, EditId(id): EditId) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM edit WHERE id = ?1")?.execute([id.cast_signed()])?;
    Ok(())
}

pub(super) fn all(connection: &Connection) -> Result<Vec<Edit<Entity>>, StoreError> {
    let mut edits = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM edit ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let id = EditId(row.number()?);
        let requested = NewEdit {
            partition: row.partition()?,
            method: method_in(&row.get::<String>()?)?,
            location: row.location()?,
            feed: row.location()?,
            resource: row.location()?,
            queue: row.location()?,
            base: row.get()?,
            is_conditional: row.get()?,
            previous: row.optional_entity()?,
            body: row.optional_entity()?,
            slug: row.get()?,
            generation: row.number()?,
            key: row.get()?,
        };
        let tries = row.small()?;
        let progress = row.get::<String>()?;
        let progress = match (&*progress, row.optional_time()?) {
            ("queued", _) => Progress::Queued,
            ("sent", _) => Progress::Sent,
            ("doubtful", _) => Progress::Doubtful,
            ("accepted", _) => Progress::Accepted,
            ("held", _) => Progress::Held,
            ("waiting", Some(until)) => Progress::Waiting { until },
            _ => return Err(damaged("the state of an edit", progress)),
        };
        let stall = stall(row.get()?, row.optional_time()?, row.get()?)?;
        edits.push(Edit { id, requested, tries, progress, stall });
    }
    Ok(edits)
}

fn stall(
    status: Option<u16>,
    since: Option<Time>,
    error: Option<i64>,
) -> Result<Option<Stall>, StoreError> {
    let Some((status, since)) = status.zip(since) else { return Ok(None) };
    let status = StatusCode::from_u16(status).map_err(|_| damaged("a status", status))?;
    Ok(Some(Stall { status, since, error: error.map(|error| ErrorId(error.cast_unsigned())) }))
}

fn progress_out(progress: &Progress) -> (&'static str, Option<i64>) {
    match progress {
        Progress::Queued => ("queued", None),
        Progress::Sent => ("sent", None),
        Progress::Doubtful => ("doubtful", None),
        Progress::Accepted => ("accepted", None),
        Progress::Held => ("held", None),
        Progress::Waiting { until } => ("waiting", Some(columns::time(*until))),
    }
}

const fn method_out(method: Method) -> &'static str {
    match method {
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    }
}

fn method_in(text: &str) -> Result<Method, StoreError> {
    let mut methods = [Method::Post, Method::Put, Method::Delete].into_iter();
    let method = methods.find(|method| method_out(*method) == text);
    method.ok_or_else(|| damaged("a method of an edit", text))
}
