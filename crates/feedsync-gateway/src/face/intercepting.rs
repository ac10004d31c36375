//! Requests for what is kept: answered from the store, taken as edits, or carried to their server while the
//! application waits (BITSY 3).

use std::sync::Arc;

use feedsync_offline::interceptor::{Carried, Decision, Entity, Proposed, Reply, Request as Asked};
use feedsync_offline::propagation;
use http::header::HeaderMap;
use http::{Method, Request, Response};

use super::Face;
use super::body::Body;
use super::problem::Problem;
use super::replying::replied;
use super::reverse;
use crate::agent::{Agent, AgentError};
use crate::store::Held;
use crate::target::{Mode, Target};
use crate::upstream::UpstreamError;

/// A request without its body.
struct Head {
    method: Method,
    headers: HeaderMap,
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
        let decided = agent.read(|interceptor, reader, now| {
            let asked =
                Asked { method: &head.method, location: &target.location, headers: &head.headers };
            interceptor.decide(reader, asked, now)
        });
        let answered = match decided {
            Ok(Decision::Pass) => return self.pass_or_miss(agent, &target, request).await,
            Ok(Decision::Answer(reply)) => self.reply(agent, &target, &head, *reply).await,
            Ok(Decision::Take(proposed)) => {
                self.take(agent, &target, &head, &proposed, request.into_body()).await
            }
            Ok(Decision::Carry(proposed)) => {
                self.carry(agent, &target, head, *proposed, request).await
            }
            Err(error) => Err(AgentError::from(error).into()),
        };
        answered.unwrap_or_else(Problem::response)
    }

    /// Passes a request on; if its server is not to be reached, says so as what is not stored (C6).
    async fn pass_or_miss(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        request: Request<Body>,
    ) -> Response<Body> {
        match self.exchange(target, request).await {
            Ok(response) => {
                agent.reached(&target.location, true);
                response
            }
            Err(UpstreamError::NotSent(_)) => {
                agent.reached(&target.location, false);
                let head = Head { method: Method::GET, headers: HeaderMap::new() };
                let reply = Reply::unreachable(&target.location);
                self.reply(agent, target, &head, reply).await.unwrap_or_else(Problem::response)
            }
            Err(error) => {
                tracing::debug!(%error, "a request was not answered");
                Problem::from(&error).response()
            }
        }
    }

    /// Takes an edit that waits here: it is acknowledged once it outlives a power cut.
    async fn take(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        head: &Head,
        proposed: &Proposed,
        body: Body,
    ) -> Result<Response<Body>, Problem> {
        let held = self.held(agent, proposed, body).await?;
        let entity = held.as_ref().map(|held| Entity::sent(&head.headers, held.content()));
        let taken = agent.change(|interceptor, reader, now, random| {
            interceptor.take(reader, proposed, &head.headers, entity, random, now)
        });
        let reply = taken.await?;
        drop(held);
        self.reply(agent, target, head, reply).await
    }

    /// Carries an edit to its server. Edits of one resource do so one after the other.
    async fn carry(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        head: Head,
        proposed: Proposed,
        request: Request<Body>,
    ) -> Result<Response<Body>, Problem> {
        let _turn = agent.turn(proposed.partition, &proposed.location).await;
        if proposed.needs_sync {
            agent.sync().await?;
        }
        let (parts, body) = request.into_parts();
        let held = self.held(agent, &proposed, body).await?;
        let body = match &held {
            Some(held) => Body::from(agent.open(&held.content())?),
            None => Body::empty(),
        };
        let there = target.at(&proposed.location);
        let exchanged = self.exchange(&there, Request::from_parts(parts, body)).await;
        let (carried, answer) = match exchanged {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let answer = self.store_answer(agent, body).await?;
                let (status, headers, content) =
                    (parts.status, parts.headers.clone(), answer.content());
                (Carried::Answered { status, headers, content }, Some((parts, answer)))
            }
            Err(error @ UpstreamError::Refused(_)) => return Err(Problem::from(&error)),
            Err(error) => (Carried::Lost { perhaps_arrived: error.may_have_arrived() }, None),
        };
        let entity = held.as_ref().map(|held| Entity::sent(&head.headers, held.content()));
        let told = agent.change(|interceptor, reader, now, random| {
            interceptor.carried(reader, &proposed, &head.headers, entity, &carried, random, now)
        });
        let reply = told.await?;
        match (reply, answer) {
            (Some(reply), _) => self.reply(agent, target, &head, reply).await,
            (None, Some((parts, answer))) => {
                let body = Body::from(agent.open(&answer.content())?);
                Ok(Response::from_parts(parts, body))
            }
            (None, None) => Err(Problem::bad_request("the edit was neither answered nor taken")),
        }
    }

    /// The body of an edit, stored; none of a deletion.
    async fn held(
        &self,
        agent: &Arc<Agent>,
        proposed: &Proposed,
        body: Body,
    ) -> Result<Option<Held>, Problem> {
        if proposed.method == propagation::Method::Delete {
            return Ok(None);
        }
        agent.hold(body, self.limits.edit_bytes).await.map(Some).map_err(Problem::from)
    }

    async fn store_answer(&self, agent: &Arc<Agent>, body: Body) -> Result<Held, Problem> {
        agent.hold(body, self.limits.answer_bytes).await.map_err(Problem::from)
    }

    /// Answers with what was decided.
    async fn reply(
        &self,
        agent: &Arc<Agent>,
        target: &Target,
        head: &Head,
        reply: Reply,
    ) -> Result<Response<Body>, Problem> {
        let reader = agent.reader()?;
        let mut response = match reply.shows {
            feedsync_offline::interceptor::Shows::Composed(_) => {
                // Takes as long as the feed is large.
                let (method, headers) = (head.method.clone(), head.headers.clone());
                let work = move || replied(reply, &method, &headers, &reader);
                tokio::task::spawn_blocking(work).await.map_err(AgentError::from)?
            }
            _ => replied(reply, &head.method, &head.headers, &reader),
        }
        .map_err(AgentError::from)?;
        if let Mode::Reverse { host, .. } = &target.mode {
            reverse::adopt(response.headers_mut(), host.as_str(), target, &self.addresses);
        }
        Ok(response)
    }
}
