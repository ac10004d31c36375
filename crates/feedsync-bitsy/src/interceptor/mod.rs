//! The central state machine. It decides about requests of applications, background requests, edits, and
//! events for applications (BITSY 1.2, 2.1.3, 3).
//!
//! [`Interceptor`] holds the small state in memory: subscriptions, waiting edits, errors. It reads other
//! stored data through [`Stored`]. Every operation returns a [`Step`]: changes to store in one transaction
//! before anything else happens. [`Interceptor::restored`] restores it from the stored rows, so that the
//! process may end between any two steps. It must also be restored after an error of the store, because its
//! state is then ahead of the store.
//!
//! - A request is first [decided](Interceptor::decide). Most requests get their response from there. Edits
//!   are read whole. They are either [added](Interceptor::take) to the outbox, or sent to their server while
//!   the application waits. The latter are [noted](Interceptor::begin_forward) before sending and
//!   [completed](Interceptor::forwarded) afterwards. Such edits of one resource must not overlap.
//! - [`Interceptor::begin`] returns the background tasks. Each task is [finished](Interceptor::finished)
//!   once.

mod attempts;
mod control;
mod damage;
mod decide;
mod displayed_edit;
mod document;
mod edit_status;
mod enqueue;
mod fetch;
mod forward;
mod generation;
mod hold;
mod identity;
mod invalidate;
mod member_addresses;
mod member_search;
mod newsreaders;
mod overlay_edits;
mod reachability;
mod reply;
mod respond;
mod round_response;
mod send;
mod send_ahead;
mod settle;
mod step;
mod stored;
mod tasks;
mod verify;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use attempts::Attempt;
pub use control::{ControlError, Policy};
pub use decide::{Decision, Proposed, Request};
pub use edit_status::{EditStatus, WaitReason};
pub use forward::ForwardOutcome;
pub use invalidate::is_unsafe;
pub use newsreaders::{WaitingChanges, WaitingFor};
pub use reply::{Composed, Reply, ReplyBody};
pub use step::{
    Belonging, Change, Counters, Event, EventKind, Outcome, OverlayEdit, Step, Task, TaskId,
};
pub use stored::{Content, Digest, Entity, Representation, Resource, Stored};

use crate::authentication::{Credentials, Partition};
use crate::event::{ErrorId, Errors, Interaction, StateChange, SyncError};
use crate::location::Location;
use crate::newsreader::{self, Accounts};
use crate::outbox::{Edit, EditId, Outbox, Progress};
use crate::profile::Profile;
use crate::proxy::Configuration;
use crate::relation::Relation;
use crate::subscription::Subscription;
use crate::subscription::state::State;
use crate::time::Time;
use attempts::Attempts;
use fetch::ActiveRound;
use member_addresses::MemberAddresses;
use member_search::MemberSearch;
use overlay_edits::OverlayEdits;
use reachability::Reachability;
use send::DeliveryState;
use tasks::RunningTask;

/// Number of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u64);

/// A stored subscription, and what is known of its feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSubscription {
    /// Number of the subscription.
    pub id: SubscriptionId,
    /// The subscription. A closed one stays until its edits are settled (2.1.2).
    pub subscription: Subscription,
    /// Collection of the feed (1.3).
    pub collection: Option<Location>,
    /// Permanent new address of the feed, if it has moved.
    pub moved: Option<Location>,
    /// Relations that were followed for the stored data; none if no data are stored.
    pub followed: Option<BTreeSet<Relation>>,
}

/// Settings of the interceptor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// How closely the document is followed.
    pub profile: Profile,
    /// Whether `no-store` of other origins is honoured (R-B26).
    pub honours_no_store: bool,
}

/// Stored rows, from which the interceptor is restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The subscriptions.
    pub stored_subscriptions: Vec<StoredSubscription>,
    /// Edits that are not settled.
    pub edits: Vec<Edit<Entity>>,
    /// Errors that are not cleared.
    pub errors: Vec<SyncError<Option<Content>>>,
    /// Completed edits that are shown until their feeds are fetched again.
    pub shown: Vec<OverlayEdit>,
    /// Temporary addresses of members, and their server addresses.
    pub named: Vec<(Partition, Location, Option<Location>)>,
    /// Attempts with unknown results, in their order.
    pub attempts: Vec<Attempt>,
    /// Stored data of newsreaders.
    pub newsreaders: newsreader::Rows,
    /// Numbers of the next rows.
    pub counters: Counters,
    /// Policy for the use of the network.
    pub policy: Policy,
}

/// The central state machine.
#[derive(Debug)]
pub struct Interceptor {
    settings: Settings,
    policy: Policy,
    stored_subscriptions: BTreeMap<SubscriptionId, StoredSubscription>,
    /// Open and closed subscriptions by the addresses of their feeds and collections.
    addresses: HashMap<Location, BTreeSet<SubscriptionId>>,
    credentials: BTreeMap<Partition, Credentials>,
    proxies: BTreeMap<SubscriptionId, Configuration>,
    outbox: Outbox<Entity>,
    errors: Errors<Option<Content>>,
    shown: OverlayEdits,
    named: MemberAddresses,
    attempts: Attempts,
    accounts: Accounts,
    counters: Counters,
    reachability: Reachability,
    /// Feeds that are searched for created members.
    finding: BTreeMap<(Partition, Location), MemberSearch>,
    in_progress: BTreeMap<SubscriptionId, ActiveRound>,
    tasks: BTreeMap<TaskId, RunningTask>,
    next_task: u64,
    /// Delivery states of edits.
    delivery_states: BTreeMap<EditId, DeliveryState>,
    /// Edits that are noted as sent and were not sent yet.
    ahead: BTreeSet<EditId>,
    /// Accepted edits that are checked.
    awaited: BTreeSet<EditId>,
    /// Whether a power cut would put completed edits in doubt again.
    is_ahead: bool,
    /// Resources whose representation after an edit is requested from the server.
    requested: BTreeSet<(SubscriptionId, Location)>,
    /// Feed documents that were changed after they were fetched. They are for applications without a network.
    stale: BTreeSet<(Partition, Location)>,
    /// Running requests that began before their resource changed.
    outdated: BTreeSet<TaskId>,
}

impl Interceptor {
    /// Creates an interceptor without stored data.
    pub fn new(settings: Settings) -> Self {
        Self::restored(settings, Rows::default())
    }

    /// Restores an interceptor from stored rows. Running rounds begin again. Edits that were being sent are
    /// in doubt.
    pub fn restored(settings: Settings, rows: Rows) -> Self {
        let Rows {
            stored_subscriptions,
            edits,
            errors,
            shown,
            named,
            attempts,
            newsreaders,
            counters,
            policy,
        } = rows;
        let mut interceptor = Self {
            settings,
            policy,
            stored_subscriptions: BTreeMap::new(),
            addresses: HashMap::new(),
            credentials: BTreeMap::new(),
            proxies: BTreeMap::new(),
            outbox: Outbox::restored(edits, EditId(counters.edit)),
            errors: Errors::restored(errors, ErrorId(counters.error)),
            shown: OverlayEdits::restored(shown),
            named: MemberAddresses::restored(named),
            attempts: Attempts::restored(attempts),
            accounts: Accounts::restored(newsreaders),
            counters,
            reachability: Reachability::default(),
            finding: BTreeMap::new(),
            in_progress: BTreeMap::new(),
            tasks: BTreeMap::new(),
            next_task: 1,
            delivery_states: BTreeMap::new(),
            ahead: BTreeSet::new(),
            awaited: BTreeSet::new(),
            // The steps of the former process may not be synchronised to the disk.
            is_ahead: true,
            requested: BTreeSet::new(),
            stale: BTreeSet::new(),
            outdated: BTreeSet::new(),
        };
        let accepted = |edit: &&Edit<_>| edit.progress == Progress::Accepted;
        let accepted = interceptor.outbox.edits().filter(accepted).map(|edit| edit.id);
        interceptor.awaited = accepted.collect();
        for mut stored_subscription in stored_subscriptions {
            stored_subscription.subscription.interrupted();
            interceptor.keep(stored_subscription);
        }
        interceptor
    }

    /// Reads the stored proxy configurations, which [`restored`](Self::restored) cannot read.
    pub fn load_proxies<S: Stored>(&mut self, stored: &S) -> Result<(), S::Error> {
        for stored_subscription in self.stored_subscriptions.values() {
            let Some(proxy) = stored_subscription.subscription.proxy() else { continue };
            let partition = stored_subscription.subscription.partition();
            let Some(known) = stored.representation(partition, proxy)? else { continue };
            // An unreadable configuration is fetched with the next round.
            let Ok(bytes) = stored.content(&known.content) else { continue };
            let read = Configuration::read(&bytes, proxy).ok();
            self.proxies.extend(read.map(|read| (stored_subscription.id, read)));
        }
        Ok(())
    }

    /// All subscriptions. Closed ones are included while they have waiting edits.
    pub fn stored_subscriptions(&self) -> impl Iterator<Item = &StoredSubscription> {
        self.stored_subscriptions.values()
    }

    /// Returns a subscription.
    pub fn stored_subscription(&self, id: SubscriptionId) -> Option<&StoredSubscription> {
        self.stored_subscriptions.get(&id)
    }

    /// Edits that are not settled, in the order of their arrival.
    pub fn edits(&self) -> impl DoubleEndedIterator<Item = &Edit<Entity>> {
        self.outbox.edits()
    }

    /// Errors that are not cleared.
    pub fn errors(&self) -> &Errors<Option<Content>> {
        &self.errors
    }

    /// Notes that all steps so far survive a power cut.
    pub fn synced(&mut self) {
        self.is_ahead = false;
    }

    /// Digests of the contents in use. Other stored contents without an address may be deleted.
    pub fn needed(&self) -> impl Iterator<Item = Digest> {
        let edits = self.outbox.edits().flat_map(|edit| {
            edit.requested.body.iter().chain(&edit.requested.previous).map(|entity| entity.content)
        });
        let errors = self.errors.all().flat_map(|error| {
            let interaction = &error.interaction;
            let parts = [interaction.request_body, interaction.response_body, error.previous];
            parts.into_iter().flatten()
        });
        let shown = self.shown.all().filter_map(|shown| shown.entity.as_ref());
        let staged = self.in_progress.values().flat_map(ActiveRound::contents);
        let contents = edits.chain(errors).chain(shown.map(|entity| entity.content)).chain(staged);
        let contents = contents.chain(self.attempts.contents());
        contents.chain(self.accounts.contents()).map(|content| content.digest)
    }

    fn keep(&mut self, stored_subscription: StoredSubscription) {
        let subscription = &stored_subscription.subscription;
        self.credentials
            .entry(subscription.partition())
            .or_insert_with(|| Credentials::of(subscription.registered()));
        let addresses = [Some(subscription.feed()), stored_subscription.collection.as_ref()];
        for address in addresses.into_iter().flatten() {
            self.addresses.entry(address.clone()).or_default().insert(stored_subscription.id);
        }
        self.stored_subscriptions.insert(stored_subscription.id, stored_subscription);
    }

    /// The subscription of a feed in a partition, preferably an open one.
    fn stored_subscription_of(
        &self,
        partition: Partition,
        feed: &Location,
    ) -> Option<&StoredSubscription> {
        let at =
            self.addresses.get(feed)?.iter().filter_map(|id| self.stored_subscriptions.get(id));
        let of = at.filter(|stored_subscription| {
            let subscription = &stored_subscription.subscription;
            subscription.partition() == partition && subscription.feed() == feed
        });
        of.min_by_key(|stored_subscription| {
            stored_subscription.subscription.state() == State::Closed
        })
    }

    /// Stores the present state of a subscription.
    fn store(&self, step: &mut Step, id: SubscriptionId) {
        if let Some(stored_subscription) = self.stored_subscriptions.get(&id) {
            step.changes.push(Change::StoredSubscription(Box::new(stored_subscription.clone())));
        }
    }

    /// Stores the counters, if they changed.
    fn count(&mut self, step: &mut Step) {
        let counters =
            Counters { edit: self.outbox.next().0, error: self.errors.next().0, ..self.counters };
        if counters != self.counters || step.changes.iter().any(is_counted) {
            self.counters = counters;
            step.changes.push(Change::Counters(counters));
        }
    }

    /// Creates the event for a change of state, if there is one.
    fn state_event(&self, step: &mut Step, id: SubscriptionId, state: Option<State>, now: Time) {
        let Some((state, stored_subscription)) = state.zip(self.stored_subscriptions.get(&id))
        else {
            return;
        };
        let subscription = &stored_subscription.subscription;
        let feed = subscription.feed().clone();
        let change = StateChange { state, time: now, location: feed.clone() };
        let partition = subscription.partition();
        step.events.push(Event { partition, feed, kind: EventKind::State(change) });
    }

    /// Creates the event for an interaction, and records it if it is an error.
    fn interacted(
        &mut self,
        step: &mut Step,
        whose: (Partition, &Location),
        interaction: Interaction<Option<Content>>,
        is_error: Option<Option<Content>>,
    ) -> Option<ErrorId> {
        let (partition, feed) = whose;
        let kind = EventKind::Sync(Box::new(interaction.clone()));
        step.events.push(Event { partition, feed: feed.clone(), kind });
        is_error.map(|previous| self.record(step, whose, interaction, previous))
    }

    /// Records an error, with the content of the edit.
    fn record(
        &mut self,
        step: &mut Step,
        (partition, feed): (Partition, &Location),
        interaction: Interaction<Option<Content>>,
        previous: Option<Content>,
    ) -> ErrorId {
        let error = self.errors.record(partition, feed.clone(), interaction, previous);
        let id = error.id;
        step.changes.push(Change::Error(Box::new(error.clone())));
        step.is_durable = true;
        id
    }
}

/// Whether a change uses a number from the counters.
fn is_counted(change: &Change) -> bool {
    matches!(change, Change::StoredSubscription(_) | Change::OverlayEdit(_))
}
