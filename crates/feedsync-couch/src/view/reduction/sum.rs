//! Sums of numbers, of arrays and of objects.

use std::collections::BTreeMap;

use feedsync_formats::json::{Kind, Node, push_string};

use super::number::Number;
use crate::json::MAX_DEPTH;
use crate::refusal::{Refusal, RefusalKind};

/// A value that can be added.
#[derive(Debug)]
pub(super) enum Sum {
    Number(Number),
    Array(Vec<Number>),
    Object(BTreeMap<String, Self>),
}

impl Sum {
    /// The sum of values, as JSON; 0 if there are none.
    pub(super) fn of<'a>(mut values: impl Iterator<Item = Node<'a>>) -> Result<String, Refusal> {
        let sum = values.try_fold(None, |sum: Option<Self>, value| {
            let value = Self::read(value, MAX_DEPTH).ok_or_else(refuse)?;
            let sum = match sum {
                None => Some(value),
                Some(sum) => sum.plus(value),
            };
            sum.map(Some).ok_or_else(refuse)
        })?;
        let mut out = String::new();
        sum.unwrap_or(Self::Number(Number::ZERO)).push(&mut out);
        Ok(out)
    }

    fn read(value: Node<'_>, levels: usize) -> Option<Self> {
        match value.kind() {
            Kind::Number => Number::read(value).map(Self::Number),
            Kind::Array => {
                value.elements().map(Number::read).collect::<Option<_>>().map(Self::Array)
            }
            Kind::Object => {
                let levels = levels.checked_sub(1)?;
                let members = value.members().map(|member| {
                    Some((member.name.into_owned(), Self::read(member.value, levels)?))
                });
                members.collect::<Option<_>>().map(Self::Object)
            }
            Kind::Null | Kind::Boolean | Kind::String => None,
        }
    }

    /// The sum; `None` if only one of both is an object, or if a number exceeds its range.
    fn plus(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Number(one), Self::Number(other)) => Self::Number(one.plus(other)?),
            (Self::Array(one), Self::Array(other)) => Self::Array(add_arrays(one, other)?),
            (Self::Array(one), Self::Number(other)) => Self::Array(add_arrays(one, vec![other])?),
            (Self::Number(one), Self::Array(other)) => Self::Array(add_arrays(vec![one], other)?),
            (Self::Object(mut one), Self::Object(other)) => {
                for (name, value) in other {
                    let sum = match one.remove(&name) {
                        None => value,
                        Some(before) => before.plus(value)?,
                    };
                    one.insert(name, sum);
                }
                Self::Object(one)
            }
            (Self::Object(_), _) | (_, Self::Object(_)) => return None,
        })
    }

    fn push(&self, out: &mut String) {
        match self {
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Array(numbers) => {
                let numbers: Vec<_> = numbers.iter().map(Number::to_string).collect();
                out.push_str(&format!("[{}]", numbers.join(",")));
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    push_string(out, name);
                    out.push(':');
                    value.push(out);
                }
                out.push('}');
            }
        }
    }
}

/// Adds arrays position by position. The rest of the longer one is kept.
fn add_arrays(one: Vec<Number>, other: Vec<Number>) -> Option<Vec<Number>> {
    let (mut long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    for (number, addend) in long.iter_mut().zip(short) {
        *number = number.plus(addend)?;
    }
    Some(long)
}

fn refuse() -> Refusal {
    RefusalKind::BuiltinReduce.with_reason(
        "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects \
         cannot be mixed with other data structures. Objects can be arbitrarily nested, provided that the \
         values for all fields are themselves numbers, arrays of numbers, or objects.",
    )
}
