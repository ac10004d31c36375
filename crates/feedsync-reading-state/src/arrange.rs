//! Order of subscriptions, and actions that change it.

use crate::address::FeedAddress;
use crate::position::Position;
use crate::view::{Subscription, View};

/// Target of a reordering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveTarget {
    /// After all others.
    Last,
    /// Immediately before this subscription.
    Before(FeedAddress),
    /// Immediately after this subscription.
    After(FeedAddress),
}

/// Error: the target is not another subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not another subscription")]
pub struct InvalidTarget(pub FeedAddress);

impl View<'_> {
    /// Returns the positions that move these feeds to the target, in their order. The feeds need not be
    /// subscribed to. The others keep their order. They also keep their positions, unless they have none or
    /// there is no room between them. Returns nothing for a single feed that is already there.
    pub fn arrange(
        &self,
        feeds: &[FeedAddress],
        place: &MoveTarget,
    ) -> Result<Vec<(FeedAddress, Position)>, InvalidTarget> {
        let feeds: Vec<&FeedAddress> = feeds.iter().map(|feed| self.address(feed)).collect();
        let all = self.subscriptions();
        let others: Vec<&Subscription> =
            all.iter().filter(|known| !feeds.contains(&&known.address)).collect();
        let place_of = |feed: &FeedAddress| {
            let address = self.address(feed);
            let found = others.iter().position(|other| other.address == *address);
            found.ok_or_else(|| InvalidTarget(feed.clone()))
        };
        let at = match place {
            MoveTarget::Last => others.len(),
            MoveTarget::Before(feed) => place_of(feed)?,
            MoveTarget::After(feed) => place_of(feed)? + 1,
        };
        let is_there = match &feeds[..] {
            [] => true,
            [feed] => all.get(at).is_some_and(|known| known.address == **feed),
            _ => false,
        };
        if is_there {
            return Ok(Vec::new());
        }
        // Subscriptions without a position come after all that have one.
        let placed = others.partition_point(|other| other.position.is_some());
        let first = placed.min(at);
        let between = |from: usize, to: usize| {
            let position = |place: usize| others.get(place)?.position.as_ref();
            let moved = others[from..at].iter().map(|other| &other.address).chain(feeds.clone());
            let moved: Vec<_> =
                moved.chain(others[at..to].iter().map(|other| &other.address)).collect();
            let after = from.checked_sub(1).and_then(position);
            let positions = match (position(to), &moved[..]) {
                (None, _) => Position::spread(moved.len(), after)?,
                (before, [_]) => vec![Position::between(after, before)?],
                _ => return None,
            };
            Some(moved.into_iter().cloned().zip(positions).collect())
        };
        Ok(between(first, at).or_else(|| between(0, others.len())).unwrap_or_default())
    }
}
