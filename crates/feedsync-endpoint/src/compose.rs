//! Payloads of items from plain text, dated by a clock.

use feedsync_core::{Format, ItemId, Payload, Timestamp};
use feedsync_formats::{Entry, ReviseError, Revision, compose, revise};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Returns the payload of a new item with a title and a content in plain text.
    pub fn compose(
        &self,
        format: Format,
        id: &ItemId,
        title: Option<String>,
        content: Option<String>,
    ) -> Payload {
        compose_dated(format, id, title, content, self.second())
    }

    /// Returns the payload with a revision applied and a new date. The payload is unchanged if the revision
    /// alters nothing but the date.
    pub fn revise(&self, payload: &Payload, revision: &Revision) -> Result<Payload, ReviseError> {
        revise_dated(payload, revision, self.second())
    }

    fn second(&self) -> Option<Timestamp> {
        self.environment.now().timestamp()
    }
}

/// Returns the payload of a new item with a title and a content in plain text, created at the given time.
pub fn compose_dated(
    format: Format,
    id: &ItemId,
    title: Option<String>,
    content: Option<String>,
    now: Option<Timestamp>,
) -> Payload {
    let entry = Entry {
        id: Some(format!("urn:uuid:{id}")),
        title,
        content,
        updated: now,
        published: now,
        ..Entry::default()
    };
    compose(format, &entry)
}

/// Returns the payload with a revision applied at the given time. The payload is unchanged if the revision
/// alters nothing but the date.
pub fn revise_dated(
    payload: &Payload,
    revision: &Revision,
    now: Option<Timestamp>,
) -> Result<Payload, ReviseError> {
    let undated = Revision { updated: None, ..revision.clone() };
    if revise(payload, &undated)? == *payload {
        return Ok(payload.clone());
    }
    revise(payload, &Revision { updated: now, ..undated })
}
