//! Problems of the store, which pages see until they clear them.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::State;
use feedsync_bitsy::time::Time;
use serde_json::{Value, json};

use super::pages::Identity;
use crate::codec::{Damaged, Fields, bytes_of, partition_text};
use crate::store;

/// Kind of the rows of problems.
const PROBLEM: &str = "problem";

/// Maximum number of stored problems. The oldest ones are deleted first.
const MAX_PROBLEMS: usize = 200;

/// Maximum size of the stored text of a damaged row, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// A damaged row that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) time: Time,
    pub(super) key: String,
    /// Address that the row is about, as far as it can be read.
    pub(super) location: Option<String>,
    /// Partitions whose data are affected. Pages of other persons do not see the problem.
    pub(super) partitions: Vec<Partition>,
    pub(super) detail: String,
    /// Text of the row.
    pub(super) text: String,
}

/// All problems that no page has cleared.
#[derive(Debug, Default)]
pub(super) struct Problems {
    all: SortedMap<u64, Problem>,
    /// Changes that pages have not heard of: number of the problem, and whether it is gone.
    news: Vec<(u64, Option<Problem>)>,
}

impl Problems {
    pub(super) fn restored(rows: &SortedMap<String, String>) -> Self {
        let mut problems = Self::default();
        problems.restore(rows);
        problems
    }

    pub(super) fn restore(&mut self, rows: &SortedMap<String, String>) {
        *self = Self::default();
        for (key, text) in rows.iter().filter(|(key, _)| store::kind_of(key) == Some(PROBLEM)) {
            self.all.extend(store::number_of(key).zip(problem(key, text).ok()));
        }
    }

    /// Adds a problem, and returns the rows to write.
    pub(super) fn add(&mut self, mut problem: Problem) -> SortedMap<String, Option<String>> {
        let end = problem.text.floor_char_boundary(MAX_TEXT);
        problem.text.truncate(end);
        let number = self.all.last_key_value().map_or(1, |(number, _)| number + 1);
        let key = store::numbered(PROBLEM, number);
        let text = store::text_of(&key, &row(&problem));
        let mut rows = SortedMap::from([(key, Some(text))]);
        self.news.push((number, Some(problem.clone())));
        self.all.insert(number, problem);
        while self.all.len() > MAX_PROBLEMS {
            let oldest = self.all.keys().next().copied();
            rows.extend(oldest.and_then(|number| self.clear(number)));
        }
        rows
    }

    /// Removes a problem, and returns the row to write; none if there is no such problem.
    pub(super) fn clear(&mut self, number: u64) -> Option<(String, Option<String>)> {
        let gone = self.all.remove(&number)?;
        self.news.push((number, None));
        drop(gone);
        Some((store::numbered(PROBLEM, number), None))
    }

    /// The problems that pages of a person see.
    pub(super) fn visible<'p>(
        &'p self,
        identity: &'p Identity,
        state: &'p State,
    ) -> impl Iterator<Item = (u64, &'p Problem)> {
        let all = self.all.iter().map(|(number, problem)| (*number, problem));
        all.filter(|(_, problem)| problem.is_visible(identity, state))
    }

    /// Messages for each page about the changes since the last call.
    pub(super) fn news(&mut self) -> Vec<(u64, Option<Problem>)> {
        std::mem::take(&mut self.news)
    }
}

impl Problem {
    /// Whether pages of a person see the problem. Damage that cannot be assigned to anybody is shown to everybody,
    /// because it must be shown to somebody.
    pub(super) fn is_visible(&self, identity: &Identity, state: &State) -> bool {
        let mut theirs = self.partitions.iter();
        self.partitions.is_empty() || theirs.any(|it| identity.sees_partition(state, *it))
    }

    /// View for pages, without the text of the row.
    pub(super) fn view(&self, number: u64) -> Value {
        json!({
            "id": number.to_string(),
            "kind": "damaged",
            "time": self.time.millis(),
            "location": self.location,
            "detail": self.detail,
        })
    }
}

fn row(problem: &Problem) -> Value {
    let Problem { time, key, location, partitions, detail, text } = problem;
    let partitions: Value = partitions.iter().map(|it| partition_text(*it)).collect();
    json!({
        "time": time.millis(), "key": key, "location": location, "partitions": partitions, "detail": detail,
        "text": text,
    })
}

fn problem(key: &str, text: &str) -> Result<Problem, Damaged> {
    let value = store::read(key, text)?;
    let of = Fields(&value);
    let partition = |value: &Value| value.as_str().and_then(bytes_of).map(Partition::of_bytes);
    Ok(Problem {
        time: of.time("time")?,
        key: of.text("key")?.to_owned(),
        location: of.optional_text("location")?.map(str::to_owned),
        partitions: of.list("partitions")?.iter().filter_map(partition).collect(),
        detail: of.text("detail")?.to_owned(),
        text: of.text("text")?.to_owned(),
    })
}
