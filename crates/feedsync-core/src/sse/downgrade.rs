//! From FeedSync to SSE (D1 to D6), with the losses.

use std::collections::BTreeMap;
use std::fmt;

use crate::history::History;
use crate::item::{Item, Update, Version};
use crate::sse::{self, Conflict, Date, Stamp, VersionNumber, add_conflict};

/// A FeedSync item as an SSE item, with the losses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downgraded<P> {
    /// The item.
    pub item: sse::Item<P>,
    /// Losses, each kind once; empty exactly if [`sse::upgrade`] yields the same item again (U12).
    pub losses: Vec<DowngradeLoss>,
}

/// Loss in a downgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DowngradeLoss {
    /// The sequence of the topmost update is not the number of updates (D2).
    Sequence,
    /// A sequence that no update in the history has: older updates are cut off, and SSE peers will not
    /// see some conflicts (D3).
    Gap {
        /// Number of updates that were cut off.
        updates: usize,
    },
    /// Updates outside the line of versions, such as those merged from another endpoint (D3).
    Sideline {
        /// Number of these updates.
        updates: usize,
    },
    /// The order of the updates, which is not that of their sequences (D3).
    Order,
    /// `noconflicts`: SSE peers will flag conflicts (D4).
    Noconflicts,
    /// A conflict, since there is a later one of the same endpoint (D5).
    Conflict,
    /// History of a conflict below its topmost update (D5).
    ConflictHistory,
    /// Deleted state of a conflict (D5).
    ConflictDeleted,
    /// Foreign markup on `sx:history`.
    Foreign,
}

impl fmt::Display for DowngradeLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence => f.write_str("the sequence of the latest update"),
            Self::Gap { updates } => {
                write!(f, "{updates} older updates, behind a gap: peers may miss a conflict")
            }
            Self::Sideline { updates } => {
                write!(f, "{updates} updates merged from other endpoints")
            }
            Self::Order => f.write_str("the order of the updates"),
            Self::Noconflicts => f.write_str("noconflicts: peers will flag conflicts"),
            Self::Conflict => {
                f.write_str("a conflict that its endpoint replaced by a later version")
            }
            Self::ConflictHistory => f.write_str("the history of a conflict"),
            Self::ConflictDeleted => f.write_str("that a conflict is a deletion"),
            Self::Foreign => f.write_str("foreign markup on the history"),
        }
    }
}

/// Downgrades an item (D1 to D6).
pub fn downgrade<P>(item: Item<P>) -> Downgraded<P> {
    let mut losses = Vec::new();
    let Item { id, winner, conflicts } = item;
    for version in std::iter::once(&winner).chain(&conflicts) {
        if version.noconflicts.is_some() {
            losses.push(DowngradeLoss::Noconflicts);
        }
        if version.history.updates().iter().any(|update| update.foreign().is_some()) {
            losses.push(DowngradeLoss::Foreign);
        }
    }
    let history = sse::History {
        latest: stamp(winner.dot()),
        updates: line(&winner.history, winner.updates.get(), &mut losses),
    };
    let mut records = Vec::with_capacity(conflicts.len());
    let count = conflicts.len();
    for conflict in conflicts {
        add_conflict(&mut records, record(conflict, &mut losses));
    }
    for _ in records.len()..count {
        losses.push(DowngradeLoss::Conflict);
    }
    losses.sort_unstable();
    losses.dedup();
    let item = sse::Item {
        id,
        version: number(winner.updates.get()),
        deleted: winner.deleted,
        conflict: !records.is_empty(),
        history,
        conflicts: records,
        payload: winner.payload,
    };
    Downgraded { item, losses }
}

/// The `sx:update`s of a history: for each number below the version's, descending, the update with that
/// sequence, of several the greatest in (when, by), until one is missing (D3).
fn line(history: &History, updates: u32, losses: &mut Vec<DowngradeLoss>) -> Vec<Stamp> {
    if history.topmost().sequence().get() != updates {
        losses.push(DowngradeLoss::Sequence);
    }
    let earlier = &history.updates()[1..];
    let mut latest: BTreeMap<u32, Stamp> = BTreeMap::new();
    for update in earlier {
        let stamp = stamp(update);
        let slot = latest.entry(update.sequence().get()).or_insert_with(|| stamp.clone());
        if *slot < stamp {
            *slot = stamp;
        }
    }
    let line: Vec<Stamp> = (1..updates).rev().map_while(|number| latest.remove(&number)).collect();
    let gap = updates - line.len() as u32 - 1;
    let cut_off = earlier.iter().filter(|update| update.sequence().get() < gap).count();
    if cut_off > 0 {
        losses.push(DowngradeLoss::Gap { updates: cut_off });
    }
    let sideline = earlier.len() - line.len() - cut_off;
    if sideline > 0 {
        losses.push(DowngradeLoss::Sideline { updates: sideline });
    } else if !earlier.is_sorted_by(|newer, older| newer.sequence() > older.sequence()) {
        losses.push(DowngradeLoss::Order);
    }
    line
}

fn record<P>(conflict: Version<P>, losses: &mut Vec<DowngradeLoss>) -> Conflict<P> {
    if conflict.deleted {
        losses.push(DowngradeLoss::ConflictDeleted);
    }
    if conflict.history.updates().len() > 1 {
        losses.push(DowngradeLoss::ConflictHistory);
    }
    if conflict.dot().sequence().get() != conflict.updates.get() {
        losses.push(DowngradeLoss::Sequence);
    }
    Conflict {
        version: number(conflict.updates.get()),
        stamp: stamp(conflict.dot()),
        payload: Some(conflict.payload),
    }
}

fn stamp(update: &Update) -> Stamp {
    // Both have the same rule: a when, a by, or both.
    Stamp::new(update.when().map(Date::from), update.by().cloned()).expect("an update is signed")
}

fn number(updates: u32) -> VersionNumber {
    VersionNumber::new(updates.into()).unwrap_or(VersionNumber::FIRST)
}
