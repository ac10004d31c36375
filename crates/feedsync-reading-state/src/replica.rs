//! A replica of a user's reading state that is synchronized through a log (LR9 to LR19).
//!
//! It consists of a state, which holds everything that is known locally, and an outbox, which holds the
//! records that the log lacks. Records from the log are joined into the state. Local changes are joined too,
//! and wait in the outbox. The state therefore always includes local changes, and the order of arrival does
//! not matter. If the log turns out to be another one (it was restored, or compacted meanwhile), everything
//! that is missing in it is recorded again. Nothing is lost, even if the log is.
//!
//! [`Replica::apply`] changes all of it together, including the position in the log. A program that stores
//! the replica after each call, atomically ([`Replica::write`]), may crash at any time (LR14).

mod outbox;
mod text;

use std::borrow::Cow;

use feedsync_log::{
    Clock, Device, Event, Header, Line, LineError, Lines, Millis, Position, RecordId, Session,
    SnapshotCoverage, Stamp, Start, Tick, overlap_of,
};

use crate::action::Action;
use crate::address::FeedAddress;
use crate::change::Change;
use crate::setting::{SettingName, SettingValue};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::state::ReaderState;
use outbox::Outbox;
pub use text::ReplicaError;

/// The reading state of a user on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    device: Device,
    /// Name of the log that synchronizes it, for people.
    log: Option<String>,
    /// Number of record ids that were assigned on this device.
    sequence: u64,
    clock: Clock,
    position: Option<Position>,
    state: ReaderState,
    outbox: Outbox,
    /// The part of the log that was read again. `None` if the log is known to hold everything but the outbox.
    read_again: Option<ReaderState>,
    /// Whether the log has lines that the state lacks: invalid records, or more records than can be
    /// preserved.
    has_passed_over: bool,
}

/// A compacted log, to replace a long one (LR45, LR46).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Entity tag that the log must still have.
    pub tag: String,
    /// Position up to which the snapshot replaces the log.
    pub covers: String,
    /// The snapshot.
    pub snapshot: String,
    /// First line of the next generation.
    pub header: String,
}

impl Replica {
    /// A replica with an empty state, on a new device, that has read no log.
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

    /// The local state.
    pub fn state(&self) -> &ReaderState {
        &self.state
    }

    /// The device that makes the records.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The latest tick that it made or saw.
    pub fn latest_tick(&self) -> Tick {
        self.clock.last()
    }

    /// Name of the log that synchronizes it, for people.
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// Whether this log synchronizes it, or none does yet.
    pub fn is_synchronised_by(&self, log: &str) -> bool {
        self.log.as_deref().is_none_or(|known| known == log)
    }

    /// Sets the log that synchronizes it. If it was another one, the whole state is recorded in the new log.
    pub fn set_log(&mut self, log: String) {
        if !self.is_synchronised_by(&log) {
            self.begin_again();
        }
        self.log = Some(log);
    }

    /// Undoes [`Replica::set_log`] for a log that does not exist. Nothing was read from it.
    pub fn unset_log(&mut self) {
        if self.position.is_none() {
            self.log = None;
            self.begin_again();
        }
    }

    /// Position up to which the log was read.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Number of records that wait to be appended.
    pub fn waiting_count(&self) -> usize {
        self.outbox.len()
    }

    /// Applies an action to a feed, or to an article of it. Returns `false` if the state already includes its
    /// effect; then there is nothing to record (LR16).
    pub fn act(&mut self, feed: &FeedAddress, action: &Action, now: Millis) -> bool {
        // A move applies to exactly the given address, not to the address that it leads to.
        let is_move = matches!(action, Action::FeedMoved { .. });
        let has_moved = !is_move && self.state.has_moved_feeds();
        let view = has_moved.then(|| self.state.view());
        let known = match &view {
            Some(view) => Some(view.feed(feed)),
            None => self.state.feed(feed.as_str()).map(Cow::Borrowed),
        };
        if known.is_some_and(|known| action.is_included_in(&known)) {
            return false;
        }
        let feed = view.as_ref().map_or(feed, |view| view.address(feed)).clone();
        let stamp = Stamp { tick: self.clock.tick(now), device: self.device.clone() };
        let change = action.change(&feed, stamp);
        self.state.apply_change(&change);
        self.record(change);
        true
    }

    /// Sets a setting, or removes it without a value. Returns `false` if nothing changes.
    pub fn set(&mut self, name: &SettingName, value: Option<&SettingValue>, now: Millis) -> bool {
        if self.state.setting(name.as_str()) == value {
            return false;
        }
        let stamp = Stamp { tick: self.clock.tick(now), device: self.device.clone() };
        let change = name.change(value, stamp);
        self.state.apply_change(&change);
        self.record(change);
        true
    }

    /// Queues a change for the log. Without a log nothing is queued: the first log will get the whole state.
    fn record(&mut self, change: Change) {
        if self.log.is_some() {
            let id = self.name();
            self.outbox.add(change.recorded(id));
        }
    }

    /// Joins a state that does not come from the log; it is recorded, too. Returns whether anything was new.
    pub fn merge_state(&mut self, other: ReaderState) -> bool {
        if let Some(tick) = other.latest() {
            self.clock.observe(tick);
        }
        let changes = other.changes_missing_in(&self.state);
        let is_new = self.state.join(other);
        changes.into_iter().for_each(|change| self.record(change));
        is_new
    }

    /// A session that continues where the last one stopped. If a log was being read again, this restarts from
    /// its beginning, since only the session had the intermediate state.
    pub fn session(&mut self) -> Session {
        let newer = self.position.as_ref().and_then(|position| position.newer);
        if self.read_again.is_some() || newer.is_some_and(|newer| newer <= feedsync_log::VERSION) {
            self.begin_again();
        }
        Session::new(self.position.clone(), Start::Whole)
    }

    /// Queues everything that another log lacks, once all of that log was read. Must be called before each
    /// request of a session. If it returns `true`, record ids were assigned, and the replica must be stored
    /// before anything is sent.
    pub fn offer(&mut self, session: &Session) -> bool {
        let Some(mut log) = self.read_again.take_if(|_| session.is_in_step()) else { return false };
        for record in self.outbox.records() {
            log.apply(record);
        }
        self.state.changes_missing_in(&log).into_iter().for_each(|change| self.record(change));
        true
    }

    /// The waiting records, in the order in which they are to be appended.
    pub fn waiting(&self) -> Vec<(RecordId, String)> {
        self.outbox.lines()
    }

    /// Applies an event of a session, and stores the position up to which the log was read. `random` names a
    /// new device if another replica turns out to use the name of this one. Returns whether anything was new.
    /// An error changes nothing.
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
                    // A truncated line contains nothing. Any other line must not be dropped.
                    self.has_passed_over |= error != LineError::Torn;
                    continue;
                }
                Line::Header(_) | Line::Newer { .. } => continue,
            };
            self.clock.observe(record.stamp.tick);
            if record.id.device == self.device && self.is_of_another(&record) {
                self.begin_device(random);
            }
            is_new |= self.state.apply(&record);
            self.has_passed_over |= !self.state.includes(&record);
            if let Some(log) = &mut self.read_again {
                log.apply(&record);
            }
            self.outbox.remove_appended(&record);
        }
        is_new
    }

    /// Whether a record with this device's name was not made here: then a copy of this replica is in use.
    fn is_of_another(&self, record: &feedsync_log::Record) -> bool {
        record.id.sequence > self.sequence
            || self.outbox.named(&record.id).is_some_and(|ours| ours != record)
    }

    /// Begins a new device name for all further records, including the waiting ones.
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
            self.clock.observe(tick);
        }
        if let Some(log) = &mut self.read_again {
            log.join(state.clone());
        }
        // The snapshot may hold our own records that were appended without a response and compacted since.
        self.outbox.drop_known(&state);
        let is_new = self.state.join(state);
        // A snapshot that does not state what it covers cannot replace reading the log.
        if let Some(covered) = covers {
            session.continue_after_snapshot(covered);
        }
        is_new
    }

    /// Continues with another log, or with one that was removed and begins again: the whole state is recorded
    /// there.
    pub fn begin_again(&mut self) {
        self.position = None;
        self.read_again = Some(ReaderState::default());
        self.has_passed_over = false;
    }

    /// The snapshot with which a new replica can start instead of the log. `None` unless all of the log was
    /// read, and the state includes all of it.
    pub fn snapshot(&self, session: &Session) -> Option<Snapshot> {
        let position = session.position();
        let Position { offset, generation, overlap, partial, newer, .. } = position;
        let whole = session.is_in_step() && !partial && newer.is_none();
        let known = self.outbox.is_empty() && self.read_again.is_none() && !self.has_passed_over;
        if !whole || !known {
            return None;
        }
        let covers = position.place().unwrap_or_else(|| format!("{}-{offset}", self.device));
        let covered = SnapshotCoverage {
            covers,
            offset: *offset,
            overlap: overlap.clone(),
            generation: generation.clone(),
        };
        Some(Snapshot { covers: Some(covered), state: self.state.clone() })
    }

    /// The compacted log; `None` unless all of it was read and understood, and it can be written.
    pub fn compacted(&self, session: &Session, random: u64) -> Option<Compaction> {
        let snapshot = self.snapshot(session)?;
        let position = session.position();
        // A hub's tag is derived from the position, even if a proxy changed the tag.
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

    /// Records that this replica compacted the log: it continues after the first line of the new generation.
    pub fn record_compaction(
        &mut self,
        header: &str,
        tag: Option<String>,
        generation: Option<String>,
    ) {
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

/// The number in a generation's name, as our servers form it.
fn number(generation: &str) -> Option<u64> {
    generation.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
