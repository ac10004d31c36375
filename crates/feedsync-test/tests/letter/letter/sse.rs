//! Items of SSE 0.91, and the operations on them that its sections 4 and 5 require.

use std::cmp::Ordering;

use super::xml::Element;

/// The time and the endpoint of a change; at least one of them is present.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// `when`, in the form of RFC 822 with four digits of the year.
    pub(crate) when: Option<String>,
    /// `by`.
    pub(crate) by: Option<String>,
}

impl Stamp {
    /// Compares keys two and three of 4.4. An absent value is less than any other.
    fn compare(&self, other: &Self) -> Ordering {
        let seconds = |stamp: &Self| stamp.when.as_deref().map(|when| moment(when).expect(when));
        seconds(self).cmp(&seconds(other)).then_with(|| self.by.cmp(&other.by))
    }
}

/// Returns the six numbers of a date, which sort as the instants do.
pub(super) fn moment(text: &str) -> Option<[u32; 6]> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut parts = date.strip_suffix(" GMT")?.split([' ', ':']);
    let day = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u32;
    let [year, hour, minute, second] = [(); 4].map(|()| parts.next()?.parse().ok());
    Some([year?, month, day, hour?, minute?, second?])
}

/// `sx:conflict` (5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// `version`.
    pub(crate) version: u64,
    /// Its `when` and `by`.
    pub(crate) stamp: Stamp,
    /// Data of the loser.
    pub(crate) content: Option<Element>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// `id`.
    pub(crate) id: String,
    /// `version`.
    pub(crate) version: u64,
    /// `deleted`.
    pub(crate) deleted: bool,
    /// `conflict`.
    pub(crate) conflict: bool,
    /// `sx:history`.
    pub(crate) history: Stamp,
    /// `sx:update`, the newest first.
    pub(crate) updates: Vec<Stamp>,
    /// `sx:conflicts`.
    pub(crate) conflicts: Vec<Conflict>,
    /// The element without `sx:sync`.
    pub(crate) content: Element,
}

impl Item {
    /// Creates an item (4.1).
    pub(crate) fn create(id: String, content: Element, stamp: Stamp) -> Self {
        Self {
            id,
            version: 1,
            deleted: false,
            conflict: false,
            history: stamp,
            updates: Vec::new(),
            conflicts: Vec::new(),
            content,
        }
    }

    /// Updates or deletes the item (4.2). `keep` is the number of earlier updates that stay.
    pub(crate) fn update(&mut self, content: Element, deleted: bool, stamp: Stamp, keep: usize) {
        self.version += 1;
        let before = std::mem::replace(&mut self.history, stamp);
        self.updates.insert(0, before);
        self.updates.truncate(keep);
        self.deleted = deleted;
        self.conflict = false;
        self.conflicts.clear();
        self.content = content;
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.version.cmp(&other.version).then_with(|| self.history.compare(&other.history))
    }

    /// Detects a conflict with a loser (4.4.1); this item is the winner.
    fn conflicts_with(&self, loser: &Self) -> bool {
        let n = self.version - loser.version;
        let nth = match n {
            0 => Some(&self.history),
            n => usize::try_from(n - 1).ok().and_then(|index| self.updates.get(index)),
        };
        nth.is_some_and(|nth| nth.compare(&loser.history) != Ordering::Equal)
    }

    /// Stores the data of a loser (5.2): one record for each `by`, of the latest version.
    fn record(&mut self, loser: &Self) {
        let new = Conflict {
            version: loser.version,
            stamp: loser.history.clone(),
            content: Some(loser.content.clone()),
        };
        let known = match &new.stamp.by {
            Some(_) => self.conflicts.iter_mut().find(|it| it.stamp.by == new.stamp.by),
            None => self.conflicts.iter_mut().find(|it| it.stamp.by.is_none()),
        };
        match known {
            Some(known) => {
                let is_later = known.version.cmp(&new.version);
                let is_later = match new.stamp.by {
                    Some(_) => is_later,
                    None => is_later.then_with(|| known.stamp.compare(&new.stamp)),
                };
                if is_later == Ordering::Less {
                    *known = new;
                }
            }
            None => self.conflicts.push(new),
        }
    }
}

/// Merges an incoming item into the local one (4.4).
pub(crate) fn merge(local: Option<Item>, incoming: Item) -> Item {
    let Some(local) = local else { return incoming };
    let (mut winner, loser) = match local.compare(&incoming) {
        Ordering::Equal => return local,
        Ordering::Greater => (local, incoming),
        Ordering::Less => (incoming, local),
    };
    if winner.conflicts_with(&loser) {
        winner.conflict = true;
        winner.record(&loser);
    }
    winner
}
