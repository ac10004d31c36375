//! Search for created members whose addresses their servers did not name, when no round is going to find
//! them. Their edits are sent in every state of the subscription (BITSY 2.1.3, R-B32).

use std::time::Duration;

use feedsync_formats::MemberFeed;

use crate::authentication::Partition;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::document::{base, feed_of};
use crate::interceptor::fetcher::Fetcher;
use crate::interceptor::search::MemberSearch;
use crate::interceptor::state::Posted;
use crate::interceptor::step::{Change, Outcome, Step, Task};
use crate::interceptor::stored::Stored;
use crate::interceptor::tasks::NewTasks;
use crate::interceptor::tasks::TaskPurpose;
use crate::location::Location;
use crate::outbox::wait;
use crate::subscription::state::State as SubscriptionState;

/// Number of requests of a feed after which the search for a member ends.
const MAX_TRIES: u32 = 8;

/// Minimum time between two requests.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

impl Fetcher<'_> {
    /// Requests the feeds with members that have no address and waiting edits, if no round will request them.
    pub(crate) fn begin_searches(&mut self, draft: &Draft, tasks: &mut NewTasks) {
        let feeds: Vec<(Partition, Location)> = self.state.shown.feeds_with_unnamed().collect();
        self.state.finding.retain(|feed, _| feeds.contains(feed));
        for (partition, feed) in feeds {
            let Some(stored_subscription) = self.state.stored_subscription_of(partition, &feed)
            else {
                continue;
            };
            let id = stored_subscription.id;
            let asks = matches!(
                stored_subscription.subscription.state(),
                SubscriptionState::Paused | SubscriptionState::Closed
            );
            let waits = self
                .state
                .shown
                .unnamed(partition, &feed)
                .any(|shown| self.state.outbox.last(partition, &shown.resource).is_some());
            let finding = self.state.finding.get(&(partition, feed.clone()));
            let may = finding.is_none_or(|it| !it.is_in_progress && it.not_before <= draft.now);
            if asks
                && waits
                && may
                && tasks.has_room()
                && self.state.reachability.may_try(&feed, draft.now)
            {
                let request = self.state.question(id, feed.clone());
                let purpose = TaskPurpose::Find { partition, feed: feed.clone() };
                tasks.all.push(self.state.start_task(request, purpose));
                let begun = MemberSearch { not_before: draft.now, tries: 0, is_in_progress: true };
                self.state.finding.entry((partition, feed)).or_insert(begun).is_in_progress = true;
            }
        }
    }

    /// Applies the result of a request for a feed.
    pub(super) fn search_result<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        (partition, feed): (Partition, &Location),
        task: &Task,
        outcome: Outcome,
    ) -> Result<Step, S::Error> {
        let mut draft = cx.draft();
        let Some(finding) = self.state.finding.get(&(partition, feed.clone())) else {
            return Ok(draft.step);
        };
        let mut finding = finding.clone();
        finding.is_in_progress = false;
        finding.not_before = cx.now.after(wait(finding.tries + 1, draft.random).max(MIN_INTERVAL));
        match outcome {
            Outcome::Lost { .. } => {
                self.state.reachability.lost(&task.location, draft.now, draft.random);
            }
            Outcome::OutOfSpace => {}
            Outcome::ServerResponse { status, headers, content } => {
                let address = base(&headers, &task.location);
                let document = match status.is_success() {
                    true => feed_of(&cx.stored.content(&content)?, &address),
                    false => None,
                };
                let members =
                    self.members_in(cx, (partition, feed), document.as_ref(), &address)?;
                self.state.reachability.answered(&task.location);
                finding.tries += 1;
                for (pending, member) in members {
                    match member {
                        Some(member) => self.state.is_at(&mut draft, partition, &pending, &member),
                        None if finding.tries >= MAX_TRIES => {
                            self.give_up_search(&mut draft, partition, &pending)
                        }
                        None => {}
                    }
                }
            }
        }
        self.state.finding.insert((partition, feed.clone()), finding);
        Ok(draft.step)
    }

    /// Created members of a feed without an address, each with its address in a document if it is there.
    fn members_in<S: Stored>(
        &self,
        cx: Context<'_, S>,
        (partition, feed): (Partition, &Location),
        document: Option<&MemberFeed>,
        address: &Location,
    ) -> Result<Vec<(Location, Option<Location>)>, S::Error> {
        let mut members: Vec<(Location, Option<Location>)> = Vec::new();
        for (pending, content, generation) in self.state.unnamed(partition, feed) {
            let posted = Posted { partition, feed, content: &content, generation };
            let places = match document {
                Some(document) => self.state.candidate_addresses(cx, posted, document, address)?,
                None => Vec::new(),
            };
            // A member that was just found is not taken for another one.
            let is_found = |place: &Location| members.iter().any(|it| it.1.as_ref() == Some(place));
            let place = places.into_iter().find(|place| !is_found(place));
            members.push((pending, place));
        }
        Ok(members)
    }

    /// Gives up the search for a created member. Its edits become errors.
    fn give_up_search(&mut self, draft: &mut Draft, partition: Partition, pending: &Location) {
        let places = self.state.shown.at(pending).filter(|shown| shown.partition == partition);
        for place in places.map(|shown| shown.place).collect::<Vec<_>>() {
            self.state.shown.remove(place);
            draft.changes.push(Change::OverlayEditRemoved(place));
        }
        self.state.name(draft, partition, pending, None);
        self.state.orphaned(draft, partition, pending);
        self.state.remove_drained(draft);
    }
}
