//! Appending to the end of a log, atomically (LR34 to LR38).

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use feedsync_store::{Append, CollectionName, Expected, LogOutcome, LogPosition, StoreError};
use http::{HeaderMap, HeaderName, StatusCode, header};

use super::conditions::{ContentRange, key, required};
use super::content::{check_records, media_type, same_type};
use super::position::{absent, conflict, position_headers, refused};
use super::{known, path};
use crate::access::call::Call;
use crate::access::{Right, creation, quotas};
use crate::http::problem::Problem;
use crate::http::response::{insert, nothing};
use crate::http::submissions;
use crate::hub::Hub;

/// Position of the appended bytes: the offset of the first byte, and the length of the log after the
/// last.
const OFFSET: HeaderName = HeaderName::from_static("log-offset");

/// An append whose body was not received yet.
pub(super) struct AppendRequest {
    name: CollectionName,
    expected: Expected,
    key: Option<String>,
    media_type: String,
    part: Option<ContentRange>,
}

impl AppendRequest {
    /// Reads an append from a request, for the part of the log that it names, if it names one.
    pub(super) fn of(
        call: &Call,
        expected: Expected,
        part: Option<ContentRange>,
    ) -> Result<Self, Problem> {
        if part.is_some() && !names_one_position(&call.headers, &expected) {
            return Err(required());
        }
        // Equal keys of two users are different keys.
        let user = call.principal.user().map(|user| user.as_str()).unwrap_or_default();
        let key = key(&call.headers)?.map(|key| format!("{user} {key}"));
        let media_type = media_type(&call.headers)?;
        Ok(Self { name: call.bare_collection_name()?, expected, key, media_type, part })
    }

    /// Receives the body and appends it.
    pub(super) async fn carry_out(
        self,
        hub: &Hub,
        call: &Call,
        body: Body,
    ) -> Result<Response, Problem> {
        match known(hub, &self.name).await? {
            Some(log) if !log.removed => {
                same_type(&log, &self.media_type)?;
                if self.is_misplaced() {
                    let detail = "the start of Content-Range must be the length of the log that \
                    If-Match names";
                    return Err(conflict(detail, log.place));
                }
            }
            log if self.expected != Expected::Absent => {
                return Err(absent(&self.name, log.as_ref()));
            }
            _ => {}
        }
        let limits = &hub.config.limits;
        let most = limits.log_append_bytes.min(limits.log_bytes);
        let (_permit, bytes) = submissions::read(hub, call, body, most).await?;
        if let Some(part) = self.part.filter(|part| part.length != bytes.len() as u64) {
            return Err(Problem::bad_request(format!(
                "Content-Range declares {} bytes, but the body has {}",
                part.length,
                bytes.len()
            )));
        }
        check_records(&bytes, limits.log_record_bytes)?;
        let length = bytes.len() as u64;
        let no_room = match known(hub, &self.name).await? {
            Some(_) => quotas::log(hub, &self.name, length).await.err(),
            None => {
                quotas::new_log(hub, &call.principal, length).await?;
                None
            }
        };
        let append = Append {
            expected: self.expected.clone(),
            bytes,
            media_type: self.media_type.clone(),
            key: self.key.clone(),
            // An earlier append is confirmed, and a wrong position reported, even if the quota is
            // exhausted.
            most: if no_room.is_none() { limits.log_bytes as u64 } else { 0 },
            act: None,
        };
        match self.append(hub, call, append).await? {
            LogOutcome::Done(log) => {
                Ok(self.answer(call, log.place.length.saturating_sub(length), log.place))
            }
            LogOutcome::Repeated { start, end } => Ok(self.answer(call, start, end)),
            full @ LogOutcome::Full { .. } => {
                Err(no_room.unwrap_or_else(|| refused(&self.name, full)))
            }
            other => Err(refused(&self.name, other)),
        }
    }

    /// Whether a part does not begin at the expected end of the log.
    fn is_misplaced(&self) -> bool {
        match (&self.part, &self.expected) {
            (Some(part), Expected::At(places)) => {
                places.iter().any(|place| place.length != part.start)
            }
            _ => false,
        }
    }

    /// Appends. A new log without a collection creates it, if the principal may.
    async fn append(&self, hub: &Hub, call: &Call, append: Append) -> Result<LogOutcome, Problem> {
        let endpoint = call.endpoint(hub);
        loop {
            if self.expected == Expected::Absent {
                // The collection may have got another owner while the body was received.
                hub.access.recheck(&call.principal, Right::Append, Some(&self.name)).await?;
            }
            match endpoint.append_to_log(&self.name, append.clone()).await {
                Err(StoreError::NoCollection(_)) if self.expected == Expected::Absent => {
                    hub.access.recheck(&call.principal, Right::Create, Some(&self.name)).await?;
                    creation::create_default(hub, call, &self.name).await?;
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Response to an append, and the same response to its repetition (LR38).
    fn answer(&self, call: &Call, start: u64, end: LogPosition) -> Response {
        let mut headers = position_headers(end);
        insert(&mut headers, OFFSET, &format!("{start}-{}", end.length));
        let status = if self.expected == Expected::Absent && start == 0 {
            insert(&mut headers, header::LOCATION, &call.base.url(&path(&self.name)));
            StatusCode::CREATED
        } else {
            StatusCode::NO_CONTENT
        };
        (status, headers, nothing()).into_response()
    }
}

/// Whether a condition is exactly one tag, known or not.
fn names_one_position(headers: &HeaderMap, expected: &Expected) -> bool {
    let tags = feedsync_http::listed_tags(headers, header::IF_MATCH).count();
    matches!(expected, Expected::At(_)) && tags == 1
}
