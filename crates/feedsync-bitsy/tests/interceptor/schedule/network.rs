//! The network between gateways and servers. It loses requests and responses, and servers fail.

use feedsync_bitsy::interceptor::Outcome;
use feedsync_bitsy::location::Location;
use feedsync_bitsy::profile::Profile;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;

use super::{World, retries};
use crate::origin::{Answer, words};

/// Statuses of servers that fail.
const FAILURES: [u16; 14] = [400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504, 507];

impl World {
    /// Sends a request over the network, and returns its result.
    pub(super) fn network(
        &mut self,
        gateway: usize,
        (method, location): (&Method, &Location),
        headers: &HeaderMap,
        body: &[u8],
    ) -> Outcome {
        retries::check_headers(method, headers, body);
        let before = self.origin.log.len();
        let outcome = self.on_the_way(gateway, (method, location), headers, body);
        self.trace(|| {
            let what = match &outcome {
                Outcome::ServerResponse { status, .. } => status.to_string(),
                lost => format!("{lost:?}"),
            };
            let done = self.origin.log.len() - before;
            format!("{gateway} {method} {location} {} -> {what}, done {done}", words(body))
        });
        outcome
    }

    fn on_the_way(
        &mut self,
        gateway: usize,
        (method, location): (&Method, &Location),
        headers: &HeaderMap,
        body: &[u8],
    ) -> Outcome {
        if self.is_rough {
            if !self.is_up[gateway] {
                return Outcome::Lost { perhaps_arrived: false };
            }
            match self.random.random_range(0..100) {
                0..5 => return Outcome::Lost { perhaps_arrived: true },
                5..10 => {
                    self.origin.answer(method, location, headers, body);
                    return Outcome::Lost { perhaps_arrived: true };
                }
                10..22 => {
                    let status = *FAILURES.choose(&mut self.random).unwrap();
                    // A missing resource is not a failure of its deletion.
                    let status = if *method == Method::DELETE { status.max(405) } else { status };
                    // These statuses may come from an intermediary after the server has carried out the
                    // request.
                    let is_done = matches!(status, 408 | 502 | 504) && self.random.random();
                    if is_done && self.profile == Profile::Resilient {
                        self.origin.answer(method, location, headers, body);
                    }
                    return self.failure(gateway, status);
                }
                _ => {}
            }
        }
        let answer = self.origin.answer(method, location, headers, body);
        self.answered(gateway, answer)
    }

    fn failure(&mut self, gateway: usize, status: u16) -> Outcome {
        let mut answer = Answer::of(StatusCode::from_u16(status).unwrap(), b"failed".to_vec());
        if matches!(status, 503 | 429) && self.random.random() {
            answer.headers.insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        }
        self.answered(gateway, answer)
    }

    fn answered(&self, gateway: usize, answer: Answer) -> Outcome {
        let content = self.gateways[gateway].disk.hold(answer.body);
        Outcome::ServerResponse { status: answer.status, headers: answer.headers, content }
    }
}
