//! Record of created, changed and removed databases: a function of the lists of databases that were read.

use std::collections::BTreeMap;

use feedsync_couch::{DatabaseName, quoted};
use feedsync_store::{ChangeNumber, Database, Epoch};

/// Maximum number of removed databases in the record. A client that continues before the oldest one that is no longer in it
/// gets all databases.
const MAX_REMOVED: usize = 10_000;

/// The last event of each database, numbered in the order in which they were noticed.
#[derive(Debug)]
pub(super) struct Record {
    /// Distinguishes the records of different processes.
    name: String,
    last: u64,
    known: BTreeMap<DatabaseName, Known>,
    order: BTreeMap<u64, DatabaseName>,
    /// Number of databases with [`Kind::Deleted`].
    removed: usize,
    /// Number of the newest event that is no longer in the record.
    horizon: u64,
    /// Whether no list was read yet.
    is_new: bool,
}

/// State and last event of a database.
#[derive(Debug)]
struct Known {
    /// State of the database when it was last read.
    state: Option<DatabaseState>,
    number: u64,
    kind: Kind,
}

/// State of a database: each change of the database changes it.
pub(super) type DatabaseState = (Epoch, ChangeNumber, u64);

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Created,
    Updated,
    Deleted,
}

impl Record {
    pub(super) fn new(name: u64) -> Self {
        Self {
            name: format!("{name:016x}"),
            last: 0,
            known: BTreeMap::new(),
            order: BTreeMap::new(),
            removed: 0,
            horizon: 0,
            is_new: true,
        }
    }

    /// Compares all databases with those of the last call.
    pub(super) fn observe(&mut self, now: &BTreeMap<DatabaseName, DatabaseState>) {
        let is_gone = |(name, known): (&DatabaseName, &Known)| {
            (known.state.is_some() && !now.contains_key(name)).then(|| name.clone())
        };
        let gone: Vec<DatabaseName> = self.known.iter().filter_map(is_gone).collect();
        for name in gone {
            self.removed += 1;
            self.note(&name, None, Kind::Deleted);
        }
        for (name, state) in now {
            let before = self.known.get(name).and_then(|known| known.state);
            let kind = match before {
                Some(before) if before == *state => continue,
                Some((epoch, ..)) if epoch == state.0 => Kind::Updated,
                // The first list has databases that were created long ago.
                None if self.is_new && state.1 > ChangeNumber::ZERO => Kind::Updated,
                _ => Kind::Created,
            };
            self.removed -= usize::from(self.known.get(name).is_some_and(|it| it.state.is_none()));
            self.note(name, Some(*state), kind);
        }
        self.is_new = false;
        while self.removed > MAX_REMOVED {
            let oldest = self.order.iter().find(|(_, name)| self.known[*name].state.is_none());
            let Some((number, name)) = oldest.map(|(number, name)| (*number, name.clone())) else {
                return;
            };
            self.order.remove(&number);
            self.known.remove(&name);
            self.removed -= 1;
            self.horizon = self.horizon.max(number);
        }
    }

    fn note(&mut self, name: &DatabaseName, state: Option<DatabaseState>, kind: Kind) {
        self.last += 1;
        let known = Known { state, number: self.last, kind };
        if let Some(before) = self.known.insert(name.clone(), known) {
            self.order.remove(&before.number);
        }
        self.order.insert(self.last, name.clone());
    }

    /// The number after which a client continues. One that this process does not know stands for the beginning.
    pub(super) fn after(&self, since: Option<&str>) -> u64 {
        if since == Some("now") {
            return self.last;
        }
        let parts = since.and_then(|since| since.split_once('-'));
        let number = parts.filter(|(_, name)| *name == self.name);
        let number = number.and_then(|(number, _)| number.parse().ok());
        number.filter(|number| (self.horizon..=self.last).contains(number)).unwrap_or(0)
    }

    /// Rows of at most so many events after a number, as JSON, with the number of each.
    pub(super) fn rows(&self, after: u64, most: usize) -> Vec<(u64, String)> {
        let row = |(number, name): (&u64, &DatabaseName)| {
            let kind = match self.known[name].kind {
                Kind::Created => "created",
                Kind::Updated => "updated",
                Kind::Deleted => "deleted",
            };
            let (seq, name) = (quoted(&self.sequence(*number)), quoted(name.as_str()));
            (*number, format!("{{\"db_name\":{name},\"type\":\"{kind}\",\"seq\":{seq}}}"))
        };
        self.order.range(after.saturating_add(1)..).take(most).map(row).collect()
    }

    /// The position after an event.
    pub(super) fn sequence(&self, number: u64) -> String {
        format!("{number}-{}", self.name)
    }
}

/// The state of a database.
pub(super) fn state(database: &Database) -> DatabaseState {
    (database.epoch, database.last, database.purges)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Databases with the number of their last change.
    fn list(of: &[(&str, u64)]) -> BTreeMap<DatabaseName, DatabaseState> {
        let epoch = "017636680001234561a2b3c4d";
        let state = |last| (epoch.parse().unwrap(), ChangeNumber::new(last), 0);
        of.iter().map(|(name, last)| (name.parse().unwrap(), state(*last))).collect()
    }

    fn kinds(record: &Record, after: u64) -> Vec<String> {
        let rows = record.rows(after, 100).into_iter();
        rows.map(|(_, row)| row.split("\",\"seq").next().unwrap().replace('"', "")).collect()
    }

    #[test]
    fn each_database_has_its_last_event() {
        let mut record = Record::new(1);
        record.observe(&list(&[("a", 0), ("b", 3)]));
        let first = ["{db_name:a,type:created", "{db_name:b,type:updated"];
        assert_eq!(kinds(&record, 0), first);
        record.observe(&list(&[("a", 0), ("b", 3)]));
        assert_eq!(record.last, 2);
        record.observe(&list(&[("a", 1), ("c", 0)]));
        let later =
            ["{db_name:b,type:deleted", "{db_name:a,type:updated", "{db_name:c,type:created"];
        assert_eq!(kinds(&record, 0), later);
        record.observe(&list(&[("a", 1), ("b", 0), ("c", 0)]));
        assert_eq!(kinds(&record, 5), ["{db_name:b,type:created"]);
        assert_eq!((record.removed, record.order.len()), (0, 3));
    }

    #[test]
    fn a_position_of_another_process_stands_for_the_beginning() {
        let mut record = Record::new(1);
        record.observe(&list(&[("a", 0), ("b", 0)]));
        let known = record.sequence(1);
        let other = Record::new(2).sequence(1);
        let later = record.sequence(3);
        for (since, expected) in [
            (None, 0),
            (Some("0"), 0),
            (Some("x"), 0),
            (Some("now"), 2),
            (Some(&*known), 1),
            (Some(&*other), 0),
            (Some(&*later), 0),
        ] {
            assert_eq!(record.after(since), expected, "{since:?}");
        }
    }

    #[test]
    fn the_number_of_removed_databases_is_bounded() {
        let mut record = Record::new(1);
        let names: Vec<String> = (0..=MAX_REMOVED).map(|number| format!("a{number}")).collect();
        let all: Vec<(&str, u64)> = names.iter().map(|name| (&**name, 0)).collect();
        record.observe(&list(&all));
        let before = record.sequence(record.last);
        record.observe(&list(&[]));
        assert_eq!(record.known.len(), MAX_REMOVED);
        // Not all that was removed since then is known.
        assert_eq!(record.after(Some(&before)), 0);
        let after = record.sequence(record.last);
        assert_eq!(record.after(Some(&after)), record.last);
    }
}
