//! Requests of newsreaders: forwarded and their responses stored while the server is reachable, and otherwise
//! answered from the store.
//!
//! - Pending changes go first: before a server is queried, it gets the changes that it lacks.
//! - A change that the server may or may not have received counts as not received: it is sent again.
//! - Nothing is stored for a user to whom no server has responded, and no user gets the responses of another.

mod attempt;

use std::sync::Arc;

use bytes::Bytes;
use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::newsreader::{
    CachedResponse, Call, ChangeRequest, Form, Operation, ReadRequest, Request as Asking, SignIn,
};
use feedsync_reader_api::{RawRequest, RawResponse};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode, request, response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::Proxy;
use super::body::{Body, BodyError};
use super::problem::Problem;
use crate::driver::{Driver, DriverError};
use crate::target::{Newsreader, Target};
use attempt::AttemptResult;

/// Maximum size of a request body, in bytes.
const MAX_REQUEST_BYTES: usize = 8 << 20;

/// A request whose body was read.
struct ReaderRequest<'a> {
    driver: &'a Arc<Driver>,
    newsreader: &'a Newsreader,
    target: Target,
    parts: request::Parts,
    body: Bytes,
}

impl Proxy {
    /// Returns the newsreader server that a request is for, if any.
    pub(super) fn newsreader_of(&self, target: &Target) -> Option<Newsreader> {
        let has = |newsreader: &&Newsreader| newsreader.has(&target.location);
        let below = self.newsreaders.iter().filter(has);
        below.max_by_key(|newsreader| newsreader.mount.base().as_str().len()).cloned()
    }

    /// Answers a request of a newsreader.
    pub(super) async fn newsread(
        &self,
        driver: &Arc<Driver>,
        newsreader: Newsreader,
        target: Target,
        request: Request<Body>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Problem::from(DriverError::TooLarge { limit: MAX_REQUEST_BYTES as u64 })
                    .response();
            }
            Err(error) => {
                return match error.downcast_ref::<BodyError>() {
                    Some(error) => Problem::from(error),
                    None => Problem::bad_request(error.to_string()),
                }
                .response();
            }
        };
        let sent = ReaderRequest { driver, newsreader: &newsreader, target, parts, body };
        let call = sent.read();
        let answered = match call.operation.clone() {
            Operation::SignIn { sign_in, is_json } => {
                self.sign_in(&sent, &sign_in, call.seq, is_json).await
            }
            Operation::ReadRequest(reading) => self.read_kept(&sent, &call, &reading).await,
            Operation::ChangeRequest(writing) => self.write(&sent, &call, &writing).await,
            Operation::Transient(word) => self.word(&sent, &call, word).await,
            Operation::Other => self.other(&sent, &call).await,
        };
        answered.unwrap_or_else(Problem::response)
    }

    async fn sign_in(
        &self,
        sent: &ReaderRequest<'_>,
        sign_in: &SignIn,
        seq: i64,
        is_json: bool,
    ) -> Result<Response<Body>, Problem> {
        let (interface, base) = sent.at();
        let said = match self.attempt(sent).await {
            AttemptResult::Whole(parts, body) => {
                if let Some(session) = interface.session(parts.status.as_u16(), &body) {
                    let noted = sent.driver.change(|state, cx| {
                        let at = (interface, base);
                        let step = state.read_with(true, |accounts| {
                            accounts.signed_in(at, sign_in, &session, cx.now)
                        });
                        Ok(((), step))
                    });
                    noted.await?;
                    sent.driver.wake();
                }
                return Ok(whole(parts, body));
            }
            AttemptResult::Large(response) => return Ok(response),
            AttemptResult::Failed(problem) => return Err(problem),
            AttemptResult::Said(parts, body) => Some(whole(parts, body)),
            AttemptResult::Away => None,
        };
        let session = sent
            .driver
            .inspect(|state| state.accounts().session(interface, base, sign_in).map(str::to_owned));
        Ok(match (session, said) {
            (Some(session), _) => {
                self.interface_response(sent, interface.signed_in(&session, seq, is_json))
            }
            (None, Some(said)) => said,
            (None, None) => self.refuse(
                sent,
                seq,
                "the server cannot be reached, and nobody has signed in with these credentials \
                 before",
            ),
        })
    }

    /// Answers with the current response of the server, or with the stored one.
    async fn read_kept(
        &self,
        sent: &ReaderRequest<'_>,
        call: &Call,
        reading: &ReadRequest,
    ) -> Result<Response<Body>, Problem> {
        let known = sent.known(call);
        self.send_first(sent, known).await;
        // Taken before the request: changes that are made meanwhile may or may not be in its response.
        let stamp = sent.driver.inspect(|state| {
            let accounts = state.accounts();
            accounts.stamp(known.unwrap_or_else(Partition::public))
        });
        let said = match self.attempt(sent).await {
            AttemptResult::Whole(parts, body) => {
                let (interface, base) = sent.at();
                let is_done = interface.is_done(parts.status.as_u16(), &body);
                let facts = interface.facts(&reading.form, &body).filter(|_| is_done);
                let Some(facts) = facts else { return Ok(whole(parts, body)) };
                let held = sent.driver.pin(Body::from(body.clone()), u64::MAX).await?;
                let kept = sent.driver.change(|state, cx| {
                    let mut kept = None;
                    let step = state.read_with(false, |accounts| {
                        let at = (interface, base);
                        let answered =
                            accounts.answered(at, &call.credentials, reading.is_proof, cx.now);
                        let Some((partition, mut changes)) = answered else { return Vec::new() };
                        let new = CachedResponse {
                            partition,
                            key: reading.key,
                            kind: kind(&reading.form),
                            // A client that continues under a new password brings its earlier changes along.
                            stamp: stamp.min(accounts.stamp(partition)),
                            fetched: cx.now,
                            media_type: media_type(&parts.headers),
                            content: held.content(),
                            facts,
                        };
                        changes.extend(accounts.keep(new.clone()));
                        kept = Some(new);
                        changes
                    });
                    Ok((kept, step))
                });
                // The bytes are held until the response is stored.
                let kept = kept.await?;
                drop(held);
                return Ok(match kept {
                    Some(kept) => {
                        let body = self.merged(sent, reading, &kept, body).await?;
                        whole(parts, body)
                    }
                    None => whole(parts, body),
                });
            }
            AttemptResult::Large(response) => return Ok(response),
            AttemptResult::Failed(problem) => return Err(problem),
            AttemptResult::Said(parts, body) => Some(whole(parts, body)),
            AttemptResult::Away => None,
        };
        let kept = known.and_then(|partition| {
            sent.driver.inspect(|state| state.accounts().kept(partition, reading.key).cloned())
        });
        let Some(kept) = kept else {
            let reason = "the server is not reached, and this was not asked while it was";
            return Ok(said.unwrap_or_else(|| self.refuse(sent, call.seq, reason)));
        };
        let body = Bytes::from(sent.driver.content(&kept.content)?);
        let body = self.merged(sent, reading, &kept, body).await?;
        let body = sent.newsreader.interface.renumbered(body.to_vec(), call.seq);
        let mut response = self.local_response(sent, StatusCode::OK, Bytes::from(body));
        if let Ok(media_type) = HeaderValue::from_str(&kept.media_type) {
            response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        }
        Ok(response)
    }

    /// Applies all later changes to a response.
    async fn merged(
        &self,
        sent: &ReaderRequest<'_>,
        reading: &ReadRequest,
        kept: &CachedResponse,
        body: Bytes,
    ) -> Result<Bytes, Problem> {
        let (overlay, others) = sent.driver.inspect(|state| state.accounts().overlay(kept));
        let is_list = matches!(&reading.form, Form::List(list) if list.above.is_some());
        if overlay.is_empty() && !is_list {
            return Ok(body);
        }
        let (driver, form) = (Arc::clone(sent.driver), reading.form.clone());
        let interface = sent.newsreader.interface;
        let is_needed = matches!(&form, Form::List(list) if list.filter.gains());
        let merged = tokio::task::spawn_blocking(move || {
            let others = others.iter().filter(|_| is_needed);
            // Contents that were deleted meanwhile are omitted.
            let others: Vec<Vec<u8>> = others.filter_map(|it| driver.content(it).ok()).collect();
            interface.merged(&form, &body, &overlay, &others).map_or(body, Bytes::from)
        });
        Ok(merged.await.map_err(DriverError::from)?)
    }

    /// Forwards a change, or queues it.
    async fn write(
        &self,
        sent: &ReaderRequest<'_>,
        call: &Call,
        writing: &ChangeRequest,
    ) -> Result<Response<Body>, Problem> {
        self.check_page(&sent.target, &sent.parts.headers)?;
        let (interface, _) = sent.at();
        let known = sent.known(call);
        self.send_first(sent, known).await;
        let is_behind = known.is_some_and(|partition| {
            sent.driver.inspect(|state| state.accounts().pending(partition).next().is_some())
        });
        let tried = if is_behind { AttemptResult::Away } else { self.attempt(sent).await };
        let said = match tried {
            AttemptResult::Whole(parts, body) => {
                let status = parts.status.as_u16();
                let can_renew = known.is_some_and(|partition| sent.can_renew(partition));
                if interface.is_unknown(status, &body) && can_renew {
                    // The session expired; it is renewed when the change is delivered.
                    Some(whole(parts, body))
                } else {
                    if let Some(partition) = known.filter(|_| interface.is_done(status, &body)) {
                        let noted = sent.driver.change(|state, _| {
                            let step = state.read_with(false, |accounts| {
                                accounts.made(interface, partition, writing)
                            });
                            Ok(((), step))
                        });
                        noted.await?;
                    }
                    return Ok(whole(parts, body));
                }
            }
            AttemptResult::Large(response) => return Ok(response),
            AttemptResult::Failed(problem) => return Err(problem),
            AttemptResult::Said(parts, body) => Some(whole(parts, body)),
            AttemptResult::Away => None,
        };
        let Some(partition) = known else {
            let reason = "the server is not reached, and it has never answered who asks";
            return Ok(said.unwrap_or_else(|| self.refuse(sent, call.seq, reason)));
        };
        let taken = sent.driver.change(|state, _| {
            let mut full = None;
            let step = state.read_with(true, |accounts| {
                accounts.take(interface, partition, writing).unwrap_or_else(|error| {
                    full = Some(error);
                    Vec::new()
                })
            });
            Ok((full, step))
        });
        match taken.await? {
            None => Ok(self.interface_response(sent, writing.answer.clone())),
            Some(error) => Ok(self.refuse(sent, call.seq, &error.to_string())),
        }
    }

    /// Forwards a request that has no stored effect. Without a network, known users get a local response.
    async fn word(
        &self,
        sent: &ReaderRequest<'_>,
        call: &Call,
        word: RawResponse,
    ) -> Result<Response<Body>, Problem> {
        match self.attempt(sent).await {
            AttemptResult::Whole(parts, body) => Ok(whole(parts, body)),
            AttemptResult::Large(response) => Ok(response),
            AttemptResult::Failed(problem) => Err(problem),
            AttemptResult::Said(..) | AttemptResult::Away if sent.known(call).is_some() => {
                Ok(self.interface_response(sent, word))
            }
            AttemptResult::Said(parts, body) => Ok(whole(parts, body)),
            AttemptResult::Away => Ok(self.refuse(sent, call.seq, "the server cannot be reached")),
        }
    }

    async fn other(
        &self,
        sent: &ReaderRequest<'_>,
        call: &Call,
    ) -> Result<Response<Body>, Problem> {
        if !sent.parts.method.is_safe() {
            let known = sent.known(call);
            self.send_first(sent, known).await;
            // The request may refer to the same objects as an earlier change.
            let is_behind = known.is_some_and(|partition| {
                sent.driver.inspect(|state| state.accounts().next_due(partition).is_some())
            });
            if is_behind {
                let reason = "the server does not have all yet that was changed before";
                return Ok(self.refuse(sent, call.seq, reason));
            }
        }
        match self.attempt(sent).await {
            AttemptResult::Whole(parts, body) | AttemptResult::Said(parts, body) => {
                Ok(whole(parts, body))
            }
            AttemptResult::Large(response) => Ok(response),
            AttemptResult::Failed(problem) => Err(problem),
            AttemptResult::Away => Ok(self.refuse(
                sent,
                call.seq,
                "the server cannot be reached, and this is not possible offline",
            )),
        }
    }
}

impl ReaderRequest<'_> {
    /// Parses the request.
    fn read(&self) -> Call {
        let whole = self.target.path.as_str();
        let base = self.newsreader.mount.base();
        let base = &base.as_str()[base.origin().len()..];
        // The path is parsed in the client's spelling, unless the client spells the address of the interface
        // differently.
        let location = &self.target.location;
        let settled = &location.as_str()[location.origin().len()..];
        let below = whole.strip_prefix(base).or_else(|| settled.strip_prefix(base));
        let below = below.unwrap_or_default();
        let (path, query) = below.split_once('?').unwrap_or((below, ""));
        let content_type = self.parts.headers.get(header::CONTENT_TYPE);
        let requested = RawRequest {
            method: self.parts.method.as_str(),
            path,
            query,
            content_type: content_type.and_then(|value| value.to_str().ok()),
            body: &self.body,
        };
        let asking = Asking { requested, headers: &self.parts.headers };
        self.newsreader.interface.read(&asking)
    }

    fn at(&self) -> (feedsync_bitsy::newsreader::Interface, &feedsync_bitsy::location::Location) {
        (self.newsreader.interface, self.newsreader.mount.base())
    }

    /// Whether the gateway can sign the user in again without asking for the password.
    fn can_renew(&self, partition: Partition) -> bool {
        self.driver.inspect(|state| {
            let account = state.accounts().account(partition);
            account.is_some_and(|account| matches!(account.sign_in, SignIn::Password { .. }))
        })
    }

    /// Returns the user of a request, if a server has responded to them before.
    fn known(&self, call: &Call) -> Option<Partition> {
        let (interface, base) = self.at();
        self.driver
            .inspect(|state| state.accounts().partition_of(interface, base, &call.credentials))
    }
}

fn whole(parts: response::Parts, body: Bytes) -> Response<Body> {
    Response::from_parts(parts, Body::from(body))
}

fn kind(form: &Form) -> u8 {
    match form {
        Form::List(list) => list.kind,
        _ => 0,
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    said.unwrap_or("application/octet-stream").to_owned()
}
