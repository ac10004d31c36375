//! Results of checks whether an edit was carried out. Finding them reads stored data, and changes nothing.
//!
//! A POST is looked for in its feed, a PUT at its address. Two kinds of responses do not prove that an edit
//! was carried out: the page of a captive portal, and a response that may be from before. An ambiguous result
//! is an error with the content of the edit, rather than a guess (R-B35, R-B43).

use feedsync_formats::MemberFeed;
use http::{StatusCode, header};

use crate::authentication::Partition;
use crate::fingerprint::Fingerprint;
use crate::interceptor::context::Context;
use crate::interceptor::delivery::Delivery;
use crate::interceptor::delivery_state::CandidateMember;
use crate::interceptor::document::{base, feed_of, is_page};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::state::Posted;
use crate::interceptor::stored::{Content, Entity, Stored};
use crate::location::Location;
use crate::outbox::{Edit, Progress};
use crate::overlay::{edit_links, edit_media_links};
use crate::profile::Profile;
use crate::propagation;
use crate::propagation::{Done, named};

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

impl Delivery<'_> {
    pub(super) fn finding<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let Exchange { status, headers, content, task, .. } = *exchange;
        let trail = self.state.delivery_states.get(&edit.id);
        if status.is_redirection() {
            let to = named(headers, header::LOCATION, &task.location);
            return Ok(to.map_or(CheckResult::Unclear, CheckResult::Elsewhere));
        }
        if trail.is_some_and(|trail| trail.is_unmet) {
            return self.cause_of_failed_condition(cx, edit, exchange);
        }
        if let Some(found) = trail.and_then(|trail| trail.candidates.first()) {
            return Ok(self.candidates_among(edit, found, status, content));
        }
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        match edit.requested.method {
            propagation::Method::Post if status.is_success() => self.in_feed(cx, edit, exchange),
            propagation::Method::Delete
                if edit.progress != Progress::Accepted && status.is_success() =>
            {
                self.in_feed(cx, edit, exchange)
            }
            propagation::Method::Delete if is_gone => Ok(CheckResult::Done(Done::default())),
            propagation::Method::Delete if status.is_success() => Ok(CheckResult::Missing),
            propagation::Method::Put if status.is_success() => self.in_place(cx, edit, exchange),
            // The resource to replace does not exist.
            propagation::Method::Put if is_gone => Ok(CheckResult::Conflict),
            _ => Ok(CheckResult::Unclear),
        }
    }

    /// Looks in the feed for a posted or deleted member.
    fn in_feed<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let requested = &edit.requested;
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
        let places = self.state.candidate_addresses(cx, posted, &document, &address)?;
        // As many matches belong to similar members that were created before it.
        let before = self.unnamed_like(cx, (partition, feed), content, &address)?;
        if let Some(member) = places.into_iter().nth(before) {
            let member = Some(member);
            return Ok(CheckResult::Done(Done { member, asks: true, ..Done::default() }));
        }
        // A server that repeats its statement after a check may have made something else of the entry.
        if self.state.delivery_states.get(&edit.id).is_some_and(|trail| trail.claims > 1) {
            return Ok(CheckResult::Done(Done { asks: true, ..Done::default() }));
        }
        let is_entry =
            Fingerprint::of_entry(&cx.stored.content(&body.content)?, &address).is_some();
        let media = if is_entry { Vec::new() } else { self.media(cx, edit, &document, &address)? };
        Ok(if media.is_empty() { CheckResult::Missing } else { CheckResult::Candidates(media) })
    }

    /// Number of members without an address in a feed that are similar to an entry.
    fn unnamed_like<S: Stored>(
        &self,
        cx: Context<'_, S>,
        (partition, feed): (Partition, &Location),
        posted: &Content,
        address: &Location,
    ) -> Result<usize, S::Error> {
        let Some(ours) = Fingerprint::of_entry(&cx.stored.content(posted)?, address) else {
            return Ok(0);
        };
        let mut count = 0;
        for (_, other, _) in self.state.unnamed(partition, feed) {
            let other = Fingerprint::of_entry(&cx.stored.content(&other)?, address);
            count += usize::from(other.is_some_and(|other| other.may_match(&ours)));
        }
        Ok(count)
    }

    /// Media of a feed that were not seen before an edit was made.
    fn media<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        document: &MemberFeed,
        address: &Location,
    ) -> Result<Vec<CandidateMember>, S::Error> {
        let mut found = Vec::new();
        let whose = (edit.requested.partition, &edit.requested.feed);
        for member in document.members() {
            let Some(place) = edit_links(member, address).next() else { continue };
            let content = member.content.iter();
            let content = content.filter_map(|it| Location::resolve(Some(address), it).ok());
            let Some(media) = edit_media_links(member, address).chain(content).next() else {
                continue;
            };
            if self.state.is_new(cx, whose, edit.requested.generation, &place)? {
                found.push(CandidateMember { member: place, media });
            }
        }
        Ok(found)
    }

    /// Result for media that may be the posted ones.
    fn candidates_among(
        &self,
        edit: &Edit<Entity>,
        found: &CandidateMember,
        status: StatusCode,
        content: Content,
    ) -> CheckResult {
        let ours = edit.requested.body.as_ref().map(|body| body.content);
        if status.is_success() && ours == Some(content) {
            let member = Some(found.member.clone());
            return CheckResult::Done(Done { member, asks: true, ..Done::default() });
        }
        if !status.is_success() && !matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return CheckResult::Unclear;
        }
        let others =
            self.state.delivery_states.get(&edit.id).map(|trail| trail.candidates[1..].to_vec());
        let others = others.unwrap_or_default();
        if others.is_empty() { CheckResult::Missing } else { CheckResult::Candidates(others) }
    }

    /// Whether the content of a PUT is present at its address.
    fn is_there<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        theirs: Content,
        address: &Location,
    ) -> Result<Option<Done>, S::Error> {
        let requested = &edit.requested;
        let Some(ours) = &requested.body else { return Ok(None) };
        let says = |one: Content, other: Content| self.says_same(cx, one, other, address);
        // If the edit has the wording of the version that it replaces, the comparison proves nothing.
        let is_it = ours.content == theirs
            || says(ours.content, theirs)?
                && !requested
                    .previous
                    .as_ref()
                    .map_or(Ok(false), |previous| says(previous.content, ours.content))?;
        let done = || Done { stored: vec![requested.location.clone()], ..Done::default() };
        Ok(is_it.then(done))
    }

    /// Looks for the cause of a failed condition. It may be the edit itself, or content from here on which
    /// the edit was made.
    fn cause_of_failed_condition<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let Exchange { status, headers, content, task, .. } = *exchange;
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return Ok(CheckResult::Conflict);
        }
        if !status.is_success() {
            return Ok(CheckResult::Unclear);
        }
        if Self::may_be_own_content(edit)
            && let Some(done) = self.is_there(cx, edit, content, &task.location)?
        {
            return Ok(CheckResult::Done(done));
        }
        let is_ours =
            self.may_rebase(edit) && self.is_attempted(cx, edit, content, &task.location)?;
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.filter(|tag| is_ours && tag.starts_with('"'));
        Ok(tag.map_or(CheckResult::Conflict, |tag| CheckResult::BasedOnSent(tag.to_owned())))
    }

    /// Whether two entries have the same wording.
    fn says_same<S: Stored>(
        &self,
        cx: Context<'_, S>,
        one: Content,
        other: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let fingerprint = |content| {
            let bytes = cx.stored.content(&content)?;
            Ok(Fingerprint::of_entry(&bytes, address))
        };
        let (one, other) = (fingerprint(one)?, fingerprint(other)?);
        Ok(one.zip(other).is_some_and(|(one, other)| one.says(&other)))
    }

    /// Whether the present content was sent from here.
    fn is_attempted<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        theirs: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let fingerprint =
            |content| Ok(Fingerprint::of_entry(&cx.stored.content(&content)?, address));
        let there = fingerprint(theirs)?;
        for attempt in self.state.attempts.of(edit.requested.partition, &edit.requested.location) {
            let ours = fingerprint(*attempt)?;
            let kept =
                ours.zip(there.as_ref()).is_some_and(|(ours, there)| ours.is_stored_as(there));
            if *attempt == theirs || kept {
                return Ok(true);
            }
        }
        Ok(false)
    }

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

    /// Looks at the address of a PUT for its content.
    fn in_place<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let Exchange { headers, content: theirs, task, .. } = *exchange;
        let (requested, address) = (&edit.requested, &task.location);
        let Some(ours) = &requested.body else { return Ok(CheckResult::Missing) };
        let is_same = ours.content == theirs;
        let is_resilient = self.state.settings.profile == Profile::Resilient;
        if is_resilient && !is_same && is_page(headers) && !is_page(&ours.headers) {
            return Ok(CheckResult::NotFromServer);
        }
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        if !is_same && requested.base.is_some() && requested.base.as_deref() == tag {
            return Ok(CheckResult::Missing);
        }
        if let Some(done) = self.is_there(cx, edit, theirs, address)? {
            return Ok(CheckResult::Done(done));
        }
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let says = |one: Content, other: Content| self.says_same(cx, one, other, address);
        let was_ours = previous.map_or(Ok(false), |previous| says(previous, ours.content))?;
        let is_was = previous
            .map_or(Ok(false), |previous| Ok(previous == theirs || says(previous, theirs)?))?;
        let delivery_state = self.state.delivery_states.get(&edit.id);
        let is_claimed = delivery_state.is_some_and(|trail| trail.claims > 0);
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
