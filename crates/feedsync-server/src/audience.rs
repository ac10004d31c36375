//! Who sees drafts: in a collection that honours them, those who may edit it and nobody else (RFC 5023
//! 13.1.1, C-A10).
//!
//! For all others a draft is not there: in no listing, page or search, and at no address. A collection's
//! numbers count drafts too; what the numbers count stays hidden.

use feedsync_endpoint::{Endpoint, Settings};
use feedsync_formats::is_draft;
use feedsync_store::{
    Collection, CollectionName, Number, PageLimit, Role, Selection, StoreError, StoredItem,
};

use crate::access::Principal;
use crate::preconditions::settings;
use crate::problem::Problem;

/// Short reads that one page may take: of a collection with very many drafts, readers get pages with
/// fewer items than they asked for, which still lead on.
const READS: usize = 20;

/// What somebody sees of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Everything.
    All,
    /// What is no draft.
    Readers,
}

/// A part of a collection as its audience sees it, newest change first.
pub(crate) struct Seen {
    pub(crate) items: Vec<StoredItem>,
    /// The number of the last change, below which older ones are, if there are any.
    pub(crate) older: Option<Number>,
    /// The collection when it was read last.
    pub(crate) collection: Collection,
}

impl Audience {
    /// What somebody sees of a collection.
    pub(crate) fn of(principal: &Principal, collection: &Collection) -> Result<Self, Problem> {
        Ok(Self::by(principal, &collection.name, &settings(collection)?))
    }

    /// What somebody sees of a collection of these settings.
    pub(crate) fn by(principal: &Principal, name: &CollectionName, settings: &Settings) -> Self {
        let edits = principal.role(name) >= Some(Role::Editor);
        if edits || !settings.drafts { Self::All } else { Self::Readers }
    }

    /// Its name: what two audiences are shown never has one entity tag (C-H2).
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Readers => "readers",
        }
    }

    /// An item as it is seen; none if it is not there.
    pub(crate) fn sees(self, mut stored: StoredItem) -> Option<StoredItem> {
        if self == Self::Readers {
            if is_draft(&stored.item.winner.payload) {
                return None;
            }
            stored.item.conflicts.retain(|conflict| !is_draft(&conflict.payload));
        }
        Some(stored)
    }

    /// At most so many items of a selection.
    pub(crate) async fn listing(
        self,
        endpoint: &Endpoint,
        name: &CollectionName,
        mut selection: Selection,
        most: usize,
    ) -> Result<Seen, StoreError> {
        let conflicted = selection.conflicted;
        let mut items = Vec::new();
        let mut reads = READS;
        loop {
            let limit = PageLimit::items(most - items.len());
            let page = endpoint.store().listing(name, &selection, limit).await?;
            let older = page.items.last().filter(|_| page.more).map(|last| last.number);
            let seen = page.items.into_iter().filter_map(|stored| self.sees(stored));
            items.extend(seen.filter(|seen| !conflicted || !seen.item.conflicts.is_empty()));
            reads -= 1;
            // A page may be full by its bytes: only what was left out here is made up for.
            if older.is_none() || self == Self::All || items.len() >= most || reads == 0 {
                return Ok(Seen { items, older, collection: page.collection });
            }
            selection.before = older;
        }
    }
}
