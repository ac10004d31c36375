//! Preserved changes that this version does not understand (LR2). They must not be lost, since a later
//! version may understand them.

use std::collections::BTreeSet;

use feedsync_log::{Object, Stamp};
use serde::Deserialize as _;
use serde_json::Value;

use crate::change::Change;
use crate::members::compact;

/// Maximum number of preserved changes; the latest ones stay.
pub const MAX_PRESERVED_CHANGES: usize = 4_096;

/// Maximum size of a preserved change, in bytes; a longer one is dropped.
pub const MAX_PRESERVED_CHANGE_BYTES: usize = 16 << 10;

/// Changes by stamp and text. A join is the union, of which the latest stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PreservedChanges(BTreeSet<(Stamp, Box<str>)>);

impl PreservedChanges {
    /// Preserves a change; returns whether it is new.
    pub(crate) fn preserve(&mut self, change: &Change) -> bool {
        compact(&line(change)).is_some_and(|line| self.insert(change.stamp.clone(), line.into()))
    }

    /// Whether a change is certainly preserved: it is stored, and the limit is not reached.
    pub(crate) fn includes(&self, change: &Change) -> bool {
        let line = compact(&line(change));
        self.0.len() < MAX_PRESERVED_CHANGES
            && line.is_some_and(|line| self.0.contains(&(change.stamp.clone(), line.into())))
    }

    /// Preserves the change of a line; returns `false` if the line is not a change.
    pub(crate) fn preserve_line(&mut self, line: &str) -> bool {
        let (Some(change), Some(line)) = (read(line), compact(line)) else { return false };
        self.insert(change.stamp, line.into());
        true
    }

    fn insert(&mut self, stamp: Stamp, line: Box<str>) -> bool {
        if line.len() > MAX_PRESERVED_CHANGE_BYTES {
            return false;
        }
        let kept = (stamp, line);
        if self.0.len() >= MAX_PRESERVED_CHANGES
            && self.0.first().is_some_and(|first| kept < *first)
        {
            return false;
        }
        let is_new = self.0.insert(kept);
        while self.0.len() > MAX_PRESERVED_CHANGES {
            self.0.pop_first();
        }
        is_new
    }

    /// Joins others; returns whether one was new.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        let mut is_changed = false;
        for (stamp, line) in others.0 {
            is_changed |= self.insert(stamp, line);
        }
        is_changed
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines, in the order of their stamps.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, line)| &**line)
    }

    /// The changes that the others lack.
    pub(crate) fn changes_missing_in<'a>(
        &'a self,
        others: &'a Self,
    ) -> impl Iterator<Item = Change> + 'a {
        self.0.difference(&others.0).filter_map(|(_, line)| read(line))
    }

    /// The latest stamp.
    pub(crate) fn latest(&self) -> Option<&Stamp> {
        self.0.last().map(|(stamp, _)| stamp)
    }
}

/// A change as one line, in the form of a record without an id.
pub(crate) fn line(change: &Change) -> String {
    let mut object = change.details.clone();
    object.insert("v".to_owned(), feedsync_log::VERSION.into());
    object.insert("ts".to_owned(), change.stamp.to_string().into());
    object.insert("act".to_owned(), change.act.as_str().into());
    object.insert("obj".to_owned(), serde_json::to_value(&change.object).unwrap_or_default());
    Value::Object(object).to_string()
}

/// Parses such a line.
pub(crate) fn read(line: &str) -> Option<Change> {
    let Ok(Value::Object(mut details)) = serde_json::from_str(line) else { return None };
    if details.contains_key("log") {
        // No record has this member, since the line would be a header.
        return None;
    }
    let mut text = |name: &str| match details.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (stamp, act) = (text("ts")?.parse().ok()?, text("act")?);
    let object = Object::deserialize(details.remove("obj")?).ok()?;
    let version = details.remove("v")?.as_u64()?;
    (version == feedsync_log::VERSION).then_some(Change { object, act, details, stamp })
}
