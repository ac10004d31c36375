//! Items, and the operations on them that section 3 of FeedSync 1.0.2 requires.

use serde_json::{Map, Value};

use super::xml::{Element, Name, Node};

/// Data of an item, including everything that this peer does not know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// An element without its `sx:sync`.
    Xml(Element),
    /// The members of an object without `sync`.
    Json(Map<String, Value>),
}

/// Markup that this peer does not know and preserves (2.1 rule 7).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Foreign {
    /// Attributes in XML.
    pub(crate) attributes: Vec<(Name, String)>,
    /// Elements and text in XML.
    pub(crate) children: Vec<Node>,
    /// Members in JSON.
    pub(crate) members: Map<String, Value>,
}

/// `sx:history` (2.5).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    /// `sequence`.
    pub(crate) sequence: u32,
    /// `when`.
    pub(crate) when: Option<String>,
    /// `by`.
    pub(crate) by: Option<String>,
    /// Everything else.
    pub(crate) foreign: Foreign,
}

impl Update {
    /// Whether another update subsumes this one (3.3, note 2).
    fn is_subsumed_by(&self, other: &Self) -> bool {
        match &self.by {
            Some(_) => self.by == other.by && other.sequence >= self.sequence,
            None => {
                other.by.is_none() && self.when == other.when && self.sequence == other.sequence
            }
        }
    }

    /// Returns the three values of the update, for comparison.
    pub(crate) fn stamp(&self) -> (u32, Option<&str>, Option<&str>) {
        (self.sequence, self.when.as_deref(), self.by.as_deref())
    }
}

/// An item, or one of its conflict items, without conflicts of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Version {
    /// `updates`.
    pub(crate) updates: u32,
    /// `deleted`.
    pub(crate) deleted: bool,
    /// `noconflicts`, if it is there.
    pub(crate) noconflicts: Option<bool>,
    /// The topmost update first; never empty.
    pub(crate) history: Vec<Update>,
    /// Everything else in `sx:sync`.
    pub(crate) foreign: Foreign,
    /// The data.
    pub(crate) content: Content,
}

impl Version {
    /// Returns the topmost update.
    pub(crate) fn topmost(&self) -> &Update {
        &self.history[0]
    }

    /// Whether another version subsumes this one (3.3, note 1).
    fn is_subsumed_by(&self, other: &Self) -> bool {
        other.history.iter().any(|update| self.topmost().is_subsumed_by(update))
    }

    /// Whether this version wins over the other (3.3, note 3). Times of one form in UTC sort as texts.
    fn wins_over(&self, other: &Self) -> bool {
        if self.updates != other.updates {
            return self.updates > other.updates;
        }
        let (ours, theirs) = (self.topmost(), other.topmost());
        if ours.when != theirs.when {
            return ours.when > theirs.when; // an absent time is less than any other
        }
        ours.by > theirs.by // UTF-8 sorts by code point
    }
}

/// An item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// `id`.
    pub(crate) id: String,
    /// The item itself.
    pub(crate) winner: Version,
    /// `sx:conflicts`.
    pub(crate) conflicts: Vec<Version>,
}

/// The time and the endpoint of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    /// The time.
    pub(crate) when: &'a str,
    /// The endpoint.
    pub(crate) by: &'a str,
}

impl Item {
    /// Creates an item (3.1).
    pub(crate) fn create(id: String, content: Content, stamp: Stamp<'_>) -> Self {
        let update = Update {
            sequence: 1,
            when: Some(stamp.when.to_owned()),
            by: Some(stamp.by.to_owned()),
            foreign: Foreign::default(),
        };
        let winner = Version {
            updates: 1,
            deleted: false,
            noconflicts: None,
            history: vec![update],
            foreign: Foreign::default(),
            content,
        };
        Self { id, winner, conflicts: Vec::new() }
    }

    /// Updates, deletes or un-deletes the item (3.2).
    pub(crate) fn update(&mut self, content: Content, deleted: bool, stamp: Stamp<'_>) {
        let winner = &mut self.winner;
        winner.updates += 1;
        let is_ours = |update: &&Update| update.by.as_deref() == Some(stamp.by);
        let greatest = winner.history.iter().filter(is_ours).map(|update| update.sequence).max();
        let sequence = winner.updates.max(greatest.unwrap_or(0) + 1);
        let update = Update {
            sequence,
            when: Some(stamp.when.to_owned()),
            by: Some(stamp.by.to_owned()),
            foreign: Foreign::default(),
        };
        winner.history.insert(0, update);
        winner.content = content;
        winner.deleted = deleted;
        let own = |version: &Version| version.topmost().by.as_deref() == Some(stamp.by);
        let own: Vec<usize> =
            (0..self.conflicts.len()).filter(|&index| own(&self.conflicts[index])).collect();
        self.fold(&own);
    }

    /// Resolves conflicts (3.4) by an update that takes them into account.
    pub(crate) fn resolve(
        &mut self,
        which: &[usize],
        content: Content,
        deleted: bool,
        stamp: Stamp<'_>,
    ) {
        let resolved: Vec<_> =
            which.iter().map(|&index| self.conflicts[index].topmost().clone()).collect();
        self.update(content, deleted, stamp);
        let is_resolved = |version: &Version| resolved.contains(version.topmost());
        let which: Vec<usize> =
            (0..self.conflicts.len()).filter(|&it| is_resolved(&self.conflicts[it])).collect();
        self.fold(&which);
    }

    /// Merges the histories of conflict items into the winner's history (3.4).
    fn fold(&mut self, which: &[usize]) {
        let conflicts = std::mem::take(&mut self.conflicts);
        for (index, version) in conflicts.into_iter().enumerate() {
            if !which.contains(&index) {
                self.conflicts.push(version);
                continue;
            }
            let history = &mut self.winner.history;
            for update in version.history {
                if !history.iter().any(|known| update.is_subsumed_by(known)) {
                    history.insert(1, update);
                }
            }
        }
    }
}

/// Merges (3.3) an incoming item into the local one.
pub(crate) fn merge(local: Option<Item>, incoming: Item) -> Item {
    let Some(local) = local else { return incoming };
    let id = local.id.clone();
    let collection = |item: Item| {
        let mut versions = item.conflicts;
        versions.push(item.winner);
        versions
    };
    let (mut ours, mut theirs) = (collection(local), collection(incoming));
    let mut merged: Vec<Version> = Vec::new();
    let mut winner: Option<usize> = None;
    for _ in 0..2 {
        let mut index = 0;
        while index < ours.len() {
            if theirs.iter().any(|other| ours[index].is_subsumed_by(other)) {
                ours.remove(index);
                continue;
            }
            merged.push(ours[index].clone());
            let last = merged.len() - 1;
            if winner.is_none_or(|winner| merged[last].wins_over(&merged[winner])) {
                winner = Some(last);
            }
            index += 1;
        }
        std::mem::swap(&mut ours, &mut theirs);
    }
    let winner = merged.remove(winner.expect("one of two versions is left"));
    let conflicts = if winner.noconflicts == Some(true) { Vec::new() } else { merged };
    Item { id, winner, conflicts }
}
