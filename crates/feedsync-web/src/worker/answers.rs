//! Responses to pages.

use feedsync_bitsy::interceptor::{Content, Reply, ReplyBody, Stored};
use http::{HeaderMap, StatusCode};
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
            ReplyBody::Content(content) => content_body(content),
            ReplyBody::Composed(composed) => {
                let bytes = self.engine.read(with, |_, cx| composed.bytes(cx.stored))?;
                let length = bytes.len();
                self.composed = Some(bytes);
                json!({ "composed": length })
            }
        };
        Ok(value(reply, body))
    }

    /// Value of the acknowledgement of an edit. It is built after the state has changed, so it reads nothing.
    pub(super) fn acknowledgement(reply: &Reply) -> Value {
        value(
            reply,
            match &reply.shows {
                ReplyBody::Nothing | ReplyBody::Composed(_) => Value::Null,
                ReplyBody::Text(text) => json!({ "text": text }),
                ReplyBody::Content(content) => content_body(content),
            },
        )
    }

    /// Value of the response of a server to an edit.
    pub(super) fn forwarded_reply(
        status: StatusCode,
        headers: &HeaderMap,
        content: &Content,
    ) -> Value {
        let headers = header_list(headers);
        json!({ "status": status.as_u16(), "headers": headers, "body": content_body(content) })
    }

    /// Bytes of a stored content that is loaded.
    pub(super) fn loaded(
        &self,
        content: &Content,
        with: Circumstances,
    ) -> Result<Vec<u8>, ReadError> {
        self.engine.read(with, |_, cx| cx.stored.content(content))
    }
}

fn content_body(content: &Content) -> Value {
    json!({ "content": content.digest.to_string(), "length": content.length })
}

fn value(reply: &Reply, body: Value) -> Value {
    let headers = header_list(&reply.headers);
    json!({ "status": reply.status.as_u16(), "headers": headers, "body": body })
}
