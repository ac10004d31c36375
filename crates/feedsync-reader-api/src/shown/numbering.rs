//! Numbers that are derived from names.

use std::collections::{BTreeMap, BTreeSet};

use super::label::Label;

/// Smallest derived number. Dialects use smaller numbers for objects without a name.
pub(super) const FIRST: i64 = 1_000;

/// Largest derived number. It leaves space within 31 bits for the offsets that dialects add.
pub(super) const LAST: i64 = i32::MAX as i64 - 2_000;

/// Assigns each name its hash, or the next free number. Names are processed in ascending order.
pub(super) fn numbered(names: BTreeSet<Label>, hash: impl Fn(&str) -> i64) -> BTreeMap<Label, i64> {
    let mut taken = BTreeSet::new();
    let mut numbers = BTreeMap::new();
    for name in names {
        let mut number = hash(name.as_str());
        while !taken.insert(number) {
            number = if number == LAST { FIRST } else { number + 1 };
        }
        numbers.insert(name, number);
    }
    numbers
}

/// FNV-1a, reduced to the range of derived numbers.
pub(super) fn hash(name: &str) -> i64 {
    let mixed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let numbers = LAST.abs_diff(FIRST) + 1;
    FIRST + i64::try_from(mixed % numbers).unwrap_or_default()
}
