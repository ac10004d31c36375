mod appending;
mod batches;
mod foreign;
mod generations;
mod pauses;
mod proofs;
mod reading;
mod replaced;
mod torn;

use super::*;
use crate::header::{Base, Header};

const ONE: &str = "{\"v\":1,\"id\":\"a:1\"}\n";
const TWO: &str = "{\"v\":1,\"id\":\"b:1\"}\n";

fn at(text: &str, etag: Option<&str>) -> Position {
    Position {
        offset: text.len() as u64,
        etag: etag.map(str::to_owned),
        overlap: overlap_of(text.as_bytes()),
        ..Position::default()
    }
}

/// A position on a server that supports generations.
fn of_generation(generation: &str, length: u64) -> Position {
    Position {
        offset: length,
        etag: Some(format!("\"{generation}-{length}\"")),
        generation: Some(generation.to_owned()),
        overlap: ONE.to_owned(),
        ..Position::default()
    }
}

fn resumed(position: Position) -> Session {
    Session::new(Some(position), Start::Whole)
}

fn part(start: u64, body: &str, complete: u64, etag: &str) -> LogResponse {
    let last = start + body.len() as u64 - 1;
    LogResponse {
        status: 206,
        etag: Some(etag.to_owned()),
        content_range: Some(format!("bytes {start}-{last}/{complete}")),
        body: body.into(),
        ended: true,
        ..LogResponse::default()
    }
}

fn whole(start: u64, body: &str) -> LogResponse {
    let etag = Some("\"w\"".to_owned());
    LogResponse {
        status: 200,
        etag,
        start,
        body: body.into(),
        ended: true,
        ..LogResponse::default()
    }
}

fn status(status: u16) -> LogResponse {
    LogResponse { status, ended: true, ..LogResponse::default() }
}

fn lines(text: &str) -> Event {
    Event::Lines(text.into())
}

/// Makes the next request and passes the response to the session.
fn answer(session: &mut Session, answer: LogResponse) -> Event {
    let ask = session.next(&[]).expect("something to ask for");
    session.handle_response(&ask, answer, 1)
}

fn read(session: &Session) -> Read {
    match session.next(&[]) {
        Some(LogRequest::Read(read)) => read,
        other => panic!("{other:?}"),
    }
}

fn append(session: &Session, waiting: &[PendingRecord<'_>]) -> Append {
    match session.next(waiting) {
        Some(LogRequest::Append(append)) => append,
        other => panic!("{other:?}"),
    }
}

/// Waiting records whose lines have a fixed length.
fn waiting(ids: &[RecordId]) -> Vec<PendingRecord<'_>> {
    ids.iter().map(|id| PendingRecord { id, line: TWO }).collect()
}

fn ids(count: u64) -> Vec<RecordId> {
    (1..=count).map(|sequence| RecordId { device: "b".parse().unwrap(), sequence }).collect()
}
