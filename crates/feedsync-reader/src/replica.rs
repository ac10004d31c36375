//! A replica of somebody's newsreading that a log keeps in step with others (LR9 to LR19).
//!
//! It holds one state, what is known here, and an outbox, what of it the log lacks. What the log brings joins the
//! state; what is done here joins it too, and waits in the outbox. So a replica is never behind itself, and it does
//! not matter in which order things reach it. If the log turns out to be another one (it was put back, or compacted
//! while nobody looked), all that is known here and is not in that one is recorded again: nothing is lost, not even
//! with the log.
//!
//! [`Replica::apply`] changes the whole of it, the position in the log too: whoever stores it after each call, all or
//! nothing ([`Replica::write`]), may crash at any time (LR14).

mod outbox;
mod text;

use std::borrow::Cow;

use feedsync_log::{
    Clock, Covered, Device, Event, Header, Line, LineError, Lines, Millis, Position, RecordId,
    Session, Stamp, Start, overlap_of,
};

use crate::action::Action;
use crate::address::FeedAddress;
use crate::change::Change;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::state::ReaderState;
use outbox::Outbox;
pub use text::ReplicaError;

/// Somebody's newsreading on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    device: Device,
    /// What keeps it in step, as people call it.
    log: Option<String>,
    /// How many records were named here.
    sequence: u64,
    clock: Clock,
    position: Option<Position>,
    state: ReaderState,
    outbox: Outbox,
    /// What the log holds, as far as it was read again; `None` if it is known to hold all but the outbox.
    read_again: Option<ReaderState>,
    /// The log says something that is not in the state: records that are no records, or that were too many.
    has_passed_over: bool,
}

/// A log in few bytes, to be put in place of a long one (LR45, LR46).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The entity tag that the log has, and must still have.
    pub tag: String,
    /// The place up to which the snapshot stands for it.
    pub covers: String,
    /// The snapshot.
    pub snapshot: String,
    /// What the next generation begins with.
    pub header: String,
}

impl Replica {
    /// A replica that knows nothing, on a device of its own, and has read no log.
    pub fn new(device: Device) -> Self {
        Self {
            device,
            log: None,
            sequence: 0,
            clock: Clock::default(),
            position: None,
            state: ReaderState::default(),
            outbox: Outbox::default(),
            read_again: Some(ReaderState::default()),
            has_passed_over: false,
        }
    }

    /// All that is known here.
    pub fn state(&self) -> &ReaderState {
        &self.state
    }

    /// The device whose records these are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What keeps it in step, as people call it.
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// Whether it is kept in step by this log, or by none yet.
    pub fn is_kept_by(&self, log: &str) -> bool {
        self.log.as_deref().is_none_or(|known| known == log)
    }

    /// From now on this log keeps it in step. If it was another one, all that is known here is recorded in this one.
    pub fn keep_by(&mut self, log: String) {
        if !self.is_kept_by(&log) {
            self.begin_again();
        }
        self.log = Some(log);
    }

    /// Takes back [`Replica::keep_by`] of a log that turned out not to be there. Nothing was read from it.
    pub fn keep_by_none(&mut self) {
        if self.position.is_none() {
            self.log = None;
            self.begin_again();
        }
    }

    /// How far the log was read.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// How many records wait to be appended.
    pub fn waiting_count(&self) -> usize {
        self.outbox.len()
    }

    /// Does something to a feed, or to an article of it. `false` if it was so already, as far as is known here:
    /// then there is nothing to record (LR16).
    pub fn act(&mut self, feed: &FeedAddress, action: &Action, now: Millis) -> bool {
        // Where an address leads to is said of that address alone.
        let is_move = matches!(action, Action::FeedMoved { .. });
        let has_moved = !is_move && self.state.has_moved_feeds();
        let view = has_moved.then(|| self.state.view());
        let known = match &view {
            Some(view) => Some(view.feed(feed)),
            None => self.state.feed(feed.as_str()).map(Cow::Borrowed),
        };
        if known.is_some_and(|known| action.is_told_by(&known)) {
            return false;
        }
        let feed = view.as_ref().map_or(feed, |view| view.address(feed)).clone();
        let stamp = Stamp { tick: self.clock.tick(now), device: self.device.clone() };
        let change = action.change(&feed, stamp);
        self.state.apply_change(&change);
        self.record(change);
        true
    }

    /// A change waits for the log. Without one nothing does: the first log is told all that is known by then.
    fn record(&mut self, change: Change) {
        if self.log.is_some() {
            let id = self.name();
            self.outbox.add(change.recorded(id));
        }
    }

    /// Takes in what is known elsewhere, and not from the log: it is recorded, too. `true` if something was new.
    pub fn take_in(&mut self, other: ReaderState) -> bool {
        if let Some(tick) = other.latest() {
            self.clock.saw(tick);
        }
        let changes = other.beyond(&self.state);
        let is_new = self.state.join(other);
        changes.into_iter().for_each(|change| self.record(change));
        is_new
    }

    /// A session that goes on where the last one stopped. A log that was being read again is read again from its
    /// beginning, since only the session knew how.
    pub fn session(&mut self) -> Session {
        let newer = self.position.as_ref().and_then(|position| position.newer);
        if self.read_again.is_some() || newer.is_some_and(|newer| newer <= feedsync_log::VERSION) {
            self.begin_again();
        }
        Session::new(self.position.clone(), Start::Whole)
    }

    /// Once all of another log was read, what that one lacks begins to wait. To be asked before each request of a
    /// session; `true` if the replica is to be stored before anything is sent, since names were given.
    pub fn offer(&mut self, session: &Session) -> bool {
        let Some(mut log) = self.read_again.take_if(|_| session.is_in_step()) else { return false };
        for record in self.outbox.records() {
            log.apply(record);
        }
        self.state.beyond(&log).into_iter().for_each(|change| self.record(change));
        true
    }

    /// What waits, in the order in which it is to be appended.
    pub fn waiting(&self) -> Vec<(RecordId, String)> {
        self.outbox.lines()
    }

    /// Applies what an event of a session brought, and takes over how far the log was read. `random` names a new
    /// device, should another replica turn out to use this one's name. `true` if something was new. An error changes
    /// nothing.
    pub fn apply(
        &mut self,
        event: Event,
        session: &mut Session,
        random: u64,
    ) -> Result<bool, SnapshotError> {
        let mut is_new = false;
        match event {
            Event::Lines(bytes) => is_new = self.lines(&bytes, random),
            Event::Snapshot(bytes) => match Snapshot::read(&bytes) {
                Ok(snapshot) => is_new = self.take_snapshot(snapshot, session),
                Err(error) if error.is_of_another_kind() && session.is_without_snapshot() => {}
                Err(error) => return Err(error),
            },
            Event::Restarted => {
                self.read_again = Some(ReaderState::default());
                self.has_passed_over = false;
            }
            Event::Appended(count) => {
                for record in self.outbox.take(count) {
                    if let Some(log) = &mut self.read_again {
                        log.apply(&record);
                    }
                }
            }
            Event::Nothing | Event::Wait(_) | Event::Stopped(_) => {}
        }
        self.position = Some(session.position().clone());
        Ok(is_new)
    }

    fn lines(&mut self, bytes: &[u8], random: u64) -> bool {
        let mut is_new = false;
        for line in Lines::of(bytes).iter() {
            let record = match Line::read(line) {
                Line::Record(record) => record,
                Line::Foreign(error) => {
                    // What was cut off says nothing; whatever else it is, it is not ours to drop.
                    self.has_passed_over |= error != LineError::Torn;
                    continue;
                }
                Line::Header(_) | Line::Newer { .. } => continue,
            };
            self.clock.saw(record.stamp.tick);
            if record.id.device == self.device && self.is_of_another(&record) {
                self.begin_device(random);
            }
            is_new |= self.state.apply(&record);
            self.has_passed_over |= !self.state.holds(&record);
            if let Some(log) = &mut self.read_again {
                log.apply(&record);
            }
            self.outbox.met(&record);
        }
        is_new
    }

    /// Whether a record under a name of ours was not made here: a copy of this replica is in use.
    fn is_of_another(&self, record: &feedsync_log::Record) -> bool {
        record.id.sequence > self.sequence
            || self.outbox.named(&record.id).is_some_and(|ours| ours != record)
    }

    /// From now on everything is recorded under another name, also what waits.
    fn begin_device(&mut self, random: u64) {
        self.device = Device::minted(random);
        self.sequence = 0;
        for record in std::mem::take(&mut self.outbox).into_records() {
            let id = self.name();
            self.outbox.add(feedsync_log::Record { id, ..record });
        }
    }

    fn take_snapshot(&mut self, snapshot: Snapshot, session: &mut Session) -> bool {
        let Snapshot { covers, state } = snapshot;
        if let Some(tick) = state.latest() {
            self.clock.saw(tick);
        }
        if let Some(log) = &mut self.read_again {
            log.join(state.clone());
        }
        // It may hold records of ours that arrived without an answer and were compacted since.
        self.outbox.drop_known(&state);
        let is_new = self.state.join(state);
        // One that does not say what it covers helps nobody to skip anything.
        if let Some(covered) = covers {
            session.begin_behind(covered);
        }
        is_new
    }

    /// Goes on with another log, or one that was removed and is to begin again: all that is known here is
    /// recorded there.
    pub fn begin_again(&mut self) {
        self.position = None;
        self.read_again = Some(ReaderState::default());
        self.has_passed_over = false;
    }

    /// What a new replica needs instead of the log; `None` unless all of the log was read, and all that it says is
    /// known here.
    pub fn snapshot(&self, session: &Session) -> Option<Snapshot> {
        let position = session.position();
        let Position { offset, generation, overlap, partial, newer, .. } = position;
        let whole = session.is_in_step() && !partial && newer.is_none();
        let known = self.outbox.is_empty() && self.read_again.is_none() && !self.has_passed_over;
        if !whole || !known {
            return None;
        }
        let covers = position.place().unwrap_or_else(|| format!("{}-{offset}", self.device));
        let covered = Covered {
            covers,
            offset: *offset,
            overlap: overlap.clone(),
            generation: generation.clone(),
        };
        Some(Snapshot { covers: Some(covered), state: self.state.clone() })
    }

    /// The log in few bytes; `None` unless all of it was read, and understood, and it can be written.
    pub fn compacted(&self, session: &Session, random: u64) -> Option<Compaction> {
        let snapshot = self.snapshot(session)?;
        let position = session.position();
        // A hub calls a place so, whatever something on the way made of its tag.
        let tag = match position.place() {
            Some(place) => format!("\"{place}\""),
            None => position.etag.clone().filter(|tag| tag.starts_with('"'))?,
        };
        let covers = snapshot.covers.as_ref()?.covers.clone();
        let number = position.generation.as_deref().and_then(number).unwrap_or(1) + 1;
        let generation = Device::minted(random).to_string();
        let base = feedsync_log::Base { covers: covers.clone() };
        let header = Header { generation, number, snapshot: Some(base) }.line();
        Some(Compaction { tag, covers, snapshot: snapshot.write(), header })
    }

    /// The log was compacted by this replica: it goes on behind what the new generation begins with.
    pub fn was_compacted(&mut self, header: &str, tag: Option<String>, generation: Option<String>) {
        self.position = Some(Position {
            offset: header.len() as u64,
            etag: tag,
            generation,
            overlap: overlap_of(header.as_bytes()),
            ..Position::default()
        });
    }

    fn name(&mut self) -> RecordId {
        self.sequence += 1;
        RecordId { device: self.device.clone(), sequence: self.sequence }
    }
}

/// The number of a generation that servers of ours name.
fn number(generation: &str) -> Option<u64> {
    generation.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
