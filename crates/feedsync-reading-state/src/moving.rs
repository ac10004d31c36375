//! Actions for a moved feed (LR7).

use crate::action::Action;
use crate::address::FeedAddress;
use crate::view::View;

impl View<'_> {
    /// The actions that state that a feed is now at another address. Its own address undoes a move; one of
    /// its former addresses stops leading elsewhere. Returns nothing if the feed is already there.
    pub fn move_actions(&self, feed: &FeedAddress, to: &FeedAddress) -> Vec<(FeedAddress, Action)> {
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
