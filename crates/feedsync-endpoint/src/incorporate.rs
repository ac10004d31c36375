//! Incorporation of items from others (1.2 rule 8, 3.3).

mod report;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::sse::graft;
use feedsync_core::{
    By, History, Incorporation, Item, ItemId, MAX_READ_UPDATES, Payload, bounded, incorporate, line,
};
use feedsync_formats::without_server_parts;
use feedsync_store::{
    CollectionName, ItemStoreExt, Origin, Put, RemoteId, RemoteState, Snapshot, StoreError,
    StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of};
use crate::error::EndpointError;
use crate::policy::ConflictPolicy;
use crate::reincarnate::{reconciled, reissued_first};

pub use report::{Counts, ItemOutcome, ItemReport, Report};

/// Source of incoming items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Read from a remote that this collection follows.
    Remote(RemoteId),
    /// Offered by a client, or read from a file.
    Offered,
    /// Sent by a peer in a request of its own, so that the peer knows the resulting items. If all earlier
    /// changes had been shown to others, the resulting ones are marked as shown in the same transaction.
    Posted,
}

/// Protocol of the sender of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    FeedSync,
    /// SSE 0.91. Parts that its items lack are taken from the stored items ([`graft`]).
    Sse,
}

/// Items that are incorporated in one transaction.
#[derive(Debug, Clone)]
struct Incoming {
    protocol: Protocol,
    source: Source,
    items: Arc<Vec<Item<Payload>>>,
    conclusion: Option<Conclusion>,
}

/// State of a remote that is stored in the same transaction as the items. If a bound that may pass refuses
/// one of them, the remote is to be read again ([`RemoteState::to_be_read_again`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The remote.
    pub remote: RemoteId,
    /// State of the remote once these items are stored.
    pub state: RemoteState,
}

enum Decided {
    /// The reports, and the number of changed items that have conflicts now.
    Done(Vec<ItemReport>, u64),
    /// The collection would exceed a limit.
    Full(EndpointError),
    /// Another endpoint writes with this authoring line, which is the current one here.
    Collides(By),
    /// Another collection has the name.
    Another,
}

impl Endpoint {
    /// Incorporates items, all in one transaction; an invalid item is refused alone. The same item may occur
    /// several times.
    ///
    /// Parts of their entries that a server owns (`app:edited`, `edit` links) are removed.
    ///
    /// An item may show that another endpoint writes with the same authoring line. This happens after a store
    /// was restored or a directory copied without notice. Then edits of this endpoint that may collide are
    /// first reissued under a new incarnation.
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

    /// Incorporates upgraded items of SSE (`feedsync_core::sse`) in the same way. An edit is kept as a conflict if
    /// a later edit of the same peer was not made on it. An item whose history was cut off is one of unknown
    /// descent.
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

    #[cfg(feature = "databases")]
    /// Incorporates offered items in the same way, if the collection has this feed id; otherwise it counts as
    /// missing.
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
                    if let Err(full) = endpoint.check_limits(snapshot, &writes) {
                        return (Vec::new(), Decided::Full(full));
                    }
                    if let Decided::Done(reports, _) = &decided {
                        writes.extend(endpoint.record_of_merge(&name, reports));
                    }
                    (writes, decided)
                })
                .await?;
            match decided {
                Decided::Done(items, conflicted) => {
                    return Ok(Report::new(collection, items, conflicted));
                }
                Decided::Full(full) => return Err(full),
                Decided::Collides(line) => self.reincarnate(&collection.name, line).await?,
                Decided::Another => return Err(StoreError::NoCollection(collection.name).into()),
            }
        }
    }

    /// Returns the report that [`Endpoint::incorporate`] would give for these items now; nothing is written.
    pub async fn preview(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
    ) -> Result<Report, EndpointError> {
        self.preview_as(collection, Incoming::new(Protocol::FeedSync, source, items, None)).await
    }

    /// Returns the report that [`Endpoint::incorporate_sse`] would give for these items now; nothing is
    /// written.
    pub async fn preview_sse(
        &self,
        collection: &CollectionName,
        source: Source,
        items: Vec<Item<Payload>>,
    ) -> Result<Report, EndpointError> {
        self.preview_as(collection, Incoming::new(Protocol::Sse, source, items, None)).await
    }

    async fn preview_as(
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
            let (_, reports, conflicted) = judge(snapshot, &incoming, &reissued);
            (Vec::new(), (reports, conflicted))
        };
        let (collection, (items, conflicted)) = self.store.decide(collection, keys, look).await?;
        Ok(Report::new(collection, items, conflicted))
    }

    /// Returns the record entry of a merge; `None` if it changed nothing.
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
        self.audit_entry("merge", collection, item, detail)
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

    /// Returns the ids of these items, each once.
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
    let (mut writes, reports, conflicted) = judge(snapshot, incoming, &BTreeMap::new());
    if let Some(Conclusion { remote, state }) = conclusion {
        let postponed = reports.iter().any(|report| report.outcome.may_succeed_later());
        let state = state.clone();
        let state = if postponed { state.to_be_read_again() } else { state };
        writes.push(Write::Remote { id: *remote, state });
    }
    let known = snapshot.collection();
    let puts = writes.iter().any(|write| matches!(write, Write::Put(_)));
    if *source == Source::Posted && puts && known.sent >= known.last {
        writes.push(Write::Shown);
    }
    (writes, Decided::Done(reports, conflicted))
}

/// Decides the outcome of each item and the writes for it, and counts the changed items that have conflicts
/// afterwards. Items in `reissued` take the place of the stored ones.
fn judge(
    snapshot: &Snapshot,
    incoming: &Incoming,
    reissued: &BTreeMap<ItemId, Item<Payload>>,
) -> (Vec<Write>, Vec<ItemReport>, u64) {
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
            // A reissued version must reach others, even if the incoming item is known.
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
                // A reissued version is new to everybody, wherever the item came from.
                put.origin = Origin::Mixed;
                writes.extend(issues);
            }
            if results.insert(&came.id, put).is_none() {
                order.push(&came.id);
            }
        }
        if outcome == ItemOutcome::Unchanged
            && stored.is_some_and(|stored| has_second_source(stored, source))
        {
            writes.push(Write::Shared { id: item.id.clone() });
        }
        reports.push(ItemReport { id: item.id.clone(), outcome });
    }
    let policy = ConflictPolicy::of(snapshot.collection());
    let mut conflicted = 0;
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
        conflicted += u64::from(!put.item.conflicts.is_empty());
        writes.push(Write::Put(put));
    }
    (writes, reports, conflicted)
}

/// Whether an item shows that another endpoint writes with an authoring line of the current incarnation.
fn collides(snapshot: &Snapshot, item: &Item<Payload>) -> bool {
    let issued = |by: &By| snapshot.issued(&item.id, by).map(|issued| issued.sequence);
    let local = snapshot.item(&item.id).map(|stored| &stored.item);
    is_read(item) && line::collides(&snapshot.identity().by, issued, local, item)
}

/// Whether the histories of an item are short enough to be processed; longer ones are refused.
fn is_read(item: &Item<Payload>) -> bool {
    let updates: usize = item.versions().map(|version| version.history.updates().len()).sum();
    updates <= MAX_READ_UPDATES
}

/// Whether an item that came from one remote has now come from another source too.
fn has_second_source(stored: &StoredItem, source: Source) -> bool {
    match (stored.origin, source) {
        (Origin::Remote(known), Source::Remote(remote)) => known != remote,
        (Origin::Remote(_), Source::Offered | Source::Posted) => true,
        (Origin::Here | Origin::Mixed, _) => false,
    }
}

/// Refuses an item that would exceed a bound.
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

/// Returns the write of a merged item: the origin of its versions, and whether it was created here.
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
