//! The whole: what becomes of requests of applications, what is fetched and sent in the background, and what
//! applications are told (BITSY 1.2, 2.1.3, 3).
//!
//! It holds what is small and decides on it: subscriptions, edits on their way, errors. What is stored, it
//! reads through [`Stored`]. Whatever is asked of it answers with a [`Step`]: what to store in one
//! transaction, before anything else happens. [`Interceptor::restored`] makes it again of what was stored, so
//! that it may stop between any two steps. It has to be made again after an error of the store, too: what it
//! holds is then ahead of what is stored.
//!
//! - A request is first [judged](Interceptor::decide). Most are answered from there; edits are read whole,
//!   and are either [taken](Interceptor::take) or carried to their server while the application waits, which
//!   is [noted](Interceptor::carries) before and [told](Interceptor::carried) after. Edits of one resource that are carried must not overlap.
//! - [`Interceptor::begin`] gives out what is to be done in the background; each task is
//!   [finished](Interceptor::finished) once.

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

/// A subscription's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeepingId(pub u64);

/// A subscription, and what is known of its feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// Its place.
    pub id: KeepingId,
    /// The subscription. A closed one stays until its edits have left (2.1.2).
    pub subscription: Subscription,
    /// The collection behind the feed (1.3).
    pub collection: Option<Location>,
    /// Where the feed is asked for, if it has moved there for good.
    pub moved: Option<Location>,
    /// The relations that were followed to get what is stored; none if nothing is.
    pub followed: Option<BTreeSet<Relation>>,
}

/// How it is set up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// How closely the document is followed.
    pub profile: Profile,
    /// Whether what somebody else's server forbids to store is not stored (R-B26).
    pub honours_no_store: bool,
}

/// What was stored, to go on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The subscriptions.
    pub keepings: Vec<Keeping>,
    /// Edits on their way.
    pub edits: Vec<Edit<Entity>>,
    /// Errors that nobody has cleared.
    pub errors: Vec<SyncError<Option<Content>>>,
    /// What shows until its feed was fetched again.
    pub shown: Vec<Shown>,
    /// Members that have got an address.
    pub named: Vec<(Partition, Location, Option<Location>)>,
    /// Edits that were carried, and of which nobody knows what became, in their order.
    pub attempts: Vec<Attempt>,
    /// What is kept of newsreaders.
    pub newsreaders: newsreader::Rows,
    /// The next places.
    pub counters: Counters,
    /// Whether the network is used.
    pub policy: Policy,
}

/// What decides.
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
    /// Feeds that are asked where they have what was made in them.
    finding: BTreeMap<(Partition, Location), Finding>,
    underway: BTreeMap<KeepingId, Underway>,
    tasks: BTreeMap<TaskId, Errand>,
    next_task: u64,
    /// What is known of edits that are being sent.
    trails: BTreeMap<EditId, Trail>,
    /// Edits that are noted as sent and wait for their turn.
    ahead: BTreeSet<EditId>,
    /// Accepted edits that are looked for.
    awaited: BTreeSet<EditId>,
    /// Whether edits were carried out that a power cut would put in doubt again.
    is_ahead: bool,
    /// What servers are asked what they made of edits.
    asked: BTreeSet<(KeepingId, Location)>,
    /// Documents of feeds that were changed since they were fetched: they are for applications without a network.
    stale: BTreeSet<(Partition, Location)>,
    /// Requests under way that were begun before what they ask for was changed.
    outdated: BTreeSet<TaskId>,
}

impl Interceptor {
    /// One that begins with nothing.
    pub fn new(settings: Settings) -> Self {
        Self::restored(settings, Rows::default())
    }

    /// One that goes on from what was stored. Rounds that were under way begin again; what was being sent is
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
            // What the process before wrote may not be synchronised.
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

    /// Takes in what is stored of the configurations of proxies, which [`restored`](Self::restored) cannot read.
    pub fn recall<S: Stored>(&mut self, stored: &S) -> Result<(), S::Error> {
        for keeping in self.keepings.values() {
            let Some(proxy) = keeping.subscription.proxy() else { continue };
            let partition = keeping.subscription.partition();
            let Some(known) = stored.representation(partition, proxy)? else { continue };
            // What cannot be read is fetched with the next round.
            let Ok(bytes) = stored.content(&known.content) else { continue };
            let read = Configuration::read(&bytes, proxy).ok();
            self.proxies.extend(read.map(|read| (keeping.id, read)));
        }
        Ok(())
    }

    /// All subscriptions; closed ones as long as edits of theirs are on their way.
    pub fn keepings(&self) -> impl Iterator<Item = &Keeping> {
        self.keepings.values()
    }

    /// A subscription.
    pub fn keeping(&self, id: KeepingId) -> Option<&Keeping> {
        self.keepings.get(&id)
    }

    /// The edits on their way, in the order in which they came.
    pub fn edits(&self) -> impl DoubleEndedIterator<Item = &Edit<Entity>> {
        self.outbox.edits()
    }

    /// The errors that nobody has cleared.
    pub fn errors(&self) -> &Errors<Option<Content>> {
        &self.errors
    }

    /// Notes that all steps so far outlive a power cut.
    pub fn synced(&mut self) {
        self.is_ahead = false;
    }

    /// The bytes that are needed: whatever else is stored without an address may go.
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

    /// The subscription of a feed by these people: the open one, if there is one.
    fn keeping_of(&self, partition: Partition, feed: &Location) -> Option<&Keeping> {
        let at = self.addresses.get(feed)?.iter().filter_map(|id| self.keepings.get(id));
        let of = at.filter(|keeping| {
            let subscription = &keeping.subscription;
            subscription.partition() == partition && subscription.feed() == feed
        });
        of.min_by_key(|keeping| keeping.subscription.state() == State::Closed)
    }

    /// Stores what a subscription is now.
    fn store(&self, step: &mut Step, id: KeepingId) {
        if let Some(keeping) = self.keepings.get(&id) {
            step.changes.push(Change::Keeping(Box::new(keeping.clone())));
        }
    }

    /// Stores the next places, if they changed.
    fn count(&mut self, step: &mut Step) {
        let counters =
            Counters { edit: self.outbox.next().0, error: self.errors.next().0, ..self.counters };
        if counters != self.counters || step.changes.iter().any(is_counted) {
            self.counters = counters;
            step.changes.push(Change::Counters(counters));
        }
    }

    /// Tells that a subscription is in another state, if it is.
    fn told(&self, step: &mut Step, id: KeepingId, state: Option<State>, now: Time) {
        let Some((state, keeping)) = state.zip(self.keepings.get(&id)) else { return };
        let subscription = &keeping.subscription;
        let feed = subscription.feed().clone();
        let change = StateChange { state, time: now, location: feed.clone() };
        let partition = subscription.partition();
        step.events.push(Event { partition, feed, news: News::State(change) });
    }

    /// Tells of an interaction, and records it if it is an error.
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

    /// Records an error; what was edited is kept with it.
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

/// Whether a change takes a place that is counted.
fn is_counted(change: &Change) -> bool {
    matches!(change, Change::Keeping(_) | Change::Shown(_))
}
