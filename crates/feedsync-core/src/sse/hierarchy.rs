//! Ordered and hierarchical feeds: positions of items, and cycles (3.2, 4.4.2).
//!
//! SSE writes no positions. Here the position of an item is the one that its winning version claimed when it
//! won: a parent and an index (reading 25, R-S9). The claim belongs to the version: a move is an update
//! (S27), the winner keeps its own position (S28) and stays with its parent (S30). The tree is computed from
//! all claims, with the same result at every endpoint that holds the same ones.

use std::collections::{BTreeMap, HashMap};

use crate::identifier::ItemId;

/// Position that an item claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TreePosition {
    /// The item above it; `None` at the root (`channel`, `body`).
    pub parent: Option<ItemId>,
    /// Its index among its siblings, from 0.
    pub index: u64,
}

/// An item and its claimed position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The item.
    pub id: ItemId,
    /// Its position.
    pub position: TreePosition,
}

/// The children of each item that has any, in order; `None` is the root.
pub type Tree = BTreeMap<Option<ItemId>, Vec<ItemId>>;

/// Orders items by their claims, in any order of arrival (3.2, S26 to S30).
///
/// Siblings are ordered by index; those with one position, by id (S29). An unknown parent counts as the root
/// until it arrives (R-S11). Of each cycle the item with the lowest id moves to the end of the root with its
/// subtree, several of them by id (R-S13). So every item is in the tree exactly once. Of several claims of
/// one id the last counts.
pub fn order(claims: &[Claim]) -> Tree {
    let known: HashMap<&ItemId, &TreePosition> =
        claims.iter().map(|claim| (&claim.id, &claim.position)).collect();
    let moved = cycles(known.iter().map(|(id, position)| (*id, position.parent.as_ref())));
    let mut children: BTreeMap<Option<&ItemId>, Vec<(bool, u64, &ItemId)>> = BTreeMap::new();
    for (&id, position) in &known {
        let to_the_end = moved.binary_search(id).is_ok();
        let parent = position.parent.as_ref();
        let parent = parent.filter(|parent| !to_the_end && known.contains_key(parent));
        let index = if to_the_end { 0 } else { position.index };
        children.entry(parent).or_default().push((to_the_end, index, id));
    }
    let sorted = |mut siblings: Vec<(bool, u64, &ItemId)>| {
        siblings.sort_unstable();
        siblings.into_iter().map(|(_, _, id)| id.clone()).collect()
    };
    children.into_iter().map(|(parent, list)| (parent.cloned(), sorted(list))).collect()
}

/// Cycle detection (4.4.2, S45; reading 26), after all items of a feed are merged: the items that the
/// endpoint must put at the end of the root and flag as in conflict (S46, S47), in ascending order. Their
/// version stays, so the flag is not sent to others. A parent that is not among the items is the root.
///
/// The specification walks up from each item in ascending order and moves the one that reaches itself. The
/// lowest of a cycle is the first to do so, and its move breaks the cycle. So the result is the lowest id of
/// each cycle.
pub fn cycles<'a>(
    parents: impl IntoIterator<Item = (&'a ItemId, Option<&'a ItemId>)>,
) -> Vec<ItemId> {
    let parents: HashMap<&ItemId, Option<&ItemId>> = parents.into_iter().collect();
    // Index of the walk that visited an item first; an item that its own walk visits again closes a cycle.
    let mut met: HashMap<&ItemId, usize> = HashMap::with_capacity(parents.len());
    let mut lowest_of_each = Vec::new();
    for (walk, &start) in parents.keys().enumerate() {
        let mut next = Some(start);
        while let Some(id) = next.filter(|id| parents.contains_key(id)) {
            match met.get(id) {
                None => {
                    met.insert(id, walk);
                    next = parents.get(id).copied().flatten();
                }
                Some(&earlier) => {
                    if earlier == walk {
                        lowest_of_each.push(lowest_of_cycle(&parents, id));
                    }
                    break;
                }
            }
        }
    }
    lowest_of_each.sort_unstable();
    lowest_of_each
}

/// The lowest id of the cycle that contains this item.
fn lowest_of_cycle(parents: &HashMap<&ItemId, Option<&ItemId>>, start: &ItemId) -> ItemId {
    let mut lowest = start;
    let mut next = parents.get(start).copied().flatten();
    while let Some(id) = next.filter(|id| *id != start) {
        lowest = lowest.min(id);
        next = parents.get(id).copied().flatten();
    }
    lowest.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ItemId {
        ItemId::new(text).unwrap()
    }

    fn claim(item: &str, parent: &str, index: u64) -> Claim {
        let parent = (!parent.is_empty()).then(|| id(parent));
        Claim { id: id(item), position: TreePosition { parent, index } }
    }

    fn tree(claims: &[Claim]) -> Vec<(String, Vec<String>)> {
        let name = |id: &ItemId| id.as_str().to_owned();
        order(claims)
            .iter()
            .map(|(parent, children)| {
                let parent = parent.as_ref().map_or_else(String::new, name);
                (parent, children.iter().map(name).collect())
            })
            .collect()
    }

    fn expect(claims: &[Claim], expected: &[(&str, &[&str])]) {
        let expected: Vec<(String, Vec<String>)> = expected
            .iter()
            .map(|(parent, ids)| {
                ((*parent).to_owned(), ids.iter().map(|id| (*id).to_owned()).collect())
            })
            .collect();
        let mut claims = claims.to_vec();
        for _ in 0..claims.len() {
            assert_eq!(tree(&claims), expected);
            claims.rotate_left(1);
        }
        claims.reverse();
        assert_eq!(tree(&claims), expected);
    }

    fn found(parents: &[(&str, &str)]) -> Vec<String> {
        let nodes: Vec<(ItemId, Option<ItemId>)> = parents
            .iter()
            .map(|(item, parent)| (id(item), (!parent.is_empty()).then(|| id(parent))))
            .collect();
        let mut forward: Vec<String> = cycles(nodes.iter().map(|(id, p)| (id, p.as_ref())))
            .iter()
            .map(ToString::to_string)
            .collect();
        let backward = cycles(nodes.iter().rev().map(|(id, p)| (id, p.as_ref())));
        assert_eq!(forward, backward.iter().map(ToString::to_string).collect::<Vec<_>>());
        forward.dedup();
        forward
    }

    #[test]
    fn siblings_stand_by_index_and_one_place_is_shared_by_id() {
        expect(
            &[claim("z", "", 0), claim("b", "", 1), claim("a", "", 1), claim("c", "", 2)],
            &[("", &["z", "a", "b", "c"])],
        );
    }

    #[test]
    fn a_child_stays_with_its_parent_wherever_that_goes() {
        let before = [claim("p", "", 0), claim("q", "", 1), claim("child", "p", 0)];
        expect(&before, &[("", &["p", "q"]), ("p", &["child"])]);
        let after = [claim("p", "q", 0), claim("q", "", 1), claim("child", "p", 0)];
        expect(&after, &[("", &["q"]), ("p", &["child"]), ("q", &["p"])]);
    }

    #[test]
    fn an_unknown_parent_is_the_root_until_it_arrives() {
        expect(&[claim("a", "", 0), claim("b", "later", 1)], &[("", &["a", "b"])]);
        expect(
            &[claim("a", "", 0), claim("b", "later", 1), claim("later", "", 5)],
            &[("", &["a", "later"]), ("later", &["b"])],
        );
    }

    #[test]
    fn of_each_cycle_the_lowest_goes_to_the_end_of_the_root_with_its_subtree() {
        expect(
            &[claim("a", "c", 0), claim("b", "a", 0), claim("c", "b", 0), claim("z", "", 9)],
            &[("", &["z", "a"]), ("a", &["b"]), ("b", &["c"])],
        );
        expect(
            &[claim("a", "a", 9), claim("b", "b", 0), claim("z", "", 9)],
            &[("", &["z", "a", "b"])],
        );
    }

    #[test]
    fn every_item_is_in_the_tree_once_whatever_is_claimed() {
        // Every function from five items to their parents, the root or an unknown item.
        let names = ["a", "b", "c", "d", "e"];
        let parents = ["", "stranger", "a", "b", "c", "d", "e"];
        for code in 0..7usize.pow(5) {
            let claims: Vec<Claim> = (0..5)
                .map(|n| claim(names[n], parents[code / 7usize.pow(n as u32) % 7], n as u64))
                .collect();
            let tree = order(&claims);
            let mut reached = Vec::new();
            let mut open = vec![None];
            while let Some(parent) = open.pop() {
                for child in tree.get(&parent).into_iter().flatten() {
                    reached.push(child.as_str());
                    open.push(Some(child.clone()));
                }
            }
            reached.sort_unstable();
            assert_eq!(reached, names, "{claims:?}");
        }
    }

    #[test]
    fn cycles_are_found_by_their_lowest_id() {
        assert_eq!(found(&[("a", "b"), ("b", "c"), ("c", "a")]), ["a"]);
        assert_eq!(found(&[("b", "c"), ("c", "b"), ("x", "y"), ("y", "x")]), ["b", "x"]);
        assert_eq!(found(&[("a", "a")]), ["a"]);
        assert_eq!(found(&[("a", ""), ("b", "a"), ("c", "gone")]), Vec::<String>::new());
    }

    #[test]
    fn a_tail_that_leads_into_a_cycle_is_left_where_it_is() {
        assert_eq!(found(&[("a", "m"), ("m", "n"), ("n", "m"), ("z", "a")]), ["m"]);
    }

    #[test]
    fn breaking_cycles_again_changes_nothing() {
        let mut nodes = vec![("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "d")];
        for lowest in found(&nodes) {
            for node in &mut nodes {
                if node.0 == lowest {
                    node.1 = "";
                }
            }
        }
        assert!(found(&nodes).is_empty());
    }

    #[test]
    fn the_walk_of_the_text_and_ours_move_the_same_items() {
        let names = ["a", "b", "c", "d", "e"];
        let parents = ["", "a", "b", "c", "d", "e"];
        for code in 0..6usize.pow(5) {
            let mut map: BTreeMap<&str, &str> =
                (0..5).map(|n| (names[n], parents[code / 6usize.pow(n as u32) % 6])).collect();
            let nodes: Vec<(&str, &str)> = map.iter().map(|(id, parent)| (*id, *parent)).collect();
            let mut moved = Vec::new();
            for item in names {
                let mut seen = vec![];
                let mut at = map[item];
                while !at.is_empty() && at != item && !seen.contains(&at) {
                    seen.push(at);
                    at = map[at];
                }
                if at == item {
                    moved.push(item.to_owned());
                    map.insert(item, "");
                }
            }
            assert_eq!(found(&nodes), moved, "{nodes:?}");
        }
    }

    #[test]
    fn a_hundred_thousand_items_in_one_line_take_one_walk() {
        let ids: Vec<ItemId> = (0..100_000).map(|n| id(&format!("i{n:06}"))).collect();
        let line = ids.iter().enumerate().map(|(n, id)| (id, ids.get(n + 1)));
        assert!(cycles(line).is_empty());
        let ring = ids.iter().enumerate().map(|(n, id)| (id, ids.get((n + 1) % ids.len())));
        assert_eq!(cycles(ring), [ids[0].clone()]);
    }
}
