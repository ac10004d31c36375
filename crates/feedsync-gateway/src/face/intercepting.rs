//! Requests for what is kept: answered from the store, or passed on (BITSY 3).

use std::sync::Arc;

use feedsync_offline::interceptor::{Decision, Reply, Request as Asked, Shows};
use http::header::HeaderMap;
use http::{Method, Request, Response};

use super::Face;
use super::body::Body;
use super::problem::Problem;
use super::replying::replied;
use crate::agent::{Agent, AgentError};
use crate::target::Target;
use crate::upstream::{NotSent, UpstreamError};

/// A request without its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
}

/// What is done with a request.
pub(super) fn decide(agent: &Agent, target: &Target, head: &Head) -> Result<Decision, AgentError> {
    let decided = agent.read(|interceptor, reader, now| {
        let asked =
            Asked { method: &head.method, location: &target.location, headers: &head.headers };
        interceptor.decide(reader, asked, now)
    });
    decided.map_err(AgentError::from)
}

impl Face {
    /// Answers a request for a resource, of which something may be kept.
    pub(super) async fn intercept(
        &self,
        agent: &Arc<Agent>,
        target: Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let head = Head { method: request.method().clone(), headers: request.headers().clone() };
        let answered = match decide(agent, &target, &head) {
            Ok(Decision::Pass) => return self.pass_or_miss(agent, &target, request).await,
            Ok(Decision::Answer(reply)) => self.reply(agent, &target, &head, *reply).await,
            Ok(Decision::Take(proposed) | Decision::Carry(proposed)) => {
                self.edit(agent, target, head, *proposed, request).await
            }
            Err(error) => Err(error.into()),
        };
        answered.unwrap_or_else(Problem::response)
    }

    /// Passes a request on; if its server is not to be reached, it is answered as without a network: who gave
    /// other credentials is told which are needed (C37), and what is not stored is not here (C6).
    pub(super) async fn pass_or_miss(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let head = Head { method: request.method().clone(), headers: request.headers().clone() };
        match self.exchange(target, request).await {
            Ok(response) => {
                agent.reached(&target.location, true);
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
                tracing::debug!(%error, "a request was not answered");
                Problem::from(&error).response()
            }
        }
    }

    /// Answers with what was decided.
    pub(super) async fn reply(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        head: &Head,
        reply: Reply,
    ) -> Result<Response<Body>, Problem> {
        let reader = agent.reader()?;
        let mut response = match reply.shows {
            Shows::Composed(_) => {
                // Takes as long as the feed is large.
                let (method, headers) = (head.method.clone(), head.headers.clone());
                let work = move || replied(reply, &method, &headers, &reader);
                tokio::task::spawn_blocking(work).await.map_err(AgentError::from)?
            }
            _ => replied(reply, &head.method, &head.headers, &reader),
        }
        .map_err(AgentError::from)?;
        self.show(target, response.headers_mut());
        Ok(response)
    }
}
