//! The updates that several histories cover together.

use std::collections::{HashMap, HashSet};

use crate::counter::Sequence;
use crate::history::History;
use crate::identifier::By;
use crate::item::Update;
use crate::timestamp::Timestamp;

/// Maximum product of both numbers of updates up to which pairwise comparison is cheapest.
const MAX_PAIRWISE_PRODUCT: usize = 1024;

/// The updates that some histories cover: the greatest sequence of each authoring line, and the updates
/// without `by`.
#[derive(Default)]
pub(crate) struct Coverage<'a> {
    highest: HashMap<&'a By, Sequence>,
    anonymous: HashSet<(Sequence, Option<Timestamp>)>,
}

impl<'a> Coverage<'a> {
    pub(crate) fn of(histories: impl IntoIterator<Item = &'a History>) -> Self {
        let mut coverage = Self::default();
        for update in histories.into_iter().flat_map(History::updates) {
            coverage.add(update);
        }
        coverage
    }

    pub(crate) fn add(&mut self, update: &'a Update) {
        let Some(by) = update.by() else {
            self.anonymous.insert((update.sequence(), update.when()));
            return;
        };
        let highest = self.highest.entry(by).or_insert(update.sequence());
        *highest = update.sequence().max(*highest);
    }

    pub(crate) fn covers(&self, update: &Update) -> bool {
        match update.by() {
            Some(by) => self.highest.get(by).is_some_and(|&it| update.sequence() <= it),
            None => self.anonymous.contains(&(update.sequence(), update.when())),
        }
    }
}

/// Whether some histories together cover each of these updates.
pub(crate) fn covers_all<'a>(
    histories: impl Iterator<Item = &'a History> + Clone,
    mut updates: impl Iterator<Item = &'a Update> + Clone,
) -> bool {
    let known = histories.clone().map(|history| history.updates().len()).sum::<usize>();
    if known.saturating_mul(updates.clone().count()) <= MAX_PAIRWISE_PRODUCT {
        return updates.all(|update| histories.clone().any(|history| history.covers(update)));
    }
    let known = Coverage::of(histories);
    updates.all(|update| known.covers(update))
}
