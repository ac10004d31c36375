//! Implementation of [`Queries`] in memory.

use async_trait::async_trait;
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;

use crate::database::{
    IndexPage, IndexRange, Indexes, NodeContent, Queries, RangesLimit, RowLimit, SelectBodies,
    StoredViews, ViewNode, ViewPage, ViewRanges, ViewState, ViewsId, ViewsSignature, ViewsUpdate,
};
use crate::error::StoreError;
use crate::memory::MemoryStore;

#[async_trait]
impl Queries for MemoryStore {
    async fn indexes(&self, name: &DatabaseName) -> Result<Indexes, StoreError> {
        self.with_database(name, |database_contents| Ok(database_contents.indexing.indexes()))
    }

    async fn build_indexes(&self, name: &DatabaseName, most: usize) -> Result<bool, StoreError> {
        self.with_database(name, |database_contents| Ok(database_contents.build_indexes(most)))
    }

    async fn documents_by_key(
        &self,
        name: &DatabaseName,
        range: IndexRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<Option<IndexPage>, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.documents_by_key(&range, &choose, most_bytes))
        })
    }

    async fn views(
        &self,
        name: &DatabaseName,
        signature: &ViewsSignature,
        views: usize,
    ) -> Result<Option<StoredViews>, StoreError> {
        let mut state = self.state();
        // Databases of one name must not get the same ids.
        state.last_views += 1;
        let next = ViewsId { set: state.last_views, removals: 0 };
        Ok(state.database_mut(name)?.views(signature, views, next))
    }

    async fn update_views(
        &self,
        name: &DatabaseName,
        update: ViewsUpdate,
    ) -> Result<bool, StoreError> {
        self.with_database(name, |database_contents| database_contents.update_views(update))
    }

    async fn view_rows(
        &self,
        name: &DatabaseName,
        view: ViewState,
        range: PositionRange,
        limit: RowLimit,
    ) -> Result<Option<ViewPage>, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.view_rows(view, range, &limit))
        })
    }

    async fn view_ranges(
        &self,
        name: &DatabaseName,
        view: ViewState,
        ranges: Vec<PositionRange>,
        limit: RangesLimit,
    ) -> Result<Option<ViewRanges>, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.view_ranges(view, &ranges, limit))
        })
    }

    async fn view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        range: PositionRange,
        most: usize,
    ) -> Result<Option<Vec<ViewNode>>, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.view_nodes(view, level, range, most))
        })
    }

    async fn put_view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        nodes: Vec<(Vec<u8>, NodeContent)>,
    ) -> Result<bool, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.put_view_nodes(view, level, nodes))
        })
    }

    async fn drop_views(
        &self,
        name: &DatabaseName,
        kept: &[ViewsSignature],
    ) -> Result<(), StoreError> {
        self.with_database(name, |database_contents| {
            database_contents.drop_views(kept);
            Ok(())
        })
    }
}
