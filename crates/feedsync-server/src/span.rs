//! Items of a collection, read page by page in short reads, so that few are held at a time.

use feedsync::ItemId;
use feedsync_endpoint::{Endpoint, EndpointError, Publication};
use feedsync_store::{Collection, CollectionName, Number, PageLimit, StoredItem};

/// One page: enough to be worth a read, little enough to be forgotten.
pub(crate) const PAGE: PageLimit = PageLimit { items: 500, bytes: 256 << 10 };

/// What of a collection is still to be read.
pub(crate) enum Span {
    /// Changes of a publication.
    Changes {
        /// What is published.
        publication: Box<Publication>,
        /// What was read already.
        after: Number,
    },
    /// Items, by id.
    Complete {
        /// What was read already.
        after: Option<ItemId>,
        /// All changes up to here have been shown once the last item is sent.
        shown: Option<Number>,
    },
}

/// One page of a span.
pub(crate) struct Part {
    /// The collection when it was read.
    pub(crate) collection: Collection,
    pub(crate) items: Vec<StoredItem>,
    pub(crate) rest: Rest,
}

/// What follows a page.
pub(crate) enum Rest {
    More(Span),
    /// Nothing; all changes up to here have been shown once it is sent.
    Nothing(Option<Number>),
}

impl Span {
    /// Its items changed at or before this, if they are bounded so.
    pub(crate) fn up_to(&self) -> Option<Number> {
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
                let page = endpoint.store().items_by_id(name, after.as_ref(), PAGE).await?;
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

/// How far a collection has been shown once the changes of a publication up to `through` are sent:
/// nowhere, if they begin behind changes that nobody has seen.
pub(crate) fn shown(publication: &Publication, through: Number) -> Option<Number> {
    let seen = publication.collection.sent.max(publication.collection.horizon);
    (publication.after <= seen).then_some(through)
}
