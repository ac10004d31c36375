//! Local changes that the log lacks; for each feed or article, only the records that still have an effect
//! (LR11, LR16).

use std::collections::BTreeMap;

use feedsync_log::{Device, Record, RecordId, append_batch};

use crate::action::Action;
use crate::change::Change;
use crate::setting::Settings;
use crate::state::ReaderState;

/// Records of one device in the order of their sequences, which is the order of appending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outbox {
    records: BTreeMap<u64, Record>,
    /// Sequences of the records about one subject: a feed, an article of it, or a setting.
    about: BTreeMap<(String, String), Vec<u64>>,
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    pub(super) fn into_records(self) -> impl Iterator<Item = Record> {
        self.records.into_values()
    }

    /// The first records, up to the number that one request appends.
    pub(super) fn lines(&self) -> Vec<(RecordId, String)> {
        append_batch(self.records.values().map(|record| (record.id.clone(), record.line())))
            .collect()
    }

    /// The record with an id.
    pub(super) fn named(&self, id: &RecordId) -> Option<&Record> {
        self.records.get(&id.sequence).filter(|record| record.id == *id)
    }

    /// Whether a record with this id can be added after all others, by a device that has assigned this many
    /// ids.
    pub(super) fn follows(&self, id: &RecordId, device: &Device, named: u64) -> bool {
        let last = self.records.keys().next_back();
        let ascends = last.is_none_or(|last| *last < id.sequence);
        id.device == *device && id.sequence <= named && ascends
    }

    /// Adds a record, and removes those that it makes redundant: of marks that were set and removed only the
    /// last counts.
    pub(super) fn add(&mut self, record: Record) {
        self.drop_superfluous(&record);
        let sequence = record.id.sequence;
        self.about.entry(subject(&record)).or_default().push(sequence);
        self.records.insert(sequence, record);
    }

    /// Removes a record that was found in the log, and those that it makes redundant.
    pub(super) fn remove_appended(&mut self, record: &Record) {
        if self.records.is_empty() {
            return;
        }
        if self.named(&record.id).is_some() {
            self.remove(record.id.sequence);
        }
        self.drop_superfluous(record);
    }

    /// Removes the first records, which are now in the log.
    pub(super) fn take(&mut self, count: usize) -> Vec<Record> {
        let first: Vec<u64> = self.records.keys().copied().take(count).collect();
        first.into_iter().filter_map(|sequence| self.remove(sequence)).collect()
    }

    /// Removes the records that a state of the log includes.
    pub(super) fn drop_known(&mut self, log: &ReaderState) {
        let known = self.records.iter().filter(|(_, record)| is_known(record, log));
        let known: Vec<u64> = known.map(|(sequence, _)| *sequence).collect();
        known.into_iter().for_each(|sequence| drop(self.remove(sequence)));
    }

    /// Removes the records whose whole effect this later record also has.
    fn drop_superfluous(&mut self, record: &Record) {
        let (feed, article) = subject(record);
        let sequences: Vec<u64> = if covers_articles(record) {
            let all = self.about.range((feed.clone(), String::new())..);
            let of_feed = all.take_while(|((of, _), _)| *of == feed);
            of_feed.flat_map(|(_, sequences)| sequences.iter().copied()).collect()
        } else {
            self.about.get(&(feed, article)).cloned().unwrap_or_default()
        };
        if sequences.is_empty() {
            return;
        }
        let mut known = ReaderState::default();
        known.apply(record);
        for sequence in sequences {
            let is_superfluous =
                self.records.get(&sequence).is_some_and(|waiting| is_known(waiting, &known));
            if is_superfluous {
                self.remove(sequence);
            }
        }
    }

    fn remove(&mut self, sequence: u64) -> Option<Record> {
        let record = self.records.remove(&sequence)?;
        let subject = subject(&record);
        if let Some(sequences) = self.about.get_mut(&subject) {
            sequences.retain(|known| *known != sequence);
            if sequences.is_empty() {
                self.about.remove(&subject);
            }
        }
        Some(record)
    }
}

/// Whether a state includes the effect of a record, or of a later one; `false` for a record that is not
/// understood.
fn is_known(record: &Record, log: &ReaderState) -> bool {
    let change = Change::from(record);
    let setting = Settings::of(&change);
    setting.is_some_and(|setting| log.settings.includes(&setting))
        || change.delta().is_some_and(|(feed, delta)| {
            log.feed(feed.as_str())
                .is_some_and(|known| delta.changes_missing_in(known, &feed).is_empty())
        })
}

/// The feed and the article of a record; the article is empty for a record about a feed or a setting.
fn subject(record: &Record) -> (String, String) {
    match &record.object.feed {
        Some(feed) => (feed.clone(), record.object.id.clone()),
        None => (record.object.id.clone(), String::new()),
    }
}

/// Whether a record about a feed affects its articles.
fn covers_articles(record: &Record) -> bool {
    matches!(Action::read(&Change::from(record)), Some((_, Action::ReadUpTo { .. })))
}
