//! Positions of rows: bytes whose order is the order of the rows of a view.
//!
//! A position consists of the [key](crate::collation::key) of the row's key, the id of its document, and the number of the
//! row among the rows of this document. Neither keys nor ids are prefixes of others, so positions are in the order of
//! these three.
//!
//! **Limits.** Of a key that exceeds [`KEPT_KEY_BYTES`], these first bytes are kept and a digest of all is appended. Rows
//! with equal keys are adjacent, and rows with different keys are told apart. Keys that have the same first bytes are
//! in the order of their digests, not in their own. The same applies to ids that exceed [`KEPT_ID_BYTES`].

use feedsync_formats::json::Node;
use sha2::{Digest, Sha256};

use crate::collation::unlimited_key;
use crate::name::DocumentId;

/// Number of the bytes of a key that determine the order of rows.
pub const KEPT_KEY_BYTES: usize = 992;

/// Number of the bytes of an id that determine the order of rows.
pub const KEPT_ID_BYTES: usize = 512;

/// Greatest level of a position.
pub const MAX_LEVEL: u8 = 4;

/// Number of bits of a hash that are zero for each level: one of 64 positions reaches the next level.
const BITS_PER_LEVEL: u32 = 6;

/// A byte that begins neither a key nor an id.
pub(super) const AFTER: u8 = 0xff;

/// Returns the position of a row: its key, the id of its document, and its number among the rows of this document.
pub fn position(key: Node<'_>, document: &DocumentId, nth: u32) -> Vec<u8> {
    let mut out = key_part(key);
    push_id(&mut out, document.as_str());
    out.extend(nth.to_be_bytes());
    out
}

/// Returns the level of the row at a position. About one of 64 rows of each level reaches the next one.
///
/// The level depends on the position only, and never changes.
pub fn level(position: &[u8]) -> u8 {
    let digest = Sha256::digest(position);
    let hash = digest.iter().take(8).fold(0_u64, |hash, byte| (hash << 8) | u64::from(*byte));
    let levels = hash.trailing_zeros() / BITS_PER_LEVEL;
    u8::try_from(levels).map_or(MAX_LEVEL, |level| level.min(MAX_LEVEL))
}

/// The bytes of a key in positions.
pub(super) fn key_part(key: Node<'_>) -> Vec<u8> {
    let (mut bytes, is_complete) = unlimited_key(key);
    if is_complete && bytes.len() <= KEPT_KEY_BYTES {
        return bytes;
    }
    let digest = if is_complete { Sha256::digest(&bytes) } else { Sha256::digest(key.raw()) };
    // An incomplete key is extended, so that no other key begins with it.
    bytes.resize(KEPT_KEY_BYTES, AFTER);
    bytes.extend(digest);
    bytes
}

/// Whether the position of a row with this key does not have the whole key.
pub(super) fn is_cut_off(key: Node<'_>) -> bool {
    let (bytes, is_complete) = unlimited_key(key);
    !is_complete || bytes.len() > KEPT_KEY_BYTES
}

/// Appends the bytes of an id in positions: zero bytes are escaped, and two of them end it.
pub(super) fn push_id(out: &mut Vec<u8>, id: &str) {
    let begin = out.len();
    for byte in id.bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(AFTER);
        }
    }
    out.extend([0, 0]);
    if out.len() - begin > KEPT_ID_BYTES {
        out.truncate(begin + KEPT_ID_BYTES);
        out.extend(Sha256::digest(id));
    }
}
