//! Results of checks whether an edit was carried out. Finding them reads stored data, and changes nothing.
//!
//! A POST is looked for in its feed, a PUT at its address. Two kinds of responses do not prove that an edit
//! was carried out: the page of a captive portal, and a response that may be from before. An ambiguous result
//! is an error with the content of the edit, rather than a guess (R-B35, R-B43).

use feedsync_formats::MemberFeed;
use http::header;

use crate::interceptor::context::Context;
use crate::interceptor::delivery::Delivery;
use crate::interceptor::delivery_state::{CandidateMember, DeliveryState};
use crate::interceptor::document::{base, feed_of, fingerprint, is_gone, is_page};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::state::Posted;
use crate::interceptor::stored::{Content, Entity, Stored};
use crate::location::Location;
use crate::outbox::{Edit, Progress};
use crate::overlay::{edit_links, edit_media_links};
use crate::profile::Profile;
use crate::propagation;
use crate::propagation::{Done, named};
use crate::validation::entity_tag;

/// Result of a check.
pub(super) enum CheckResult {
    /// The edit was carried out.
    Done(Done),
    /// The edit was not carried out.
    Missing,
    /// The resource was changed by another client, or it is gone.
    Conflict,
    /// The edit was made on content that was sent from here, which is present with this entity tag.
    BasedOnSent(String),
    /// One of these members may be the result: the member, and its media.
    Candidates(Vec<CandidateMember>),
    /// The check continues at another address.
    Elsewhere(Location),
    /// The response is not from the server.
    NotFromServer,
    /// The response is inconclusive.
    Unclear,
}

/// A response to a check, and what its result depends on.
pub(super) struct Check<'a, S> {
    pub(super) delivery: &'a Delivery<'a>,
    pub(super) cx: Context<'a, S>,
    pub(super) edit: &'a Edit<Entity>,
    pub(super) exchange: Exchange<'a>,
}

impl<S: Stored> Check<'_, S> {
    /// Finds the result of the check.
    pub(super) fn result(&self) -> Result<CheckResult, S::Error> {
        let Exchange { status, headers, task, .. } = self.exchange;
        if status.is_redirection() {
            let to = named(headers, header::LOCATION, &task.location);
            return Ok(to.map_or(CheckResult::Unclear, CheckResult::Elsewhere));
        }
        if self.delivery.is_unmet(self.edit) {
            return self.cause_of_failed_condition();
        }
        let candidates = self.delivery_state().and_then(|state| state.candidates.split_first());
        if let Some((found, others)) = candidates {
            return Ok(self.among_candidates(found, others));
        }
        let is_gone = is_gone(status);
        match self.edit.requested.method {
            propagation::Method::Post if status.is_success() => self.in_feed(),
            propagation::Method::Delete
                if self.edit.progress != Progress::Accepted && status.is_success() =>
            {
                self.in_feed()
            }
            propagation::Method::Delete if is_gone => Ok(CheckResult::Done(Done::default())),
            propagation::Method::Delete if status.is_success() => Ok(CheckResult::Missing),
            propagation::Method::Put if status.is_success() => self.in_place(),
            // The resource to replace does not exist.
            propagation::Method::Put if is_gone => Ok(CheckResult::Conflict),
            _ => Ok(CheckResult::Unclear),
        }
    }

    fn delivery_state(&self) -> Option<&DeliveryState> {
        self.delivery.state.delivery_states.get(&self.edit.id)
    }

    /// Looks in the feed for a posted or deleted member.
    fn in_feed(&self) -> Result<CheckResult, S::Error> {
        let (cx, exchange, requested) = (self.cx, self.exchange, &self.edit.requested);
        let address = base(exchange.headers, &exchange.task.location);
        let Some(document) = feed_of(&cx.stored.content(&exchange.content)?, &address) else {
            return Ok(CheckResult::NotFromServer);
        };
        if requested.method == propagation::Method::Delete {
            let mut places =
                document.members().iter().flat_map(|member| edit_links(member, &address));
            return Ok(match places.any(|place| place == requested.resource) {
                true => CheckResult::Missing,
                false => CheckResult::Done(Done::default()),
            });
        }
        let Some(body) = &requested.body else { return Ok(CheckResult::Missing) };
        let (partition, feed) = (requested.partition, &requested.feed);
        let (content, generation) = (&body.content, requested.generation);
        let posted = Posted { partition, feed, content, generation };
        let places = self.delivery.state.candidate_addresses(cx, posted, &document, &address)?;
        // As many matches belong to similar members that were created before it.
        let before = self.unnamed_like(body.content, &address)?;
        if let Some(member) = places.into_iter().nth(before) {
            let member = Some(member);
            return Ok(CheckResult::Done(Done { member, asks: true, ..Done::default() }));
        }
        // A server that repeats its statement after a check may have made something else of the entry.
        if self.delivery.is_claimed_again(self.edit) {
            return Ok(CheckResult::Done(Done { asks: true, ..Done::default() }));
        }
        let is_entry = fingerprint(cx.stored, body.content, &address)?.is_some();
        let media = if is_entry { Vec::new() } else { self.media(&document, &address)? };
        Ok(if media.is_empty() { CheckResult::Missing } else { CheckResult::Candidates(media) })
    }

    /// Number of members without an address in the feed that are similar to a posted entry.
    fn unnamed_like(&self, posted: Content, address: &Location) -> Result<usize, S::Error> {
        let (stored, requested) = (self.cx.stored, &self.edit.requested);
        let Some(ours) = fingerprint(stored, posted, address)? else { return Ok(0) };
        let mut count = 0;
        for (_, other, _) in self.delivery.state.unnamed(requested.partition, &requested.feed) {
            let other = fingerprint(stored, other, address)?;
            count += usize::from(other.is_some_and(|other| other.may_match(&ours)));
        }
        Ok(count)
    }

    /// Media of the feed that were not seen before the edit was made.
    fn media(
        &self,
        document: &MemberFeed,
        address: &Location,
    ) -> Result<Vec<CandidateMember>, S::Error> {
        let mut found = Vec::new();
        let requested = &self.edit.requested;
        let whose = (requested.partition, &requested.feed);
        for member in document.members() {
            let Some(place) = edit_links(member, address).next() else { continue };
            let content = member.content.iter();
            let content = content.filter_map(|it| Location::resolve(Some(address), it).ok());
            let Some(media) = edit_media_links(member, address).chain(content).next() else {
                continue;
            };
            if self.delivery.state.is_new(self.cx, whose, requested.generation, &place)? {
                found.push(CandidateMember { member: place, media });
            }
        }
        Ok(found)
    }

    /// Result for media that may be the posted ones, with the other candidates.
    fn among_candidates(&self, found: &CandidateMember, others: &[CandidateMember]) -> CheckResult {
        let Exchange { status, content, .. } = self.exchange;
        let ours = self.edit.requested.body.as_ref().map(|body| body.content);
        if status.is_success() && ours == Some(content) {
            let member = Some(found.member.clone());
            return CheckResult::Done(Done { member, asks: true, ..Done::default() });
        }
        if !status.is_success() && !is_gone(status) {
            return CheckResult::Unclear;
        }
        if others.is_empty() {
            CheckResult::Missing
        } else {
            CheckResult::Candidates(others.to_vec())
        }
    }

    /// Whether the content of a PUT is present at its address.
    fn is_there(&self) -> Result<Option<Done>, S::Error> {
        let (theirs, requested) = (self.exchange.content, &self.edit.requested);
        let Some(ours) = &requested.body else { return Ok(None) };
        // If the edit has the wording of the version that it replaces, the comparison proves nothing.
        let is_it = ours.content == theirs
            || self.says_same(ours.content, theirs)?
                && !requested
                    .previous
                    .as_ref()
                    .map_or(Ok(false), |previous| self.says_same(previous.content, ours.content))?;
        let done = || Done { stored: vec![requested.location.clone()], ..Done::default() };
        Ok(is_it.then(done))
    }

    /// Looks for the cause of a failed condition. It may be the edit itself, or content from here on which
    /// the edit was made.
    fn cause_of_failed_condition(&self) -> Result<CheckResult, S::Error> {
        let Exchange { status, headers, .. } = self.exchange;
        if is_gone(status) {
            return Ok(CheckResult::Conflict);
        }
        if !status.is_success() {
            return Ok(CheckResult::Unclear);
        }
        if Delivery::may_be_own_content(self.edit)
            && let Some(done) = self.is_there()?
        {
            return Ok(CheckResult::Done(done));
        }
        let is_ours = self.delivery.may_rebase(self.edit) && self.is_attempted()?;
        let tag = entity_tag(headers).filter(|tag| is_ours && tag.starts_with('"'));
        Ok(tag.map_or(CheckResult::Conflict, |tag| CheckResult::BasedOnSent(tag.to_owned())))
    }

    /// Whether two entries at the address of the check have the same wording.
    fn says_same(&self, one: Content, other: Content) -> Result<bool, S::Error> {
        let (stored, address) = (self.cx.stored, &self.exchange.task.location);
        let one = fingerprint(stored, one, address)?;
        let other = fingerprint(stored, other, address)?;
        Ok(one.zip(other).is_some_and(|(one, other)| one.says(&other)))
    }

    /// Whether the present content was sent from here.
    fn is_attempted(&self) -> Result<bool, S::Error> {
        let Exchange { content: theirs, task, .. } = self.exchange;
        let (stored, requested) = (self.cx.stored, &self.edit.requested);
        let there = fingerprint(stored, theirs, &task.location)?;
        let attempts = &self.delivery.state.attempts;
        for attempt in attempts.of(requested.partition, &requested.location) {
            let ours = fingerprint(stored, *attempt, &task.location)?;
            let kept =
                ours.zip(there.as_ref()).is_some_and(|(ours, there)| ours.is_stored_as(there));
            if *attempt == theirs || kept {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks at the address of a PUT for its content.
    fn in_place(&self) -> Result<CheckResult, S::Error> {
        let Exchange { headers, content: theirs, .. } = self.exchange;
        let requested = &self.edit.requested;
        let Some(ours) = &requested.body else { return Ok(CheckResult::Missing) };
        let is_same = ours.content == theirs;
        let is_resilient = self.delivery.state.settings.profile == Profile::Resilient;
        if is_resilient && !is_same && is_page(headers) && !is_page(&ours.headers) {
            return Ok(CheckResult::NotFromServer);
        }
        let tag = entity_tag(headers);
        if !is_same && requested.base.is_some() && requested.base.as_deref() == tag {
            return Ok(CheckResult::Missing);
        }
        if let Some(done) = self.is_there()? {
            return Ok(CheckResult::Done(done));
        }
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let (was_ours, is_was) = match previous {
            Some(previous) => (
                self.says_same(previous, ours.content)?,
                previous == theirs || self.says_same(previous, theirs)?,
            ),
            None => (false, false),
        };
        let is_claimed = self.delivery_state().is_some_and(|state| state.claims > 0);
        if is_claimed && (requested.base.is_some() || (previous.is_some() && !is_was)) {
            return Ok(CheckResult::Done(Done { asks: true, ..Done::default() }));
        }
        // With a condition the server detects conflicts. Without one, its version may be another client's.
        Ok(match (&requested.base, previous) {
            (None, Some(_)) if !is_was => CheckResult::Conflict,
            (Some(_), _) if was_ours => CheckResult::Conflict,
            _ => CheckResult::Missing,
        })
    }
}

impl Delivery<'_> {
    /// Whether an edit that was refused for its base may have been made on content that was sent from here.
    pub(super) fn may_rebase(&self, edit: &Edit<Entity>) -> bool {
        let requested = &edit.requested;
        let is_rebased =
            self.state.delivery_states.get(&edit.id).is_some_and(|trail| trail.is_rebased);
        requested.base.is_some()
            && !requested.is_conditional
            && !is_rebased
            && !self.state.attempts.of(requested.partition, &requested.location).is_empty()
    }

    /// Whether the present content may be that of the refused edit itself. An earlier attempt may have
    /// arrived after the gateway looked for it.
    pub(super) fn may_be_own_content(edit: &Edit<Entity>) -> bool {
        edit.requested.method == propagation::Method::Put && edit.tries > 1
    }

    /// Whether the condition of an edit failed, so that its present content is requested.
    pub(super) fn is_unmet(&self, edit: &Edit<Entity>) -> bool {
        self.state.delivery_states.get(&edit.id).is_some_and(|state| state.is_unmet)
    }

    /// Whether a server said more than once that it carried an edit out.
    pub(super) fn is_claimed_again(&self, edit: &Edit<Entity>) -> bool {
        self.state.delivery_states.get(&edit.id).is_some_and(|state| state.claims > 1)
    }
}
