//! The state that all roles share, and the changes of it that several of them make.

mod control;
mod damage;
mod edit_status;
mod errors;
mod invalidate;
mod members;
mod newsreaders;
mod outbox;
mod requests;
mod subscriptions;
mod tasks;

use std::collections::HashMap;

use crate::authentication::{Credentials, Partition};
use crate::collections::{SortedMap, SortedSet};
use crate::event::{ErrorId, Errors, SyncError};
use crate::interceptor::attempts::{Attempt, Attempts};
use crate::interceptor::delivery_state::DeliveryState;
use crate::interceptor::member_addresses::MemberAddresses;
use crate::interceptor::overlay_edits::OverlayEdits;
use crate::interceptor::reachability::Reachability;
use crate::interceptor::round::ActiveRound;
use crate::interceptor::search::MemberSearch;
use crate::interceptor::settings::{Policy, Settings};
use crate::interceptor::step::{Counters, OverlayEdit, TaskId};
use crate::interceptor::stored::{Content, Digest, Entity, Stored};
use crate::interceptor::stored_subscription::{StoredSubscription, SubscriptionId};
use crate::interceptor::tasks::RunningTask;
use crate::location::Location;
use crate::newsreader;
use crate::newsreader::Accounts;
use crate::outbox::{Edit, EditId, Outbox, Progress};
use crate::proxy::Configuration;

pub use control::ControlError;
pub(crate) use damage::is_beyond_repair;
pub use edit_status::{EditStatus, WaitReason};
pub(crate) use invalidate::Invalidated;
pub use invalidate::is_unsafe;
pub(crate) use members::Posted;
pub use newsreaders::{WaitingChanges, WaitingFor};

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
pub struct State {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) stored_subscriptions: SortedMap<SubscriptionId, StoredSubscription>,
    /// Open and closed subscriptions by the addresses of their feeds and collections.
    pub(crate) addresses: HashMap<Location, SortedSet<SubscriptionId>>,
    pub(crate) credentials: SortedMap<Partition, Credentials>,
    pub(crate) proxies: SortedMap<SubscriptionId, Configuration>,
    pub(crate) outbox: Outbox<Entity>,
    pub(crate) errors: Errors<Option<Content>>,
    pub(crate) shown: OverlayEdits,
    pub(crate) named: MemberAddresses,
    pub(crate) attempts: Attempts,
    pub(crate) accounts: Accounts,
    pub(crate) counters: Counters,
    pub(crate) reachability: Reachability,
    /// Feeds that are searched for created members.
    pub(crate) finding: SortedMap<(Partition, Location), MemberSearch>,
    pub(crate) in_progress: SortedMap<SubscriptionId, ActiveRound>,
    pub(crate) tasks: SortedMap<TaskId, RunningTask>,
    pub(crate) next_task: u64,
    /// Delivery states of edits.
    pub(crate) delivery_states: SortedMap<EditId, DeliveryState>,
    /// Edits that are noted as sent and were not sent yet.
    pub(crate) ahead: SortedSet<EditId>,
    /// Edits whose note as sent may not be durable yet, with the number of the step that noted them.
    pub(crate) notes: SortedMap<EditId, u64>,
    /// Number of steps that noted edits before they were due.
    pub(crate) note_steps: u64,
    /// Accepted edits that are checked.
    pub(crate) awaited: SortedSet<EditId>,
    /// Whether a power cut would put completed edits in doubt again.
    pub(crate) is_ahead: bool,
    /// Resources whose representation after an edit is requested from the server.
    pub(crate) requested: SortedSet<(SubscriptionId, Location)>,
    /// Feed documents that were changed after they were fetched. They are for applications without a network.
    pub(crate) stale: SortedSet<(Partition, Location)>,
    /// Running requests that began before their resource changed.
    pub(crate) outdated: SortedSet<TaskId>,
}

impl State {
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
            stored_subscriptions: SortedMap::new(),
            addresses: HashMap::new(),
            credentials: SortedMap::new(),
            proxies: SortedMap::new(),
            outbox: Outbox::restored(edits, EditId(counters.edit)),
            errors: Errors::restored(errors, ErrorId(counters.error)),
            shown: OverlayEdits::restored(shown),
            named: MemberAddresses::restored(named),
            attempts: Attempts::restored(attempts),
            accounts: Accounts::restored(newsreaders),
            counters,
            reachability: Reachability::default(),
            finding: SortedMap::new(),
            in_progress: SortedMap::new(),
            tasks: SortedMap::new(),
            next_task: 1,
            delivery_states: SortedMap::new(),
            ahead: SortedSet::new(),
            notes: SortedMap::new(),
            note_steps: 0,
            awaited: SortedSet::new(),
            // The steps of the former process may not be synchronised to the disk.
            is_ahead: true,
            requested: SortedSet::new(),
            stale: SortedSet::new(),
            outdated: SortedSet::new(),
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
        let mut proxies = SortedMap::new();
        for stored_subscription in self.stored_subscriptions.values() {
            let Some(proxy) = stored_subscription.subscription.proxy() else { continue };
            let partition = stored_subscription.subscription.partition();
            let Some(known) = stored.representation(partition, proxy)? else { continue };
            // An unreadable configuration is fetched with the next round.
            let Ok(bytes) = stored.content(&known.content) else { continue };
            let read = Configuration::read(&bytes, proxy).ok();
            proxies.extend(read.map(|read| (stored_subscription.id, read)));
        }
        self.proxies.extend(proxies);
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
        self.notes_synced(self.note_steps);
    }

    /// Number of steps so far that noted edits as sent before they were due.
    pub fn note_steps(&self) -> u64 {
        self.note_steps
    }

    /// Notes that the first of these steps survive a power cut, so that their edits may leave.
    pub fn notes_synced(&mut self, steps: u64) {
        let is_durable = |(_, step): &(&EditId, &u64)| **step <= steps;
        let durable: Vec<EditId> =
            self.notes.iter().filter(is_durable).map(|(id, _)| *id).collect();
        for id in durable {
            self.notes.remove(&id);
            self.ahead.insert(id);
        }
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
}
