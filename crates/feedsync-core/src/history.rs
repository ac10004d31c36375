//! Histories: the updates that led to a version, and how they are shortened.
//!
//! A history of an item with many edits would grow with each of them. FeedSync allows a clean-up (3.2 and 3.4) that
//! keeps the highest sequence of each `by`, which covers the same updates. This crate keeps a few more: the latest
//! [`LINE_WINDOW`] updates of each authoring line, so that [`crate::line::disputed_sequences`] still recognises a copied store.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::counter::{Sequence, Updates};
use crate::coverage::{Coverage, covers_all};
use crate::identifier::By;
use crate::item::Update;
use crate::line;

/// Number of updates of one authoring line that a history keeps.
pub const LINE_WINDOW: usize = 16;

/// Number of standalone updates that a history keeps: updates without `by`, and those whose line has one
/// update ([`line::has_one_update`]). A database keeps as many revisions of a path.
pub const MAX_LONE_UPDATES: usize = 1_000;

/// The updates that led to a version, newest first, never empty (2.5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct History(Vec<Update>);

impl History {
    /// A history of one update.
    pub fn new(topmost: Update) -> Self {
        Self(vec![topmost])
    }

    /// A history of updates, newest first; `None` if there are none.
    pub fn from_updates(updates: Vec<Update>) -> Option<Self> {
        if updates.is_empty() { None } else { Some(Self(updates)) }
    }

    /// The update that made this version: its dot.
    pub fn topmost(&self) -> &Update {
        &self.0[0]
    }

    /// The oldest update that is still known: the creation, unless a clean-up removed it.
    pub fn oldest(&self) -> &Update {
        &self.0[self.0.len() - 1]
    }

    /// All updates, newest first.
    pub fn updates(&self) -> &[Update] {
        &self.0
    }

    /// Whether any update here subsumes this one (3.3 note 1, inner loop).
    pub fn covers(&self, update: &Update) -> bool {
        self.0.iter().any(|known| update.is_subsumed_by(known))
    }

    /// Whether this history covers every update of the other one.
    pub fn covers_all(&self, other: &History) -> bool {
        covers_all(std::iter::once(self), other.0.iter())
    }

    /// The greatest sequence of an authoring line, if it occurs.
    pub fn highest(&self, by: &By) -> Option<Sequence> {
        self.0.iter().filter(|update| update.by() == Some(by)).map(Update::sequence).max()
    }

    /// Adds an update on top (3.2 step 3).
    pub(crate) fn push(&mut self, update: Update) {
        self.0.insert(0, update);
    }

    /// Adds the updates of other histories that this one does not cover (3.4, Merging Conflict Items, step
    /// 3.3). Each is inserted right after the topmost, in document order, and compared with the history at
    /// that time.
    pub(crate) fn fold<'a>(&mut self, others: impl IntoIterator<Item = &'a History>) {
        let mut known = Coverage::of([&*self]);
        let mut news: Vec<Update> = Vec::new();
        for update in others.into_iter().flat_map(|other| &other.0) {
            if !known.covers(update) {
                known.add(update);
                news.push(update.clone());
            }
        }
        self.0.splice(1..1, news.into_iter().rev());
    }

    /// Adds older updates at the end.
    pub(crate) fn extend(&mut self, older: impl IntoIterator<Item = Update>) {
        self.0.extend(older);
    }

    /// Adds the updates of another history that this one does not cover, and returns whether there were any. They go
    /// to the end, so that the updates on top stay together.
    pub(crate) fn merge_missing(&mut self, other: &History) -> bool {
        let known = Coverage::of([&*self]);
        let news: Vec<Update> =
            other.0.iter().filter(|update| !known.covers(update)).cloned().collect();
        let is_more = !news.is_empty();
        self.0.extend(news);
        is_more
    }

    /// Whether exactly this update is listed, and not only a later one of its line.
    pub(crate) fn lists(&self, update: &Update) -> bool {
        self.0.iter().any(|known| known.is_same(update))
    }

    /// Adds, at the end, the updates of another history that this one covers but does not list. A fold leaves
    /// out updates that a later one of the same line covers. Then it is impossible to determine whether they
    /// were known (see [`crate::line::disputed_sequences`]). The coverage of this history stays the same.
    pub fn remember(&mut self, covered: &History) {
        let known = Coverage::of([&*self]);
        let mut listed: HashSet<(Sequence, Option<&By>)> =
            self.0.iter().map(|update| (update.sequence(), update.by())).collect();
        let mut news: Vec<Update> = Vec::new();
        for update in &covered.0 {
            // A covered update without `by` is always listed.
            let is_covered = update.by().is_some() && known.covers(update);
            if is_covered && listed.insert((update.sequence(), update.by())) {
                news.push(update.clone());
            }
        }
        self.0.extend(news);
    }

    /// Keeps only the highest sequence of each `by` (3.2 and 3.4, optional clean-up). The topmost update and every
    /// update without `by` stay. The coverage stays the same, so merging is unchanged.
    pub fn clean_up(&mut self) {
        self.keep_latest(1);
    }

    /// Shortens the history of a version with so many updates: keeps the latest [`LINE_WINDOW`] updates of
    /// each line and the latest [`MAX_LONE_UPDATES`] standalone ones. The topmost update always stays.
    ///
    /// The coverage stays the same except for old standalone updates. Covering too little costs a conflict,
    /// never an edit. The result depends only on the set of updates: shortening before a union changes
    /// nothing.
    pub(crate) fn shorten(&mut self, updates: Updates) {
        // Nothing is removed from a history of at most this length.
        if self.0.len() <= LINE_WINDOW {
            return;
        }
        self.keep_latest(LINE_WINDOW);
        let stands_alone = |update: &Update| update.by().is_none_or(line::has_one_update);
        let lone = (1..self.0.len()).filter(|&at| stands_alone(&self.0[at])).collect();
        let dropped = self.all_but_latest(lone, MAX_LONE_UPDATES, updates);
        self.remove(&dropped);
    }

    /// Removes updates until so many are left: first those that a later update of their line covers, then
    /// those with the lowest sequences. The latter may cost a conflict. The topmost two stay: an edit must
    /// know the version that it followed.
    pub(crate) fn truncate(&mut self, most: usize, updates: Updates) {
        if self.0.len() <= most.max(2) {
            return;
        }
        let mut heads: HashMap<&By, usize> = HashMap::new();
        for (at, update) in self.0.iter().enumerate() {
            if let Some(by) = update.by() {
                let head = heads.entry(by).or_insert(at);
                if update.sequence() > self.0[*head].sequence() {
                    *head = at;
                }
            }
        }
        let is_head = |at: usize| self.0[at].by().is_none_or(|by| heads[by] == at);
        let (needed, spare): (Vec<_>, Vec<_>) = (2..self.0.len()).partition(|&at| is_head(at));
        let room = most.saturating_sub(2);
        let left = room.saturating_sub(needed.len());
        let mut dropped = self.all_but_latest(needed, room, updates);
        dropped.extend(self.all_but_latest(spare, left, updates));
        self.remove(&dropped);
    }

    /// Keeps so many updates with the greatest sequences of each `by`. The topmost stays, and so do updates
    /// without `by`; of two copies of one update, the first stays.
    fn keep_latest(&mut self, most: usize) {
        let mut lines: HashMap<&By, Vec<usize>> = HashMap::new();
        for (at, update) in self.0.iter().enumerate() {
            if let Some(by) = update.by() {
                lines.entry(by).or_default().push(at);
            }
        }
        let mut dropped = HashSet::new();
        for mut line in lines.into_values().filter(|line| line.len() > 1) {
            let order = |&at: &usize| (Reverse(self.0[at].sequence()), at);
            line.sort_unstable_by_key(order);
            let mut last = None;
            let mut kept = 0;
            for at in line {
                let sequence = self.0[at].sequence();
                let is_copy = last.replace(sequence) == Some(sequence);
                match is_copy || kept == most {
                    true => drop(dropped.insert(at)),
                    false => kept += 1,
                }
            }
        }
        self.remove(&dropped);
    }

    /// Returns the updates at these positions except so many of the latest ones.
    ///
    /// The sequence indicates how late an update is, since endpoints copy it from `updates` (3.2). A sequence
    /// above `updates` indicates nothing, and counts as early: otherwise a malicious peer could displace all
    /// others.
    fn all_but_latest(
        &self,
        mut positions: Vec<usize>,
        most: usize,
        updates: Updates,
    ) -> HashSet<usize> {
        if positions.len() <= most {
            return HashSet::new();
        }
        positions.sort_unstable_by_key(|&at| {
            let update = &self.0[at];
            let is_plausible = update.sequence() <= Sequence::from(updates);
            Reverse((is_plausible, update.sequence(), update.by(), update.when()))
        });
        positions.split_off(most).into_iter().collect()
    }

    /// Removes the updates at these positions, never the topmost.
    fn remove(&mut self, positions: &HashSet<usize>) {
        if positions.is_empty() {
            return;
        }
        let mut at = 0;
        self.0.retain(|_| {
            let stays = at == 0 || !positions.contains(&at);
            at += 1;
            stays
        });
    }
}
