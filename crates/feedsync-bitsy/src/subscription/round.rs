//! One round of a subscription: the feed, then the resources that it links to. BITSY 2.1.4 is announced and
//! missing, so these rules are ours (BITSY 2.1.3, R-B21).
//!
//! - The proxy configuration is fetched first, then the feed. Followed links of the feed and of its entries
//!   come next, in document order, each address once.
//! - Links are followed one hop deep. Pages of the feed are the exception: where `next` or `prev-archive` is
//!   followed, each page is processed like the feed.
//! - Every resource is tried before the round ends. A failure does not stop other requests, but it makes the
//!   round a failure (R-B19).
//! - Requests that fail for lack of a network are repeated when there is one. They are neither success nor
//!   failure (BI67).
//! - A round for resources that a server asked to retry later fetches only these.

use std::collections::VecDeque;

use super::End;
use super::outcome::MAX_HOPS;
use crate::collections::{SortedMap, SortedSet};
use crate::location::Location;
use crate::time::Time;

/// Maximum number of addresses that one round requests. Further links of a feed are left out.
pub const MAX_ADDRESSES: usize = 100_000;

/// Role of a resource in its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The configuration of the proxy.
    Proxy,
    /// The feed.
    Feed,
    /// Another page of the feed.
    Page,
    /// The target of a followed link.
    Linked,
}

/// A request that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// Role of the requested resource.
    pub part: Part,
    /// Address under which the response is stored.
    pub location: Location,
    /// Address of the request, which differs after a redirection.
    pub request: Location,
    /// Number of redirections so far.
    hops: usize,
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchResult {
    /// There is a representation, new or unchanged, and these are the resources that it leads to.
    Fetched(Vec<(Part, Location)>),
    /// The resource is at another address.
    Moved(Location),
    /// The server asked for a retry at this time.
    Later(Time),
    /// The resource is not available.
    Failed,
    /// There was no network.
    Lost,
}

/// Effect of a result on the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleEffect {
    /// The request is complete, or continues at another address after a redirection.
    Yes,
    /// The request had too many redirections or a redirection to itself. This is a failure of the server
    /// (R-B19).
    AsFailure,
}

/// A round in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    queue: VecDeque<Fetch>,
    in_progress: usize,
    known: SortedSet<Location>,
    failed: bool,
    not_before: Option<Time>,
    later: SortedMap<Location, Time>,
}

impl Fetch {
    /// Whether no other request may be running. The proxy configuration and the feed determine the other requests.
    fn is_alone(&self) -> bool {
        matches!(self.part, Part::Proxy | Part::Feed)
    }
}

impl Round {
    /// Creates a round for the proxy configuration and the feed.
    pub fn whole(feed: &Location, proxy: Option<&Location>) -> Self {
        let parts = proxy.map(|proxy| (Part::Proxy, proxy.clone())).into_iter();
        Self::of(parts.chain([(Part::Feed, feed.clone())]))
    }

    /// Requests the feed at its permanent new address.
    pub fn ask_at(&mut self, moved: &Location) {
        for fetch in self.queue.iter_mut().filter(|fetch| fetch.part == Part::Feed) {
            fetch.request = moved.clone();
        }
    }

    /// Creates a round for linked resources whose retry is due.
    pub fn again(linked: impl IntoIterator<Item = Location>) -> Self {
        Self::of(linked.into_iter().map(|location| (Part::Linked, location)))
    }

    fn of(parts: impl IntoIterator<Item = (Part, Location)>) -> Self {
        let mut round = Self {
            queue: VecDeque::new(),
            in_progress: 0,
            known: SortedSet::new(),
            failed: false,
            not_before: None,
            later: SortedMap::new(),
        };
        round.queue(parts);
        round
    }

    /// The next request in the queue.
    pub fn peek(&self) -> Option<&Fetch> {
        self.queue.front()
    }

    /// The requests that [`take_next`](Self::take_next) is going to return, if none is settled meanwhile.
    pub fn upcoming(&self) -> impl Iterator<Item = &Fetch> {
        let running = self.in_progress;
        let requests = self.queue.iter().enumerate();
        let may_start =
            requests.take_while(move |(number, fetch)| running + number == 0 || !fetch.is_alone());
        may_start.map(|(_, fetch)| fetch)
    }

    /// Takes the next request, if it may be sent now. Several may be in progress at once. Each must be
    /// settled.
    pub fn take_next(&mut self) -> Option<Fetch> {
        if self.queue.front()?.is_alone() && self.in_progress > 0 {
            return None;
        }
        self.in_progress += 1;
        self.queue.pop_front()
    }

    /// Applies the result of a request.
    pub fn settle(&mut self, fetch: Fetch, settled: FetchResult) -> SettleEffect {
        self.in_progress -= 1;
        match settled {
            FetchResult::Fetched(targets) => self.queue(targets),
            // The redirection may have come from the network that was lost, so the request starts at its
            // first address.
            FetchResult::Lost => {
                let request = fetch.location.clone();
                self.queue.push_front(Fetch { request, hops: 0, ..fetch });
            }
            FetchResult::Failed => self.failed = true,
            FetchResult::Later(time) if fetch.part == Part::Linked => {
                self.later.insert(fetch.location, time);
            }
            FetchResult::Later(time) => {
                self.not_before = Some(self.not_before.map_or(time, |other| other.max(time)));
            }
            FetchResult::Moved(to) => {
                if fetch.hops == MAX_HOPS || to == fetch.request {
                    self.failed = true;
                    return SettleEffect::AsFailure;
                }
                self.queue.push_front(Fetch { request: to, hops: fetch.hops + 1, ..fetch });
            }
        }
        SettleEffect::Yes
    }

    /// Result of the round, once it has ended.
    pub fn end(&self) -> Option<End> {
        if self.in_progress > 0 || !self.queue.is_empty() {
            return None;
        }
        Some(match self.failed {
            true => End::Failed,
            false => End::Fetched { not_before: self.not_before, later: self.later.clone() },
        })
    }

    fn queue(&mut self, parts: impl IntoIterator<Item = (Part, Location)>) {
        for (part, location) in parts {
            if self.known.len() >= MAX_ADDRESSES {
                return;
            }
            if self.known.insert(location.clone()) {
                self.queue.push_back(Fetch { part, request: location.clone(), location, hops: 0 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    const LATER: Time = Time::from_millis(60_000);

    fn linked(paths: &[&str]) -> FetchResult {
        FetchResult::Fetched(paths.iter().map(|path| (Part::Linked, at(path))).collect())
    }

    fn fetched() -> FetchResult {
        FetchResult::Fetched(Vec::new())
    }

    /// Settles each request as `world` says. Returns the addresses in the order of the requests.
    fn played(mut round: Round, world: impl Fn(&Fetch) -> FetchResult) -> (Vec<String>, End) {
        let mut asked = Vec::new();
        while let Some(fetch) = round.take_next() {
            asked.push(fetch.request.as_str().replace("http://example.org/", ""));
            let settled = world(&fetch);
            round.settle(fetch, settled);
        }
        (asked, round.end().expect("an end"))
    }

    fn good() -> End {
        End::Fetched { not_before: None, later: SortedMap::new() }
    }

    #[test]
    fn feed_is_requested_first_and_each_link_once() {
        let round = Round::whole(&at("feed"), Some(&at("proxy")));
        let (asked, end) = played(round, |fetch| match fetch.part {
            Part::Feed => linked(&["a", "b", "a", "feed", "c"]),
            // Links are followed one hop deep, so linked resources lead nowhere.
            _ => fetched(),
        });
        assert_eq!(asked, ["proxy", "feed", "a", "b", "c"]);
        assert_eq!(end, good());
    }

    #[test]
    fn links_are_requested_after_the_feed_only() {
        let mut round = Round::whole(&at("feed"), Some(&at("proxy")));
        let proxy = round.take_next().unwrap();
        assert_eq!(round.take_next(), None);
        assert_eq!(round.end(), None);
        round.settle(proxy, fetched());
        let feed = round.take_next().unwrap();
        round.settle(feed, linked(&["a", "b"]));
        let (a, b) = (round.take_next().unwrap(), round.take_next().unwrap());
        assert_eq!(round.end(), None);
        round.settle(b, fetched());
        assert_eq!(round.end(), None);
        round.settle(a, fetched());
        assert_eq!(round.end(), Some(good()));
    }

    #[test]
    fn failure_does_not_stop_other_requests_and_fails_the_round() {
        let (asked, end) = played(Round::whole(&at("feed"), None), |fetch| {
            match fetch.location.as_str().rsplit('/').next() {
                Some("feed") => linked(&["a", "b", "c"]),
                Some("a") => FetchResult::Failed,
                Some("b") => FetchResult::Later(LATER),
                _ => fetched(),
            }
        });
        assert_eq!(asked, ["feed", "a", "b", "c"]);
        assert_eq!(end, End::Failed);
    }

    #[test]
    fn retry_times_of_linked_resources_and_of_the_feed_are_returned() {
        let (_, end) = played(Round::whole(&at("feed"), None), |fetch| match fetch.part {
            Part::Feed => linked(&["a", "b"]),
            _ if fetch.location == at("a") => FetchResult::Later(LATER),
            _ => fetched(),
        });
        let later = SortedMap::from([(at("a"), LATER)]);
        assert_eq!(end, End::Fetched { not_before: None, later });
        let (asked, end) = played(Round::whole(&at("feed"), None), |_| FetchResult::Later(LATER));
        assert_eq!(asked, ["feed"]);
        let end_of_feed = End::Fetched { not_before: Some(LATER), later: SortedMap::new() };
        assert_eq!(end, end_of_feed);
        let (asked, end) = played(Round::again([at("a")]), |_| fetched());
        assert_eq!((asked, end), (vec!["a".to_owned()], good()));
    }

    #[test]
    fn requests_lost_with_the_network_are_repeated() {
        let mut round = Round::whole(&at("feed"), None);
        let feed = round.take_next().unwrap();
        round.settle(feed, linked(&["a", "b"]));
        for _ in 0..3 {
            let a = round.take_next().unwrap();
            assert_eq!(a.location, at("a"));
            round.settle(a, FetchResult::Lost);
            assert_eq!(round.end(), None, "it stays where it is");
        }
        let (asked, end) = played(round, |_| fetched());
        assert_eq!((asked.len(), end), (2, good()));
    }

    #[test]
    fn redirections_are_limited_and_circles_fail() {
        let moves = |fetch: &Fetch| match fetch.hops {
            0 => FetchResult::Moved(at("elsewhere")),
            _ => fetched(),
        };
        let (asked, end) = played(Round::whole(&at("feed"), None), moves);
        assert_eq!((asked, end), (vec!["feed".to_owned(), "elsewhere".to_owned()], good()));
        let on = |fetch: &Fetch| FetchResult::Moved(at(&format!("hop{}", fetch.hops)));
        let (asked, end) = played(Round::whole(&at("feed"), None), on);
        assert_eq!((asked.len(), end), (MAX_HOPS + 1, End::Failed));
        let itself = |_: &Fetch| FetchResult::Moved(at("feed"));
        let (asked, end) = played(Round::whole(&at("feed"), None), itself);
        assert_eq!((asked.len(), end), (1, End::Failed));
    }

    #[test]
    fn pages_are_followed_up_to_the_limit_of_addresses() {
        let world = |fetch: &Fetch| {
            let next = FetchResult::Fetched(vec![
                (Part::Linked, at(&format!("{}-a", fetch.location.as_str().len()))),
                (
                    Part::Page,
                    at(&format!("page{}", "x".repeat(fetch.location.as_str().len() % 90))),
                ),
            ]);
            if fetch.part == Part::Linked { fetched() } else { next }
        };
        let (asked, end) = played(Round::whole(&at("feed"), None), world);
        assert!(asked.len() > 4 && end == good(), "{asked:?}");
        let many = |fetch: &Fetch| match fetch.part {
            Part::Feed => linked(
                &(0..MAX_ADDRESSES + 10)
                    .map(|n| n.to_string())
                    .collect::<Vec<_>>()
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
            ),
            _ => fetched(),
        };
        assert_eq!(played(Round::whole(&at("feed"), None), many).0.len(), MAX_ADDRESSES);
    }
}
