//! Ids of chunks.
//!
//! The plugin names a chunk that is not encrypted `h:` and the XXH64 of its text, a hyphen and its length in UTF-16 units, in
//! base 36. That hash is short, so different texts can have the same id; such a text gets a longer id here.

use feedsync_store::Digest;

/// Prefix of the ids of chunks.
pub(super) const PREFIX: &str = "h:";

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

/// Bytes that the four accumulators of XXH64 take at once.
const STRIPE: usize = 32;

/// Returns the id that the plugin gives a chunk.
pub(super) fn chunk_id(piece: &str) -> String {
    let units = piece.encode_utf16().count();
    format!("{PREFIX}{}", base_36(xxh64(format!("{piece}-{units}").as_bytes())))
}

/// Returns the id of a chunk whose usual id belongs to another text: its SHA-256. No id of the plugin is as long.
pub(super) fn long_chunk_id(piece: &str) -> String {
    format!("{PREFIX}{}", Digest::of(piece.as_bytes()))
}

fn base_36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while digits.is_empty() || number > 0 {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
        number /= 36;
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

/// XXH64 with the seed 0.
fn xxh64(bytes: &[u8]) -> u64 {
    let stripes = bytes.chunks_exact(STRIPE);
    let mut rest = stripes.remainder();
    let mut hash = match bytes.len() < STRIPE {
        true => PRIME_5,
        false => of_stripes(stripes),
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk::<4>() {
        hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(PRIME_1);
        hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
        rest = after;
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(PRIME_5);
        hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME_2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME_3);
    hash ^ (hash >> 32)
}

fn of_stripes<'a>(stripes: impl Iterator<Item = &'a [u8]>) -> u64 {
    let first = PRIME_1.wrapping_add(PRIME_2);
    let mut lanes = [first, PRIME_2, 0, 0_u64.wrapping_sub(PRIME_1)];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, bits)| lane.rotate_left(bits));
    let sum = turned.fold(0_u64, u64::wrapping_add);
    lanes.iter().fold(sum, |hash, lane| {
        (hash ^ round(0, *lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4)
    })
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that xxhash-wasm 1.0.2, the library of the plugin, computes; the first one is in the plugin's own tests.
    #[test]
    fn ids_are_those_of_the_plugin() {
        for (piece, id) in [
            ("helloWorld", "h:37me21jj44pcc"),
            ("", "h:25xaz83tmm99l"),
            ("a", "h:3mzkdyda1wmur"),
            (&"x".repeat(31), "h:1tx88kuqatdmi"),
            ("Grüße 🎉\n", "h:1db3grjxelan4"),
            (&"y".repeat(1_000), "h:dh7139d67pf9"),
        ] {
            assert_eq!(chunk_id(piece), id, "{piece}");
        }
    }

    #[test]
    fn long_ids_differ_from_all_ids_of_the_plugin() {
        let longest = PREFIX.len() + base_36(u64::MAX).len();
        assert_eq!(longest, 15);
        let id = long_chunk_id("a");
        assert_eq!(id.len(), PREFIX.len() + 64);
        assert!(id.starts_with("h:ca978112ca1bbdca"), "{id}");
        assert_ne!(id, long_chunk_id("b"));
        assert_eq!(base_36(0), "0");
    }
}
