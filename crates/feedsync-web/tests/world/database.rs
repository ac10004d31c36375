//! A simulated IndexedDB: transactions that are synchronised or not, and contents by digest.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_bitsy::interceptor::Digest;
use feedsync_web::{CANDIDATES, Found, Range, STATE, Swept, Writes, candidate, uses};

/// Everything that is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) rows: BTreeMap<String, String>,
    pub(crate) contents: BTreeMap<Digest, Vec<u8>>,
}

/// A committed transaction.
#[derive(Debug, Clone)]
struct Transaction {
    writes: Writes,
    stored: Vec<(Digest, Vec<u8>)>,
    deleted: Vec<Digest>,
}

/// The database of one worker.
#[derive(Debug, Default)]
pub(crate) struct Database {
    synced: Snapshot,
    since: Vec<Transaction>,
    pub(crate) now: Snapshot,
}

impl Snapshot {
    fn take(&mut self, transaction: &Transaction) {
        for (key, text) in &transaction.writes.rows {
            match text {
                Some(text) => drop(self.rows.insert(key.clone(), text.clone())),
                None => drop(self.rows.remove(key)),
            }
        }
        for (digest, bytes) in &transaction.stored {
            self.contents.insert(*digest, bytes.clone());
        }
        for digest in &transaction.deleted {
            self.contents.remove(digest);
        }
    }

    fn prefixed(&self, prefix: &str) -> impl Iterator<Item = (&String, &String)> {
        let from = self.rows.range(prefix.to_owned()..);
        from.take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The rows that are loaded at the start.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        self.prefixed(STATE).map(|(key, text)| (key.clone(), text.clone())).collect()
    }

    /// Every row that refers to a content has a row that says so, and the bytes of the content are there.
    pub(crate) fn check(&self) {
        let mut expected = BTreeSet::new();
        for (key, text) in self.prefixed("s/").chain(self.prefixed("a/")) {
            for word in text.split('"') {
                let digest = word.split(' ').next().unwrap_or_default();
                let is_content = digest.len() == 64 && word.len() > 65;
                if is_content && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    expected.insert(format!("u/{digest} {key}"));
                }
            }
        }
        let stored: BTreeSet<String> = self.prefixed("u/").map(|(key, _)| key.clone()).collect();
        assert_eq!(stored, expected, "the uses of contents");
        for key in &stored {
            let digest = &key[2..66];
            let has_bytes = self.contents.keys().any(|it| it.to_string() == *digest);
            assert!(has_bytes, "the bytes of {key}");
        }
        for (key, text) in self.prefixed("a/") {
            let row: Vec<&str> = text.split('"').collect();
            assert!(row.len() > 1, "{key} has no data");
        }
    }
}

impl Database {
    /// Commits a transaction. Contents that are stored become candidates of the next sweep.
    pub(crate) fn commit(&mut self, mut writes: Writes, stored: Vec<(Digest, Vec<u8>)>) {
        for (digest, _) in &stored {
            writes.rows.insert(candidate(digest), Some(String::new()));
        }
        self.run(Transaction { writes, stored, deleted: Vec::new() });
    }

    fn run(&mut self, transaction: Transaction) {
        self.now.take(&transaction);
        match transaction.writes.is_durable {
            true => {
                self.synced = self.now.clone();
                self.since.clear();
            }
            false => self.since.push(transaction),
        }
    }

    /// Cuts the power. This many unsynchronised transactions survive.
    pub(crate) fn cut(&mut self, kept: usize) {
        self.now = self.synced.clone();
        for transaction in self.since.drain(..).take(kept) {
            self.now.take(&transaction);
        }
        self.synced = self.now.clone();
    }

    pub(crate) fn load(&self, range: &Range) -> Found {
        let owned = |(key, text): (&String, &String)| (key.clone(), text.clone());
        match range {
            Range::Row(key) => {
                Found::Rows(self.now.rows.get_key_value(key).map(owned).into_iter().collect())
            }
            Range::Prefix(prefix) => Found::Rows(self.now.prefixed(prefix).map(owned).collect()),
            Range::Content(digest) => Found::Content(self.now.contents.get(digest).cloned()),
        }
    }

    /// Deletes contents that no row refers to and that are not needed in memory.
    pub(crate) fn sweep(&mut self, needed: &BTreeSet<Digest>) {
        let is_used = |key: &str| {
            let digest = self.now.contents.keys().find(|digest| candidate(digest) == key);
            digest.is_some_and(|digest| self.now.prefixed(&uses(digest)).next().is_some())
        };
        let candidates: Vec<(String, bool)> =
            self.now.prefixed(CANDIDATES).map(|(key, _)| (key.clone(), is_used(key))).collect();
        let candidates = candidates.iter().map(|(key, is_used)| (key.as_str(), *is_used));
        let Swept { writes, unused } = Swept::of(candidates, needed);
        self.run(Transaction { writes, stored: Vec::new(), deleted: unused });
    }
}
