//! What must be true after the lull.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_offline::interceptor::Stored;
use feedsync_offline::profile::Profile;
use feedsync_offline::subscription::state::State;
use http::{Method, StatusCode};

use crate::origin::{Carried as Logged, FEED, entries, words};
use crate::schedule::{Acknowledged, World};

impl World {
    /// All representations equal the origin's; every acknowledged edit arrived once, or was replaced before it
    /// was sent, or stands among the errors; what one gateway sent is in its order.
    pub(crate) fn check(&self) {
        self.check_representations();
        self.check_once();
        self.check_acknowledged();
        self.check_order();
        self.check_conflicts();
    }

    fn check_representations(&self) {
        let mut there: Vec<String> =
            self.origin.members.values().map(|member| member.words.clone()).collect();
        there.sort();
        for gateway in 0..self.gateways.len() {
            let interceptor = &self.gateways[gateway].interceptor;
            assert_eq!(interceptor.edits().count(), 0, "edits are left");
            for keeping in interceptor.keepings() {
                assert_eq!(keeping.subscription.state(), State::Waiting);
            }
            let feed = self.get(gateway, FEED).expect("the feed is stored");
            let mut here: Vec<String> =
                entries(&feed).into_iter().map(|(words, _)| words).collect();
            here.sort();
            assert_eq!(here, there, "gateway {gateway} differs from the origin");
            for (path, member) in &self.origin.members {
                let entry = self.get(gateway, path).expect("members are followed");
                assert_eq!(words(&entry), member.words, "{path} at gateway {gateway}");
            }
        }
    }

    fn check_once(&self) {
        let mut carried: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for (place, one) in self.origin.log.iter().enumerate() {
            let Some((words, path)) = one.says() else { continue };
            if let Some((before, first)) = carried.insert(words, (place, path)) {
                let is_changed =
                    self.origin.log[before + 1..place].iter().any(|it| it.path() == first);
                // Nobody can find what somebody else has changed before it was looked for.
                assert!(is_changed, "carried out more than once: {words} at {first} and {path}");
            }
        }
    }

    fn check_acknowledged(&self) {
        let arrived: BTreeMap<&str, &str> = self.arrived();
        for (place, edit) in self.acknowledged.iter().enumerate() {
            let is_error = || self.stands(edit);
            let done = match edit.method {
                Method::DELETE => !self.origin.members.contains_key(self.member_of(edit).as_str()),
                _ => arrived.contains_key(&*edit.words),
            };
            // What never left may have been replaced by what was done later to the same member.
            let is_replaced = || {
                self.acknowledged[place + 1..].iter().any(|later| {
                    later.gateway == edit.gateway && self.member_of(later) == self.member_of(edit)
                })
            };
            assert!(
                !edit.is_heard || done || is_error() || is_replaced() || self.is_unknown(edit),
                "lost: {edit:?}\n{:#?}\n{:#?}",
                self.acknowledged,
                self.origin.log
            );
        }
    }

    /// Whether an edit deletes what was made in doubt, and changed by somebody else before it could be found: it
    /// seems never to have been made.
    fn is_unknown(&self, edit: &Acknowledged) -> bool {
        let member = self.member_of(edit);
        let others = self.acknowledged.iter().filter(|other| other.gateway != edit.gateway);
        let others: BTreeSet<&str> = others.map(|other| &*other.words).collect();
        edit.method == Method::DELETE
            && edit.resource != member
            && self
                .origin
                .log
                .iter()
                .filter_map(Logged::says)
                .any(|(words, path)| path == member && others.contains(words))
    }

    /// Whoever is alone is in nobody's way.
    fn check_conflicts(&self) {
        let [gateway] = &self.gateways[..] else { return };
        if self.had_power_cuts {
            return;
        }
        for error in gateway.interceptor.errors().all() {
            let interaction = &error.interaction;
            assert_ne!(interaction.status, StatusCode::PRECONDITION_FAILED, "{interaction:#?}");
        }
    }

    /// Where the words of an edit have gone.
    fn arrived(&self) -> BTreeMap<&str, &str> {
        self.origin.log.iter().filter_map(Logged::says).collect()
    }

    /// What an edit is of: the member's address at its server, where it has one.
    fn member_of(&self, edit: &Acknowledged) -> String {
        // What was posted may have been replaced before it was sent.
        let arrived = self.arrived();
        let mut of = self.acknowledged.iter().filter(|other| other.resource == edit.resource);
        let path = of.find_map(|other| arrived.get(&*other.words).copied());
        path.map_or_else(|| edit.resource.clone(), str::to_owned)
    }

    /// Whether an edit stands among the errors with what it says.
    fn stands(&self, edit: &Acknowledged) -> bool {
        let of = &self.gateways[edit.gateway];
        of.interceptor.errors().all().any(|error| {
            let interaction = &error.interaction;
            match interaction.request_body {
                // A replacement of what was never sent is sent in its place.
                Some(body) => {
                    let bytes = of.disk.content(&body);
                    words(&bytes.unwrap()) == edit.words
                }
                None if edit.method != Method::DELETE => false,
                None => {
                    let at = interaction.location.as_str();
                    at == edit.resource || at == self.member_of(edit)
                }
            }
        })
    }

    /// The edits of each member arrived in their order; to the letter, so did the first edits of all members. A later edit of
    /// a member may have taken the place of one that was never sent, as far as could be known.
    fn check_order(&self) {
        for gateway in 0..self.gateways.len() {
            let acknowledged = self.acknowledged.iter().filter(|edit| edit.gateway == gateway);
            let mut members: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            let mut places: BTreeMap<&str, usize> = BTreeMap::new();
            for (place, edit) in acknowledged.enumerate() {
                members.entry(self.member_of(edit)).or_default().push(place);
                places.insert(&edit.words, place);
            }
            let says = self.origin.log.iter().filter_map(Logged::says);
            let arrived: Vec<usize> =
                says.filter_map(|(words, _)| places.get(words)).copied().collect();
            let firsts: BTreeSet<usize> = members.values().map(|places| places[0]).collect();
            let first = arrived.iter().filter(|place| firsts.contains(place));
            // What is put off or in doubt keeps no other member's edit back.
            let may_pass = self.profile == Profile::Resilient;
            assert!(may_pass || first.is_sorted(), "out of order: {arrived:?}");
            for (member, places) in members {
                let of = arrived.iter().filter(|place| places.contains(place));
                assert!(of.is_sorted(), "out of order at {member}: {arrived:?}");
            }
        }
    }
}
