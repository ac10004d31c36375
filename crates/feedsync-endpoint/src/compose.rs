//! Payloads of items from typed text, dated by a clock.

use feedsync_core::{Format, ItemId, Payload, Timestamp};
use feedsync_formats::{Entry, ReviseError, Revision, compose, revise};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// The payload of a new item with a title and a content in plain text.
    pub fn compose(
        &self,
        format: Format,
        id: &ItemId,
        title: Option<String>,
        content: Option<String>,
    ) -> Payload {
        compose_dated(format, id, title, content, self.second())
    }

    /// The payload revised and dated; the same if the revision changes nothing but the date.
    pub fn revise(&self, payload: &Payload, revision: &Revision) -> Result<Payload, ReviseError> {
        revise_dated(payload, revision, self.second())
    }

    fn second(&self) -> Option<Timestamp> {
        self.environment.now().timestamp()
    }
}

/// The payload of a new item with a title and a content in plain text, created at that time.
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

/// The payload revised at that time; the same if the revision changes nothing but the date.
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
