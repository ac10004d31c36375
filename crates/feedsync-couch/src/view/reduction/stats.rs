//! Statistics of numbers.

use feedsync_formats::json::{Kind, Node};

use super::number::Number;
use crate::json::MAX_DEPTH;
use crate::refusal::{Refusal, RefusalKind};

/// Names of the members, in the order in which CouchDB writes them.
const NAMES: [&str; 5] = ["sum", "count", "min", "max", "sumsqr"];

/// The statistics of numbers, or those of each position of arrays.
enum Stats {
    Single([Number; 5]),
    Each(Vec<Self>),
}

/// The statistics of values, as JSON. Values can be numbers, statistics, and arrays of the same length of them.
pub(super) fn of<'a>(mut values: impl Iterator<Item = Node<'a>>) -> Result<String, Refusal> {
    let stats = values.try_fold(None, |stats: Option<Stats>, value| {
        let read = Stats::read(value, MAX_DEPTH)?;
        match stats {
            None => Ok(Some(read)),
            Some(stats) => stats.plus(read).map(Some).ok_or_else(|| not_numeric(value)),
        }
    })?;
    let mut out = String::new();
    stats.unwrap_or(Stats::Single([Number::ZERO; 5])).push(&mut out);
    Ok(out)
}

impl Stats {
    fn read(value: Node<'_>, levels: usize) -> Result<Self, Refusal> {
        match value.kind() {
            Kind::Number => {
                let number = Number::read(value).ok_or_else(|| not_numeric(value))?;
                let square = number.square().ok_or_else(|| not_numeric(value))?;
                Ok(Self::Single([number, Number::Integer(1), number, number, square]))
            }
            Kind::Object => {
                let mut stats = [Number::ZERO; 5];
                for (field, name) in stats.iter_mut().zip(NAMES) {
                    *field = read_field(value, name)?;
                }
                Ok(Self::Single(stats))
            }
            Kind::Array => {
                let levels = levels.checked_sub(1).ok_or_else(|| not_numeric(value))?;
                let each = value.elements().map(|element| Self::read(element, levels));
                each.collect::<Result<_, _>>().map(Self::Each)
            }
            Kind::Null | Kind::Boolean | Kind::String => Err(not_numeric(value)),
        }
    }

    /// The statistics of both; `None` if they have different forms, or if a number exceeds its range.
    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Single(one), Self::Single(other)) => {
                let [sum, count, min, max, squares] = one;
                let [other_sum, other_count, other_min, other_max, other_squares] = other;
                Some(Self::Single([
                    sum.plus(other_sum)?,
                    count.plus(other_count)?,
                    min.min(other_min),
                    max.max(other_max),
                    squares.plus(other_squares)?,
                ]))
            }
            (Self::Each(one), Self::Each(other)) if one.len() == other.len() => {
                let each = one.into_iter().zip(other).map(|(one, other)| one.plus(other));
                each.collect::<Option<_>>().map(Self::Each)
            }
            _ => None,
        }
    }

    fn push(&self, out: &mut String) {
        match self {
            Self::Single(stats) => {
                let members = NAMES.iter().zip(stats);
                let members: Vec<_> =
                    members.map(|(name, number)| format!("\"{name}\":{number}")).collect();
                out.push_str(&format!("{{{}}}", members.join(",")));
            }
            Self::Each(each) => {
                out.push('[');
                for (at, stats) in each.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    stats.push(out);
                }
                out.push(']');
            }
        }
    }
}

fn read_field(stats: Node<'_>, name: &str) -> Result<Number, Refusal> {
    let Some(member) = stats.member(name) else {
        let raw = stats.raw();
        return Err(refuse(format!("user _stats input missing required field {name} ({raw})")));
    };
    let raw = member.value.raw();
    let refuse = || refuse(format!("non-numeric _stats input received for {name}: {raw}"));
    Number::read(member.value).ok_or_else(refuse)
}

fn not_numeric(value: Node<'_>) -> Refusal {
    refuse(format!(
        "The _stats function requires that map values be numbers or arrays of numbers, not '{}'",
        value.raw()
    ))
}

fn refuse(reason: String) -> Refusal {
    RefusalKind::InvalidValue.with_reason(reason)
}
