//! The estimated number of different keys: HyperLogLog with 2,048 registers, as in CouchDB. Its standard error is 2.3 %.
//!
//! Keys that are equal in the [order of values](crate::collation) count once. A reduction is a JSON string with a
//! character for each register.
//!
//! Source: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal cardinality estimation
//! algorithm", 2007.

use feedsync_formats::json::Node;
use sha2::{Digest, Sha256};

use crate::collation::unlimited_key;
use crate::refusal::{Refusal, RefusalKind};

/// Number of bits of a hash that select the register.
const PRECISION: u32 = 11;

const REGISTERS: usize = 1 << PRECISION;

/// Characters for the values of a register, of which the greatest is 54.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The reduction of keys.
pub(super) fn of_keys<'a>(keys: &mut dyn Iterator<Item = Node<'a>>) -> String {
    let mut registers = vec![0; REGISTERS];
    for key in keys {
        let digest = Sha256::digest(unlimited_key(key).0);
        let hash = digest.iter().take(8).fold(0_u64, |hash, byte| (hash << 8) | u64::from(*byte));
        let rest = hash << PRECISION;
        // The position of the first bit that is set, or the position after the last bit.
        let rank = (rest.leading_zeros() + 1).min(u64::BITS - PRECISION + 1) as u8;
        let register: &mut u8 = &mut registers[(hash >> (u64::BITS - PRECISION)) as usize];
        *register = rank.max(*register);
    }
    write(&registers)
}

/// The reduction of the keys of several reductions.
pub(super) fn union<'a>(reductions: &mut dyn Iterator<Item = Node<'a>>) -> Result<String, Refusal> {
    let mut registers = vec![0; REGISTERS];
    for reduction in reductions {
        let read = read(reduction)
            .ok_or_else(|| RefusalKind::Internal.with_reason("a stored reduction is damaged"))?;
        for (register, other) in registers.iter_mut().zip(read) {
            *register = other.max(*register);
        }
    }
    Ok(write(&registers))
}

/// The estimated number of keys; 0 for anything that is not a reduction.
pub(super) fn estimate(reduction: Node<'_>) -> u64 {
    let Some(registers) = read(reduction) else { return 0 };
    let count = REGISTERS as f64;
    let empty = registers.iter().filter(|register| **register == 0).count();
    let sum: f64 = registers.iter().map(|register| 0.5_f64.powi(i32::from(*register))).sum();
    let estimated = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
    // Few keys are counted by the registers that are empty.
    let is_small = estimated <= 2.5 * count && empty > 0;
    let estimated = if is_small { count * (count / empty as f64).ln() } else { estimated };
    estimated.round() as u64
}

fn write(registers: &[u8]) -> String {
    let digits = registers.iter().map(|register| char::from(DIGITS[usize::from(*register) % 64]));
    format!("\"{}\"", digits.collect::<String>())
}

fn read(reduction: Node<'_>) -> Option<Vec<u8>> {
    let text = reduction.string()?;
    let value = |byte| DIGITS.iter().position(|digit| *digit == byte).map(|value| value as u8);
    let registers: Vec<u8> = text.bytes().map(value).collect::<Option<_>>()?;
    (registers.len() == REGISTERS).then_some(registers)
}
