//! Detection of a mass loss: a large part of a database's documents was deleted within a short time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::time::Duration;

use feedsync_couch::{DatabaseName, DocumentId, Revision, boolean};
use feedsync_formats::json::Node;
use feedsync_store::{
    ChangeNumber, LoadedDocument, PastDocument, PastPage, PastRange, SelectBodies, StoreError,
    StoredBody,
};

use crate::endpoint::Endpoint;

/// Period in which documents were lost.
pub const LOSS_PERIOD: Duration = Duration::from_secs(60 * 60);

/// Part of the documents, in percent, whose loss is a mass loss.
pub const LOSS_PERCENT: u64 = 25;

/// Minimum number of lost documents of a mass loss.
pub const MIN_LOST_DOCUMENTS: u64 = 20;

/// Number of documents that are examined at once, and maximum number in all.
const BATCH: usize = 200;
const MAX_EXAMINED: usize = 20_000;

/// Size at which a batch ends, in bytes.
const BATCH_BYTES: u64 = 8 << 20;

/// The documents that existed at the start of a period, and those of them that were lost since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MassLoss {
    /// Number of documents that existed. Documents that had been marked as deleted before are counted too, unless they
    /// changed since.
    pub existed: u64,
    /// Number of those that are deleted now, or whose body says `"deleted": true` now.
    pub lost: u64,
}

impl MassLoss {
    /// Whether more than [`LOSS_PERCENT`] of the documents were lost, and at least [`MIN_LOST_DOCUMENTS`].
    fn is_large(self) -> bool {
        self.lost >= MIN_LOST_DOCUMENTS
            && self.lost.saturating_mul(100) > self.existed.saturating_mul(LOSS_PERCENT)
    }
}

impl Endpoint {
    /// Returns the loss if more than a part of the documents that existed a period ago is deleted now; `None` without a
    /// history. A database that was dropped lost all. Chunks of notes do not count. The period is [`LOSS_PERIOD`], and the part
    /// [`LOSS_PERCENT`]. If the history is younger, the period begins with it.
    ///
    /// The work follows the documents that changed in the period, of which the last 20,000 are examined.
    pub async fn mass_loss(&self, name: &DatabaseName) -> Result<Option<MassLoss>, StoreError> {
        let databases = self.databases();
        let Some(database) = databases.database(name).await? else {
            return Err(StoreError::NoDatabase(name.clone()));
        };
        let Some(since) = database.past.since else { return Ok(None) };
        let moment = self.ago(LOSS_PERIOD).max(since);
        let changed = database.dropped.as_ref().map_or(database.past.last, |it| it.moment);
        if changed <= moment {
            return Ok(None);
        }
        if database.dropped.is_some() {
            let all = self.live_documents(name, database.documents).await?;
            return Ok(Some(MassLoss { existed: all, lost: all }).filter(|loss| loss.is_large()));
        }
        let (mut before, mut examined) = (None, 0);
        let mut counts = Counts::default();
        loop {
            let changes = databases
                .latest_document_changes(
                    name,
                    ChangeNumber::ZERO,
                    before,
                    BATCH,
                    winners_of_people(),
                    BATCH_BYTES,
                )
                .await?;
            let count = changes.documents.len();
            let mut present: BTreeMap<DocumentId, LoadedDocument> = BTreeMap::new();
            for document in changes.documents {
                present.insert(document.document.id.clone(), document);
            }
            let mut range = Some(PastRange::Ids(present.keys().cloned().collect()));
            let mut is_any = false;
            while let Some(asked) = range {
                let page = databases.documents_at(name, moment, asked.clone(), BATCH_BYTES).await?;
                // The period has expired in the meantime.
                let PastPage::Known { documents, last, .. } = page else { return Ok(None) };
                range = last.map(|last| asked.rest(last));
                for past in documents {
                    let Some(now) = present.get(&past.document.id) else { continue };
                    is_any |= counts.add(&past, now);
                }
            }
            examined += count;
            before = Some(changes.reached);
            // Documents are in the order of their last changes: those before a whole page that did not change in the period
            // did not change either.
            if changes.is_end || !is_any || count == 0 || examined >= MAX_EXAMINED {
                let all = self.live_documents(name, changes.database.documents).await?;
                let unchanged = all.saturating_sub(counts.live_now);
                let loss = MassLoss { existed: counts.existed + unchanged, lost: counts.lost };
                return Ok(Some(loss).filter(|loss| loss.is_large()));
            }
        }
    }

    /// Number of documents that are not deleted, without chunks of notes. If there are too many to count, chunks are
    /// included.
    async fn live_documents(&self, name: &DatabaseName, all: u64) -> Result<u64, StoreError> {
        let databases = self.databases();
        let [begin, end] = CHUNKS.map(str::to_owned);
        let before = databases.count_documents(name, Unbounded, Excluded(begin)).await?;
        let after = databases.count_documents(name, Included(end), Unbounded).await?;
        Ok(before.zip(after).map_or(all, |(before, after)| before + after))
    }
}

/// Bounds of the ids of chunks, of which the note plugin makes many for each note. They are not documents of a person.
const CHUNKS: [&str; 2] = ["h:", "h;"];

/// Chooses the bodies of winners that are not chunks.
fn winners_of_people() -> SelectBodies {
    Box::new(|document| match is_chunk(&document.id) {
        true => Vec::new(),
        false => document.tree.winner().map(|leaf| leaf.revision.clone()).into_iter().collect(),
    })
}

fn is_chunk(id: &DocumentId) -> bool {
    id.as_str().starts_with(CHUNKS[0])
}

/// Numbers of documents that changed in the period.
#[derive(Default)]
struct Counts {
    /// Documents that existed at its start.
    existed: u64,
    /// Documents that are not deleted now.
    live_now: u64,
    /// Documents that existed and are lost.
    lost: u64,
}

impl Counts {
    /// Counts a document; returns whether it changed.
    fn add(&mut self, past: &PastDocument, now: &LoadedDocument) -> bool {
        let tree = &now.document.tree;
        let present: BTreeSet<&Revision> =
            tree.leaves().into_iter().map(|leaf| leaf.revision).collect();
        let former: BTreeSet<&Revision> = past.leaves.iter().map(|leaf| &leaf.revision).collect();
        if present == former {
            return false;
        }
        if is_chunk(&now.document.id) {
            return true;
        }
        let winner = tree.winner().filter(|leaf| !leaf.content.is_deleted);
        let body = winner.and_then(|leaf| now.bodies.get(leaf.revision));
        let was = past.leaves.first().filter(|leaf| !leaf.is_deleted);
        let existed = was.is_some_and(|leaf| !is_marked(&leaf.body));
        let is_lost = winner.is_none() || body.is_some_and(is_marked);
        self.live_now += u64::from(winner.is_some());
        self.existed += u64::from(existed);
        self.lost += u64::from(existed && is_lost);
        true
    }
}

/// Whether a body says that its document is deleted, as that of a note does.
fn is_marked(body: &StoredBody) -> bool {
    let member = Node::root(&body.text).member("deleted");
    member.is_some_and(|member| boolean(member.value) == Some(true))
}
