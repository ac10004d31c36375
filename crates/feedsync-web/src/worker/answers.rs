//! Responses to pages.

use std::time::{Duration, SystemTime};

use feedsync_bitsy::interceptor::{Content, Reply, ReplyBody, Stored};
use feedsync_bitsy::validation::strong_last_modified;
use feedsync_http::conditions::{Condition, condition, keep_not_modified};
use feedsync_http::range::{RequestedRange, Validators, part_headers, requested_range};
use http::header::ETAG;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::Worker;
use super::values::PageRequest;
use crate::codec::header_list;
use crate::engine::Circumstances;
use crate::store::ReadError;

impl Worker {
    /// Value of a response to a request: whole, in part, or 304 for a page that has the current version. A `part` is the
    /// first byte to send and the one after the last.
    pub(super) fn answer(
        &mut self,
        request: &PageRequest,
        reply: &Reply,
        with: Circumstances,
    ) -> Result<Value, ReadError> {
        let mut value = self.reply(reply, with)?;
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        if !is_read || reply.status != StatusCode::OK {
            return Ok(value);
        }
        let mut headers = reply.headers.clone();
        let mut change = |status: StatusCode, headers: &HeaderMap, is_empty: bool| {
            value["status"] = json!(status.as_u16());
            value["headers"] = header_list(headers);
            if is_empty {
                value["body"] = Value::Null;
            }
        };
        match condition(&request.headers, &headers) {
            Condition::Proceed => {}
            Condition::NotModified => {
                keep_not_modified(&mut headers);
                change(StatusCode::NOT_MODIFIED, &headers, true);
                return Ok(value);
            }
            Condition::Failed => {
                change(StatusCode::PRECONDITION_FAILED, &HeaderMap::new(), true);
                return Ok(value);
            }
        }
        let length = match &reply.shows {
            ReplyBody::Nothing => 0,
            ReplyBody::Text(text) => text.len() as u64,
            ReplyBody::Content(content) => content.length,
            ReplyBody::Composed(_) => self.composed.as_ref().map_or(0, Vec::len) as u64,
        };
        let modified = strong_last_modified(&headers);
        let modified =
            modified.map(|time| SystemTime::UNIX_EPOCH + Duration::from_millis(time.millis()));
        let validators = Validators { tag: reply.headers.get(ETAG), modified };
        let range = match request.method {
            Method::GET => requested_range(&request.headers, validators, length),
            _ => RequestedRange::Whole,
        };
        part_headers(&mut headers, &range, length);
        match range {
            RequestedRange::Whole => {}
            RequestedRange::Nothing => change(StatusCode::RANGE_NOT_SATISFIABLE, &headers, true),
            RequestedRange::Part(part) => {
                change(StatusCode::PARTIAL_CONTENT, &headers, false);
                value["part"] = json!([part.start, part.end]);
            }
        }
        Ok(value)
    }

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
