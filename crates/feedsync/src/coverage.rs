//! What several histories know together, to be asked often.

use std::collections::HashMap;

use crate::counter::Sequence;
use crate::identifier::By;
use crate::item::{History, Update};

/// Looking for updates in histories one by one is cheapest while the product of both is no more.
const SHORT: usize = 1024;

/// The updates that some histories cover.
pub(crate) struct Coverage<'a, I> {
    histories: I,
    /// The greatest sequence of each line, where much is asked of many.
    highest: Option<HashMap<&'a By, Sequence>>,
}

impl<'a, I: Iterator<Item = &'a History> + Clone> Coverage<'a, I> {
    /// Of these histories, to be asked about so many updates.
    pub(crate) fn of(histories: I, asked: usize) -> Self {
        let updates = || histories.clone().flat_map(History::updates);
        let is_long = updates().count().saturating_mul(asked) > SHORT;
        let highest = is_long.then(|| {
            let mut highest: HashMap<&By, Sequence> = HashMap::new();
            for update in updates() {
                if let Some(by) = update.by() {
                    let sequence = highest.entry(by).or_insert(update.sequence());
                    *sequence = update.sequence().max(*sequence);
                }
            }
            highest
        });
        Self { histories, highest }
    }

    pub(crate) fn covers(&self, update: &Update) -> bool {
        match (&self.highest, update.by()) {
            (Some(highest), Some(by)) => {
                highest.get(by).is_some_and(|&sequence| update.sequence() <= sequence)
            }
            _ => self.histories.clone().any(|history| history.covers(update)),
        }
    }
}
