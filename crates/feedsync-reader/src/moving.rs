//! What is to be done when a feed moved (LR7).

use crate::action::Action;
use crate::address::FeedAddress;
use crate::view::View;

impl View<'_> {
    /// What says that a feed is at another address now. Its own address takes back that it moved; one that
    /// it had before leads nowhere else from then on. Nothing if it is there.
    pub fn moving(&self, feed: &FeedAddress, to: &FeedAddress) -> Vec<(FeedAddress, Action)> {
        let moved = |feed: &FeedAddress| (feed.clone(), Action::FeedMoved { to: to.clone() });
        let (is_at, leads_to) = (self.address(feed), self.address(to));
        if is_at == to {
            return Vec::new();
        }
        let mut actions = Vec::new();
        if leads_to == is_at {
            actions.push(moved(to));
        }
        if feed != to {
            actions.push(moved(is_at));
        }
        actions
    }
}
