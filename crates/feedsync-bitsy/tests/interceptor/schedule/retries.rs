//! Headers of edits. Each edit has its own content type, which every request that sends it must have, also when an
//! application retries it from an error.

use feedsync_bitsy::event::ErrorId;
use http::Method;
use http::header::{self, HeaderMap, HeaderValue};

use super::World;
use crate::origin::words;

/// Headers of an application's request that makes an edit with these words.
pub(super) fn headers_of(words: &str) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, content_type(words))])
}

/// Checks that a request has the content type of the edit that it sends.
pub(super) fn check_headers(method: &Method, headers: &HeaderMap, body: &[u8]) {
    if matches!(*method, Method::POST | Method::PUT) {
        let words = words(body);
        assert_eq!(headers.get(header::CONTENT_TYPE), Some(&content_type(&words)), "{words}");
    }
}

fn content_type(words: &str) -> HeaderValue {
    HeaderValue::try_from(format!("application/atom+xml;type=entry;words={words}")).unwrap()
}

impl World {
    /// Applications retry all edits that became errors. [`check_headers`] checks the requests that leave.
    pub(super) fn retry_errors(&mut self) {
        let mut is_any = false;
        for gateway in 0..self.gateways.len() {
            let errors = self.gateways[gateway].state.errors();
            let errors: Vec<ErrorId> = errors.all().map(|error| error.id).collect();
            for error in errors {
                let Ok(retried) = self.gateways[gateway].retry(error, error.0.into(), self.now);
                // An error that is not about an edit, or is about one of a missing member, cannot be retried.
                if let Ok(step) = retried {
                    self.gateways[gateway].write(&step);
                    is_any = true;
                }
            }
        }
        if is_any {
            self.lull();
        }
    }
}
