//! Edits on their way to their servers (BITSY 3.5, R-B35).
//!
//! - Edits of one resource by the same people leave in the order in which they came. Edits of one collection
//!   leave one at a time and in that order too, but no edit waits for another that its server has accepted,
//!   put off or refused for want of credentials.
//! - What was never sent may still change: another PUT takes the place of a PUT or POST, a DELETE takes that
//!   of a PUT, and what is deleted before it was sent was never made. What was sent once is left alone, and
//!   what comes after it waits behind it.
//! - An edit that was sent and not answered is in doubt: it may have been carried out.
//! - When an edit is refused, what came after it on the same resource was made on top of it and is refused
//!   with it. Nothing disappears: whoever settles an edit is given all that ended with it.

mod edit;
mod edits;

use std::collections::BTreeSet;
use std::time::Duration;

pub use edit::{Edit, EditId, NewEdit, Progress, Stall};
use edits::Edits;

use http::StatusCode;

use crate::authentication::Partition;
use crate::event::ErrorId;
use crate::location::Location;
use crate::propagation::Method;
use crate::time::Time;

/// The shortest time until an edit is tried again; it doubles with each try.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// Edits that are on their way. What an edit carries is none of its business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox<B> {
    edits: Edits<B>,
    next: u64,
    /// Edits in [`Progress::Sent`]: while one of a line is, the line sends no other.
    sending: BTreeSet<EditId>,
    /// Edits that were put off to a time. Some may have left that state since.
    put_off: BTreeSet<EditId>,
}

/// Judgement whether an edit may leave now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The edit leaves.
    Now,
    /// The edit stays, and those after it on its line may pass it.
    Passed,
    /// The edit stays, and those after it on its line wait for it.
    Blocks,
}

/// What became of an edit that an application made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It waits as one of its own.
    Queued(EditId),
    /// It took the place of another that was never sent.
    Folded(EditId),
    /// What it deletes was never sent, and never will be.
    Vanished(EditId),
    /// What it deletes is deleted already.
    Nothing,
    /// What it replaces was deleted: 410 (3.3).
    Gone,
}

/// What became of an edit that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The server carried it out.
    Done {
        /// Where the member is that a POST made.
        member: Option<Location>,
        /// The entity tag of what there is now, if it is known.
        tag: Option<String>,
    },
    /// The server took it, and has not carried it out yet.
    Accepted,
    /// It is tried again then, or after a while that grows.
    Later(Option<Time>),
    /// It waits for credentials.
    NeedsCredentials,
    /// The network broke off; before anything was sent, or perhaps after all was.
    Lost {
        /// Whether it may have arrived.
        perhaps_arrived: bool,
    },
    /// The server refused it.
    Refused,
}

/// What ended when an edit was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended<B> {
    /// The edit, unless it still waits.
    pub edit: Option<Edit<B>>,
    /// What was refused with it, in its order.
    pub dependents: Vec<Edit<B>>,
    /// Edits that changed: those that wait for it know now what they are made on.
    pub changed: Vec<EditId>,
}

impl<B> Default for Outbox<B> {
    fn default() -> Self {
        let (sending, put_off) = (BTreeSet::new(), BTreeSet::new());
        Self { edits: Edits::default(), next: 1, sending, put_off }
    }
}

impl<B: Clone> Outbox<B> {
    /// The edits of a store that is opened again, and the [`next`](Self::next) that it kept: what was sent
    /// then and not settled is in doubt.
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

    /// The place of the next edit; none is given twice.
    pub fn next(&self) -> EditId {
        EditId(self.next)
    }

    /// All of them, in the order in which they came.
    pub fn edits(&self) -> impl DoubleEndedIterator<Item = &Edit<B>> {
        self.edits.all()
    }

    /// An edit that is on its way.
    pub fn edit(&self, id: EditId) -> Option<&Edit<B>> {
        self.edits.get(id)
    }

    /// The last edit of a resource, which is how it looks to those people.
    pub fn last(&self, partition: Partition, resource: &Location) -> Option<&Edit<B>> {
        self.edits.of(partition, resource).next_back()
    }

    /// The edits of a resource, whoever made them.
    pub fn at(&self, resource: &Location) -> impl Iterator<Item = &Edit<B>> {
        self.edits.at(resource)
    }

    /// The edits of a line, in their order.
    pub fn on(&self, partition: Partition, line: &Location) -> impl Iterator<Item = &Edit<B>> {
        self.edits.on(partition, line)
    }

    /// Whether edits wait on a line.
    pub fn waits(&self, partition: Partition, line: &Location) -> bool {
        self.edits.has(partition, line)
    }

    /// Whether edits wait on a line that are neither put off nor held: these leave before a new one.
    pub fn moves(&self, partition: Partition, line: &Location) -> bool {
        let is_moving =
            |edit: &Edit<B>| !matches!(edit.progress, Progress::Waiting { .. } | Progress::Held);
        self.edits.on(partition, line).any(is_moving)
    }

    /// Tells the edits of a resource where it is. Those that changed.
    pub fn rename(
        &mut self,
        partition: Partition,
        resource: &Location,
        to: &Location,
    ) -> Vec<EditId> {
        let of: Vec<EditId> = self.edits.of(partition, resource).map(|edit| edit.id).collect();
        for id in &of {
            self.edits.change(*id, |edit| {
                edit.asked.resource = to.clone();
                if edit.asked.method != Method::Post {
                    edit.asked.location = to.clone();
                }
            });
        }
        of
    }

    /// Takes up an edit.
    pub fn add(&mut self, new: NewEdit<B>) -> Added {
        let last = self.last(new.partition, &new.resource);
        let Some(last) = last.map(|last| (last.id, last.asked.method, last.progress.clone()))
        else {
            return Added::Queued(self.queue(new));
        };
        match (last, new.method) {
            ((_, Method::Delete, _), Method::Delete) => Added::Nothing,
            ((_, Method::Delete, _), _) => Added::Gone,
            ((id, _, Progress::Queued), Method::Put) => {
                if let Some(edit) = self.edits.get_mut(id) {
                    edit.asked.body = new.body;
                }
                Added::Folded(id)
            }
            ((id, Method::Post, Progress::Queued), Method::Delete) => {
                self.edits.remove(id);
                Added::Vanished(id)
            }
            ((id, Method::Put, Progress::Queued), Method::Delete) => {
                // It is deleted as it was before the edit that nobody will see.
                let base = self.edits.remove(id).and_then(|put| put.asked.base);
                Added::Queued(self.queue(NewEdit { base, ..new }))
            }
            // What it is made on is known when that is settled.
            _ => Added::Queued(self.queue(NewEdit { base: None, ..new })),
        }
    }

    fn queue(&mut self, new: NewEdit<B>) -> EditId {
        let id = EditId(self.next);
        self.next += 1;
        self.edits.insert(Edit::queued(id, new));
        id
    }

    /// The edits that may be sent now: of each line the first that waits neither for a time, for credentials nor
    /// for an edit of the same resource.
    pub fn due(&self, now: Time) -> Vec<EditId> {
        self.due_if(now, |_| Leave::Now)
    }

    /// The same, where `judge` keeps back what must not leave yet for other reasons.
    pub fn due_if(&self, now: Time, mut judge: impl FnMut(&Edit<B>) -> Leave) -> Vec<EditId> {
        let mut due = Vec::new();
        for line in self.edits.lines() {
            for edit in line {
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
                    Leave::Passed => {}
                    Leave::Blocks => break,
                    Leave::Now => {
                        due.push(edit.id);
                        break;
                    }
                }
            }
        }
        due.sort_unstable();
        due
    }

    /// When [`due`](Self::due) has more to tell, if nothing else happens.
    pub fn wakes(&self, now: Time) -> Option<Time> {
        let waiting = self.put_off.iter().filter_map(|id| match self.edits.get(*id)?.progress {
            Progress::Waiting { until } if until > now => Some(until),
            _ => None,
        });
        waiting.min()
    }

    /// Whether an edit of the same line is being sent.
    fn is_sending(&self, edit: &Edit<B>) -> bool {
        let mut sending = self.sending.iter().filter_map(|id| self.edits.get(*id));
        sending.any(|other| {
            other.asked.partition == edit.asked.partition && other.asked.line == edit.asked.line
        })
    }

    /// Whether nothing comes before an edit of the same resource.
    pub fn is_first(&self, edit: &Edit<B>) -> bool {
        self.first(edit) == Some(edit.id)
    }

    /// The first edit of the resource of an edit.
    pub fn first(&self, edit: &Edit<B>) -> Option<EditId> {
        let mut of = self.edits.of(edit.asked.partition, &edit.asked.resource);
        of.next().map(|first| first.id)
    }

    /// Notes what was seen before an edit is sent for the first time: none of it is what it makes.
    pub fn renew(&mut self, id: EditId, generation: u64) {
        if let Some(edit) = self.edits.get_mut(id).filter(|edit| edit.tries == 0) {
            edit.asked.generation = generation;
        }
    }

    /// Notes that an edit is being sent: to be made durable first, so that nobody forgets that it may
    /// have arrived.
    pub fn sends(&mut self, id: EditId) -> Option<&Edit<B>> {
        let edit = self.edits.get_mut(id)?;
        edit.sends();
        self.sending.insert(id);
        self.put_off.remove(&id);
        Some(edit)
    }

    /// Takes in what became of an edit. `random` spreads tries that would otherwise come together.
    pub fn settle(
        &mut self,
        id: EditId,
        settlement: Settlement,
        now: Time,
        random: u64,
    ) -> Ended<B> {
        let mut ended = Ended { edit: None, dependents: Vec::new(), changed: Vec::new() };
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

    /// Lets go what waits for credentials, since there are others. Those that changed.
    pub fn release(&mut self, partition: Partition) -> Vec<EditId> {
        let is_held =
            |edit: &&Edit<B>| edit.asked.partition == partition && edit.progress == Progress::Held;
        let held: Vec<EditId> = self.edits.all().filter(is_held).map(|edit| edit.id).collect();
        held.into_iter().filter(|id| self.release_one(*id)).collect()
    }

    /// Lets an edit leave with its turn that was put off or held; whether it was.
    pub fn release_one(&mut self, id: EditId) -> bool {
        let is_put_off = |edit: &&mut Edit<B>| {
            matches!(edit.progress, Progress::Held | Progress::Waiting { .. })
        };
        let Some(edit) = self.edits.get_mut(id).filter(is_put_off) else { return false };
        (edit.progress, edit.stall) = (edit.unsent(), None);
        self.put_off.remove(&id);
        true
    }

    /// Gives up an edit that somebody does not want any more, with what was made on it.
    pub fn discard(&mut self, id: EditId) -> Ended<B> {
        self.settle(id, Settlement::Refused, Time::default(), 0)
    }

    /// Tells those that wait for an edit what they are made on, and where it is.
    fn based(
        &mut self,
        done: &Edit<B>,
        member: Option<&Location>,
        tag: Option<&str>,
    ) -> Vec<EditId> {
        let (partition, resource) = (done.asked.partition, &done.asked.resource);
        let changed: Vec<EditId> = self.after(done).map(|edit| edit.id).collect();
        if let Some(edit) = changed.first().and_then(|first| self.edits.get_mut(*first)) {
            edit.asked.base = tag.map(str::to_owned);
            edit.asked.was = done.asked.body.clone();
        }
        match member {
            Some(member) => self.rename(partition, resource, member),
            None => changed.into_iter().take(1).collect(),
        }
    }

    /// Forgets what an edit was made on: it cannot be read any more.
    pub fn forget_was(&mut self, id: EditId) {
        if let Some(edit) = self.edits.get_mut(id) {
            edit.asked.was = None;
        }
    }

    /// Notes that an edit was made on something else than was known.
    pub fn rebase(&mut self, id: EditId, tag: String, was: B) {
        if let Some(edit) = self.edits.get_mut(id) {
            edit.asked.base = Some(tag);
            edit.asked.was = Some(was);
        }
    }

    fn dependents(&mut self, refused: &Edit<B>) -> Vec<Edit<B>> {
        let after: Vec<EditId> = self.after(refused).map(|edit| edit.id).collect();
        after.into_iter().filter_map(|id| self.edits.remove(id)).collect()
    }

    /// Edits that were made on top of another.
    fn after(&self, edit: &Edit<B>) -> impl Iterator<Item = &Edit<B>> {
        let id = edit.id;
        let of = self.edits.of(edit.asked.partition, &edit.asked.resource);
        of.filter(move |other| other.id > id)
    }
}

/// Longer with each try, and not the same for all.
pub(crate) fn wait(tries: u32, random: u64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << tries.saturating_sub(1).min(16));
    let most = doubled.min(LONGEST_WAIT);
    let share = random as f64 / u64::MAX as f64;
    most / 2 + (most / 2).mul_f64(share)
}

#[cfg(test)]
mod tests;
