//! The contract of indexes and views of databases.

#[cfg(feature = "queries")]
use async_trait::async_trait;
#[cfg(feature = "queries")]
use feedsync_couch::DatabaseName;
#[cfg(feature = "queries")]
use feedsync_couch::view::PositionRange;

#[cfg(feature = "queries")]
use super::{
    IndexPage, IndexRange, Indexes, NodeContent, RangesLimit, RowLimit, SelectBodies, StoredViews,
    ViewNode, ViewPage, ViewRanges, ViewState, ViewsSignature, ViewsUpdate,
};
#[cfg(feature = "queries")]
use crate::error::StoreError;

/// The part of a store that holds indexes and views of databases. The guarantees of [`Databases`](super::Databases) apply
/// to it.
#[cfg(feature = "queries")]
#[async_trait]
pub trait Queries: Send + Sync + 'static {
    /// Indexes of a database, which its design documents define. Each write of a document is applied to them in
    /// the same step.
    async fn indexes(&self, name: &DatabaseName) -> Result<Indexes, StoreError>;

    /// Adds up to a number of documents to the indexes that do not contain all of them; returns whether there may
    /// be more to do. Indexes of another [version](feedsync_couch::index::INDEX_VERSION) begin again.
    async fn build_indexes(&self, name: &DatabaseName, most: usize) -> Result<bool, StoreError>;

    /// Documents of an index in the order of their keys; `None` if there is no such index or it is not built. The
    /// page ends early, after at least one document, when the bodies exceed `most_bytes`.
    async fn documents_by_key(
        &self,
        name: &DatabaseName,
        range: IndexRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<Option<IndexPage>, StoreError>;

    /// The stored views of a signature. If there are none, they are created, without rows, for a design document of so
    /// many views; `None` if the database stores [`MAX_VIEWS`](super::MAX_VIEWS) others.
    async fn views(
        &self,
        name: &DatabaseName,
        signature: &ViewsSignature,
        views: usize,
    ) -> Result<Option<StoredViews>, StoreError>;

    /// Replaces the rows of documents; returns whether this was done. Of concurrent updates that begin at one change,
    /// one is applied. A document that is removed from the database loses its rows in the same step.
    async fn update_views(
        &self,
        name: &DatabaseName,
        update: ViewsUpdate,
    ) -> Result<bool, StoreError>;

    /// Rows of a view; `None` if it is not in this state.
    async fn view_rows(
        &self,
        name: &DatabaseName,
        view: ViewState,
        range: PositionRange,
        limit: RowLimit,
    ) -> Result<Option<ViewPage>, StoreError>;

    /// Rows of several ranges of a view, which are read at one moment; `None` if it is not in this state. The result has the first
    /// ranges, as many as completely fit into the limit, possibly none.
    async fn view_ranges(
        &self,
        name: &DatabaseName,
        view: ViewState,
        ranges: Vec<PositionRange>,
        limit: RangesLimit,
    ) -> Result<Option<ViewRanges>, StoreError>;

    /// The first nodes of a level that begin in a range, up to a maximum number; `None` if the view is not in this
    /// state.
    async fn view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        range: PositionRange,
        most: usize,
    ) -> Result<Option<Vec<ViewNode>>, StoreError>;

    /// Stores the contents of nodes of a level, given by their positions; returns whether the view was in this state.
    /// Positions where no node begins are ignored.
    async fn put_view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        nodes: Vec<(Vec<u8>, NodeContent)>,
    ) -> Result<bool, StoreError>;

    /// Drops the stored views of a database, except those of these signatures. Their rows are removed later, piece by
    /// piece.
    async fn drop_views(
        &self,
        name: &DatabaseName,
        kept: &[ViewsSignature],
    ) -> Result<(), StoreError>;
}

/// Without the feature `queries`, databases have neither indexes nor views.
#[cfg(not(feature = "queries"))]
pub trait Queries {}

#[cfg(not(feature = "queries"))]
impl<S: ?Sized> Queries for S {}
