//! A naive implementation of the same rules, which interprets a selector as a tree at each evaluation.

use super::super::{Selector, SelectorError};
use crate::collation::COLLATOR;
use crate::collation::tests::model::{Tree, points};
use feedsync_formats::json::Node;

/// A value whose derived equality and order are the required ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Canon {
    Null,
    False,
    True,
    Number(i128),
    Text(Vec<u32>),
    List(Vec<Canon>),
    Map(Vec<(Vec<u32>, Canon)>),
    /// An id, and a text that is compared with one. These are the greatest values there.
    Id(Vec<u32>),
}

/// Subject of a part of a selector.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Document,
    Id,
    Value,
    /// Elements and names, and values in them. There `$not` holds if the negated condition fails.
    Element,
}

/// Meaning of negations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// A negation fails if the field is missing.
    Query,
    /// A negation holds if the negated condition fails.
    Filter,
}

/// Subject of a condition.
#[derive(Clone, Copy)]
enum At<'a> {
    Value(&'a Tree),
    Missing,
    BadPath,
}

impl Meaning {
    /// Parses a selector that has this meaning.
    pub(super) fn parse(self, node: Node<'_>) -> Result<Selector, SelectorError> {
        match self {
            Self::Query => Selector::parse(node),
            Self::Filter => Selector::parse_filter(node),
        }
    }
}

/// A value in the order of values at this place: texts are sort keys, or code points for ids.
fn canon(tree: &Tree, scope: Scope) -> Canon {
    let text = |text: &[u32]| match scope {
        Scope::Id => text.to_vec(),
        _ => sort_key(text),
    };
    match tree {
        Tree::Null => Canon::Null,
        Tree::Boolean(false) => Canon::False,
        Tree::Boolean(true) => Canon::True,
        Tree::Number(number, power) => {
            Canon::Number(i128::from(*number) * 10_i128.pow((power + 6) as u32))
        }
        Tree::Text(points) if scope == Scope::Id => Canon::Id(text(points)),
        Tree::Text(points) => Canon::Text(text(points)),
        Tree::List(list) => Canon::List(list.iter().map(|one| canon(one, scope)).collect()),
        Tree::Map(map) => {
            Canon::Map(map.iter().map(|(name, value)| (text(name), canon(value, scope))).collect())
        }
    }
}

fn sort_key(text: &[u32]) -> Vec<u32> {
    let text: String = text.iter().map(|it| char::from_u32(*it).unwrap_or('\u{fffd}')).collect();
    let mut key = Vec::new();
    let Ok(()) = COLLATOR.write_sort_key_to(&text, &mut key);
    key.into_iter().map(u32::from).collect()
}

/// Whether a valid selector matches a document with all its fields.
pub(super) fn matches(selector: &Tree, document: &Tree, meaning: Meaning) -> bool {
    holds(selector, At::Value(document), Scope::Document, meaning)
}

fn holds(selector: &Tree, at: At<'_>, scope: Scope, meaning: Meaning) -> bool {
    match conditions(selector, scope) {
        Some(conditions) => conditions.iter().all(|(name, argument)| {
            let name = shown(name);
            match name.strip_prefix('$') {
                Some(operator) => operate(operator, argument, at, (scope, meaning)),
                None => holds(argument, find(&name, at), scope_of(&name, scope), meaning),
            }
        }),
        None => equals(selector, at, scope),
    }
}

/// Whether the negation of a part of a query holds, if it is moved down to the conditions.
fn is_refuted(selector: &Tree, at: At<'_>, scope: Scope) -> bool {
    let Some(conditions) = conditions(selector, scope) else {
        return matches!(at, At::Value(_)) && !equals(selector, at, scope);
    };
    let refuted = |one: &Tree| is_refuted(one, at, scope);
    let held = |one: &Tree| holds(one, at, scope, Meaning::Query);
    conditions.iter().any(|(name, argument)| match &*shown(name) {
        "$and" => list(argument).iter().any(refuted),
        "$or" => !list(argument).is_empty() && list(argument).iter().all(refuted),
        "$nor" => list(argument).iter().any(held),
        "$not" => held(argument),
        "$default" => false,
        "$exists" => match at {
            At::Value(_) => *argument == Tree::Boolean(false),
            At::Missing => *argument == Tree::Boolean(true),
            At::BadPath => false,
        },
        name => match name.strip_prefix('$') {
            Some(operator) => {
                matches!(at, At::Value(_))
                    && !operate(operator, argument, at, (scope, Meaning::Query))
            }
            None => is_refuted(argument, find(name, at), scope_of(name, scope)),
        },
    })
}

/// The conditions of a selector; `None` for a value that is tested for equality.
fn conditions(selector: &Tree, scope: Scope) -> Option<&[(Vec<u32>, Tree)]> {
    match selector {
        Tree::Map(conditions) if scope == Scope::Document || !conditions.is_empty() => {
            Some(conditions)
        }
        _ => None,
    }
}

fn equals(operand: &Tree, at: At<'_>, scope: Scope) -> bool {
    matches!(at, At::Value(value) if canon(value, scope) == canon(operand, scope))
}

fn scope_of(field: &str, scope: Scope) -> Scope {
    match field {
        "_id" if scope == Scope::Document => Scope::Id,
        _ if scope == Scope::Element => Scope::Element,
        _ => Scope::Value,
    }
}

fn operate(operator: &str, argument: &Tree, at: At<'_>, how: (Scope, Meaning)) -> bool {
    let (scope, meaning) = how;
    let held = |one: &Tree| holds(one, at, scope, meaning);
    let fails = |one: &Tree| match (meaning, scope) {
        (Meaning::Filter, _) | (_, Scope::Element) => !held(one),
        _ => is_refuted(one, at, scope),
    };
    // A negation of a filter holds for a missing value, and also for a bad path.
    let may_be_missing = meaning == Meaning::Filter;
    // Operators that may hold for a missing value.
    match (operator, at) {
        ("and", _) => return list(argument).iter().all(held),
        ("or", _) => return list(argument).is_empty() || list(argument).iter().any(held),
        ("nor", _) => return list(argument).iter().all(fails),
        ("not", _) => return fails(argument),
        ("default", _) => return true,
        ("exists", At::Value(_)) => return *argument == Tree::Boolean(true),
        ("exists", At::Missing) => return *argument == Tree::Boolean(false),
        ("exists", At::BadPath) => return may_be_missing && *argument == Tree::Boolean(false),
        ("ne" | "nin", At::Missing | At::BadPath) => return may_be_missing,
        ("ne", _) => return !operate("eq", argument, at, how),
        ("nin", _) => return !operate("in", argument, at, how),
        _ => {}
    }
    let At::Value(value) = at else { return false };
    let inner = |one: &Tree| holds(argument, At::Value(one), Scope::Element, meaning);
    let (left, right) = (canon(value, scope), canon(argument, scope));
    let equal = |one: &Tree, other: &Tree, scope| canon(one, scope) == canon(other, scope);
    let has = |one: &Tree| match value {
        Tree::List(elements) => elements.iter().any(|element| equal(element, one, scope)),
        _ => equal(value, one, scope),
    };
    match (operator, value) {
        ("eq", _) => left == right,
        ("lt", _) => left < right,
        ("lte", _) => left <= right,
        ("gt", _) => left > right,
        ("gte", _) => left >= right,
        ("in", _) => list(argument).iter().any(has),
        ("all", Tree::List(elements)) => {
            // `$all` compares by code points.
            let has = |one| elements.iter().any(|element| equal(element, one, Scope::Id));
            let all = list(argument);
            let is_only = all.len() == 1 && equal(value, &all[0], Scope::Id);
            !all.is_empty() && (all.iter().all(has) || is_only)
        }
        ("type", _) => Some(argument) == Some(&Tree::Text(points(type_of(value)))),
        ("size", Tree::List(elements)) => *argument == Tree::Number(elements.len() as i64, 0),
        ("mod", Tree::Number(number, 0)) => match list(argument) {
            [Tree::Number(divisor, 0), remainder] => {
                *remainder == Tree::Number(number % divisor, 0)
            }
            _ => unreachable!(),
        },
        ("beginsWith", Tree::Text(text)) => match argument {
            Tree::Text(prefix) => text.starts_with(prefix),
            _ => unreachable!(),
        },
        ("elemMatch", Tree::List(elements)) => elements.iter().any(inner),
        ("allMatch", Tree::List(elements)) => !elements.is_empty() && elements.iter().all(inner),
        ("keyMapMatch", Tree::Map(members)) => {
            members.iter().any(|(name, _)| inner(&Tree::Text(name.clone())))
        }
        _ => false,
    }
}

/// Follows a path, one name at a time.
fn find<'a>(path: &str, at: At<'a>) -> At<'a> {
    let dot =
        (0..path.len()).find(|at| path.as_bytes()[*at] == b'.' && !path[..*at].ends_with('\\'));
    let (name, rest) = match dot {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    };
    let name = name.replace('\\', "");
    let found = match at {
        At::Value(Tree::Map(members)) => {
            let member = members.iter().find(|member| member.0 == points(&name));
            member.map_or(At::Missing, |member| At::Value(&member.1))
        }
        At::Value(Tree::List(elements)) => {
            let element = name.parse::<usize>().ok().and_then(|index| elements.get(index));
            element.map_or(At::BadPath, At::Value)
        }
        At::Value(_) | At::BadPath => At::BadPath,
        At::Missing => At::Missing,
    };
    match rest {
        Some(rest) => find(rest, found),
        None => found,
    }
}

fn list(tree: &Tree) -> &[Tree] {
    match tree {
        Tree::List(list) => list,
        _ => unreachable!("not a list: {tree:?}"),
    }
}

fn shown(text: &[u32]) -> String {
    text.iter().map(|point| char::from_u32(*point).unwrap()).collect()
}

fn type_of(value: &Tree) -> &'static str {
    match value {
        Tree::Null => "null",
        Tree::Boolean(_) => "boolean",
        Tree::Number(..) => "number",
        Tree::Text(_) => "string",
        Tree::List(_) => "array",
        Tree::Map(_) => "object",
    }
}
