//! The state of a feed that one round found. It replaces the former state at once, so that no application
//! sees a feed with links to resources that are not stored yet (BITSY 2.1.1, R-B12).

use crate::authentication::Partition;
use crate::interceptor::context::Draft;
use crate::interceptor::fetcher::Fetcher;
use crate::interceptor::round::{RoundFindings, UNASSIGNED};
use crate::interceptor::step::Change;
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::subscription::End;

/// Generation of resources that are never the result of an edit.
const PREEXISTING: u64 = 0;

impl Fetcher<'_> {
    /// Ends a round. Applications see its findings from now on, even if a part could not be fetched (R-B12,
    /// R-B19).
    pub(super) fn end_round(&mut self, draft: &mut Draft, id: SubscriptionId, end: End) {
        let Some(in_progress) = self.state.in_progress.remove(&id) else { return };
        let findings = in_progress.findings;
        if let Some(collection) = findings.collection.clone() {
            self.switch(draft, id, findings, collection);
        }
        let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) else {
            return;
        };
        let state = stored_subscription.subscription.end(end, draft.now);
        self.state.store(draft, id);
        self.state.state_event(draft, id, state);
        self.state.count(draft);
    }

    fn switch(
        &mut self,
        draft: &mut Draft,
        id: SubscriptionId,
        findings: RoundFindings,
        collection: Option<Location>,
    ) {
        let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) else {
            return;
        };
        let (partition, feed) = (
            stored_subscription.subscription.partition(),
            stored_subscription.subscription.feed().clone(),
        );
        let follows = Some(stored_subscription.subscription.follows());
        let is_new = findings.is_new || stored_subscription.followed != follows;
        stored_subscription.followed = follows;
        if findings.moved.is_some() {
            stored_subscription.moved = findings.moved;
        }
        let before = std::mem::replace(&mut stored_subscription.collection, collection.clone());
        if before != collection {
            for address in before.iter().filter(|address| **address != feed) {
                self.state.addresses.get_mut(address).map(|ids| ids.remove(&id));
            }
            if let Some(address) = &collection {
                self.state.addresses.entry(address.clone()).or_default().insert(id);
            }
        }
        for (location, representation) in findings.documents {
            self.state.represent(draft, partition, &location, Some(representation));
        }
        if is_new {
            let (feed, mut resources) = (feed.clone(), findings.belongings);
            let number = self.state.counters.generation;
            self.state.counters.generation += 1;
            for (location, belonging) in
                resources.iter_mut().filter(|(_, it)| it.seen == UNASSIGNED)
            {
                // The result of one edit is not the result of another.
                let is_ours = self.state.shown_at(partition, location).is_some()
                    || findings.found.iter().any(|(_, member)| member == location);
                belonging.seen = if is_ours { PREEXISTING } else { number };
            }
            let is_whole = !findings.is_partial;
            draft.changes.push(Change::Generation { partition, feed, resources, is_whole });
        }
        for (pending, member) in &findings.found {
            self.state.is_at(draft, partition, pending, member);
        }
        self.unshow(draft, partition, &feed, findings.began);
    }

    /// Removes shown edits that were carried out before the feed was requested, because the feed includes
    /// them.
    fn unshow(&mut self, draft: &mut Draft, partition: Partition, feed: &Location, began: u64) {
        let over = self.state.shown.of_feed(partition, feed).map(|shown| shown.place);
        let over: Vec<u64> = over.filter(|place| *place < began).collect();
        for place in over {
            let Some(shown) = self.state.shown.remove(place) else { continue };
            draft.changes.push(Change::OverlayEditRemoved(place));
            if shown.is_unnamed() && self.state.named.get(partition, &shown.resource).is_none() {
                self.state.name(draft, partition, &shown.resource, None);
                self.state.orphaned(draft, partition, &shown.resource);
            }
        }
    }
}
