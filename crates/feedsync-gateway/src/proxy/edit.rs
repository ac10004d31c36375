//! Edits: queued in the outbox, or sent to their server while the application waits (BITSY 3.2 to 3.5, R-B35).
//!
//! Once its body was received, an edit is processed to its end even if the application disconnects. The outcome
//! at the server is recorded, and later edits of the same resource come after it.

use std::sync::Arc;

use feedsync_bitsy::headers::may_cross_origins;
use feedsync_bitsy::interceptor::{
    Content, Decision, EditRequest, Entity, ForwardOutcome, Proposed,
};
use feedsync_bitsy::propagation;
use http::header::{self, HeaderMap, HeaderName};
use http::response::Parts;
use http::{Request, Response, request};

use super::Proxy;
use super::body::Body;
use super::head::Head;
use super::intercept::decide;
use super::problem::Problem;
use crate::driver::{Driver, DriverError};
use crate::store::PinnedContent;
use crate::target::Target;
use crate::upstream::{NotSent, UpstreamError};

/// Header fields that are dropped from a response without its entity.
const ENTITY_HEADERS: [HeaderName; 4] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
];

/// Response of a server to an edit; without the body if it could not be stored.
struct ServerResponse {
    parts: Parts,
    held: Option<PinnedContent>,
}

/// An edit of an application, whose body is stored.
struct ReceivedEdit<'r> {
    target: &'r Target,
    head: &'r Head,
    proposed: &'r Proposed,
    held: Option<PinnedContent>,
}

impl Proxy {
    /// Queues an edit or sends it, as decided once the lock of the resource is held.
    pub(super) async fn edit(
        &self,
        driver: &Arc<Driver>,
        (target, head): (Target, Head),
        proposed: Proposed,
        request: Request<Body>,
    ) -> Result<Response<Body>, Problem> {
        self.check_page(&target, &head.headers)?;
        let (parts, body) = request.into_parts();
        let held = match proposed.method {
            propagation::Method::Delete => None,
            _ => Some(driver.pin(body, self.limits.edit_bytes).await?),
        };
        let (proxy, driver) = (self.clone(), Arc::clone(driver));
        let edited = tokio::spawn(async move {
            let _turn = driver.lock_resource(proposed.partition, &proposed.location).await;
            // Earlier edits may have changed the state while this one waited for the lock.
            match decide(&driver, &target, &head)? {
                Decision::QueueEdit(proposed) => {
                    let edit =
                        ReceivedEdit { target: &target, head: &head, proposed: &proposed, held };
                    proxy.take(&driver, edit).await
                }
                Decision::ForwardEdit(proposed) => {
                    let edit =
                        ReceivedEdit { target: &target, head: &head, proposed: &proposed, held };
                    proxy.carry(&driver, edit, parts).await
                }
                Decision::Answer(reply) => proxy.reply(&driver, &target, &head, *reply).await,
                Decision::Pass => {
                    let request =
                        Request::from_parts(parts, replayed(&driver, held.as_ref()).await?);
                    Ok(proxy.pass_or_miss(&driver, &target, request).await)
                }
            }
        });
        edited.await.map_err(DriverError::from)?
    }

    /// Queues an edit. It is acknowledged once it survives a power failure.
    async fn take(
        &self,
        driver: &Arc<Driver>,
        edit: ReceivedEdit<'_>,
    ) -> Result<Response<Body>, Problem> {
        let ReceivedEdit { target, head, proposed, held } = edit;
        let entity = held.as_ref().map(|held| Entity::sent(&head.headers, held.content()));
        let taken = driver.change(|state, cx| {
            state.delivery().take(cx, EditRequest { proposed, headers: &head.headers, entity })
        });
        let reply = taken.await?;
        self.reply(driver, target, head, reply).await
    }

    /// Sends an edit to its server. The response of the server is returned even if its effects cannot be stored
    /// here.
    async fn carry(
        &self,
        driver: &Arc<Driver>,
        edit: ReceivedEdit<'_>,
        mut parts: request::Parts,
    ) -> Result<Response<Body>, Problem> {
        let ReceivedEdit { target, head, proposed, held } = edit;
        if proposed.needs_sync {
            driver.sync().await?;
        }
        let there = target.at(&proposed.location);
        fit(&mut parts.headers, target, &there, proposed, held.is_some());
        let entity = held.as_ref().map(|held| Entity::sent(&head.headers, held.content()));
        let noted = driver
            .change(|state, _| Ok(((), state.delivery().begin_forward(proposed, entity.as_ref()))));
        noted.await?;
        let body = replayed(driver, held.as_ref()).await?;
        let exchanged = self.ask(&there, Request::from_parts(parts, body)).await;
        let (forwarded, answered) = match exchanged {
            Ok(response) => {
                let answered = self.answered(driver, response).await;
                let content = answered.held.as_ref().map(PinnedContent::content);
                let content = content.unwrap_or_else(|| Content::of(b""));
                let (status, headers) = (answered.parts.status, answered.parts.headers.clone());
                (ForwardOutcome::ServerResponse { status, headers, content }, Some(answered))
            }
            // Nothing was sent, and the network is not at fault.
            Err(error @ (UpstreamError::Refused(_) | UpstreamError::NotSent(NotSent::Busy(_)))) => {
                return Err(Problem::from(&error));
            }
            Err(error) => {
                (ForwardOutcome::Lost { perhaps_arrived: error.may_have_arrived() }, None)
            }
        };
        let told = driver.change(|state, cx| {
            let edit = EditRequest { proposed, headers: &head.headers, entity };
            state.delivery().forwarded(cx, edit, &forwarded)
        });
        match (told.await, answered) {
            (Ok(Some(reply)), _) => self.reply(driver, target, head, reply).await,
            (told, Some(mut answered)) => {
                self.show(&there, &mut answered.parts.headers);
                if let Err(error) = told {
                    tracing::error!(%error, "cannot store the outcome of a forwarded edit");
                }
                let body = replayed(driver, answered.held.as_ref()).await?;
                Ok(Response::from_parts(answered.parts, body))
            }
            (Err(error), None) => Err(error.into()),
            (Ok(None), None) => {
                Err(Problem::bad_request("the edit was neither answered nor accepted"))
            }
        }
    }

    async fn answered(&self, driver: &Arc<Driver>, response: Response<Body>) -> ServerResponse {
        let (mut parts, body) = response.into_parts();
        let held = driver.pin(body, self.limits.answer_bytes).await;
        let held = held.inspect_err(|error| {
            tracing::warn!(%error, "cannot store the response to an edit");
            for name in ENTITY_HEADERS {
                parts.headers.remove(name);
            }
        });
        ServerResponse { parts, held: held.ok() }
    }
}

/// Body that repeats the received bytes from the start.
async fn replayed(driver: &Driver, held: Option<&PinnedContent>) -> Result<Body, Problem> {
    Ok(match held {
        Some(held) => driver.body(&held.content()).await?,
        None => Body::empty(),
    })
}

/// Adapts a request to its destination. Another origin gets no credentials, and a request without a body has no
/// length. The local entity tag is replaced by the one that the server issued.
fn fit(
    headers: &mut HeaderMap,
    target: &Target,
    there: &Target,
    proposed: &Proposed,
    has_body: bool,
) {
    if !has_body {
        for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::EXPECT] {
            headers.remove(name);
        }
    }
    if !there.location.is_same_origin(&target.location) {
        let names: Vec<_> =
            headers.keys().filter(|name| !may_cross_origins(name)).cloned().collect();
        for name in names {
            headers.remove(name);
        }
    }
    let tag = proposed.tag.as_deref().and_then(|tag| tag.parse().ok());
    if let Some(tag) = tag {
        headers.insert(header::IF_MATCH, tag);
    }
}

#[cfg(test)]
mod tests {
    use feedsync_bitsy::authentication::Partition;

    use super::*;
    use crate::target::{Mode, path_of};

    fn at(url: &str) -> Target {
        let location = url.parse().unwrap();
        Target { path: path_of(&location), location, mode: Mode::Forward }
    }

    #[test]
    fn a_member_of_another_origin_gets_the_edit_and_no_secret() {
        let about = ["content-type", "content-length", "slug", "user-agent"];
        let secret = ["authorization", "cookie", "x-api-key", "proxy-authorization"];
        let requested = at("https://example.org/members");
        for (there, is_told) in
            [("https://other.example/1", false), ("https://example.org/1", true)]
        {
            let there = at(there);
            let proposed = Proposed {
                partition: Partition::public(),
                feed: requested.location.clone(),
                queue: requested.location.clone(),
                method: propagation::Method::Put,
                location: there.location.clone(),
                generation: 0,
                needs_sync: false,
                tag: None,
            };
            let names = about.iter().chain(&secret);
            let mut headers: HeaderMap = names
                .map(|name| (HeaderName::from_static(name), header::HeaderValue::from_static("x")))
                .collect();
            fit(&mut headers, &requested, &there, &proposed, true);
            assert!(about.iter().all(|name| headers.contains_key(*name)), "{headers:?}");
            let told = secret.map(|name| headers.contains_key(name));
            assert_eq!(told, [is_told; 4], "{headers:?}");
        }
    }
}
