//! Data of an item in SSE (2.3 to 2.5, 5.1, 5.2).

use crate::identifier::{By, ItemId};
use crate::item::Unsigned;
use crate::sse::{Date, VersionNumber};

/// Author and time of a change: the two attributes of `sx:history`, `sx:update` and `sx:conflict`.
///
/// Stamps are ordered as 4.4 collates them: the later `when`, then the greater `by` by code point, and
/// absent before present (S21, S39; reading 19).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    when: Option<Date>,
    by: Option<By>,
}

impl Stamp {
    /// A stamp; 2.4 demands at least one of the two. An empty `by` counts as absent (R-S4).
    pub fn new(when: Option<Date>, by: Option<By>) -> Result<Self, Unsigned> {
        if when.is_none() && by.is_none() { Err(Unsigned) } else { Ok(Self { when, by }) }
    }

    /// A stamp with both, as this project's endpoints write it.
    pub fn signed(when: Date, by: By) -> Self {
        Self { when: Some(when), by: Some(by) }
    }

    /// Time of the change; absent means the earliest time.
    pub fn when(&self) -> Option<&Date> {
        self.when.as_ref()
    }

    /// Endpoint that made it; absent sorts before all others.
    pub fn by(&self) -> Option<&By> {
        self.by.as_ref()
    }
}

/// `sx:history`: the latest change and those before it (2.4, S20, S23).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct History {
    /// The most recent change.
    pub latest: Stamp,
    /// The changes before it, newest first: `sx:update` (2.5). An endpoint may drop any number of
    /// them from the end.
    pub updates: Vec<Stamp>,
}

impl History {
    /// The change that led to the version `n` before this one: the latest for 0, else the nth
    /// `sx:update`, counted from 1 (4.4.1 step 3).
    pub fn back(&self, n: u64) -> Option<&Stamp> {
        match n.checked_sub(1) {
            None => Some(&self.latest),
            Some(index) => self.updates.get(usize::try_from(index).ok()?),
        }
    }
}

/// `sx:conflict`: the stored part of a version that lost (5.2, S51).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conflict<P> {
    /// Version number of the change that lost.
    pub version: VersionNumber,
    /// Author and time of that change.
    pub stamp: Stamp,
    /// Its data. The specification leaves it to the application, so others may store none (R-S5).
    pub payload: Option<P>,
}

/// `sx:sync` and the element around it (2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item<P> {
    /// Id, the same wherever the item is shared (S16).
    pub id: ItemId,
    /// Number of changes that led to this version (S17).
    pub version: VersionNumber,
    /// Whether this is a tombstone (S18).
    pub deleted: bool,
    /// Whether a conflict was detected that a user should review (S19).
    pub conflict: bool,
    /// The latest change and those before it.
    pub history: History,
    /// Losing versions: a flat list in no particular order, with at most one for each `by` if all
    /// endpoints follow the rules (5, S50, S55).
    pub conflicts: Vec<Conflict<P>>,
    /// Content of the item.
    pub payload: P,
}

impl<P> Item<P> {
    /// The same item with other payloads.
    pub fn map<Q>(self, mut change: impl FnMut(P) -> Q) -> Item<Q> {
        Item {
            id: self.id,
            version: self.version,
            deleted: self.deleted,
            conflict: self.conflict,
            history: self.history,
            conflicts: self
                .conflicts
                .into_iter()
                .map(|Conflict { version, stamp, payload }| Conflict {
                    version,
                    stamp,
                    payload: payload.map(&mut change),
                })
                .collect(),
            payload: change(self.payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(when: Option<&str>, by: Option<&str>) -> Stamp {
        Stamp::new(when.map(|text| text.parse().unwrap()), by.map(|text| By::new(text).unwrap()))
            .unwrap()
    }

    #[test]
    fn a_stamp_has_a_when_or_a_by() {
        assert_eq!(Stamp::new(None, None), Err(Unsigned));
        assert!(Stamp::new(None, By::new("A").ok()).is_ok());
    }

    #[test]
    fn later_beats_earlier_then_greater_beats_less_and_absent_comes_first() {
        let early = "Sat, 21 May 2005 09:43:33 GMT";
        let late = "Sat, 21 May 2005 10:43:33 +0000";
        let ascending = [
            stamp(None, Some("A")),
            stamp(None, Some("Z")),
            stamp(Some(early), None),
            stamp(Some(early), Some("A")),
            stamp(Some(early), Some("Z")),
            stamp(Some(early), Some("a")),
            stamp(Some(late), None),
        ];
        assert!(ascending.is_sorted_by(|x, y| x < y), "{ascending:?}");
    }

    #[test]
    fn the_nth_update_is_counted_from_one() {
        let history = History {
            latest: stamp(None, Some("C")),
            updates: vec![stamp(None, Some("B")), stamp(None, Some("A"))],
        };
        let by = |n| history.back(n).and_then(Stamp::by).map(By::as_str);
        assert_eq!([by(0), by(1), by(2), by(3)], [Some("C"), Some("B"), Some("A"), None]);
        assert_eq!(by(u64::MAX), None);
    }
}
