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
use super::answers::Exchange;
use super::document::{base, feed_of, is_page};
use super::sending::Found;
use super::step::Step;
use super::stored::{Content, Entity, Stored};
use crate::answer::{self, Timing};
use crate::authentication::Partition;
use crate::likeness::Likeness;
use crate::location::Location;
use crate::outbox::{Edit, Progress, wait};
use crate::overlay::{edit_links, edit_media_links};
use crate::profile::Profile;
use crate::propagation::{Done, Method, named};
use crate::subscription::outcome::HOPS;
use crate::time::Time;

/// Number of inconclusive checks after which an edit is an error.
const LOOKS: u32 = 12;

/// Number of checks that lack credentials after which an edit is held.
const LOOKS_WITHOUT_CREDENTIALS: u32 = 3;

/// Number of checks of an accepted edit.
const AWAITS: u32 = 48;

/// Minimum time between checks of an accepted edit. It is also the minimum time before the check of a POST
/// after a timeout of its server.
pub(super) const AWAIT: Duration = Duration::from_secs(30);

/// Result of a check.
enum Finding {
    /// The edit was carried out.
    Done(Done),
    /// The edit was not carried out.
    Missing,
    /// The resource was changed by another client, or it is gone.
    Conflict,
    /// The edit was made on content that was sent from here, which is present with this entity tag.
    MadeOn(String),
    /// One of these members may be the result: the member, and its media.
    Perhaps(Vec<Found>),
    /// The check continues at another address.
    Elsewhere(Location),
    /// The response is not from the server.
    Impostor,
    /// The response is inconclusive.
    Unclear,
}

impl Interceptor {
    /// Applies the response to a check.
    pub(super) fn looked<S: Stored>(
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
            Finding::Done(done) => self.done(step, edit, done, &exchange, now, random),
            Finding::Conflict => {
                let is_unmet = self.trails.get(&edit.id).is_some_and(|trail| trail.is_unmet);
                let status =
                    if is_unmet { StatusCode::PRECONDITION_FAILED } else { exchange.status };
                self.refused(step, edit, &Exchange { status, ..exchange }, now);
                if !is_unmet {
                    self.given_up(step, edit);
                }
            }
            Finding::MadeOn(tag) => {
                let trail = self.trails.entry(edit.id).or_default();
                (trail.is_unmet, trail.is_rebased, trail.is_missing) = (false, true, true);
                let headers = answer::kept(exchange.headers, Timing::at(now));
                self.outbox.rebase(edit.id, tag, Entity { headers, content: exchange.content });
                self.lost(step, edit, now, random);
            }
            // The server said more than once that it carried the edit out, and the check disproved it.
            Finding::Missing if !is_awaited && self.is_denied(edit) => {
                self.refused(step, edit, &exchange, now);
                self.given_up(step, edit);
            }
            Finding::Missing if !is_awaited => {
                // The content of an edit that was sent does not change, because the request may still arrive.
                let trail = self.trails.entry(edit.id).or_default();
                trail.is_missing = true;
                trail.perhaps.clear();
                self.lost(step, edit, now, random);
            }
            Finding::Perhaps(found) => {
                self.trails.entry(edit.id).or_default().perhaps = found;
                self.look_again(step, edit, now, random);
            }
            Finding::Elsewhere(to) => {
                let trail = self.trails.entry(edit.id).or_default();
                trail.hops += 1;
                trail.look_at = (trail.hops <= HOPS).then_some(to);
                match trail.look_at {
                    Some(_) => self.look_again(step, edit, now, random),
                    None => self.unclear(step, edit, &exchange, now, random),
                }
            }
            Finding::Impostor => {
                self.trails.entry(edit.id).or_default().forget_ways();
                self.reach.lost(&exchange.task.location, now, random);
                self.look_again(step, edit, now, random);
            }
            Finding::Missing | Finding::Unclear => {
                self.unclear(step, edit, &exchange, now, random);
            }
        }
        Ok(())
    }

    /// Whether a server said more than once that it carried an edit out.
    fn is_denied(&self, edit: &Edit<Entity>) -> bool {
        self.trails.get(&edit.id).is_some_and(|trail| trail.claims > 1)
    }

    /// Checks an edit again as soon as possible.
    fn look_again(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
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
        let looks = self.trails.entry(edit.id).or_default().looks;
        if wants_credentials && looks >= LOOKS_WITHOUT_CREDENTIALS {
            self.held(step, edit, exchange, now, random);
        } else if looks >= if is_awaited { AWAITS } else { LOOKS } && is_final {
            self.refused(step, edit, exchange, now);
        } else {
            self.look_later(step, edit, now, random);
        }
    }

    /// Checks an edit that may have arrived again, after a growing delay.
    pub(super) fn look_later(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        now: Time,
        random: u64,
    ) {
        let least = if edit.progress == Progress::Accepted { AWAIT } else { Duration::ZERO };
        let trail = self.trails.entry(edit.id).or_default();
        trail.forget_ways();
        trail.looks += 1;
        trail.not_before = Some(now.after(wait(trail.looks, random).max(least)));
        self.look_again(step, edit, now, random);
    }

    fn finding<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<Finding, S::Error> {
        let Exchange { status, headers, content, task, .. } = *exchange;
        let trail = self.trails.get(&edit.id);
        if status.is_redirection() {
            let to = named(headers, header::LOCATION, &task.location);
            return Ok(to.map_or(Finding::Unclear, Finding::Elsewhere));
        }
        if trail.is_some_and(|trail| trail.is_unmet) {
            return self.what_is_in_its_way(stored, edit, exchange);
        }
        if let Some(found) = trail.and_then(|trail| trail.perhaps.first()) {
            return Ok(self.among(edit, found, status, content));
        }
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        match edit.asked.method {
            Method::Post if status.is_success() => self.in_feed(stored, edit, exchange),
            Method::Delete if edit.progress != Progress::Accepted && status.is_success() => {
                self.in_feed(stored, edit, exchange)
            }
            Method::Delete if is_gone => Ok(Finding::Done(Done::default())),
            Method::Delete if status.is_success() => Ok(Finding::Missing),
            Method::Put if status.is_success() => {
                self.in_place(stored, edit, headers, content, &task.location)
            }
            // The resource to replace does not exist.
            Method::Put if is_gone => Ok(Finding::Conflict),
            _ => Ok(Finding::Unclear),
        }
    }

    /// Looks in the feed for a posted or deleted member.
    fn in_feed<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<Finding, S::Error> {
        let asked = &edit.asked;
        let address = base(exchange.headers, &exchange.task.location);
        let Some(document) = feed_of(&stored.content(&exchange.content)?, &address) else {
            return Ok(Finding::Impostor);
        };
        let whose = (asked.partition, &asked.feed);
        if asked.method == Method::Delete {
            let mut places =
                document.members().iter().flat_map(|member| edit_links(member, &address));
            return Ok(match places.any(|place| place == asked.resource) {
                true => Finding::Missing,
                false => Finding::Done(Done::default()),
            });
        }
        let Some(body) = &asked.body else { return Ok(Finding::Missing) };
        let posted = (&body.content, asked.generation);
        let places = self.places_of(stored, whose, posted, &document, &address)?;
        // As many matches belong to similar members that were created before it.
        let before = self.unnamed_like(stored, whose, &body.content, &address)?;
        if let Some(member) = places.into_iter().nth(before) {
            let member = Some(member);
            return Ok(Finding::Done(Done { member, asks: true, ..Done::default() }));
        }
        // A server that repeats its statement after a check may have made something else of the entry.
        if self.trails.get(&edit.id).is_some_and(|trail| trail.claims > 1) {
            return Ok(Finding::Done(Done { asks: true, ..Done::default() }));
        }
        let is_entry = Likeness::of_entry(&stored.content(&body.content)?, &address).is_some();
        let media =
            if is_entry { Vec::new() } else { self.media(stored, edit, &document, &address)? };
        Ok(if media.is_empty() { Finding::Missing } else { Finding::Perhaps(media) })
    }

    /// Number of members without an address in a feed that are similar to an entry.
    fn unnamed_like<S: Stored>(
        &self,
        stored: &S,
        (partition, feed): (Partition, &Location),
        posted: &Content,
        address: &Location,
    ) -> Result<usize, S::Error> {
        let Some(ours) = Likeness::of_entry(&stored.content(posted)?, address) else {
            return Ok(0);
        };
        let mut count = 0;
        for (_, other, _) in self.unnamed(partition, feed) {
            let other = Likeness::of_entry(&stored.content(&other)?, address);
            count += usize::from(other.is_some_and(|other| other.is_like(&ours)));
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
    ) -> Result<Vec<Found>, S::Error> {
        let mut found = Vec::new();
        let whose = (edit.asked.partition, &edit.asked.feed);
        for member in document.members() {
            let Some(place) = edit_links(member, address).next() else { continue };
            let content = member.content.iter();
            let content = content.filter_map(|it| Location::resolve(Some(address), it).ok());
            let Some(media) = edit_media_links(member, address).chain(content).next() else {
                continue;
            };
            if self.is_new(stored, whose, edit.asked.generation, &place)? {
                found.push(Found { member: place, media });
            }
        }
        Ok(found)
    }

    /// Result for media that may be the posted ones.
    fn among(
        &self,
        edit: &Edit<Entity>,
        found: &Found,
        status: StatusCode,
        content: Content,
    ) -> Finding {
        let ours = edit.asked.body.as_ref().map(|body| body.content);
        if status.is_success() && ours == Some(content) {
            let member = Some(found.member.clone());
            return Finding::Done(Done { member, asks: true, ..Done::default() });
        }
        if !status.is_success() && !matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return Finding::Unclear;
        }
        let others = self.trails.get(&edit.id).map(|trail| trail.perhaps[1..].to_vec());
        let others = others.unwrap_or_default();
        if others.is_empty() { Finding::Missing } else { Finding::Perhaps(others) }
    }

    /// Looks at the address of a PUT for its content.
    fn in_place<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        headers: &HeaderMap,
        theirs: Content,
        address: &Location,
    ) -> Result<Finding, S::Error> {
        let asked = &edit.asked;
        let Some(ours) = &asked.body else { return Ok(Finding::Missing) };
        let is_same = ours.content == theirs;
        let is_resilient = self.settings.profile == Profile::Resilient;
        if is_resilient && !is_same && is_page(headers) && !is_page(&ours.headers) {
            return Ok(Finding::Impostor);
        }
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        if !is_same && asked.base.is_some() && asked.base.as_deref() == tag {
            return Ok(Finding::Missing);
        }
        if let Some(done) = self.is_there(stored, edit, theirs, address)? {
            return Ok(Finding::Done(done));
        }
        let was = asked.was.as_ref().map(|was| was.content);
        let says = |one: Content, other: Content| self.says_same(stored, one, other, address);
        let was_ours = was.map_or(Ok(false), |was| says(was, ours.content))?;
        let is_was = was.map_or(Ok(false), |was| Ok(was == theirs || says(was, theirs)?))?;
        let is_claimed = self.trails.get(&edit.id).is_some_and(|trail| trail.claims > 0);
        if is_claimed && (asked.base.is_some() || (was.is_some() && !is_was)) {
            return Ok(Finding::Done(Done { asks: true, ..Done::default() }));
        }
        // With a condition the server detects conflicts. Without one, its version may be another client's.
        Ok(match (&asked.base, was) {
            (None, Some(_)) if !is_was => Finding::Conflict,
            (Some(_), _) if was_ours => Finding::Conflict,
            _ => Finding::Missing,
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
        let asked = &edit.asked;
        let Some(ours) = &asked.body else { return Ok(None) };
        let says = |one: Content, other: Content| self.says_same(stored, one, other, address);
        // If the edit has the wording of the version that it replaces, the comparison proves nothing.
        let is_it = ours.content == theirs
            || says(ours.content, theirs)?
                && !asked.was.as_ref().map_or(Ok(false), |was| says(was.content, ours.content))?;
        let done = || Done { stored: vec![asked.location.clone()], ..Done::default() };
        Ok(is_it.then(done))
    }

    /// Looks for the cause of a failed condition. It may be the edit itself, or content from here on which
    /// the edit was made.
    fn what_is_in_its_way<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<Finding, S::Error> {
        let Exchange { status, headers, content, task, .. } = *exchange;
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return Ok(Finding::Conflict);
        }
        if !status.is_success() {
            return Ok(Finding::Unclear);
        }
        if Self::may_be_there(edit)
            && let Some(done) = self.is_there(stored, edit, content, &task.location)?
        {
            return Ok(Finding::Done(done));
        }
        let is_ours =
            self.may_rebase(edit) && self.is_attempted(stored, edit, content, &task.location)?;
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.filter(|tag| is_ours && tag.starts_with('"'));
        Ok(tag.map_or(Finding::Conflict, |tag| Finding::MadeOn(tag.to_owned())))
    }

    /// Whether two entries have the same wording.
    fn says_same<S: Stored>(
        &self,
        stored: &S,
        one: Content,
        other: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let likeness = |content| {
            let bytes = stored.content(&content)?;
            Ok(Likeness::of_entry(&bytes, address))
        };
        let (one, other) = (likeness(one)?, likeness(other)?);
        Ok(one.zip(other).is_some_and(|(one, other)| one.says(&other)))
    }
}
