//! From SSE to FeedSync (U1 to U8): a pure function of the item, so that two endpoints that upgrade
//! independently agree.

use std::fmt;

use crate::counter::{CounterError, Sequence, Updates};
use crate::history::History;
use crate::identifier::ItemId;
use crate::item::{Item, Update, Version};
use crate::sse::{self, Date, Stamp, VersionNumber};

/// An SSE item as a FeedSync item, with the losses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgraded<P> {
    /// The item.
    pub item: Item<P>,
    /// Losses, for people.
    pub losses: Vec<UpgradeLoss>,
}

/// Loss in an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeLoss {
    /// The flag of an item without a record of the losing version (U7).
    Flag,
    /// A record without content became a version with an empty payload (U6).
    Content {
        /// The version of the record.
        version: VersionNumber,
    },
    /// A record of a change in an authoring line (`by`) of which the item or another record has a
    /// later one: in FeedSync the later one covers the earlier.
    Covered {
        /// The version of the record.
        version: VersionNumber,
    },
    /// More `sx:update`s than the version has predecessors.
    Surplus {
        /// Number of these updates.
        updates: usize,
    },
}

impl fmt::Display for UpgradeLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => {
                f.write_str("the conflict flag, because the content of the conflict is missing")
            }
            Self::Content { version } => {
                write!(f, "the conflict of version {version} has no content")
            }
            Self::Covered { version } => {
                write!(
                    f,
                    "the conflict with version {version}, which a later change of the same \
                     endpoint replaced"
                )
            }
            Self::Surplus { updates } => {
                write!(f, "{updates} sx:update more than the version has predecessors")
            }
        }
    }
}

/// Reason why an item cannot be upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "version {version} is above {}, the highest number that FeedSync allows",
    crate::MAX_COUNTER
)]
pub struct UpgradeError {
    /// The version of the item or of one of its conflicts (U2).
    pub version: VersionNumber,
}

/// Upgrades an item (U1 to U8). `without_content` creates the payload of a conflict that has none
/// (U6).
///
/// The winner stays the same (U11). Truncated history stays unknown, so FeedSync shows a conflict
/// where SSE shows none, even against a true ancestor (U4).
pub fn upgrade<P>(
    item: sse::Item<P>,
    mut without_content: impl FnMut(&ItemId) -> P,
) -> Result<Upgraded<P>, UpgradeError> {
    let mut losses = Vec::new();
    let updates = counter(item.version)?;
    let surplus = item.history.updates.len().saturating_sub(updates.get() as usize - 1);
    if surplus > 0 {
        losses.push(UpgradeLoss::Surplus { updates: surplus });
    }
    if item.conflict && item.conflicts.is_empty() {
        losses.push(UpgradeLoss::Flag);
    }
    let stamps = std::iter::once(item.history.latest).chain(item.history.updates);
    let sequences = (1..=updates.get()).rev().filter_map(|number| Sequence::new(number).ok());
    let history = sequences.zip(stamps).map(|(sequence, stamp)| update(sequence, stamp)).collect();
    let winner = version(updates, item.deleted, history, item.payload);
    let mut conflicts: Vec<Version<P>> = Vec::new();
    for record in item.conflicts {
        let updates = counter(record.version)?;
        let dot = update(Sequence::from(updates), record.stamp);
        let same_line =
            |other: &Version<P>| other.history.covers(&dot) || other.dot().is_subsumed_by(&dot);
        if same_line(&winner) || conflicts.iter().any(same_line) {
            losses.push(UpgradeLoss::Covered { version: record.version });
            continue;
        }
        let payload = record.payload.unwrap_or_else(|| {
            losses.push(UpgradeLoss::Content { version: record.version });
            without_content(&item.id)
        });
        conflicts.push(version(updates, false, vec![dot], payload));
    }
    Ok(Upgraded { item: Item { id: item.id, winner, conflicts }, losses })
}

fn counter(version: VersionNumber) -> Result<Updates, UpgradeError> {
    u32::try_from(version.get())
        .map_err(|_| CounterError::Range)
        .and_then(Updates::new)
        .map_err(|_| UpgradeError { version })
}

fn update(sequence: Sequence, stamp: Stamp) -> Update {
    let when = stamp.when().map(Date::timestamp);
    // Both have the same rule: a when, a by, or both.
    Update::new(sequence, when, stamp.by().cloned()).expect("a stamp is signed")
}

fn version<P>(updates: Updates, deleted: bool, history: Vec<Update>, payload: P) -> Version<P> {
    // The latest stamp always exists, and version 1 is the lowest.
    let history = History::from_updates(history).expect("a history has its latest update");
    Version { updates, deleted, noconflicts: None, history, payload }
}
