//! Parser of selectors.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Member, Node};
use regex::bytes::{Regex, RegexBuilder};

use super::bounds::{
    MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_PATTERNS, SelectorError,
};
use super::rule::{Operand, Relation, Rule, Test};
use crate::collation::Text;

/// Maximum memory of a compiled `$regex`, which limits the time for each byte.
const PATTERN_MEMORY: usize = 64 << 10;

/// Subject of a part of a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Documents: no field is named yet.
    Document,
    /// Values: of a field, elements, or names.
    Value,
}

/// Meaning of `$ne`, `$nin` and `{"$exists": false}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Negations {
    /// They are tests of a value. Only `$exists` holds if there is none, and not if the path is bad.
    OfValues,
    /// They hold exactly if `$eq`, `$in` or `{"$exists": true}` does not.
    Pure,
}

pub(super) struct Parser<'a> {
    negations: Negations,
    conditions: usize,
    patterns: usize,
    /// The enclosing fields.
    fields: Vec<Cow<'a, str>>,
}

impl<'a> Parser<'a> {
    pub(super) fn read(node: Node<'a>, negations: Negations) -> Result<Rule, SelectorError> {
        if node.kind() != Kind::Object {
            return Err(SelectorError::NotAnObject);
        }
        if node.raw().len() > MAX_BYTES {
            return Err(SelectorError::TooLong);
        }
        if node.is_deeper_than(MAX_LEVELS) {
            return Err(SelectorError::TooDeep);
        }
        Parser { negations, conditions: 0, patterns: 0, fields: Vec::new() }
            .object(node, Scope::Document)
    }

    /// Parses a condition: an object of conditions, or a value that must be equal.
    fn rule(&mut self, node: Node<'a>, scope: Scope) -> Result<Rule, SelectorError> {
        self.count()?;
        match node.kind() {
            Kind::Object => self.object(node, scope),
            _ => Ok(relation(Relation::Equal, node)),
        }
    }

    fn object(&mut self, node: Node<'a>, scope: Scope) -> Result<Rule, SelectorError> {
        let mut rules = node
            .members()
            .map(|member| self.condition(member, scope))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(match rules.len() {
            0 if scope == Scope::Value => relation(Relation::Equal, node),
            1 => rules.remove(0),
            _ => Rule::All(rules),
        })
    }

    fn condition(&mut self, member: Member<'a>, scope: Scope) -> Result<Rule, SelectorError> {
        self.count()?;
        if member.name.starts_with('$') {
            return match self.combination(&member.name, member.value, scope)? {
                Some(rule) => Ok(rule),
                None => self.test(&member.name, member.value, scope),
            };
        }
        let is_text = Text::of(Node::root(member.raw())).to_text().is_some();
        let path = path(&member.name);
        self.fields.push(member.name);
        let Some(path) = path.filter(|_| is_text) else {
            return Err(SelectorError::FieldName { field: self.field() });
        };
        // Attachments are not evaluated, and must not be treated as absent.
        if scope == Scope::Document && path.first().is_some_and(|name| name == "_attachments") {
            return Err(SelectorError::Attachments);
        }
        let rule = self.rule(member.value, Scope::Value)?;
        self.fields.pop();
        Ok(Rule::Field(path, Box::new(rule)))
    }

    /// Parses the operators that apply to documents as well as to values.
    fn combination(
        &mut self,
        operator: &str,
        argument: Node<'a>,
        scope: Scope,
    ) -> Result<Option<Rule>, SelectorError> {
        Ok(Some(match operator {
            "$and" => Rule::All(self.rules("$and", argument, scope)?),
            "$or" => match self.rules("$or", argument, scope)? {
                rules if rules.is_empty() => Rule::All(rules),
                rules => Rule::Any(rules),
            },
            "$nor" => {
                let rules = self.rules("$nor", argument, scope)?;
                Rule::All(rules.into_iter().map(negation).collect())
            }
            "$not" => negation(self.selector("$not", argument, scope)?),
            "$default" if scope == Scope::Document => {
                let text = argument.member("$text").map(|text| text.value.kind());
                match (text, argument.members().count()) {
                    (Some(Kind::String | Kind::Number | Kind::Boolean), 1) => Rule::All(Vec::new()),
                    _ => return Err(self.bad("$default", "an object with $text")),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// Parses the operators that apply to a value only.
    fn test(
        &mut self,
        operator: &str,
        argument: Node<'a>,
        scope: Scope,
    ) -> Result<Rule, SelectorError> {
        let test = match operator {
            "$eq" => return self.at_value(operator, scope, relation(Relation::Equal, argument)),
            "$ne" => {
                let rule = self.negated(Test::Relation(Relation::Equal, Operand::of(argument)));
                return self.at_value(operator, scope, rule);
            }
            "$lt" => Test::Relation(Relation::Less, Operand::of(argument)),
            "$lte" => Test::Relation(Relation::AtMost, Operand::of(argument)),
            "$gt" => Test::Relation(Relation::Greater, Operand::of(argument)),
            "$gte" => Test::Relation(Relation::AtLeast, Operand::of(argument)),
            "$in" => Test::In(self.array("$in", argument)?),
            "$nin" => {
                let rule = self.negated(Test::In(self.array("$nin", argument)?));
                return self.at_value(operator, scope, rule);
            }
            "$all" => Test::All(self.array("$all", argument)?),
            "$exists" => match argument.raw() {
                "true" => Test::Exists(true),
                "false" => {
                    let rule = self.negated(Test::Exists(true));
                    return self.at_value(operator, scope, rule);
                }
                _ => return Err(self.bad("$exists", "true or false")),
            },
            "$type" => match argument.string() {
                Some(name) => Test::Kind { kind: kind(&name), name: Operand::of(argument) },
                None => return Err(self.bad("$type", "the name of a type")),
            },
            "$size" => match argument.raw().parse() {
                Ok(size) => Test::Size(size),
                Err(_) => return Err(self.bad("$size", "a length")),
            },
            "$mod" => self.remainder(argument)?,
            "$beginsWith" => match argument.kind() {
                Kind::String => Test::Begins(Operand::of(argument)),
                _ => return Err(self.bad("$beginsWith", "a string")),
            },
            "$regex" => Test::Matches(self.pattern(argument)?),
            "$elemMatch" => Test::Element(self.inner("$elemMatch", argument)?),
            "$allMatch" => Test::EachElement(self.inner("$allMatch", argument)?),
            "$keyMapMatch" => Test::Name(self.inner("$keyMapMatch", argument)?),
            _ => {
                let operator = operator.into();
                return Err(SelectorError::UnknownOperator { operator, field: self.field() });
            }
        };
        self.at_value(operator, scope, Rule::Test(test))
    }

    fn negated(&self, test: Test) -> Rule {
        match self.negations {
            Negations::OfValues => Rule::Test(test.negated()),
            Negations::Pure => negation(Rule::Test(test)),
        }
    }

    fn at_value(&self, operator: &str, scope: Scope, rule: Rule) -> Result<Rule, SelectorError> {
        match scope {
            Scope::Value => Ok(rule),
            Scope::Document => Err(SelectorError::NoField { operator: operator.into() }),
        }
    }

    fn rules(
        &mut self,
        operator: &'static str,
        argument: Node<'a>,
        scope: Scope,
    ) -> Result<Vec<Rule>, SelectorError> {
        let mut elements = argument.elements();
        let fit = scope == Scope::Value || elements.all(|one| one.kind() == Kind::Object);
        if argument.kind() != Kind::Array || !fit {
            return Err(self.bad(operator, "an array of selectors"));
        }
        argument.elements().map(|element| self.rule(element, scope)).collect()
    }

    fn selector(
        &mut self,
        operator: &'static str,
        argument: Node<'a>,
        scope: Scope,
    ) -> Result<Rule, SelectorError> {
        match argument.kind() {
            Kind::Object => self.rule(argument, scope),
            _ => Err(self.bad(operator, "a selector")),
        }
    }

    fn inner(
        &mut self,
        operator: &'static str,
        argument: Node<'a>,
    ) -> Result<Box<Rule>, SelectorError> {
        self.selector(operator, argument, Scope::Value).map(Box::new)
    }

    fn array(&self, operator: &'static str, argument: Node<'_>) -> Result<Operand, SelectorError> {
        match argument.kind() {
            Kind::Array => Ok(Operand::of(argument)),
            _ => Err(self.bad(operator, "an array")),
        }
    }

    fn remainder(&self, argument: Node<'_>) -> Result<Test, SelectorError> {
        let integers: Option<Vec<i64>> =
            argument.elements().map(|element| element.raw().parse().ok()).collect();
        match integers.as_deref() {
            Some(&[divisor, remainder]) if divisor != 0 => {
                Ok(Test::Remainder { divisor, remainder })
            }
            _ => Err(self.bad("$mod", "two integers, of which the first is not zero")),
        }
    }

    fn pattern(&mut self, argument: Node<'_>) -> Result<Regex, SelectorError> {
        if argument.kind() != Kind::String {
            return Err(self.bad("$regex", "a string"));
        }
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(SelectorError::TooManyPatterns { field: self.field() });
        }
        let pattern = Text::of(argument).to_text();
        let Some(pattern) = pattern.filter(|pattern| pattern.len() <= MAX_PATTERN_BYTES) else {
            return Err(self.bad("$regex", "a string of at most 1000 bytes"));
        };
        RegexBuilder::new(&pattern).unicode(false).size_limit(PATTERN_MEMORY).build().map_err(
            |error| SelectorError::BadPattern { field: self.field(), reason: error.to_string() },
        )
    }

    fn count(&mut self) -> Result<(), SelectorError> {
        self.conditions += 1;
        match self.conditions > MAX_CONDITIONS {
            true => Err(SelectorError::TooManyConditions),
            false => Ok(()),
        }
    }

    fn bad(&self, operator: &'static str, expected: &'static str) -> SelectorError {
        SelectorError::BadArgument { operator, field: self.field(), expected }
    }

    fn field(&self) -> String {
        self.fields.join(".")
    }
}

fn relation(relation: Relation, operand: Node<'_>) -> Rule {
    Rule::Test(Test::Relation(relation, Operand::of(operand)))
}

fn negation(rule: Rule) -> Rule {
    Rule::Not(Box::new(rule))
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "number" => Kind::Number,
        "string" => Kind::String,
        "array" => Kind::Array,
        "object" => Kind::Object,
        _ => return None,
    })
}

/// Splits a path at its dots, except those after a backslash, and removes the backslashes. No name is empty,
/// unless it is written as a backslash.
pub(crate) fn path(field: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut written = 0;
    let mut last = None;
    for character in field.chars() {
        match character {
            '.' if last != Some('\\') => {
                if written == 0 {
                    return None;
                }
                names.push(String::new());
                written = 0;
            }
            _ => {
                written += 1;
                if character != '\\' {
                    names.last_mut()?.push(character);
                }
            }
        }
        last = Some(character);
    }
    (written > 0).then_some(names)
}
