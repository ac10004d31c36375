//! Bounds of items, which every endpoint observes (decisions 7 to 11).

/// Maximum number of open conflicts of an item. More are refused, never trimmed.
pub const MAX_CONFLICTS: usize = 256;

/// Maximum value of `updates` that is accepted from peers or created here: half of the range, so that no peer
/// can exhaust an item's counter (R-F14).
pub const MAX_INCOMING_UPDATES: u32 = 1 << 30;

/// Maximum total number of updates in the histories of an item, since it determines the time of operations on
/// the item. Histories are shortened to it ([`crate::Item::shorten_histories`]).
pub const MAX_UPDATES: usize = 8_192;

/// Maximum number of updates that an incoming item may have before its histories are shortened.
pub const MAX_READ_UPDATES: usize = 131_072;

/// Maximum number of bytes of the versions of an item together ([`crate::Item::bytes`]), so that one item always fits
/// into one response.
pub const MAX_ITEM_BYTES: usize = 16 << 20;
