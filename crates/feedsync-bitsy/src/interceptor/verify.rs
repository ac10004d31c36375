//! Verification whether an edit that may have been carried out was.
//!
//! A POST is looked for in its feed, a PUT at its address. Two kinds of responses do not prove that an edit
//! was carried out: the page of a captive portal, and a response that may be from before. An ambiguous result
//! is an error with the content of the edit, rather than a guess (R-B35, R-B43).

use std::time::Duration;

use feedsync_formats::MemberFeed;
use http::header;
use http::{HeaderMap, StatusCode};

use super::Interceptor;
use super::document::{base, feed_of, is_page};
use super::round_response::Exchange;
use super::send::CandidateMember;
use super::step::Step;
use super::stored::{Content, Entity, Stored};
use crate::authentication::Partition;
use crate::cache_headers::{self, Timing};
use crate::fingerprint::Fingerprint;
use crate::location::Location;
use crate::outbox::{Edit, Progress, wait};
use crate::overlay::{edit_links, edit_media_links};
use crate::profile::Profile;
use crate::propagation::{Done, Method, named};
use crate::subscription::outcome::MAX_HOPS;
use crate::time::Time;

/// Number of inconclusive checks after which an edit is an error.
const MAX_CHECKS: u32 = 12;

/// Number of checks that lack credentials after which an edit is held.
const MAX_CHECKS_WITHOUT_CREDENTIALS: u32 = 3;

/// Number of checks of an accepted edit.
const MAX_ACCEPTED_CHECKS: u32 = 48;

/// Minimum time between checks of an accepted edit. It is also the minimum time before the check of a POST
/// after a timeout of its server.
pub(super) const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Result of a check.
enum CheckResult {
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

impl Interceptor {
    /// Applies the response to a check.
    pub(super) fn verified<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let finding = self.finding(stored, edit, &exchange)?;
        let is_awaited = edit.progress == Progress::Accepted;
        match finding {
            CheckResult::Done(done) => self.done(step, edit, done, &exchange, now, random),
            CheckResult::Conflict => {
                let is_unmet =
                    self.delivery_states.get(&edit.id).is_some_and(|trail| trail.is_unmet);
                let status =
                    if is_unmet { StatusCode::PRECONDITION_FAILED } else { exchange.status };
                self.refused(step, edit, &Exchange { status, ..exchange }, now);
                if !is_unmet {
                    self.note_discarded(step, edit);
                }
            }
            CheckResult::BasedOnSent(tag) => {
                let trail = self.delivery_states.entry(edit.id).or_default();
                (trail.is_unmet, trail.is_rebased, trail.is_missing) = (false, true, true);
                let headers = cache_headers::stored_headers(exchange.headers, Timing::at(now));
                self.outbox.rebase(edit.id, tag, Entity { headers, content: exchange.content });
                self.lost(step, edit, now, random);
            }
            // The server said more than once that it carried the edit out, and the check disproved it.
            CheckResult::Missing if !is_awaited && self.is_denied(edit) => {
                self.refused(step, edit, &exchange, now);
                self.note_discarded(step, edit);
            }
            CheckResult::Missing if !is_awaited => {
                // The content of an edit that was sent does not change, because the request may still arrive.
                let trail = self.delivery_states.entry(edit.id).or_default();
                trail.is_missing = true;
                trail.candidates.clear();
                self.lost(step, edit, now, random);
            }
            CheckResult::Candidates(found) => {
                self.delivery_states.entry(edit.id).or_default().candidates = found;
                self.verify_again(step, edit, now, random);
            }
            CheckResult::Elsewhere(to) => {
                let trail = self.delivery_states.entry(edit.id).or_default();
                trail.hops += 1;
                trail.verify_at = (trail.hops <= MAX_HOPS).then_some(to);
                match trail.verify_at {
                    Some(_) => self.verify_again(step, edit, now, random),
                    None => self.unclear(step, edit, &exchange, now, random),
                }
            }
            CheckResult::NotFromServer => {
                self.delivery_states.entry(edit.id).or_default().forget_redirects();
                self.reachability.lost(&exchange.task.location, now, random);
                self.verify_again(step, edit, now, random);
            }
            CheckResult::Missing | CheckResult::Unclear => {
                self.unclear(step, edit, &exchange, now, random);
            }
        }
        Ok(())
    }

    /// Whether a server said more than once that it carried an edit out.
    fn is_denied(&self, edit: &Edit<Entity>) -> bool {
        self.delivery_states.get(&edit.id).is_some_and(|trail| trail.claims > 1)
    }

    /// Checks an edit again as soon as possible.
    fn verify_again(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        match edit.progress {
            Progress::Accepted => drop(self.awaited.insert(edit.id)),
            _ => self.lost(step, edit, now, random),
        }
    }

    /// Checks an edit again later. After too many checks the edit is an error or is held.
    fn unclear(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        now: Time,
        random: u64,
    ) {
        let status = exchange.status.as_u16();
        let is_awaited = edit.progress == Progress::Accepted;
        let is_final =
            matches!(status, 200..=299 | 400..=499 | 501) && !matches!(status, 408 | 425 | 429);
        let wants_credentials = matches!(status, 401 | 407);
        let checks = self.delivery_states.entry(edit.id).or_default().checks;
        if wants_credentials && checks >= MAX_CHECKS_WITHOUT_CREDENTIALS {
            self.hold_edit(step, edit, exchange, now, random);
        } else if checks >= if is_awaited { MAX_ACCEPTED_CHECKS } else { MAX_CHECKS } && is_final {
            self.refused(step, edit, exchange, now);
        } else {
            self.verify_later(step, edit, now, random);
        }
    }

    /// Checks an edit that may have arrived again, after a growing delay.
    pub(super) fn verify_later(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        now: Time,
        random: u64,
    ) {
        let least =
            if edit.progress == Progress::Accepted { MIN_CHECK_INTERVAL } else { Duration::ZERO };
        let trail = self.delivery_states.entry(edit.id).or_default();
        trail.forget_redirects();
        trail.checks += 1;
        trail.not_before = Some(now.after(wait(trail.checks, random).max(least)));
        self.verify_again(step, edit, now, random);
    }

    fn finding<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let Exchange { status, headers, content, task, .. } = *exchange;
        let trail = self.delivery_states.get(&edit.id);
        if status.is_redirection() {
            let to = named(headers, header::LOCATION, &task.location);
            return Ok(to.map_or(CheckResult::Unclear, CheckResult::Elsewhere));
        }
        if trail.is_some_and(|trail| trail.is_unmet) {
            return self.cause_of_failed_condition(stored, edit, exchange);
        }
        if let Some(found) = trail.and_then(|trail| trail.candidates.first()) {
            return Ok(self.candidates_among(edit, found, status, content));
        }
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        match edit.requested.method {
            Method::Post if status.is_success() => self.in_feed(stored, edit, exchange),
            Method::Delete if edit.progress != Progress::Accepted && status.is_success() => {
                self.in_feed(stored, edit, exchange)
            }
            Method::Delete if is_gone => Ok(CheckResult::Done(Done::default())),
            Method::Delete if status.is_success() => Ok(CheckResult::Missing),
            Method::Put if status.is_success() => {
                self.in_place(stored, edit, headers, content, &task.location)
            }
            // The resource to replace does not exist.
            Method::Put if is_gone => Ok(CheckResult::Conflict),
            _ => Ok(CheckResult::Unclear),
        }
    }

    /// Looks in the feed for a posted or deleted member.
    fn in_feed<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<CheckResult, S::Error> {
        let requested = &edit.requested;
        let address = base(exchange.headers, &exchange.task.location);
        let Some(document) = feed_of(&stored.content(&exchange.content)?, &address) else {
            return Ok(CheckResult::NotFromServer);
        };
        let whose = (requested.partition, &requested.feed);
        if requested.method == Method::Delete {
            let mut places =
                document.members().iter().flat_map(|member| edit_links(member, &address));
            return Ok(match places.any(|place| place == requested.resource) {
                true => CheckResult::Missing,
                false => CheckResult::Done(Done::default()),
            });
        }
        let Some(body) = &requested.body else { return Ok(CheckResult::Missing) };
        let posted = (&body.content, requested.generation);
        let places = self.candidate_addresses(stored, whose, posted, &document, &address)?;
        // As many matches belong to similar members that were created before it.
        let before = self.unnamed_like(stored, whose, &body.content, &address)?;
        if let Some(member) = places.into_iter().nth(before) {
            let member = Some(member);
            return Ok(CheckResult::Done(Done { member, asks: true, ..Done::default() }));
        }
        // A server that repeats its statement after a check may have made something else of the entry.
        if self.delivery_states.get(&edit.id).is_some_and(|trail| trail.claims > 1) {
            return Ok(CheckResult::Done(Done { asks: true, ..Done::default() }));
        }
        let is_entry = Fingerprint::of_entry(&stored.content(&body.content)?, &address).is_some();
        let media =
            if is_entry { Vec::new() } else { self.media(stored, edit, &document, &address)? };
        Ok(if media.is_empty() { CheckResult::Missing } else { CheckResult::Candidates(media) })
    }

    /// Number of members without an address in a feed that are similar to an entry.
    fn unnamed_like<S: Stored>(
        &self,
        stored: &S,
        (partition, feed): (Partition, &Location),
        posted: &Content,
        address: &Location,
    ) -> Result<usize, S::Error> {
        let Some(ours) = Fingerprint::of_entry(&stored.content(posted)?, address) else {
            return Ok(0);
        };
        let mut count = 0;
        for (_, other, _) in self.unnamed(partition, feed) {
            let other = Fingerprint::of_entry(&stored.content(&other)?, address);
            count += usize::from(other.is_some_and(|other| other.may_match(&ours)));
        }
        Ok(count)
    }

    /// Media of a feed that were not seen before an edit was made.
    fn media<S: Stored>(
        &self,
        stored: &S,
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
            if self.is_new(stored, whose, edit.requested.generation, &place)? {
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
        let others = self.delivery_states.get(&edit.id).map(|trail| trail.candidates[1..].to_vec());
        let others = others.unwrap_or_default();
        if others.is_empty() { CheckResult::Missing } else { CheckResult::Candidates(others) }
    }

    /// Looks at the address of a PUT for its content.
    fn in_place<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        headers: &HeaderMap,
        theirs: Content,
        address: &Location,
    ) -> Result<CheckResult, S::Error> {
        let requested = &edit.requested;
        let Some(ours) = &requested.body else { return Ok(CheckResult::Missing) };
        let is_same = ours.content == theirs;
        let is_resilient = self.settings.profile == Profile::Resilient;
        if is_resilient && !is_same && is_page(headers) && !is_page(&ours.headers) {
            return Ok(CheckResult::NotFromServer);
        }
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        if !is_same && requested.base.is_some() && requested.base.as_deref() == tag {
            return Ok(CheckResult::Missing);
        }
        if let Some(done) = self.is_there(stored, edit, theirs, address)? {
            return Ok(CheckResult::Done(done));
        }
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let says = |one: Content, other: Content| self.says_same(stored, one, other, address);
        let was_ours = previous.map_or(Ok(false), |previous| says(previous, ours.content))?;
        let is_was = previous
            .map_or(Ok(false), |previous| Ok(previous == theirs || says(previous, theirs)?))?;
        let is_claimed = self.delivery_states.get(&edit.id).is_some_and(|trail| trail.claims > 0);
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

    /// Whether the content of a PUT is present at its address.
    fn is_there<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        theirs: Content,
        address: &Location,
    ) -> Result<Option<Done>, S::Error> {
        let requested = &edit.requested;
        let Some(ours) = &requested.body else { return Ok(None) };
        let says = |one: Content, other: Content| self.says_same(stored, one, other, address);
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
        stored: &S,
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
            && let Some(done) = self.is_there(stored, edit, content, &task.location)?
        {
            return Ok(CheckResult::Done(done));
        }
        let is_ours =
            self.may_rebase(edit) && self.is_attempted(stored, edit, content, &task.location)?;
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.filter(|tag| is_ours && tag.starts_with('"'));
        Ok(tag.map_or(CheckResult::Conflict, |tag| CheckResult::BasedOnSent(tag.to_owned())))
    }

    /// Whether two entries have the same wording.
    fn says_same<S: Stored>(
        &self,
        stored: &S,
        one: Content,
        other: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let fingerprint = |content| {
            let bytes = stored.content(&content)?;
            Ok(Fingerprint::of_entry(&bytes, address))
        };
        let (one, other) = (fingerprint(one)?, fingerprint(other)?);
        Ok(one.zip(other).is_some_and(|(one, other)| one.says(&other)))
    }
}
