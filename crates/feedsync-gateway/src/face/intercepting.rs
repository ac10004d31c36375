//! Requests for stored resources: answered from the store, or forwarded (BITSY 3).

use std::sync::Arc;

use feedsync_bitsy::interceptor::{Decision, Proposed, Reply, Request as Asked, is_unsafe};
use http::header::{self, HeaderMap};
use http::{Method, Request, Response, StatusCode};

use super::Face;
use super::beginning::begun as begun_body;
use super::body::Body;
use super::problem::Problem;
use super::replying::{Begun, Checking, begun};
use crate::agent::{Agent, AgentError};
use crate::target::Target;
use crate::upstream::{NotSent, UpstreamError};

/// A request without its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
}

/// Decides how to process a request.
pub(super) fn decide(agent: &Agent, target: &Target, head: &Head) -> Result<Decision, AgentError> {
    let asked = Asked { method: &head.method, location: &target.location, headers: &head.headers };
    let decided = agent.read(|interceptor, reader, now| interceptor.decide(reader, asked, now));
    decided.map_err(AgentError::from)
}

/// Decision about a request. A response from the store is read from the same state as the decision.
enum Judged {
    Pass,
    Edit(Box<Proposed>),
    Begun(Begun),
}

fn judge(agent: &Agent, target: &Target, request: &Request<Body>) -> Result<Judged, AgentError> {
    let (method, headers) = (request.method(), request.headers());
    let asked = Asked { method, location: &target.location, headers };
    let judged = agent.read(|interceptor, reader, now| {
        Ok(match interceptor.decide(reader, asked, now)? {
            Decision::Pass => Judged::Pass,
            Decision::Take(proposed) | Decision::Carry(proposed) => Judged::Edit(proposed),
            Decision::Answer(reply) => Judged::Begun(begun(*reply, method, headers, reader)?),
        })
    });
    judged.map_err(AgentError::from)
}

/// Invalidates stored representations that an unsafe request has changed, or may have changed if there was no
/// response (RFC 9111 4.4).
async fn outdate(
    agent: &Agent,
    target: &Target,
    method: &Method,
    answer: Option<(StatusCode, &HeaderMap)>,
) {
    if !is_unsafe(method) {
        return;
    }
    let request = (method, &target.location);
    let changed = agent.change(|interceptor, reader, now, _| {
        let step = match answer {
            Some((status, headers)) => interceptor.passed(reader, request, status, headers, now)?,
            None => interceptor.perhaps_changed(reader, request, now)?,
        };
        Ok(((), step))
    });
    if let Err(error) = changed.await {
        tracing::error!(%error, location = %target.location, "an outdated representation is stored still");
    }
}

impl Head {
    fn of(request: &Request<Body>) -> Self {
        Self { method: request.method().clone(), headers: request.headers().clone() }
    }

    /// Part of a request that determines the coding of its response.
    pub(super) fn accepting<B>(request: &Request<B>) -> Self {
        let mut headers = HeaderMap::new();
        for value in request.headers().get_all(header::ACCEPT_ENCODING) {
            headers.append(header::ACCEPT_ENCODING, value.clone());
        }
        Self { method: request.method().clone(), headers }
    }
}

impl Face {
    /// Answers a request for a resource that may be stored.
    pub(super) async fn intercept(
        &self,
        agent: &Arc<Agent>,
        target: Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let mut judged = judge(agent, &target, &request);
        let mut was_damaged = false;
        let answered = loop {
            let error = match judged {
                Ok(Judged::Pass) => {
                    return Box::pin(self.pass_or_miss(agent, &target, request)).await;
                }
                Ok(Judged::Edit(proposed)) => {
                    let head = Head::of(&request);
                    break Box::pin(self.edit(agent, target, head, *proposed, request)).await;
                }
                Ok(Judged::Begun(begun)) => {
                    let (method, headers) = (request.method(), request.headers());
                    match self.finish(agent, &target, begun, method, headers).await {
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
            let is_rotten = matches!(&error, AgentError::Store(error) if error.is_rotten());
            if !is_rotten || std::mem::replace(&mut was_damaged, true) {
                break Err(error.into());
            }
            // Damaged bytes count as not stored; the server is asked if there is a network.
            if let Err(error) = agent.heal().await {
                break Err(error.into());
            }
            judged = judge(agent, &target, &request);
        };
        answered.unwrap_or_else(Problem::response)
    }

    /// Forwards a request. If its server is unreachable, it is answered as without a network. A client with other
    /// credentials learns which are needed (R-B37), and a resource that is not stored is unavailable (R-B6).
    pub(super) async fn pass_or_miss(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let head = Head::of(&request);
        match self.ask(target, request).await {
            Ok(response) => {
                agent.reached(&target.location, true);
                let headers = response.headers();
                outdate(agent, target, &head.method, Some((response.status(), headers))).await;
                let mut response = match begun_body(target, response).await {
                    Ok(response) => response,
                    Err(error) => return Problem::from(&error).response(),
                };
                self.show(target, response.headers_mut());
                response
            }
            Err(UpstreamError::NotSent(error)) if !matches!(error, NotSent::Busy(_)) => {
                agent.reached(&target.location, false);
                let reply = match decide(agent, target, &head) {
                    Ok(Decision::Answer(reply)) => *reply,
                    _ => Reply::unreachable(&target.location),
                };
                self.reply(agent, target, &head, reply).await.unwrap_or_else(Problem::response)
            }
            Err(error) => {
                if error.may_have_arrived() {
                    outdate(agent, target, &head.method, None).await;
                }
                tracing::debug!(%error, "a request was not answered");
                Problem::from(&error).response()
            }
        }
    }

    /// Sends the response that was decided.
    pub(super) async fn reply(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        head: &Head,
        reply: Reply,
    ) -> Result<Response<Body>, Problem> {
        let begun = begun(reply, &head.method, &head.headers, &agent.reader())?;
        Ok(self.finish(agent, target, begun, &head.method, &head.headers).await?)
    }

    async fn finish(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        begun: Begun,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, AgentError> {
        let mut response = match begun {
            Begun::Whole(response) => response,
            Begun::Checks(Checking { file, response, part }) => {
                let file = agent.checked(file).await?;
                response.map(|_| Body::file(Arc::new(file), part))
            }
            Begun::Composes(composing) => {
                let feed = Box::pin(self.feeds.bytes(agent, &composing.composed)).await?;
                composing.with(feed, method, headers)
            }
        };
        self.show(target, response.headers_mut());
        Ok(response)
    }
}
