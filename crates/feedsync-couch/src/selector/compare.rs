//! The order of JSON values.

use std::cmp::Ordering;

use feedsync_formats::json::{Kind, Node};

use crate::collation::Text;
use crate::collation::number;

/// Compares two values: by kind, then by value. The recursion is as deep as the shallower value, and a
/// selector's depth is limited.
pub(super) fn compare(one: Node<'_>, other: Node<'_>) -> Ordering {
    rank(one).cmp(&rank(other)).then_with(|| match one.kind() {
        Kind::Null | Kind::Boolean => Ordering::Equal,
        Kind::Number => number::compare(one.raw(), other.raw()),
        Kind::String => Text::of(one).compare(Text::of(other)),
        Kind::Array => each(one.elements(), other.elements(), compare),
        Kind::Object => each(sorted(one), sorted(other), |(name, value), (name2, value2)| {
            name.compare(name2).then_with(|| compare(value, value2))
        }),
    })
}

fn rank(node: Node<'_>) -> u8 {
    match node.kind() {
        Kind::Null => 0,
        Kind::Boolean if node.raw() == "false" => 1,
        Kind::Boolean => 2,
        Kind::Number => 3,
        Kind::String => 4,
        Kind::Array => 5,
        Kind::Object => 6,
    }
}

/// Lexicographic order; a proper prefix is less.
fn each<T>(
    one: impl IntoIterator<Item = T>,
    other: impl IntoIterator<Item = T>,
    compare: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    loop {
        let order = match (one.next(), other.next()) {
            (Some(one), Some(other)) => compare(one, other),
            (one, other) => return one.is_some().cmp(&other.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// The members sorted by name; of several members with one name, the first.
fn sorted(object: Node<'_>) -> Vec<(Text<'_>, Node<'_>)> {
    let mut members: Vec<_> =
        object.members().map(|member| (Text::of(Node::root(member.raw())), member.value)).collect();
    members.sort_by(|one, other| one.0.compare(other.0));
    members.dedup_by(|later, first| later.0.compare(first.0).is_eq());
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_their_order() {
        let order = [
            "null",
            "false",
            "true",
            "-1",
            "0",
            "\"\"",
            "\"a\"",
            "[]",
            "[null]",
            "[null,null]",
            "[1]",
            "[{}]",
            "{}",
            "{\"a\":1}",
            "{\"b\":0,\"a\":1}",
            "{\"a\":2}",
            "{\"b\":0}",
        ];
        for (at, one) in order.iter().enumerate() {
            for (other_at, other) in order.iter().enumerate() {
                let order = compare(Node::root(one), Node::root(other));
                assert_eq!(order, at.cmp(&other_at), "{one} {other}");
            }
        }
    }

    #[test]
    fn members_have_no_order_and_the_first_of_a_name_counts() {
        for (one, other) in [
            ("{\"a\":1,\"b\":[2]}", "{ \"b\" : [ 2.0 ] , \"\\u0061\" : 1e0 }"),
            ("{\"a\":1,\"a\":2}", "{\"a\":1}"),
        ] {
            assert!(compare(Node::root(one), Node::root(other)).is_eq(), "{one} {other}");
        }
        let halves = ["{\"\\ud800\":1}", "{\"\\ud801\":1}", "{\"\u{fffd}\":1}"].map(Node::root);
        assert!(compare(halves[0], halves[1]).is_lt() && compare(halves[1], halves[2]).is_lt());
    }
}
