//! The bytes of an item as content, in whatever format they are.

use feedsync_core::{Format, Payload};

use super::{Content, ContentError, Target};

impl Content for Payload {
    const FORMAT: Format = Format::Json;

    fn read(payload: &Payload) -> Result<Self, ContentError> {
        Ok(payload.clone())
    }

    fn write(&self, _target: &Target<'_>) -> Result<Payload, ContentError> {
        Ok(self.clone())
    }
}
