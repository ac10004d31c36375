//! Edits that are sent to their server while the application waits, and results of edits (BITSY 3.5, R-B35).

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::authentication::Partition;
use crate::cache_headers::Timing;
use crate::interception::local_tag;
use crate::interceptor::attempts::Attempt;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::delivery::Delivery;
use crate::interceptor::document::{can_be, is_page};
use crate::interceptor::exchange::ServerResponse;
use crate::interceptor::pending::pending;
use crate::interceptor::proposed::{EditRequest, Proposed};
use crate::interceptor::reply::Reply;
use crate::interceptor::step::{OverlayEdit, Step};
use crate::interceptor::stored::{Content, Entity, Representation, Stored};
use crate::location::Location;
use crate::outbox::Settlement;
use crate::profile::Profile;
use crate::propagation::{Done, Verdict};
use crate::validation::entity_tag;
use crate::{cache_headers, propagation};

/// Result of an edit that was sent while its application waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardOutcome {
    /// The server responded.
    ServerResponse {
        /// Status of the response.
        status: StatusCode,
        /// Headers of the response.
        headers: HeaderMap,
        /// Body of the response, which is stored.
        content: Content,
    },
    /// The connection failed, before anything was sent or possibly after everything was.
    Lost {
        /// Whether the edit may have arrived.
        perhaps_arrived: bool,
    },
}

/// An edit that was carried out.
pub(super) struct CompletedEdit<'a> {
    pub(crate) partition: Partition,
    pub(crate) feed: &'a Location,
    pub(crate) method: propagation::Method,
    /// The edited resource; for a POST, its temporary address.
    pub(crate) resource: &'a Location,
    pub(crate) entity: Option<&'a Entity>,
    pub(crate) generation: u64,
    /// Whether the edit waited here, so that applications may know a temporary address.
    pub(crate) was_queued: bool,
}

impl Delivery<'_> {
    /// Notes that an edit is about to be sent. The note is stored before sending, but need not survive a
    /// power cut. The result is passed to [`Self::forwarded`].
    pub fn begin_forward(&mut self, proposed: &Proposed, entity: Option<&Entity>) -> Step {
        let mut step = Step::default();
        let Some(entity) = entity.filter(|_| proposed.method == propagation::Method::Put) else {
            return step;
        };
        let (partition, location) = (proposed.partition, proposed.location.clone());
        self.state.attempt(&mut step, Attempt { partition, location, content: entity.content });
        step
    }

    /// Applies the result of an edit that was sent while its application waited. An edit that never arrived
    /// is queued and acknowledged as without a network. Otherwise the application gets its server's response.
    pub fn forwarded<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: EditRequest<'_>,
        outcome: &ForwardOutcome,
    ) -> Result<(Option<Reply>, Step), S::Error> {
        match outcome {
            ForwardOutcome::ServerResponse { status, headers, content } => {
                let response = ServerResponse { status: *status, headers, content: *content };
                Ok((None, self.forward_answered(cx, edit, response)?))
            }
            ForwardOutcome::Lost { perhaps_arrived } => {
                let (reply, step) = self.forward_lost(cx, edit, *perhaps_arrived)?;
                Ok((Some(reply), step))
            }
        }
    }

    fn forward_lost<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: EditRequest<'_>,
        perhaps_arrived: bool,
    ) -> Result<(Reply, Step), S::Error> {
        let (attempt, location) = (edit.attempt(), edit.proposed.location.clone());
        let (reply, step, new) = self.add(cx, edit)?;
        let mut draft = Draft { step, ..cx.draft() };
        self.state.reachability.lost(&location, draft.now, draft.random);
        if let Some(id) = new.filter(|_| perhaps_arrived) {
            self.state.outbox.mark_sending(id);
            let lost = Settlement::Lost { perhaps_arrived: true };
            self.state.outbox.settle(id, lost, draft.now, draft.random);
            self.state.store_edit(&mut draft, id);
        }
        attempt.iter().for_each(|attempt| self.state.remove_attempt(&mut draft, attempt));
        Ok((reply, draft.step))
    }

    fn forward_answered<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: EditRequest<'_>,
        response: ServerResponse<'_>,
    ) -> Result<Step, S::Error> {
        let ServerResponse { status, headers, .. } = response;
        let (proposed, location) = (edit.proposed, &edit.proposed.location);
        let verdict = self.verdict(cx, proposed.method, location, response)?;
        let invalidated = match status.is_success() || status.is_redirection() {
            true => {
                let known = match &verdict {
                    Verdict::Done(done) => &*done.stored,
                    _ => &[],
                };
                self.state.invalidated_by(cx, location, headers, known)?
            }
            false => Vec::new(),
        };
        let mut draft = cx.draft();
        self.state.reachability.answered(location);
        // A 5xx or 408 may come from an intermediary or a failing server, which leaves the result of the edit
        // unknown.
        let is_known = !status.is_server_error() && status != StatusCode::REQUEST_TIMEOUT;
        let known = edit.attempt().filter(|_| is_known);
        known.iter().for_each(|attempt| self.state.remove_attempt(&mut draft, attempt));
        let (partition, feed) = (proposed.partition, &proposed.feed);
        // The page may come from a captive portal. The application gets it, and the feed is fetched to learn
        // the result.
        let is_page = status.is_success() && is_page(headers);
        let is_kept = self.state.stored_subscription_of(partition, feed).is_some();
        if !is_kept {
            // The subscription ended meanwhile, so nothing is stored.
        } else if is_page && self.state.settings.profile == Profile::Resilient {
            self.state.refresh(&mut draft, partition, feed, &proposed.queue);
        } else if let Verdict::Done(done) = &verdict {
            let resource = match proposed.method {
                propagation::Method::Post => pending(location, &format!("{:032x}", cx.random)),
                _ => location.clone(),
            };
            let out = CompletedEdit {
                partition,
                feed,
                method: proposed.method,
                resource: &resource,
                entity: edit.entity.as_ref(),
                generation: proposed.generation,
                was_queued: false,
            };
            self.record_completed(&mut draft, out, done, response);
            self.state.refresh(&mut draft, partition, feed, &proposed.queue);
        }
        invalidated.into_iter().for_each(|it| self.state.invalidate(&mut draft, it));
        self.state.count(&mut draft);
        Ok(draft.step)
    }

    /// Meaning of the response to an edit.
    pub(super) fn verdict<S: Stored>(
        &self,
        cx: Context<'_, S>,
        method: propagation::Method,
        location: &Location,
        answered: ServerResponse<'_>,
    ) -> Result<Verdict, S::Error> {
        let ServerResponse { status, headers, content } = answered;
        let is_representation =
            status.is_success() && content.length > 0 && can_be(cx.stored, headers, content)?;
        let answer = propagation::Answer { status, headers, is_representation };
        Ok(Verdict::of(method, location, answer, self.state.settings.profile, cx.now))
    }

    /// Stores the result of an edit that was carried out, and shows it until the feed does. Returns the
    /// address of the resource, and its entity tag if known.
    pub(super) fn record_completed(
        &mut self,
        draft: &mut Draft,
        out: CompletedEdit<'_>,
        done: &Done,
        answered: ServerResponse<'_>,
    ) -> (Location, Option<String>) {
        let CompletedEdit { partition, feed, method, resource, entity, generation, was_queued } =
            out;
        let member = done.member.as_ref().filter(|_| method == propagation::Method::Post);
        let place = member.unwrap_or(resource).clone();
        let now = draft.now;
        let representation = |headers, content, alias_tag| Representation {
            status: StatusCode::OK,
            headers,
            content,
            fetched: now,
            alias_tag,
        };
        let ours = entity.map(|entity| local_tag(entity.content));
        for location in &done.stored {
            let mut headers =
                cache_headers::stored_headers(answered.headers, Timing::at(draft.now));
            headers.remove(header::LOCATION);
            let stored = representation(headers, answered.content, ours.clone());
            self.state.represent(draft, partition, location, Some(stored));
        }
        let tag = entity_tag(answered.headers);
        // The tag in a response to PUT is that of the content, if it was stored unchanged (RFC 9110 9.3.4).
        let is_reported = done.stored.contains(&place) || method == propagation::Method::Put;
        let tag = tag.filter(|tag| is_reported && tag.starts_with('"'));
        let mut shown = match done.stored.contains(&place) {
            true => Some(Entity {
                headers: cache_headers::stored_headers(answered.headers, Timing::at(draft.now)),
                content: answered.content,
            }),
            false => entity
                .map(|entity| Entity { headers: entity.shown_headers(), content: entity.content }),
        };
        if let Some(shown) = &mut shown {
            shown.headers.remove(header::LOCATION);
            shown.headers.remove(header::ETAG);
            let value = tag.and_then(|tag| HeaderValue::from_str(tag).ok());
            shown.headers.extend(value.map(|value| (header::ETAG, value)));
        }
        match method {
            propagation::Method::Delete => self.state.represent(draft, partition, &place, None),
            propagation::Method::Put if !done.stored.contains(&place) => {
                let stored = shown
                    .clone()
                    .map(|Entity { headers, content }| representation(headers, content, ours));
                self.state.represent(draft, partition, &place, stored);
            }
            _ => {}
        }
        // No application knows a temporary address of an edit that it waited for.
        if let Some(member) = member.filter(|_| was_queued) {
            self.state.name(draft, partition, resource, Some(member));
        }
        if let Some(stored_subscription) = self
            .state
            .stored_subscription_of(partition, feed)
            .map(|stored_subscription| stored_subscription.id)
        {
            let asks = done.asks && (method != propagation::Method::Post || member.is_some());
            if asks {
                self.state.requested.insert((stored_subscription, place.clone()));
            }
        }
        self.state.show(
            draft,
            OverlayEdit {
                place: 0,
                partition,
                feed: feed.clone(),
                resource: place.clone(),
                pending: (method == propagation::Method::Post).then(|| resource.clone()),
                entity: shown.filter(|_| method != propagation::Method::Delete),
                generation,
            },
        );
        (place, tag.map(str::to_owned))
    }
}

impl EditRequest<'_> {
    /// The note that the content of the edit may have been sent.
    fn attempt(&self) -> Option<Attempt> {
        let Proposed { partition, location, .. } = self.proposed;
        let content = self.entity.as_ref()?.content;
        Some(Attempt { partition: *partition, location: location.clone(), content })
    }
}
