//! Negations, moved down to the tests of values, as CouchDB does it before it evaluates a selector.
//!
//! `$not` of `$and` is `$or` of the negated conditions, and `$not` of `$or` is `$and` of them. A field is negated by
//! negating its condition, and `$not` of `$not` is nothing. A negated test needs a value, as every test does except
//! `{"$exists": false}`.
//!
//! The conditions of `$elemMatch`, `$allMatch` and `$keyMapMatch` stay as they are.

use super::rule::{Relation, Rule, Test};

impl Rule {
    /// The condition with its negations moved down.
    pub(super) fn with_negations_at_tests(self) -> Self {
        match self {
            Self::All(rules) => Self::All(each(rules, Self::with_negations_at_tests)),
            Self::Any(rules) => Self::Any(each(rules, Self::with_negations_at_tests)),
            Self::Field(path, rule) => Self::Field(path, Box::new(rule.with_negations_at_tests())),
            Self::Not(rule) => rule.negated(),
            Self::Test(test) => Self::Test(test),
        }
    }

    fn negated(self) -> Self {
        match self {
            // An empty `$or` holds. It cannot express that no document matches.
            Self::All(rules) if rules.is_empty() => Self::Not(Box::new(Self::All(rules))),
            Self::All(rules) => Self::Any(each(rules, Self::negated)),
            Self::Any(rules) => Self::All(each(rules, Self::negated)),
            Self::Field(path, rule) => Self::Field(path, Box::new(rule.negated())),
            Self::Not(rule) => rule.with_negations_at_tests(),
            Self::Test(test) => Self::Test(test.negated()),
        }
    }
}

fn each(rules: Vec<Rule>, change: fn(Rule) -> Rule) -> Vec<Rule> {
    rules.into_iter().map(change).collect()
}

impl Test {
    /// The test that exactly the other values pass.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Exists(exists) => Self::Exists(!exists),
            Self::Not(test) => *test,
            Self::Relation(Relation::Less, operand) => Self::Relation(Relation::AtLeast, operand),
            Self::Relation(Relation::AtMost, operand) => Self::Relation(Relation::Greater, operand),
            Self::Relation(Relation::Greater, operand) => Self::Relation(Relation::AtMost, operand),
            Self::Relation(Relation::AtLeast, operand) => Self::Relation(Relation::Less, operand),
            other => Self::Not(Box::new(other)),
        }
    }
}
