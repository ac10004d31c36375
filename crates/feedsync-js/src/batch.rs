//! Merges of whole sets of items in memory.

use std::collections::HashMap;

use feedsync_core::{Incorporation, Item, ItemId, Payload, incorporate};
use feedsync_formats::ReadOptions;
use feedsync_formats::json::{self, push_unmapped};

use crate::failure::Failure;

/// Items of a document, in its order.
#[derive(Debug, Clone)]
pub struct Batch {
    items: Vec<Item<Payload>>,
    positions: HashMap<ItemId, usize>,
}

impl Batch {
    /// Reads the items of a FeedSync JSON document. One that is not valid is an error.
    pub fn read(document: &str) -> Result<Self, Failure> {
        let reading = json::read_unmapped(document.as_bytes(), &ReadOptions::strict())?;
        if let Some(refused) = reading.refused.first() {
            return Err(Failure::Request(refused.reason.message.clone()));
        }
        let items = reading.feed.items;
        let positions = items.iter().enumerate().map(|(at, item)| (item.id.clone(), at)).collect();
        Ok(Self { items, positions })
    }

    /// Merges the items of another batch into this one (3.3), and returns the number of merged items. An item beyond a
    /// bound is left out.
    pub fn merge(&mut self, other: &Batch) -> usize {
        for incoming in &other.items {
            let at = self.positions.get(&incoming.id).copied();
            let local = at.map(|at| &self.items[at]);
            match incorporate(local, None, incoming.clone()) {
                Incorporation::Added(item) => {
                    self.positions.insert(item.id.clone(), self.items.len());
                    self.items.push(item);
                }
                Incorporation::Updated(item) | Incorporation::Conflict(item) => {
                    if let Some(at) = at {
                        self.items[at] = item;
                    }
                }
                Incorporation::Unchanged | Incorporation::Refused(_) => {}
            }
        }
        other.items.len()
    }

    /// Writes the items as a document.
    pub fn write(&self) -> String {
        let mut out = String::from("{\"items\":[");
        for (index, item) in self.items.iter().enumerate() {
            out.push_str(if index == 0 { "\n" } else { ",\n" });
            push_unmapped(&mut out, item);
        }
        out.push_str("\n]}\n");
        out
    }
}
