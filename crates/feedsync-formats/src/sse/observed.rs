//! The index of an item without a claim (R-S9).
//!
//! Siblings without claims are counted from 0. Between siblings that claim an index, one is chosen that keeps the
//! item at its position in the document. Siblings are ordered by index, then id, and a document that FeedSync wrote
//! must not be shown in another order.

use feedsync_core::ItemId;

/// A sibling in document order: its id and its claimed index.
pub(super) type Sibling<'s> = (&'s ItemId, Option<u64>);

/// Returns the index of each sibling.
pub(super) fn indexes(siblings: &[Sibling<'_>]) -> Vec<u64> {
    let bounds = greatest(siblings);
    let mut indexes = Vec::with_capacity(siblings.len());
    let mut before: Option<(u64, &ItemId)> = None;
    for (&(id, claim), bound) in siblings.iter().zip(bounds) {
        let index = claim.unwrap_or_else(|| {
            let Some((index, other)) = before else { return 0 };
            let least = if id > other { index } else { index.saturating_add(1) };
            bound.min(index.saturating_add(1)).max(least)
        });
        indexes.push(index);
        before = Some((index, id));
    }
    indexes
}

/// Returns the greatest index at which each sibling still precedes the later ones that claim an index.
fn greatest(siblings: &[Sibling<'_>]) -> Vec<u64> {
    let mut after: Option<(u64, &ItemId)> = None;
    let mut bounds: Vec<u64> = siblings
        .iter()
        .rev()
        .map(|&(id, claim)| {
            let bound = claim.unwrap_or(match after {
                None => u64::MAX,
                Some((index, other)) if id < other => index,
                Some((index, _)) => index.saturating_sub(1),
            });
            after = (claim.is_some() || after.is_some()).then_some((bound, id));
            bound
        })
        .collect();
    bounds.reverse();
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(siblings: &[(&str, Option<u64>)]) -> Vec<u64> {
        let ids: Vec<ItemId> = siblings.iter().map(|(id, _)| ItemId::new(id).unwrap()).collect();
        let siblings: Vec<Sibling<'_>> =
            ids.iter().zip(siblings).map(|(id, (_, claim))| (id, *claim)).collect();
        indexes(&siblings)
    }

    #[test]
    fn without_claims_siblings_are_counted() {
        assert_eq!(of(&[("c", None), ("a", None), ("b", None)]), [0, 1, 2]);
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn between_claims_an_item_stays_where_it_is() {
        assert_eq!(of(&[("f", Some(0)), ("g", None), ("a", Some(1))]), [0, 0, 1]);
        assert_eq!(of(&[("f", Some(0)), ("g", None), ("z", Some(1))]), [0, 1, 1]);
        assert_eq!(of(&[("f", Some(0)), ("g", None), ("e", None), ("a", Some(2))]), [0, 0, 1, 2]);
        assert_eq!(of(&[("a", None), ("b", Some(7)), ("a", None)]), [0, 7, 8]);
    }

    #[test]
    fn any_order_that_claims_allow_is_kept() {
        let names = ["a", "b", "c", "d"];
        for code in 0..4usize.pow(4) {
            let mut places: Vec<(u64, &str)> = names
                .iter()
                .enumerate()
                .map(|(n, id)| ((code >> (2 * n)) as u64 % 4, *id))
                .collect();
            places.sort_unstable();
            for claimed in 0..16u32 {
                let siblings: Vec<_> = places
                    .iter()
                    .enumerate()
                    .map(|(n, (index, id))| (*id, (claimed >> n & 1 == 1).then_some(*index)))
                    .collect();
                let found: Vec<_> =
                    of(&siblings).into_iter().zip(places.iter().map(|p| p.1)).collect();
                assert!(found.is_sorted(), "{siblings:?}: {found:?}");
            }
        }
    }
}
