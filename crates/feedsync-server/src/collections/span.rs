//! Items of a collection, read page by page in short reads, so that few are in memory at a time.

use feedsync_core::ItemId;
use feedsync_endpoint::{Endpoint, EndpointError, Publication};
use feedsync_store::{ChangeNumber, Collection, CollectionName, PageLimit, StoredItem};

/// Size of one page: large enough to be worth a read, small enough for memory.
pub(crate) const PAGE: PageLimit = PageLimit { items: 500, bytes: 256 << 10 };

/// Items of a collection that were not read yet.
pub(crate) enum Span {
    /// Changes of a publication.
    Changes {
        /// The publication.
        publication: Box<Publication>,
        /// Number of the last change that was read.
        after: ChangeNumber,
    },
    /// Items, by id.
    Complete {
        /// Id of the last item that was read.
        after: Option<ItemId>,
        /// Change up to which the collection was covered once the last item is sent.
        shown: Option<ChangeNumber>,
    },
}

/// One page of a span.
pub(crate) struct Part {
    /// The collection when it was read.
    pub(crate) collection: Collection,
    pub(crate) items: Vec<StoredItem>,
    pub(crate) rest: Rest,
}

/// Continuation after a page.
pub(crate) enum Rest {
    More(Span),
    /// No items; the collection was covered up to this change once the page is sent.
    Nothing(Option<ChangeNumber>),
}

impl Span {
    /// Number of the last change that it covers, if it has such a bound.
    pub(crate) fn up_to(&self) -> Option<ChangeNumber> {
        match self {
            Self::Changes { publication, .. } => Some(publication.up_to),
            Self::Complete { .. } => None,
        }
    }

    /// Reads the next page.
    pub(crate) async fn read(
        self,
        endpoint: &Endpoint,
        name: &CollectionName,
    ) -> Result<Part, EndpointError> {
        match self {
            Self::Changes { publication, after } => {
                let page = endpoint.page(&publication, after, PAGE).await?;
                let rest = if page.more {
                    Rest::More(Self::Changes { publication, after: page.through })
                } else {
                    Rest::Nothing(shown(&publication, page.through))
                };
                Ok(Part { collection: page.collection, items: page.items, rest })
            }
            Self::Complete { after, shown } => {
                let page = endpoint.items_by_id(name, after.as_ref(), PAGE).await?;
                let rest = match page.items.last() {
                    Some(last) if page.more => {
                        Rest::More(Self::Complete { after: Some(last.item.id.clone()), shown })
                    }
                    _ => Rest::Nothing(shown),
                };
                Ok(Part { collection: page.collection, items: page.items, rest })
            }
        }
    }
}

/// Change up to which a collection was covered once the changes of a publication up to `through`
/// are sent; none if they begin after changes that the client has not seen.
pub(crate) fn shown(publication: &Publication, through: ChangeNumber) -> Option<ChangeNumber> {
    let seen = publication.collection.sent.max(publication.collection.horizon);
    (publication.after <= seen).then_some(through)
}
