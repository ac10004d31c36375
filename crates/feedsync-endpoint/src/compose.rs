//! What a person types, as the payload of an item: dated by this endpoint's clock.

use feedsync::{Format, ItemId, Payload, Timestamp};
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
        let now = self.second();
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

    /// The payload revised and dated; the same if the revision changes nothing but the date.
    pub fn revise(&self, payload: &Payload, revision: &Revision) -> Result<Payload, ReviseError> {
        let undated = Revision { updated: None, ..revision.clone() };
        if revise(payload, &undated)? == *payload {
            return Ok(payload.clone());
        }
        revise(payload, &Revision { updated: self.second(), ..undated })
    }

    fn second(&self) -> Option<Timestamp> {
        self.environment.now().timestamp()
    }
}
