//! Search for created members whose addresses their servers did not name, when no round is going to find
//! them. Their edits are sent in every state of the subscription (BITSY 2.1.3, R-B32).

use std::time::Duration;

use super::Interceptor;
use super::document::{base, feed_of};
use super::step::{Change, Outcome, Step, Task};
use super::stored::Stored;
use super::tasks::TaskPurpose;
use crate::authentication::Partition;
use crate::location::Location;
use crate::outbox::wait;
use crate::subscription::state::State;
use crate::time::Time;

/// Number of requests of a feed after which the search for a member ends.
const MAX_TRIES: u32 = 8;

/// Minimum time between two requests.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// Search for created members in a feed.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberSearch {
    pub(super) not_before: Time,
    tries: u32,
    is_in_progress: bool,
}

impl Interceptor {
    /// Requests the feeds with members that have no address and waiting edits, if no round will request them.
    pub(super) fn searches(&mut self, tasks: &mut Vec<Task>, room: usize, now: Time) {
        let feeds: Vec<(Partition, Location)> = self.shown.feeds_with_unnamed().collect();
        self.finding.retain(|feed, _| feeds.contains(feed));
        for (partition, feed) in feeds {
            let Some(stored_subscription) = self.stored_subscription_of(partition, &feed) else {
                continue;
            };
            let id = stored_subscription.id;
            let asks =
                matches!(stored_subscription.subscription.state(), State::Paused | State::Closed);
            let waits = self
                .shown
                .unnamed(partition, &feed)
                .any(|shown| self.outbox.last(partition, &shown.resource).is_some());
            let finding = self.finding.get(&(partition, feed.clone()));
            let may = finding.is_none_or(|it| !it.is_in_progress && it.not_before <= now);
            if asks && waits && may && tasks.len() < room && self.reachability.may_try(&feed, now) {
                let request = self.question(id, feed.clone());
                let purpose = TaskPurpose::Find { partition, feed: feed.clone() };
                tasks.push(self.start_task(request, purpose));
                let begun = MemberSearch { not_before: now, tries: 0, is_in_progress: true };
                self.finding.entry((partition, feed)).or_insert(begun).is_in_progress = true;
            }
        }
    }

    /// Applies the result of a request for a feed.
    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    pub(super) fn search_result<S: Stored>(
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
        finding.is_in_progress = false;
        finding.not_before = now.after(wait(finding.tries + 1, random).max(MIN_INTERVAL));
        match outcome {
            Outcome::Lost { .. } => self.reachability.lost(&task.location, now, random),
            Outcome::OutOfSpace => {}
            Outcome::ServerResponse { status, headers, content } => {
                self.reachability.answered(&task.location);
                finding.tries += 1;
                let address = base(&headers, &task.location);
                let bytes =
                    if status.is_success() { stored.content(&content)? } else { Vec::new() };
                let document = feed_of(&bytes, &address);
                for (pending, posted, generation) in self.unnamed(partition, feed) {
                    let (whose, posted) = ((partition, feed), (&posted, generation));
                    let places = match &document {
                        Some(document) => {
                            self.candidate_addresses(stored, whose, posted, document, &address)?
                        }
                        None => Vec::new(),
                    };
                    // A member that was just found has an address now, and is not taken for another one.
                    match places.into_iter().next() {
                        Some(member) => self.is_at(step, partition, &pending, &member),
                        None if finding.tries >= MAX_TRIES => {
                            self.give_up_search(step, partition, &pending, now)
                        }
                        None => {}
                    }
                }
            }
        }
        self.finding.insert((partition, feed.clone()), finding);
        Ok(())
    }

    /// Gives up the search for a created member. Its edits become errors.
    fn give_up_search(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        now: Time,
    ) {
        let places = self.shown.at(pending).filter(|shown| shown.partition == partition);
        for place in places.map(|shown| shown.place).collect::<Vec<_>>() {
            self.shown.remove(place);
            step.changes.push(Change::OverlayEditRemoved(place));
        }
        self.name(step, partition, pending, None);
        self.orphaned(step, partition, pending, now);
        self.remove_drained(step);
    }
}
