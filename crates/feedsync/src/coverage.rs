//! What several histories know together, to be asked often.

use std::collections::HashMap;

use crate::counter::Sequence;
use crate::identifier::By;
use crate::item::{History, Update};

/// Looking through so few updates needs no memory.
const SHORT: usize = 32;

/// The updates that some histories cover.
pub(crate) struct Coverage<'a> {
    histories: Vec<&'a History>,
    /// The greatest sequence of each line, where there are many.
    highest: Option<HashMap<&'a By, Sequence>>,
}

impl<'a> Coverage<'a> {
    pub(crate) fn of(histories: impl IntoIterator<Item = &'a History>) -> Self {
        let histories: Vec<&History> = histories.into_iter().collect();
        let updates = || histories.iter().flat_map(|history| history.updates());
        let highest = (updates().count() > SHORT).then(|| {
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
            _ => self.histories.iter().any(|history| history.covers(update)),
        }
    }
}
