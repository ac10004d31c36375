//! Implementation of [`Queries`] on the threads of a [`SqliteStore`].

use async_trait::async_trait;
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;

use super::{SqliteStore, database_rows, indexes, views};
use crate::database::{
    IndexPage, IndexRange, Indexes, NodeContent, Queries, RangesLimit, RowLimit, SelectBodies,
    StoredViews, ViewNode, ViewPage, ViewRanges, ViewState, ViewsSignature, ViewsUpdate,
};
use crate::error::StoreError;

#[async_trait]
impl Queries for SqliteStore {
    async fn indexes(&self, name: &DatabaseName) -> Result<Indexes, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| {
                indexes::indexes(connection, &database_rows::require(connection, &name)?)
            })
            .await
    }

    async fn build_indexes(&self, name: &DatabaseName, most: usize) -> Result<bool, StoreError> {
        let name = name.clone();
        self.writer.run(move |connection| indexes::build(connection, &name, most)).await
    }

    async fn documents_by_key(
        &self,
        name: &DatabaseName,
        range: IndexRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<Option<IndexPage>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| indexes::by_key(connection, &name, range, &choose, most_bytes))
            .await
    }

    async fn views(
        &self,
        name: &DatabaseName,
        signature: &ViewsSignature,
        count: usize,
    ) -> Result<Option<StoredViews>, StoreError> {
        let (of, signature) = (name.clone(), *signature);
        let find = move |connection: &_| views::find(connection, &of, &signature);
        if let Some(found) = self.readers.read(find).await? {
            return Ok(Some(found));
        }
        let of = name.clone();
        self.writer.run(move |connection| views::begin(connection, &of, &signature, count)).await
    }

    async fn update_views(
        &self,
        name: &DatabaseName,
        update: ViewsUpdate,
    ) -> Result<bool, StoreError> {
        let name = name.clone();
        self.writer.run(move |connection| views::update(connection, &name, update)).await
    }

    async fn view_rows(
        &self,
        name: &DatabaseName,
        view: ViewState,
        range: PositionRange,
        limit: RowLimit,
    ) -> Result<Option<ViewPage>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| views::rows(connection, &name, view, &range, limit))
            .await
    }

    async fn view_ranges(
        &self,
        name: &DatabaseName,
        view: ViewState,
        ranges: Vec<PositionRange>,
        limit: RangesLimit,
    ) -> Result<Option<ViewRanges>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| views::ranges(connection, &name, view, &ranges, limit))
            .await
    }

    async fn view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        range: PositionRange,
        most: usize,
    ) -> Result<Option<Vec<ViewNode>>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| views::nodes(connection, &name, (view, level), &range, most))
            .await
    }

    async fn put_view_nodes(
        &self,
        name: &DatabaseName,
        view: ViewState,
        level: u8,
        nodes: Vec<(Vec<u8>, NodeContent)>,
    ) -> Result<bool, StoreError> {
        let name = name.clone();
        self.writer
            .run(move |connection| views::put_nodes(connection, &name, view, level, &nodes))
            .await
    }

    async fn drop_views(
        &self,
        name: &DatabaseName,
        kept: &[ViewsSignature],
    ) -> Result<(), StoreError> {
        let (name, kept) = (name.clone(), kept.to_vec());
        self.writer
            .run_without_growth(move |connection| views::drop_others(connection, &name, &kept))
            .await
    }
}
