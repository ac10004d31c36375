//! The state as presented to a person: subscriptions in their folders and order, with moved feeds merged.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::address::FeedAddress;
use crate::feed::FeedState;
use crate::names::{Folder, FolderName, Title};
use crate::position::Position;
use crate::state::ReaderState;

/// A view of a state. A moved feed is merged with the one that it moved to: the subscription and marks of the
/// old address count for the new one. They are joined when they are read, and never rewritten.
#[derive(Debug)]
pub struct View<'a> {
    state: &'a ReaderState,
    /// Final address of each address that moved.
    leads_to: BTreeMap<&'a FeedAddress, &'a FeedAddress>,
    /// The addresses that lead to each address, except itself.
    led_from: BTreeMap<&'a FeedAddress, Vec<&'a FeedAddress>>,
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Current address.
    pub address: FeedAddress,
    /// Title that the user chose, if it is not the feed's own.
    pub title: Option<Title>,
    /// Folder.
    pub folder: Folder,
    /// Position among the subscriptions.
    pub position: Option<Position>,
}

/// An element of a folder; elements are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    /// A feed.
    Feed(Subscription),
    /// A folder within the folder; never empty. Its place is that of its first feed.
    Folder(FolderName, Vec<Branch>),
}

impl ReaderState {
    /// A view of this state.
    pub fn view(&self) -> View<'_> {
        View::new(self)
    }
}

impl<'a> View<'a> {
    fn new(state: &'a ReaderState) -> Self {
        let mut leads_to = BTreeMap::new();
        for address in state.feeds.keys() {
            follow(state, address, &mut leads_to);
        }
        let mut led_from: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (&from, &to) in leads_to.iter().filter(|(from, to)| from != to) {
            led_from.entry(to).or_default().push(from);
        }
        Self { state, leads_to, led_from }
    }

    /// Current address of a feed, after any number of moves. For feeds that moved in a circle it is the
    /// lowest of their addresses.
    pub fn address<'b>(&'b self, address: &'b FeedAddress) -> &'b FeedAddress {
        self.leads_to.get(address).copied().unwrap_or(address)
    }

    /// The joined state of a feed under all its addresses, without the moves.
    pub fn feed(&self, address: &FeedAddress) -> Cow<'a, FeedState> {
        let address = self.address(address);
        let own = self.state.feeds.get(address);
        let olds = self.led_from.get(address).into_iter().flatten();
        let mut olds = olds.filter_map(|old| self.state.feeds.get(*old)).peekable();
        match own {
            Some(own) if own.moved_to.is_none() && olds.peek().is_none() => Cow::Borrowed(own),
            own => {
                let mut state = own.cloned().unwrap_or_default();
                for old in olds {
                    state.join(old.clone());
                }
                state.moved_to = None;
                Cow::Owned(state)
            }
        }
    }

    /// Whether there is a state of a feed under any of its addresses.
    pub fn has(&self, address: &FeedAddress) -> bool {
        let address = self.address(address);
        self.state.feeds.contains_key(address) || self.led_from.contains_key(address)
    }

    /// All feeds at their current addresses, with the joined state of each, in the order of addresses.
    pub fn feeds(&self) -> impl Iterator<Item = (&'a FeedAddress, Cow<'a, FeedState>)> {
        let known = self.state.feeds.keys();
        let mut here: Vec<_> = known
            .filter(|address| self.leads_to.get(address).is_none_or(|to| to == address))
            .collect();
        // Targets of moves that have no state of their own.
        here.extend(self.led_from.keys().filter(|to| !self.state.feeds.contains_key(to.as_str())));
        here.sort_unstable();
        here.into_iter().map(|address| (address, self.feed(address)))
    }

    /// The subscriptions in order: by position, then title, then address.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        let subscribed = self.feeds().filter(|(_, state)| state.is_subscribed());
        let mut found: Vec<_> = subscribed
            .map(|(address, state)| Subscription {
                address: address.clone(),
                title: state.title().cloned(),
                folder: state.folder().clone(),
                position: state.position().cloned(),
            })
            .collect();
        found.sort_unstable_by(|one, other| order(one).cmp(&order(other)));
        found
    }

    /// The subscriptions in their folders; the place of a folder is that of its first feed.
    pub fn tree(&self) -> Vec<Branch> {
        let mut folders = Folders { inside: vec![Vec::new()], known: HashMap::new() };
        for subscription in self.subscriptions() {
            let names = subscription.folder.names();
            let folder = names.iter().fold(0, |folder, name| folders.within(folder, name));
            folders.inside[folder].push(Leaf::Feed(subscription));
        }
        folders.branches(0)
    }

    /// The subscriptions in the order of the tree, folder by folder.
    pub fn subscriptions_by_folder(&self) -> Vec<Subscription> {
        let mut found = Vec::new();
        push_feeds(&mut found, self.tree());
        found
    }
}

/// Appends the feeds of branches, in order.
fn push_feeds(found: &mut Vec<Subscription>, branches: Vec<Branch>) {
    for branch in branches {
        match branch {
            Branch::Feed(subscription) => found.push(subscription),
            Branch::Folder(_, inside) => push_feeds(found, inside),
        }
    }
}

/// Folders under construction; the first is the top.
struct Folders {
    inside: Vec<Vec<Leaf>>,
    known: HashMap<(usize, FolderName), usize>,
}

/// An element of a folder: a feed, or the index of a folder.
enum Leaf {
    Feed(Subscription),
    Folder(FolderName, usize),
}

impl Folders {
    /// Index of a folder within another.
    fn within(&mut self, folder: usize, name: &FolderName) -> usize {
        *self.known.entry((folder, name.clone())).or_insert_with(|| {
            let place = self.inside.len();
            self.inside.push(Vec::new());
            self.inside[folder].push(Leaf::Folder(name.clone(), place));
            place
        })
    }

    /// Takes the elements of a folder; the recursion is limited by the depth of [`Folder`].
    fn branches(&mut self, folder: usize) -> Vec<Branch> {
        let leaves = std::mem::take(&mut self.inside[folder]);
        let branch = |leaf| match leaf {
            Leaf::Feed(subscription) => Branch::Feed(subscription),
            Leaf::Folder(name, place) => Branch::Folder(name, self.branches(place)),
        };
        leaves.into_iter().map(branch).collect()
    }
}

/// Sort key of a subscription; those without a position come last.
fn order(subscription: &Subscription) -> impl Ord + '_ {
    let Subscription { address, title, position, .. } = subscription;
    (position.is_none(), position, title.is_none(), title, address)
}

/// Follows the moves of a feed to its final address, and records that address for all feeds on the way.
fn follow<'a>(
    state: &'a ReaderState,
    start: &'a FeedAddress,
    leads_to: &mut BTreeMap<&'a FeedAddress, &'a FeedAddress>,
) {
    let next = |address: &FeedAddress| {
        let to = state.feeds.get(address).and_then(FeedState::moved_to);
        to.filter(|to| *to != address)
    };
    let mut passed: Vec<&FeedAddress> = Vec::new();
    let mut place: BTreeMap<&FeedAddress, usize> = BTreeMap::new();
    let mut at = start;
    let end = loop {
        if let Some(end) = leads_to.get(at) {
            break *end;
        }
        if let Some(&first) = place.get(at) {
            let circle = &passed[first..];
            break circle.iter().copied().min().unwrap_or(at);
        }
        place.insert(at, passed.len());
        passed.push(at);
        match next(at) {
            Some(to) => at = to,
            None => break at,
        }
    };
    leads_to.extend(passed.into_iter().map(|address| (address, end)));
}
