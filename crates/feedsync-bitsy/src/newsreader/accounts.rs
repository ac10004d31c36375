//! Stored responses of each account, and its changes in their order.

use std::collections::{HashMap, HashSet};

use super::Interface;
use super::account::{Account, RequestCredentials, SignIn, partition};
use super::change::{ChangeId, StoredChange};
use super::facts::{Fact, Facts, Subject};
use super::key::Key;
use super::overlay::Overlay;
use super::rows::{CachedResponse, Rows};
use crate::authentication::Partition;
use crate::collections::SortedMap;
use crate::interceptor::{Change, Content};
use crate::location::Location;
use crate::time::Time;

/// Maximum number of accounts.
pub(super) const MAX_ACCOUNTS: usize = 32;

/// Maximum number of stored responses of all accounts.
pub(super) const MAX_CACHED_RESPONSES: usize = 10_000;

/// Maximum size of the stored responses of all accounts, in bytes.
pub(super) const MAX_CACHED_BYTES: u64 = 256 << 20;

/// Maximum number of stored changes of an account that its server has received.
pub(super) const MAX_SENT_CHANGES: usize = 20_000;

/// Interval after which an account's last use is stored again.
const SEEN_INTERVAL: std::time::Duration = std::time::Duration::from_secs(3_600);

/// Stored data of all accounts.
#[derive(Debug)]
pub struct Accounts {
    pub(super) accounts: SortedMap<Partition, Account>,
    kept: SortedMap<(Partition, Key), CachedResponse>,
    pub(super) written: SortedMap<ChangeId, StoredChange>,
    /// Number of the next change.
    next: u64,
    /// Accounts that their servers no longer accept. Nothing is sent for them until they sign in again.
    held: HashSet<Partition>,
    /// Accounts whose server asked for a pause, and its end.
    put_off: HashMap<Partition, Time>,
    /// Changes at which their server fails: number of failures, and time of the first.
    faults: HashMap<ChangeId, (u32, Time)>,
}

/// Number and duration of a server's failures at a change after which the change is an error.
const FAULT_LIMIT: (u32, std::time::Duration) = (10, std::time::Duration::from_secs(15 * 60));

impl Default for Accounts {
    fn default() -> Self {
        Self::restored(Rows::default())
    }
}

impl Accounts {
    /// Restores the accounts from the stored rows.
    pub fn restored(rows: Rows) -> Self {
        let ids = rows.written.iter().map(|written| written.id);
        let last = ids.chain(rows.kept.iter().map(|kept| kept.stamp)).max();
        Self {
            next: last.map_or(0, |ChangeId(last)| last).saturating_add(1),
            accounts: rows.accounts.into_iter().map(|one| (one.partition, one)).collect(),
            kept: rows.kept.into_iter().map(|kept| ((kept.partition, kept.key), kept)).collect(),
            written: rows.written.into_iter().map(|written| (written.id, written)).collect(),
            held: HashSet::new(),
            put_off: HashMap::new(),
            faults: HashMap::new(),
        }
    }

    /// Returns the account with these credentials, if its server has responded to it.
    pub fn partition_of(
        &self,
        interface: Interface,
        base: &Location,
        credentials: &RequestCredentials,
    ) -> Option<Partition> {
        let (sign_in, session) = match credentials {
            RequestCredentials::Anonymous => return None,
            RequestCredentials::Field(field) => (field, None),
            RequestCredentials::Session(session) => {
                // Sessions of this server only are compared, and by their digests.
                let shown = partition(interface, base, &SignIn::Session, Some(session.as_str()));
                let is_it = |known: &&Account| {
                    let of = |known: &String| {
                        partition(interface, base, &SignIn::Session, Some(known)) == shown
                    };
                    known.interface == interface
                        && known.base == *base
                        && known.sessions.iter().any(of)
                };
                // The account that received the session last.
                let known = self.accounts.values().filter(is_it).max_by_key(|known| known.seen);
                return known.map(|known| known.partition);
            }
        };
        let partition = partition(interface, base, sign_in, session);
        self.accounts.contains_key(&partition).then_some(partition)
    }

    /// Returns the account of a partition.
    pub fn account(&self, partition: Partition) -> Option<&Account> {
        self.accounts.get(&partition)
    }

    /// Session for a sign-in without a network, if the same credentials signed in before.
    pub fn session(&self, interface: Interface, base: &Location, sign_in: &SignIn) -> Option<&str> {
        self.accounts.get(&partition(interface, base, sign_in, None))?.session()
    }

    /// Notes that a server issued a session at sign-in.
    pub fn signed_in(
        &mut self,
        (interface, base): (Interface, &Location),
        sign_in: &SignIn,
        session: &str,
        now: Time,
    ) -> Vec<Change> {
        let account = Account::new(interface, base, sign_in.clone(), None);
        let nameless = partition(interface, base, &SignIn::Session, Some(session));
        let to = account.partition;
        let mut changes = self.knows(account, Some(session), true, now).1;
        // The session may have been in use before anybody signed in here.
        changes.extend(self.hand_over(&HashSet::from([nameless]), to));
        changes
    }

    /// Notes that a server responded to a request with these credentials. `is_proof` says whether the
    /// response proves that the server accepts them.
    pub fn answered(
        &mut self,
        (interface, base): (Interface, &Location),
        credentials: &RequestCredentials,
        is_proof: bool,
        now: Time,
    ) -> Option<(Partition, Vec<Change>)> {
        if let Some(account) =
            self.partition_of(interface, base, credentials).and_then(|it| self.account(it))
        {
            let account = account.clone();
            let session = match credentials {
                RequestCredentials::Session(session) if account.is_rare(session.as_str()) => {
                    Some(session.as_str())
                }
                _ => None,
            };
            return Some(self.knows(account, session, is_proof, now));
        }
        // Credentials without proof may be false.
        if !is_proof {
            return None;
        }
        let account = match credentials {
            RequestCredentials::Anonymous => return None,
            RequestCredentials::Field(field) => Account::new(interface, base, field.clone(), None),
            RequestCredentials::Session(session) => {
                Account::new(interface, base, SignIn::Session, Some(session.as_str()))
            }
        };
        Some(self.knows(account, None, is_proof, now))
    }

    fn knows(
        &mut self,
        account: Account,
        session: Option<&str>,
        is_proof: bool,
        now: Time,
    ) -> (Partition, Vec<Change>) {
        let partition = account.partition;
        let mut changes = Vec::new();
        let sign_in = account.sign_in.clone();
        let is_new = !self.accounts.contains_key(&partition);
        let known = self.accounts.entry(partition).or_insert(account);
        let has_session = session.is_some_and(|session| known.add_session(session));
        // The additional header may have changed.
        let is_other = std::mem::replace(&mut known.sign_in, sign_in) != known.sign_in;
        if is_new || has_session || is_other || now.since(known.seen) > SEEN_INTERVAL {
            known.seen = now;
            changes.push(Change::Account(Box::new(known.clone())));
        }
        if is_proof {
            self.held.remove(&partition);
            changes.extend(self.inherit(partition));
        }
        changes.extend(self.bound_accounts(partition));
        (partition, changes)
    }

    /// Transfers unsent changes from accounts with the same name and server that the server no longer
    /// accepts, as after a change of password. Accounts that the server accepts keep their changes.
    fn inherit(&mut self, partition: Partition) -> Vec<Change> {
        let Some(account) = self.accounts.get(&partition) else { return Vec::new() };
        let Some(name) = account.name() else { return Vec::new() };
        let is_same = |other: &&Account| {
            other.partition != partition
                && (other.interface, &other.base) == (account.interface, &account.base)
                && other.name().as_ref() == Some(&name)
                && self.held.contains(&other.partition)
        };
        let before: HashSet<Partition> =
            self.accounts.values().filter(is_same).map(|other| other.partition).collect();
        self.hand_over(&before, partition)
    }

    /// Transfers unsent changes to another account.
    fn hand_over(&mut self, from: &HashSet<Partition>, to: Partition) -> Vec<Change> {
        let theirs = self
            .written
            .values_mut()
            .filter(|written| !written.is_sent && from.contains(&written.partition));
        let moved = theirs.map(|written| {
            written.partition = to;
            Change::StoredChange(Box::new(written.clone()))
        });
        moved.collect()
    }

    fn bound_accounts(&mut self, but: Partition) -> Vec<Change> {
        if self.accounts.len() <= MAX_ACCOUNTS {
            return Vec::new();
        }
        let is_spare =
            |one: &&Account| one.partition != but && self.pending(one.partition).next().is_none();
        let spare = self.accounts.values().filter(is_spare).min_by_key(|one| one.seen);
        spare.map(|one| one.partition).map(|partition| self.forget(partition)).unwrap_or_default()
    }

    fn forget(&mut self, partition: Partition) -> Vec<Change> {
        let of = |(whose, _): &&(Partition, Key)| *whose == partition;
        let keys: Vec<_> = self.kept.keys().filter(of).copied().collect();
        let mut changes: Vec<Change> =
            keys.into_iter().map(|(_, key)| self.kept_gone(partition, key)).collect();
        changes.extend(self.prune(partition));
        self.accounts.remove(&partition);
        changes.push(Change::AccountRemoved(partition));
        changes
    }

    /// Number of the last change that a server's next response includes.
    pub fn stamp(&self, partition: Partition) -> ChangeId {
        let first = self.pending(partition).next().map(|written| written.id.0);
        ChangeId(first.unwrap_or(self.next).saturating_sub(1))
    }

    /// Stores a response, and discards the oldest responses beyond the limits.
    pub fn keep(&mut self, kept: CachedResponse) -> Vec<Change> {
        let partition = kept.partition;
        let mut changes = vec![Change::CachedResponse(Box::new(kept.clone()))];
        self.kept.insert((partition, kept.key), kept);
        let mut bytes: u64 = self.kept.values().map(|kept| kept.content.length).sum();
        while self.kept.len() > MAX_CACHED_RESPONSES || bytes > MAX_CACHED_BYTES {
            let oldest = self.kept.values().min_by_key(|kept| kept.fetched);
            let Some((whose, key)) = oldest.map(|kept| (kept.partition, kept.key)) else { break };
            bytes -= self.kept[&(whose, key)].content.length;
            changes.push(self.kept_gone(whose, key));
        }
        changes.extend(self.prune(partition));
        changes
    }

    /// Discards responses whose bytes are damaged.
    pub(crate) fn damaged(&mut self, is_it: &impl Fn(&Content) -> bool) -> Vec<Change> {
        let damaged = self.kept.iter().filter(|(_, kept)| is_it(&kept.content));
        let damaged: Vec<(Partition, Key)> = damaged.map(|(key, _)| *key).collect();
        damaged.into_iter().map(|(whose, key)| self.kept_gone(whose, key)).collect()
    }

    fn kept_gone(&mut self, partition: Partition, key: Key) -> Change {
        self.kept.remove(&(partition, key));
        Change::CachedResponseRemoved { partition, key }
    }

    /// Discards sent changes that every stored response includes.
    pub(super) fn prune(&mut self, partition: Partition) -> Vec<Change> {
        let mut changes = Vec::new();
        loop {
            let oldest = self.kept_of(partition).min_by_key(|kept| kept.stamp);
            let oldest = oldest.map(|kept| (kept.stamp, kept.key));
            let sent = self.written.values().filter(|it| it.partition == partition && it.is_sent);
            let (gone, left): (Vec<_>, Vec<_>) =
                sent.map(|it| it.id).partition(|id| oldest.is_none_or(|(stamp, _)| *id <= stamp));
            for id in gone {
                self.written.remove(&id);
                changes.push(Change::StoredChangeRemoved(id));
            }
            match oldest {
                // The oldest response lacks too many changes, so it is discarded.
                Some((_, key)) if left.len() > MAX_SENT_CHANGES => {
                    changes.push(self.kept_gone(partition, key));
                }
                _ => return changes,
            }
        }
    }

    /// Returns a stored response.
    pub fn kept(&self, partition: Partition, key: Key) -> Option<&CachedResponse> {
        self.kept.get(&(partition, key))
    }

    /// Contents of all stored responses.
    pub fn contents(&self) -> impl Iterator<Item = Content> {
        self.kept.values().map(|kept| kept.content)
    }

    fn kept_of(&self, partition: Partition) -> impl Iterator<Item = &CachedResponse> {
        let (first, last) = (Key([0; 32]), Key([u8::MAX; 32]));
        self.kept.range((partition, first)..=(partition, last)).map(|(_, kept)| kept)
    }

    pub(super) fn all_facts(&self, partition: Partition) -> impl Iterator<Item = &Facts> {
        self.kept_of(partition).map(|kept| &kept.facts)
    }

    /// Returns the changes since a response, and other responses with articles that may be inserted into it.
    pub fn overlay(&self, kept: &CachedResponse) -> (Overlay, Vec<Content>) {
        let after = (std::ops::Bound::Excluded(kept.stamp), std::ops::Bound::Unbounded);
        let since = self.written.range(after).map(|(_, written)| written);
        let since = since.filter(|written| written.partition == kept.partition);
        let filed = self.all_facts(kept.partition).flat_map(|facts| facts.filed.iter().copied());
        let filed: HashSet<(Subject, Subject)> = filed.collect();
        let mut overlay = Overlay::new(since.map(|written| &written.change), filed);
        if overlay.is_empty() {
            return (overlay, Vec::new());
        }
        let changed: HashSet<i64> = overlay.articles().collect();
        for fact in self.known(kept.partition, Some(&changed)).into_values() {
            overlay.learn(fact);
        }
        let has = |other: &&CachedResponse| {
            other.kind == kept.kind
                && other.key != kept.key
                && other.facts.articles.iter().any(|fact| changed.contains(&fact.article))
        };
        let mut others: Vec<&CachedResponse> = self.kept_of(kept.partition).filter(has).collect();
        others.sort_by_key(|other| std::cmp::Reverse((other.stamp, other.fetched)));
        (overlay, others.into_iter().map(|other| other.content).collect())
    }

    /// Known facts about articles, including all changes. `only` restricts the articles.
    pub(super) fn known(
        &self,
        partition: Partition,
        only: Option<&HashSet<i64>>,
    ) -> HashMap<i64, Fact> {
        let is_asked = |article: &i64| only.is_none_or(|only| only.contains(article));
        let mut known: HashMap<i64, (ChangeId, Time, Fact)> = HashMap::new();
        for kept in self.kept_of(partition) {
            for fact in kept.facts.articles.iter().filter(|fact| is_asked(&fact.article)) {
                let place = (kept.stamp, kept.fetched);
                match known.entry(fact.article) {
                    std::collections::hash_map::Entry::Occupied(mut there) => {
                        let (stamp, fetched, before) = there.get_mut();
                        if (*stamp, *fetched) <= place {
                            let older = *before;
                            (*stamp, *fetched, *before) =
                                (place.0, place.1, completed(*fact, older));
                        } else {
                            *before = completed(*before, *fact);
                        }
                    }
                    std::collections::hash_map::Entry::Vacant(free) => {
                        free.insert((kept.stamp, kept.fetched, *fact));
                    }
                }
            }
        }
        for written in self.written.values().filter(|written| written.partition == partition) {
            for mark in written.change.marks.iter().filter(|mark| is_asked(&mark.article)) {
                let new = Fact { article: mark.article, feed: mark.feed, ..Fact::default() };
                let none = (ChangeId(0), Time::default(), new);
                let (stamp, _, fact) = known.entry(mark.article).or_insert(none);
                if *stamp < written.id {
                    fact.is_read = mark.read.map(|turn| turn.now).or(fact.is_read);
                    fact.is_starred = mark.starred.map(|turn| turn.now).or(fact.is_starred);
                }
            }
        }
        known.into_iter().map(|(article, (_, _, fact))| (article, fact)).collect()
    }

    /// Changes that a server has not received, in their order.
    pub fn pending(&self, partition: Partition) -> impl Iterator<Item = &StoredChange> {
        self.written.values().filter(move |it| it.partition == partition && !it.is_sent)
    }

    /// All accounts.
    pub fn all(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// Whether nothing is sent for an account until it signs in again.
    pub fn is_held(&self, partition: Partition) -> bool {
        self.held.contains(&partition)
    }

    /// Accounts with changes that can be sent.
    pub fn waiting(&self) -> Vec<&Account> {
        let pending = self.written.values().filter(|written| !written.is_sent);
        let whose: HashSet<Partition> = pending.map(|written| written.partition).collect();
        let is_due = |account: &&Account| {
            whose.contains(&account.partition) && !self.held.contains(&account.partition)
        };
        self.accounts.values().filter(is_due).collect()
    }

    /// The next change to send.
    pub fn next_due(&self, partition: Partition) -> Option<&StoredChange> {
        self.pending(partition).next().filter(|_| !self.held.contains(&partition))
    }

    /// Holds all changes of an account until it signs in again. Returns whether that is new.
    pub fn hold(&mut self, partition: Partition) -> bool {
        self.held.insert(partition)
    }

    /// Notes that a server asks not to be sent changes of an account before a time.
    pub fn put_off(&mut self, partition: Partition, until: Time) {
        self.put_off.insert(partition, until);
    }

    /// Time until which a server asks not to be sent changes of an account.
    pub fn put_off_until(&self, partition: Partition, now: Time) -> Option<Time> {
        self.put_off.get(&partition).copied().filter(|until| *until > now)
    }

    /// End of the first such pause.
    pub(crate) fn next_wake(&self, now: Time) -> Option<Time> {
        self.put_off.values().copied().filter(|until| *until > now).min()
    }

    /// Notes that a server failed at a change. Returns whether it has failed for so long that the change is
    /// at fault.
    pub fn fails(&mut self, id: ChangeId, now: Time) -> bool {
        let (count, since) = self.faults.entry(id).or_insert((0, now));
        *count = count.saturating_add(1);
        *count >= FAULT_LIMIT.0 && now.since(*since) >= FAULT_LIMIT.1
    }

    /// Notes that a server has received a change.
    pub fn sent(&mut self, id: ChangeId) -> Vec<Change> {
        self.faults.remove(&id);
        let Some(written) = self.written.get_mut(&id) else { return Vec::new() };
        written.is_sent = true;
        written.change.request = super::UnsignedRequest::default();
        let mut changes = vec![Change::StoredChange(Box::new(written.clone()))];
        let partition = written.partition;
        changes.extend(self.prune(partition));
        changes
    }

    /// Removes a change that its server has refused.
    pub fn refused(&mut self, id: ChangeId) -> Option<(StoredChange, Change)> {
        self.faults.remove(&id);
        Some((self.written.remove(&id)?, Change::StoredChangeRemoved(id)))
    }

    pub(super) fn next(&mut self) -> ChangeId {
        self.next += 1;
        ChangeId(self.next - 1)
    }
}

/// Completes a fact with an older one.
fn completed(fact: Fact, older: Fact) -> Fact {
    Fact {
        article: fact.article,
        feed: fact.feed.or(older.feed),
        is_read: fact.is_read.or(older.is_read),
        is_starred: fact.is_starred.or(older.is_starred),
        names: if fact.names == [None; 2] { older.names } else { fact.names },
    }
}
