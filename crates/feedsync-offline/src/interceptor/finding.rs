//! Where members are that were made and whose server did not say, when no round is going to tell: edits of them
//! leave whatever state their subscription is in (BITSY 2.1.3, R-B32).

use std::time::Duration;

use super::Interceptor;
use super::background::What;
use super::document::{base, feed_of};
use super::step::{Change, Outcome, Step, Task};
use super::stored::Stored;
use crate::authentication::Partition;
use crate::location::Location;
use crate::outbox::wait;
use crate::subscription::state::State;
use crate::time::Time;

/// How often a feed is asked, until what was made is nowhere.
const TRIES: u32 = 8;

/// Between two times, at least.
const LEAST: Duration = Duration::from_secs(5);

/// A feed that is asked where it has what was made in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finding {
    pub(super) not_before: Time,
    tries: u32,
    is_under_way: bool,
}

impl Interceptor {
    /// Asks the feeds that no round will ask, and in which something has no address that edits wait for.
    pub(super) fn finds(&mut self, tasks: &mut Vec<Task>, room: usize, now: Time) {
        let feeds: Vec<(Partition, Location)> = self.shown.feeds_with_unnamed().collect();
        self.finding.retain(|feed, _| feeds.contains(feed));
        for (partition, feed) in feeds {
            let Some(keeping) = self.keeping_of(partition, &feed) else { continue };
            let id = keeping.id;
            let asks = matches!(keeping.subscription.state(), State::Paused | State::Closed);
            let waits = self
                .shown
                .unnamed(partition, &feed)
                .any(|shown| self.outbox.last(partition, &shown.resource).is_some());
            let finding = self.finding.get(&(partition, feed.clone()));
            let may = finding.is_none_or(|it| !it.is_under_way && it.not_before <= now);
            if asks && waits && may && tasks.len() < room && self.reach.may_try(&feed, now) {
                let request = self.question(id, feed.clone());
                let what = What::Find { partition, feed: feed.clone() };
                tasks.push(self.under_way(request, what));
                let begun = Finding { not_before: now, tries: 0, is_under_way: true };
                self.finding.entry((partition, feed)).or_insert(begun).is_under_way = true;
            }
        }
    }

    /// Takes in what a feed has.
    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    pub(super) fn found_in<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        (partition, feed): (Partition, &Location),
        task: &Task,
        outcome: Outcome,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Some(mut finding) = self.finding.remove(&(partition, feed.clone())) else {
            return Ok(());
        };
        finding.is_under_way = false;
        finding.not_before = now.after(wait(finding.tries + 1, random).max(LEAST));
        match outcome {
            Outcome::Lost { .. } => self.reach.lost(&task.location, now, random),
            Outcome::NoRoom => {}
            Outcome::Answered { status, headers, content } => {
                self.reach.answered(&task.location);
                finding.tries += 1;
                let address = base(&headers, &task.location);
                let bytes =
                    if status.is_success() { stored.content(&content)? } else { Vec::new() };
                let document = feed_of(&bytes, &address);
                for (pending, posted, generation) in self.unnamed(partition, feed) {
                    let (whose, posted) = ((partition, feed), (&posted, generation));
                    let places = match &document {
                        Some(document) => {
                            self.places_of(stored, whose, posted, document, &address)?
                        }
                        None => Vec::new(),
                    };
                    // What was found a moment ago shows where it is, and is no other's.
                    match places.into_iter().next() {
                        Some(member) => self.is_at(step, partition, &pending, &member),
                        None if finding.tries >= TRIES => {
                            self.is_nowhere(step, partition, &pending, now)
                        }
                        None => {}
                    }
                }
            }
        }
        self.finding.insert((partition, feed.clone()), finding);
        Ok(())
    }

    /// What was made here is nowhere to be found: edits of it are errors.
    fn is_nowhere(&mut self, step: &mut Step, partition: Partition, pending: &Location, now: Time) {
        let places = self.shown.at(pending).filter(|shown| shown.partition == partition);
        for place in places.map(|shown| shown.place).collect::<Vec<_>>() {
            self.shown.remove(place);
            step.changes.push(Change::ShownGone(place));
        }
        self.name(step, partition, pending, None);
        self.orphaned(step, partition, pending, now);
        self.drained(step);
    }
}
