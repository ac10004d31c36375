//! A store of items has no indexes and views.

use async_trait::async_trait;
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;

use super::ItemsOnly;
use super::databases::none;
use crate::database::{
    IndexPage, IndexRange, Indexes, NodeContent, Queries, RangesLimit, RowLimit, SelectBodies,
    StoredViews, ViewNode, ViewPage, ViewRanges, ViewState, ViewsSignature, ViewsUpdate,
};
use crate::error::StoreError;

#[async_trait]
impl<S: ItemsOnly> Queries for S {
    async fn indexes(&self, name: &DatabaseName) -> Result<Indexes, StoreError> {
        Err(none(name))
    }

    async fn build_indexes(&self, name: &DatabaseName, _: usize) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn documents_by_key(
        &self,
        name: &DatabaseName,
        _: IndexRange,
        _: SelectBodies,
        _: u64,
    ) -> Result<Option<IndexPage>, StoreError> {
        Err(none(name))
    }

    async fn views(
        &self,
        name: &DatabaseName,
        _: &ViewsSignature,
        _: usize,
    ) -> Result<Option<StoredViews>, StoreError> {
        Err(none(name))
    }

    async fn update_views(&self, name: &DatabaseName, _: ViewsUpdate) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn view_rows(
        &self,
        name: &DatabaseName,
        _: ViewState,
        _: PositionRange,
        _: RowLimit,
    ) -> Result<Option<ViewPage>, StoreError> {
        Err(none(name))
    }

    async fn view_ranges(
        &self,
        name: &DatabaseName,
        _: ViewState,
        _: Vec<PositionRange>,
        _: RangesLimit,
    ) -> Result<Option<ViewRanges>, StoreError> {
        Err(none(name))
    }

    async fn view_nodes(
        &self,
        name: &DatabaseName,
        _: ViewState,
        _: u8,
        _: PositionRange,
        _: usize,
    ) -> Result<Option<Vec<ViewNode>>, StoreError> {
        Err(none(name))
    }

    async fn put_view_nodes(
        &self,
        name: &DatabaseName,
        _: ViewState,
        _: u8,
        _: Vec<(Vec<u8>, NodeContent)>,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn drop_views(
        &self,
        name: &DatabaseName,
        _: &[ViewsSignature],
    ) -> Result<(), StoreError> {
        Err(none(name))
    }
}
