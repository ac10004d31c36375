//! Edits that are put off or held, and edits that pass them (BITSY 3.5, R-B34, R-B35).
//!
//! A response that puts an edit off keeps back that edit and later ones of the same resource. Other edits of the
//! collection pass it, one at a time. A new member that is like one which may have been made waits for it: looking
//! for one of them could find the other.

use std::collections::BTreeSet;

use super::answers::Exchange;
use super::asking::is_pending;
use super::background::What;
use super::sending::Trail;
use super::settling::of_edit;
use super::step::{Change, Step};
use super::stored::{Content, Entity, Stored};
use super::{Interceptor, KeepingId};
use crate::event::ErrorId;
use crate::likeness::Likeness;
use crate::outbox::{Edit, EditId, Leave, Progress, Settlement, wait};
use crate::profile::Profile;
use crate::propagation::Method;
use crate::time::Time;

/// Number of broken connections after which the pause before an edit grows no longer.
const MOST_LOSSES: u32 = 9;

impl Trail {
    /// Notes that the connection broke off after the edit was sent. The first time the network is at fault; then
    /// the edit may be, and others go before it.
    pub(super) fn breaks_off(&mut self, now: Time, random: u64) {
        self.losses = self.losses.saturating_add(1);
        if self.losses > 1 {
            self.not_before = Some(now.after(wait(self.losses.min(MOST_LOSSES), random)));
        }
    }

    /// Whether the edit has to wait for a time.
    pub(super) fn waits(&self, now: Time) -> bool {
        self.not_before.is_some_and(|time| time > now)
    }
}

impl Interceptor {
    /// The edits that leave now: of each line at most one.
    pub(super) fn leaving<S: Stored>(
        &self,
        stored: &S,
        now: Time,
    ) -> Result<Vec<EditId>, S::Error> {
        let busy: BTreeSet<EditId> = self.tasks.values().filter_map(|it| it.what.edit()).collect();
        // To the letter, requests are replayed in their order.
        let stays = match self.settings.profile {
            Profile::Resilient => Leave::Passed,
            Profile::Strict => Leave::Blocks,
        };
        let mut failed = None;
        let due = self.outbox.due_if(now, |edit| {
            let to = &edit.asked.location;
            if busy.contains(&edit.id) {
                return Leave::Blocks;
            }
            let waits = self.trails.get(&edit.id).is_some_and(|trail| trail.waits(now));
            // An address here has no server to be reached: what it names is looked for in its feed.
            if waits || is_pending(to) {
                return stays;
            }
            if !self.reach.may_try(to, now) {
                return if to.is_same_origin(&edit.asked.line) { Leave::Blocks } else { stays };
            }
            match self.may_be_confused(stored, edit) {
                Ok(true) => stays,
                Ok(false) => Leave::Now,
                Err(error) => {
                    failed.get_or_insert(error);
                    Leave::Blocks
                }
            }
        });
        failed.map_or(Ok(due), Err)
    }

    /// Whether a server takes no edits for a moment.
    pub(super) fn is_paced(&self, id: EditId, now: Time) -> bool {
        let edit = self.outbox.edit(id);
        edit.is_some_and(|edit| self.reach.paced_until(&edit.asked.location, now).is_some())
    }

    /// Whether looking for an earlier new member could find this one.
    fn may_be_confused<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        let (asked, id) = (&edit.asked, edit.id);
        let Some(ours) = asked.body.as_ref().filter(|_| asked.method == Method::Post) else {
            return Ok(false);
        };
        let before = self.outbox.on(asked.partition, &asked.line);
        let before = before.take_while(|other| other.id < id);
        let before = before.filter(|other| other.asked.method == Method::Post && other.tries > 0);
        for theirs in before.filter_map(|other| other.asked.body.as_ref()) {
            if self.are_alike(stored, ours.content, theirs.content, edit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_alike<S: Stored>(
        &self,
        stored: &S,
        ours: Content,
        theirs: Content,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        if ours == theirs {
            return Ok(true);
        }
        let likeness = |it| Ok(Likeness::of_entry(&stored.content(&it)?, &edit.asked.location));
        let both = likeness(ours)?.zip(likeness(theirs)?);
        Ok(both.is_some_and(|(ours, theirs)| ours.is_like(&theirs)))
    }

    /// Holds an edit that its server refuses for want of credentials, and reports that as an error: nobody here
    /// has other credentials.
    pub(super) fn held(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        now: Time,
        random: u64,
    ) {
        let asked = &edit.asked;
        let was = asked.was.as_ref().map(|was| was.content);
        let interaction = of_edit(edit, exchange.interaction(now));
        let whose = (asked.partition, &asked.feed);
        // What somebody was told before and has not answered is told anew.
        self.told_no_more(step, edit);
        let error = self.interacted(step, whose, interaction, Some(was));
        self.outbox.stall(edit.id, exchange.status, error, now);
        self.awaited.remove(&edit.id);
        self.settle(step, edit, Settlement::NeedsCredentials, now, random);
        self.refresh(step, asked.partition, &asked.feed, &asked.line, now);
    }

    /// The edit that an error reports as held.
    pub(super) fn held_by(&self, error: ErrorId) -> Option<EditId> {
        let of = |edit: &&Edit<Entity>| {
            edit.progress == Progress::Held
                && edit.stall.is_some_and(|stall| stall.error == Some(error))
        };
        self.outbox.edits().find(of).map(|edit| edit.id)
    }

    /// Takes back the error that reports an edit as held.
    pub(super) fn told_no_more(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        let error = edit.stall.and_then(|stall| stall.error);
        let cleared = error.and_then(|error| self.errors.clear(error));
        step.changes.extend(cleared.map(|error| Change::ErrorGone(error.id)));
    }

    /// Lets go what waits for credentials.
    pub(super) fn released(&mut self, step: &mut Step, id: KeepingId) {
        let Some(keeping) = self.keepings.get(&id) else { return };
        let partition = keeping.subscription.partition();
        let is_held = |edit: &&Edit<Entity>| {
            edit.asked.partition == partition && edit.progress == Progress::Held
        };
        let held: Vec<EditId> = self.outbox.edits().filter(is_held).map(|edit| edit.id).collect();
        for edit in held {
            self.let_go(step, edit);
        }
    }

    /// Lets an edit leave with its turn that is put off or held.
    fn let_go(&mut self, step: &mut Step, id: EditId) {
        let Some(edit) = self.outbox.edit(id).cloned() else { return };
        if self.outbox.release_one(id) {
            self.told_no_more(step, &edit);
            self.store_edit(step, id);
        }
    }

    /// Tries an edit again that waits, now.
    pub fn hurry(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        let Some(edit) = self.outbox.edit(id).cloned() else { return step };
        if self.is_busy(id) {
            return step;
        }
        self.reach.took(&edit.asked.location);
        // What was never sent leaves with its turn; what was accepted is its server's to carry out.
        if !matches!(edit.progress, Progress::Queued | Progress::Accepted) {
            self.trails.remove(&id);
            self.let_go(&mut step, id);
            self.store_edit(&mut step, id);
        }
        step
    }

    /// Tries all edits again that wait, now.
    pub fn hurry_all(&mut self, ids: impl IntoIterator<Item = EditId>) -> Step {
        let mut all = Step::default();
        for step in ids.into_iter().map(|id| self.hurry(id)) {
            all.is_durable |= step.is_durable;
            all.changes.extend(step.changes);
        }
        all
    }
}

impl What {
    /// The edit that a task sends, or looks for before it is sent again.
    fn edit(&self) -> Option<EditId> {
        match self {
            Self::Send { edit } | Self::Look { edit } | Self::Ask { edit } => Some(*edit),
            Self::Fetch { .. } | Self::Find { .. } | Self::Learn { .. } => None,
        }
    }
}
