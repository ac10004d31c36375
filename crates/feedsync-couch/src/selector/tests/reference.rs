//! A naive implementation of the same rules, which interprets a selector as a tree at each evaluation.

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

pub(super) fn canon(tree: &Tree) -> Canon {
    match tree {
        Tree::Null => Canon::Null,
        Tree::Boolean(false) => Canon::False,
        Tree::Boolean(true) => Canon::True,
        Tree::Number(number, power) => {
            Canon::Number(i128::from(*number) * 10_i128.pow((power + 6) as u32))
        }
        Tree::Text(text) => Canon::Text(text.clone()),
        Tree::List(list) => Canon::List(list.iter().map(canon).collect()),
        Tree::Map(map) => {
            let mut first = std::collections::BTreeMap::new();
            for (name, value) in map {
                first.entry(name.clone()).or_insert_with(|| canon(value));
            }
            Canon::Map(first.into_iter().collect())
        }
    }
}

/// Whether a valid selector matches a document with all its fields.
pub(super) fn matches(selector: &Tree, document: &Tree) -> bool {
    holds(selector, Some(document), true)
}

fn holds(selector: &Tree, at: Option<&Tree>, is_document: bool) -> bool {
    match selector {
        Tree::Map(conditions) if is_document || !conditions.is_empty() => {
            conditions.iter().all(|(name, argument)| {
                let name = shown(name);
                match name.strip_prefix('$') {
                    Some(operator) => operate(operator, argument, at, is_document),
                    None => holds(argument, find(&name, at), false),
                }
            })
        }
        _ => at.is_some_and(|value| canon(value) == canon(selector)),
    }
}

fn operate(operator: &str, argument: &Tree, at: Option<&Tree>, is_document: bool) -> bool {
    let each = |argument: &Tree| -> Vec<bool> {
        list(argument).iter().map(|one| holds(one, at, is_document)).collect()
    };
    // Operators that may hold for a missing value.
    match operator {
        "and" => return each(argument).into_iter().all(|one| one),
        "or" => return list(argument).is_empty() || each(argument).contains(&true),
        "nor" => return !each(argument).contains(&true),
        "not" => return !holds(argument, at, is_document),
        "ne" => return !operate("eq", argument, at, is_document),
        "nin" => return !operate("in", argument, at, is_document),
        "exists" => return *argument == Tree::Boolean(at.is_some()),
        "default" => return true,
        _ => {}
    }
    let Some(value) = at else { return false };
    let (left, right) = (canon(value), canon(argument));
    let has = |one: &Tree| match value {
        Tree::List(elements) => elements.iter().any(|element| canon(element) == canon(one)),
        _ => left == canon(one),
    };
    match (operator, value) {
        ("eq", _) => left == right,
        ("lt", _) => left < right,
        ("lte", _) => left <= right,
        ("gt", _) => left > right,
        ("gte", _) => left >= right,
        ("in", _) => list(argument).iter().any(has),
        ("all", Tree::List(_)) => {
            let all = list(argument);
            !all.is_empty() && (all.iter().all(has) || (all.len() == 1 && left == canon(&all[0])))
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
            elements.iter().any(|element| holds(argument, Some(element), false))
        }
        ("allMatch", Tree::List(elements)) => {
            !elements.is_empty()
                && elements.iter().all(|element| holds(argument, Some(element), false))
        }
        ("keyMapMatch", Tree::Map(members)) => {
            members.iter().any(|(name, _)| holds(argument, Some(&Tree::Text(name.clone())), false))
        }
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
