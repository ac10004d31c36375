//! Implementation of [`Queries`] on a [`PostgresStore`].

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use futures_util::FutureExt as _;

use super::pages::Page;
use super::{indexes, views};
use crate::database::{
    IndexPage, IndexRange, Indexes, NodeContent, Queries, RangesLimit, RowLimit, SelectBodies,
    StoredViews, ViewNode, ViewPage, ViewRanges, ViewState, ViewsSignature, ViewsUpdate,
};
use crate::error::StoreError;
use crate::postgres::PostgresStore;
use crate::postgres::node::Node;

#[async_trait]
impl Queries for PostgresStore {
    async fn indexes(&self, name: &DatabaseName) -> Result<Indexes, StoreError> {
        let name = name.clone();
        self.run(|node| async move { indexes::indexes(&node.connection().await?, &name).await })
            .await
    }

    async fn build_indexes(&self, name: &DatabaseName, most: usize) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write(move |transaction, _| {
            async move { indexes::build(transaction, &name, most).await }.boxed()
        })
        .await
    }

    async fn documents_by_key(
        &self,
        name: &DatabaseName,
        range: IndexRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<Option<IndexPage>, StoreError> {
        let (name, page) = (name.clone(), Page::new(choose, most_bytes));
        self.run(|node| async move {
            indexes::by_key(&mut node.connection().await?, &name, range, page).await
        })
        .await
    }

    async fn views(
        &self,
        name: &DatabaseName,
        signature: &ViewsSignature,
        count: usize,
    ) -> Result<Option<StoredViews>, StoreError> {
        let (of, signature) = (name.clone(), *signature);
        let find = move |node: Arc<Node>| async move {
            views::find(&mut node.connection().await?, &of, &signature).await
        };
        if let Some(found) = self.run(find).await? {
            return Ok(Some(found));
        }
        let of = name.clone();
        self.write(move |transaction, _| {
            async move { views::begin(transaction, &of, &signature, count).await }.boxed()
        })
        .await
    }

    async fn update_views(
        &self,
        name: &DatabaseName,
        update: ViewsUpdate,
    ) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write(move |transaction, _| {
            async move { views::update(transaction, &name, update).await }.boxed()
        })
        .await
    }

    async fn view_rows(
        &self,
        name: &DatabaseName,
        view: ViewState,
        range: PositionRange,
        limit: RowLimit,
    ) -> Result<Option<ViewPage>, StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            views::rows(&mut node.connection().await?, &name, view, range, limit).await
        })
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
        self.run(move |node| async move {
            views::ranges(&mut node.connection().await?, &name, view, &ranges, limit).await
        })
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
        self.run(move |node| async move {
            views::nodes(&mut node.connection().await?, &name, (view, level), range, most).await
        })
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
        self.write(move |transaction, _| {
            async move { views::put_nodes(transaction, &name, view, level, nodes).await }.boxed()
        })
        .await
    }

    async fn drop_views(
        &self,
        name: &DatabaseName,
        kept: &[ViewsSignature],
    ) -> Result<(), StoreError> {
        let (name, kept) = (name.clone(), kept.to_vec());
        self.write(move |transaction, _| {
            async move { views::drop_others(transaction, &name, &kept).await }.boxed()
        })
        .await
    }
}
