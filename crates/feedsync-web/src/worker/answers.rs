//! Responses to pages.

use feedsync_bitsy::interceptor::{Reply, ReplyBody, Stored};
use serde_json::{Value, json};

use super::Worker;
use crate::codec::header_list;
use crate::engine::Circumstances;
use crate::store::ReadError;

impl Worker {
    /// Value of a response: its status, its headers, and its body: a text, a stored content, or composed bytes that the
    /// script takes. A composed document is complete only once all its parts are loaded.
    pub(super) fn reply(&mut self, reply: &Reply, with: Circumstances) -> Result<Value, ReadError> {
        let body = match &reply.shows {
            ReplyBody::Nothing => Value::Null,
            ReplyBody::Text(text) => json!({ "text": text }),
            ReplyBody::Content(content) => {
                // Small contents are loaded, so that the script need not look for them.
                json!({ "content": content.digest.to_string(), "length": content.length })
            }
            ReplyBody::Composed(composed) => {
                let bytes = self.engine.read(with, |_, cx| composed.bytes(cx.stored))?;
                let length = bytes.len();
                self.composed = Some(bytes);
                json!({ "composed": length })
            }
        };
        let headers = header_list(&reply.headers);
        Ok(json!({ "status": reply.status.as_u16(), "headers": headers, "body": body }))
    }

    /// Bytes of a stored content that is loaded.
    pub(super) fn loaded(
        &self,
        content: &feedsync_bitsy::interceptor::Content,
        with: Circumstances,
    ) -> Result<Vec<u8>, ReadError> {
        self.engine.read(with, |_, cx| cx.stored.content(content))
    }
}
