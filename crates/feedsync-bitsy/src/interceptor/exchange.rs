//! Requests with their responses, and their form in events for applications.

use http::{HeaderMap, Method, StatusCode, header};

use crate::event::Interaction;
use crate::headers::AUTHORIZATION;
use crate::interceptor::step::Task;
use crate::interceptor::stored::Content;
use crate::propagation;
use crate::time::Time;

/// A request and its response, for events.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) task: &'a Task,
    /// Time at which the request was made.
    pub(crate) requested: Time,
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) content: Content,
}

/// Response of a server.
#[derive(Clone, Copy)]
pub(crate) struct ServerResponse<'a> {
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) content: Content,
}

impl<'a> Exchange<'a> {
    /// The response of the exchange.
    pub(crate) fn response(&self) -> ServerResponse<'a> {
        ServerResponse { status: self.status, headers: self.headers, content: self.content }
    }

    /// Whether the request named the validators of the stored response.
    pub(crate) fn is_conditional(&self) -> bool {
        let conditions = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
        conditions.iter().any(|condition| self.task.headers.contains_key(condition))
    }

    /// The exchange in the form of events for applications.
    pub(crate) fn interaction(&self, now: Time) -> Interaction<Option<Content>> {
        Interaction {
            status: self.status,
            time: now,
            location: self.task.location.clone(),
            method: self.task.method.to_string(),
            request_headers: without_secrets(&self.task.headers),
            request_body: self.task.body,
            response_headers: self.headers.clone(),
            response_body: Some(self.content),
        }
    }
}

pub(crate) const fn method(method: propagation::Method) -> Method {
    match method {
        propagation::Method::Post => Method::POST,
        propagation::Method::Put => Method::PUT,
        propagation::Method::Delete => Method::DELETE,
    }
}

/// Request headers without those that identify an application.
pub(crate) fn without_secrets(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in AUTHORIZATION {
        headers.remove(name);
    }
    headers
}
