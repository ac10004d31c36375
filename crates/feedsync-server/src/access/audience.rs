//! Visibility of drafts: in a collection that honours them, only its editors see them (RFC 5023 13.1.1,
//! AP60).
//!
//! Other readers do not find a draft in any listing, page or search, nor at any address. The change
//! numbers of a collection count drafts too, but reveal nothing about them.

use feedsync_endpoint::{Endpoint, Settings};
use feedsync_formats::is_draft;
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, PageLimit, Role, Selection, StoreError, StoredItem,
};

use crate::access::{Principal, settings};
use crate::http::problem::Problem;

/// Maximum number of additional short reads for one page. In a collection with very many drafts, readers
/// get pages with fewer items than requested, which still link to the next page.
const MAX_EXTRA_READS: usize = 20;

/// Part of a collection that a principal may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// All items.
    All,
    /// Items that are not drafts.
    Readers,
}

/// Page of a collection as its audience sees it, newest change first.
pub(crate) struct AudiencePage {
    pub(crate) items: Vec<StoredItem>,
    /// Number of the last change on the page if there are older ones.
    pub(crate) older: Option<ChangeNumber>,
    /// The collection as it was last read.
    pub(crate) collection: Collection,
}

impl Audience {
    /// Audience of a principal in a collection.
    pub(crate) fn of(principal: &Principal, collection: &Collection) -> Result<Self, Problem> {
        Ok(Self::by(principal, &collection.name, &settings(collection)?))
    }

    /// Audience of a principal in a collection with these settings.
    pub(crate) fn by(principal: &Principal, name: &CollectionName, settings: &Settings) -> Self {
        let edits = principal.role(name) >= Some(Role::Editor);
        if edits || !settings.drafts { Self::All } else { Self::Readers }
    }

    /// Name of the audience. Responses to different audiences never have the same entity tag (AH1).
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Readers => "readers",
        }
    }

    /// Returns an item as the audience sees it; none if it is hidden.
    pub(crate) fn sees(self, mut stored: StoredItem) -> Option<StoredItem> {
        if self == Self::Readers {
            if is_draft(&stored.item.winner.payload) {
                return None;
            }
            stored.item.conflicts.retain(|conflict| !is_draft(&conflict.payload));
        }
        Some(stored)
    }

    /// Returns at most so many items of a selection.
    pub(crate) async fn listing(
        self,
        endpoint: &Endpoint,
        name: &CollectionName,
        mut selection: Selection,
        most: usize,
    ) -> Result<AudiencePage, StoreError> {
        let conflicted = selection.conflicted;
        let mut items = Vec::new();
        let mut reads = MAX_EXTRA_READS;
        loop {
            let limit = PageLimit::items(most - items.len());
            let page = endpoint.listing(name, &selection, limit).await?;
            let older = page.items.last().filter(|_| page.more).map(|last| last.number);
            let seen = page.items.into_iter().filter_map(|stored| self.sees(stored));
            items.extend(seen.filter(|seen| !conflicted || !seen.item.conflicts.is_empty()));
            reads -= 1;
            // A page may be full by its size in bytes; only items left out here are replaced.
            if older.is_none() || self == Self::All || items.len() >= most || reads == 0 {
                return Ok(AudiencePage { items, older, collection: page.collection });
            }
            selection.before = older;
        }
    }
}
