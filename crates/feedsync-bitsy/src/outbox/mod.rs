//! Outbox of edits for their servers (BITSY 3.5, R-B35).
//!
//! Each collection has a queue of edits, called a line in the code.
//!
//! - Edits of one resource in one partition are sent in the order of their arrival. Edits of one collection
//!   are sent one at a time and in that order, too. No edit waits for another resource's edit that its server
//!   has accepted, put off or refused for lack of credentials.
//! - An edit that was never sent may still change. A PUT replaces the content of a PUT or POST, and a DELETE
//!   replaces a PUT. A DELETE of a POST removes both. An edit that was sent once does not change, and later
//!   edits of its resource wait behind it.
//! - An edit that was sent and not answered is in doubt: the server may have carried it out.
//! - When an edit is refused, the later edits of the same resource are refused with it, because they build on
//!   it. No edit disappears: the caller that settles an edit receives all edits that ended with it.

mod edit;
mod edits;

use std::time::Duration;

pub use edit::{Edit, EditId, NewEdit, Progress, Stall};
use edits::Edits;

use http::StatusCode;

use crate::authentication::Partition;
use crate::collections::SortedSet;
use crate::event::ErrorId;
use crate::location::Location;
use crate::propagation::Method;
use crate::time::Time;

/// Minimum time until an edit is tried again. It doubles with each attempt.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Maximum time until an edit is tried again.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60 * 60);

/// Edits that are not settled. The outbox does not interpret their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox<B> {
    edits: Edits<B>,
    next: u64,
    /// Edits in [`Progress::Sent`]. A queue with such an edit sends no other.
    sending: SortedSet<EditId>,
    /// Edits that were put off to a time. Some may have left that state since.
    put_off: SortedSet<EditId>,
}

/// Decision whether an edit may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendDecision {
    /// The edit is sent.
    Now,
    /// The edit stays, and later edits of its queue may pass it.
    Passed,
    /// The edit stays, and later edits of its queue wait for it.
    Blocks,
}

/// Result of adding an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddOutcome {
    /// The edit waits in its queue.
    Queued(EditId),
    /// The content of another edit that was never sent was replaced.
    Replaced(EditId),
    /// The edit deletes a member whose POST was never sent. Neither will be sent.
    Cancelled(EditId),
    /// The resource is deleted already.
    Nothing,
    /// The edit replaces a deleted resource: 410 (3.3).
    Gone,
}

/// Result of sending an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The server carried out the edit.
    Done {
        /// Address of the member that a POST created.
        member: Option<Location>,
        /// Entity tag of the present representation, if known.
        tag: Option<String>,
    },
    /// The server accepted the edit and has not carried it out yet.
    Accepted,
    /// The edit is tried again at this time, or after a growing delay.
    Later(Option<Time>),
    /// The edit waits for credentials.
    NeedsCredentials,
    /// The connection failed, before anything was sent or possibly after everything was.
    Lost {
        /// Whether the edit may have arrived.
        perhaps_arrived: bool,
    },
    /// The server refused the edit.
    Refused,
}

/// Edits that ended when an edit was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledEdits<B> {
    /// The edit, unless it still waits.
    pub edit: Option<Edit<B>>,
    /// Edits that were refused with it, in their order.
    pub dependents: Vec<Edit<B>>,
    /// Edits that changed. The edits that waited for it now have a base.
    pub changed: Vec<EditId>,
}

impl<B> Default for Outbox<B> {
    fn default() -> Self {
        let (sending, put_off) = (SortedSet::new(), SortedSet::new());
        Self { edits: Edits::default(), next: 1, sending, put_off }
    }
}

impl<B: Clone> Outbox<B> {
    /// Restores the edits of a store that is opened again, and the stored [`next`](Self::next). Edits that
    /// were sent and not settled are in doubt.
    pub fn restored(edits: impl IntoIterator<Item = Edit<B>>, next: EditId) -> Self {
        let mut outbox = Self { next: next.0, ..Self::default() };
        for mut edit in edits {
            match edit.progress {
                Progress::Sent => edit.progress = Progress::Doubtful,
                Progress::Waiting { .. } => drop(outbox.put_off.insert(edit.id)),
                _ => {}
            }
            outbox.edits.insert(edit);
        }
        outbox
    }

    /// Number of the next edit. No number is used twice.
    pub fn next(&self) -> EditId {
        EditId(self.next)
    }

    /// All edits, in the order of their arrival.
    pub fn edits(&self) -> impl DoubleEndedIterator<Item = &Edit<B>> {
        self.edits.all()
    }

    /// Returns an edit that is not settled.
    pub fn edit(&self, id: EditId) -> Option<&Edit<B>> {
        self.edits.get(id)
    }

    /// Last edit of a resource. It determines what its partition sees.
    pub fn last(&self, partition: Partition, resource: &Location) -> Option<&Edit<B>> {
        self.edits.of(partition, resource).next_back()
    }

    /// Edits of a resource in all partitions.
    pub fn at(&self, resource: &Location) -> impl Iterator<Item = &Edit<B>> {
        self.edits.at(resource)
    }

    /// Edits of a queue, in their order.
    pub fn on(&self, partition: Partition, queue: &Location) -> impl Iterator<Item = &Edit<B>> {
        self.edits.on(partition, queue)
    }

    /// Whether edits wait in a queue.
    pub fn waits(&self, partition: Partition, queue: &Location) -> bool {
        self.edits.has(partition, queue)
    }

    /// Whether a queue has edits that are neither put off nor held. These are sent before a new one.
    pub fn moves(&self, partition: Partition, queue: &Location) -> bool {
        let is_moving =
            |edit: &Edit<B>| !matches!(edit.progress, Progress::Waiting { .. } | Progress::Held);
        self.edits.on(partition, queue).any(is_moving)
    }

    /// Changes the address of the edits of a resource. Returns the edits that changed.
    pub fn rename(
        &mut self,
        partition: Partition,
        resource: &Location,
        to: &Location,
    ) -> Vec<EditId> {
        let of: Vec<EditId> = self.edits.of(partition, resource).map(|edit| edit.id).collect();
        for id in &of {
            self.edits.change(*id, |edit| {
                edit.requested.resource = to.clone();
                if edit.requested.method != Method::Post {
                    edit.requested.location = to.clone();
                }
            });
        }
        of
    }

    /// Adds an edit.
    pub fn add(&mut self, new: NewEdit<B>) -> AddOutcome {
        let last = self.last(new.partition, &new.resource);
        let Some(last) = last.map(|last| (last.id, last.requested.method, last.progress.clone()))
        else {
            return AddOutcome::Queued(self.enqueue(new));
        };
        match (last, new.method) {
            ((_, Method::Delete, _), Method::Delete) => AddOutcome::Nothing,
            ((_, Method::Delete, _), _) => AddOutcome::Gone,
            ((id, _, Progress::Queued), Method::Put) => {
                if let Some(edit) = self.edits.get_mut(id) {
                    edit.requested.body = new.body;
                }
                AddOutcome::Replaced(id)
            }
            ((id, Method::Post, Progress::Queued), Method::Delete) => {
                self.edits.remove(id);
                AddOutcome::Cancelled(id)
            }
            ((id, Method::Put, Progress::Queued), Method::Delete) => {
                // The DELETE applies to the version before the replaced PUT, which was never sent.
                let base = self.edits.remove(id).and_then(|put| put.requested.base);
                AddOutcome::Queued(self.enqueue(NewEdit { base, ..new }))
            }
            // The base is known when the preceding edit is settled.
            _ => AddOutcome::Queued(self.enqueue(NewEdit { base: None, ..new })),
        }
    }

    fn enqueue(&mut self, new: NewEdit<B>) -> EditId {
        let id = EditId(self.next);
        self.next += 1;
        self.edits.insert(Edit::queued(id, new));
        id
    }

    /// Returns the edits that may be sent now. Of each queue this is the first edit that waits neither for a
    /// time, for credentials nor for an edit of the same resource.
    pub fn due(&self, now: Time) -> Vec<EditId> {
        self.due_if(now, |_| SendDecision::Now)
    }

    /// Returns the edits that may be sent now, except those that `judge` withholds for other reasons.
    pub fn due_if(
        &self,
        now: Time,
        mut judge: impl FnMut(&Edit<B>) -> SendDecision,
    ) -> Vec<EditId> {
        let mut due = Vec::new();
        for queue in self.edits.queues() {
            for edit in queue {
                let is_put_off = match edit.progress {
                    Progress::Queued | Progress::Doubtful => false,
                    Progress::Waiting { until } => until > now,
                    Progress::Sent | Progress::Held | Progress::Accepted => true,
                };
                if is_put_off || !self.is_first(edit) {
                    continue;
                }
                if self.is_sending(edit) {
                    break;
                }
                match judge(edit) {
                    SendDecision::Passed => {}
                    SendDecision::Blocks => break,
                    SendDecision::Now => {
                        due.push(edit.id);
                        break;
                    }
                }
            }
        }
        due.sort_unstable();
        due
    }

    /// Time at which [`due`](Self::due) returns more, if nothing else happens.
    pub fn next_wake(&self, now: Time) -> Option<Time> {
        let waiting = self.put_off.iter().filter_map(|id| match self.edits.get(*id)?.progress {
            Progress::Waiting { until } if until > now => Some(until),
            _ => None,
        });
        waiting.min()
    }

    /// Whether an edit of the same queue is being sent.
    fn is_sending(&self, edit: &Edit<B>) -> bool {
        let mut sending = self.sending.iter().filter_map(|id| self.edits.get(*id));
        sending.any(|other| {
            other.requested.partition == edit.requested.partition
                && other.requested.queue == edit.requested.queue
        })
    }

    /// Whether an edit is the first of its resource.
    pub fn is_first(&self, edit: &Edit<B>) -> bool {
        self.first(edit) == Some(edit.id)
    }

    /// First edit of the resource of an edit.
    pub fn first(&self, edit: &Edit<B>) -> Option<EditId> {
        let mut of = self.edits.of(edit.requested.partition, &edit.requested.resource);
        of.next().map(|first| first.id)
    }

    /// Sets the generation before an edit is sent for the first time. Members seen earlier are not the result
    /// of the edit.
    pub fn renew(&mut self, id: EditId, generation: u64) {
        if let Some(edit) = self.edits.get_mut(id).filter(|edit| edit.tries == 0) {
            edit.requested.generation = generation;
        }
    }

    /// Notes that an edit is being sent. The note must be durable before the edit is sent, because the edit
    /// may arrive.
    pub fn mark_sending(&mut self, id: EditId) -> Option<&Edit<B>> {
        let edit = self.edits.get_mut(id)?;
        edit.mark_sending();
        self.sending.insert(id);
        self.put_off.remove(&id);
        Some(edit)
    }

    /// Applies the result of sending an edit. `random` spreads attempts that would otherwise coincide.
    pub fn settle(
        &mut self,
        id: EditId,
        settlement: Settlement,
        now: Time,
        random: u64,
    ) -> SettledEdits<B> {
        let mut ended = SettledEdits { edit: None, dependents: Vec::new(), changed: Vec::new() };
        self.sending.remove(&id);
        self.put_off.remove(&id);
        let Some(edit) = self.edits.get_mut(id) else { return ended };
        match settlement {
            Settlement::Done { member, tag } => {
                ended.edit = self.edits.remove(id);
                if let Some(edit) = &ended.edit {
                    ended.changed = self.based(edit, member.as_ref(), tag.as_deref());
                }
                return ended;
            }
            Settlement::Refused => {
                ended.edit = self.edits.remove(id);
                if let Some(edit) = &ended.edit {
                    ended.dependents = self.dependents(edit);
                }
                return ended;
            }
            Settlement::Accepted => (edit.progress, edit.stall) = (Progress::Accepted, None),
            Settlement::NeedsCredentials => edit.progress = Progress::Held,
            Settlement::Later(until) => {
                let grown = now.after(wait(edit.tries, random));
                let until = until.map_or(grown, |until| until.max(grown));
                edit.progress = Progress::Waiting { until };
                self.put_off.insert(id);
            }
            Settlement::Lost { perhaps_arrived: true } => edit.progress = Progress::Doubtful,
            Settlement::Lost { perhaps_arrived: false } => edit.progress = edit.unsent(),
        }
        ended.changed.push(id);
        ended
    }

    /// Notes the response that puts an edit off, and the error that reports it.
    pub fn stall(&mut self, id: EditId, status: StatusCode, error: Option<ErrorId>, now: Time) {
        if let Some(edit) = self.edits.get_mut(id) {
            let since = edit.stall.map_or(now, |stall| stall.since);
            edit.stall = Some(Stall { status, since, error });
        }
    }

    /// Releases the edits that wait for credentials, since there are new ones. Returns the edits that
    /// changed.
    pub fn release(&mut self, partition: Partition) -> Vec<EditId> {
        let is_held = |edit: &&Edit<B>| {
            edit.requested.partition == partition && edit.progress == Progress::Held
        };
        let held: Vec<EditId> = self.edits.all().filter(is_held).map(|edit| edit.id).collect();
        held.into_iter().filter(|id| self.release_one(*id)).collect()
    }

    /// Releases an edit that was put off or held, to be sent in its order. Returns whether it was put off or
    /// held.
    pub fn release_one(&mut self, id: EditId) -> bool {
        let is_put_off = |edit: &&mut Edit<B>| {
            matches!(edit.progress, Progress::Held | Progress::Waiting { .. })
        };
        let Some(edit) = self.edits.get_mut(id).filter(is_put_off) else { return false };
        (edit.progress, edit.stall) = (edit.unsent(), None);
        self.put_off.remove(&id);
        true
    }

    /// Discards an edit that is no longer wanted, with the edits that build on it.
    pub fn discard(&mut self, id: EditId) -> SettledEdits<B> {
        self.settle(id, Settlement::Refused, Time::default(), 0)
    }

    /// Sets the base and the address of the edits that waited for an edit.
    fn based(
        &mut self,
        done: &Edit<B>,
        member: Option<&Location>,
        tag: Option<&str>,
    ) -> Vec<EditId> {
        let (partition, resource) = (done.requested.partition, &done.requested.resource);
        let changed: Vec<EditId> = self.after(done).map(|edit| edit.id).collect();
        if let Some(edit) = changed.first().and_then(|first| self.edits.get_mut(*first)) {
            edit.requested.base = tag.map(str::to_owned);
            edit.requested.previous = done.requested.body.clone();
        }
        match member {
            Some(member) => self.rename(partition, resource, member),
            None => changed.into_iter().take(1).collect(),
        }
    }

    /// Removes the edited representation, which can no longer be read.
    pub fn forget_previous(&mut self, id: EditId) {
        if let Some(edit) = self.edits.get_mut(id) {
            edit.requested.previous = None;
        }
    }

    /// Replaces the base of an edit, because it was made on another representation than known.
    pub fn rebase(&mut self, id: EditId, tag: String, previous: B) {
        if let Some(edit) = self.edits.get_mut(id) {
            edit.requested.base = Some(tag);
            edit.requested.previous = Some(previous);
        }
    }

    fn dependents(&mut self, refused: &Edit<B>) -> Vec<Edit<B>> {
        let after: Vec<EditId> = self.after(refused).map(|edit| edit.id).collect();
        after.into_iter().filter_map(|id| self.edits.remove(id)).collect()
    }

    /// Edits that build on another.
    fn after(&self, edit: &Edit<B>) -> impl Iterator<Item = &Edit<B>> {
        let id = edit.id;
        let of = self.edits.of(edit.requested.partition, &edit.requested.resource);
        of.filter(move |other| other.id > id)
    }
}

/// Delay before the next attempt. It grows with each attempt and is partly random.
pub(crate) fn wait(tries: u32, random: u64) -> Duration {
    let doubled = MIN_RETRY_DELAY.saturating_mul(1 << tries.saturating_sub(1).min(16));
    let most = doubled.min(MAX_RETRY_DELAY);
    let share = random as f64 / u64::MAX as f64;
    most / 2 + (most / 2).mul_f64(share)
}

#[cfg(test)]
mod tests;
