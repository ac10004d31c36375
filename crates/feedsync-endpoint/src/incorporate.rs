//! Incorporating items of others (1.2 rule 8, 3.3).

mod report;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::sse::graft;
use feedsync_core::{
    By, History, Incorporation, Item, ItemId, MAX_READ_UPDATES, Payload, incorporate, line,
};
use feedsync_formats::without_server_parts;
use feedsync_store::{
    CollectionName, Origin, Put, RemoteId, RemoteState, Snapshot, StoreError, StoreExt, StoredItem,
    Write,
};

use crate::endpoint::{Endpoint, blobs_of, bounded};
use crate::error::EndpointError;
use crate::policy::ConflictPolicy;
use crate::reincarnate::{reconciled, reissued_first};

pub use report::{Counts, ItemOutcome, ItemReport, Report};

/// Where incoming items come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Read from a remote that this collection follows.
    Remote(RemoteId),
    /// Offered by somebody, or read from a file.
    Offered,
    /// Sent by a peer in a request of its own. What the items leave behind is known to that peer: where all
    /// before it had been shown to others, it counts as shown in the same transaction.
    Posted,
}

/// The protocol of those who send items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    FeedSync,
    /// SSE 0.91: what its items lack is taken from what is known here ([`graft`]).
    Sse,
}

/// Items that come, all in one transaction.
#[derive(Debug, Clone)]
struct Incoming {
    protocol: Protocol,
    source: Source,
    items: Arc<Vec<Item<Payload>>>,
    conclusion: Option<Conclusion>,
}

/// What is recorded in the same transaction as the items it speaks of. If one of them is refused by
/// a bound that may pass, the remote is to be read again ([`RemoteState::to_be_read_again`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The remote.
    pub remote: RemoteId,
    /// How far we are with it once these items are here.
    pub state: RemoteState,
}

enum Decided {
    Done(Vec<ItemReport>),
    /// The collection may not have what it would come to.
    Full(EndpointError),
    /// Somebody else writes under this line, our current one.
    Collides(By),
    /// The name is another collection's.
    Another,
}

impl Endpoint {
    /// Incorporates items, all in one transaction; a faulty item is refused alone. The same item may
    /// come several times.
    ///
    /// What a server owns in their entries (`app:edited`, `edit` links) is not taken.
    ///
    /// If an item shows that somebody else writes under our line of edits (a store restored behind
    /// our back, a copied directory), our edits that may collide are first issued again under a new
    /// incarnation.
    pub async fn incorporate(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
        conclusion: Option<Conclusion>,
    ) -> Result<Report, EndpointError> {
        let incoming = Incoming::new(Protocol::FeedSync, source, items, conclusion);
        self.incorporate_as(collection, None, incoming).await
    }

    /// The same with upgraded items of SSE (`feedsync_core::sse`). An edit is kept as a conflict where a later edit of the
    /// same peer was not made on it, and an item whose history was cut off is one of unknown descent.
    pub async fn incorporate_sse(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
        conclusion: Option<Conclusion>,
    ) -> Result<Report, EndpointError> {
        let incoming = Incoming::new(Protocol::Sse, source, items, conclusion);
        self.incorporate_as(collection, None, incoming).await
    }

    /// The same with what others offer, if the collection still is this one, whatever is called so: else it is not there.
    pub(crate) async fn incorporate_into(
        &self,
        collection: &CollectionName,
        feed_id: &str,
        items: Vec<Item<Payload>>,
    ) -> Result<Report, EndpointError> {
        let incoming = Incoming::new(Protocol::FeedSync, Source::Offered, items, None);
        self.incorporate_as(collection, Some(feed_id), incoming).await
    }

    async fn incorporate_as(
        &self,
        collection: &CollectionName,
        feed_id: Option<&str>,
        incoming: Incoming,
    ) -> Result<Report, EndpointError> {
        let keys = incoming.keys();
        loop {
            let incoming = incoming.clone();
            let (endpoint, name) = (self.clone(), collection.clone());
            let feed_id = feed_id.map(str::to_owned);
            let (collection, decided) = self
                .store
                .decide(collection, keys.clone(), move |snapshot| {
                    if feed_id.as_ref().is_some_and(|it| *it != snapshot.collection().feed_id) {
                        return (Vec::new(), Decided::Another);
                    }
                    let (mut writes, decided) = decide(snapshot, &incoming);
                    if let Err(full) = endpoint.has_room(snapshot, &writes) {
                        return (Vec::new(), Decided::Full(full));
                    }
                    if let Decided::Done(reports) = &decided {
                        writes.extend(endpoint.record_of_merge(&name, reports));
                    }
                    (writes, decided)
                })
                .await?;
            match decided {
                Decided::Done(items) => return Ok(Report::new(collection, items)),
                Decided::Full(full) => return Err(full),
                Decided::Collides(line) => self.reincarnate(&collection.name, line).await?,
                Decided::Another => return Err(StoreError::NoCollection(collection.name).into()),
            }
        }
    }

    /// What [`Endpoint::incorporate`] would make of these items now; nothing is written.
    pub async fn foresee(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
    ) -> Result<Report, EndpointError> {
        self.foresee_as(collection, Incoming::new(Protocol::FeedSync, source, items, None)).await
    }

    /// Report of [`Endpoint::incorporate_sse`] on these items as of now; nothing is written.
    pub async fn foresee_sse(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
    ) -> Result<Report, EndpointError> {
        self.foresee_as(collection, Incoming::new(Protocol::Sse, source, items, None)).await
    }

    async fn foresee_as(
        &self,
        collection: &CollectionName,
        incoming: Incoming,
    ) -> Result<Report, EndpointError> {
        let keys = incoming.keys();
        let look = move |snapshot: &Snapshot| {
            let items = &*incoming.items;
            let reissued = if items.iter().any(|item| collides(snapshot, item)) {
                reissued_first(snapshot, items)
            } else {
                BTreeMap::new()
            };
            (Vec::new(), judge(snapshot, &incoming, &reissued).1)
        };
        let (collection, items) = self.store.decide(collection, keys, look).await?;
        Ok(Report::new(collection, items))
    }

    /// What the record says of a merge; nothing of one that changed nothing.
    fn record_of_merge(
        &self,
        collection: &CollectionName,
        reports: &[ItemReport],
    ) -> Option<Write> {
        let counts = Counts::of(reports);
        let mut changed = reports.iter().filter(|report| report.outcome.changes());
        let item = changed.next().filter(|_| counts.changed() == 1).map(|report| &report.id);
        (counts.changed() > 0).then_some(())?;
        let Counts { added, updated, conflict, .. } = counts;
        let detail = format!("{added} added, {updated} updated, {conflict} in conflict");
        self.recorded("merge", collection, item, detail)
    }
}

impl Incoming {
    /// Removes the parts of the items that a server owns, and shortens their histories.
    fn new(
        protocol: Protocol,
        source: Source,
        mut items: Vec<Item<Payload>>,
        conclusion: Option<Conclusion>,
    ) -> Self {
        for item in &mut items {
            for version in item.versions_mut() {
                if let Some(payload) = without_server_parts(&version.payload) {
                    version.payload = payload;
                }
            }
            if is_read(item) {
                item.shorten_histories();
            }
        }
        Self { protocol, source, items: Arc::new(items), conclusion }
    }

    /// The keys of an update with these items.
    fn keys(&self) -> Vec<ItemId> {
        let keys: BTreeSet<_> = self.items.iter().map(|item| item.id.clone()).collect();
        keys.into_iter().collect()
    }
}

fn decide(snapshot: &Snapshot, incoming: &Incoming) -> (Vec<Write>, Decided) {
    if incoming.items.iter().any(|item| collides(snapshot, item)) {
        return (Vec::new(), Decided::Collides(snapshot.identity().by.clone()));
    }
    let Incoming { source, conclusion, .. } = incoming;
    let (mut writes, reports) = judge(snapshot, incoming, &BTreeMap::new());
    if let Some(Conclusion { remote, state }) = conclusion {
        let postponed = reports.iter().any(|report| report.outcome.may_pass());
        let state = state.clone();
        let state = if postponed { state.to_be_read_again() } else { state };
        writes.push(Write::Remote { id: *remote, state });
    }
    let known = snapshot.collection();
    let puts = writes.iter().any(|write| matches!(write, Write::Put(_)));
    if *source == Source::Posted && puts && known.sent >= known.last {
        writes.push(Write::Shown);
    }
    (writes, Decided::Done(reports))
}

/// What becomes of each item, and what is written for it. `reissued` stands for what is stored, where
/// it has an item.
fn judge(
    snapshot: &Snapshot,
    incoming: &Incoming,
    reissued: &BTreeMap<ItemId, Item<Payload>>,
) -> (Vec<Write>, Vec<ItemReport>) {
    let Incoming { protocol, source, items: incoming, .. } = incoming;
    let source = *source;
    let mut writes = Vec::new();
    let mut results: BTreeMap<&ItemId, Put> = BTreeMap::new();
    let mut order = Vec::new();
    let mut reports = Vec::with_capacity(incoming.len());
    for came in incoming.iter() {
        let item = came;
        let stored = snapshot.item(&item.id);
        let known = reissued.get(&item.id).or(stored.map(|stored| &stored.item));
        let local = results.get(&item.id).map(|put| &put.item).or(known);
        let item = match local.filter(|_| *protocol == Protocol::Sse) {
            Some(local) => Cow::Owned(graft(item.clone(), local)),
            None => Cow::Borrowed(item),
        };
        let item = &*item;
        let purged = match snapshot.entry(&item.id) {
            Some(entry) if !entry.purged.is_empty() => History::from_updates(entry.purged.clone()),
            _ => None,
        };
        let reconciled = local.and_then(|local| reconciled(snapshot, local, item));
        let local = reconciled.as_ref().map(|(local, _)| local).or(local);
        let outcome = match incorporate(local, purged.as_ref(), item.clone()) {
            // A version that was issued again must reach others, whatever else the item tells.
            Incorporation::Unchanged => match &reconciled {
                Some((item, _)) if item.conflicts.is_empty() => {
                    Incorporation::Updated(item.clone())
                }
                Some((item, _)) => Incorporation::Conflict(item.clone()),
                None => Incorporation::Unchanged,
            },
            outcome => outcome,
        };
        let outcome = within_bounds(outcome, local);
        let (outcome, result) = match outcome {
            Incorporation::Added(result) => (ItemOutcome::Added, Some(result)),
            Incorporation::Updated(result) => (ItemOutcome::Updated, Some(result)),
            Incorporation::Conflict(result) => (ItemOutcome::Conflict, Some(result)),
            Incorporation::Unchanged => (ItemOutcome::Unchanged, None),
            Incorporation::Refused(refusal) => (ItemOutcome::Refused(refusal), None),
        };
        if let Some(result) = result {
            let mut put = put(snapshot, source, stored, item, result);
            if let Some((_, issues)) = reconciled {
                // What was issued again is news to everybody, wherever the item came from.
                put.origin = Origin::Mixed;
                writes.extend(issues);
            }
            if results.insert(&came.id, put).is_none() {
                order.push(&came.id);
            }
        }
        if outcome == ItemOutcome::Unchanged
            && stored.is_some_and(|stored| came_again(stored, source))
        {
            writes.push(Write::Shared { id: item.id.clone() });
        }
        reports.push(ItemReport { id: item.id.clone(), outcome });
    }
    let policy = ConflictPolicy::of(snapshot.collection());
    for id in order {
        let Some(mut put) = results.remove(id) else { continue };
        if let Some((item, issue)) = policy.resolve(snapshot, &put.item, false) {
            put = Put { blobs: blobs_of(&item), item, origin: Origin::Mixed, ..put };
            writes.extend(issue);
            let is_resolved = put.item.conflicts.is_empty();
            for report in reports.iter_mut().filter(|report| is_resolved && report.id == *id) {
                if report.outcome == ItemOutcome::Conflict {
                    report.outcome = ItemOutcome::Updated;
                }
            }
        }
        writes.push(Write::Put(put));
    }
    (writes, reports)
}

/// Whether an item shows that somebody else writes under a line of our current incarnation.
fn collides(snapshot: &Snapshot, item: &Item<Payload>) -> bool {
    let issued = |by: &By| snapshot.issued(&item.id, by).map(|issued| issued.sequence);
    let local = snapshot.item(&item.id).map(|stored| &stored.item);
    is_read(item) && line::collides(&snapshot.identity().by, issued, local, item)
}

/// Whether the histories of an item are short enough to be read; others are refused.
fn is_read(item: &Item<Payload>) -> bool {
    let updates: usize = item.versions().map(|version| version.history.updates().len()).sum();
    updates <= MAX_READ_UPDATES
}

/// Whether an item of one remote came from somebody else too: it is no longer that remote's alone.
fn came_again(stored: &StoredItem, source: Source) -> bool {
    match (stored.origin, source) {
        (Origin::Remote(known), Source::Remote(remote)) => known != remote,
        (Origin::Remote(_), Source::Offered | Source::Posted) => true,
        (Origin::Here | Origin::Mixed, _) => false,
    }
}

/// Refuses an item that would be larger than an item may be.
pub(crate) fn within_bounds(
    outcome: Incorporation<Payload>,
    local: Option<&Item<Payload>>,
) -> Incorporation<Payload> {
    let bounded = |item| bounded(item, local);
    match outcome {
        Incorporation::Added(item) => {
            bounded(item).map_or_else(Incorporation::Refused, Incorporation::Added)
        }
        Incorporation::Updated(item) => {
            bounded(item).map_or_else(Incorporation::Refused, Incorporation::Updated)
        }
        Incorporation::Conflict(item) => {
            bounded(item).map_or_else(Incorporation::Refused, Incorporation::Conflict)
        }
        Incorporation::Unchanged | Incorporation::Refused(_) => outcome,
    }
}

/// What is stored of a merged item: where its versions came from, and whether it was created here.
fn put(
    snapshot: &Snapshot,
    source: Source,
    stored: Option<&StoredItem>,
    incoming: &Item<Payload>,
    item: Item<Payload>,
) -> Put {
    let all_incoming = item
        .versions()
        .all(|version| incoming.versions().any(|other| version.dot().is_same(other.dot())));
    let origin = match (source, stored.map(|stored| stored.origin)) {
        (Source::Remote(remote), known)
            if all_incoming || known == Some(Origin::Remote(remote)) =>
        {
            Origin::Remote(remote)
        }
        _ => Origin::Mixed,
    };
    let creator = item.winner.history.oldest().by();
    let created_here = match stored {
        Some(stored) => stored.created_here,
        None => creator.is_some_and(|by| snapshot.is_own(&item.id, by)),
    };
    Put { blobs: blobs_of(&item), item, created_here, origin }
}
