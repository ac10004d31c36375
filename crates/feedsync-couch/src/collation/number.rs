//! JSON numbers, compared digit by digit, so that no magnitude or precision is lost.

use std::cmp::Ordering;

use super::key::{NEGATIVE, POSITIVE, ZERO};

/// Limit above which all exponents are equal.
const EXPONENT_LIMIT: i128 = 10_i128.pow(30);

/// Compares two numbers by value.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    Number::read(one).compare(&Number::read(other))
}

/// Appends the key of a number: its sign, its magnitude, and its digits in pairs, which a zero byte ends. In a
/// negative number all bits after the sign are inverted.
pub(super) fn push_key(out: &mut Vec<u8>, number: &str) {
    let number = Number::read(number);
    if number.digits.is_empty() {
        return out.push(ZERO);
    }
    out.push(if number.is_negative { NEGATIVE } else { POSITIVE });
    let begin = out.len();
    push_magnitude(out, number.magnitude);
    let mut digits = number.digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0');
    while let Some(first) = digits.next() {
        out.push(first * 10 + digits.next().unwrap_or(0) + 1);
    }
    out.push(0);
    if number.is_negative {
        out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Appends an integer: its length, which grows with its distance from zero, and its bytes without leading
/// zeros.
fn push_magnitude(out: &mut Vec<u8>, magnitude: i128) {
    /// First byte of zero, between the lengths of negative and positive integers.
    const ORIGIN: u8 = 0x40;
    let is_negative = magnitude < 0;
    let distance = if is_negative { !magnitude } else { magnitude };
    let bytes = distance.to_be_bytes();
    let bytes = &bytes[distance.leading_zeros() as usize / 8..];
    let length = bytes.len() as u8;
    if is_negative {
        out.push(ORIGIN - 1 - length);
        out.extend(bytes.iter().map(|byte| !byte));
    } else {
        out.push(ORIGIN + length);
        out.extend_from_slice(bytes);
    }
}

/// The remainder of an integer that is written as one; it has the sign of the integer. The divisor must not
/// be zero.
pub(crate) fn remainder(number: &str, divisor: i64) -> Option<i128> {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let divisor = i128::from(divisor).abs();
    let rest = digits.bytes().try_fold(0, |rest, byte| {
        byte.is_ascii_digit().then(|| (rest * 10 + i128::from(byte - b'0')) % divisor)
    })?;
    Some(if digits.len() < number.len() { -rest } else { rest })
}

/// `0.DIGITS` times ten to the power of `magnitude`.
struct Number<'a> {
    is_negative: bool,
    magnitude: i128,
    /// Digits from the first to the last that is not zero, possibly with a point among them; empty for zero.
    digits: &'a str,
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)),
            None => (text, 0),
        };
        let from_first = mantissa.trim_start_matches(['0', '.']);
        let digits = from_first.trim_end_matches(['0', '.']);
        if digits.is_empty() {
            return Self { is_negative: false, magnitude: 0, digits };
        }
        // Position of the first digit, relative to the point.
        let point = mantissa.find('.').unwrap_or(mantissa.len());
        let first = mantissa.len() - from_first.len();
        let place = match point.checked_sub(first) {
            Some(before) => before as i128,
            None => -((first - point - 1) as i128),
        };
        Self { is_negative, magnitude: exponent + place, digits }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let size = || {
            let digits = |number: &Self| number.digits.bytes().filter(|byte| *byte != b'.');
            self.magnitude.cmp(&other.magnitude).then_with(|| digits(self).cmp(digits(other)))
        };
        sign(self).cmp(&sign(other)).then_with(|| match self.is_negative {
            true => size().reverse(),
            false => size(),
        })
    }
}

fn read_exponent(text: &str) -> i128 {
    let digits = text.trim_start_matches(['+', '-']);
    let exponent = digits.bytes().fold(0, |exponent: i128, byte| {
        (exponent * 10 + i128::from(byte.saturating_sub(b'0'))).min(EXPONENT_LIMIT)
    });
    if text.starts_with('-') { -exponent } else { exponent }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The digits on both sides of the point, padded to a fixed width, and whether the number is negative.
    fn laid_out(mantissa: &str, exponent: i32) -> (bool, String) {
        const WIDTH: usize = 200;
        let digits = mantissa.trim_start_matches('-');
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let before = (WIDTH as i32 - whole.len() as i32 - exponent) as usize;
        let all = format!("{}{whole}{fraction}", "0".repeat(before));
        let all = format!("{all:0<width$}", width = 2 * WIDTH);
        (mantissa.starts_with('-') && all.contains(|digit| digit != '0'), all)
    }

    proptest! {
        #[test]
        fn numbers_compare_as_their_digits_do(
            one in ("-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?", -60..60),
            other in ("-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,3})?", -60..60),
            shift in 0..40usize,
        ) {
            let expected = |one: &(String, i32), other: &(String, i32)| {
                match (laid_out(&one.0, one.1), laid_out(&other.0, other.1)) {
                    ((true, one), (true, other)) => other.cmp(&one),
                    ((false, one), (false, other)) => one.cmp(&other),
                    ((one, _), (other, _)) => other.cmp(&one),
                }
            };
            let spell = |number: &(String, i32)| format!("{}e{}", number.0, number.1);
            // The same number with trailing zeros that the exponent compensates for.
            let zeros = "0".repeat(shift);
            let shifted = match one.0.contains('.') {
                true => (format!("{}{zeros}", one.0), one.1),
                false => (format!("{}{zeros}", one.0), one.1 - shift as i32),
            };
            let near = (one.0.replacen('1', "2", 1), one.1);
            for (one, other) in [(&one, &other), (&other, &one), (&one, &shifted), (&one, &near)] {
                let (spelt, spelt_other) = (spell(one), spell(other));
                let order = compare(&spelt, &spelt_other);
                prop_assert_eq!(order, expected(one, other), "{} {}", spelt, spelt_other);
            }
        }

        #[test]
        fn a_remainder_is_that_of_integers(number: i64, divisor: i64) {
            prop_assume!(divisor != 0);
            let expected = i128::from(number) % i128::from(divisor);
            prop_assert_eq!(remainder(&number.to_string(), divisor), Some(expected));
        }
    }

    #[test]
    fn numbers_are_in_order() {
        let order: &[&[&str]] = &[
            &[
                "-1e999999999999999999999999999999999999999999",
                "-2e9999999999999999999999999999999999999",
            ],
            &["-1e999999999"],
            &["-10", "-1e1", "-100e-1"],
            &["-0.5", "-5E-1"],
            &["-1e-999999999"],
            &["0", "-0", "0.0", "0e999999999", "-0.000e-5"],
            &["1e-999999999", "0.1e-999999998"],
            &["0.001", "1e-3", "0.0010"],
            &[
                "1",
                "1.0",
                "1e0",
                "10e-1",
                "0.1e1",
                "1.00E+00",
                "1e0000000000000000000000000000000000",
            ],
            &["9007199254740992", "9007199254740992.0"],
            &["9007199254740993"],
            &["1e999999999", "10e999999998", "0.01e+1000000001"],
            &["1.1e999999999"],
            &["1e1000000000"],
        ];
        for (at, alike) in order.iter().enumerate().skip(1) {
            for (other_at, others) in order.iter().enumerate().skip(1) {
                for (one, other) in
                    alike.iter().flat_map(|one| others.iter().map(move |o| (one, o)))
                {
                    assert_eq!(compare(one, other), at.cmp(&other_at), "{one} {other}");
                }
            }
        }
        for one in order[0] {
            assert!(compare(one, order[1][0]).is_lt(), "{one}");
        }
    }

    #[test]
    fn only_what_is_written_as_an_integer_has_a_remainder() {
        for (number, divisor, expected) in [
            ("-7", 3, Some(-1)),
            ("7", -3, Some(1)),
            ("1000000000000000000000000000000000000000001", 10, Some(1)),
            ("-9223372036854775808", i64::MIN, Some(0)),
            ("4.0", 2, None),
            ("4e1", 2, None),
        ] {
            assert_eq!(remainder(number, divisor), expected, "{number}");
        }
    }
}
