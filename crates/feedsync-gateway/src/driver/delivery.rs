//! Delivers the changes that newsreaders made offline to their servers: for each account one change at a time, in
//! order.

use std::sync::{Arc, PoisonError};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::Step;
use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{Delivery, DeliveryResult, Next, OutgoingRequest, StoredChange};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Driver, DriverError};
use crate::programs;
use crate::proxy::Body;
use crate::upstream::Upstream;

/// Maximum size of a response body, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Delay before a delivery that could not be recorded is retried.
const RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(1);

/// Timeout of a request and its response.
const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// Response of a server.
struct ServerResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Driver {
    /// Starts the deliveries that are due.
    pub(super) fn begin_deliveries(self: &Arc<Self>, upstream: &Upstream, tasks: &mut JoinSet<()>) {
        let due = self.inspect(|state| state.deliverable(self.now()));
        for account in due {
            let partition = account.partition;
            if !self.delivering().insert(partition) {
                continue;
            }
            let (driver, upstream) = (Arc::clone(self), upstream.clone());
            tasks.spawn(async move {
                if let Err(error) = driver.deliver(&upstream, partition).await {
                    tracing::error!(%error, "cannot send a change of a newsreader");
                    // The next attempt would fail at once for the same reason.
                    sleep(RETRY_DELAY).await;
                }
                driver.delivering().remove(&partition);
            });
        }
    }

    /// Sends the changes of an account until all are sent or the server is unreachable. Returns an error if the
    /// store cannot record the progress.
    pub async fn deliver(
        &self,
        upstream: &Upstream,
        partition: Partition,
    ) -> Result<(), DriverError> {
        let account = self.inspect(|state| state.accounts().account(partition).cloned());
        let Some(account) = account else { return Ok(()) };
        let base = account.base.clone();
        let _turn = self.lock_resource(partition, &base).await;
        let mut delivery = Delivery::new(account);
        while let Some(written) = self.next_written(partition, &base) {
            if !self.deliver_one(upstream, &mut delivery, &written).await? {
                break;
            }
        }
        Ok(())
    }

    fn next_written(&self, partition: Partition, base: &Location) -> Option<StoredChange> {
        self.inspect(|state| {
            let accounts = state.accounts();
            let is_put_off = accounts.put_off_until(partition, self.now()).is_some();
            let first = accounts.next_due(partition).filter(|_| !is_put_off);
            first.filter(|_| state.may_ask(base, self.now())).cloned()
        })
    }

    /// Delivers one change; returns whether the next one may follow.
    async fn deliver_one(
        &self,
        upstream: &Upstream,
        delivery: &mut Delivery,
        written: &StoredChange,
    ) -> Result<bool, DriverError> {
        let base = delivery.account().base.clone();
        let mut asking = delivery.begin(written.change.clone());
        let (mut ended, answered) = loop {
            let Some(answered) = self.send_own_request(upstream, &base, asking).await else {
                self.reached(&base, false);
                return Ok(false);
            };
            match delivery.answered(answered.status.as_u16(), &answered.body) {
                Next::Ask(next) => asking = next,
                Next::DeliveryResult(ended) => break (ended, answered),
            }
        };
        if ended == DeliveryResult::Away {
            let of = (delivery.account().partition, written.id);
            let ServerResponse { status, headers, .. } = &answered;
            let taken = self.change(|state, cx| {
                Ok((state.not_taken(of, *status, headers, cx.now), Step::default()))
            });
            // A change that the server fails to process repeatedly is dropped, since the server may accept the
            // others.
            if taken.await? {
                ended = DeliveryResult::Refused;
            }
        }
        self.reached(&base, ended != DeliveryResult::Away);
        self.note_session(delivery).await?;
        let id = written.id;
        match ended {
            DeliveryResult::Sent => {
                let sent = |accounts: &mut feedsync_bitsy::newsreader::Accounts| accounts.sent(id);
                self.change(|state, _| Ok(((), state.read_with(false, sent)))).await?;
            }
            DeliveryResult::Refused => {
                let body = written.change.request.body.clone().into_bytes();
                let body = self.pin(Body::from(bytes::Bytes::from(body)), u64::MAX).await?;
                let answer = bytes::Bytes::from(answered.body);
                let answer = self.pin(Body::from(answer), u64::MAX).await?;
                let contents = (body.content(), answer.content());
                let told = (answered.status, answered.headers);
                self.change(|state, cx| Ok(((), state.not_written(id, told, contents, cx.now))))
                    .await?;
            }
            DeliveryResult::Away => return Ok(false),
            DeliveryResult::Unknown => {
                let status = answered.status;
                self.change(|state, cx| {
                    Ok(((), state.not_known(delivery.account(), status, cx.now)))
                })
                .await?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores a session that the server issued meanwhile.
    async fn note_session(&self, delivery: &Delivery) -> Result<(), DriverError> {
        let account = delivery.account();
        let Some(session) = account.sessions.last() else { return Ok(()) };
        let is_known = self.inspect(|state| {
            let known = state.accounts().account(account.partition);
            known.is_none_or(|known| known.sessions.contains(session))
        });
        if is_known {
            return Ok(());
        }
        let at = (account.interface, &account.base);
        self.change(|state, cx| {
            let step = state.read_with(true, |accounts| {
                accounts.signed_in(at, &account.sign_in, session, cx.now)
            });
            Ok(((), step))
        })
        .await
    }

    /// Sends a request on behalf of the user; returns `None` if the server did not respond.
    async fn send_own_request(
        &self,
        upstream: &Upstream,
        base: &Location,
        asking: OutgoingRequest,
    ) -> Option<ServerResponse> {
        let OutgoingRequest { method, path, headers, body } = asking;
        let location = Location::resolve(Some(base), &path).ok()?;
        let mut request = Request::new(Body::from(bytes::Bytes::from(body)));
        *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
        *request.headers_mut() = headers;
        // Marked as a program of this machine: the server admitted such a program, or a user who signed in.
        programs::mark(request.headers_mut());
        let requested = async {
            let response = upstream.send_own(&location, base, request).await;
            let response = response.inspect_err(|error| {
                tracing::debug!(%error, origin = base.origin(), "no response to a change of a newsreader");
            });
            let (parts, body) = response.ok()?.into_parts();
            let body = match Limited::new(body, MAX_RESPONSE_BYTES).collect().await {
                Ok(body) => body.to_bytes().to_vec(),
                // The contents of an oversized response are not needed.
                Err(error) if error.is::<LengthLimitError>() => Vec::new(),
                // A truncated response must not be interpreted.
                Err(_) => return None,
            };
            Some(ServerResponse { status: parts.status, headers: parts.headers, body })
        };
        timeout(REQUEST_TIMEOUT, requested).await.ok()?
    }

    fn delivering(&self) -> std::sync::MutexGuard<'_, std::collections::HashSet<Partition>> {
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
