//! Automatic resolution of conflicts (3.4), by the same rule at each endpoint that has it.
//!
//! A rule chooses by content and time, which resolutions repeat. So all endpoints choose alike in the end,
//! whichever versions they saw first. Endpoints that resolve at the same time do so with updates of their
//! own, which conflict again. The endpoint whose update won resolves that conflict, and all others wait. So
//! each exchange leaves fewer conflicts, and the process ends.

use feedsync_core::{
    Item, ItemId, Keep, Payload, Resolution, Resolved, Timestamp, Version, bounded,
};
use feedsync_store::{
    Collection, CollectionName, ItemStoreExt, Origin, PageLimit, Put, Selection, Snapshot, Write,
};
use serde::{Deserialize, Serialize};

use crate::edit::resolved;
use crate::endpoint::{Endpoint, blobs_of};
use crate::error::EndpointError;
use crate::settings::Settings;

/// Number of items in one page that is read from the store.
const PAGE: usize = 500;

/// Rules that resolve conflicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// A person resolves them.
    #[default]
    Keep,
    /// Keeps the version that was edited last, by the clocks of the editors.
    Latest,
    /// Keeps a version with content instead of a deletion. Versions with different content are left to a
    /// person.
    Undeleted,
}

impl ConflictPolicy {
    /// The names of all policies, as users write them.
    pub const NAMES: [&'static str; 3] = ["keep", "latest", "undeleted"];

    /// Returns the name, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Latest => "latest",
            Self::Undeleted => "undeleted",
        }
    }

    /// Returns the policy of a collection. Conflicts are kept if its settings cannot be read.
    pub(crate) fn of(collection: &Collection) -> Self {
        // Nearly no collection has the setting.
        match collection.settings.contains_key("conflicts") {
            true => Settings::read(&collection.settings).unwrap_or_default().conflicts,
            false => Self::Keep,
        }
    }

    /// Resolves the conflicts of an item as far as the policy does. Returns the item and the update's entry
    /// in the ledger; `None` if nothing is resolved. If a person requested it, this endpoint does not wait
    /// for others.
    pub(crate) fn resolve(
        self,
        snapshot: &Snapshot,
        item: &Item<Payload>,
        is_asked: bool,
    ) -> Option<(Item<Payload>, Option<Write>)> {
        let is_in_charge = |version: &Version<Payload>| {
            is_asked || version.dot().by().is_some_and(|by| snapshot.is_own(&item.id, by))
        };
        let (resolution, when) = self.decide(item, is_in_charge)?;
        // Conflicts that cannot be resolved, such as those of an item without updates left, are left to a
        // person.
        let (after, signature) = resolved(snapshot, item, &resolution, when).ok()?;
        let after = bounded(after, Some(item)).ok()?;
        let issue = signature.issue(&after);
        Some((after, issue))
    }

    /// Decides from the versions, and from whether this endpoint is in charge of repeated resolutions. The
    /// resolution has the time of the version that stays. So an edit that was made elsewhere in the meantime
    /// is still the later one.
    fn decide(
        self,
        item: &Item<Payload>,
        is_in_charge: impl Fn(&Version<Payload>) -> bool,
    ) -> Option<(Resolution<Payload>, Option<Timestamp>)> {
        let ranked: Vec<_> = std::iter::once((None, &item.winner))
            .chain(item.ranked_conflicts().into_iter().map(|(index, it)| (Some(index), it)))
            .collect();
        let latest = || ranked.iter().max_by_key(|(_, it)| latest(it));
        let &(chosen, version) = match self {
            Self::Keep => return None,
            Self::Latest => latest()?,
            // The first in rank is chosen, so that no other version with content loses its rank.
            Self::Undeleted => ranked.iter().find(|(_, it)| !it.deleted).or_else(latest)?,
        };
        // Of equal versions, the endpoint of the first in rank folds the others.
        let is_double = |place: usize, it: &Version<Payload>| {
            let mut above = ranked[..place].iter().map(|(_, above)| *above);
            let first = above.find(|above| is_equal(above, it));
            first.is_some_and(|first| first.dot().when() != it.dot().when() || is_in_charge(first))
        };
        let is_folded = |place: usize, it: &Version<Payload>| match self {
            Self::Keep => false,
            Self::Latest => true,
            Self::Undeleted => it.deleted || is_double(place, it),
        };
        let folded: Vec<_> = ranked
            .iter()
            .enumerate()
            .filter(|(place, (_, it))| is_folded(*place, it))
            .filter_map(|(_, (index, it))| index.map(|index| (index, *it)))
            .filter(|(index, _)| Some(*index) != chosen)
            .collect();
        if chosen.is_none() && folded.is_empty() {
            return None;
        }
        // Other endpoints may have resolved the same conflict, with the time of the same version.
        let equals = ranked.iter().map(|(_, it)| *it).filter(|it| is_equal(it, version));
        let when = equals.map(|it| it.dot().when()).max().flatten();
        let repeats = |it: &Version<Payload>| is_equal(it, version) && it.dot().when() == when;
        let mut weighed = folded.iter().map(|(_, it)| *it).chain([version, &item.winner]);
        if weighed.all(repeats) && !is_in_charge(version) {
            return None;
        }
        let resolved = Resolved::Some(folded.iter().map(|(index, _)| *index).collect());
        let keep = chosen.map_or(Keep::Winner, Keep::Conflict);
        Some((Resolution { resolved, keep }, when))
    }
}

fn is_equal(one: &Version<Payload>, other: &Version<Payload>) -> bool {
    one.deleted == other.deleted && one.payload == other.payload
}

/// Returns a key that orders versions by time, then by content.
fn latest(version: &Version<Payload>) -> impl Ord + '_ {
    let payload = &version.payload;
    let content = (payload.format().name(), payload.text(), payload.sync_foreign());
    (version.dot().when(), !version.deleted, content)
}

impl Endpoint {
    /// Resolves all conflicts of a collection by a policy, as far as it does. Returns the number of items
    /// that changed and of those that still have conflicts.
    pub async fn resolve_all(
        &self,
        collection: &CollectionName,
        policy: ConflictPolicy,
    ) -> Result<(u64, u64), EndpointError> {
        let mut selection = Selection { deleted: true, conflicted: true, ..Selection::default() };
        let (mut changed, mut open) = (0, 0);
        loop {
            let page = self.store.listing(collection, &selection, PageLimit::items(PAGE)).await?;
            for stored in &page.items {
                match self.resolve_one(collection, &stored.item.id, policy).await? {
                    Some(after) => {
                        changed += 1;
                        open += u64::from(!after.conflicts.is_empty());
                    }
                    None => open += 1,
                }
            }
            selection.before = page.items.last().map(|stored| stored.number);
            if !page.more {
                return Ok((changed, open));
            }
        }
    }

    async fn resolve_one(
        &self,
        collection: &CollectionName,
        id: &ItemId,
        policy: ConflictPolicy,
    ) -> Result<Option<Item<Payload>>, EndpointError> {
        let (endpoint, key) = (self.clone(), id.clone());
        let decide = move |snapshot: &Snapshot| {
            let resolve = || {
                let stored = snapshot.item(&key)?;
                let (item, issue) = policy.resolve(snapshot, &stored.item, true)?;
                let blobs = blobs_of(&item);
                let put =
                    Put { item, blobs, origin: Origin::Mixed, created_here: stored.created_here };
                Some((put, issue))
            };
            let Some((put, issue)) = resolve() else { return (Vec::new(), None) };
            let item = put.item.clone();
            let name = &snapshot.collection().name;
            let detail = format!("by policy: {}", policy.name());
            let record = endpoint.audit_entry("resolve", name, Some(&item.id), detail);
            (issue.into_iter().chain([Write::Put(put)]).chain(record).collect(), Some(item))
        };
        Ok(self.store.decide(collection, vec![id.clone()], decide).await?.1)
    }
}
