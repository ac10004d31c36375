//! The comparisons of a field that every matching document passes.

use feedsync_formats::json::Node;

use super::Selector;
use super::rule::{Relation, Rule, Test};

impl Selector {
    /// Calls a function with each comparison of the field at a path, except those in alternatives and negations.
    pub(crate) fn comparisons(&self, path: &[String], visit: &mut dyn FnMut(Relation, Node<'_>)) {
        of(&self.rule, path, visit);
    }
}

fn of(rule: &Rule, path: &[String], visit: &mut dyn FnMut(Relation, Node<'_>)) {
    match rule {
        Rule::All(rules) => rules.iter().for_each(|rule| of(rule, path, visit)),
        Rule::Field(names, rule) => {
            if let Some(rest) = path.strip_prefix(names.as_slice()) {
                of(rule, rest, visit);
            }
        }
        Rule::Test(Test::Relation(relation, operand)) if path.is_empty() => {
            visit(*relation, operand.node());
        }
        _ => {}
    }
}
