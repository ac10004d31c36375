//! Conditions after the calm phase.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_bitsy::interceptor::Stored;
use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::state::State;
use http::{Method, StatusCode};

use crate::origin::{FEED, ForwardOutcome as Logged, entries, words};
use crate::schedule::{Acknowledged, World};

impl World {
    /// All representations equal those of the origin. Every acknowledged edit arrived once, was replaced
    /// before it was sent, or is among the errors. The edits of one gateway arrived in their order.
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
            let state = &self.gateways[gateway].state;
            assert_eq!(state.edits().count(), 0, "edits are left");
            for stored_subscription in state.stored_subscriptions() {
                assert_eq!(stored_subscription.subscription.state(), State::Waiting);
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
                // A member that another client changed before the check cannot be found.
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
            // An edit that was never sent may have been replaced by a later one of the same member.
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

    /// Whether an edit deletes a doubtful member that another client changed before the check. Such a member
    /// appears never to have been created.
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

    /// A single gateway has no conflicts.
    fn check_conflicts(&self) {
        let [gateway] = &self.gateways[..] else { return };
        if self.had_power_cuts {
            return;
        }
        for error in gateway.state.errors().all() {
            let interaction = &error.interaction;
            assert_ne!(interaction.status, StatusCode::PRECONDITION_FAILED, "{interaction:#?}");
        }
    }

    /// Paths of the members at which words arrived.
    fn arrived(&self) -> BTreeMap<&str, &str> {
        self.origin.log.iter().filter_map(Logged::says).collect()
    }

    /// Identity of the edited member: its address at the server, if it has one.
    fn member_of(&self, edit: &Acknowledged) -> String {
        // A posted entry may have been replaced before it was sent.
        let arrived = self.arrived();
        let mut of = self.acknowledged.iter().filter(|other| other.resource == edit.resource);
        let path = of.find_map(|other| arrived.get(&*other.words).copied());
        path.map_or_else(|| edit.resource.clone(), str::to_owned)
    }

    /// Whether an edit is among the errors with its words.
    fn stands(&self, edit: &Acknowledged) -> bool {
        let of = &self.gateways[edit.gateway];
        of.state.errors().all().any(|error| {
            let interaction = &error.interaction;
            match interaction.request_body {
                // The replacement of an unsent edit is sent in its place.
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

    /// The edits of each member arrived in their order. In the strict profile, so did the first edits of all
    /// members. A later edit may have replaced one that was never sent, as far as could be known.
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
            // An edit that is put off or in doubt does not delay edits of other members.
            let may_pass = self.profile == Profile::Resilient;
            assert!(may_pass || first.is_sorted(), "out of order: {arrived:?}");
            for (member, places) in members {
                let of = arrived.iter().filter(|place| places.contains(place));
                assert!(of.is_sorted(), "out of order at {member}: {arrived:?}");
            }
        }
    }
}
