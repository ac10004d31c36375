//! Numbers of JSON, added and multiplied.

use std::cmp::Ordering;
use std::fmt;

use feedsync_formats::json::{Kind, Node};

use crate::collation::number;

/// A finite number. Integers are exact while they fit, and doubles beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    pub(super) const ZERO: Self = Self::Integer(0);

    /// Reads a number. `None` for other values, and for a number that exceeds the range of doubles.
    pub(super) fn read(value: Node<'_>) -> Option<Self> {
        if value.kind() != Kind::Number {
            return None;
        }
        match value.raw().parse() {
            Ok(integer) => Some(Self::Integer(integer)),
            Err(_) => value.raw().parse().ok().and_then(Self::finite),
        }
    }

    /// The sum; `None` if it exceeds the range of doubles.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.calculate(other, i128::checked_add, |one, other| one + other)
    }

    /// The square; `None` if it exceeds the range of doubles.
    pub(super) fn square(self) -> Option<Self> {
        self.calculate(self, i128::checked_mul, |one, other| one * other)
    }

    /// The lesser number, or the first one of equal ones.
    pub(super) fn min(self, other: Self) -> Self {
        if other.compare(self).is_lt() { other } else { self }
    }

    /// The greater number, or the first one of equal ones.
    pub(super) fn max(self, other: Self) -> Self {
        if other.compare(self).is_gt() { other } else { self }
    }

    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(&other),
            // Not as doubles, which would make different integers equal.
            _ => number::compare(&self.to_string(), &other.to_string()),
        }
    }

    fn calculate(
        self,
        other: Self,
        exactly: fn(i128, i128) -> Option<i128>,
        nearly: fn(f64, f64) -> f64,
    ) -> Option<Self> {
        if let (Self::Integer(one), Self::Integer(other)) = (self, other)
            && let Some(result) = exactly(one, other)
        {
            return Some(Self::Integer(result));
        }
        Self::finite(nearly(self.float(), other.float()))
    }

    fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    fn finite(float: f64) -> Option<Self> {
        float.is_finite().then_some(Self::Float(float))
    }
}

/// Writes the number as JSON. A double has a fraction or an exponent, as CouchDB writes it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Float(float) => write!(f, "{float:?}"),
        }
    }
}
