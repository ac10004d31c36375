//! One round of a subscription: the feed, then what it links to (BITSY 2.1.3; 2.1.4 is announced and
//! missing, so this is ours, R-B21).
//!
//! - The configuration of the proxy comes first, then the feed. Links of the relations that are followed,
//!   of the feed and of its entries, come next, in document order, each address once.
//! - A link is followed one hop deep. Pages of the feed are the exception: where `next` or `prev-archive`
//!   is followed, each page is read as the feed is.
//! - Every resource is tried before the round ends: one that fails keeps no other back, and one failure
//!   makes the round a failure (R-B19).
//! - What a network took away is tried again when there is one; it is neither success nor failure (BI67).
//! - A round of what a server asked to try later fetches that and nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::End;
use super::outcome::HOPS;
use crate::location::Location;
use crate::time::Time;

/// Addresses that one round asks for at most; what a feed links to beyond that is left out.
pub const MOST: usize = 100_000;

/// What a resource is to its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The configuration of the proxy.
    Proxy,
    /// The feed.
    Feed,
    /// Another page of the feed.
    Page,
    /// What a followed link leads to.
    Linked,
}

/// A request that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// What is asked for.
    pub part: Part,
    /// The address under which the answer is stored.
    pub location: Location,
    /// Where the request goes: elsewhere after a redirection.
    pub request: Location,
    /// Redirections so far.
    hops: usize,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// There is a representation, new or as it was, and this is what it leads to.
    Fetched(Vec<(Part, Location)>),
    /// It is elsewhere.
    Moved(Location),
    /// The server wants to be asked later.
    Later(Time),
    /// It cannot be had.
    Failed,
    /// There was no network.
    Lost,
}

/// What became of the round with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// The request is done with, and goes on elsewhere if it moved.
    Yes,
    /// It moved once too often, or in a circle: that is a failure of the server (R-B19).
    AsFailure,
}

/// A round that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    queue: VecDeque<Fetch>,
    underway: usize,
    known: BTreeSet<Location>,
    failed: bool,
    not_before: Option<Time>,
    later: BTreeMap<Location, Time>,
}

impl Round {
    /// A round of all there is.
    pub fn whole(feed: &Location, proxy: Option<&Location>) -> Self {
        let parts = proxy.map(|proxy| (Part::Proxy, proxy.clone())).into_iter();
        Self::of(parts.chain([(Part::Feed, feed.clone())]))
    }

    /// Asks for the feed where it has moved for good.
    pub fn ask_at(&mut self, moved: &Location) {
        for fetch in self.queue.iter_mut().filter(|fetch| fetch.part == Part::Feed) {
            fetch.request = moved.clone();
        }
    }

    /// A round of what was to be asked for later.
    pub fn again(linked: impl IntoIterator<Item = Location>) -> Self {
        Self::of(linked.into_iter().map(|location| (Part::Linked, location)))
    }

    fn of(parts: impl IntoIterator<Item = (Part, Location)>) -> Self {
        let mut round = Self {
            queue: VecDeque::new(),
            underway: 0,
            known: BTreeSet::new(),
            failed: false,
            not_before: None,
            later: BTreeMap::new(),
        };
        round.queue(parts);
        round
    }

    /// The next request, if nothing under way comes before it.
    pub fn peek(&self) -> Option<&Fetch> {
        self.queue.front()
    }

    /// The next request; several may be under way at once. It must be settled.
    pub fn take_next(&mut self) -> Option<Fetch> {
        // The proxy tells where the rest is, and the feed what there is.
        let first = self.queue.front()?;
        let alone = matches!(first.part, Part::Proxy | Part::Feed);
        if alone && self.underway > 0 {
            return None;
        }
        self.underway += 1;
        self.queue.pop_front()
    }

    /// Takes in what became of a request.
    pub fn settle(&mut self, fetch: Fetch, settled: Settled) -> Counted {
        self.underway -= 1;
        match settled {
            Settled::Fetched(leads) => self.queue(leads),
            // Whoever sent it elsewhere may have been part of the network that went.
            Settled::Lost => {
                let request = fetch.location.clone();
                self.queue.push_front(Fetch { request, hops: 0, ..fetch });
            }
            Settled::Failed => self.failed = true,
            Settled::Later(time) if fetch.part == Part::Linked => {
                self.later.insert(fetch.location, time);
            }
            Settled::Later(time) => {
                self.not_before = Some(self.not_before.map_or(time, |other| other.max(time)));
            }
            Settled::Moved(to) => {
                if fetch.hops == HOPS || to == fetch.request {
                    self.failed = true;
                    return Counted::AsFailure;
                }
                self.queue.push_front(Fetch { request: to, hops: fetch.hops + 1, ..fetch });
            }
        }
        Counted::Yes
    }

    /// How the round ended, once it has.
    pub fn end(&self) -> Option<End> {
        if self.underway > 0 || !self.queue.is_empty() {
            return None;
        }
        Some(match self.failed {
            true => End::Failed,
            false => End::Fetched { not_before: self.not_before, later: self.later.clone() },
        })
    }

    fn queue(&mut self, parts: impl IntoIterator<Item = (Part, Location)>) {
        for (part, location) in parts {
            if self.known.len() >= MOST {
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

    fn linked(paths: &[&str]) -> Settled {
        Settled::Fetched(paths.iter().map(|path| (Part::Linked, at(path))).collect())
    }

    fn fetched() -> Settled {
        Settled::Fetched(Vec::new())
    }

    /// Settles each request as `world` says; the addresses in the order in which they were asked for.
    fn played(mut round: Round, world: impl Fn(&Fetch) -> Settled) -> (Vec<String>, End) {
        let mut asked = Vec::new();
        while let Some(fetch) = round.take_next() {
            asked.push(fetch.request.as_str().replace("http://example.org/", ""));
            let settled = world(&fetch);
            round.settle(fetch, settled);
        }
        (asked, round.end().expect("an end"))
    }

    fn good() -> End {
        End::Fetched { not_before: None, later: BTreeMap::new() }
    }

    #[test]
    fn the_feed_comes_first_and_each_link_once() {
        let round = Round::whole(&at("feed"), Some(&at("proxy")));
        let (asked, end) = played(round, |fetch| match fetch.part {
            Part::Feed => linked(&["a", "b", "a", "feed", "c"]),
            // A link is followed one hop deep: what it leads to is not for the world to say.
            _ => fetched(),
        });
        assert_eq!(asked, ["proxy", "feed", "a", "b", "c"]);
        assert_eq!(end, good());
    }

    #[test]
    fn nothing_is_asked_for_before_the_feed_says_what_there_is() {
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
    fn one_failure_keeps_no_other_back_and_makes_the_round_a_failure() {
        let (asked, end) = played(Round::whole(&at("feed"), None), |fetch| {
            match fetch.location.as_str().rsplit('/').next() {
                Some("feed") => linked(&["a", "b", "c"]),
                Some("a") => Settled::Failed,
                Some("b") => Settled::Later(LATER),
                _ => fetched(),
            }
        });
        assert_eq!(asked, ["feed", "a", "b", "c"]);
        assert_eq!(end, End::Failed);
    }

    #[test]
    fn what_is_to_be_asked_for_later_is_kept_with_its_time() {
        let (_, end) = played(Round::whole(&at("feed"), None), |fetch| match fetch.part {
            Part::Feed => linked(&["a", "b"]),
            _ if fetch.location == at("a") => Settled::Later(LATER),
            _ => fetched(),
        });
        let later = BTreeMap::from([(at("a"), LATER)]);
        assert_eq!(end, End::Fetched { not_before: None, later });
        let (asked, end) = played(Round::whole(&at("feed"), None), |_| Settled::Later(LATER));
        assert_eq!(asked, ["feed"]);
        let end_of_feed = End::Fetched { not_before: Some(LATER), later: BTreeMap::new() };
        assert_eq!(end, end_of_feed);
        let (asked, end) = played(Round::again([at("a")]), |_| fetched());
        assert_eq!((asked, end), (vec!["a".to_owned()], good()));
    }

    #[test]
    fn what_a_network_took_away_is_asked_for_again() {
        let mut round = Round::whole(&at("feed"), None);
        let feed = round.take_next().unwrap();
        round.settle(feed, linked(&["a", "b"]));
        for _ in 0..3 {
            let a = round.take_next().unwrap();
            assert_eq!(a.location, at("a"));
            round.settle(a, Settled::Lost);
            assert_eq!(round.end(), None, "it stays where it is");
        }
        let (asked, end) = played(round, |_| fetched());
        assert_eq!((asked.len(), end), (2, good()));
    }

    #[test]
    fn moves_are_followed_so_far_and_never_in_a_circle() {
        let moves = |fetch: &Fetch| match fetch.hops {
            0 => Settled::Moved(at("elsewhere")),
            _ => fetched(),
        };
        let (asked, end) = played(Round::whole(&at("feed"), None), moves);
        assert_eq!((asked, end), (vec!["feed".to_owned(), "elsewhere".to_owned()], good()));
        let on = |fetch: &Fetch| Settled::Moved(at(&format!("hop{}", fetch.hops)));
        let (asked, end) = played(Round::whole(&at("feed"), None), on);
        assert_eq!((asked.len(), end), (HOPS + 1, End::Failed));
        let itself = |_: &Fetch| Settled::Moved(at("feed"));
        let (asked, end) = played(Round::whole(&at("feed"), None), itself);
        assert_eq!((asked.len(), end), (1, End::Failed));
    }

    #[test]
    fn pages_are_read_on_and_on_and_what_is_too_much_is_left_out() {
        let world = |fetch: &Fetch| {
            let next = Settled::Fetched(vec![
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
                &(0..MOST + 10)
                    .map(|n| n.to_string())
                    .collect::<Vec<_>>()
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
            ),
            _ => fetched(),
        };
        assert_eq!(played(Round::whole(&at("feed"), None), many).0.len(), MOST);
    }
}
