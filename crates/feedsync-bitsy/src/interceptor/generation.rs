//! The state of a feed that one round found. It replaces the former state at once, so that no application
//! sees a feed with links to resources that are not stored yet (BITSY 2.1.1, R-B12).

use std::collections::BTreeMap;

use feedsync_formats::MemberFeed;

use super::respond::edited_at;

use super::step::{Belonging, Change, OverlayEdit, Step};
use super::stored::{Content, Representation, Stored};
use super::{Interceptor, SubscriptionId};
use crate::authentication::Partition;
use crate::fingerprint::Fingerprint;
use crate::interception::Role;
use crate::location::Location;
use crate::subscription::End;
use crate::time::Time;

/// Generation of resources that are seen for the first time, until the generation has a number.
const UNASSIGNED: u64 = u64::MAX;

/// Generation of resources that are never the result of an edit.
const PREEXISTING: u64 = 0;

/// Findings of a round so far.
#[derive(Debug, Default)]
pub(super) struct RoundFindings {
    /// Documents of the feed and its pages.
    pub(super) documents: BTreeMap<Location, Representation>,
    /// Resources that belong to the feed.
    belongings: BTreeMap<Location, Belonging>,
    /// Collection of the feed, once the feed was read.
    collection: Option<Option<Location>>,
    /// Temporary and real addresses of members whose address the server had not named.
    found: Vec<(Location, Location)>,
    /// Permanent new address of the feed.
    pub(super) moved: Option<Location>,
    /// Whether a part of the feed could not be fetched.
    pub(super) is_partial: bool,
    /// Edits that were carried out before the edit with this number show in the feed.
    pub(super) began: u64,
    /// Whether any document differs from the stored one.
    pub(super) is_new: bool,
}

/// Created members without an address: temporary address, content, and next generation at the time of
/// creation.
type Unnamed = Vec<(Location, Content, u64)>;

impl RoundFindings {
    /// Adds a document of the feed.
    pub(super) fn take(
        &mut self,
        location: &Location,
        address: &Location,
        document: &MemberFeed,
        is_first: bool,
    ) {
        let role = Role::Feed;
        self.belongings.insert(location.clone(), Belonging { role, entry: None, seen: UNASSIGNED });
        if is_first {
            let collection = document.collection();
            let collection = collection.and_then(|it| Location::resolve(Some(address), it).ok());
            self.collection = Some(collection);
        }
        for (member, entry) in document.members().iter().flat_map(|it| edited_at(it, address)) {
            let role = Role::Synchronizable;
            self.belongings.entry(member).or_insert(Belonging { role, entry, seen: UNASSIGNED });
        }
    }

    /// Adds a document of a feed that cannot be edited.
    pub(super) fn take_read_only(&mut self, location: &Location, is_first: bool) {
        let belonging = Belonging { role: Role::Feed, entry: None, seen: UNASSIGNED };
        self.belongings.insert(location.clone(), belonging);
        if is_first {
            self.collection = Some(None);
        }
    }

    /// Notes the address of a member whose address was unknown.
    pub(super) fn find(&mut self, pending: &Location, member: Location) {
        self.found.push((pending.clone(), member));
    }

    /// Whether an address was already found for another member.
    pub(super) fn has(&self, member: &Location) -> bool {
        self.found.iter().any(|(_, found)| found == member)
    }

    /// Adds the target of a link.
    pub(super) fn linked(&mut self, location: &Location) {
        let role = Role::Subscribable;
        self.belongings.entry(location.clone()).or_insert(Belonging {
            role,
            entry: None,
            seen: UNASSIGNED,
        });
    }
}

impl Interceptor {
    /// Returns the addresses in a document of the feed at which a posted entry may be, the likeliest first.
    /// Entries with its id precede entries with the same wording. Earlier members and other members that were
    /// created here are excluded.
    pub(super) fn candidate_addresses<S: Stored>(
        &self,
        stored: &S,
        whose: (Partition, &Location),
        (posted, generation): (&Content, u64),
        document: &MemberFeed,
        address: &Location,
    ) -> Result<Vec<Location>, S::Error> {
        let Some(ours) = Fingerprint::of_entry(&stored.content(posted)?, address) else {
            return Ok(Vec::new());
        };
        let mut places = Vec::new();
        for place in ours.places(document, address) {
            if self.is_new(stored, whose, generation, &place)? {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// Whether a member was not seen before a generation, and was not created here.
    pub(super) fn is_new<S: Stored>(
        &self,
        stored: &S,
        (partition, feed): (Partition, &Location),
        generation: u64,
        place: &Location,
    ) -> Result<bool, S::Error> {
        let known = stored.resources(place)?;
        let is_known = known.iter().any(|known| {
            let is_reachable = known.partition == partition && known.feed == *feed;
            is_reachable && known.seen < generation
        });
        Ok(!is_known && self.shown_at(partition, place).is_none())
    }

    /// Sets the generation of resources that were seen before.
    pub(super) fn seen<S: Stored>(
        &self,
        stored: &S,
        partition: Partition,
        feed: &Location,
        findings: &mut RoundFindings,
    ) -> Result<(), S::Error> {
        for (location, belonging) in &mut findings.belongings {
            if belonging.seen != UNASSIGNED {
                continue;
            }
            let known = stored.resources(location)?.into_iter();
            let known = known.filter(|it| it.partition == partition && it.feed == *feed);
            belonging.seen = known.map(|it| it.seen).next().unwrap_or(belonging.seen);
        }
        Ok(())
    }

    /// Created members of a feed that have no address yet.
    pub(super) fn unnamed(&self, partition: Partition, feed: &Location) -> Unnamed {
        let of = self.shown.unnamed(partition, feed);
        of.filter_map(|shown| {
            Some((shown.resource.clone(), shown.entity.as_ref()?.content, shown.generation))
        })
        .collect()
    }

    /// Ends a round. Applications see its findings from now on, even if a part could not be fetched (R-B12,
    /// R-B19).
    pub(super) fn end_round(&mut self, step: &mut Step, id: SubscriptionId, end: End, now: Time) {
        let Some(in_progress) = self.in_progress.remove(&id) else { return };
        let findings = in_progress.findings;
        if let Some(collection) = findings.collection.clone() {
            self.switch(step, id, findings, collection, now);
        }
        let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else { return };
        let state = stored_subscription.subscription.end(end, now);
        self.store(step, id);
        self.state_event(step, id, state, now);
        self.count(step);
    }

    fn switch(
        &mut self,
        step: &mut Step,
        id: SubscriptionId,
        findings: RoundFindings,
        collection: Option<Location>,
        now: Time,
    ) {
        let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else { return };
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
                self.addresses.get_mut(address).map(|ids| ids.remove(&id));
            }
            if let Some(address) = &collection {
                self.addresses.entry(address.clone()).or_default().insert(id);
            }
        }
        for (location, representation) in findings.documents {
            self.represent(step, partition, &location, Some(representation));
        }
        if is_new {
            let (feed, mut resources) = (feed.clone(), findings.belongings);
            let number = self.counters.generation;
            self.counters.generation += 1;
            for (location, belonging) in
                resources.iter_mut().filter(|(_, it)| it.seen == UNASSIGNED)
            {
                // The result of one edit is not the result of another.
                let is_ours = self.shown_at(partition, location).is_some()
                    || findings.found.iter().any(|(_, member)| member == location);
                belonging.seen = if is_ours { PREEXISTING } else { number };
            }
            let is_whole = !findings.is_partial;
            step.changes.push(Change::Generation { partition, feed, resources, is_whole });
        }
        for (pending, member) in &findings.found {
            self.is_at(step, partition, pending, member);
        }
        self.unshow(step, partition, &feed, findings.began, now);
    }

    /// Sets the address of a member that was created without one.
    pub(super) fn is_at(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        member: &Location,
    ) {
        self.name(step, partition, pending, Some(member));
        self.show_at(step, partition, pending, member);
        self.rename(step, partition, pending, member);
    }

    /// Moves the shown edit of a member to its new address.
    fn show_at(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        member: &Location,
    ) {
        let shown = self
            .shown
            .at(pending)
            .find(|shown| shown.partition == partition && shown.resource == *pending);
        if let Some(shown) = shown.cloned() {
            self.shows_now(step, OverlayEdit { resource: member.clone(), ..shown });
        }
    }

    /// Moves waiting edits of a member to its new address.
    fn rename(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        member: &Location,
    ) {
        for id in self.outbox.rename(partition, pending, member) {
            self.store_edit(step, id);
        }
    }

    /// Removes shown edits that were carried out before the feed was requested, because the feed includes
    /// them.
    fn unshow(
        &mut self,
        step: &mut Step,
        partition: Partition,
        feed: &Location,
        began: u64,
        now: Time,
    ) {
        let over = self.shown.of_feed(partition, feed).map(|shown| shown.place);
        let over: Vec<u64> = over.filter(|place| *place < began).collect();
        for place in over {
            let Some(shown) = self.shown.remove(place) else { continue };
            step.changes.push(Change::OverlayEditRemoved(place));
            if shown.is_unnamed() && self.named.get(partition, &shown.resource).is_none() {
                self.name(step, partition, &shown.resource, None);
                self.orphaned(step, partition, &shown.resource, now);
            }
        }
    }
}
