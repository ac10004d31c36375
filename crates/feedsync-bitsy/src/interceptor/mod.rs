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
//!   the application waits. The latter are [noted](Interceptor::carries) before sending and
//!   [completed](Interceptor::carried) afterwards. Such edits of one resource must not overlap.
//! - [`Interceptor::begin`] returns the background tasks. Each task is [finished](Interceptor::finished)
//!   once.

mod ahead;
mod answering;
mod answers;
mod asking;
mod attempts;
mod background;
mod carrying;
mod control;
mod document;
mod edited;
mod editing;
mod fetching;
mod finding;
mod generation;
mod holding;
mod invalidating;
mod looking;
mod naming;
mod newsreading;
mod reach;
mod reply;
mod rotten;
mod sending;
mod settling;
mod showing;
mod standing;
mod step;
mod stored;
mod who;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use asking::{Decision, Proposed, Request};
pub use attempts::Attempt;
pub use carrying::Carried;
pub use control::{ControlError, Policy};
pub use invalidating::is_unsafe;
pub use newsreading::{WaitingChanges, WaitingFor};
pub use reply::{Composed, Reply, Shows};
pub use standing::{Standing, Why};
pub use step::{Belonging, Change, Counters, Event, News, Outcome, Shown, Step, Task, TaskId};
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
use background::Errand;
use fetching::Underway;
use finding::Finding;
use naming::Naming;
use reach::Reach;
use sending::Trail;
use showing::Showing;

/// Number of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeepingId(pub u64);

/// A stored subscription, and what is known of its feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// Number of the subscription.
    pub id: KeepingId,
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
    pub keepings: Vec<Keeping>,
    /// Edits that are not settled.
    pub edits: Vec<Edit<Entity>>,
    /// Errors that are not cleared.
    pub errors: Vec<SyncError<Option<Content>>>,
    /// Completed edits that are shown until their feeds are fetched again.
    pub shown: Vec<Shown>,
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
    keepings: BTreeMap<KeepingId, Keeping>,
    /// Open and closed subscriptions by the addresses of their feeds and collections.
    addresses: HashMap<Location, BTreeSet<KeepingId>>,
    credentials: BTreeMap<Partition, Credentials>,
    proxies: BTreeMap<KeepingId, Configuration>,
    outbox: Outbox<Entity>,
    errors: Errors<Option<Content>>,
    shown: Showing,
    named: Naming,
    attempts: Attempts,
    accounts: Accounts,
    counters: Counters,
    reach: Reach,
    /// Feeds that are searched for created members.
    finding: BTreeMap<(Partition, Location), Finding>,
    underway: BTreeMap<KeepingId, Underway>,
    tasks: BTreeMap<TaskId, Errand>,
    next_task: u64,
    /// Delivery states of edits.
    trails: BTreeMap<EditId, Trail>,
    /// Edits that are noted as sent and were not sent yet.
    ahead: BTreeSet<EditId>,
    /// Accepted edits that are checked.
    awaited: BTreeSet<EditId>,
    /// Whether a power cut would put completed edits in doubt again.
    is_ahead: bool,
    /// Resources whose representation after an edit is requested from the server.
    asked: BTreeSet<(KeepingId, Location)>,
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
        let Rows { keepings, edits, errors, shown, named, attempts, newsreaders, counters, policy } =
            rows;
        let mut interceptor = Self {
            settings,
            policy,
            keepings: BTreeMap::new(),
            addresses: HashMap::new(),
            credentials: BTreeMap::new(),
            proxies: BTreeMap::new(),
            outbox: Outbox::restored(edits, EditId(counters.edit)),
            errors: Errors::restored(errors, ErrorId(counters.error)),
            shown: Showing::restored(shown),
            named: Naming::restored(named),
            attempts: Attempts::restored(attempts),
            accounts: Accounts::restored(newsreaders),
            counters,
            reach: Reach::default(),
            finding: BTreeMap::new(),
            underway: BTreeMap::new(),
            tasks: BTreeMap::new(),
            next_task: 1,
            trails: BTreeMap::new(),
            ahead: BTreeSet::new(),
            awaited: BTreeSet::new(),
            // The steps of the former process may not be synchronised to the disk.
            is_ahead: true,
            asked: BTreeSet::new(),
            stale: BTreeSet::new(),
            outdated: BTreeSet::new(),
        };
        let accepted = |edit: &&Edit<_>| edit.progress == Progress::Accepted;
        let accepted = interceptor.outbox.edits().filter(accepted).map(|edit| edit.id);
        interceptor.awaited = accepted.collect();
        for mut keeping in keepings {
            keeping.subscription.interrupted();
            interceptor.keep(keeping);
        }
        interceptor
    }

    /// Reads the stored proxy configurations, which [`restored`](Self::restored) cannot read.
    pub fn recall<S: Stored>(&mut self, stored: &S) -> Result<(), S::Error> {
        for keeping in self.keepings.values() {
            let Some(proxy) = keeping.subscription.proxy() else { continue };
            let partition = keeping.subscription.partition();
            let Some(known) = stored.representation(partition, proxy)? else { continue };
            // An unreadable configuration is fetched with the next round.
            let Ok(bytes) = stored.content(&known.content) else { continue };
            let read = Configuration::read(&bytes, proxy).ok();
            self.proxies.extend(read.map(|read| (keeping.id, read)));
        }
        Ok(())
    }

    /// All subscriptions. Closed ones are included while they have waiting edits.
    pub fn keepings(&self) -> impl Iterator<Item = &Keeping> {
        self.keepings.values()
    }

    /// Returns a subscription.
    pub fn keeping(&self, id: KeepingId) -> Option<&Keeping> {
        self.keepings.get(&id)
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
            edit.asked.body.iter().chain(&edit.asked.was).map(|entity| entity.content)
        });
        let errors = self.errors.all().flat_map(|error| {
            let interaction = &error.interaction;
            let parts = [interaction.request_body, interaction.response_body, error.was];
            parts.into_iter().flatten()
        });
        let shown = self.shown.all().filter_map(|shown| shown.entity.as_ref());
        let staged = self.underway.values().flat_map(Underway::contents);
        let contents = edits.chain(errors).chain(shown.map(|entity| entity.content)).chain(staged);
        let contents = contents.chain(self.attempts.contents());
        contents.chain(self.accounts.contents()).map(|content| content.digest)
    }

    fn keep(&mut self, keeping: Keeping) {
        let subscription = &keeping.subscription;
        self.credentials
            .entry(subscription.partition())
            .or_insert_with(|| Credentials::of(subscription.registered()));
        let addresses = [Some(subscription.feed()), keeping.collection.as_ref()];
        for address in addresses.into_iter().flatten() {
            self.addresses.entry(address.clone()).or_default().insert(keeping.id);
        }
        self.keepings.insert(keeping.id, keeping);
    }

    /// The subscription of a feed in a partition, preferably an open one.
    fn keeping_of(&self, partition: Partition, feed: &Location) -> Option<&Keeping> {
        let at = self.addresses.get(feed)?.iter().filter_map(|id| self.keepings.get(id));
        let of = at.filter(|keeping| {
            let subscription = &keeping.subscription;
            subscription.partition() == partition && subscription.feed() == feed
        });
        of.min_by_key(|keeping| keeping.subscription.state() == State::Closed)
    }

    /// Stores the present state of a subscription.
    fn store(&self, step: &mut Step, id: KeepingId) {
        if let Some(keeping) = self.keepings.get(&id) {
            step.changes.push(Change::Keeping(Box::new(keeping.clone())));
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
    fn told(&self, step: &mut Step, id: KeepingId, state: Option<State>, now: Time) {
        let Some((state, keeping)) = state.zip(self.keepings.get(&id)) else { return };
        let subscription = &keeping.subscription;
        let feed = subscription.feed().clone();
        let change = StateChange { state, time: now, location: feed.clone() };
        let partition = subscription.partition();
        step.events.push(Event { partition, feed, news: News::State(change) });
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
        let news = News::Sync(Box::new(interaction.clone()));
        step.events.push(Event { partition, feed: feed.clone(), news });
        is_error.map(|was| self.record(step, whose, interaction, was))
    }

    /// Records an error, with the content of the edit.
    fn record(
        &mut self,
        step: &mut Step,
        (partition, feed): (Partition, &Location),
        interaction: Interaction<Option<Content>>,
        was: Option<Content>,
    ) -> ErrorId {
        let error = self.errors.record(partition, feed.clone(), interaction, was);
        let id = error.id;
        step.changes.push(Change::Error(Box::new(error.clone())));
        step.is_durable = true;
        id
    }
}

/// Whether a change uses a number from the counters.
fn is_counted(change: &Change) -> bool {
    matches!(change, Change::Keeping(_) | Change::Shown(_))
}
