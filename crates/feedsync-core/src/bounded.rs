//! Items within all bounds.

use crate::bounds::MAX_ITEM_BYTES;
use crate::incorporate::{Refusal, check_bounds};
use crate::item::Item;
use crate::payload::Payload;

/// Shortens the histories of an item that was made or received here, and checks all of its bounds. An item
/// that passes is accepted by every peer. An item that exceeded a bound `before` may still exceed it but not
/// grow, so that it can be deleted.
pub fn bounded(
    mut item: Item<Payload>,
    before: Option<&Item<Payload>>,
) -> Result<Item<Payload>, Refusal> {
    item.shorten_histories();
    check_bounds(&item, before)?;
    let (bytes, most) = (item.bytes(), MAX_ITEM_BYTES);
    match bytes > most && before.is_none_or(|before| bytes > before.bytes()) {
        true => Err(Refusal::TooLarge { bytes, most }),
        false => Ok(item),
    }
}

impl Item<Payload> {
    /// Number of bytes of the payloads of all versions ([`Payload::bytes`]).
    pub fn bytes(&self) -> usize {
        self.versions().map(|version| version.payload.bytes()).sum()
    }
}
