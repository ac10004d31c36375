//! Where subscriptions stand among each other, and what puts them elsewhere.

use crate::address::FeedAddress;
use crate::position::Position;
use crate::view::{Subscription, View};

/// Where subscriptions are to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Behind all others.
    Last,
    /// Right before this one.
    Before(FeedAddress),
    /// Right behind this one.
    After(FeedAddress),
}

/// What was to be beside something is not: that is no other subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no other subscription")]
pub struct NoOther(pub FeedAddress);

impl View<'_> {
    /// The positions that put these feeds there, in their order; they need not be subscribed to. The others keep
    /// their order, and their positions but where they have none or there is no room between them. Nothing for a
    /// feed that stands there.
    pub fn arrange(
        &self,
        feeds: &[FeedAddress],
        place: &Place,
    ) -> Result<Vec<(FeedAddress, Position)>, NoOther> {
        let feeds: Vec<&FeedAddress> = feeds.iter().map(|feed| self.address(feed)).collect();
        let all = self.subscriptions();
        let others: Vec<&Subscription> =
            all.iter().filter(|known| !feeds.contains(&&known.address)).collect();
        let place_of = |feed: &FeedAddress| {
            let address = self.address(feed);
            let found = others.iter().position(|other| other.address == *address);
            found.ok_or_else(|| NoOther(feed.clone()))
        };
        let at = match place {
            Place::Last => others.len(),
            Place::Before(feed) => place_of(feed)?,
            Place::After(feed) => place_of(feed)? + 1,
        };
        let is_there = match &feeds[..] {
            [] => true,
            [feed] => all.get(at).is_some_and(|known| known.address == **feed),
            _ => false,
        };
        if is_there {
            return Ok(Vec::new());
        }
        // Those without a position stand behind all that have one.
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
