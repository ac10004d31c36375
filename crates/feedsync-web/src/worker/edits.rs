//! Edits of pages, and other requests that change something at a server.

use feedsync_bitsy::headers::may_cross_origins;
use feedsync_bitsy::interceptor::{
    Content, Decision, Digest, EditRequest, Entity, ForwardOutcome, Proposed, Request, Step,
};
use feedsync_bitsy::location::Location;
use http::header::{HeaderMap, IF_MATCH};
use serde_json::{Value, json};

use super::unanswered::Earlier;
use super::{CommandError, Worker, values};
use crate::codec::{Fields, header_list};
use crate::engine::Circumstances;

/// An edit that is sent while its application waits.
#[derive(Debug)]
pub(super) struct Forwarding {
    proposed: Proposed,
    headers: HeaderMap,
    entity: Option<Entity>,
    /// Its number among the edits whose pages have no response yet.
    unanswered: u64,
}

impl Forwarding {
    /// Body of the edit, which is queued if there is no response.
    pub(super) fn content(&self) -> Option<Digest> {
        self.entity.as_ref().map(|entity| entity.content.digest)
    }
}

/// Decision about an edit whose body was received.
enum Taken {
    Reply(Box<feedsync_bitsy::interceptor::Reply>),
    Forward(Box<Proposed>),
    Pass,
}

impl Worker {
    /// Decides about an edit whose body was received: it is queued and acknowledged, or it is sent while the page waits
    /// (`forward`). The script must hold the lock of the address. A request that an earlier instance of the worker has
    /// taken from the same `page` gets the response that it had.
    pub(super) fn edit(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let request = values::request(of)?;
        let entity = values::entity(of, &request.headers)?;
        let page = of.text("page")?;
        let earlier = self.unanswered.earlier(page, &request, entity.as_ref(), with.now);
        if let Some((_, Earlier::Replied(reply))) = earlier {
            return Ok(json!({ "reply": reply }));
        }
        let values::PageRequest { method, location, headers } = &request;
        let taken = self.engine.change(with, |state, cx| {
            let decision = state.responder().decide(cx, Request { method, location, headers })?;
            Ok(match decision {
                Decision::QueueEdit(proposed) | Decision::ForwardEdit(proposed)
                    if earlier.is_some() =>
                {
                    let edit = EditRequest { proposed: &proposed, headers, entity: entity.clone() };
                    let lost = ForwardOutcome::Lost { perhaps_arrived: true };
                    let (reply, step) = state.delivery().forwarded(cx, edit, &lost)?;
                    (reply.map_or(Taken::Pass, |reply| Taken::Reply(Box::new(reply))), step)
                }
                Decision::QueueEdit(proposed) => {
                    let edit = EditRequest { proposed: &proposed, headers, entity: entity.clone() };
                    let (reply, step) = state.delivery().take(cx, edit)?;
                    (Taken::Reply(Box::new(reply)), step)
                }
                Decision::ForwardEdit(proposed) => {
                    let step = state.delivery().begin_forward(&proposed, entity.as_ref());
                    // The first edit after a start waits until everything before it is durable.
                    let is_durable = step.is_durable || proposed.needs_sync;
                    (Taken::Forward(proposed), Step { is_durable, ..step })
                }
                Decision::Answer(reply) => (Taken::Reply(reply), Step::default()),
                Decision::Pass => (Taken::Pass, Step::default()),
            })
        })?;
        Ok(match taken {
            Taken::Reply(reply) => {
                let reply = Self::acknowledgement(&reply);
                let told = (Some(reply.clone()), with.now);
                match earlier {
                    Some((number, _)) => {
                        self.rows.extend(self.unanswered.replied(number, reply.clone(), with.now))
                    }
                    None => self
                        .rows
                        .extend(self.unanswered.add(page, &request, entity.as_ref(), told).1),
                }
                json!({ "reply": reply })
            }
            Taken::Pass => json!({ "pass": true }),
            Taken::Forward(proposed) => {
                let sent = sent_headers(&request.headers, &request.location, &proposed);
                let number = self.next_forwarding;
                self.next_forwarding += 1;
                let url = proposed.location.to_string();
                let (unanswered, mut rows) =
                    self.unanswered.add(page, &request, entity.as_ref(), (None, with.now));
                self.rows.append(&mut rows);
                let headers = request.headers;
                let forwarding = Forwarding { proposed: *proposed, headers, entity, unanswered };
                self.forwarding.insert(number, forwarding);
                json!({ "forward": { "id": number, "url": url, "headers": header_list(&sent) } })
            }
        })
    }

    /// Notes the result of an edit that was sent while its page waited: a `response`, or none. The result has a `reply`
    /// unless the page gets the response of the server.
    pub(super) fn forwarded(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let id = of.number("id")?;
        let outcome = match of.optional("response") {
            Some(response) => {
                let values::ServerResponse { status, headers, content } =
                    values::response(response)?;
                let content = content.unwrap_or_else(|| Content::of(b""));
                ForwardOutcome::ServerResponse { status, headers, content }
            }
            None => ForwardOutcome::Lost { perhaps_arrived: of.flag("perhapsArrived")? },
        };
        let Some(forwarding) = self.forwarding.get(&id) else { return Ok(Value::Null) };
        let Forwarding { proposed, headers, entity, unanswered } = forwarding;
        let unanswered = *unanswered;
        let reply = self.engine.change(with, |state, cx| {
            let edit = EditRequest { proposed, headers, entity: entity.clone() };
            state.delivery().forwarded(cx, edit, &outcome)
        })?;
        self.forwarding.remove(&id);
        let reply = reply.as_ref().map(Self::acknowledgement);
        let told = reply.clone().unwrap_or_else(|| match &outcome {
            ForwardOutcome::ServerResponse { status, headers, content } => {
                Self::forwarded_reply(*status, headers, content)
            }
            ForwardOutcome::Lost { .. } => Value::Null,
        });
        self.rows.extend(self.unanswered.replied(unanswered, told, with.now));
        Ok(json!({ "reply": reply }))
    }

    /// Notes a request with an unsafe method that was left to the browser: stored responses may be out of date.
    pub(super) fn passed(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let values::PageRequest { method, location, .. } = values::request(of)?;
        let response = of.optional("response").map(values::response).transpose()?;
        self.engine.change(with, |state, cx| {
            let (mut fetcher, request) = (state.fetcher(), (&method, &location));
            let step = match &response {
                Some(it) => fetcher.passed_through(cx, request, it.status, &it.headers)?,
                None => fetcher.may_have_changed(cx, request)?,
            };
            Ok(((), step))
        })?;
        Ok(Value::Null)
    }
}

/// Headers of an edit that is sent to its destination. Another origin gets no credentials, and the local entity tag is
/// replaced by the one that the server issued.
fn sent_headers(headers: &HeaderMap, requested: &Location, proposed: &Proposed) -> HeaderMap {
    let is_at_home = proposed.location.is_same_origin(requested);
    let sent = headers.iter().filter(|(name, _)| is_at_home || may_cross_origins(name));
    let mut sent: HeaderMap = sent.map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(tag) = proposed.tag.as_deref().and_then(|tag| tag.parse().ok()) {
        sent.insert(IF_MATCH, tag);
    }
    sent
}
