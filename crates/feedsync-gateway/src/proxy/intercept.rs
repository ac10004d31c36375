//! Requests for stored resources: answered from the store, or forwarded (BITSY 3).

use std::sync::Arc;

use feedsync_bitsy::interceptor::{
    Decision, Proposed, Reply, Request as InterceptedRequest, is_unsafe,
};
use http::header::HeaderMap;
use http::{Method, Request, Response, StatusCode};

use super::Proxy;
use super::body::Body;
use super::first_bytes::prepared as prepared_body;
use super::head::Head;
use super::problem::Problem;
use super::reply::{PendingCheck, PreparedReply, prepared};
use crate::driver::{Driver, DriverError};
use crate::target::Target;
use crate::upstream::{NotSent, UpstreamError};

/// Decides how to process a request.
pub(super) fn decide(
    driver: &Driver,
    target: &Target,
    head: &Head,
) -> Result<Decision, DriverError> {
    let requested = InterceptedRequest {
        method: &head.method,
        location: &target.location,
        headers: &head.headers,
    };
    let decided = driver.read(|state, cx| state.responder().decide(cx, requested));
    decided.map_err(DriverError::from)
}

/// Decision about a request. A response from the store is read from the same state as the decision.
enum PreparedDecision {
    Pass,
    Edit(Box<Proposed>),
    PreparedReply(PreparedReply),
}

fn prepare_decision(
    driver: &Driver,
    target: &Target,
    request: &Request<Body>,
) -> Result<PreparedDecision, DriverError> {
    let (method, headers) = (request.method(), request.headers());
    let requested = InterceptedRequest { method, location: &target.location, headers };
    let judged = driver.read(|state, cx| {
        Ok(match state.responder().decide(cx, requested)? {
            Decision::Pass => PreparedDecision::Pass,
            Decision::QueueEdit(proposed) | Decision::ForwardEdit(proposed) => {
                PreparedDecision::Edit(proposed)
            }
            Decision::Answer(reply) => {
                PreparedDecision::PreparedReply(prepared(*reply, method, headers, cx.stored)?)
            }
        })
    });
    judged.map_err(DriverError::from)
}

/// Invalidates stored representations that an unsafe request has changed, or may have changed if there was no
/// response (RFC 9111 4.4).
async fn outdate(
    driver: &Driver,
    target: &Target,
    method: &Method,
    answer: Option<(StatusCode, &HeaderMap)>,
) {
    if !is_unsafe(method) {
        return;
    }
    let request = (method, &target.location);
    let changed = driver.change(|state, cx| {
        let step = match answer {
            Some((status, headers)) => {
                state.fetcher().passed_through(cx, request, status, headers)?
            }
            None => state.fetcher().may_have_changed(cx, request)?,
        };
        Ok(((), step))
    });
    if let Err(error) = changed.await {
        tracing::error!(%error, location = %target.location, "cannot delete an outdated cached response");
    }
}

impl Proxy {
    /// Answers a request for a resource that may be stored.
    pub(super) async fn intercept(
        &self,
        driver: &Arc<Driver>,
        target: Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let mut judged = prepare_decision(driver, &target, &request);
        let mut was_damaged = false;
        let answered = loop {
            let error = match judged {
                Ok(PreparedDecision::Pass) => {
                    return Box::pin(self.pass_or_miss(driver, &target, request)).await;
                }
                Ok(PreparedDecision::Edit(proposed)) => {
                    let head = Head::of(&request);
                    break Box::pin(self.edit(driver, (target, head), *proposed, request)).await;
                }
                Ok(PreparedDecision::PreparedReply(prepared)) => {
                    let (method, headers) = (request.method(), request.headers());
                    match self.finish(driver, &target, prepared, (method, headers)).await {
                        // A stored copy exists but is damaged, which differs from a resource that was never
                        // stored.
                        Ok(answer)
                            if was_damaged && answer.status() == StatusCode::GATEWAY_TIMEOUT =>
                        {
                            break Err(Problem::damaged());
                        }
                        Ok(answer) => break Ok(answer),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let is_corrupt = matches!(&error, DriverError::Store(error) if error.is_corrupt());
            if !is_corrupt || std::mem::replace(&mut was_damaged, true) {
                break Err(error.into());
            }
            // Damaged bytes count as not stored; the server is asked if there is a network.
            if let Err(error) = driver.heal().await {
                break Err(error.into());
            }
            judged = prepare_decision(driver, &target, &request);
        };
        answered.unwrap_or_else(Problem::response)
    }

    /// Forwards a request. If its server is unreachable, it is answered as without a network. A client with other
    /// credentials learns which are needed (R-B37), and a resource that is not stored is unavailable (R-B6).
    pub(super) async fn pass_or_miss(
        &self,
        driver: &Arc<Driver>,
        target: &Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let head = Head::of(&request);
        match self.ask(target, request).await {
            Ok(response) => {
                driver.reached(&target.location, true);
                let headers = response.headers();
                outdate(driver, target, &head.method, Some((response.status(), headers))).await;
                let mut response = match prepared_body(target, response).await {
                    Ok(response) => response,
                    Err(error) => return Problem::from(&error).response(),
                };
                self.show(target, response.headers_mut());
                response
            }
            Err(error) if matches!(&error, UpstreamError::NotSent(error) if !matches!(error, NotSent::Busy(_))) =>
            {
                driver.reached(&target.location, false);
                let reply = match decide(driver, target, &head) {
                    Ok(Decision::Answer(reply)) => *reply,
                    _ => Reply::unreachable(&target.location),
                };
                // An attacker may be in between, which is something else than no network.
                if error.is_certificate_fault() && reply.status == StatusCode::GATEWAY_TIMEOUT {
                    return Problem::from(&error).response();
                }
                self.reply(driver, target, &head, reply).await.unwrap_or_else(Problem::response)
            }
            Err(error) => {
                if error.may_have_arrived() {
                    outdate(driver, target, &head.method, None).await;
                }
                tracing::debug!(%error, "no response from the origin server");
                Problem::from(&error).response()
            }
        }
    }

    /// Sends the response that was decided.
    pub(super) async fn reply(
        &self,
        driver: &Arc<Driver>,
        target: &Target,
        head: &Head,
        reply: Reply,
    ) -> Result<Response<Body>, Problem> {
        let prepared = prepared(reply, &head.method, &head.headers, &driver.reader())?;
        Ok(self.finish(driver, target, prepared, (&head.method, &head.headers)).await?)
    }

    async fn finish(
        &self,
        driver: &Arc<Driver>,
        target: &Target,
        prepared: PreparedReply,
        (method, headers): (&Method, &HeaderMap),
    ) -> Result<Response<Body>, DriverError> {
        let mut response = match prepared {
            PreparedReply::Whole(response) => response,
            PreparedReply::NeedsCheck(PendingCheck { file, response, part }) => {
                let file = driver.checked(file).await?;
                response.map(|_| Body::file(Arc::new(file), part))
            }
            PreparedReply::NeedsComposition(composing) => {
                let feed = Box::pin(self.feeds.bytes(driver, &composing.composed)).await?;
                composing.with(feed, method, headers)
            }
        };
        self.show(target, response.headers_mut());
        Ok(response)
    }
}
