//! Requests and changes of newsreaders. They share the store, the errors and the reachability of servers with
//! all other requests.

use http::{HeaderMap, StatusCode};

use crate::authentication::Partition;
use crate::event::Interaction;
use crate::interceptor::settings::Policy;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored::Content;
use crate::location::Location;
use crate::newsreader::{Account, Accounts, ChangeId, Interface};
use crate::subscription::outcome::retry_after;
use crate::time::Time;

/// Changes that newsreaders of one account made, and that its server has not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingChanges {
    /// The interface of the newsreaders.
    pub interface: Interface,
    /// The address of the server.
    pub base: Location,
    /// Number of changes.
    pub count: usize,
    /// Reason why they wait.
    pub why: WaitingFor,
}

/// The event that sends waiting changes of newsreaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFor {
    /// They are sent next.
    Capacity,
    /// The use of the network is permitted again.
    Network,
    /// The server is reached.
    Server,
    /// The pause that the server asked for ends at this time.
    Time(Time),
    /// The newsreader signs in again, because the server refused its credentials.
    SignIn,
}

impl State {
    /// Stored data of the newsreaders.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Changes the stored data of the newsreaders. `is_durable` is set for changes that are acknowledged to a
    /// client.
    pub fn read_with(
        &mut self,
        is_durable: bool,
        change: impl FnOnce(&mut Accounts) -> Vec<Change>,
    ) -> Step {
        let changes = change(&mut self.accounts);
        Step { changes, is_durable, ..Step::default() }
    }

    /// Whether a server may be asked: the network is permitted, and the server is reachable or due for a
    /// test.
    pub fn may_ask(&self, location: &Location, now: Time) -> bool {
        self.policy == Policy::Auto && self.reachability.may_try(location, now)
    }

    /// Tests a server of newsreaders more often while it is unreachable.
    pub fn watch(&mut self, base: &Location) {
        self.reachability.watch(base);
    }

    /// Waiting changes of newsreaders for each account that has some, and the reason.
    pub fn waiting_changes(&self, now: Time) -> Vec<WaitingChanges> {
        let accounts = self.accounts.all().filter_map(|account| {
            let count = self.accounts.pending(account.partition).count();
            (count > 0).then_some((account, count))
        });
        let each = accounts.map(|(account, count)| {
            let until = self.accounts.put_off_until(account.partition, now);
            let why = match until {
                _ if self.accounts.is_held(account.partition) => WaitingFor::SignIn,
                _ if self.policy != Policy::Auto => WaitingFor::Network,
                _ if !self.reachability.may_try(&account.base, now) => WaitingFor::Server,
                Some(until) => WaitingFor::Time(until),
                None => WaitingFor::Capacity,
            };
            let (interface, base) = (account.interface, account.base.clone());
            WaitingChanges { interface, base, count, why }
        });
        each.collect()
    }

    /// Accounts whose changes can be sent now.
    pub fn deliverable(&self, now: Time) -> Vec<Account> {
        let waiting = self.accounts.waiting().into_iter();
        let may_send = |account: &&Account| {
            self.may_ask(&account.base, now)
                && self.accounts.put_off_until(account.partition, now).is_none()
        };
        waiting.filter(may_send).cloned().collect()
    }

    /// Notes that a server failed at a change or asked for a pause. Returns whether the change is at fault.
    pub fn not_taken(
        &mut self,
        (partition, id): (Partition, ChangeId),
        status: StatusCode,
        headers: &HeaderMap,
        now: Time,
    ) -> bool {
        if matches!(status.as_u16(), 429 | 503)
            && let Some(until) = retry_after(headers, now)
        {
            self.accounts.put_off(partition, until);
        }
        status == StatusCode::INTERNAL_SERVER_ERROR && self.accounts.fails(id, now)
    }

    /// Records that a server refused a change, as an error until it is cleared. `content` is the body of the
    /// response, `body` that of the request.
    pub fn not_written(
        &mut self,
        id: ChangeId,
        (status, headers): (StatusCode, HeaderMap),
        (body, content): (Content, Content),
        now: Time,
    ) -> Step {
        let mut step = Step::default();
        let Some((written, change)) = self.accounts.refused(id) else { return step };
        step.changes.push(change);
        let Some(account) = self.accounts.account(written.partition) else { return step };
        let (base, partition) = (account.base.clone(), written.partition);
        let request = written.change.request;
        let location = Location::resolve(Some(&base), &request.path);
        let interaction = Interaction {
            status,
            time: now,
            location: location.unwrap_or_else(|_| base.clone()),
            method: request.method,
            request_headers: HeaderMap::new(),
            request_body: Some(body),
            response_headers: headers,
            response_body: Some(content),
        };
        self.interacted(&mut step, (partition, &base), interaction, Some(None));
        self.count(&mut step);
        step.is_durable = true;
        step
    }

    /// Records that a server no longer accepts an account, as an error until it is cleared. The changes of
    /// the account wait for a new sign-in.
    pub fn not_known(&mut self, account: &Account, status: StatusCode, now: Time) -> Step {
        let mut step = Step::default();
        if !self.accounts.hold(account.partition) {
            return step;
        }
        let interaction = Interaction {
            status,
            time: now,
            location: account.base.clone(),
            method: "POST".to_owned(),
            request_headers: HeaderMap::new(),
            request_body: None,
            response_headers: HeaderMap::new(),
            response_body: None,
        };
        self.interacted(&mut step, (account.partition, &account.base), interaction, Some(None));
        self.count(&mut step);
        step
    }
}
