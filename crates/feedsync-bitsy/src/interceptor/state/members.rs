//! Members and their media: stored representations, edits that feeds do not show yet, and addresses.

use feedsync_formats::MemberFeed;

use crate::authentication::Partition;
use crate::interceptor::context::Context;
use crate::interceptor::document::fingerprint;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, OverlayEdit, Step};
use crate::interceptor::stored::{Content, Representation, Stored};
use crate::location::Location;
use crate::propagation;

/// Created members without an address: temporary address, content, and next generation at the time of
/// creation.
pub(super) type Unnamed = Vec<(Location, Content, u64)>;

/// A posted entry whose member is looked for in a feed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posted<'a> {
    pub(crate) partition: Partition,
    pub(crate) feed: &'a Location,
    pub(crate) content: &'a Content,
    /// Next generation of the feed at the time of the edit.
    pub(crate) generation: u64,
}

impl State {
    /// Result of a completed edit that the feed does not show yet.
    pub(crate) fn shown_at(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Option<&OverlayEdit> {
        self.shown.at(location).find(|shown| shown.partition == partition)
    }

    /// Whether a member was deleted here. Its media are deleted with it.
    pub(crate) fn is_deleted(&self, partition: Partition, entry: &Location) -> bool {
        let last = self.outbox.last(partition, entry).map(|edit| edit.requested.method);
        let shown = || self.shown_at(partition, entry).is_some_and(|shown| shown.entity.is_none());
        last.map_or_else(shown, |method| method == propagation::Method::Delete)
    }

    /// Created members of a feed that have no address yet.
    pub(crate) fn unnamed(&self, partition: Partition, feed: &Location) -> Unnamed {
        let of = self.shown.unnamed(partition, feed);
        of.filter_map(|shown| {
            Some((shown.resource.clone(), shown.entity.as_ref()?.content, shown.generation))
        })
        .collect()
    }

    /// Notes the server address of a member that had a temporary address.
    pub(crate) fn name(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        member: Option<&Location>,
    ) {
        let forgotten = self.named.insert(partition, pending.clone(), member.cloned());
        let (pending, member) = (pending.clone(), member.cloned());
        step.changes.push(Change::MemberAddress { partition, pending, member });
        if let Some((partition, pending)) = forgotten {
            step.changes.push(Change::MemberAddressRemoved { partition, pending });
        }
    }

    /// Sets the address of a member that was created without one.
    pub(crate) fn is_at(
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

    /// Stores the server's representation of an address.
    pub(crate) fn represent(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
        representation: Option<Representation>,
    ) {
        self.clear_attempts(step, partition, location);
        self.represent_keeping_attempts(step, partition, location, representation);
    }

    /// Stores the server's representation, but keeps the attempts for the address, which may still arrive.
    pub(crate) fn represent_keeping_attempts(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
        representation: Option<Representation>,
    ) {
        let representation = representation.map(Box::new);
        self.stale.remove(&(partition, location.clone()));
        let location = location.clone();
        step.changes.push(Change::Representation { partition, location, representation });
    }

    pub(crate) fn show(&mut self, step: &mut Step, shown: OverlayEdit) {
        // Only the last edit of an address is shown. A member that was created here stays marked so.
        let before = self
            .shown
            .at(&shown.resource)
            .filter(|other| other.partition == shown.partition && other.resource == shown.resource);
        let before: Vec<u64> = before.map(|other| other.place).collect();
        let mut pending = shown.pending.clone();
        for place in before {
            let gone = self.shown.remove(place);
            pending = pending.or(gone.and_then(|gone| gone.pending));
            step.changes.push(Change::OverlayEditRemoved(place));
        }
        let place = self.counters.shown;
        self.counters.shown += 1;
        self.shows_now(step, OverlayEdit { place, pending, ..shown });
    }

    /// Replaces the shown edit with this number.
    pub(crate) fn shows_now(&mut self, step: &mut Step, shown: OverlayEdit) {
        step.changes.push(Change::OverlayEdit(Box::new(shown.clone())));
        self.shown.remove(shown.place);
        self.shown.insert(shown);
    }

    /// Whether a member was not seen before a generation, and was not created here.
    pub(crate) fn is_new<S: Stored>(
        &self,
        cx: Context<'_, S>,
        (partition, feed): (Partition, &Location),
        generation: u64,
        place: &Location,
    ) -> Result<bool, S::Error> {
        let known = cx.stored.resources(place)?;
        let is_known = known.iter().any(|known| {
            let is_reachable = known.partition == partition && known.feed == *feed;
            is_reachable && known.seen < generation
        });
        Ok(!is_known && self.shown_at(partition, place).is_none())
    }

    /// Returns the addresses in a document of the feed at which a posted entry may be, the likeliest first.
    /// Entries with its id precede entries with the same wording. Earlier members and other members that were
    /// created here are excluded.
    pub(crate) fn candidate_addresses<S: Stored>(
        &self,
        cx: Context<'_, S>,
        posted: Posted<'_>,
        document: &MemberFeed,
        address: &Location,
    ) -> Result<Vec<Location>, S::Error> {
        let Some(ours) = fingerprint(cx.stored, *posted.content, address)? else {
            return Ok(Vec::new());
        };
        let mut places = Vec::new();
        for place in ours.places(document, address) {
            if self.is_new(cx, (posted.partition, posted.feed), posted.generation, &place)? {
                places.push(place);
            }
        }
        Ok(places)
    }
}
