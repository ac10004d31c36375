//! User-defined order of subscriptions: sortable texts, with room between any two.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

/// Maximum number of digits of a position.
const MAX_DIGITS: usize = 128;

/// The digits, ascending by byte value.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A position in an order: the digits of a fraction to the base 62, the last of which is not `0`. Moving one
/// subscription changes no other position.
///
/// ```
/// # use feedsync_reading_state::Position;
/// let first = Position::between(None, None).unwrap();
/// let second = Position::between(Some(&first), None).unwrap();
/// let amid = Position::between(Some(&first), Some(&second)).unwrap();
/// assert!(first < amid && amid < second);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Position(Arc<str>);

/// A text that is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position: use 1 to {MAX_DIGITS} letters and digits, the last of them not 0")]
pub struct PositionError;

impl Position {
    /// A position after one and before another, each optional. `None` if the first is not before the second,
    /// or if there is no room between them: then other subscriptions need new positions.
    pub fn between(after: Option<&Self>, before: Option<&Self>) -> Option<Self> {
        let low = after.map_or(&[][..], |position| position.0.as_bytes());
        let high = before.map(|position| position.0.as_bytes());
        if high.is_some_and(|high| low >= high) {
            return None;
        }
        let mut digits = Vec::new();
        let mut is_bounded = high;
        loop {
            let place = digits.len();
            let least = low.get(place).map_or(0, |&digit| value(digit));
            let most = is_bounded
                .map_or(DIGITS.len(), |high| high.get(place).map_or(0, |&digit| value(digit)));
            let middle = (least + most).div_ceil(2);
            if least < middle && middle < most {
                digits.push(DIGITS[middle]);
                break;
            }
            digits.push(DIGITS[least]);
            // From here on the result is below the upper bound, which therefore does not limit further
            // digits.
            is_bounded = is_bounded.filter(|_| least == most);
        }
        let text = String::from_utf8(digits).ok()?;
        text.parse().ok()
    }

    /// The given number of positions in ascending order, after an optional one: short ones, with room between
    /// them. `None` if there is no room.
    pub fn spread(count: usize, after: Option<&Self>) -> Option<Vec<Self>> {
        let mut width = 2;
        while DIGITS.len().saturating_pow(width) / 2 <= count {
            width += 1;
        }
        let step = DIGITS.len().saturating_pow(width) / (count + 1);
        let before = after.map_or(String::new(), |after| after.next_digit());
        let place = |number: usize| {
            let mut rest = number * step;
            let mut digits = Vec::new();
            for _ in 0..width {
                digits.push(char::from(DIGITS[rest % DIGITS.len()]));
                rest /= DIGITS.len();
            }
            let digits: String = digits.into_iter().rev().collect();
            format!("{before}{}", digits.trim_end_matches('0')).parse().ok()
        };
        (1..=count).map(place).collect()
    }

    /// The shortest digits such that every position that begins with them comes after this one.
    fn next_digit(&self) -> String {
        let highest = self.0.bytes().take_while(|&digit| digit == b'z').count();
        let mut digits = self.0[..highest].to_owned();
        if let Some(&digit) = self.0.as_bytes().get(highest) {
            digits.push(char::from(DIGITS[value(digit) + 1]));
        }
        digits
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn value(digit: u8) -> usize {
    DIGITS.iter().position(|&known| known == digit).unwrap_or_default()
}

impl FromStr for Position {
    type Err = PositionError;
    fn from_str(text: &str) -> Result<Self, PositionError> {
        let is_legal = (1..=MAX_DIGITS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !text.ends_with('0');
        if is_legal { Ok(Self(text.into())) } else { Err(PositionError) }
    }
}

impl TryFrom<String> for Position {
    type Error = PositionError;
    fn try_from(text: String) -> Result<Self, PositionError> {
        text.parse()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_parse_or_are_refused() {
        for legal in ["1", "0V", "zzz", &"a".repeat(MAX_DIGITS)] {
            assert_eq!(legal.parse::<Position>().unwrap().as_str(), legal);
        }
        for illegal in ["", "0", "10", "a b", "\u{e4}", "-1", &"a".repeat(MAX_DIGITS + 1)] {
            assert_eq!(illegal.parse::<Position>(), Err(PositionError), "{illegal}");
        }
    }

    #[test]
    fn spread_positions_ascend_and_are_short() {
        for count in [0, 1, 2, 61, 62, 500, 5_000] {
            for after in ["", "1", "V", "zV", "zzz"] {
                let after: Option<Position> = after.parse().ok();
                let spread = Position::spread(count, after.as_ref()).unwrap();
                assert_eq!(spread.len(), count);
                assert!(spread.is_sorted_by(|one, other| one < other), "{count}");
                for position in &spread {
                    assert_eq!(position.as_str().parse().as_ref(), Ok(position));
                    assert!(position.as_str().len() <= 6 && Some(position) > after.as_ref());
                }
            }
        }
        let end: Position = "z".repeat(MAX_DIGITS).parse().unwrap();
        assert_eq!(Position::spread(1, Some(&end)), None);
    }

    #[test]
    fn exhausted_room_returns_none() {
        let end: Position = "z".repeat(MAX_DIGITS).parse().unwrap();
        assert_eq!(Position::between(Some(&end), None), None);
        assert_eq!(Position::between(Some(&end), Some(&end)), None);
        let first: Position = "1".parse().unwrap();
        assert_eq!(Position::between(Some(&end), Some(&first)), None);
    }

    proptest! {
        #[test]
        fn there_is_room_between_any_two(one in "[0-9A-Za-z]{0,5}[1-9A-Za-z]", other in "[0-9A-Za-z]{0,5}[1-9A-Za-z]") {
            let (one, other): (Position, Position) = (one.parse().unwrap(), other.parse().unwrap());
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            let before = Position::between(None, Some(&low)).unwrap();
            let after = Position::between(Some(&high), None).unwrap();
            prop_assert!(before < low && high < after);
            let amid = Position::between(Some(&low), Some(&high));
            prop_assert_eq!(amid.is_none(), low == high);
            prop_assert!(amid.is_none_or(|amid| low < amid && amid < high));
        }
    }
}
