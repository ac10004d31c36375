//! The worker as a function from commands to results, both JSON, without access to anything else.
//!
//! The script of the worker sends a command. The result is one of these:
//!
//! - `missing`: data to load. The script adds them, and sends the same command again.
//! - `writes`: rows to commit in one transaction, or `null`. The script commits them and sends `committed`, or restores
//!   the worker if that fails. Only then does it act on `result`. At most one command that changes something is under
//!   way at a time.
//! - `result` alone: the command changes nothing.
//! - `damaged`: keys of rows that cannot be read. The script sends `setAside`, and then the same command again.
//! - `lost`: a content whose bytes are gone. The script sends `damaged`, and then the same command again.

mod answers;
mod control;
mod damage;
mod edits;
mod pages;
mod problems;
mod reads;
mod tasks;
mod unanswered;
mod values;

use feedsync_bitsy::collections::{SortedMap, SortedSet};
use feedsync_bitsy::interceptor::{Digest, Settings};
use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::time::Time;
use serde_json::{Value, json};

use crate::codec::{Damaged, Fields, bytes_of};
use crate::engine::{Circumstances, Engine};
use crate::store::{Found, Needed, Range, ReadError, Writes};
use edits::Forwarding;
use pages::Pages;
use problems::Problems;
use unanswered::Unanswered;

/// Settings of the decisions. As in a gateway, `no-store` of other origins is honoured.
const SETTINGS: Settings = Settings { profile: Profile::Resilient, honours_no_store: true };

/// A worker.
#[derive(Debug)]
pub struct Worker {
    engine: Engine,
    pages: Pages,
    problems: Problems,
    unanswered: Unanswered,
    /// Rows that are written with the next step.
    rows: SortedMap<String, Option<String>>,
    /// Result of the decision whose step is being written.
    decided: Option<Value>,
    /// Edits that are sent while their applications wait.
    forwarding: SortedMap<u64, Forwarding>,
    next_forwarding: u64,
    /// Bytes of the last response that is combined from several contents.
    composed: Option<Vec<u8>>,
}

/// Reason why a command has no result yet.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    /// Data are missing or lost.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The command cannot be read, and has changed nothing.
    #[error("the command cannot be read: {0}")]
    Invalid(#[from] Damaged),
}

impl Worker {
    /// Restores a worker from the rows whose keys begin with [`STATE`](crate::STATE).
    pub fn restored(rows: &SortedMap<String, String>) -> Self {
        Self {
            engine: Engine::restored(SETTINGS, rows),
            pages: Pages::restored(rows),
            problems: Problems::restored(rows),
            unanswered: Unanswered::restored(rows),
            rows: SortedMap::new(),
            decided: None,
            forwarding: SortedMap::new(),
            next_forwarding: 1,
            composed: None,
        }
    }

    /// Restores the worker again after its writes could not be committed.
    pub fn restore(&mut self, rows: &SortedMap<String, String>) {
        self.decided = None;
        self.rows.clear();
        self.engine.restore(rows);
        self.pages.restore(rows);
        self.problems.restore(rows);
        self.unanswered.restore(rows);
    }

    /// Carries out a command.
    pub fn run(&mut self, command: &Value) -> Value {
        let damaged: Vec<&str> = self.engine.damaged().collect();
        // A step that is committed has happened.
        let may_wait = command["do"] != "committed" && !damage::names(command, &damaged);
        if !damaged.is_empty() && may_wait {
            return json!({ "damaged": damaged });
        }
        match self.result(command) {
            Ok(value) => value,
            Err(CommandError::Read(ReadError::Missing(needed))) => {
                json!({ "missing": range_value(&needed.range()), "needed": needed_value(&needed) })
            }
            Err(CommandError::Read(ReadError::Lost(content))) => {
                json!({ "lost": content.digest.to_string() })
            }
            Err(CommandError::Invalid(error)) => json!({ "invalid": error.to_string() }),
        }
    }

    /// Adds data that a command lacked: `needed` as it was returned, and what was found.
    pub fn add(&mut self, needed: &Value, found: Found) -> Result<(), Damaged> {
        self.engine.add(read_needed(needed)?, found);
        Ok(())
    }

    /// Keeps received bytes in memory, so that commands need not load them.
    pub fn keep_content(&mut self, digest: &str, bytes: Vec<u8>) {
        if let Some(digest) = bytes_of(digest) {
            self.engine.keep_content(Digest(digest), bytes);
        }
    }

    /// Takes the bytes of the response of the last command, if it has `composed`.
    pub fn take_composed(&mut self) -> Vec<u8> {
        self.composed.take().unwrap_or_default()
    }

    fn result(&mut self, command: &Value) -> Result<Value, CommandError> {
        let of = Fields(command);
        let with = Circumstances {
            now: Time::from_millis(of.number("now")?),
            random: values::random(of)?,
        };
        let name = of.text("do")?;
        if let Some(result) = self.read(name, of, with)? {
            return Ok(json!({ "result": result }));
        }
        if self.decided.is_none() {
            self.decided = Some(self.change(name, of, with)?);
        }
        let mut writes = self.engine.writes()?;
        self.rows.append(&mut self.pages.take_rows());
        if !self.rows.is_empty() {
            let step = writes.take().unwrap_or_default();
            let mut rows = std::mem::take(&mut self.rows);
            // The rows of the step are newer.
            rows.extend(step.rows);
            writes = Some(Writes { rows, ..step });
        }
        let result = self.decided.take();
        Ok(json!({ "result": result, "writes": writes.as_ref().map(writes_value) }))
    }

    /// Carries out a command that changes nothing; none if it may change something.
    fn read(
        &mut self,
        name: &str,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Option<Value>, CommandError> {
        Ok(Some(match name {
            "request" => self.request(of, with)?,
            "committed" => self.committed(),
            "sweep" => reads::sweep(of, &self.needed())?,
            "messages" => self.messages(with)?,
            "connect" => self.connect(of)?,
            "disconnect" => self.disconnect(of)?,
            "reached" => self.reached(of, with)?,
            "next" => self.next_in_queue(of)?,
            _ => return Ok(None),
        }))
    }

    /// Contents that are needed although no row may refer to them.
    fn needed(&self) -> SortedSet<Digest> {
        let mut needed = self.engine.needed();
        needed.extend(self.forwarding.values().filter_map(Forwarding::content));
        needed
    }

    /// Carries out a command whose changes are to be committed.
    fn change(
        &mut self,
        name: &str,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        match name {
            "edit" => self.edit(of, with),
            "forwarded" => self.forwarded(of, with),
            "passed" => self.passed(of, with),
            "begin" => self.begin(of, with),
            "finished" => self.finished(of, with),
            "damaged" => self.damaged(of, with),
            "setAside" => self.set_aside(of, with),
            "control" => self.control(of, with),
            other => Err(Damaged::new("do", format_args!("there is no command {other}")).into()),
        }
    }
}

fn writes_value(writes: &Writes) -> Value {
    let rows: Value = writes.rows.iter().map(|(key, text)| json!([key, text])).collect();
    json!({ "rows": rows, "isDurable": writes.is_durable })
}

fn range_value(range: &Range) -> Value {
    match range {
        Range::Row(key) => json!({ "row": key }),
        Range::Prefix(prefix) => json!({ "prefix": prefix }),
        Range::Content(digest) => json!({ "content": digest.to_string() }),
    }
}

fn needed_value(needed: &Needed) -> Value {
    use crate::codec::{content_value, partition_text};
    match needed {
        Needed::Address(location) => json!({ "address": location.as_str() }),
        Needed::Feed(partition, feed) => {
            json!({ "partition": partition_text(*partition), "feed": feed.as_str() })
        }
        Needed::Partition(partition) => json!({ "partition": partition_text(*partition) }),
        Needed::Content(content) => json!({ "content": content_value(content) }),
    }
}

fn read_needed(value: &Value) -> Result<Needed, Damaged> {
    let of = Fields(value);
    Ok(if of.optional("address").is_some() {
        Needed::Address(of.location("address")?)
    } else if of.optional("content").is_some() {
        Needed::Content(of.content("content")?)
    } else if of.optional("feed").is_some() {
        Needed::Feed(of.partition("partition")?, of.location("feed")?)
    } else {
        Needed::Partition(of.partition("partition")?)
    })
}
