//! Parsed selectors, and their evaluation.

use std::cmp::Ordering;

use feedsync_formats::json::{Kind, Node};
use regex::bytes::Regex;

use super::location::{Location, Value};
use crate::collation::Text;
use crate::collation::{compare_raw, number};

/// A condition.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// All of them hold.
    All(Vec<Rule>),
    /// At least one of them holds.
    Any(Vec<Rule>),
    /// The condition does not hold.
    Not(Box<Rule>),
    /// The condition holds at this path.
    Field(Vec<String>, Box<Rule>),
    /// The value passes this test.
    Test(Test),
}

/// A test of one value.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Exists(bool),
    /// The value has this kind; `None` for an unknown kind.
    Kind {
        kind: Option<Kind>,
        name: Operand,
    },
    Relation(Relation, Operand),
    /// The value equals one of these. Of an array, an element does.
    In(Operand),
    /// The value is an array that contains all of these, or equals the only one.
    All(Operand),
    Size(u64),
    Remainder {
        divisor: i64,
        remainder: i64,
    },
    Begins(Operand),
    Matches(Regex),
    /// The value is an array with an element for which the condition holds.
    Element(Box<Rule>),
    /// The value is a non-empty array, and the condition holds for all elements.
    EachElement(Box<Rule>),
    /// The value is an object with a name for which the condition holds.
    Name(Box<Rule>),
    /// The value does not pass this test.
    Not(Box<Test>),
}

/// Comparisons of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Relation {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A value in a selector, as its text.
#[derive(Debug, Clone)]
pub(super) struct Operand(String);

impl Rule {
    /// Whether the condition holds; `None` if the known values do not decide it.
    pub(super) fn decide(&self, place: Location<'_>) -> Option<bool> {
        match self {
            Self::All(rules) => all(rules.iter().map(|rule| rule.decide(place))),
            Self::Any(rules) => not(all(rules.iter().map(|rule| not(rule.decide(place))))),
            Self::Not(rule) => not(rule.decide(place)),
            Self::Field(path, rule) => {
                rule.decide(path.iter().fold(place, |place, name| place.field(name)))
            }
            Self::Test(test) => match place {
                Location::Value(value) => Some(test.holds(value)),
                Location::Missing => Some(matches!(test, Test::Exists(false))),
                Location::BadPath => Some(false),
                Location::Unknown
                | Location::Lacking(_)
                | Location::Document(_)
                | Location::OfType(_) => None,
            },
        }
    }

    fn holds(&self, node: Node<'_>) -> bool {
        self.decide(Location::Value(Value::Json(node))) == Some(true)
    }
}

fn not(decided: Option<bool>) -> Option<bool> {
    decided.map(|holds| !holds)
}

/// Conjunction: one false condition decides it; otherwise all must be known to hold.
fn all(mut decisions: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    decisions
        .try_fold(Some(true), |all, decided| match decided {
            Some(false) => Err(()),
            Some(true) => Ok(all),
            None => Ok(None),
        })
        .unwrap_or(Some(false))
}

impl Test {
    fn holds(&self, value: Value<'_>) -> bool {
        let array = value.node().filter(|node| node.kind() == Kind::Array);
        match self {
            Self::Exists(exists) => *exists,
            Self::Kind { kind, .. } => *kind == Some(value.kind()),
            Self::Relation(relation, operand) => relation.holds(value.compare(operand.node())),
            Self::In(operand) => match array {
                None => operand.node().elements().any(|one| value.is_equal(one)),
                Some(array) => array
                    .elements()
                    .map(Value::Json)
                    .any(|element| operand.node().elements().any(|one| element.is_equal(one))),
            },
            Self::All(operand) => array.is_some_and(|array| has_all(array, operand.node())),
            Self::Size(size) => array.is_some_and(|array| array.elements().count() as u64 == *size),
            Self::Remainder { divisor, remainder } => value
                .node()
                .filter(|node| node.kind() == Kind::Number)
                .and_then(|node| number::remainder(node.raw(), *divisor))
                .is_some_and(|rest| rest == i128::from(*remainder)),
            Self::Begins(prefix) => {
                value.text().is_some_and(|text| text.starts_with(Text::of(prefix.node())))
            }
            Self::Matches(pattern) => match value {
                Value::Text(text) | Value::Id(text) => pattern.is_match(text.as_bytes()),
                Value::Json(node) => {
                    node.string().is_some_and(|text| pattern.is_match(text.as_bytes()))
                }
            },
            Self::Element(rule) => {
                array.is_some_and(|array| array.elements().any(|element| rule.holds(element)))
            }
            Self::EachElement(rule) => array.is_some_and(|array| {
                array.elements().next().is_some()
                    && array.elements().all(|element| rule.holds(element))
            }),
            Self::Name(rule) => value.node().is_some_and(|object| {
                object.members().any(|member| rule.holds(Node::root(member.raw())))
            }),
            Self::Not(test) => !test.holds(value),
        }
    }
}

/// Whether an array contains all elements of another one, or equals its only element. CouchDB compares these by
/// code points, too.
fn has_all(array: Node<'_>, wanted: Node<'_>) -> bool {
    let mut ones = wanted.elements();
    let is_only = match (ones.next(), ones.next()) {
        (None, _) => return false,
        (Some(one), None) => compare_raw(array, one).is_eq(),
        _ => false,
    };
    is_only
        || wanted
            .elements()
            .all(|one| array.elements().any(|element| compare_raw(element, one).is_eq()))
}

impl Relation {
    /// Its operator.
    pub(super) fn operator(self) -> &'static str {
        match self {
            Self::Equal => "$eq",
            Self::Less => "$lt",
            Self::AtMost => "$lte",
            Self::Greater => "$gt",
            Self::AtLeast => "$gte",
        }
    }

    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl Operand {
    pub(super) fn of(node: Node<'_>) -> Self {
        Self(node.raw().into())
    }

    pub(super) fn node(&self) -> Node<'_> {
        Node::root(&self.0)
    }
}
