//! Whether an edit that may have been carried out was: what is found where it would be.

use feedsync_formats::{MemberFeed, ReadOptions};
use http::StatusCode;
use http::header;

use super::Interceptor;
use super::answers::Exchange;
use super::document::base;
use super::step::Step;
use super::stored::{Content, Entity, Stored};
use crate::likeness::Likeness;
use crate::location::Location;
use crate::outbox::{Edit, Progress, Settlement};
use crate::propagation::{self, Done};
use crate::subscription::outcome::HOPS;
use crate::time::Time;

impl Interceptor {
    /// Takes in what was found where an edit was looked for.
    pub(super) fn looked<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task } = exchange;
        let asked = &edit.asked;
        let is_claimed = self.trails.get(&edit.id).is_some_and(|trail| trail.is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let in_feed = match asked.method {
            propagation::Method::Post => true,
            propagation::Method::Put => false,
            propagation::Method::Delete => !is_awaited,
        };
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        if status.is_redirection() {
            let to = headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| Location::resolve(Some(&task.location), to).ok());
            let trail = self.trails.entry(edit.id).or_default();
            trail.hops += 1;
            trail.look_at = to.filter(|_| trail.hops <= HOPS);
            if trail.look_at.is_none() {
                self.look_later(step, edit, now, random);
            } else if is_awaited {
                self.awaited.insert(edit.id);
            }
            return Ok(());
        }
        let done = match asked.method {
            propagation::Method::Post | propagation::Method::Delete
                if in_feed && status.is_success() =>
            {
                let bytes = stored.content(&content)?;
                let address = base(headers, &task.location);
                let options =
                    ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
                let Ok(document) = MemberFeed::read(&bytes, &options) else {
                    // Not the server that the feed is from.
                    self.trails.remove(&edit.id);
                    self.reach.lost(&task.location, now, random);
                    self.lost(step, edit, now, random);
                    return Ok(());
                };
                let posted =
                    asked.body.as_ref().filter(|_| asked.method == propagation::Method::Post);
                let whose = (asked.partition, &asked.feed);
                let place = match posted {
                    Some(body) => {
                        let posted = (&body.content, asked.generation);
                        self.place_of(stored, whose, posted, &document, &address)?
                    }
                    None => None,
                };
                place.map(|member| Done { member: Some(member), asks: true, ..Done::default() })
            }
            propagation::Method::Put if status.is_success() => {
                let ours = asked.body.as_ref().map(|body| body.content);
                let is_ours = ours == Some(content)
                    || self.says_same(stored, ours, content, &task.location)?;
                is_ours.then(|| Done { stored: vec![asked.location.clone()], ..Done::default() })
            }
            propagation::Method::Delete if is_gone => Some(Done::default()),
            _ => None,
        };
        if let Some(done) = done {
            self.done(step, edit, done, &exchange, now, random);
        } else if is_gone && asked.method == propagation::Method::Put {
            // There is nothing to be replaced.
            self.refused(step, edit, &exchange, now);
        } else if self.is_overtaken(stored, edit, &exchange)? {
            self.refused(step, edit, &exchange, now);
        } else if is_awaited {
            // It is looked for again after the next round.
        } else if is_claimed && status.is_success() {
            let done = Done { asks: true, ..Done::default() };
            self.done(step, edit, done, &exchange, now, random);
        } else if !status.is_success() {
            self.look_later(step, edit, now, random);
        } else {
            self.trails.entry(edit.id).or_default().is_missing = true;
            let lost = Settlement::Lost { perhaps_arrived: false };
            self.settle(step, edit, lost, now, random);
        }
        Ok(())
    }

    /// Whether there is neither what was put nor what it was made on, and no condition will tell the server:
    /// somebody else was there, before or after.
    fn is_overtaken<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<bool, S::Error> {
        let asked = &edit.asked;
        let is_put = asked.method == propagation::Method::Put && asked.base.is_none();
        let Some(was) = asked.was.as_ref().filter(|_| is_put && exchange.status.is_success())
        else {
            return Ok(false);
        };
        let theirs = exchange.content;
        let at = &exchange.task.location;
        Ok(was.content != theirs && !self.says_same(stored, Some(was.content), theirs, at)?)
    }

    /// Whether two entries say the same.
    fn says_same<S: Stored>(
        &self,
        stored: &S,
        ours: Option<Content>,
        theirs: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let Some(ours) = ours else { return Ok(false) };
        let likeness = |content| {
            let bytes = stored.content(&content)?;
            Ok(Likeness::of_entry(&bytes, address))
        };
        let (ours, theirs) = (likeness(ours)?, likeness(theirs)?);
        Ok(ours.zip(theirs).is_some_and(|(ours, theirs)| ours.says(&theirs)))
    }
}
