//! Model of a store: the expected rows after any steps.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::{ErrorId, SyncError};
use feedsync_bitsy::interceptor::{
    Attempt, Belonging, Change, Content, Counters, Digest, Entity, OverlayEdit, Policy,
    Representation, Resource, Rows, StoredSubscription, SubscriptionId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::{Edit, EditId};

type Key = (Partition, Location);

/// Rows in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    stored_subscriptions: BTreeMap<SubscriptionId, StoredSubscription>,
    edits: BTreeMap<EditId, Edit<Entity>>,
    errors: BTreeMap<ErrorId, SyncError<Option<Content>>>,
    shown: BTreeMap<u64, OverlayEdit>,
    named: BTreeMap<Key, Option<Location>>,
    attempts: Vec<Attempt>,
    newsreaders: feedsync_bitsy::newsreader::Rows,
    counters: Counters,
    policy: Policy,
    pub(crate) representations: BTreeMap<Key, Representation>,
    feeds: BTreeMap<Key, BTreeMap<Location, Belonging>>,
}

impl Model {
    pub(crate) fn make(&mut self, change: &Change) {
        match change.clone() {
            Change::StoredSubscription(stored_subscription) => {
                drop(self.stored_subscriptions.insert(stored_subscription.id, *stored_subscription))
            }
            Change::SubscriptionRemoved(id) => drop(self.stored_subscriptions.remove(&id)),
            Change::Edit(edit) => drop(self.edits.insert(edit.id, *edit)),
            Change::EditRemoved(id) => drop(self.edits.remove(&id)),
            Change::Error(error) => drop(self.errors.insert(error.id, *error)),
            Change::ErrorRemoved(id) => drop(self.errors.remove(&id)),
            Change::OverlayEdit(shown) => drop(self.shown.insert(shown.place, *shown)),
            Change::OverlayEditRemoved(place) => drop(self.shown.remove(&place)),
            Change::MemberAddress { partition, pending, member } => {
                self.named.insert((partition, pending), member);
            }
            Change::Attempt(it) if self.attempts.contains(&it) => {}
            Change::Attempt(it) => self.attempts.push(*it),
            Change::AttemptRemoved(it) => self.attempts.retain(|other| *other != *it),
            Change::Representation { partition, location, representation } => {
                let key = (partition, location);
                match representation {
                    Some(it) => drop(self.representations.insert(key, *it)),
                    None => drop(self.representations.remove(&key)),
                }
            }
            Change::MemberAddressRemoved { partition, pending } => {
                self.named.remove(&(partition, pending));
            }
            Change::Policy(policy) => self.policy = policy,
            Change::Generation { partition, feed, mut resources, is_whole } => {
                let known = self.feeds.get(&(partition, feed.clone()));
                for (location, belonging) in known.filter(|_| !is_whole).into_iter().flatten() {
                    resources.entry(location.clone()).or_insert_with(|| belonging.clone());
                }
                let before = self.feeds.insert((partition, feed), resources).unwrap_or_default();
                for location in before.into_keys() {
                    let mut feeds = self.feeds.iter().filter(|((whose, _), _)| *whose == partition);
                    let belongs = feeds.any(|(_, resources)| resources.contains_key(&location));
                    let is_edited = self.edits.values().any(|edit| {
                        edit.requested.partition == partition && edit.requested.resource == location
                    });
                    if !belongs && !is_edited {
                        self.representations.remove(&(partition, location));
                    }
                }
            }
            Change::PartitionRemoved(partition) => {
                self.named.retain(|(whose, _), _| *whose != partition);
                self.attempts.retain(|attempt| attempt.partition != partition);
                self.representations.retain(|(whose, _), _| *whose != partition);
                self.feeds.retain(|(whose, _), _| *whose != partition);
            }
            Change::Counters(counters) => self.counters = counters,
            other => self.newsreaders.make(&other),
        }
    }

    pub(crate) fn rows(&self) -> Rows {
        let named = self.named.clone().into_iter();
        Rows {
            stored_subscriptions: self.stored_subscriptions.values().cloned().collect(),
            edits: self.edits.values().cloned().collect(),
            errors: self.errors.values().cloned().collect(),
            shown: self.shown.values().cloned().collect(),
            named: named.map(|((whose, pending), member)| (whose, pending, member)).collect(),
            attempts: self.attempts.clone(),
            newsreaders: self.newsreaders.clone(),
            counters: self.counters,
            policy: self.policy,
        }
    }

    /// Roles of an address, in any order.
    pub(crate) fn resources(&self, location: &Location) -> Vec<Resource> {
        let feeds = self.feeds.iter().filter_map(|((partition, feed), resources)| {
            let Belonging { role, entry, seen } = resources.get(location)?.clone();
            Some(Resource { partition: *partition, feed: feed.clone(), role, entry, seen })
        });
        feeds.collect()
    }

    /// Contents that are needed without a representation.
    pub(crate) fn needed(&self) -> BTreeSet<Digest> {
        let edits =
            self.edits.values().flat_map(|edit| [&edit.requested.previous, &edit.requested.body]);
        let shown = self.shown.values().map(|shown| &shown.entity);
        let entities = edits.chain(shown).flatten().map(|entity| entity.content);
        let errors = self.errors.values().flat_map(|error| {
            let interaction = &error.interaction;
            [interaction.request_body, interaction.response_body, error.previous]
        });
        let attempts = self.attempts.iter().map(|attempt| attempt.content);
        let kept = self.newsreaders.kept.iter().map(|kept| kept.content);
        let contents = entities.chain(errors.flatten()).chain(attempts).chain(kept);
        contents.map(|content| content.digest).collect()
    }
}
