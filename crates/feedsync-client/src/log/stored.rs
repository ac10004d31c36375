//! A log of this endpoint, accessed without HTTP: with the same conditions and responses.

use async_trait::async_trait;
use feedsync_endpoint::Endpoint;
use feedsync_log::{Condition, LogRequest, LogResponse, Range, Read};
use feedsync_store::{
    Append, CollectionName, Expected, Log, LogOutcome, LogPosition, NewGeneration, NewSnapshot,
    StoreError,
};

use super::{LogAccess, LogError, RECORDS_MEDIA_TYPE};

/// The log of a collection.
#[derive(Clone)]
pub struct StoredLog {
    endpoint: Endpoint,
    collection: CollectionName,
    /// Maximum size of the log in bytes.
    most: u64,
}

impl StoredLog {
    /// Creates the log of a collection of an endpoint.
    pub fn new(endpoint: Endpoint, collection: CollectionName, most: u64) -> Self {
        Self { endpoint, collection, most }
    }

    async fn read(&self, read: &Read) -> Result<LogResponse, StoreError> {
        let Some(log) = self.endpoint.log(&self.collection).await? else { return Ok(refused(404)) };
        if log.removed {
            return Ok(refused(410));
        }
        let length = log.place.length;
        if read.unless.as_ref() == Some(&tag(log.place)) {
            return Ok(of(304, log.place));
        }
        let (start, end) = match read.range {
            Range::From { offset, most } => (offset, offset.saturating_add(most).min(length)),
            Range::Last(most) => (length.saturating_sub(most), length),
        };
        let nothing =
            LogResponse { content_range: Some(format!("bytes */{length}")), ..of(416, log.place) };
        if start >= end {
            return Ok(nothing);
        }
        let most = usize::try_from(end - start).unwrap_or(usize::MAX);
        let bytes =
            self.endpoint.read_log(&self.collection, log.place.generation, start, most).await?;
        let Some(body) = bytes else { return Ok(refused(0)) };
        Ok(LogResponse {
            content_range: Some(format!("bytes {start}-{}/{length}", end - 1)),
            body,
            ..of(206, log.place)
        })
    }

    fn answer(outcome: LogOutcome) -> LogResponse {
        match outcome {
            LogOutcome::Done(log) => of(204, log.place),
            LogOutcome::Repeated { end, .. } => of(204, end),
            LogOutcome::KeyReused => refused(422),
            LogOutcome::PositionMismatch(log) => of(412, log.place),
            LogOutcome::Absent(Some(Log { removed: true, .. })) => refused(410),
            LogOutcome::Absent(_) => refused(404),
            LogOutcome::Full { .. } => refused(507),
            LogOutcome::NotCovered(log) => of(409, log.place),
        }
    }
}

#[async_trait]
impl LogAccess for StoredLog {
    fn name(&self) -> String {
        self.collection.to_string()
    }

    async fn ask(&self, ask: &LogRequest) -> Result<LogResponse, LogError> {
        match ask {
            LogRequest::Read(read) => Ok(self.read(read).await?),
            LogRequest::Snapshot => {
                let snapshot = self.endpoint.log_snapshot(&self.collection).await?;
                let answer = snapshot.map(|(snapshot, body)| LogResponse {
                    covers: Some(snapshot.covers.to_string()),
                    body,
                    ..refused(200)
                });
                Ok(answer.unwrap_or_else(|| refused(404)))
            }
            LogRequest::Append(append) => {
                let expected = match &append.condition {
                    Condition::Present => Expected::Present,
                    Condition::Absent => Expected::Absent,
                    Condition::Match(tag) => expected(tag),
                    // Its tags are strong, so this condition is not needed.
                    Condition::Length(_) => return Ok(refused(428)),
                };
                let append = Append {
                    expected,
                    bytes: append.body.clone(),
                    media_type: RECORDS_MEDIA_TYPE.to_owned(),
                    key: Some(append.key.clone()),
                    most: self.most,
                    act: None,
                };
                let outcome = self.endpoint.append_to_log(&self.collection, append).await?;
                Ok(Self::answer(outcome))
            }
        }
    }

    async fn put_snapshot(&self, covers: &str, bytes: Vec<u8>) -> Result<LogResponse, LogError> {
        let Ok(covers) = covers.parse() else { return Ok(refused(400)) };
        let new = NewSnapshot { covers, media_type: RECORDS_MEDIA_TYPE.to_owned(), bytes };
        Ok(Self::answer(self.endpoint.put_log_snapshot(&self.collection, new).await?))
    }

    async fn begin_generation(&self, tag: &str, bytes: Vec<u8>) -> Result<LogResponse, LogError> {
        let new = NewGeneration { expected: expected(tag), bytes, most: self.most, act: None };
        Ok(Self::answer(self.endpoint.begin_log_generation(&self.collection, new).await?))
    }
}

fn tag(place: LogPosition) -> String {
    format!("\"{place}\"")
}

/// Parses a tag. An invalid one matches no position.
fn expected(tag: &str) -> Expected {
    Expected::At(tag.trim_matches('"').parse().into_iter().collect())
}

fn of(status: u16, place: LogPosition) -> LogResponse {
    LogResponse {
        etag: Some(tag(place)),
        generation: Some(place.generation.to_string()),
        ..refused(status)
    }
}

fn refused(status: u16) -> LogResponse {
    LogResponse { status, ended: true, ..LogResponse::default() }
}
