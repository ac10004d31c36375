//! A naive implementation of the same rules, which interprets a selector as a tree at each evaluation.

use crate::collation::COLLATOR;
use crate::collation::tests::model::{Tree, points};

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
}

/// Subject of a part of a selector.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Document,
    Id,
    Value,
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
pub(super) fn matches(selector: &Tree, document: &Tree) -> bool {
    holds(selector, Some(document), Scope::Document)
}

fn holds(selector: &Tree, at: Option<&Tree>, scope: Scope) -> bool {
    match selector {
        Tree::Map(conditions) if scope == Scope::Document || !conditions.is_empty() => {
            conditions.iter().all(|(name, argument)| {
                let name = shown(name);
                match name.strip_prefix('$') {
                    Some(operator) => operate(operator, argument, at, scope),
                    None if scope == Scope::Document && name == "_id" => {
                        holds(argument, find(&name, at), Scope::Id)
                    }
                    None => holds(argument, find(&name, at), Scope::Value),
                }
            })
        }
        _ => at.is_some_and(|value| canon(value, scope) == canon(selector, scope)),
    }
}

fn operate(operator: &str, argument: &Tree, at: Option<&Tree>, scope: Scope) -> bool {
    let each = |argument: &Tree| -> Vec<bool> {
        list(argument).iter().map(|one| holds(one, at, scope)).collect()
    };
    // Operators that may hold for a missing value.
    match operator {
        "and" => return each(argument).into_iter().all(|one| one),
        "or" => return list(argument).is_empty() || each(argument).contains(&true),
        "nor" => return !each(argument).contains(&true),
        "not" => return !holds(argument, at, scope),
        "ne" => return !operate("eq", argument, at, scope),
        "nin" => return !operate("in", argument, at, scope),
        "exists" => return *argument == Tree::Boolean(at.is_some()),
        "default" => return true,
        _ => {}
    }
    let Some(value) = at else { return false };
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
        ("elemMatch", Tree::List(elements)) => {
            elements.iter().any(|element| holds(argument, Some(element), Scope::Value))
        }
        ("allMatch", Tree::List(elements)) => {
            !elements.is_empty()
                && elements.iter().all(|element| holds(argument, Some(element), Scope::Value))
        }
        ("keyMapMatch", Tree::Map(members)) => members
            .iter()
            .any(|(name, _)| holds(argument, Some(&Tree::Text(name.clone())), Scope::Value)),
        _ => false,
    }
}

/// Follows a path, one name at a time.
fn find<'a>(path: &str, at: Option<&'a Tree>) -> Option<&'a Tree> {
    let dot =
        (0..path.len()).find(|at| path.as_bytes()[*at] == b'.' && !path[..*at].ends_with('\\'));
    let (name, rest) = match dot {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    };
    let name = name.replace('\\', "");
    let found = match at? {
        Tree::Map(members) => {
            members.iter().find(|member| member.0 == points(&name)).map(|member| &member.1)
        }
        Tree::List(elements) => elements.get(name.parse::<usize>().ok()?),
        _ => None,
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
